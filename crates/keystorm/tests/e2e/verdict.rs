//! Verdicts and warnings in reports, where they do not rest on shares of CPU time: those that do
//! are made to happen in `tests/limits`.

use std::time::Duration;

use host::{Address, Client, Patience};

use crate::program::{Keystorm, RunOutput, within};
use crate::server::{Server, called};

/// The verdict in a report.
fn limited_by(ran: &RunOutput) -> &str {
    let line = ran.out.lines().find_map(|line| {
        let kept = line.strip_prefix("  ").filter(|line| line.starts_with("not saturated: "));
        line.strip_prefix("  limited by: ").or(kept)
    });
    line.unwrap_or_else(|| panic!("no verdict: {ran:?}"))
}

#[test]
fn errors_are_reported_before_anything_else() {
    let server = Server::redis();
    server.ask(&["SET", "k", "v"]);
    let line = "-n 300 -c 5";
    let counted = server.run(&format!("--on-error count {line} lpush k v")).ok();
    assert!(limited_by(&counted).starts_with("errors: 100 % of 300 requests"), "{counted:?}");
    let stopped = server.run(&format!("{line} get k ';' get k ';' lpush k v")).exits(1);
    assert!(limited_by(&stopped).starts_with("errors: an error ended the test"), "{stopped:?}");
}

#[test]
fn what_is_not_a_server_of_data_is_judged_by_the_client_alone() {
    let socket = tempfile::Builder::new().prefix("ks").tempdir().unwrap();
    let socket = socket.path().join("s").display().to_string();
    let sink = Keystorm::new(&format!("sink --unix {socket}")).start();
    sink.until("listens", |r| r.out().contains("Ctrl-C"));
    let ran = Keystorm::new(&format!("-s {socket} -c 1 --duration 0.3 get k")).run().ok();
    assert!(limited_by(&ran).contains("CPU is unknown (its INFO does not report it)"), "{ran:?}");
    sink.interrupt();
    sink.wait().ok();
}

#[test]
fn each_thing_that_spoils_a_run_is_a_warning() {
    let server = Server::redis();
    let running = server.keystorm("-c 4 --rps 200 --duration 4 get k").start();
    running.until("load runs", |_| server.calls("get") > 0);
    let mut monitor =
        Client::connect(&Address::Unix(server.socket()), Patience::default()).unwrap();
    monitor.ask(&[b"MONITOR"]).unwrap();
    server.ask(&["BGSAVE"]);
    server.ask(&["CONFIG", "SET", "appendfsync", "always"]);
    for _ in 0..100 {
        server.ask(&["LLEN", "l"]);
    }
    let ran = running.wait().ok();
    let ran = ran.prints("  warning: the server took a snapshot during the test");
    let ran = ran.prints("  warning: 1 client uses MONITOR");
    let ran = ran.prints("  warning: other clients sent 10");
    ran.prints("  warning: the server's appendfsync was changed during the test from");
}

#[test]
fn evictions_are_a_warning_and_a_quiet_server_has_none() {
    let server = Server::redis();
    let ran = server.run("-c 4 -n 3000 get k").ok();
    assert!(
        !ran.out.contains("warning: the server") && !ran.out.contains("other clients"),
        "{ran:?}"
    );
    server.ask(&["CONFIG", "SET", "maxmemory", "2mb"]);
    server.ask(&["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"]);
    let ran = server.run("-c 4 -n 5000 -r 1000000 -d 1000 -t set").ok();
    ran.prints("  warning: the server evicted ");
}

#[test]
fn what_scripts_read_is_left_as_it_is() {
    let server = Server::redis();
    for format in ["--format redis", "--csv"] {
        let ran = server.run(&format!("{format} -n 500 -t set")).ok();
        assert!(!ran.out.contains("limited by"), "{ran:?}");
        ran.says("SET: limited by: ");
    }
    // The line begins as ever and ends in a word; the sentence comes once, after all tests.
    let ran = server.run("-q -n 500 -t set,set,set").ok();
    let lines: Vec<&str> = ran.out.lines().filter(|line| !line.is_empty()).collect();
    let describe = |line: &&str| line.starts_with("SET: ") && line.contains(" msec, limited by ");
    assert!(lines.iter().all(describe), "{ran:?}");
    let verdicts = ran.err.lines().filter(|line| line.contains(": limited by: ")).count();
    assert!((1..=3).contains(&verdicts), "{ran:?}");
    let warned = ran.err.lines().filter(|line| line.contains(": warning: load: ")).count();
    assert!(warned <= 1, "a warning about the machine comes once: {ran:?}");
    let (_dir, link) = called("redis-benchmark");
    let by_name = |line: &str| server.keystorm(line).called(&link);
    for format in ["", "-q", "--csv"] {
        let ran = by_name(&format!("{format} -n 500 -t set")).run().ok();
        assert!(!ran.out.contains("limited by") && ran.err.is_empty(), "{ran:?}");
    }
}

#[test]
fn verdicts_go_where_they_are_wanted() {
    let server = Server::redis();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("verdicts");
    let (_link_dir, link) = called("redis-benchmark");
    let by_name = |line: &str| server.keystorm(line).called(&link);
    let wanted = |keystorm: Keystorm, place: &str| keystorm.env("KEYSTORM_VERDICT", place);
    for format in ["", "-q", "--csv"] {
        let line = format!("{format} -n 500 -t set");
        for keystorm in [server.keystorm(&line), by_name(&line)] {
            let ran = wanted(keystorm, "stderr").run().ok().says("SET: limited by: ");
            assert!(!ran.out.contains("limited by"), "{ran:?}");
        }
        for keystorm in [
            wanted(server.keystorm(&line), "off"),
            server.keystorm(&format!("--no-verdict {line}")),
            wanted(by_name(&line), file.to_str().unwrap()),
            wanted(server.keystorm(&line), file.to_str().unwrap()),
        ] {
            let ran = keystorm.run().ok();
            assert!(!ran.out.contains("limited by") && ran.err.is_empty(), "{ran:?}");
        }
    }
    let kept = std::fs::read_to_string(file).unwrap();
    assert_eq!(kept.matches("SET: limited by: ").count(), 6, "{kept}");
    server.reset();
    let ran = wanted(by_name("-n 10 -t set"), "/no/such/dir/file").run().exits(1);
    ran.says("KEYSTORM_VERDICT").says("/no/such/dir/file");
    assert_eq!(server.calls("set"), 0, "told before anything is sent");
}

#[test]
fn sampling_looks_once_a_second_while_load_runs() {
    let server = Server::redis();
    for (option, looked) in [("", false), ("--sample", true)] {
        let line = format!("-c 2 --rps 100 --duration 2.5 {option} get k");
        let running = server.keystorm(&line).start();
        running.until("load runs", |_| server.calls("get") > 0);
        // The clients that are there now: the load's, ours, and the one that looks.
        let seen = within(Duration::from_millis(1800), || {
            server.text(&["CLIENT", "LIST"]).contains("cmd=info ")
        });
        assert_eq!(seen, looked, "{option:?}");
        running.wait().ok();
    }
}
