//! `keystorm deliver invalidate`: every cache gets the name of every key that is written, once.

use std::time::Duration;

use crate::deliver::{count, deliver, test};
use crate::program::within;
use crate::server::Server;

#[test]
fn every_key_is_reported_to_every_cache() {
    for (name, server) in Server::both() {
        for (line, caches) in [
            ("--caches 1", 1),
            ("--caches 4 -P 16 -d 1000 --engine epoll", 4),
            ("--caches 4 --receiver-threads 2 --threads 2 --writers 20", 4),
            ("--caches 3 --rps 2k --warmup 0.2", 3),
        ] {
            server.reset();
            let line = format!("invalidate --json - -n 1000 {line}");
            let test = test(deliver(&server, &line).run().ok());
            let counts = ["expected", "received", "lost", "doubled", "out_of_order", "corrupt"];
            let counts = counts.map(|name| count(&test, name));
            let expected = 1_000 * caches;
            assert_eq!(counts, [expected, expected, 0, 0, 0, 0], "{name}: {line}");
            assert_eq!(count(&test, "from_other_runs"), 0, "{name}: {line}");
            assert_eq!(server.number(&["DBSIZE"]), 0, "{name}: {line}: no key stays behind");
            if !line.contains("--warmup") {
                assert_eq!(server.calls("eval"), 1_001, "{name}: {line}, and a probe");
            }
            let tracking = server.calls("client|tracking");
            assert_eq!(tracking, caches, "{name}: {line}");
        }
    }
}

#[test]
fn a_flush_invalidates_all_keys_at_once() {
    let server = Server::redis();
    let line = "invalidate --json - --rps 500 -n 1500 --caches 2";
    let running = deliver(&server, line).start();
    assert!(within(Duration::from_secs(20), || server.calls("eval") > 100));
    server.ask(&["SET", "somebody's", "x"]);
    server.ask(&["FLUSHALL"]);
    let test = test(running.wait().ok());
    assert_eq!((count(&test, "received"), count(&test, "lost")), (3_000, 0));
    assert_eq!(count(&test, "from_other_runs"), 2, "a flush, at two caches");
}

#[test]
fn over_a_unix_socket_and_without_the_permission() {
    let server = Server::redis();
    let line = format!("invalidate -s {} -n 300 --caches 2", server.socket().display());
    deliver(&server, &line).run().ok().prints("600 of 600 received; none lost, doubled");
    server.ask(&[
        "ACL",
        "SETUSER",
        "ann",
        "on",
        ">pw-of-ann",
        "~*",
        "&*",
        "+@all",
        "-client|tracking",
    ]);
    let line = "invalidate -n 10 --user ann -a pw-of-ann";
    deliver(&server, line).run().exits(1).says("NOPERM");
    assert_eq!(server.calls("eval"), 301);
}

#[test]
fn a_server_without_tracking_is_named() {
    let server = Server::redis_with(&["--rename-command", "CLIENT", ""]);
    let line = "invalidate -n 10";
    deliver(&server, line).run().exits(1).says("this server has no such command");
    assert_eq!(server.calls("eval"), 0);
}
