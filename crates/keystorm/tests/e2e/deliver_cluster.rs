//! `keystorm deliver pubsub` in a cluster: over the bus, and on the shard of a channel.

use crate::cluster::Cluster;
use crate::deliver::{count, test};
use crate::program::PATIENCE;
use crate::program::{Keystorm, within};

fn pubsub(cluster: &Cluster, line: &str) -> Keystorm {
    let port = cluster.nodes[0].port();
    Keystorm::new(&format!("deliver pubsub -p {port} --cluster --json - {line}"))
}

/// One test, since a cluster takes seconds to come up.
#[test]
fn messages_cross_a_cluster_and_shard_channels_follow_their_slots() {
    let cluster = Cluster::new(3, 0, &[]);
    every_subscriber_gets_every_message(&cluster);
    let odd = pubsub(&cluster, "-n 10 --channels 4 --subscribers 6").run().exits(2);
    odd.says("no multiple of 4");
    slots_move_while_messages_are_sent(&cluster);
}

fn every_subscriber_gets_every_message(cluster: &Cluster) {
    for (line, command) in [
        ("", "publish"),
        ("-3 --patterns", "publish"),
        ("--threads 2 --receiver-threads 2", "publish"),
        ("--sharded", "spublish"),
        ("--sharded -3 -P 8", "spublish"),
    ] {
        cluster.reset_counts();
        let line = format!("-n 3000 --channels 12 --subscribers 24 {line}");
        let test = test(pubsub(cluster, &line).run().ok());
        let counts =
            ["expected", "received", "lost", "doubled", "out_of_order", "missed_while_away"];
        let counts = counts.map(|name| count(&test, name));
        assert_eq!(counts, [6_000, 6_000, 0, 0, 0, 0], "{line}");
        let calls = cluster.calls(command);
        assert_eq!(calls.iter().sum::<u64>(), 3_012, "{line}, and a probe each: {calls:?}");
        assert!(calls.iter().all(|calls| *calls > 0), "all nodes take part: {calls:?}");
    }
}

/// All slots with channels of the first node move to the second, with their subscribers: none hangs, and no message
/// is taken for lost that was sent while nobody had subscribed.
fn slots_move_while_messages_are_sent(cluster: &Cluster) {
    cluster.reset_counts();
    let line = "--sharded --rps 1k --duration 600 --channels 12 --subscribers 24";
    let running = pubsub(cluster, line).start();
    let [from, to, other] = cluster.masters() else { unreachable!() };
    let sent = || from.calls("spublish") > 100 && to.calls("spublish") > 100;
    assert!(within(PATIENCE, sent), "load runs");
    let to_id = to.text(&["CLUSTER", "MYID"]);
    let channels = from.texts(&["PUBSUB", "SHARDCHANNELS"]);
    assert!(!channels.is_empty());
    for channel in channels {
        let slot = from.number(&["CLUSTER", "KEYSLOT", &channel]).to_string();
        for node in [to, from, other] {
            node.ask(&["CLUSTER", "SETSLOT", &slot, "NODE", &to_id]);
        }
    }
    let moved = to.calls("spublish");
    assert!(within(PATIENCE, || to.calls("spublish") > moved + 200), "and load goes on");
    running.interrupt();
    let test = test(running.wait().exits(130));
    let [received, away, doubled] =
        ["received", "missed_while_away", "doubled"].map(|n| count(&test, n));
    let [acknowledged, unanswered] =
        ["messages_acknowledged", "messages_unacknowledged"].map(|n| count(&test, n));
    let due = 2 * acknowledged..=2 * (acknowledged + unanswered);
    assert!(due.contains(&(received + away)), "{test}");
    assert_eq!(doubled, 0, "{test}");
    assert!(count(&test, "receivers_cut_off") > 0, "subscribers moved: {test}");
    assert!(received > acknowledged, "and went on: {test}");
}
