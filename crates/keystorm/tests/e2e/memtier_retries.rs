//! memtier_benchmark's `--retry-on-error`: what fails is sent again, and is listed if it fails for good.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::memtier_reports::{json, run};
use crate::program::Keystorm;
use crate::server::Server;

/// One that refuses every write.
fn without_room() -> Server {
    let server = Server::redis();
    server.ask(&["CONFIG", "SET", "maxmemory", "1"]);
    server
}

/// How many writes it has refused.
pub(crate) fn refused(server: &Server) -> u64 {
    let stats = server.text(&["INFO", "errorstats"]);
    let count = stats.lines().find_map(|line| line.strip_prefix("errorstat_OOM:count="));
    count.map_or(0, |count| count.trim().parse().unwrap())
}

/// The number behind a word, in the last line that has it.
fn last(text: &str, word: &str) -> u64 {
    let after = text.rsplit_once(word).unwrap_or_else(|| panic!("no {word:?} in {text}")).1;
    after.trim().split([' ', '\r', '\n']).next().unwrap().parse().unwrap()
}

fn lines(path: &Path) -> Vec<String> {
    fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn writes_that_are_refused_for_a_while_succeed_in_the_end() {
    let server = without_room();
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("j");
    let line = format!(
        "memtier -p {} -t 1 -c 2 -n 20 --ratio 1:0 --retry-on-error --retry-backoff-ms 20 \
         --json-out-file {}",
        server.port(),
        file.display()
    );
    let running = Keystorm::new(&line).start();
    running.until("writes are refused", |_| refused(&server) > 4);
    server.ask(&["CONFIG", "SET", "maxmemory", "0"]);
    let ran = running.wait().ok();
    assert_eq!(server.calls("set"), 40);
    let refused = refused(&server);
    assert_eq!(last(&ran.err, " retries "), refused, "{}", ran.err);
    let retried = last(&ran.err, " retried_ops ");
    assert!((1..=40.min(refused)).contains(&retried), "{}", ran.err);
    assert!(ran.err.contains(", errors 0 (+0) retries ") && !ran.err.contains("are errors"));
    let value: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    assert_eq!(value["ALL STATS"]["Sets"]["Count"], 40);
    assert_eq!(value["configuration"]["retry_on_error"], "true");
    // The latency is that of the user, who waited for the retry.
    assert!(value["ALL STATS"]["Sets"]["Max Latency"].as_f64().unwrap() >= 20.0, "{value}");
}

#[test]
fn what_fails_for_good_is_listed() {
    let server = without_room();
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("failed.csv");
    let line = format!(
        "-t 1 -c 1 -n 5 --ratio 1:0 --key-minimum 1 --key-maximum 5 --key-pattern S:S \
         --retry-on-error --max-retries 2 --failed-keys-file {}",
        file.display()
    );
    run(&server, &line).ok().says("error: 5 of 5 replies are errors, the first: OOM");
    assert_eq!(refused(&server), 15, "each three times");
    let listed = lines(&file);
    assert_eq!(listed[0], "timestamp,command,key,status,retries");
    assert_eq!(listed.len(), 6);
    for (n, line) in (1..).zip(&listed[1..]) {
        let (at, rest) = line.split_once(',').unwrap();
        assert!(at.len() == 27 && at.ends_with('Z'), "{line}");
        assert!(rest.starts_with(&format!("SET,\"memtier-{n}\",\"OOM ")), "{line}");
        assert!(rest.ends_with("\",2"), "{line}");
    }
    // The next run adds to it, and one without retries has none.
    run(&server, &line.replace("--max-retries 2", "--max-retries 0")).ok();
    assert_eq!((refused(&server), lines(&file).len()), (20, 11));
    assert!(lines(&file)[10].ends_with("\",0"));
    run(&server, "-t 1 -c 1 -n 5 --ratio 1:0 --failed-keys-file /none/f")
        .ok()
        .says("warning: failed-keys-file '/none/f' could not be opened");
}

#[test]
fn an_error_that_stays_is_not_retried() {
    let server = Server::redis();
    server.ask(&["SET", "wrongtype-key", "hello"]);
    let dir = TempDir::new().unwrap();
    for more in ["--max-retries=10", "--retry-on=LOADING,BUSY,TRYAGAIN"] {
        let file = dir.path().join(&more[2..6]);
        server.ask(&["CONFIG", "RESETSTAT"]);
        let line = format!(
            "-t 1 -c 1 -n 5 --pipeline=1 --command='LPUSH wrongtype-key value' --retry-on-error {more} \
             --failed-keys-file={} --hide-histogram",
            file.display()
        );
        run(&server, &line).ok();
        assert_eq!(server.calls("lpush"), 5);
        let listed = lines(&file);
        assert_eq!(listed.len(), 6);
        for line in &listed[1..] {
            let (_, rest) = line.split_once(",ARBITRARY,\"wrongtype-key\",\"WRONGTYPE ").unwrap();
            assert!(rest.ends_with("\",0"), "{line}");
        }
    }
    // Other errors of such a run, of a filter that does not name them.
    server.ask(&["CONFIG", "SET", "maxmemory", "1"]);
    run(&server, "-t 1 -c 1 -n 5 --ratio 1:0 --retry-on-error --retry-on LOADING").ok();
    assert_eq!(refused(&server), 5);
}

#[test]
fn requests_of_a_lost_connection_are_sent_again() {
    let server = Server::redis();
    let line = format!(
        "memtier -p {} -t 1 -c 5 -n 20000 --reconnect-on-error --retry-on-error --command 'INCR k'",
        server.port()
    );
    let running = Keystorm::new(&line).start();
    running.until("runs", |_| server.calls("incr") > 100);
    let clients = server.text(&["CLIENT", "LIST"]);
    let id = |line: &str| line.split_once("id=")?.1.split(' ').next().map(str::to_owned);
    let ids = clients.lines().filter(|line| line.contains("cmd=incr")).filter_map(id).take(3);
    let killed = ids.filter(|id| server.number(&["CLIENT", "KILL", "ID", id]) == 1).count() as i64;
    let ran = running.wait().ok();
    assert!(killed > 0, "{clients}");
    assert_eq!(last(&ran.err, ", errors "), 0, "{}", ran.err);
    let retries = last(&ran.err, " retries ") as i64;
    assert!((1..=killed).contains(&retries), "{}", ran.err);
    // What was lost may have been executed before, or not.
    let executed = server.number(&["INCRBY", "k", "0"]);
    assert!((100_000..=100_000 + retries).contains(&executed), "{executed}: {}", ran.err);
    let (_, value) = json(&server, "-t 1 -c 1 -n 5 --retry-on-error --max-retries=5");
    assert_eq!(value["configuration"]["max_retries"], 5);
}

#[test]
fn a_retry_that_cannot_be_is_refused() {
    let run = |line: &str| Keystorm::new(&format!("memtier {line}")).run();
    run("--retry-on-error --max-retries=-5").exits(2).says("max-retries must be -1 (unlimited)");
    run("--retry-backoff-factor x").exits(2).says("retry-backoff-factor must be greater than");
    run("--retry-on-error --transaction --command 'SET a b'").exits(1).says("--transaction with ");
}

#[test]
fn a_server_that_is_not_there_yet_is_waited_for() {
    let mut server = Server::redis();
    server.kill();
    let line =
        format!("memtier -p {} -t 1 -c 1 -n 10 --command PING --reconnect-on-error", server.port());
    let running = Keystorm::new(&line).start();
    running
        .until("waits", |running| running.err().contains("attempting reconnection 1 (unlimited)"));
    server.restart();
    let ran = running.wait().ok().prints("ALL STATS");
    assert_eq!(server.calls("ping"), 10, "{}", ran.err);
}
