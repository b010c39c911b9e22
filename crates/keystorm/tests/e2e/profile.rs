//! `keystorm profile`: what it counts, what it names, and the gate.

use std::path::PathBuf;

use serde_json::Value;

use crate::program::Keystorm;
use crate::record::valid_by;
use crate::server::valkey_program;

fn document(line: &str) -> Value {
    let ran = Keystorm::new(&format!("profile --format json {line}")).run().ok();
    let document = serde_json::from_str(&ran.out).unwrap();
    valid_by("keystorm.profile.1.json", &document);
    document
}

/// Instructions of a test on a server.
fn instructions(document: &Value, test: usize, server: usize) -> f64 {
    document["tests"][test]["servers"][server]["instructions"]["mean"].as_f64().unwrap()
}

#[test]
fn the_work_of_a_request_is_counted_by_function() {
    let line = format!("{} -t get,set -n 2000 --starts 2", valkey_program().display());
    let document = document(&line);
    assert_eq!((&document["complete"], &document["counter"]), (&true.into(), &"callgrind".into()));
    // In the order of redis-benchmark: SET, GET.
    let [set, get] = [0, 1].map(|test| instructions(&document, test, 0));
    assert!(1000.0 < get && get < set && set < 50_000.0, "{get} {set}");
    let work = &document["tests"][1]["servers"][0];
    let functions = work["functions"].as_array().unwrap();
    let named = |name: &str| functions.iter().find(|function| function["name"] == name);
    let command = named("getCommand").expect("it has symbols");
    assert!(command["inclusive"].as_f64() > command["own"].as_f64(), "{command}");
    let own: f64 = functions.iter().filter_map(|function| function["own"].as_f64()).sum();
    assert!((own / get - 1.0).abs() < 0.01, "{own} of {get}");
    // One request at a time is read, written, and waited for.
    let calls = work["system_calls"]["mean"].as_f64().unwrap();
    assert!((2.9..3.3).contains(&calls), "{calls}");
    let memory = work["allocations"]["mean"].as_f64().unwrap();
    assert!((0.0..30.0).contains(&memory), "{memory}");
}

#[test]
fn a_gate_fails_by_the_test_that_takes_more_and_by_no_other() {
    // Of two starts, whose interval is twelve times their error, a busy machine leaves it open.
    let gate = |new: &str, tests: &str, code| {
        let load = format!("-t {tests} -n 2000 --starts 4 --fail-on-regression 2");
        Keystorm::new(&format!("profile redis-server '{new}' {load}")).run().exits(code)
    };
    gate("redis-server", "set", 0).prints("Gate passed: no test takes over 2 % more instructions.");
    let worse = gate("redis-server --appendonly yes --appendfsync no", "get,set", 3);
    worse.prints("Gate failed: SET: over 2 % more instructions.").prints("SET +");
}

#[test]
fn memcached_and_unix_sockets_and_commands_are_counted_too() {
    let found = document("memcached -t get -n 1000 --starts 1 --spawn-unix");
    assert!(instructions(&found, 0, 0) > 500.0);
    let found = document("redis-server -n 1000 --starts 1 -c 3 -P 4 -- lpush l x");
    assert!(found["tests"][0]["options"].as_array().unwrap().len() > 1);
    assert!(instructions(&found, 0, 0) > 500.0);
}

#[test]
fn what_is_missing_is_to_be_installed() {
    let nothing = tempfile::tempdir().unwrap();
    let redis = std::env::split_paths(&std::env::var_os("PATH").unwrap())
        .map(|dir| dir.join("redis-server"))
        .find(|path| path.exists());
    let redis: PathBuf = redis.expect("redis-server is on the PATH");
    let line = |with: &str| format!("profile {} -t get {with}", redis.display());
    let run = |with| Keystorm::new(&line(with)).env("PATH", nothing.path()).run().exits(1);
    run("").says("apt-get install valgrind");
    run("--with callgrind").says("valgrind is not installed");
    run("--with perf").says("the program perf is not installed");
    Keystorm::new("profile no-such-server -t get").run().exits(1).says("not found on the PATH");
}
