//! `keystorm deliver invalidate`: every cache drops every key that is written, and each write is accounted for.

use serde_json::Value;

use crate::cache_broker::{BETWEEN, CacheBroker};
use crate::deliver::{count, deliver, is_exact, test};
use crate::program::{PATIENCE, within};
use crate::server::Server;

/// What caches saw beside deliveries.
fn of_caches(test: &Value, name: &str) -> u64 {
    test["deliveries"]["invalidations"][name].as_u64().unwrap()
}

/// Checks that each of so many deliveries was one, or what a cache had read, or was removed before; and that all that
/// were have a stale window.
pub(crate) fn adds_up(test: &Value, expected: u64, line: &str) {
    is_exact(test, expected, line);
    assert_eq!(count(test, "from_other_runs"), 0, "{line}");
    let received = count(test, "received");
    let other = ["covered_by_later_reads", "removed_unread"].map(|name| of_caches(test, name));
    assert_eq!(received + other[0] + other[1], expected, "{line}");
    let windows = &test["deliveries"]["invalidations"]["stale_ms"];
    assert_eq!(windows["exact"]["count"], received, "{line}");
    assert_eq!(test["latency_ms"]["response"]["exact"]["count"], received, "{line}");
}

#[test]
fn every_key_is_reported_to_every_cache() {
    for (name, server) in Server::both() {
        for (line, caches) in [
            ("--caches 1", 1),
            ("--caches 4 -P 16 -d 1000 --engine epoll", 4),
            ("--caches 4 --receiver-threads 2 --threads 2 --writers 20", 4),
            ("--caches 3 --rps 2k --warmup 0.2", 3),
            ("--caches 3 --noloop", 3),
            ("--caches 3 --redirect", 3),
            // Each write goes to one prefix of four, and each cache has two of them.
            ("--caches 4 --prefixes 4 --prefixes-per-cache 2", 2),
            ("--caches 4 --redirect -3 --receiver-threads 2 --engine epoll", 4),
        ] {
            server.reset();
            let line = format!("invalidate --json - -n 1000 {line}");
            let test = test(deliver(&server, &line).run().ok());
            adds_up(&test, 1_000 * caches, &line);
            assert_eq!(count(&test, "received"), 1_000 * caches, "{name}: {line}");
            assert_eq!(server.number(&["DBSIZE"]), 0, "{name}: {line}: no key stays behind");
            if !line.contains("--warmup") {
                let probes = if line.contains("--prefixes") { 4 } else { 1 };
                assert_eq!(server.calls("eval"), 1_000 + probes, "{name}: {line}");
            }
            let tracking = server.calls("client|tracking");
            let each = if line.contains("--prefixes") { 2 } else { 1 };
            assert_eq!(tracking, caches * each, "{name}: {line}");
        }
    }
}

#[test]
fn every_write_is_invalidated_once_or_covered_by_a_later_read() {
    for (name, server) in Server::both() {
        for (line, keys, caches) in [
            ("--tracking default --keys 20 --caches 4", 20, 4),
            ("--tracking default --keys 1 --caches 3 -P 16 --engine epoll", 1, 3),
            ("--tracking optin --keys 5 --caches 2 --noloop", 5, 2),
            ("--tracking default --keys 5 --caches 2 --redirect", 5, 2),
            ("--tracking optin --keys 5 --caches 2 --redirect --noloop -P 16", 5, 2),
            ("--tracking optout --keys 5 --receiver-threads 2 --threads 2 --caches 4", 5, 4),
            ("--tracking default --rps 2k --warmup 0.2 --keys 100 --caches 3 -d 32", 100, 3),
        ] {
            server.reset();
            let line = format!("invalidate --json - -n 1000 {line}");
            let test = test(deliver(&server, &line).run().ok());
            adds_up(&test, 1_000 * caches, &format!("{name}: {line}"));
            assert_eq!(of_caches(&test, "without_a_write"), 0, "{name}: {line}");
            assert_eq!(server.number(&["DBSIZE"]), 0, "{name}: {line}: no key stays behind");
            if line.contains("--warmup") {
                continue;
            }
            assert_eq!(server.calls("xadd"), 1_000 + keys, "{name}: {line}, and probes");
            // Every invalidation is followed by one read.
            let reads = 2 * keys * caches + count(&test, "received");
            assert_eq!(server.calls("xrange"), reads, "{name}: {line}");
            let wanted = if line.contains("optin") { reads } else { 0 };
            assert_eq!(server.calls("client|caching"), wanted, "{name}: {line}");
        }
    }
}

