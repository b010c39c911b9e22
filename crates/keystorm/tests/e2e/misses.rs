//! What counts as a miss, by what the server counts, and the warning about a test that mostly missed.

use crate::memcached::Memcached;
use crate::program::{Keystorm, RunOutput};
use crate::server::Server;

/// Hits and misses, from the columns of `--csv` before what a request cost.
fn counted(ran: &RunOutput) -> (u64, u64) {
    let last = ran.out.lines().last().unwrap();
    let mut cells = last.rsplit(',').skip(2).map(|cell| cell.trim_matches('"').parse().unwrap());
    let misses = cells.next().unwrap();
    (cells.next().unwrap(), misses)
}

#[test]
fn reads_of_several_keys_are_counted_as_the_server_counts_them() {
    let server = Server::redis();
    for protocol in ["", "-3"] {
        server.ask(&["FLUSHALL"]);
        let none = server.run(&format!("{protocol} -t mget -r 100000 -n 300 -P 7 --csv")).ok();
        assert_eq!(counted(&none), (0, 300));
        server.run("-t set -r 500 --sequential -n 500 -q").ok();
        let found = || server.info("keyspace_hits");
        let before = found();
        let some = server.run(&format!("{protocol} -t mget -r 1000 -n 300 -P 7 -c 3")).ok();
        some.prints(&format!("  keys: {} of 3000 found (", found() - before));
        server.ask(&["HSET", "h", "a", "1"]);
        let fields = server.run(&format!("{protocol} -n 40 hmget h a b")).ok();
        fields.prints("  fields: 40 of 80 found (50.00 %)");
        let queued = "-n 60 -- multi ';' mget no such ';' exec";
        let queued = server.run(&format!("{protocol} {queued}")).ok();
        assert!(
            !queued.out.contains(" misses\n") && !queued.out.contains("keys:"),
            "{}",
            queued.out
        );
    }
}

#[test]
fn hits_are_those_of_all_that_looks_something_up_and_of_nothing_else() {
    let server = Server::redis();
    server.ask(&["SET", "a", "1"]);
    let line = "-n 200 get a ';' get b";
    let ran = server.run(line).ok();
    ran.prints("  100 hits, 100 misses\n  hit ratio: 50.00 %, 50.00 % as counted by the server\n");
    server.run(&format!("-q {line}")).ok().prints(", 100 hits, 100 misses");
    assert_eq!(counted(&server.run(&format!("--csv {line}")).ok()), (100, 100));
    let json = server.run(&format!("--format json {line}")).ok();
    let json: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    let test = &json["tests"][0];
    assert_eq!(test["lookups"], serde_json::json!({"hits": 100, "misses": 100}));
    assert_eq!(test["commands"][0]["lookups"]["hits"], 100);
    // What is written, queued or counted finds nothing.
    assert_eq!(counted(&server.run("--csv -n 100 set b 1 ';' incr c").ok()), (0, 0));
    assert_eq!(counted(&server.run("--csv -n 60 multi ';' get a ';' exec").ok()), (0, 0));
    let mix = server.run("--csv -n 100 --mix 1 set d 1 ';' 1 get a").ok();
    let rows: Vec<&str> = mix.out.lines().collect();
    assert!(rows[2].ends_with(",\"0\",\"0\",\"\",\"\"") && counted(&mix).0 > 0, "{}", mix.out);
}

#[test]
fn collections_that_are_not_there_are_misses() {
    let server = Server::redis();
    server.ask(&["RPUSH", "l", "a"]);
    for line in [
        "hmget nosuch a b",
        "lrange nosuch 0 10",
        "-t zpopmin",
        "spop nosuch 3",
        "zrangebyscore nosuch 0 1",
        "xrange nosuch - +",
        "-3 srandmember nosuch 2",
    ] {
        assert_eq!(counted(&server.run(&format!("--csv -n 20 {line}")).ok()), (0, 20), "{line}");
    }
    assert_eq!(counted(&server.run("--csv -n 20 lrange l 0 1").ok()), (20, 0));
    // A step on a miss follows a read of several keys, too.
    server.run("-n 10 -c 1 -- mget a b ';?' set a 1").ok();
    assert_eq!(server.calls("set"), 1);
}

#[test]
fn who_finds_nothing_learns_what_fills_it_and_that_does() {
    let server = Server::redis();
    for (line, advice, fills) in [
        ("-r 50 get u:__key__", "add --fill, which", "--fill"),
        ("-r 50 -t mget", "add --fill, which", "--fill"),
        ("-r 50 hgetall h:__key__", "--fill-with", "--fill --fill-with 'hset h:__key__ a 1'"),
    ] {
        let line = format!("-n 200 {line}");
        server.run(&line).ok().prints(" were misses; ").prints(advice);
        let filled = server.run(&format!("{fills} {line}")).ok();
        assert!(!filled.out.contains("misses"), "{}", filled.out);
    }
    let pops = "-n 200 -t zpopmin";
    server.run(pops).ok().prints("fill it first: -t zadd -r 200 --sequential -n 200");
    server.run("-t zadd -r 200 --sequential -n 200").ok();
    assert!(!server.run(pops).ok().out.contains("misses"));
}

