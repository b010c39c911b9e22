//! What the command line means to memcached: lifetimes, presets, sizes, and where the server is.

use crate::memcached::Memcached;
use crate::program::Keystorm;

const PROTOCOLS: [&str; 3] = ["memcache", "memcache-meta", "memcache-binary"];

/// Seconds that an item has left; `None` of one that stays.
fn left(server: &Memcached, key: &str) -> Option<u64> {
    let reply = server.say(&format!("mg {key} t\n"));
    let seconds = reply.trim().strip_prefix("HD t").unwrap_or_else(|| panic!("{key}: {reply}"));
    (seconds != "-1").then(|| seconds.parse().unwrap())
}

#[test]
fn what_is_stored_lives_as_long_as_asked() {
    let server = Memcached::new();
    let key = "key:000000000003";
    for protocol in PROTOCOLS {
        for test in ["set", "replace", "cas", "touch", "gat", "get"] {
            server.say("flush_all\n");
            server.run(&format!("--protocol {protocol} -q --ttl 600 -n 50 -r 5 -t {test}")).ok();
            assert!(
                left(&server, key).is_some_and(|s| (1..=600).contains(&s)),
                "{protocol} {test}"
            );
        }
        server.run(&format!("--protocol {protocol} -q -n 50 -r 5 -t set")).ok();
        assert_eq!(left(&server, key), None);
    }
    server.run("--protocol memcache-meta -q --ttl 600..700 -n 50 -r 5 -t ms").ok();
    assert!(left(&server, key).is_some_and(|s| s > 60));
    // Commands have a word for it.
    server.run("-n 5 --ttl 60 set zz 0 0 __data__").exits(2).says("write __ttl__ there");
    server.run("-n 5 --ttl 31d -t set").exits(2).says("more than 30 days");
    server.run("-q -n 5 --ttl 60 set zz 0 __ttl__ __data__").ok();
    assert!(left(&server, "zz").is_some());
}

#[test]
fn presets_that_caches_know_are_stated_in_their_words() {
    let mut server = Memcached::new();
    for protocol in PROTOCOLS {
        for preset in ["facebook-etc", "twitter-12", "twitter-18", "meta-kvcache", "session-store"]
        {
            server.say("flush_all\n");
            server.reset();
            let line =
                format!("--protocol {protocol} --workload {preset} -q -n 400 -r 20 --seed 1");
            let ran = server.run(&line).ok();
            assert!(!ran.out.contains("ERROR"), "{protocol} {preset}: {}", ran.out);
            assert!(server.grown(&["cmd_set"]) >= 20, "{protocol} {preset}");
            assert!(server.grown(&["get_hits"]) > 0, "{protocol} {preset}");
        }
        // Its keys are gone after half an hour.
        assert!(left(&server, "session:000000000003").is_none_or(|s| s <= 1800), "{protocol}");
        let refused =
            server.run(&format!("--protocol {protocol} --workload ycsb-b -n 10")).exits(2);
        refused.says("this preset uses h").says("presets for both are session-store, look-aside, ");
    }
    let redis_words = server.run("--workload rate-limiter -n 10").exits(2);
    redis_words.says("this preset uses incr");
}

#[test]
fn values_that_the_server_does_not_take_are_refused_before_the_run() {
    let server = Memcached::new();
    server.say("set a 0 0 3\nold\n");
    for line in [
        "-d 2M set a 0 0 __data__",
        "-d uniform:10..2M -r 2 set a 0 0 __data__",
        "-d 2M -r 2 --fill get k:__key__",
        "-d 2M -r 2 -t set",
    ] {
        let ran = server.run(&format!("-n 10 {line}")).exits(2);
        ran.says("accepts items of up to 1048576 bytes").says("a larger -I");
    }
    assert!(server.say("get a\n").contains("old"), "what was there is there");
    let counted = server.run("-n 10 -d 2M --on-error count set a 0 0 __data__");
    assert!(counted.out.contains("too large"), "{}", counted.out);
    server.run("-q -n 10 -d 1048540 set a 0 0 __data__").exits(2).says("1048576");
    server.run("-q -n 10 -d 1000k set a 0 0 __data__").ok();
    let large = Memcached::with(&["-I", "4m"]);
    large.run("-q -n 10 -d 2M set a 0 0 __data__").ok();
}

#[test]
fn one_server_is_named_as_those_of_a_list_are() {
    let mut server = Memcached::new();
    server.reset();
    let place = format!("127.0.0.1:{}", server.port());
    for named in [format!("-h {place}"), format!("-u memcache://{place}")] {
        let line = format!("--protocol memcache {named} -q -n 10 set k 0 0 __data__");
        Keystorm::new(&line).run().ok();
    }
    assert_eq!(server.grown(&["cmd_set"]), 20);
    let line = format!("--protocol memcache -h {place} -p 1 get k");
    Keystorm::new(&line).run().exits(2).says("-p 1: -h names port");
    let nobody = "--protocol memcache -h /nobody/is/there.sock get k";
    Keystorm::new(nobody).run().exits(1).says("/nobody/is/there.sock");
}

#[test]
fn who_speaks_only_lines_is_named_in_binary() {
    let server = Memcached::with(&["-B", "ascii"]);
    let ran = server.run("--protocol memcache-binary -n 5 get k").exits(1);
    ran.says("it answers in the text protocol. Use --protocol memcache");
}
