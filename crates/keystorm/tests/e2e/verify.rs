//! `--fill` and `--verify`: what is written before a test, and whether it is what comes back.

use crate::server::{Server, calls};

#[test]
fn every_key_that_is_read_is_written_once_before_the_test() {
    let server = Server::redis();
    let line = "-q -n 2000 -r 500 -d uniform:10..2k --seed 7 --fill";
    server.run(&format!("{line} --mix -- 9 get a:__key__ ';' 1 set b:__key__ __data__")).ok();
    let counts = server.counts();
    assert_eq!(counts["get"] + counts["set"], 2_500, "{counts:?}");
    assert_eq!((server.info("keyspace_misses"), server.info("keyspace_hits")), (0, counts["get"]));
    let filled = server.keys().into_iter().filter(|key| key.starts_with("a:")).count();
    assert_eq!(filled, 500);
    // The tests of the suite read keys too.
    server.reset();
    let ran = server.run("-q -n 100 -r 50 --fill -t get,mset").ok();
    assert_eq!(server.counts(), calls([("set", 50), ("get", 100), ("mset", 100)]));
    assert!(ran.err.contains("filled 50 keys: "), "{}", ran.err);
}

#[test]
fn a_fill_writes_what_is_read_or_is_refused() {
    let server = Server::redis();
    let filled = |line: &str, description: &str, misses: u64| {
        server.reset();
        server.ask(&["FLUSHALL"]);
        server.run(&format!("-q -n 200 --fill {line}")).ok().says(description);
        assert_eq!(server.info("keyspace_misses"), misses, "{line}");
    };
    filled("get k:__rand_int__", "filled 1 key:", 0);
    assert_eq!(server.keys(), ["k:__rand_int__"]);
    filled("-r 100 get fixed", "filled 1 key:", 0);
    filled("-r 50 get a:__key__ ';>' set b:__key__ __reply__", "filled 50 keys:", 0);
    let rows = tempfile::Builder::new().suffix(".csv").tempfile().unwrap();
    std::fs::write(rows.path(), "id,name\n7,ann\n8,bob\n9,cy\n7,dee\n").unwrap();
    let dataset = format!("--dataset {}", rows.path().display());
    for by in ["", "--set rows-by=random"] {
        filled(&format!("{dataset} {by} get u:__field:id__"), "filled 3 keys:", 0);
    }
    let with = "--fill-with 'hset u:__field:id__ name __field:name__'";
    filled(&format!("{dataset} {with} hgetall u:__field:id__"), "filled 3 keys:", 0);
    assert_eq!(server.text(&["HGET", "u:8", "name"]), "bob");
    for (line, why) in [
        ("-r 10 get k:__rand_int__:__rand_1st__", "has several numbers"),
        ("-r 10 get k:__key__:__draw:0..9__", "is drawn for each request"),
        ("-r 10 get a:__key__ ';>' get __reply__", "depends on an earlier reply"),
        ("-r 10 --cluster get '{tag}:__key__'", "{tag}"),
    ] {
        server.run(&format!("-q -n 10 --fill {line}")).exits(2).says(why);
    }
}

#[test]
fn what_set_cannot_write_is_written_as_asked() {
    let server = Server::valkey();
    let line = "-q -n 100 -r 50 --fill hgetall h:__key__";
    server.run(line).exits(2).says("--fill-with");
    server.run("-q -n 100 -r 50 --fill incr h:__key__").exits(2).says("no command reads");
    let with = "--fill-with 'hset h:__key__ name __data__ ; expire h:__key__ 100'";
    server.run(&format!("-q -n 100 -r 50 --fill {with} hgetall h:__key__")).ok();
    assert_eq!(server.counts(), calls([("hset", 50), ("expire", 50), ("hgetall", 100)]));
    assert_eq!(server.keys().len(), 50);
}

#[test]
fn what_comes_back_is_what_another_process_wrote() {
    let server = Server::redis();
    let values = "-q -r 300 --seed 5 -d uniform:0..3k";
    server
        .run(&format!("{values} -n 300 --sequential --content random set k:__rand_int__ __data__"))
        .ok();
    let read = |options: &str, command: &str| {
        server.run(&format!("{values} -n 2000 --verify {options} {command}"))
    };
    for options in ["-P 16", "--threads 2 -c 7 --engine epoll", "--content random -3"] {
        read(options, "get k:__key__").ok();
        read(options, "mget k:__rand_int__ k:__rand_int__ other k:__rand_int__").ok();
    }
    // Another seed has other values.
    let other = server.run("-q -r 300 --seed 6 -d uniform:0..3k -n 10 --verify get k:__key__");
    other.exits(1).prints("corrupt");
}

