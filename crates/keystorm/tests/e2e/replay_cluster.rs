//! `keystorm replay` on a cluster: every command goes to the node of its slot, whole transactions too, and what no node
//! can do is counted.

use std::path::Path;

use wire::cluster::slot_of;

use crate::cluster::{Cluster, row};
use crate::program::{Keystorm, PATIENCE, within};
use crate::server::Server;

/// Commands whose counts are compared.
const COMMANDS: [&str; 7] = ["set", "get", "incr", "multi", "exec", "hset", "mget"];

/// A file of lines as MONITOR prints them, so many microseconds apart: of a client, and a command with its words
/// between blanks.
fn lines(dir: &Path, each_us: usize, commands: &[(usize, String)]) -> String {
    let mut text = String::new();
    for (n, (client, command)) in commands.iter().enumerate() {
        let words: Vec<String> = command.split(' ').map(|word| format!("\"{word}\"")).collect();
        let us = n * each_us;
        let (s, us) = (1_700_000_000 + us / 1_000_000, us % 1_000_000);
        text += &format!("{s}.{us:06} [0 10.0.0.1:{client}] {}\n", words.join(" "));
    }
    let path = dir.join("monitor.txt");
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// Calls of each command, node by node.
fn counts(cluster: &Cluster) -> Vec<Vec<u64>> {
    COMMANDS.iter().map(|command| cluster.calls(command)).collect()
}

/// One test, since a cluster takes seconds to come up.
#[test]
fn a_record_is_sent_to_the_nodes_of_its_slots() {
    let cluster = Cluster::new(3, 0, &[]);
    what_a_cluster_did_is_done_again_node_by_node(&cluster);
    a_record_of_one_server_goes_where_it_can(&cluster);
    the_server_that_was_recorded_is_refused(&cluster);
    blocked_commands_hold_nobody_up(&cluster);
    slots_move_while_it_is_sent(&cluster);
}

fn what_a_cluster_did_is_done_again_node_by_node(cluster: &Cluster) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("cluster.ksr");
    let port = cluster.nodes[0].port();
    let line = format!("record --cluster -p {port} -o {}", file.display());
    let recording = Keystorm::new(&line).start();
    let listens = |node: &Server| node.text(&["CLIENT", "LIST"]).contains("cmd=monitor");
    assert!(within(PATIENCE, || cluster.nodes.iter().all(listens)));
    cluster.reset_counts();
    cluster
        .run("-n 900 -c 6 -r 1000 -q set key:__key__ x ';' get key:__key__ ';' hset h:__key__ f v")
        .ok();
    let transaction = "multi ';' set '{tag}a:__rand_1st__' v ';' incr '{tag}n' ';' exec";
    cluster.run(&format!("-n 400 -c 3 -r 1000 -q {transaction}")).ok();
    let recorded = counts(cluster);
    recording.interrupt();
    recording.wait().ok();
    cluster.reset();
    let ran = cluster.run_replay(&format!("{} --yes --speed 5", file.display()));
    assert_eq!(counts(cluster), recorded, "{}", ran.out);
    assert!(!ran.out.contains("  errors: "), "{}", ran.out);
}

fn a_record_of_one_server_goes_where_it_can(cluster: &Cluster) {
    let dir = tempfile::tempdir().unwrap();
    let mut commands: Vec<(usize, String)> = Vec::new();
    for n in 0..200 {
        commands.push((n % 4, format!("SET k:{n} v")));
        commands.push((n % 4, format!("GET k:{n}")));
    }
    for text in
        ["MGET k:1 k:2", "MGET {k}1 {k}2", "PING", "MULTI", "SET {k}1 v", "INCR {k}n", "EXEC"]
    {
        commands.push((9, text.to_owned()));
    }
    // No node has both keys, so no part of it is sent; nor of one that does not end.
    for text in ["MULTI", "SET k:1 v", "SET k:2 v", "EXEC", "MULTI", "SET k:3 v"] {
        commands.push((9, text.to_owned()));
    }
    let file = lines(dir.path(), 1000, &commands);
    cluster.reset();
    let ran = cluster.run_replay(&format!("{file} --threads 2"));
    let ran = ran.says("5 commands left out, which have keys of several slots");
    let ran = ran.says("2 commands left out, which are of a transaction that does not end");
    let of_node =
        |node: usize, key: &str| usize::from(slot_of(key.as_bytes())) * 3 / 16_384 == node;
    for (node, (sets, gets)) in cluster.calls("set").iter().zip(cluster.calls("get")).enumerate() {
        let own = (0..200).filter(|n| of_node(node, &format!("k:{n}"))).count() as u64;
        let one = u64::from(of_node(node, "k"));
        assert_eq!((*sets, gets), (own + one, own), "node {node}: {}", ran.out);
    }
    let all = |command: &str| cluster.calls(command).iter().sum::<u64>();
    assert_eq!(["mget", "multi", "exec", "ping"].map(all)[..3], [1, 1, 1]);
    assert!(!ran.out.contains("  errors: "), "{}", ran.out);
    // What is read is there.
    cluster.reset();
    cluster.run_replay(&format!("{file} --only get,mget --prefill --speed max"));
    let misses: u64 = cluster.nodes.iter().map(|node| node.info("keyspace_misses")).sum();
    assert_eq!(misses, 0);
}