/// What a test takes was put there by the one before it, one by one: the classic suite has no warning of itself.
#[test]
fn the_default_suite_does_not_warn_of_what_it_empties_itself() {
    let server = Server::valkey();
    let ran = server.run("-n 300 -c 5").ok();
    assert!(!ran.out.contains(" were misses"), "{}", ran.out);
    assert_eq!((server.calls("spop"), server.calls("zpopmin")), (300, 300));
    server.ask(&["FLUSHALL"]);
    server.run("-n 300 -c 5 -t spop").ok().prints("fill it first: -t sadd -r 300 --sequential");
}

#[test]
fn who_does_not_look_for_anything_or_is_meant_to_miss_is_not_reported() {
    let server = Server::valkey();
    for line in [
        "set k v nx",
        "eval 'return nil' 0",
        "-t fcall",
        "-r 100 --fill --hit-ratio 0.2 get u:__key__",
        "-r 100 -- get c:__key__ ';?' set c:__key__ v",
        "-r 1000 --workload meta-socialgraph",
        "-r 1000 --workload rate-limiter",
        "-r 1000 --workload twitter-52",
    ] {
        let ran = server.run(&format!("-n 500 {line}")).ok();
        assert!(!ran.out.contains(" were misses"), "{line}: {}", ran.out);
    }
}

#[test]
fn a_phase_on_an_empty_server_names_the_phase_that_fills_it() {
    let server = Server::redis();
    let ran = server.run("--workload ycsb-b --phase run -n 500").ok();
    ran.prints("were misses; run the phase that writes these keys first (--phase load)");
    let ran = server.run("--workload ycsb-b -n 500").ok();
    assert!(!ran.out.contains("were misses"), "{}", ran.out);
    let ran = server.run("--workload ycsb-b --fill -n 500").ok();
    ran.says("note: --fill is not needed: the phase load writes every key");
}

/// A server whose memory holds less than half of these keys, and the keys.
const EVICTING: &str = "--maxmemory 5mb --maxmemory-policy allkeys-lru";
const TOO_MANY: &str = "-t get --fill -r 20k -d 500 -c 4";

#[test]
fn no_command_is_content_with_a_fill_that_was_evicted() {
    let limits: Vec<&str> = EVICTING.split(' ').collect();
    let server = Server::redis_with(&limits);
    let address = format!("127.0.0.1:{}", server.port());
    let told = "--fill: the server evicted ";
    let missed = " replies to GET were misses; --fill wrote these keys";
    // The target is one of reads that find their keys.
    let ran = server.run(&format!("{TOO_MANY} -n 2000 --slo p99<10s")).exits(3);
    ran.prints(told).prints(missed);
    let line = format!("{TOO_MANY} --duration 0.5 --slo p99<10s --start 500 --repeat 1");
    let search = Keystorm::new(&format!("search -p {} {line}", server.port())).run().exits(1);
    search.prints("not even").prints(missed).prints(told);
    let sweep = format!("sweep -p {} {TOO_MANY} -n 500 -P 1,2", server.port());
    Keystorm::new(&sweep).run().ok().prints(told);
    let blocks = "--repeat 2 --disturbed count";
    let compare = format!("compare {address} {address} {TOO_MANY} -n 500 {blocks}");
    let ran = Keystorm::new(&format!("{compare} --fail-on-regression 99")).run().exits(4);
    ran.prints("no ratio: ").prints("a miss is less work than a hit");
    let ran = Keystorm::new(&format!("{compare} --rps 1k --slo p99<10s")).run();
    let words = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("no server was shown to keep p99<10s"), "{words}");
    assert!(words.contains("Of what was filled and read, "), "{words}");
    assert!(words.contains("evicted "), "{words}");
    assert!(server.info("evicted_keys") > 10_000 && server.info("keyspace_misses") > 2_000);
}

#[test]
fn keys_of_a_fill_are_removed_in_the_end_where_that_is_asked_for() {
    let server = Server::redis();
    server.ask(&["SET", "other", "1"]);
    let others = |n: i64| assert_eq!(server.number(&["DBSIZE"]), n);
    let told = "stay in the server (--clean removes them)";
    let kept = server.run("-t get -r 100 --fill -n 10").ok();
    kept.says(told);
    others(101);
    server.run("-t get -r 100 --fill --clean -n 10").ok().says("removed 100 keys");
    others(1);
    let fill = "--fill --fill-with 'hset h:__key__ f v ; zadd z:__key__ 1 a' --clean";
    server.run(&format!("{fill} -r 50 -n 10 hget h:__key__ f")).ok();
    assert_eq!([server.calls("hset"), server.calls("zadd"), server.calls("del")], [50, 50, 200]);
    others(1);
    let running = server.keystorm("-t get -r 100 --fill --clean --duration 60").start();
    running.until("it reads", |_| server.calls("get") > 100);
    running.interrupt();
    running.wait().exits(130).says("removed 100 keys");
    others(1);
    let at = format!("127.0.0.1:{}", server.port());
    let line = format!("compare {at} {at} -t get -r 100 --fill --clean -n 50 --repeat 1");
    Keystorm::new(&line).run();
    others(1);
    let memcached = Memcached::new();
    memcached.run("-r 100 --fill --clean -n 100 get k:__key__").ok().says("removed 100 keys");
    assert!(memcached.say("stats\n").contains("STAT curr_items 0\r"));
    server.run("-t get --clean").exits(2).says("add --fill");
}
