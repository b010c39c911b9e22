//! `keystorm deliver list`, `zset` and `stream` in a cluster: receivers wait at the node that has their key.

use crate::cluster::Cluster;
use crate::deliver::{all_came, count, test};
use crate::program::{Keystorm, PATIENCE, within};

fn deliver(cluster: &Cluster, line: &str) -> Keystorm {
    let (kind, options) = line.split_once(' ').unwrap_or((line, ""));
    let port = cluster.nodes[0].port();
    Keystorm::new(&format!("deliver {kind} -p {port} --cluster --json - {options}"))
}

/// Nodes have no key of the run left.
fn is_empty(cluster: &Cluster) -> bool {
    cluster.nodes.iter().all(|node| node.number(&["DBSIZE"]) == 0)
}

/// One test, since a cluster takes seconds to come up.
#[test]
fn queues_of_a_cluster_deliver_every_message_once() {
    let cluster = Cluster::new(3, 0, &[]);
    every_message_comes_once(&cluster);
    let all = deliver(&cluster, "list -n 10 --keys 4 --keys-per-receiver all").run().exits(2);
    all.says("must be 1 in a cluster, for each of --receivers");
    slots_move_while_receivers_wait(&cluster);
}

fn every_message_comes_once(cluster: &Cluster) {
    for (line, send, copies) in [
        ("list --receivers 24", "lpush", 1),
        ("list --pop blmove --receivers 24 -3", "lpush", 1),
        ("list --pop lpop --push rpush --poll 0.01 --receivers 12", "rpush", 1),
        ("list --pop blmpop --count 4 --receivers 12 --receiver-threads 2", "lpush", 1),
        ("zset --receivers 24 -P 4", "zadd", 1),
        ("stream --receivers 24", "xadd", 2),
        ("stream --groups 2 --consumers 12 --threads 2", "xadd", 2),
    ] {
        cluster.reset_counts();
        let line = format!("{line} -n 3000 --keys 12");
        let test = test(deliver(cluster, &line).run().ok());
        all_came(&test, 3_000 * copies, &line);
        let calls = cluster.calls(send);
        assert_eq!(calls.iter().sum::<u64>(), 3_012, "{line}, and a probe each: {calls:?}");
        assert!(calls.iter().all(|calls| *calls > 0), "all nodes take part: {calls:?}");
        assert!(is_empty(cluster), "{line}");
    }
}

/// All slots of the first node move to the second while receivers wait for what is in them.
fn slots_move_while_receivers_wait(cluster: &Cluster) {
    cluster.reset_counts();
    let line = "list --rps 500 --duration 600 --keys 12 --receivers 24";
    let running = deliver(cluster, line).start();
    let [from, to, other] = cluster.masters() else { unreachable!() };
    let sent = || from.calls("lpush") > 50 && to.calls("lpush") > 50;
    assert!(within(PATIENCE, sent), "load runs");
    let to_id = to.text(&["CLUSTER", "MYID"]);
    for slot in 0..16_384 / 3 {
        // A node gives no slot away that has a key.
        for node in [from, to, other] {
            let words = ["CLUSTER", "SETSLOT", &slot.to_string(), "NODE", &to_id];
            let moved = || !format!("{:?}", node.ask(&words)).contains("Error");
            assert!(within(PATIENCE, moved), "slot {slot} moves");
        }
    }
    let moved = to.calls("lpush");
    assert!(within(PATIENCE, || to.calls("lpush") > moved + 100), "and load goes on");
    running.interrupt();
    let test = test(running.wait().exits(130));
    let lost = count(&test, "lost");
    let acknowledged = count(&test, "messages_acknowledged");
    // Of those that were under way at the end, some were executed.
    let executed = acknowledged..=acknowledged + count(&test, "messages_unacknowledged");
    assert!(executed.contains(&(count(&test, "received") + lost)), "{test}");
    assert_eq!((count(&test, "doubled"), lost), (0, 0), "{test}");
    assert!(count(&test, "receivers_cut_off") > 0, "receivers moved: {test}");
    assert!(within(PATIENCE, || is_empty(cluster)), "its keys are removed");
}

#[test]
fn receivers_wait_at_the_replica_that_took_over() {
    let mut cluster = Cluster::new(3, 1, &["--cluster-node-timeout", "2000"]);
    cluster.reset_counts();
    let line = "list --rps 300 --duration 600 --keys 12 --receivers 24 --drain 1";
    let running = deliver(&cluster, line).start();
    assert!(within(PATIENCE, || cluster.nodes[0].calls("lpush") > 50), "load runs");
    cluster.nodes[0].kill();
    let serves = || {
        let replica = &cluster.nodes[3];
        let is_master = replica.info_anew().is_some_and(|info| info.contains("role:master"));
        is_master && replica.calls("brpop") > 50
    };
    assert!(within(PATIENCE, serves), "receivers wait at the replica");
    running.interrupt();
    let test = test(running.wait().exits(130));
    assert_eq!((count(&test, "doubled"), count(&test, "corrupt")), (0, 0), "{test}");
    assert!(count(&test, "receivers_cut_off") > 0, "{test}");
    let [sent, received] = ["messages_acknowledged", "received"].map(|name| count(&test, name));
    assert!(received > sent / 2, "{received} of {sent}");
    assert!(cluster.nodes[1..4].iter().all(|node| node.number(&["DBSIZE"]) == 0));
}
