//! Exact counts: the server executes as many requests as were asked for, whatever the shape.

use crate::server::{Server, calls};

const CONNECTIONS: [u32; 4] = [1, 3, 50, 1100];
const PIPELINES: [u32; 4] = [1, 4, 16, 1200];
const THREADS: [&str; 3] = ["", "--threads 1", "--threads 3"];

/// Runs each shape and checks the server's count.
fn check(server: &Server, lines: impl IntoIterator<Item = String>, n: u64) {
    for line in lines {
        server.ask(&["CONFIG", "RESETSTAT"]);
        server.run(&format!("-q -n {n} {line}")).ok();
        let counts = server.counts();
        assert_eq!(counts.values().sum::<u64>(), n, "-n {n} {line}: {counts:?}");
    }
}

fn every_shape(rest: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for c in CONNECTIONS {
        for p in PIPELINES {
            lines.extend(THREADS.map(|t| format!("-c {c} -P {p} {t} {rest}")));
        }
    }
    lines
}

#[test]
fn one_request_is_one_request() {
    check(&Server::redis(), every_shape("incr k"), 1);
}

#[test]
fn seven_requests_are_seven() {
    check(&Server::redis(), every_shape("incr k"), 7);
}

#[test]
fn a_hundred_requests_are_a_hundred() {
    check(&Server::redis(), every_shape("incr k"), 100);
}

#[test]
fn a_thousand_requests_are_a_thousand() {
    check(&Server::valkey(), every_shape("incr k"), 1000);
}

#[test]
fn more_requests_than_any_chunk_are_exact_too() {
    let server = Server::redis();
    let lines = ["-c 50 -P 16 --threads 3 incr k", "-c 7 -P 48 incr k", "-c 3 -P 1 incr k"];
    check(&server, lines.map(str::to_owned), 10_007);
}

#[test]
fn a_rolling_window_is_as_exact() {
    let server = Server::redis();
    for n in [1, 7, 100, 1000] {
        let lines = [
            "-c 1 -P 4 incr k",
            "-c 3 -P 16 --threads 3 incr k",
            "-c 50 -P 1200 incr k",
            "-c 50 -P 16 --threads 1 set a b ';' 2 get a ';' incr k",
        ];
        check(&server, lines.map(|line| format!("--window rolling {line}")), n);
    }
}

#[test]
fn a_connection_for_every_pipeline_is_as_exact() {
    let server = Server::redis();
    for n in [1, 7, 100, 1000] {
        let lines = [
            "-c 1 -P 1 incr k",
            "-c 3 -P 4 incr k",
            "-c 50 -P 16 --threads 3 incr k",
            "-c 1100 -P 1 incr k",
            "-c 3 -P 1200 --window rolling incr k",
            "-c 7 -P 2 set a b ';' 2 get a",
        ];
        check(&server, lines.map(|line| format!("-k 0 {line}")), n);
    }
}

#[test]
fn requests_of_a_sequence_are_its_commands_and_the_last_one_is_cut_short() {
    let server = Server::redis();
    for shape in ["-c 1", "-c 50 -P 16", "-c 3 -P 1200 --threads 3", "-c 1100 -P 4"] {
        server.ask(&["CONFIG", "RESETSTAT"]);
        server.run(&format!("-q -n 100 {shape} 2 set k v ';' 3 get k ';' incr i")).ok();
        // Sixteen times six, and then two SETs and two GETs.
        let expected = calls([("set", 34), ("get", 50), ("incr", 16)]);
        assert_eq!(server.counts(), expected, "{shape}");
        for n in [1, 2, 3, 7, 1000] {
            let line = format!("{shape} set k v ';' get k ';' incr i");
            check(&server, [line], n);
        }
    }
}

#[test]
fn a_suite_is_exact_in_every_test() {
    let server = Server::redis();
    server.run("-q -t set,get -n 1003 -c 50 -P 16 --threads 3").ok();
    assert_eq!(server.counts(), calls([("set", 1003), ("get", 1003)]));
}

/// Returns whether counts differ by no more than chance: five standard deviations of an even spread.
pub(crate) fn is_even(counts: &[u64]) -> bool {
    let total: u64 = counts.iter().sum();
    let mean = total as f64 / counts.len() as f64;
    counts.iter().all(|n| (*n as f64 - mean).abs() < 5.0 * mean.sqrt() + 2.0)
}