#[test]
fn lost_and_doubled_invalidations_and_windows_of_a_known_length_are_seen() {
    let ran = CacheBroker::new().run("--json - --writers 1 --caches 2 -n 50 --drain 2");
    let test = test(ran.exits(1));
    let counts = ["expected", "received", "lost", "doubled", "out_of_order"];
    let counts = counts.map(|name| count(&test, name));
    assert_eq!(counts, [100, 90, 10, 4, 0]);
    assert_eq!(of_caches(&test, "before_acknowledged"), 50, "of every other write");
    let windows = &test["deliveries"]["invalidations"]["stale_ms"];
    assert_eq!(windows["exact"]["count"], 90);
    assert!(windows["p50"].as_f64().unwrap() < 0.001, "nothing was stale: {windows}");
    let least_ms = BETWEEN.as_secs_f64() * 1e3 / 2.0;
    assert!(windows["p95"].as_f64().unwrap() > least_ms, "of the others: {windows}");
}

#[test]
fn a_flush_invalidates_all_keys_at_once() {
    let server = Server::redis();
    for line in [
        "",
        "--redirect",
        "--tracking default --keys 5",
        "--tracking optin --keys 5",
        "--tracking default --keys 5 --redirect",
    ] {
        server.reset();
        let line = format!("invalidate --json - --rps 500 -n 1500 --caches 2 --drain 2s {line}");
        let running = deliver(&server, &line).start();
        let write = if line.contains("--tracking") { "xadd" } else { "eval" };
        assert!(within(PATIENCE, || server.calls(write) > 100));
        server.ask(&["SET", "somebody's", "x"]);
        server.ask(&["FLUSHALL"]);
        let test = test(running.wait().ok());
        adds_up(&test, 3_000, &line);
        assert_eq!(of_caches(&test, "of_all_keys"), 2, "{line}: one at each cache");
    }
}

#[test]
fn keys_that_the_server_forgets_are_invalidated_early() {
    let server = Server::redis_with(&["--tracking-table-max-keys", "8"]);
    let line = "invalidate --json - --tracking default --keys 10 --caches 2 --rps 300 -n 300";
    let test = test(deliver(&server, line).run().ok());
    adds_up(&test, 600, line);
    assert!(of_caches(&test, "without_a_write") > 0);
}

#[test]
fn what_another_client_writes_to_a_key_is_counted_at_every_cache() {
    let server = Server::redis();
    let line = "invalidate --json - --tracking default --keys 1 --caches 3 --rps 200 -n 400";
    let running = deliver(&server, line).start();
    assert!(within(PATIENCE, || server.calls("xadd") > 100));
    let key = server.keys().swap_remove(0);
    server.ask(&["XADD", &key, "*", "m", "no message of ours"]);
    let test = test(running.wait().exits(1));
    assert_eq!((count(&test, "lost"), count(&test, "corrupt")), (0, 3), "at each cache");
}

/// Cuts off so many clients that track keys.
fn kill_caches(server: &Server, many: usize) {
    let clients = server.text(&["CLIENT", "LIST"]);
    let field = |line: &str, name: &str| {
        line.split(' ').find_map(|field| field.strip_prefix(name)).unwrap().to_owned()
    };
    let caches = clients.lines().filter(|line| field(line, "flags=").contains('t'));
    for cache in caches.take(many) {
        server.ask(&["CLIENT", "KILL", "ID", &field(cache, "id=")]);
    }
}

