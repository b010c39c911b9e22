//! `--key-dist` and `__key__`: which keys a server gets, and how often.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::program::Keystorm;
use crate::server::{Server, calls};

/// How often each key was counted up, by its number.
fn counts(server: &Server) -> BTreeMap<u64, u64> {
    let keys = server.keys();
    let mut words = vec!["MGET"];
    words.extend(keys.iter().map(String::as_str));
    let counts = server.texts(&words);
    let number = |key: &String| key.trim_start_matches("k:").parse().unwrap();
    keys.iter().map(number).zip(counts.iter().map(|count| count.parse().unwrap())).collect()
}

/// 20,000 requests over 1,000 keys, counted by the server.
fn drawn(server: &Server, options: &str) -> BTreeMap<u64, u64> {
    server.reset();
    server.run(&format!("-q -n 20000 -r 1000 -P 16 --seed 3 {options} incr k:__key__")).ok();
    let counts = counts(server);
    assert_eq!(counts.values().sum::<u64>(), 20_000, "{options}");
    counts
}

#[test]
fn hot_keys_are_as_hot_as_zipf_makes_them() {
    let server = Server::redis();
    let sum: f64 = (1..=1000).map(|k| f64::from(k).powf(-1.1)).sum();
    let expected = |rank: u64| 20_000.0 * ((rank + 1) as f64).powf(-1.1) / sum;
    let counts = drawn(&server, "--key-dist zipf:1.1 -c 7");
    for rank in 0..10 {
        let (count, expected) = (counts[&rank] as f64, expected(rank));
        assert!((count - expected).abs() < 5.0 * expected.sqrt(), "{rank}: {count}, {expected}");
    }
    let scattered = drawn(&server, "--key-dist zipf-scattered:1.1 -c 7");
    let sorted = |counts: &BTreeMap<u64, u64>| {
        let mut counts: Vec<u64> = counts.values().copied().collect();
        counts.sort_unstable();
        counts
    };
    assert_eq!(sorted(&scattered), sorted(&counts), "the same counts on other keys");
    assert_ne!(scattered, counts);
}

#[test]
fn every_distribution_goes_where_it_says() {
    let server = Server::redis();
    let part = |options: &str, keys: std::ops::Range<u64>| {
        let drawn = drawn(&server, options);
        drawn.range(keys).map(|(_, count)| *count as f64).sum::<f64>() / 20_000.0
    };
    for (options, keys, share) in [
        ("--key-dist hotspot:80/20", 0..200, 0.8),
        ("--key-dist gaussian:30,5", 250..350, 0.6827),
        ("--key-dist exponential", 0..500, 0.852),
        ("--key-dist uniform", 0..500, 0.5),
    ] {
        let got = part(options, keys);
        assert!((got - share).abs() < 0.02, "{options}: {got} of the draws, not {share}");
    }
    assert_eq!(
        drawn(&server, "--key-dist sequential --threads 2 -c 9"),
        drawn(&server, "--sequential")
    );
}

#[test]
fn a_seed_has_its_keys_whatever_carries_them() {
    let server = Server::redis();
    let first = drawn(&server, "--key-dist zipf -c 1");
    for same in ["-c 10", "--threads 4 -c 11", "--window rolling -c 3 --engine epoll"] {
        assert_eq!(drawn(&server, &format!("--key-dist zipf {same}")), first, "{same}");
    }
    server.reset();
    for shard in ["1/2", "2/2"] {
        let shape = "-q -n 20000 -r 1000 -P 16 --seed 3 -c 10 --key-dist zipf --threads 2";
        server.run(&format!("{shape} --shard {shard} incr k:__key__")).ok();
    }
    assert_eq!(counts(&server), first);
}

#[test]
fn the_key_is_one_throughout_a_sequence() {
    let server = Server::redis();
    let line = "-q -n 900 -c 5 -P 10 -r 1000000000000 sadd a __key__ ';' sadd b __key__ ';' sadd c";
    server.run(&format!("{line} __rand_int__ __rand_1st__")).ok();
    assert_eq!(server.number(&["SCARD", "a"]), 300);
    assert_eq!(server.texts(&["SDIFF", "a", "b"]), [""; 0]);
    assert_eq!(server.texts(&["SINTER", "a", "c"]), [""; 0]);
    server.reset();
    server.run("-q -n 10 set k:__key__ v").ok();
    assert_eq!(server.keys(), ["k:__key__"], "without -r it is the text that it is");
}