#[test]
fn one_byte_that_was_changed_is_found_and_quoted() {
    let server = Server::redis();
    let values = "-r 100 --seed 5 -d 200";
    server.run(&format!("-q {values} -n 100 --fill --verify get k:__key__")).ok();
    server.ask(&["SETRANGE", "k:000000000042", "150", "!"]);
    let line = format!("{values} -n 300 -P 4 --sequential --verify get k:__rand_int__");
    let ran = server.run(&line).exits(1);
    let wrong = "get k:000000000042: byte 150 of 200 is wrong: read \"!";
    assert!(ran.out.contains("corrupt: 3") && ran.out.contains(wrong), "{}", ran.out);
    for format in ["-q", "--csv"] {
        server.run(&format!("{format} {line}")).exits(1).says(wrong);
    }
    // One that another client wrote, and one that lost its end.
    server.ask(&["SET", "k:000000000042", "hello"]);
    let ran = server.run(&line).exits(1);
    assert!(
        ran.out.contains("read 5 bytes, but 200 were written") || ran.out.contains("\"hello\""),
        "{}",
        ran.out
    );
    // One that is not there is missing, and not wrong.
    server.ask(&["DEL", "k:000000000042"]);
    server.run(&line).ok().prints("297 hits, 3 misses");
    // Unless everything must be there: "nothing lost" is a command.
    let ran = server.run(&format!("--fail-on-miss {line}")).exits(1);
    ran.prints("missing: 3\n").prints("first: missing: get k:000000000042\n");
    server.run(&format!("-q --fail-on-miss {line}")).exits(1).prints("(missing values: 3)");
    let ran = server.run("-n 10 -r 10 --fail-on-miss get absent:__key__").exits(1);
    ran.prints("limited by: errors: 100 % of 10 requests found nothing; check whether the keys");
}

#[test]
fn nothing_is_lost_by_a_restart_or_it_is_reported() {
    let mut server = Server::redis();
    let values = "-r 2000 --seed 5 -d uniform:1..500 --sequential -n 2000";
    server.run(&format!("-q {values} --content random set k:__rand_int__ __data__")).ok();
    let read = format!("-q {values} --verify --fail-on-miss get k:__rand_int__");
    server.ask(&["SAVE"]);
    server.kill();
    server.restart();
    server.run(&read).ok();
    server.run(&format!("{read} ';' mget k:__rand_int__ k:__rand_int__")).ok();
    server.ask(&["DEL", "k:000000000007"]);
    server.run(&read).exits(1).prints("(missing values: 1)");
    server.ask(&["SETRANGE", "k:000000000011", "0", "\u{1}"]);
    let both = server.run(&read.replace("-q ", "")).exits(1);
    both.prints("first: missing: get k:000000000007\n")
        .prints("first: corrupt: get k:000000000011");
    let all = "--fail-on-miss mget k:__rand_int__ k:__rand_int__";
    server.run(&format!("-q {values} {all}")).exits(1).prints("missing");
    // A null that means "done" is no lost value.
    let locks = "--fail-on-miss --mix -- 1 get k:000000000001 ';' 1 set k:000000000001 v nx";
    server.run(&format!("-q -n 100 -r 10 {locks}")).ok();
    for (line, why) in [
        ("set k:__key__ v", "no command reads a key"),
        ("--fill --hit-ratio 0.5 get k:__key__", "--hit-ratio, which asks for misses"),
        ("--mix -- 1 get k:__key__ ';?' set k:__key__ v", "which expects misses"),
        ("--protocol memcache-meta mg k:__key__ v q O1 ';' mn", "remove its flag q"),
    ] {
        server.run(&format!("-q -n 10 -r 10 --fail-on-miss {line}")).exits(2).says(why);
    }
}

#[test]
fn of_several_keys_each_has_the_value_of_its_own_number() {
    let server = Server::redis();
    let values = "-q -r 200 --seed 5 -d uniform:1..900";
    let both = "k:__key__ __data__ l:__rand_1st__ __data__ m:__key:3__ __data__";
    server.run(&format!("{values} -n 4000 --content random mset {both}")).ok();
    let read = |command: &str| server.run(&format!("{values} -n 2000 -P 4 --verify {command}"));
    let all = "mget k:__key__ l:__rand_int__ none m:__key:3__ k:__rand_1st__";
    assert!(!read(all).ok().out.contains("corrupt"));
    read("get m:__key:3__").ok();
    // Behind its back.
    let key = server.keys().into_iter().find(|key| key.starts_with("l:")).unwrap();
    server.ask(&["SETRANGE", &key, "0", "\u{1}"]);
    read(all).exits(1).prints("corrupt");
    // Filled and read by one process.
    let server = Server::redis();
    let line = "-n 1000 --fill --verify mget k:__key__ k:__rand_int__ a:__rand_1st__";
    server.run(&format!("-q -r 1000 {line}")).ok();
    assert_eq!(server.info("keyspace_misses"), 0);
}

