//! Clients that have a connection to every node of a cluster, in our words and memtier_benchmark's: what each
//! node has executed is asked of the node.

use crate::cluster::{Cluster, figure};
use crate::program::{Keystorm, PATIENCE, within};
use crate::real_clock::holds_when_quiet;

#[test]
fn each_client_of_a_cluster_stands_for_itself() {
    let cluster = Cluster::new(3, 1, &[]);
    memtier_s_clients_keep_their_order(&cluster);
    by_time_each_has_a_sequence_of_keys_of_its_own(&cluster);
    our_words_say_the_same(&cluster);
    clients_join_with_a_connection_to_every_node(&cluster);
    a_planned_failover_leaves_no_client_behind(&cluster);
}

fn memtier(cluster: &Cluster, line: &str) -> Keystorm {
    let port = cluster.masters()[0].port();
    Keystorm::new(&format!("memtier -p {port} --cluster-mode -t 2 -c 3 --test-time 1 {line}"))
}

/// A figure of all masters.
fn all(cluster: &Cluster, field: &str) -> u64 {
    cluster.masters().iter().map(|node| node.info(field)).sum()
}

fn keys(cluster: &Cluster) -> u64 {
    cluster.masters().iter().map(|node| node.number(&["DBSIZE"]) as u64).sum()
}

fn calls(cluster: &Cluster, command: &str) -> u64 {
    cluster.calls(command)[..3].iter().sum()
}

/// Connections that each master has accepted.
fn connections(cluster: &Cluster) -> Vec<u64> {
    cluster.masters().iter().map(|node| node.info("total_connections_received")).collect()
}

/// What a client has written is there when it reads it, on whichever node.
fn memtier_s_clients_keep_their_order(cluster: &Cluster) {
    cluster.reset();
    let before = connections(cluster);
    memtier(cluster, "--key-pattern P:P --ratio 1:1 --rate-limiting 200").run().ok();
    let opened = connections(cluster).into_iter().zip(before).map(|(now, then)| now - then);
    assert!(opened.clone().all(|opened| opened >= 6), "{:?}", opened.collect::<Vec<_>>());
    let (hits, misses) = (all(cluster, "keyspace_hits"), all(cluster, "keyspace_misses"));
    assert!(hits > 100 && misses == 0, "{hits} hits, {misses} misses");
    // 200 a second for each of six clients and three nodes, of which a busy machine may miss some.
    let sent = calls(cluster, "set") + calls(cluster, "get");
    assert!(sent <= 3_600, "{sent}");
    holds_when_quiet("each client keeps its rate at each node", sent >= 1_300, sent);
}

/// Far fewer keys than requests: all clients go through the same, however unevenly they run. Shared by all, each
/// request would have a key of its own.
fn by_time_each_has_a_sequence_of_keys_of_its_own(cluster: &Cluster) {
    cluster.reset();
    memtier(cluster, "--key-pattern S:S --ratio 1:0 --rate-limiting 100").run().ok();
    let (keys, sets) = (keys(cluster), calls(cluster, "set"));
    assert!(keys * 2 < sets, "{keys} keys of {sets} requests");
}

fn our_words_say_the_same(cluster: &Cluster) {
    let printed = memtier(cluster, "--rate-limiting 100 --as keystorm").run().ok();
    printed.prints(" --per-node ").prints(" --rps-per-node ");
    cluster.reset();
    let line = "--per-node --per-connection -c 5 -n 40 -r 1000 --set keys-by=connection";
    cluster.run(&format!("{line} set k:__key__ v")).ok().prints("  15 connections, ");
    assert_eq!(calls(cluster, "set"), 200);
    assert!(keys(cluster) <= 40, "each client has the same 40");
    cluster.run("--rps-per-node --rps 9 get k").exits(2).says("--per-node");
    let ran = cluster.run("--per-node --rfr all --rfr-connections 2:1 get k").exits(2);
    ran.says("leaves nothing to --rfr-connections");
}

