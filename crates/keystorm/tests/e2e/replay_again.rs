//! What redis-benchmark and an application did is recorded and done again: as often, and at the same times.

use std::path::Path;
use std::process::Command;

use crate::program::Keystorm;
use crate::real_clock::{holds_when_quiet, lacking};
use crate::recording::{events, recording};
use crate::server::Server;

/// How much earlier or later a command may be on its way through two servers, two recorders and a replay.
const NEAR_NS: u64 = 150_000_000;

/// When the commands of these names were carried out, from the first of them on.
fn times(file: &Path, names: &[&str]) -> Vec<u64> {
    let all = events(file);
    let all = all.iter().filter(|event| names.iter().any(|name| event.is(name)));
    let times: Vec<u64> = all.map(|event| event.at_ns).collect();
    let first = times.iter().min().copied().unwrap_or(0);
    times.iter().map(|at_ns| at_ns - first).collect()
}

/// Records what a load does on one server, sends it to another, and compares what the two say of these commands.
fn is_done_again(check: &str, names: &[&str], options: &str, load: impl FnOnce(&Server)) {
    let (recorded, other) = (Server::redis(), Server::redis());
    let dir = tempfile::tempdir().unwrap();
    let [first, second] = ["first.ksr", "second.ksr"].map(|name| dir.path().join(name));
    let running = recording(&recorded, options, &first);
    load(&recorded);
    running.interrupt();
    running.wait().ok();
    let running = recording(&other, "", &second);
    let line = format!("replay {} -p {}", first.display(), other.port());
    let ran = Keystorm::new(&line).run().ok();
    running.interrupt();
    running.wait().ok();

    for name in names {
        let counts = (recorded.calls(name), other.calls(name));
        assert!(counts.0 > 0 && counts.0 == counts.1, "{name}: {counts:?}\n{}", ran.out);
    }
    let (before, after) = (times(&first, names), times(&second, names));
    assert_eq!(before.len(), after.len());
    // Those that are not near the end of a second are in the same one.
    let until = |times: &[u64], ns: u64| times.iter().filter(|at| **at < ns).count();
    let end_s = before.iter().max().unwrap() / 1_000_000_000;
    let counts: Vec<[usize; 3]> = (1..=end_s)
        .map(|second| second * 1_000_000_000)
        .map(|ns| [until(&before, ns - NEAR_NS), until(&after, ns), until(&before, ns + NEAR_NS)])
        .collect();
    let holds =
        end_s > 0 && counts.iter().all(|[least, count, most]| (least..=most).contains(&count));
    holds_when_quiet(check, holds, format!("{counts:?}\n{}", ran.out));
}

#[test]
fn what_redis_benchmark_did_is_done_again_in_each_second() {
    is_done_again("seconds of redis-benchmark", &["set", "get", "hset"], "", |server| {
        let port = server.port().to_string();
        let line = ["-p", &port, "-c", "2", "-n", "12000", "-r", "500", "-q", "-t", "set,get,hset"];
        let ran = Command::new("redis-benchmark").args(line).output().unwrap();
        assert!(ran.status.success());
        // However fast it was, the record is longer than a second.
        crate::program::elapse(std::time::Duration::from_millis(1100));
        server.ask(&["SET", "last", "value"]);
    });
}

#[test]
fn what_an_application_did_is_done_again_in_each_second() {
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/test-servers/python");
    if !library.join("redis").is_dir() {
        return lacking("an application with a client library", "redis of PyPI");
    }
    let names = [
        "mset",
        "multi",
        "exec",
        "hset",
        "expire",
        "hgetall",
        "get",
        "incrby",
        "evalsha",
        "script|load",
        "hget",
        "lpush",
        "brpop",
    ];
    // Its script reads a value.
    is_done_again("seconds of an application", &names, "--values", |server| {
        let shop = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/e2e/shop.py");
        let mut application = Command::new("python3");
        application.arg(shop).arg(server.port().to_string()).env("PYTHONPATH", library);
        let ran = application.output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    });
}
