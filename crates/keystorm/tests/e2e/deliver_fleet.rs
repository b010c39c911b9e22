//! `keystorm deliver --on`: each client has senders and receivers of its own, and counts are those of all.

use crate::deliver::{count, deliver, test};
use crate::notify::events;
use crate::server::Server;

#[test]
fn the_deliveries_of_all_clients_are_counted_together() {
    for (name, server) in Server::both() {
        for (line, send, places, each) in [
            ("pubsub --channels 2 --subscribers 8", "publish", 1, 4),
            ("pubsub --channels 1 --subscribers 3 -c 3 -3", "publish", 1, 0),
            ("list --receivers 4 --rps 5k", "lpush", 1, 1),
            ("zset --receivers 4 --keys 2 --receiver-threads 2", "zadd", 2, 1),
            ("stream --groups 2 --consumers 2", "xadd", 1, 2),
        ] {
            server.reset();
            let line = format!("{line} -n 2001 --on local:2 --json -");
            let test = test(deliver(&server, &line).run().ok());
            // Of three subscribers one client has two: half of the messages are due to two.
            let expected = if each == 0 { 1_001 * 2 + 1_000 } else { 2_001 * each };
            let names =
                ["expected", "received", "lost", "doubled", "out_of_order", "from_other_runs"];
            let counts = names.map(|name| count(&test, name));
            assert_eq!(counts, [expected, expected, 0, 0, 0, 0], "{name}: {line}");
            assert_eq!(count(&test, "messages_acknowledged"), 2_001, "{line}");
            assert_eq!(test["latency_ms"]["response"]["exact"]["count"], expected, "{line}");
            assert_eq!(test["clients"]["rows"].as_array().unwrap().len(), 2, "{line}");
            assert_eq!(server.calls(send), 2_001 + 2 * places, "{name}: {line}, and a probe each");
            assert!(server.keys().is_empty(), "{line}");
        }
    }
}

#[test]
fn the_report_of_several_clients_has_all_rows() {
    let server = Server::redis();
    let ran = deliver(&server, "list --rps 2k -n 2000 --receivers 6 --on local:2").run().ok();
    ran.prints("2 clients started within ")
        .prints("  wake-up ")
        .prints("  messages: 2,000 sent, all acknowledged")
        .prints("  deliveries: 2,000 of 2,000 received; none lost, doubled or out of order")
        .prints("  backlog: at most ");
}

#[test]
fn keys_that_one_client_writes_are_no_messages_of_another() {
    for (name, server) in Server::both() {
        for (line, each) in [
            ("notify --enable-events --subscribers 4", 2),
            ("notify --enable-events --event expired --ttl 0.2 --subscribers 2", 1),
            ("invalidate --caches 4", 2),
            ("invalidate --tracking default --keys 20 --caches 2 --redirect", 1),
        ] {
            let line = format!("{line} -n 501 --rps 2k --on local:2 --json -");
            let test = test(deliver(&server, &line).run().ok());
            let names = ["expected", "lost", "doubled", "out_of_order"];
            let counts = names.map(|name| count(&test, name));
            assert_eq!(counts, [501 * each, 0, 0, 0], "{name}: {line}");
            let covered =
                test["deliveries"]["invalidations"]["covered_by_later_reads"].as_u64().unwrap_or(0);
            assert_eq!(count(&test, "received") + covered, 501 * each, "{name}: {line}");
        }
        assert_eq!(events(&server), "", "{name}: put back");
    }
}

#[test]
fn every_client_needs_receivers() {
    let server = Server::redis();
    let few = deliver(&server, "list --keys 4 --receivers 4 -n 100 --on local:2").run().exits(2);
    few.says("so that some keys have no receiver");
    let one = deliver(&server, "pubsub --subscribers 1 -n 100 --on local:2").run().exits(2);
    one.says("--subscribers 1: each of 2 clients requires one");
}

#[test]
fn messages_between_clients_reach_the_subscribers_of_all() {
    for (name, server) in Server::both() {
        for (line, each) in [
            ("--channels 2 --subscribers 6 --rps 4k -P 4", 3),
            ("--channels 3 --subscribers 3 --channels-per-subscriber 2 -3 --receiver-threads 2", 2),
            ("--channels 1 --subscribers 4 -c 3 --patterns", 4),
        ] {
            server.reset();
            let line = format!("pubsub {line} -n 2001 --on local:2 --between-clients --json -");
            let test = test(deliver(&server, &line).run().ok());
            let expected = 2_001 * each;
            let names =
                ["expected", "received", "lost", "doubled", "out_of_order", "from_other_runs"];
            let counts = names.map(|name| count(&test, name));
            assert_eq!(counts, [expected, expected, 0, 0, 0, 0], "{name}: {line}");
            assert_eq!(count(&test, "messages_acknowledged"), 2_001, "{line}");
            let rows = test["clients"]["rows"].as_array().unwrap();
            let figure = |row: &serde_json::Value, name: &str| row[name].as_f64().unwrap();
            let bounds = rows
                .iter()
                .map(|row| figure(row, "clock_bound_us") + figure(row, "clock_drift_us").abs());
            let bound_ms = bounds.sum::<f64>() / 1e3;
            let least = test["latency_ms"]["response"]["exact"]["min_ns"].as_f64().unwrap() / 1e6;
            assert!(
                bound_ms > 0.0 && least + 1e-6 >= bound_ms,
                "{line}: {least} ms, {bound_ms} ms"
            );
        }
    }
}

#[test]
fn a_report_of_messages_between_clients_says_how_well_clocks_are_known() {
    let server = Server::redis();
    let line =
        "pubsub --subscribers 4 --channels 2 --rps 2k -n 1000 --on local:2 --between-clients";
    let ran = deliver(&server, line).run().ok();
    let ran = ran
        .prints("  deliveries: 2,000 of 2,000 received; none lost, doubled or out of order")
        .prints("  clocks: those of the clients are known to within ");
    // No number is below the bound.
    let row = ran.out.lines().find(|line| line.trim_start().starts_with("delivery")).unwrap();
    let bound = ran.out.split("known to within ").nth(1).unwrap().split(" ms").next().unwrap();
    let bound_ms: f64 = bound.parse().unwrap();
    let least = row.split_whitespace().nth(3).unwrap();
    let is_known = least.parse().is_ok_and(|ms: f64| ms >= bound_ms);
    assert!(is_known || least.starts_with('<'), "{least} of {bound_ms}: {}", ran.out);
    for (line, says) in [
        ("pubsub --between-clients", "requires several clients (--on)"),
        ("pubsub --between-clients --on local:2 -d 8", "at least 32 bytes"),
    ] {
        deliver(&server, &format!("{line} -n 100")).run().exits(2).says(says);
    }
}
