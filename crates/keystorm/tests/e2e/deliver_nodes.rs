//! `keystorm deliver notify`, `invalidate` and `replica` in a cluster, where each node tells, or copies, only what its
//! own keys do: a receiver is at each of them, and every message is counted once.

use crate::cluster::Cluster;
use crate::deliver::{count, is_exact, test};
use crate::invalidate::adds_up;
use crate::notify::events;
use crate::program::{Keystorm, PATIENCE, within};
use crate::server::Server;

fn deliver(cluster: &Cluster, line: &str) -> Keystorm {
    let (kind, options) = line.split_once(' ').unwrap_or((line, ""));
    let port = cluster.nodes[0].port();
    Keystorm::new(&format!("deliver {kind} -p {port} --cluster --json - {options}"))
}

/// Calls of a command at each master: replicas execute what these have written.
fn of_masters(cluster: &Cluster, command: &str) -> Vec<u64> {
    cluster.masters().iter().map(|master| master.calls(command)).collect()
}

/// One test, since a cluster takes seconds to come up.
#[test]
fn each_node_of_a_cluster_tells_what_its_keys_do() {
    let cluster = Cluster::new(3, 1, &[]);
    events_of_all_nodes_arrive(&cluster);
    caches_hold_keys_of_all_nodes(&cluster);
    writes_are_read_at_the_replicas_of_their_shards(&cluster);
    writers_wait_for_the_replicas_of_their_shards(&cluster);
    replicas_are_read_where_the_line_says(&cluster);
    let refused = deliver(&cluster, "notify -n 10").run().exits(1);
    refused.says("does not publish the event set");
}

fn events_of_all_nodes_arrive(cluster: &Cluster) {
    for (line, command, subscribers) in [
        ("--subscribers 1", "set", 1),
        ("--subscribers 3 -3", "set", 3),
        ("--subscribers 2 --event del", "eval", 2),
        ("--subscribers 2 --event expired --ttl 50ms", "set", 2),
        ("--subscribers 4 --receiver-threads 2 --threads 2 --writers 20", "set", 4),
    ] {
        cluster.reset_counts();
        let line = format!("notify -n 2000 --enable-events {line}");
        let test = test(deliver(cluster, &line).run().ok());
        is_exact(&test, 2_000 * subscribers, &line);
        assert_eq!(count(&test, "received"), 2_000 * subscribers, "{line}");
        let calls = of_masters(cluster, command);
        assert_eq!(calls.iter().sum::<u64>(), 2_100, "{line}, and a probe for each tag: {calls:?}");
        assert!(calls.iter().all(|calls| *calls > 100), "all nodes take part: {calls:?}");
        let subscribed = of_masters(cluster, "subscribe");
        assert_eq!(subscribed, [subscribers; 3], "{line}: each subscriber is at each master");
        for master in cluster.masters() {
            assert_eq!(events(master), "", "{line}: the setting is as it was");
        }
    }
}

fn caches_hold_keys_of_all_nodes(cluster: &Cluster) {
    for (line, copies) in [
        ("--caches 3", 3),
        ("--caches 3 --redirect", 3),
        ("--caches 4 --receiver-threads 2 --threads 2 -P 8", 4),
        // Each write goes to one prefix of eight, and each cache has four of them.
        ("--caches 4 --prefixes 8 --prefixes-per-cache 4", 2),
        ("--caches 3 --tracking default --keys 30", 3),
        ("--caches 3 --tracking optin --keys 30 --redirect", 3),
        ("--caches 3 --tracking optout --keys 30 --noloop --receiver-threads 2", 3),
    ] {
        cluster.reset_counts();
        let line = format!("invalidate -n 2000 {line}");
        let test = test(deliver(cluster, &line).run().ok());
        adds_up(&test, 2_000 * copies, &line);
        let tracking = of_masters(cluster, "client|tracking");
        assert!(tracking.iter().all(|calls| *calls > 0), "{line}: at each master: {tracking:?}");
        // Those of the tests before expire.
        let is_empty = |master: &Server| master.number(&["DBSIZE"]) == 0;
        let are_empty = || cluster.masters().iter().all(is_empty);
        assert!(within(PATIENCE, are_empty), "{line}: no key stays behind");
    }
}

fn writes_are_read_at_the_replicas_of_their_shards(cluster: &Cluster) {
    for line in ["--keys 12", "--keys 12 --writers 5 -3 --receiver-threads 2 --threads 2"] {
        cluster.reset_counts();
        let line = format!("replica -n 600 {line}");
        let test = test(deliver(cluster, &line).run().ok());
        is_exact(&test, 600, &line);
        let polls = &test["deliveries"]["polls"];
        let overtaken = polls["overtaken"].as_u64().unwrap();
        assert_eq!(count(&test, "received") + overtaken, 600, "{line}: {polls}");
        assert_eq!(polls["receivers_behind"], 0, "{line}");
        for replica in cluster.replicas() {
            assert!(replica.calls("get") > 0, "{line}: each replica is read");
            assert!(replica.calls("readonly") > 0, "{line}");
        }
    }
}

fn writers_wait_for_the_replicas_of_their_shards(cluster: &Cluster) {
    for line in ["--keys 12 --writers 4", "--keys 12 --writers 5 --rps 500 -3 --threads 2"] {
        cluster.reset_counts();
        let line = format!("replica -n 300 --wait 1 {line}");
        let test = test(deliver(cluster, &line).run().ok());
        is_exact(&test, 300, &line);
        let waits = &test["deliveries"]["sending"]["commands"][1];
        assert_eq!((&waits["ok"], &waits["errors"]), (&300.into(), &0.into()), "{line}: {waits}");
        let (sets, waits) = (of_masters(cluster, "set"), of_masters(cluster, "wait"));
        assert_eq!(waits.iter().sum::<u64>(), 300, "{line}");
        // Each waits where it wrote; there is a probe for each key beside.
        assert!(sets.iter().zip(&waits).all(|(set, wait)| set > wait), "{sets:?} {waits:?}");
        assert_eq!(sets.iter().sum::<u64>(), 312, "{line}");
    }
    // No shard has so many.
    let few = deliver(cluster, "replica -n 20 --wait 2 --wait-timeout 0.01").run().ok();
    let waits = &test(few)["deliveries"]["sending"]["commands"][1];
    assert_eq!((&waits["ok"], &waits["miss"]), (&0.into(), &20.into()), "{waits}");
}

fn replicas_are_read_where_the_line_says(cluster: &Cluster) {
    cluster.reset_counts();
    let replicas = cluster.replicas().iter().map(|replica| replica.port());
    let at: Vec<String> = replicas.map(|port| format!("--at localhost:{port}")).collect();
    let line = format!("replica -n 300 --keys 12 {}", at.join(" "));
    is_exact(&test(deliver(cluster, &line).run().ok()), 300, &line);
    assert!(cluster.replicas().iter().all(|replica| replica.calls("get") > 0), "each is read");
    let one = format!("replica -n 10 --keys 12 {}", at[0]);
    deliver(cluster, &one).run().exits(1).says("no address is that of a replica of");
    let other = Server::redis();
    let line = format!("replica -n 10 {} --at localhost:{}", at[0], other.port());
    deliver(cluster, &line).run().exits(1).says(&format!("--at localhost:{}", other.port()));
}
