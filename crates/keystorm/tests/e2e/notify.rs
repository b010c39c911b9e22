//! `keystorm deliver notify`: keyspace events arrive, are counted and timed, and the server is as it was.

use serde_json::Value;

use crate::deliver::{all_came, count, deliver, test};
use crate::program::{Keystorm, PATIENCE, within};
use crate::server::Server;

/// Runs it, and checks that all of so many deliveries came, each once.
fn all_arrive(server: &Server, line: &str, expected: u64) -> Value {
    let test = test(deliver(server, &format!("notify --json - {line}")).run().ok());
    all_came(&test, expected, line);
    assert_eq!(test["latency_ms"]["response"]["exact"]["count"], expected, "{line}");
    test
}

pub(crate) fn events(server: &Server) -> String {
    let reply = server.ask(&["CONFIG", "GET", "notify-keyspace-events"]);
    let wire::resp::Value::Array(pair) = reply else { panic!("{reply:?}") };
    pair[1].text().unwrap()
}

#[test]
fn every_key_is_reported_to_every_subscriber_of_its_event() {
    for (name, server) in Server::both() {
        for (line, command) in [
            ("--subscribers 1", "set"),
            ("--subscribers 3 --event new", "set"),
            ("--subscribers 3 --event del", "eval"),
            ("--subscribers 3 --event expired --ttl 50ms", "set"),
            ("--subscribers 3 -3", "set"),
            ("--subscribers 3 -P 16 -d 1000 --engine epoll", "set"),
            ("--subscribers 4 --receiver-threads 2 --threads 2 --writers 20", "set"),
            ("--subscribers 3 --dbnum 5", "set"),
        ] {
            server.reset();
            let subscribers = if line.contains("--subscribers 1") { 1 } else { 3 };
            let subscribers = if line.contains("--subscribers 4") { 4 } else { subscribers };
            let line = format!("-n 1000 --enable-events {line}");
            all_arrive(&server, &line, 1_000 * subscribers);
            assert_eq!(server.calls(command), 1_001, "{name}: {line}, and a probe");
            assert_eq!(events(&server), "", "{name}: {line}");
        }
    }
}

#[test]
fn an_expiry_is_timed_from_when_the_key_was_due_to_expire() {
    let server = Server::redis_with(&["--notify-keyspace-events", "Ex"]);
    let test = all_arrive(&server, "-n 200 --subscribers 1 --event expired --ttl 2s", 200);
    let of = |name: &str| test["latency_ms"]["response"][name].as_f64().unwrap();
    assert!(of("min") < 2_000.0, "the lifetime is no part of the delay: {} ms", of("min"));
    assert!(of("min") > 0.0, "no key expires early");
}

/// What others put there with lives of 1 to 3 seconds.
const OTHERS: &str = "for n = 1, 50000 do \
     redis.call('set', 'volatile:' .. n, 'x', 'px', 1000 + n % 2000) end";

#[test]
fn expiries_among_many_keys_of_others_are_all_reported() {
    let args = ["--notify-keyspace-events", "Ex", "--active-expire-effort", "1"];
    let server = Server::redis_with(&args);
    server.ask(&["EVAL", OTHERS, "0"]);
    let line = "-n 400 --rps 200 --subscribers 2 --event expired --ttl 500ms";
    let test = all_arrive(&server, line, 800);
    let others = count(&test, "from_other_runs");
    assert!((2_000..=100_000).contains(&others), "{others} of others, at two subscribers");
    let late_ms = test["latency_ms"]["response"]["min"].as_f64().unwrap();
    assert!(late_ms > 0.0, "no key expires early: {late_ms} ms");
}

#[test]
fn events_that_are_off_are_named_and_put_back_after_they_were_enabled() {
    let server = Server::redis_with(&["--notify-keyspace-events", "Kx"]);
    let line = "notify -n 10 --subscribers 1";
    deliver(&server, line)
        .run()
        .exits(1)
        .says("does not publish the event set")
        .says("lacks \"E$\"")
        .says("--enable-events");
    assert_eq!(server.calls("set"), 0);
    let before = events(&server);
    let line = "notify --rps 500 --duration 60s --subscribers 1 --enable-events";
    let running = deliver(&server, line).start();
    assert!(within(PATIENCE, || server.calls("set") > 50));
    assert!(events(&server).contains('$'));
    running.interrupt();
    running.wait().exits(130).prints("none lost");
    assert_eq!(events(&server), before, "after Ctrl-C");
    server.ask(&["ACL", "SETUSER", "ann", "on", ">pw-of-ann", "~*", "&*", "+@all", "-set"]);
    let line = "notify -n 10 --subscribers 1 --enable-events --user ann -a pw-of-ann";
    deliver(&server, line).run().exits(1).says("NOPERM");
    assert_eq!(events(&server), before, "after a failure");
}

#[test]
fn keys_of_other_clients_are_counted_apart() {
    let server = Server::redis_with(&["--notify-keyspace-events", "E$"]);
    let line = "notify --json - --rps 500 -n 1500 --subscribers 1";
    let running = deliver(&server, line).start();
    assert!(within(PATIENCE, || server.calls("set") > 50));
    for n in 0..7 {
        server.ask(&["SET", &format!("somebody's:{n}"), "x"]);
    }
    let test = test(running.wait().ok());
    assert_eq!((count(&test, "from_other_runs"), count(&test, "received")), (7, 1_500));
}

#[test]
fn what_a_subscriber_misses_while_it_is_cut_off_is_not_lost() {
    let server = Server::redis_with(&["--notify-keyspace-events", "E$"]);
    let running =
        deliver(&server, "notify --json - --rps 500 --duration 2s --subscribers 2").start();
    assert!(within(PATIENCE, || server.calls("set") > 50));
    server.ask(&["CLIENT", "KILL", "TYPE", "pubsub"]);
    let test = test(running.wait().ok());
    assert_eq!((count(&test, "receivers_cut_off"), count(&test, "lost")), (2, 0));
    let all = 2 * count(&test, "messages_acknowledged");
    assert_eq!(count(&test, "received") + count(&test, "missed_while_away"), all);
    assert!(count(&test, "received") > all / 2, "they came back: {test}");
}

#[test]
fn over_a_unix_socket_and_to_a_channel_that_the_user_may_not_use() {
    let server = Server::redis_with(&["--notify-keyspace-events", "E$"]);
    let line = format!("-s {} -n 300 --subscribers 2", server.socket().display());
    all_arrive(&server, &line, 600);
    let acl = ["ACL", "SETUSER", "ann", "on", ">pw-of-ann", "~*", "+@all", "resetchannels"];
    server.ask(&acl);
    let line = "notify -n 10 --user ann -a pw-of-ann --subscribers 1";
    deliver(&server, line).run().exits(1).says("NOPERM");
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (line, why) in [
        ("--event gone", "gone"),
        ("--ttl 0", "--ttl"),
        ("--ttl 2h", "--ttl"),
        ("--channels 2", "--channels"),
    ] {
        Keystorm::new(&format!("deliver notify {line}")).run().exits(2).says(why);
    }
}
