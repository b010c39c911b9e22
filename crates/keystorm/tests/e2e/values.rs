//! `-d`, `--set size-by` and `--content`: what a server holds after values were written.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::program::Keystorm;
use crate::server::{Server, calls};

/// The sizes of the values of `k:…`, by key.
fn sizes(server: &Server) -> BTreeMap<String, i64> {
    let size = |key: String| (key.clone(), server.number(&["STRLEN", &key]));
    server.keys().into_iter().map(size).collect()
}

#[test]
fn sizes_are_drawn_by_key_and_the_same_whatever_carries_them() {
    let server = Server::redis();
    let written = |options: &str| {
        server.reset();
        let line = "-q -n 600 -r 600 --sequential --seed 5 -d uniform:10..2k";
        server.run(&format!("{line} {options} set k:__rand_int__ __data__")).ok();
        sizes(&server)
    };
    let first = written("-c 1");
    assert_eq!(first.len(), 600);
    assert!(first.values().all(|size| (10..=2000).contains(size)), "{first:?}");
    let mean = first.values().sum::<i64>() as f64 / 600.0;
    assert!((900.0..1110.0).contains(&mean), "{mean}");
    for same in ["-P 16 -c 7", "--threads 3 -c 9", "--window rolling -P 4 --engine epoll"] {
        assert_eq!(written(same), first, "{same}");
    }
    // The tests of -t too, whose keys have another prefix.
    server.run("-q -n 600 -r 600 --sequential --seed 5 -d uniform:10..2k -t set").ok();
    assert_eq!(server.number(&["STRLEN", "key:000000000007"]), first["k:000000000007"]);
}

#[test]
fn a_size_by_request_is_another_each_time() {
    let server = Server::redis();
    let line = "-q -n 200 -c 1 -r 1 --seed 5 -d uniform:1..1k";
    for (by, range) in [("key", 1..2), ("request", 100..201)] {
        server.reset();
        server.run(&format!("{line} --set size-by={by} rpush l:__key__ __data__")).ok();
        let values = server.texts(&["LRANGE", "l:000000000000", "0", "-1"]);
        let sizes: std::collections::HashSet<usize> =
            values.iter().map(|value| value.chars().count()).collect();
        assert!(range.contains(&sizes.len()), "{by}: {} sizes", sizes.len());
    }
}

#[test]
fn every_distribution_of_sizes_reaches_the_server() {
    let server = Server::redis();
    let mean = |sizes: &str| {
        server.reset();
        server
            .run(&format!("-q -n 2000 -r 2000 --sequential -P 16 --seed 1 -d {sizes} -t set"))
            .ok();
        let all = self::sizes(&server);
        all.values().sum::<i64>() as f64 / all.len() as f64
    };
    for (sizes, expected) in [
        ("1k", 1000.0),
        ("sizes:32=50,1k=50", 516.0),
        ("lognormal:500,0.5", 500.0 * f64::exp(0.125)),
        ("normal:800,100,1..2k", 800.0),
        ("pareto:214,0.35", 214.0 / 0.65),
    ] {
        let got = mean(sizes);
        assert!((got / expected - 1.0).abs() < 0.1, "{sizes}: {got}, not {expected}");
    }
}

#[test]
fn contents_are_the_peers_random_or_compressible() {
    let server = Server::redis();
    server.run("-q -n 1 -d 20 set k __data__").ok();
    assert!(server.text(&["GET", "k"]).starts_with("VXKeHogK"));
    server.run("-q -n 1 -d uniform:20..20 --content classic set k __data__").ok();
    assert!(server.text(&["GET", "k"]).starts_with("VXKeHogK"));
    server.run("-q -n 2 -r 2 --sequential -d 20 --content random set k:__key__ __data__").ok();
    let values = server.texts(&["MGET", "k:000000000000", "k:000000000001"]);
    assert!(values[0] != values[1] && !values[0].starts_with("VXKe"), "{values:?}");
    server.run("-q -n 1 -d 2000 --content compressible:4 set k __data__").ok();
    let filler = server.text(&["GETRANGE", "k", "128", "511"]);
    assert!(filler.len() == 384 && filler.bytes().all(|byte| byte == b'x'), "{filler}");
}

#[test]
fn plans_say_how_values_vary() {
    let line =
        "-r 100 --seed 2 -d lognormal:300,0.5,10..900 --set size-by=request --content random";
    let printed = Keystorm::new(&format!("--print-plan {line} -t set")).run().ok().out;
    let plans: Value = serde_json::from_str(&printed).unwrap();
    let spec = serde_json::json!({
        "sizes": "lognormal:300,0.5,10..900", "by": "request", "content": "random"
    });
    assert_eq!(plans[0]["data"]["values"], spec);
    let mean = plans[0]["data"]["payload_bytes"].as_u64().unwrap();
    assert!((320..345).contains(&mean), "{mean}");
}

#[test]
fn sizes_that_make_no_sense_are_refused() {
    let server = Server::redis();
    for (options, says) in [
        ("-d uniform:9..3", "smaller size must come first"),
        ("-d uniform", "uniform:100..4k"),
        ("-d gamma:3", "available: uniform:MIN..MAX"),
        ("-d 2G", "1073741824"),
        ("-d normal:1k,0", "standard deviation"),
        ("-d lognormal:1k,1,900k..1M", "almost none"),
        ("-d 10 --set size-by=request", "--set size-by"),
        ("-d 10 --content zeros", "available: classic, random, "),
        ("-d uniform:1..1G -P 100", "-P"),
    ] {
        server.run(&format!("{options} -r 9 set k:__key__ __data__")).exits(2).says(says);
    }
    assert_eq!(server.counts(), calls([]));
}
