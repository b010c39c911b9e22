//! The suite: its tests by name, in order, with the keys and values of the peers.

use std::collections::BTreeMap;

use wire::resp::Value;

use crate::server::{Server, called, calls};

const TITLES: [&str; 24] = [
    "PING_INLINE",
    "PING_MBULK",
    "SET",
    "GET",
    "INCR",
    "LPUSH",
    "RPUSH",
    "LPOP",
    "RPOP",
    "SADD",
    "HSET",
    "SPOP",
    "ZADD",
    "ZPOPMIN",
    "LPUSH (needed to benchmark LRANGE)",
    "LRANGE_100 (first 100 elements)",
    "LRANGE_300 (first 300 elements)",
    "LRANGE_500 (first 500 elements)",
    "LRANGE_600 (first 600 elements)",
    "MSET (10 keys)",
    "MGET (10 keys)",
    "XADD",
    "FUNCTION LOAD",
    "FCALL",
];

/// Each `-t` name, and what the server executes for each request asked for.
const NAMES: &[(&str, &[(&str, u64)])] = &[
    ("ping_inline", &[("ping", 1)]),
    ("ping_mbulk", &[("ping", 1)]),
    ("ping", &[("ping", 2)]),
    ("set", &[("set", 1)]),
    ("get", &[("get", 1)]),
    ("incr", &[("incr", 1)]),
    ("lpush", &[("lpush", 1)]),
    ("rpush", &[("rpush", 1)]),
    ("lpop", &[("lpop", 1)]),
    ("rpop", &[("rpop", 1)]),
    ("sadd", &[("sadd", 1)]),
    ("hset", &[("hset", 1)]),
    ("spop", &[("spop", 1)]),
    ("zadd", &[("zadd", 1)]),
    ("zpopmin", &[("zpopmin", 1)]),
    ("lrange", &[("lpush", 1), ("lrange", 4)]),
    ("lrange_100", &[("lpush", 1), ("lrange", 1)]),
    ("lrange_300", &[("lpush", 1), ("lrange", 1)]),
    ("lrange_450", &[("lpush", 1), ("lrange", 1)]),
    ("lrange_500", &[("lpush", 1), ("lrange", 1)]),
    ("lrange_600", &[("lpush", 1), ("lrange", 1)]),
    ("mset", &[("mset", 1)]),
    ("mget", &[("mget", 1)]),
    ("xadd", &[("xadd", 1)]),
    ("function_load", &[("function|load", 1)]),
    ("SET,Get", &[("set", 1), ("get", 1)]),
];

fn quiet_titles(out: &str) -> Vec<&str> {
    let body = out.strip_suffix("\n\n").expect("a blank line at the end");
    let titles = body.lines().map(|line| line.split(": ").next().unwrap());
    titles.collect()
}

fn csv_titles(out: &str) -> Vec<&str> {
    out.lines().skip(1).map(|line| line[1..].split("\",\"").next().unwrap()).collect()
}

/// The texts of a nested reply, with spaces between them.
fn all_text(reply: &Value) -> String {
    match reply {
        Value::Array(items) => items.iter().map(all_text).collect::<Vec<_>>().join(" "),
        value => value.text().unwrap_or_default(),
    }
}

#[test]
fn the_whole_suite_runs_in_the_order_of_the_peers() {
    for (name, server) in Server::both() {
        assert_eq!(quiet_titles(&server.run("-q -n 300 -c 5").ok().out), TITLES, "{name}");
        let csv = server.run("--csv -n 100 -c 5").ok();
        assert_eq!(csv_titles(&csv.out), TITLES, "{name}");
        assert_eq!(csv.err_but_verdicts(), "", "{name}");
    }
}

#[test]
fn every_name_selects_its_test_and_the_server_counts_its_requests() {
    const N: u64 = 130;
    for (product, server) in Server::both() {
        for (name, expected) in NAMES {
            server.reset();
            server.run(&format!("-t {name} -n {N} -c 3 -P 4 -q")).ok();
            let expected: BTreeMap<String, u64> =
                expected.iter().map(|(name, times)| ((*name).to_owned(), times * N)).collect();
            assert_eq!(server.counts(), expected, "{product} -t {name}");
        }
    }
}

#[test]
fn fcall_calls_a_function_that_is_loaded_once() {
    for (product, server) in Server::both() {
        for options in ["", "--num-keys-in-fcall 3", "--num-keys-in-fcall 0"] {
            server.reset();
            server.run(&format!("-t fcall -n 100 -q {options}")).ok();
            assert_eq!(server.calls("fcall"), 100, "{product} {options}");
            assert_eq!(server.calls("function|load"), 1, "{product} {options}");
        }
        server.run("-t function_load --num-functions 7 -n 20 -q").ok();
        let listed = all_text(&server.ask(&["FUNCTION", "LIST"]));
        assert_eq!(listed.matches("foo").count(), 7, "{product}: {listed}");
    }
}