fn the_server_that_was_recorded_is_refused(cluster: &Cluster) {
    let dir = tempfile::tempdir().unwrap();
    let file = lines(dir.path(), 1000, &[(1, "SET k v".to_owned())]);
    // Keys of another node than that which is named are seen, too.
    cluster.reset();
    assert_eq!(slot_of(b"k") / 5461, 1);
    cluster.nodes[1].ask(&["SET", "k", "v"]);
    let port = cluster.nodes[0].port();
    let line = format!("replay {file} --cluster -p {port}");
    Keystorm::new(&line).run().exits(2).says("holds 1 keys").says("--yes");
    let text = std::fs::read_to_string(&file).unwrap().replace("[0 ", "[3 ");
    std::fs::write(&file, text).unwrap();
    Keystorm::new(&format!("{line} --yes")).run().exits(2).says("--only-db 0");
}

fn blocked_commands_hold_nobody_up(cluster: &Cluster) {
    let dir = tempfile::tempdir().unwrap();
    let mut commands = vec![(1, "BLPOP queue 0".to_owned()), (2, "BLPOP nobody 0".to_owned())];
    commands.extend((0..3000).map(|n| (3, format!("INCR k:{n}"))));
    commands.push((3, "RPUSH queue x".to_owned()));
    commands.push((1, "SET done yes".to_owned()));
    let file = lines(dir.path(), 100, &commands);
    cluster.reset();
    let ran = cluster.run_replay(&file).says("2 commands may wait");
    let all = |command: &str| cluster.calls(command).iter().sum::<u64>();
    assert_eq!((all("incr"), all("set"), all("rpush")), (3000, 1, 1), "{}", ran.out);
    assert!(!ran.out.contains("  errors: "), "{}", ran.out);
}

fn slots_move_while_it_is_sent(cluster: &Cluster) {
    let dir = tempfile::tempdir().unwrap();
    let commands: Vec<(usize, String)> =
        (0..30_000).map(|n| (n % 7, format!("INCR k:{}", n % 5000))).collect();
    let file = lines(dir.path(), 100, &commands);
    cluster.reset();
    let port = cluster.nodes[0].port();
    let running = Keystorm::new(&format!("replay {file} --cluster -p {port} --yes")).start();
    crate::cluster::load_arrives(cluster);
    crate::moving_slots::move_slots(cluster, 0..150);
    let ran = running.wait().ok();
    let calls = cluster.calls("incr");
    assert_eq!(calls.iter().sum::<u64>(), 30_000, "{}", ran.out);
    let redirects: u64 = cluster.masters().iter().map(|node| row(&ran, node.port()).1).sum();
    assert!(redirects > 0, "{}", ran.out);
    assert!(!ran.out.contains("  errors: "), "{}", ran.out);
    let sum: i64 = (0..5000)
        .map(|n| {
            let key = format!("k:{n}");
            cluster
                .masters()
                .iter()
                .find_map(|node| node.ask(&["GET", &key]).text()?.parse::<i64>().ok())
                .unwrap()
        })
        .sum();
    assert_eq!(sum, 30_000);
}

impl Cluster {
    /// Replays this on it.
    fn run_replay(&self, line: &str) -> crate::program::RunOutput {
        let port = self.nodes[0].port();
        Keystorm::new(&format!("replay {line} --cluster -p {port}")).run().ok()
    }
}
