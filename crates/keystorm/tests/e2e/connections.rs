//! Connections: opened for every pipeline, only held, and runs without end.

use crate::real_clock::holds_when_quiet;
use crate::server::Server;

/// Connections that ask about the server: what it is, whether the command is harmful there, and how it is before and
/// after the load.
const LOOKS: u64 = 4;

#[test]
fn without_keep_alive_every_pipeline_has_a_connection_of_its_own() {
    let server = Server::redis();
    for (n, pipeline, c) in [(200, 1, 5), (200, 4, 3), (400, 16, 10)] {
        server.ask(&["CONFIG", "RESETSTAT"]);
        let ran = server.run(&format!("-q -k 0 -n {n} -P {pipeline} -c {c} incr k")).ok();
        ran.says("warning: Keepalive disabled");
        let opened = server.info("total_connections_received");
        // Those of the start may outlive what is left to send.
        let expected = n / pipeline..=n / pipeline + c + LOOKS;
        assert!(expected.contains(&opened), "-n {n} -P {pipeline}: {opened} connections");
        assert_eq!(server.calls("incr"), n);
    }
}

#[test]
fn with_keep_alive_there_are_as_many_as_asked_for() {
    let server = Server::redis();
    for line in ["-c 7 -n 700", "-c 7 -n 700 -P 16 --threads 3", "-c 7 -n 3"] {
        server.ask(&["CONFIG", "RESETSTAT"]);
        server.run(&format!("-q {line} incr k")).ok();
        let opened = server.info("total_connections_received");
        assert!((7..=7 + LOOKS).contains(&opened), "{line}: {opened} connections");
    }
}

#[test]
fn idle_connections_are_held_until_ctrl_c() {
    let server = Server::redis();
    let running = server.keystorm("-I -c 20").start();
    running.until("tells how many live", |r| r.out().contains("clients: 20"));
    assert_eq!(server.info("connected_clients"), 21, "those and the one that asks");
    running.interrupt();
    let ran = running.wait().exits(130);
    assert!(!ran.out.contains('\r'), "{:?}", ran.out);
    assert!(ran.out.starts_with("Creating 20 idle connections and waiting forever"));
    assert_eq!(server.calls("ping"), 0);
}

#[test]
fn idle_connections_log_in_and_their_loss_is_reported() {
    let mut server = Server::redis_with(&["--requirepass", "pw"]);
    let running = server.keystorm("-I -c 5 -a pw").start();
    running.until("tells how many live", |r| r.out().contains("clients: 5"));
    server.ask(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
    server.kill();
    running.wait().exits(1).says("were lost");
}

#[test]
fn a_loop_repeats_the_tests_until_ctrl_c() {
    let server = Server::redis();
    let running = server.keystorm("-l -q -t ping_inline,get -n 500 -c 2").start();
    running.until("repeats", |r| r.out().matches("GET: ").count() >= 3);
    running.interrupt();
    let ran = running.wait().exits(130);
    assert!(ran.out.matches("PING_INLINE: ").count() >= 3, "{}", ran.out);
    let command = server.keystorm("-l -q -n 500 -c 2 get k").start();
    command.until("repeats", |r| r.out().matches("get k: ").count() >= 3);
    command.interrupt();
    command.wait().exits(130);
}

#[test]
fn a_thousand_connections_are_all_used() {
    let server = Server::redis();
    let ran = server.run("-n 5000 -c 1000 -t get").ok().prints("  1000 connections, ");
    assert_eq!(ran.completed().0, 5000);
    // A group of connections every 2 ms, not one after another: that would take half a minute when
    // the kernel has to be waited for.
    let took = ran.took;
    holds_when_quiet("a thousand connections", took.as_secs() < 15, format!("{took:?}"));
}