/// The staircase, as each node sees it: two threads with one client each, then three, then five.
fn clients_join_with_a_connection_to_every_node(cluster: &Cluster) {
    cluster.reset();
    let port = cluster.masters()[0].port();
    let steps = "-t 2 -c 5 --clients-start 1 --clients-step 2 --step-duration 2 --test-time 600";
    let line = format!("memtier -p {port} --cluster-mode {steps} --rate-limiting 50");
    let running = Keystorm::new(&line).start();
    let carrying = || -> Vec<usize> {
        let of = |node: &crate::server::Server| {
            let list = node.text(&["CLIENT", "LIST", "TYPE", "normal"]);
            list.lines().filter(|line| line.contains("cmd=set") || line.contains("cmd=get")).count()
        };
        cluster.masters().iter().map(of).collect()
    };
    let mut seen = Vec::new();
    let all_there = || {
        let now = carrying();
        seen.push(now.clone());
        now == [10; 3]
    };
    assert!(within(PATIENCE, all_there), "{seen:?}");
    let step = |clients: usize| seen.contains(&vec![clients; 3]);
    assert!(step(2) && step(6), "each step is there on every node: {seen:?}");
    running.interrupt();
    let ran = running.wait().exits(0);
    let shown = |clients: u32| ran.err.contains(&format!(" 2 threads {clients:>2} conns"));
    assert!(shown(1) && shown(3) && shown(5), "{}", ran.err);
    ran.says("Client staircase pattern (per thread x 2 threads):");
    // A server lists a client that has hung up until it next looks.
    assert!(within(PATIENCE, || carrying() == [0; 3]), "{:?}", carrying());
    cluster.run("--set join=1+1/1s --duration 1 get k").exits(2).says("add --cluster --per-node");
}

/// Every client opens a connection to the node that takes another's place.
fn a_planned_failover_leaves_no_client_behind(cluster: &Cluster) {
    cluster.reset();
    let line = "--per-node --per-connection -c 4 -P 2 --duration 600 -r 10000 incr k:__rand_int__";
    let running = cluster.keystorm(line).start();
    let replica = &cluster.replicas()[0];
    assert!(within(PATIENCE, || calls(cluster, "incr") > 100), "load runs");
    replica.ask(&["CLUSTER", "FAILOVER"]);
    assert!(within(PATIENCE, || role(replica) == "master"), "the replica takes over");
    // As a replica it has executed what its primary replicated.
    let taken_over = replica.calls("incr");
    assert!(within(PATIENCE, || replica.calls("incr") > taken_over + 500), "it gets load");
    let clients = || {
        let list = replica.text(&["CLIENT", "LIST", "TYPE", "normal"]);
        list.lines().filter(|line| line.contains("cmd=incr")).count()
    };
    assert!(within(PATIENCE, || clients() == 4), "each client has a connection: {}", clients());
    running.interrupt();
    let ran = running.wait().exits(130);
    assert!(figure(&ran, "redirects: ") > 0, "{}", ran.out);
}

fn role(server: &crate::server::Server) -> String {
    let info = server.text(&["INFO", "replication"]);
    info.lines().find_map(|line| line.strip_prefix("role:")).unwrap_or_default().trim().to_owned()
}

/// A cluster's value size is reported as a single server's is, for every way to reach the nodes.
#[test]
fn the_size_of_values_of_a_cluster_is_that_of_those_that_came_back() {
    let cluster = Cluster::new(3, 0, &[]);
    cluster.run("-q -n 100 -r 100 --sequential -d 108 set k:__rand_int__ __data__").ok();
    for options in ["", "-3", "--per-node"] {
        let line = format!("{options} -n 300 -r 100 -d 10000 get k:__rand_int__");
        let ran = cluster.run(&line).ok().prints("values of 108 bytes");
        ran.prints("the values that were read have 108 bytes, not 10,000 bytes (-d)");
    }
    let ran = cluster.run("-n 300 -r 100 -d 108 get k:__rand_int__").ok();
    assert!(!ran.out.contains("were read have"), "{}", ran.out);
}
