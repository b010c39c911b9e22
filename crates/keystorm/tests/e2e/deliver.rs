//! `keystorm deliver`: what is sent arrives, is counted and timed from when it was due.

use std::time::Duration;

use serde_json::Value;

use crate::broker::{Broker, Fate};
use crate::program::{Keystorm, PATIENCE, RunOutput, within};
use crate::server::Server;

/// The one test of a run that printed JSON.
pub(crate) fn test(ran: RunOutput) -> Value {
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    document["tests"][0].clone()
}

pub(crate) fn count(test: &Value, name: &str) -> u64 {
    test["deliveries"][name].as_u64().unwrap()
}

/// Checks that so many deliveries were expected, and none is missing, damaged, or came twice or out of order.
pub(crate) fn is_exact(test: &Value, expected: u64, line: &str) {
    let faults = ["lost", "doubled", "out_of_order", "corrupt"];
    assert_eq!(faults.map(|name| count(test, name)), [0; 4], "{line}: {}", test["deliveries"]);
    assert_eq!(count(test, "expected"), expected, "{line}");
}

/// Checks the same, and that all of them came.
pub(crate) fn all_came(test: &Value, expected: u64, line: &str) {
    is_exact(test, expected, line);
    assert_eq!(count(test, "received"), expected, "{line}");
}

/// A run against this server; `line` begins with the kind.
pub(crate) fn deliver(server: &Server, line: &str) -> Keystorm {
    let (kind, options) = line.split_once(' ').unwrap_or((line, ""));
    Keystorm::new(&format!("deliver {kind} -p {} {options}", server.port()))
}

/// Runs it, and checks that all of so many deliveries came, each once and in order.
fn all_arrive(server: &Server, line: &str, expected: u64) -> Value {
    let test = test(deliver(server, &format!("pubsub --json - {line}")).run().ok());
    all_came(&test, expected, line);
    assert_eq!(count(&test, "from_other_runs"), 0, "{line}");
    assert_eq!(test["requests"], expected, "{line}");
    assert_eq!(test["latency_ms"]["response"]["exact"]["count"], expected, "{line}");
    test
}

#[test]
fn every_message_reaches_every_subscriber_of_its_channel() {
    for (name, server) in Server::both() {
        for (line, each) in [
            ("--channels 1 --subscribers 1", 1),
            ("--channels 1 --subscribers 7", 7),
            ("--channels 4 --subscribers 8", 2),
            ("--channels 4 --subscribers 8 --channels-per-subscriber 2", 4),
            ("--channels 4 --subscribers 8 --patterns", 2),
            ("--channels 4 --subscribers 8 -3", 2),
            ("--channels 4 --subscribers 8 --sharded", 2),
            ("--channels 4 --subscribers 8 --sharded -3", 2),
            ("--channels 4 --subscribers 8 --receiver-threads 2 --threads 2 --publishers 20", 2),
            ("--channels 4 --subscribers 8 -P 16 -d 1000 --engine epoll", 2),
            ("--channels 4 --subscribers 8 -d 32", 2),
            ("--channels 1 --subscribers 3 -d 100k -n 200", 3),
        ] {
            server.reset();
            let n = if line.contains("-n ") { 200 } else { 2_000 };
            let line = format!("-n {n} {line}");
            all_arrive(&server, &line, n * each);
            let channels = if line.contains("--channels 1 ") { 1 } else { 4 };
            let publish = if line.contains("--sharded") { "spublish" } else { "publish" };
            assert_eq!(server.calls(publish), n + channels, "{name}: {line}, and a probe each");
        }
    }
}

#[test]
fn a_schedule_and_a_warm_up_are_counted_apart() {
    let server = Server::redis();
    server.reset();
    let line = "-c 3 --channels 2 --subscribers 4 --rps 2k --warmup 0.3 -n 1000";
    let test = all_arrive(&server, line, 2_000);
    assert!(server.calls("publish") > 1_200, "the warm-up is sent, too");
    let first = &test["deliveries"]["first_receiver_ms"]["exact"]["count"];
    assert_eq!(
        (first, &test["deliveries"]["messages_acknowledged"]),
        (&1_000.into(), &1_000.into())
    );
    assert!(test["lateness_ms"]["due"].as_u64().unwrap() == 1_000);
}

