//! `keystorm deliver -d`: payloads of any sizes that have room for a message.

use crate::deliver::{all_came, count, deliver, test};
use crate::server::Server;

const SENT: u64 = 2_000;

/// Runs it, and checks that every delivery came once and in order.
fn all_arrive(server: &Server, line: &str, each: u64) {
    let test = test(deliver(server, &format!("{line} -n {SENT} --json -")).run().ok());
    all_came(&test, SENT * each, line);
}

#[test]
fn messages_whose_sizes_differ_all_arrive() {
    for (name, server) in Server::both() {
        for (line, each) in [
            ("pubsub --channels 2 --subscribers 4", 2),
            ("pubsub --channels 1 --subscribers 1 --rps 10k -P 8", 1),
            ("list --pop blmove", 1),
            ("list --pop blmpop --count 7 -3", 1),
            ("zset", 1),
            ("stream --receivers 2 --engine epoll", 2),
            ("stream --groups 2 --consumers 2", 2),
            ("notify --enable-events --event del", 1),
            ("invalidate --caches 2", 2),
        ] {
            server.reset();
            let before = server.info("total_net_input_bytes");
            // Of a seed: how many bytes are drawn is no matter of chance then.
            all_arrive(&server, &format!("{line} -d uniform:32..4k --seed 7"), each);
            let sent = (server.info("total_net_input_bytes") - before) / SENT;
            // What was moved is named once more when it is removed.
            let sent = if line.contains("blmove") { sent / 2 } else { sent };
            assert!((2_000..2_400).contains(&sent), "{name}: {line}: {sent} bytes on average");
        }
    }
}

#[test]
fn the_smallest_message_is_one_without_filler() {
    let server = Server::redis();
    for size in ["32", "sizes:32=1,33=1", "uniform:32..32"] {
        all_arrive(&server, &format!("list -d {size}"), 1);
    }
    for size in ["7", "uniform:7..4k"] {
        let refused = deliver(&server, &format!("list -d {size}")).run().exits(2);
        refused.says("are too few: a message needs at least 8");
    }
}

#[test]
fn payloads_with_room_for_a_number_only_all_arrive_with_their_times() {
    for (_, server) in Server::both() {
        for (line, each) in [
            ("pubsub --channels 2 --subscribers 4 -d 8", 2),
            ("pubsub --channels 3 --rps 10k -P 8 --threads 2 --receiver-threads 2 -d 31", 0),
            ("pubsub --channels 1 --subscribers 1 --rps 5k --warmup 0.2 -d 8", 1),
            ("list --pop blmove -d uniform:8..100", 1),
            ("list --pop lpop -d 9", 1),
            ("zset -d 8 -3", 1),
            ("stream --groups 2 --consumers 2 -d 16", 2),
            ("invalidate --tracking default --keys 2000 --caches 1 --rps 2k -d 8", 0),
        ] {
            server.reset();
            let line = format!("{line} -n {SENT} --json -");
            let test = test(deliver(&server, &line).run().ok());
            let counts = ["lost", "doubled", "out_of_order", "corrupt", "from_other_runs"];
            assert_eq!(counts.map(|name| count(&test, name)), [0; 5], "{line}");
            assert!(each == 0 || count(&test, "received") == SENT * each, "{line}");
            let latencies = &test["latency_ms"]["response"];
            assert_eq!(latencies["exact"]["count"], test["deliveries"]["received"], "{line}");
            assert!(latencies["max"].as_f64().unwrap() < 60_000.0, "{line}: {latencies}");
        }
    }
}

#[test]
fn sizes_are_drawn_for_each_message_unless_they_belong_to_the_channel() {
    let server = Server::redis();
    let by = |line: &str| {
        let ran = deliver(&server, &format!("pubsub -d uniform:32..4k --print-plan {line}")).run();
        let plan: serde_json::Value = serde_json::from_str(&ran.ok().out).unwrap();
        plan[0]["data"]["values"]["by"].clone()
    };
    assert_eq!(by(""), "request");
    assert_eq!(by("--set size-by=key"), "key");
}

#[test]
fn bytes_that_do_not_repeat_arrive_too() {
    let server = Server::redis();
    all_arrive(&server, "stream --receivers 1 -d 300 --content random", 1);
}
