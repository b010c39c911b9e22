//! `keystorm deliver --on --between-clients` of queues: any client may get a message, and counts are those of all.

use crate::deliver::{count, deliver, test};
use crate::queue_broker::QueueBroker;
use crate::server::Server;

/// Kinds, what their senders send, the keys, and how many receivers get each message.
const LINES: [(&str, &str, u64, u64); 9] = [
    ("list --receivers 4 --rps 4k", "lpush", 1, 1),
    // Each client has the receivers of one key, and sends to both.
    ("list --receivers 2 --keys 2 -P 4", "lpush", 2, 1),
    ("list --pop blmove --receivers 5 --senders 3 -3", "lpush", 1, 1),
    ("list --pop rpop --poll 0.02 --receivers 3 --receiver-threads 1", "lpush", 1, 1),
    ("zset --zpop bzmpop --count 4 --receivers 6 --keys 3 --keys-per-receiver all", "zadd", 3, 1),
    ("zset --receivers 4 --block 0.2 --receiver-threads 2", "zadd", 1, 1),
    ("stream --receivers 3", "xadd", 1, 3),
    ("stream --groups 2 --consumers 3 --receiver-threads 2 --keys 3 -3", "xadd", 3, 2),
    ("stream --groups 3 --consumers 1", "xadd", 1, 3),
];

#[test]
fn messages_in_queues_come_to_the_receivers_of_any_client() {
    for (name, server) in Server::both() {
        for (line, send, keys, each) in LINES {
            server.reset();
            let clients = if line.contains("--receivers 3 --rec") { 3 } else { 2 };
            let run = format!("{line} -n 2001 --on local:{clients} --between-clients --json -");
            let test = test(deliver(&server, &run).run().ok());
            let names =
                ["expected", "received", "lost", "doubled", "out_of_order", "from_other_runs"];
            let counts = names.map(|name| count(&test, name));
            assert_eq!(counts, [2_001 * each, 2_001 * each, 0, 0, 0, 0], "{name}: {line}");
            assert_eq!(count(&test, "messages_acknowledged"), 2_001, "{line}");
            assert_eq!(test["requests"], 2_001 * each, "{line}");
            assert_eq!(test["deliveries"]["waits"]["left_in_keys"], 0, "{line}");
            assert_eq!(test["clients"]["rows"].as_array().unwrap().len(), clients, "{line}");
            assert!(server.keys().is_empty(), "{name}: {line}: {:?}", server.keys());
            // Where each receiver gets all, another probe of each client follows the last message.
            let rounds = if line.starts_with("stream --receivers") { 2 } else { 1 };
            let probes = clients as u64 * keys * rounds;
            assert_eq!(server.calls(send), 2_001 + probes, "{name}: {line}, and a probe each");
        }
    }
}

#[test]
fn what_is_lost_and_what_comes_to_two_clients_is_counted_exactly() {
    let broker = QueueBroker::new();
    let line = "-n 1000 --senders 4 --receivers 4 --drain 1 --on local:2 --between-clients";
    let test = test(broker.run(&format!("{line} --json -")).exits(1));
    let counts = ["expected", "received", "lost", "doubled"].map(|name| count(&test, name));
    assert_eq!(counts, [1_000, 990, 10, 4], "{test}");
}

#[test]
fn messages_of_clients_without_an_end_have_numbers_that_rise() {
    let server = Server::redis();
    // With 19 keys the numbers of the second client would begin shortly before they leave their room.
    for line in [
        "list --keys 19 --receivers 38 --on local:2",
        "list --keys 19 --receivers 38 --on local:2 --between-clients",
        "pubsub --channels 19 --subscribers 38 --on local:2 --between-clients",
        "list --keys 19 --receivers 38 --on local:2 -d 8",
    ] {
        let line = format!("{line} --rps 2k --duration 0.5 --json -");
        let test = test(deliver(&server, &line).run().ok());
        let sent = count(&test, "messages_acknowledged");
        let copies = if line.contains("pubsub") { 2 } else { 1 };
        let names = ["received", "lost", "doubled", "out_of_order", "corrupt"];
        let counts = names.map(|name| count(&test, name));
        assert_eq!(counts, [sent * copies, 0, 0, 0, 0], "{line}");
    }
}

#[test]
fn messages_between_clients_need_times_and_kinds_that_go_anywhere() {
    let server = Server::redis();
    for (line, says) in [
        ("list", "requires several clients (--on)"),
        ("list --on local:2 -d 8", "at least 32 bytes"),
        ("zset --receivers 1 --on local:2", "each of 2 clients requires one"),
        ("notify --on local:2", "--between-clients"),
    ] {
        let line = format!("{line} --between-clients -n 100");
        deliver(&server, &line).run().exits(2).says(says);
    }
    let line = "list --rps 2k -n 1000 --on local:2 --between-clients";
    deliver(&server, line)
        .run()
        .ok()
        .prints("  deliveries: 1,000 of 1,000 received; none lost, doubled or out of order")
        .prints("  clocks: those of the clients are known to within ")
        .prints("  wake-up ")
        .prints("  backlog: at most ");
}