#[test]
fn the_report_says_what_was_sent_and_what_arrived() {
    let server = Server::redis();
    let ran = deliver(&server, "pubsub -n 500 --channels 2 --subscribers 4").run().ok();
    ran.prints("====== PUBLISH to SUBSCRIBE ======")
        .prints("  1000 messages received in ")
        .prints(" messages/s received, ")
        .prints("  delivery (ms) ")
        .prints("  first receiver ")
        .prints("  last receiver ")
        .prints("  messages: 500 sent, all acknowledged\n")
        .prints("  deliveries: 1,000 of 1,000 received; none lost, doubled or out of order\n");
}

#[test]
fn over_a_unix_socket() {
    let server = Server::redis();
    let line = format!("-s {} -n 300 --channels 2 --subscribers 2", server.socket().display());
    all_arrive(&server, &line, 300);
}

#[test]
fn what_a_broker_loses_doubles_and_swaps_is_counted_exactly() {
    let broker = Broker::new(|number| match number {
        n if n % 100 == 0 => Fate::Lost,
        n if n % 250 == 1 => Fate::Doubled,
        n if n % 500 == 7 => Fate::Swapped,
        _ => Fate::Delivered,
    });
    let line = "--json - -c 1 --channels 1 --subscribers 2 -n 1000 --drain 2";
    let ran = broker.run(line).exits(1);
    let test = test(ran);
    // Of each of two subscribers; the last of the numbers that are swapped is followed by another.
    for (name, expected) in [
        ("expected", 2_000),
        ("received", 1_980),
        ("lost", 20),
        ("doubled", 8),
        ("out_of_order", 4),
    ] {
        assert_eq!(count(&test, name), expected, "{name}");
    }
    let text = broker.run("-c 1 --channels 1 --subscribers 2 -n 1000 --drain 2").exits(1);
    text.prints("1,980 of 2,000 received; 20 lost, 8 doubled, 4 out of order");
}

#[test]
fn a_server_that_stands_still_shows_in_deliveries_from_when_they_were_due() {
    let server = Server::redis();
    let line = "pubsub --json - --rps 1k --duration 2s --channels 1 --subscribers 1";
    let running = deliver(&server, line).start();
    assert!(within(PATIENCE, || server.calls("publish") > 100));
    let stood = server.pause(Duration::from_millis(400));
    let test = test(running.wait().ok());
    let max_ms = test["latency_ms"]["response"]["max"].as_f64().unwrap();
    assert!(max_ms >= stood.as_secs_f64() * 1e3 * 0.9, "{max_ms} ms of {stood:?}");
    // One message a millisecond was due meanwhile: those of the first half waited for the second.
    let p90_ms = test["latency_ms"]["response"]["p90"].as_f64().unwrap();
    assert!(p90_ms >= 100.0, "p90 {p90_ms} ms");
    assert_eq!(count(&test, "lost"), 0);
    // In the course of the run, one interval has none, or the next has all that waited.
    let points = test["timeline"].as_array().unwrap();
    let worst_ms = points.iter().filter_map(|point| point["max"].as_f64()).fold(0.0, f64::max);
    assert!(worst_ms >= stood.as_secs_f64() * 1e3 * 0.9, "{worst_ms} ms of {stood:?}");
}

#[test]
fn a_subscriber_that_is_cut_off_comes_back_or_ends_the_run() {
    let server = Server::redis();
    let kill = |server: &Server| {
        assert!(within(PATIENCE, || server.calls("publish") > 100));
        server.ask(&["CLIENT", "KILL", "TYPE", "pubsub"]);
    };
    let line = "pubsub --json - --rps 1k --duration 2s --channels 1 --subscribers 3";
    let running = deliver(&server, line).start();
    kill(&server);
    let ran = running.wait();
    let code = ran.code;
    let cut = test(ran);
    // The server may kill a connection between taking messages for it and writing them: one of each of ten senders,
    // which it reads at once where it has waited for a CPU.
    let lost = count(&cut, "lost");
    assert!(count(&cut, "receivers_cut_off") == 3 && lost <= 3 * 10, "{cut}");
    assert_eq!(code, Some(i32::from(lost > 0)), "{cut}");
    assert!(count(&cut, "received") > 3_000, "they came back");
    let all = 3 * count(&cut, "messages_acknowledged");
    assert_eq!(count(&cut, "received") + count(&cut, "missed_while_away") + lost, all);
    server.reset();
    let line = "pubsub --rps 1k -n 5000 --channels 1 --subscribers 3 --reconnect no";
    let running = deliver(&server, line).start();
    kill(&server);
    running.wait().exits(1).prints("a receiver lost its connection");
}