#[test]
fn replies_in_a_transaction_are_looked_into() {
    let server = Server::redis();
    let values = "-r 50 --seed 5 -d 64 -n 150 --sequential";
    let read = |options: &str, command: &str| {
        server.run(&format!("{values} {options} multi ';' {command} ';' exec"))
    };
    let both = "--verify --fail-on-miss";
    let ran = read(both, "get k:__key__").exits(1);
    let ran = ran.prints("missing: 50\n").prints("first: missing: get k:0000000000");
    assert!(!ran.out.contains(" hits, "), "a queued GET found nothing yet: {}", ran.out);
    read("--fail-on-miss", "mget k:__key__ none").exits(1).prints("missing: 50\n");
    server.run(&format!("-q {values} --content random -n 50 set k:__rand_int__ __data__")).ok();
    for options in [both, "--verify -P 9", "-3 --verify --fail-on-miss"] {
        read(options, "get k:__key__").ok();
    }
    server
        .run(&format!(
            "-n 50 -q {values} {both} multi ';' get k:__key__ ';' mget k:__rand_1st__ \
        k:__rand_2nd__ ';' hgetall none ';' get k:__key__ ';' exec"
        ))
        .exits(1)
        .prints("missing values: ");
    server.ask(&["SETRANGE", "k:000000000042", "20", "!"]);
    let ran = read(both, "get k:__key__").exits(1);
    ran.prints("corrupt: 1\n").prints("get k:000000000042: byte 20 of 64 is wrong: read \"!");
}

#[test]
fn each_field_of_a_hash_has_a_value_of_its_own() {
    let server = Server::redis();
    let values = "-q -r 100 --seed 5 -d uniform:1..200 -n 300";
    let write = "hset h:__key__ f __data__ g __data__ ';' hset h:__key__ i __data__";
    server.run(&format!("{values} --content random --sequential {write}")).ok();
    let read = |command: &str| server.run(&format!("{values} -n 300 --verify {command}"));
    for command in ["hget h:__key__ f", "hget h:__key__ g", "hmget h:__key__ g i none f"] {
        read(command).ok();
    }
    let of = |field: &str| server.text(&["HGET", "h:000000000007", field]);
    assert!(of("f") != of("g") && of("g") != of("i"));
    server.ask(&["HSET", "h:000000000007", "g", "x"]);
    read("hget h:__key__ f").ok();
    read("hmget h:__key__ f g").exits(1).prints("corrupt");
    // Filled by one command, read by others.
    let fill = "--fill --fill-with 'hset p:__key__ a __data__ b __data__'";
    server.run(&format!("{values} {fill} --verify hmget p:__key__ b a")).ok();
}

#[test]
fn what_cannot_be_verified_is_a_usage_error() {
    let server = Server::redis();
    for (line, why) in [
        ("-r 10 --verify set k:__key__ __data__", "no command reads the values"),
        ("--verify get k:__key__", "requires -r"),
        (
            "-r 10 -d uniform:1..9 --set size-by=request --verify get k:__key__",
            "--set size-by=request",
        ),
        ("-r 10 --fill-with 'set a b' get k", "--fill"),
    ] {
        server.run(&format!("-q -n 10 {line}")).exits(2).says(why);
    }
    assert_eq!(server.counts(), calls([]));
}

#[test]
fn a_share_of_what_is_read_is_there() {
    let server = Server::redis();
    let line = "-q -n 20000 -r 1000 --seed 3 --fill --hit-ratio 0.9";
    server.run(&format!("{line} get k:__key__")).ok();
    let hits = server.info("keyspace_hits");
    // Five standard deviations of a share of nine in ten are 212.
    assert!((17_788..=18_212).contains(&hits), "{hits}");
    assert_eq!(server.keys().len(), 1_000);
    server.reset();
    server.run(&format!("{line} --mix -- 1 get k:__key__ ';' 1 set k:__key__ __data__")).ok();
    assert_eq!(server.keys().len(), 1_000, "what is written is in the range");
    let (hits, misses) = (server.info("keyspace_hits"), server.info("keyspace_misses"));
    let share = hits as f64 / (hits + misses) as f64;
    assert!((0.88..0.92).contains(&share), "{share}");
    // What changes nothing may stand beside what is read.
    server.run("-q -n 20 -r 10 --hit-ratio 0.5 get k:__key__ ';' ping").ok();
    for (line, why) in [
        ("-r 10 --hit-ratio 1.5 get k:__key__", "from 0 to 1"),
        ("--hit-ratio 0.5 get k:__key__", "add -r"),
        ("-r 10 --hit-ratio 0.5 set k:__key__ v", "no command reads"),
        ("-r 10 --hit-ratio 0.5 --mix -- 1 get k:__key__ ';?' set k:__key__ v", "set changes keys"),
        (
            "-r 10 --hit-ratio 0.5 get k:__key__ ';?' set k:__key__ v",
            "set changes keys that the same sequence",
        ),
    ] {
        server.run(&format!("-q -n 10 {line}")).exits(2).says(why);
    }
}