#[test]
fn keys_of_a_file_come_in_its_order() {
    let server = Server::redis();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("keys.csv");
    std::fs::write(&path, "ms,id\n1,70\n2,8\n3,70\n").unwrap();
    let path = path.to_str().unwrap();
    server.run(&format!("-q -c 1 -n 5 --key-dist file:{path}#id rpush l __key__")).ok();
    let [a, b] = ["000000000070", "000000000008"];
    assert_eq!(server.texts(&["LRANGE", "l", "0", "-1"]), [a, b, a, a, b]);
    let refused = |options: &str| server.run(&format!("{options} get __key__")).exits(2);
    refused(&format!("--key-dist file:{path}#key")).says("\"key\"").says("ms, id");
    refused(&format!("-r 70 --key-dist file:{path}#id")).says("key 70").says("-r 70");
    refused(&format!("--key-dist file:{path}x")).says("--key-dist").says("No such file");
}

#[test]
fn plans_and_kept_results_name_the_distribution() {
    let server = Server::redis();
    let dir = tempfile::tempdir().unwrap();
    let (json, page) = (dir.path().join("a.json"), dir.path().join("a.html"));
    let (json, page) = (json.to_str().unwrap(), page.to_str().unwrap());
    let keep = format!("--json {json} --html {page} -q -n 100");
    server.run(&format!("{keep} -r 50 --key-dist zipf:1.2 get __key__")).ok();
    let kept: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    assert_eq!(kept["plan"][0]["data"]["keys"]["draw"], "zipf:1.2");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("zipf:1.2 of 50") && page.contains("--key-dist zipf:1.2"));
    Keystorm::exec(crate::server::KEYSTORM, ["show", json]).run().ok();
}

#[test]
fn the_newest_keys_are_there_whenever_they_are_read() {
    let server = Server::redis();
    let mix = "--mix -- 4 get k:__key__ ';' 1 set k:__insert__ __data__";
    for options in ["-c 1", "-P 16", "--threads 3 -c 9 -P 4", "--rps 20k"] {
        server.reset();
        let line = "-q -r 1000 -n 10000 --seed 5 --key-dist latest --fill --verify";
        server.run(&format!("{line} {options} {mix}")).ok();
        let inserted = server.calls("set") - 1_000;
        assert!((1_800..=2_200).contains(&inserted), "{options}: {inserted}");
        assert_eq!(server.info("keyspace_misses"), 0, "{options}");
        assert_eq!(
            server.number(&["DBSIZE"]) as u64,
            1_000 + inserted,
            "{options}: no key twice, none left out"
        );
    }
    let preset = server.run("--workload ycsb-d -n 2000").ok();
    assert!(preset.out.contains("insert"), "{}", preset.out);
    for (line, says) in [
        ("set k:__insert__ v", "-r"),
        ("-r 9 --mix -- 1 set k:__insert__:__key__ v", "has one key"),
        ("-r 9 --mix -- 1 set k:__insert__:__rand_int__ v", "__rand_int__"),
        (
            "-r 9 --hit-ratio 0.5 --key-dist latest --mix -- 1 get __key__ ';' 1 set __insert__ v",
            "cannot be combined with inserts",
        ),
        ("-r 1000G --mix -- 1 set k:__insert__ v", "to 10^11"),
    ] {
        server.run(line).exits(2).says(says);
    }
}

#[test]
fn distributions_that_make_no_sense_are_refused() {
    let server = Server::redis();
    for (options, says) in [
        ("-r 9 --key-dist zip", "available: uniform, sequential, zipf[:S[,FIRST]]"),
        ("-r 9 --key-dist zipf:7", "from 0.01 to 5"),
        ("-r 9 --key-dist hotspot", "hotspot:80/20"),
        ("-r 9 --key-dist hotspot:80/0", "percentage of keys"),
        ("-r 9 --key-dist gaussian:50", "comma"),
        ("-r 9 --key-dist exponential:100/5", "below 100"),
        ("-r 9 --key-dist latest", "inserts"),
        ("-r 9 --key-dist file:", "path"),
        ("--key-dist zipf", "-r"),
        ("-r 9 --sequential --key-dist zipf", "--sequential"),
    ] {
        let ran = server.run(&format!("{options} get __key__")).exits(2);
        ran.says("--key-dist").says(says);
    }
    assert_eq!(server.counts(), calls([]));
}
