//! What memcached's replies bring: compared, kept for later steps, filled before, or missed.

use crate::listener::Listener;
use crate::memcached::Memcached;
use crate::program::RunOutput;

/// Operations that the report says were done.
fn operations(ran: &RunOutput) -> u64 {
    let line = ran.out.lines().find(|line| line.contains(" operations (")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// Keys that keystorm itself asks for before a run, none of which is there.
fn probes(protocol: &str) -> i64 {
    i64::from(protocol == "memcache-meta")
}

const PROTOCOLS: [&str; 3] = ["memcache", "memcache-meta", "memcache-binary"];

#[test]
fn one_byte_that_was_changed_is_found_and_quoted() {
    let server = Memcached::new();
    // Bytes that are text.
    let values = "-r 100 --seed 5 -d 200 --content classic";
    let changed = format!("k:{:012}", 42);
    for protocol in PROTOCOLS {
        let run = |line: &str| server.run(&format!("--protocol {protocol} {values} {line}"));
        run("-q -n 100 --fill --verify get k:__key__").ok();
        run("-q -n 500 -P 8 --verify get k:__rand_int__").ok();
        let value = server.say(&format!("get {changed}\n"));
        let data = value.split_once("\r\n").unwrap().1.split("\r\nEND").next().unwrap();
        let (before, after) = (&data[..150], &data[151..]);
        server.say(&format!("set {changed} 0 0 200\n{before}!{after}\n"));
        let ran = run("-n 300 -P 4 --sequential --verify get k:__rand_int__").exits(1);
        let ran = ran.prints("corrupt").prints("byte 150 of 200 is wrong: read \"!");
        assert!(ran.out.contains(&changed), "{protocol}: {}", ran.out);
    }
    // Among many keys, of which some are not there.
    server.say("delete k:000000000007\n");
    for (command, found) in [
        ("get k:__rand_int__ k:__rand_int__ other k:__rand_int__", true),
        ("get k:__key__ k:__rand_int__ k:__rand_1st__", true),
        ("gat 0 k:__rand_int__ k:__rand_int__", true),
        ("mg k:__rand_int__ v k c", true),
        ("3 mg k:__rand_int__ v q ';' mn", true),
        ("get x:__rand_int__", false),
    ] {
        let line = format!("{values} -n 400 --sequential --verify -- {command}");
        let ran = server.run(&line);
        let ran = if found { ran.exits(1).prints(&changed) } else { ran.ok() };
        let corrupt = ran.out.matches(" is wrong: read ").count();
        assert_eq!(corrupt > 0, found, "{command}: {}", ran.out);
        assert!(!ran.out.contains(" bytes, but "), "{command}: {}", ran.out);
    }
}

#[test]
fn values_of_any_size_are_those_that_were_filled() {
    let mut server = Memcached::new();
    for protocol in PROTOCOLS {
        server.say("flush_all\n");
        server.reset();
        let keys = "-q -r 300 --seed 9 -d uniform:0..20k";
        let line =
            format!("--protocol {protocol} {keys} -n 2000 -P 7 --fill --verify get k:__key__");
        let ran = server.run(&line).ok();
        assert!(ran.err.contains("filled 300 keys"), "{}", ran.err);
        let misses = server.grown(&["get_misses"]) - probes(protocol);
        assert_eq!((server.grown(&["cmd_set"]), misses), (300, 0), "{protocol}");
    }
    // Keys that are not there are left out of a reply; the others are identified by their names.
    server.say("delete k:000000000007\ndelete k:000000000008\n");
    let keys = "k:__rand_int__ none k:__rand_int__ ".repeat(5);
    let values = "-q -r 300 --seed 9 -d uniform:0..20k --content random";
    for command in ["get", "gets", "gat 0", "get k:__key__"] {
        server.run(&format!("{values} -n 500 -P 3 --verify {command} {keys}")).ok();
    }
    // A fill is what is written, with flags and lifetime, or what one says.
    let own = "-q -r 10 -n 20 --fill --mix -- get a:__key__ ';' set a:__key__ 5 60 __data__";
    server.run(own).ok();
    assert!(server.say("get a:000000000003\n").starts_with("VALUE a:000000000003 5 3\r\n"));
    server.run("-q -r 10 -n 20 --fill incr n:__key__ 1").exits(2).says("set user:__key__ 0 0 100");
    let text = "--fill-with 'set n:__key__ 0 0 100' incr n:__key__ 1";
    let ran = server.run(&format!("-r 10 -n 20 --fill {text}")).ok();
    assert!(!ran.out.contains(" misses"), "{}", ran.out);
}

#[test]
fn a_share_of_what_is_read_is_there() {
    let mut server = Memcached::new();
    server.reset();
    let line = "-q -n 4000 -r 500 --seed 3 --fill --hit-ratio 0.75 get k:__key__";
    server.run(line).ok();
    let (hits, misses) = (server.grown(&["get_hits"]), server.grown(&["get_misses"]));
    assert_eq!(hits + misses, 4000);
    assert!((2850..3150).contains(&hits), "{hits}");
}

#[test]
fn what_is_missed_is_stored_and_found_from_then_on() {
    let mut server = Memcached::new();
    for protocol in PROTOCOLS {
        server.say("flush_all\n");
        server.reset();
        let look = "get k:__key__ ';?' set k:__key__ 0 60 __data__";
        let line = format!("--protocol {protocol} -r 200 -n 3000 -c 1 {look}");
        let ran = server.run(&line).ok();
        assert_eq!(operations(&ran), 3000, "{protocol}");
        let sets = server.grown(&["cmd_set"]);
        assert_eq!(server.grown(&["get_misses"]) - probes(protocol), sets, "{protocol}");
        assert!((150..=200).contains(&sets), "{protocol}: {sets}");
    }
}

#[test]
fn values_of_keys_that_were_not_asked_for_are_wrong() {
    let read = |answer, keys: &str| {
        let line = "--protocol memcache -n 10 -r 1 -d 2 --content same --verify";
        Listener::that_answers_get(answer).run(&format!("{line} get {keys}"))
    };
    let (a, b) = ("a:000000000000", "b:000000000000");
    let both = "a:__key__ b:__key__";
    let good = "VALUE a:000000000000 0 2\r\nxx\r\nVALUE b:000000000000 0 2\r\nxx\r\nEND\r\n";
    read(good, both).ok();
    read("VALUE b:000000000000 0 2\r\nxx\r\nEND\r\n", both).ok();
    for (answer, keys, key) in [
        ("VALUE c 0 2\r\nxx\r\nEND\r\n", both, "c"),
        ("VALUE c 0 2\r\nxx\r\nEND\r\n", "a:__key__", "c"),
        ("VALUE a:000000000000 0 2\r\nxx\r\nVALUE a:000000000000 0 2\r\nxx\r\nEND\r\n", both, a),
        (good, "a:__key__", b),
    ] {
        let ran = read(answer, keys).exits(1);
        ran.prints(&format!("read a value of \"{key}\", which was not asked for, or not twice"));
    }
}

#[test]
fn a_number_or_a_status_stands_in_later_steps() {
    for protocol in ["memcache", "memcache-binary"] {
        let server = Memcached::new();
        server.say("set id 0 0 1\n0\n");
        let line = "incr id 1 ';>' set by:__reply__ 0 0 v ';>' set last 0 0 __reply__";
        server.run(&format!("--protocol {protocol} -q -n 12 -c 1 {line}")).ok();
        assert!(server.say("get by:12\n").contains("v"), "{protocol}");
        assert!(!server.say("get by:0\n").contains("v"), "{protocol}");
    }
}

#[test]
fn a_value_and_its_token_stand_in_later_steps() {
    let mut server = Memcached::new();
    for (protocol, copy) in [
        ("memcache", "get a:__key__ ';>' set b:__key__ 0 0 <__reply__>"),
        ("memcache-meta", "mg a:__key__ v ';>' ms b:__key__ <__reply__>"),
        ("memcache-binary", "get a:__key__ ';>' set b:__key__ 0 0 <__reply__>"),
    ] {
        server.say("flush_all\n");
        for number in 0..20 {
            let value = "v".repeat(number + 1);
            server.say(&format!("set a:{number:012} 0 0 {}\n{value}\n", value.len()));
        }
        server.run(&format!("--protocol {protocol} -q -r 20 -n 20 --sequential -c 3 {copy}")).ok();
        for number in 0..20 {
            let reply = server.say(&format!("get b:{number:012}\n"));
            let value = format!("\r\n<{}>\r\n", "v".repeat(number + 1));
            assert!(reply.contains(&value), "{protocol}: {reply}");
        }
    }
    // Nobody else swaps, so every token is that of the item; with a wrong one none would be.
    for (protocol, swap) in [
        ("memcache", "gets a:__key__ ';>' cas a:__key__ 0 0 __cas__ __data__"),
        ("memcache-meta", "mg a:__key__ v c ';>' ms a:__key__ C__cas__ __data__"),
        ("memcache-binary", "get a:__key__ ';>' cas a:__key__ 0 0 __cas__ __data__"),
    ] {
        server.reset();
        let line = format!("--protocol {protocol} -r 20 -n 500 -c 1 {swap}");
        let ran = server.run(&line).ok();
        assert_eq!(operations(&ran), 500, "{protocol}");
        assert_eq!(server.grown(&["cas_hits"]), 500, "{protocol}");
        server
            .run(&format!("--protocol {protocol} -q -r 9000 -n 50 {swap}").replace("a:", "none:"))
            .ok();
        assert_eq!(server.grown(&["cas_misses"]), 50, "{protocol}: no token is none");
        server.reset();
    }
    server.run("-n 5 cas k 0 0 __cas__ v").exits(2).says("__cas__ its token");
    server.run("-n 5 gets k ';>' set __cas__ 0 0 v").exits(2).says("is allowed only in cas");
}

#[test]
fn the_test_of_cas_swaps_what_it_has_read() {
    let mut server = Memcached::new();
    for protocol in PROTOCOLS {
        server.reset();
        let ran = server.run(&format!("--protocol {protocol} -t cas -n 1500 -r 40 -c 7 -P 3")).ok();
        assert_eq!(operations(&ran), 1500);
        let swapped = server.grown(&["cas_hits", "cas_badval"]);
        assert_eq!((swapped, server.grown(&["cas_misses"])), (1500, 0), "{protocol}");
        assert!(server.grown(&["cas_hits"]) > 500, "{protocol}");
    }
}

#[test]
fn keys_are_counted_for_each_command() {
    let server = Memcached::new();
    server.say("set a 0 0 1\nx\n");
    let ran = server.run("-n 200 -- get a b c ';' gats 0 a d").ok();
    ran.prints("  keys: 200 of 500 found (40.00 %)")
        .prints("    get: 100 of 300 found (33.33 %)")
        .prints("    gats: 100 of 200 found (50.00 %)");
}

/// As with Redis: the size of what came back is reported, and that it differs from `-d`.
#[test]
fn the_size_of_values_is_that_of_those_that_came_back() {
    let server = Memcached::new();
    server.run("--protocol memcache -n 20 -r 20 -d 108 -q set k:__key__ 0 0 __data__").ok();
    for protocol in PROTOCOLS {
        let line = format!("--protocol {protocol} -n 50 -r 40 -d 10000 get k:__key__");
        let ran = server.run(&line).ok().prints("values of 108 bytes");
        ran.prints("the values that were read have 108 bytes, not 10,000 bytes (-d)");
    }
    let several = "--protocol memcache -n 50 -r 20 -d 10000 get k:__key__ k:__key__ k:__key__";
    server.run(several).ok().prints("values of 108 bytes");
    let ran = server.run("--protocol memcache -n 50 -r 20 -d 108 get k:__key__").ok();
    assert!(!ran.out.contains("were read have"), "{}", ran.out);
}

#[test]
fn the_error_that_ends_a_fill_names_the_server() {
    let server = Listener::that_answers_lines(|line| match line.split(' ').next() {
        Some("set") => "",
        Some("version") => "VERSION 1.6.18\r\n",
        Some("stats" | "get") => "END\r\n",
        _ => "SERVER_ERROR object too large for cache\r\n",
    });
    let ran = server.run("--protocol memcache -c 1 -q -n 20 -r 20 --fill get k:__key__").exits(1);
    let place =
        format!("--fill: 127.0.0.1:{}: Error from server: SERVER_ERROR object", server.port());
    ran.says(&place).says("(option -I)");
}
