//! RESP3, client tracking and Multipath TCP.

use crate::listener::Listener;
use crate::server::Server;

#[test]
fn every_connection_says_hello_in_resp3() {
    for (product, server) in Server::both() {
        server.run("-3 -q -n 500 -c 7 -P 4 incr k").ok();
        assert_eq!(server.calls("hello"), 7, "{product}");
        assert_eq!(server.calls("incr"), 500, "{product}");
        server.ask(&["CONFIG", "RESETSTAT"]);
        server.run("-q -n 500 -c 7 incr k").ok();
        assert_eq!(server.calls("hello"), 0, "{product}");
    }
}

#[test]
fn the_suite_runs_in_resp3() {
    for (product, server) in Server::both() {
        let ran = server.run("-3 -q -n 200 -c 5 -P 3").ok();
        assert_eq!(ran.out.lines().count(), 25, "{product}: {}", ran.out);
    }
}

#[test]
fn invalidations_of_tracked_keys_are_not_taken_for_replies() {
    for (product, server) in Server::both() {
        let line = "-3 --enable-tracking -q -r 20 -n 4000 -c 6 -P 5 --threads 2";
        server.run(&format!("{line} get k:__rand_int__ ';' set k:__rand_int__ v")).ok();
        assert_eq!(server.calls("client|tracking"), 6, "{product}");
        assert_eq!(server.calls("get"), 2000, "{product}");
        assert_eq!(server.calls("set"), 2000, "{product}");
    }
}

#[test]
fn tracking_that_the_server_refuses_is_reported() {
    let server = Server::redis();
    server.ask(&["ACL", "SETUSER", "default", "-client|tracking"]);
    server.run("--enable-tracking -q -n 10 get k").exits(1).says("NOPERM").says("client|tracking");
    let old = Listener::that_answers_load("-ERR unknown command\r\n");
    old.run("--enable-tracking -q -n 10 get k").exits(1).says("--enable-tracking");
    old.run("-3 -q -n 10 get k").exits(1).says("RESP3 (-3)");
}

#[test]
fn multipath_tcp_works_or_says_why_not() {
    let server = Server::redis();
    let ran = server.run("--mptcp -q -n 500 -c 5 incr k");
    let setting = std::fs::read_to_string("/proc/sys/net/mptcp/enabled");
    if setting.is_ok_and(|setting| setting.trim() == "1") {
        ran.ok();
        assert_eq!(server.calls("incr"), 500);
    } else {
        ran.exits(1).says("mptcp");
    }
    let path = server.socket();
    server.run(&format!("--mptcp -s {} -n 1 ping", path.display())).exits(2).says("--mptcp");
}

#[test]
fn errors_of_every_shape_and_length_are_counted_and_nothing_else_is() {
    let long = |kind: &str| -> &'static str {
        Box::leak(format!("{kind}ERR {}\r\n", "x".repeat(1_000_000)).into_boxed_str())
    };
    for answer in ["!5\r\nERR x\r\n", "-ERR x\r\n", long("-")] {
        let listener = Listener::that_answers_load(answer);
        let ran = listener.run("-n 6 -c 2 -P 3 --on-error count get k").ok();
        ran.prints("ERR: 6").prints("first: ERR x");
        listener.run("-n 6 -c 2 get k").exits(1).says("Error from server: ERR x");
    }
    let status = Listener::that_answers_load(long("+"));
    status.run("-n 6 -c 2 -P 3 get k").ok().completed();
}
