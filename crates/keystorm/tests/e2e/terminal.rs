//! The live line: only where somebody watches.

use std::process::Command;

use crate::program::{Keystorm, Ran};
use crate::server::{KEYSTORM, Server};

/// Runs keystorm with a terminal as its standard output (`script` of util-linux).
fn watched(server: &Server, line: &str) -> Ran {
    assert!(Command::new("script").arg("--version").output().is_ok(), "util-linux is missing");
    let command = format!("{KEYSTORM} -p {} {line}", server.port());
    Keystorm::of("script", ["-qec", &command, "/dev/null"]).run().ok()
}

#[test]
fn a_terminal_sees_what_runs_how_far_it_is_and_the_time_left() {
    let server = Server::redis();
    let ran = watched(&server, "-q -t set,get --duration 1");
    let ran = ran.prints("\r").prints("SET: rps=").prints("(overall: ").prints("avg_msec=");
    let ran = ran.prints(" seconds [1/2, ").prints(" seconds [2/2, ").prints(" s left]");
    assert!(!ran.out.contains("nan") && !ran.out.contains("inf"), "{:?}", ran.out);
    for result in ["SET: ", "GET: "] {
        let found = ran.out.split(['\r', '\n']).any(|line| {
            line.trim_start().starts_with(result) && line.contains(" requests per second, p50=")
        });
        assert!(found, "{:?}", ran.out);
    }
    let ran = watched(&server, "--rps 1000 -n 1000 get k");
    ran.prints("get k: rps=").prints(" requests [").prints(" %");
}

#[test]
fn a_warm_up_is_called_one() {
    let server = Server::redis();
    watched(&server, "-q --warmup 0.6 --duration 0.6 get k").prints("Warming up get k: rps=");
}

#[test]
fn a_table_is_not_disturbed() {
    let server = Server::redis();
    let ran = watched(&server, "--csv -t get --duration 0.6");
    assert!(!ran.out.contains("rps="), "{:?}", ran.out);
}

#[test]
fn idle_connections_are_counted_on_one_line() {
    let server = Server::redis();
    let command = format!("timeout -s INT 1 {KEYSTORM} -p {} -I -c 3 || true", server.port());
    let ran = Keystorm::of("script", ["-qec", &command, "/dev/null"]).run();
    ran.prints("clients: 3\r");
}

#[test]
fn a_pipe_gets_only_lines() {
    let server = Server::redis();
    for line in ["-q", "", "--format classic", "--csv"] {
        let ran = server.run(&format!("{line} -t set --duration 0.6")).ok();
        assert!(!ran.out.contains('\r') && !ran.out.contains("rps="), "{line}: {:?}", ran.out);
        assert_eq!(ran.err_but_verdicts(), "", "{line}");
    }
}