#[test]
fn without_a_key_space_the_placeholder_itself_is_the_key() {
    let server = Server::valkey();
    server.run("-t set,incr,sadd,hset,zadd,mset,lpush,xadd -n 40 -d 8 -q").ok();
    let keys =
        ["counter:__rand_int__", "key:__rand_int__", "myhash", "mylist", "myset", "mystream"];
    assert_eq!(server.keys()[..6], keys);
    assert_eq!(server.text(&["GET", "key:__rand_int__"]), "VXKeHogK");
    assert_eq!(server.text(&["GET", "counter:__rand_int__"]), "40");
    assert_eq!(server.texts(&["SMEMBERS", "myset"]), ["element:__rand_int__"]);
    assert_eq!(server.texts(&["HGETALL", "myhash"]), ["element:__rand_int__", "VXKeHogK"]);
    assert_eq!(server.texts(&["LRANGE", "mylist", "0", "0"]), ["VXKeHogK"]);
    let zset = ["ZRANGE", "myzset", "0", "-1", "WITHSCORES"];
    assert_eq!(server.texts(&zset), ["element:__rand_1st__", "0"]);
    let entry = all_text(&server.ask(&["XRANGE", "mystream", "-", "+", "COUNT", "1"]));
    assert!(entry.ends_with(" myfield VXKeHogK"), "{entry}");
}

#[test]
fn values_are_three_bytes_unless_asked_otherwise() {
    let server = Server::redis();
    for (option, len) in [("", 3), ("-d 1", 1), ("-d 0", 1), ("-d 100000", 100_000)] {
        server.run(&format!("-t set -n 10 -q {option}")).ok();
        assert_eq!(server.number(&["STRLEN", "key:__rand_int__"]), len, "{option}");
    }
}

#[test]
fn with_a_key_space_keys_have_twelve_digits() {
    let server = Server::redis();
    server.run("-t set,incr,sadd,hset,zadd,mset -r 1000 -n 200 -q").ok();
    let keys = server.keys();
    assert!(keys.len() > 100, "{keys:?}");
    let mut numbered = keys;
    numbered.retain(|key| key.contains(':'));
    numbered.extend(server.texts(&["SMEMBERS", "myset"]));
    numbered.extend(server.texts(&["HKEYS", "myhash"]));
    numbered.extend(server.texts(&["ZRANGE", "myzset", "0", "-1"]));
    for key in numbered {
        let (word, digits) = key.split_once(':').unwrap();
        assert!(["key", "counter", "element"].contains(&word), "{key}");
        assert!(digits.len() == 12 && digits.parse::<u64>().unwrap() < 1000, "{key}");
    }
    let scores = server.number(&["ZCOUNT", "myzset", "1", "999"]);
    assert!(scores > 100, "scores are drawn too: {scores}");
}

#[test]
fn lrange_finds_its_list_full() {
    let server = Server::redis();
    server.run("-t lrange_600 -n 1000 -q").ok();
    assert_eq!(server.number(&["LLEN", "mylist"]), 1000);
}

#[test]
fn a_name_that_does_not_exist_lists_those_that_do() {
    let server = Server::redis();
    let ran = server.run("-t set,gett -n 10").exits(2).says("\"gett\"");
    for (name, _) in &NAMES[..25] {
        assert!(ran.err.contains(name), "{name}: {}", ran.err);
    }
    assert!(ran.err.contains("fcall"));
    assert_eq!(server.counts(), calls([]));
    server.run("-t ,").exits(2).says("lrange_450");
}

#[test]
fn the_name_it_is_called_by_decides_whose_suite_runs() {
    let server = Server::redis();
    let run = |name: &str, line: &str| {
        let (_dir, link) = called(name);
        server.keystorm(line).called(link).run().ok()
    };
    let redis = run("redis-benchmark", "-q -n 50 -c 5");
    let theirs = ["MGET (10 keys)", "XADD", "FUNCTION LOAD", "FCALL"];
    let expected: Vec<_> = TITLES.into_iter().filter(|t| !theirs.contains(t)).collect();
    assert_eq!(quiet_titles(&redis.out), expected);
    let valkey = run("valkey-benchmark", "-q -n 50 -c 5");
    assert_eq!(quiet_titles(&valkey.out), TITLES);
    server.reset();
    run("redis-benchmark", "-q -n 50 -t zadd,mget");
    assert_eq!(server.texts(&["ZRANGE", "myzset", "0", "-1"]), ["element:__rand_int__"]);
    assert_eq!(server.calls("mget"), 50, "asked for by name it is there all the same");
}