#[test]
fn a_cache_that_is_cut_off_comes_back_and_reads_again() {
    let server = Server::redis();
    for line in ["--tracking default --keys 5", "--tracking bcast"] {
        server.reset();
        let line =
            format!("invalidate --json - --rps 500 -n 1500 --caches 4 --reconnect yes {line}");
        let running = deliver(&server, &line).start();
        let write = if line.contains("default") { "xadd" } else { "eval" };
        assert!(within(PATIENCE, || server.calls(write) > 100));
        kill_caches(&server, 2);
        let test = test(running.wait().ok());
        let away = count(&test, "missed_while_away");
        adds_up(&test, 6_000 - away, &line);
        assert_eq!(count(&test, "receivers_cut_off"), 2, "{line}");
        assert!(line.contains("bcast") || away == 0, "what was written meanwhile it has read");
    }
    let running = deliver(&server, "invalidate --rps 500 -n 5000 --tracking default").start();
    assert!(within(PATIENCE, || server.calls("xadd") > 100));
    kill_caches(&server, 1);
    running.wait().exits(1).says("a receiver lost its connection").says("--reconnect yes");
}

#[test]
fn every_format_has_the_stale_window() {
    let server = Server::redis();
    let line = "invalidate --tracking default --keys 5 --caches 2 -n 300";
    deliver(&server, line).run().ok().prints("stale window").prints("none lost, doubled");
    deliver(&server, &format!("{line} -q")).run().ok().prints(", stale p50=");
    let csv = deliver(&server, &format!("{line} --csv")).run().ok();
    let (head, row) = csv.out.trim_end().rsplit_once('\n').unwrap();
    assert!(head.ends_with("\"of_all_keys\",\"removed_unread\""), "{head}");
    assert_eq!(row.split(',').count(), 10, "{row}");
    let dir = tempfile::tempdir().unwrap();
    let (saved, page) = (dir.path().join("run.json"), dir.path().join("run.html"));
    let line = format!("{line} --json {} --html {}", saved.display(), page.display());
    deliver(&server, &line).run().ok();
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("stale window") && page.contains("covered by later reads"));
    let shown = crate::program::Keystorm::new(&format!("show {}", saved.display())).run().ok();
    shown.prints("stale window").prints("none lost, doubled");
}

#[test]
fn over_a_unix_socket_and_without_the_permission() {
    let server = Server::redis();
    let line = format!("invalidate -s {} -n 300 --caches 2", server.socket().display());
    deliver(&server, &line).run().ok().prints("600 of 600 received; none lost, doubled");
    for (command, mode) in
        [("client|tracking", "bcast"), ("client|caching", "optin"), ("xrange", "default")]
    {
        server.reset();
        let without = format!("-{command}");
        let user = ["ACL", "SETUSER", "ann", "reset", "on", ">pw-of-ann", "~*", "&*", "+@all"];
        server.ask(&[&user[..], &[&without]].concat());
        let line = format!("invalidate -n 10 --user ann -a pw-of-ann --tracking {mode}");
        deliver(&server, &line).run().exits(1).says("NOPERM");
        assert_eq!((server.calls("eval"), server.calls("xadd")), (0, 0));
    }
}

#[test]
fn a_server_without_tracking_is_named() {
    let server = Server::redis_with(&["--rename-command", "CLIENT", ""]);
    let line = "invalidate -n 10";
    deliver(&server, line).run().exits(1).says("this server has no such command");
    assert_eq!(server.calls("eval"), 0);
}

#[test]
fn options_that_say_nothing_together_are_refused() {
    let server = Server::redis();
    deliver(&server, "invalidate --keys 3").run().exits(2).says("--keys: with --tracking bcast");
    for (line, why) in [
        ("--prefixes 3 --caches 4", "some prefixes would have more receivers than others"),
        ("--prefixes 2 --prefixes-per-cache 3", "--prefixes-per-cache 3: must be between 1 and 2"),
        ("--prefixes 2 --tracking default", "only --tracking bcast has prefixes"),
        ("--prefixes 2 -d uniform:1..9", "-d: with several --prefixes"),
    ] {
        deliver(&server, &format!("invalidate {line}")).run().exits(2).says(why);
    }
    deliver(&server, "invalidate --tracking often").run().exits(2).says("optout");
    deliver(&server, "invalidate --tracking default -d 7")
        .run()
        .exits(2)
        .says("7 bytes are too few");
}