#[test]
fn two_runs_at_one_server_do_not_get_each_others_messages() {
    let server = Server::redis();
    let line = "pubsub --json - --rps 500 --duration 600 --channels 1 --subscribers 1";
    let first = deliver(&server, line).start();
    assert!(within(PATIENCE, || server.calls("publish") > 50));
    let second =
        test(deliver(&server, "pubsub --json - --channels 1 --subscribers 1 -n 100").run().ok());
    first.interrupt();
    let first = test(first.wait().exits(130));
    assert_eq!((count(&first, "lost"), count(&second, "lost")), (0, 0));
    assert_eq!(count(&second, "received"), 100);
}

#[test]
fn channels_without_a_subscriber_are_named() {
    let server = Server::redis();
    let sentence = "5 of 10 channels have no subscriber, so messages to them reach nobody; use --channels 5 or more \
                    --subscribers";
    deliver(&server, "pubsub -n 200 --channels 10 --subscribers 5").run().ok().prints(sentence);
    assert!(
        !deliver(&server, "pubsub -n 200 --subscribers 5").run().ok().out.contains("no subscriber")
    );
    let shared = deliver(&server, "pubsub -n 200 --on local:2").run().ok();
    shared.prints("deliveries: 200 of 200 received");
    let enough =
        deliver(&server, "pubsub -n 200 --channels 10 --subscribers 5 --channels-per-subscriber 2");
    assert!(!enough.run().ok().out.contains("no subscriber"));
}

#[test]
fn messages_of_other_runs_are_distinguished() {
    let server = Server::redis();
    let line = "pubsub --json - --seed 7 --rps 500 --duration 600 --channels 1 --subscribers 1";
    let first = deliver(&server, line).start();
    assert!(within(PATIENCE, || server.calls("publish") > 50));
    let line = "pubsub --json - --seed 7 --channels 1 --subscribers 1 -n 100";
    let second = test(deliver(&server, line).run().ok());
    first.interrupt();
    let first = test(first.wait().exits(130));
    assert_eq!((count(&first, "lost"), count(&second, "lost")), (0, 0));
    assert_eq!(count(&second, "received"), 100);
    assert!(count(&first, "from_other_runs") >= 100);
}

#[test]
fn five_thousand_subscribers_are_there_before_the_first_message() {
    let server = Server::redis_with(&["--maxclients", "9000"]);
    let line = "--channels 1 --subscribers 5000 -c 1 -n 5";
    all_arrive(&server, line, 25_000);
}

#[test]
fn a_channel_that_the_user_may_not_use_is_an_error() {
    let server = Server::redis();
    server.ask(&["ACL", "SETUSER", "ann", "on", ">pw", "~*", "+@all", "resetchannels"]);
    let line = "pubsub -n 10 --user ann -a pw --channels 1 --subscribers 1";
    deliver(&server, line).run().exits(1).says("NOPERM").says("the user lacks the permission");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let server = Server::redis();
    for (line, why) in [
        ("pubsup", "pubsub"),
        ("pubsub -d 7", "a message needs at least 8"),
        ("pubsub -t get", "sends one command of its own"),
        ("pubsub -r 5", "use --channels"),
        ("list -r 5", "use --keys"),
        ("pubsub get x", "unexpected word get"),
        ("pubsub --sharded --patterns", "--patterns"),
        ("pubsub --protocol memcache", "memcached has nothing that a client could wait for"),
        ("pubsub --channels 0", "--channels 0"),
        ("pubsub --channels 2 --channels-per-subscriber 3", "--channels-per-subscriber 3"),
        ("pubsub --subscribers 0", "--subscribers 0"),
    ] {
        deliver(&server, line).run().exits(2).says(why);
    }
    assert_eq!(server.calls("publish"), 0);
    Keystorm::new("deliver -n 1")
        .run()
        .exits(2)
        .says("deliver requires a kind after it: pubsub, list, zset");
}
