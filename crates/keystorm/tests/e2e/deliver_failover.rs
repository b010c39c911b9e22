//! `keystorm deliver` where a Sentinel promotes the replica while receivers wait.

use crate::deliver::{count, test};
use crate::deliver_moves::{adds_up, has_client};
use crate::program::{Keystorm, PATIENCE, Process, within};
use crate::sentinel::Sentinel;
use crate::server::Server;

/// The kinds, with the command of their senders, what their receivers call, and how many deliveries each message has.
const KINDS: [(&str, &str, &str, u64); 10] = [
    ("pubsub --channels 2 --subscribers 4", "publish", "subscribe", 2),
    ("pubsub --patterns --channels 1 --subscribers 3 -3", "publish", "psubscribe", 3),
    ("list --keys 2 --receivers 4", "lpush", "brpop", 1),
    ("list --pop blmove --receivers 2", "lpush", "blmove", 1),
    ("zset --receivers 3 -3", "zadd", "bzpopmin", 1),
    ("stream --receivers 2", "xadd", "xread", 2),
    ("stream --groups 2 --consumers 2", "xadd", "xreadgroup", 2),
    ("invalidate --caches 2", "eval", "client|tracking", 2),
    ("invalidate --tracking default --caches 2 --keys 20 --redirect", "xadd", "xrange", 2),
    ("notify --subscribers 3", "set", "subscribe", 3),
];

#[test]
fn receivers_of_every_kind_follow_a_failover() {
    let events = ["--notify-keyspace-events", "E$"];
    let mut primary = Server::redis_with(&events);
    let port = primary.port().to_string();
    let replica = Server::redis_with(&[&["--replicaof", "127.0.0.1", &port][..], &events].concat());
    let linked = || replica.text(&["INFO", "replication"]).contains("master_link_status:up");
    assert!(within(PATIENCE, linked));
    // On a busy machine a server may be silent for a while, and one that lost its primary long ago is not promoted.
    let sentinel = Sentinel::new(&primary, &replica, 2_000);
    let start = |line: &str| {
        let line = format!("deliver {line} -u {} --rps 100 --duration 600", sentinel.uri());
        Keystorm::new(&format!("{line} --drain 2 --json -")).start()
    };
    let running: Vec<Process> = KINDS.iter().map(|(line, ..)| start(line)).collect();
    let reads = start("replica");
    for (line, send, ..) in KINDS {
        assert!(within(PATIENCE, || primary.calls(send) > 50), "{line}: load runs");
    }
    assert!(within(PATIENCE, || has_client(&replica, "get")));
    primary.kill();
    let promoted = || replica.info_anew().is_some_and(|info| info.contains("role:master"));
    assert!(within(PATIENCE, promoted), "the sentinel promotes the replica");
    // It closes the connections of a server that it promotes.
    replica.reconnect();
    for (line, send, receive, _) in KINDS {
        let before = replica.calls(send);
        assert!(within(PATIENCE, || replica.calls(send) > before + 20), "{line}: senders go on");
        assert!(within(PATIENCE, || has_client(&replica, receive)), "{line}: receivers wait");
    }
    running.iter().chain([&reads]).for_each(Process::interrupt);
    for (running, (line, _, _, copies)) in running.into_iter().zip(KINDS) {
        let test = test(running.wait().exits(130));
        adds_up(&test, copies, line);
        assert!(count(&test, "receivers_cut_off") > 0, "{line}: {test}");
        // Half a second and more of it was after the failover.
        assert!(count(&test, "received") > 20 * copies, "{line}: {test}");
    }
    // What is read at the replica is what is written there then.
    let test = test(reads.wait().exits(130));
    adds_up(&test, 1, "replica");
    assert_eq!(test["deliveries"]["polls"]["receivers_behind"], 0, "{test}");
}
