//! `keystorm deliver` in a cluster that changes: slots move from node to node, to one that had none before, and a
//! replica takes over from its master. Every message is counted once, and nothing hangs.

use serde_json::Value;

use crate::cluster::Cluster;
use crate::deliver::{count, test};
use crate::moving_slots::migrate;
use crate::program::{Keystorm, PATIENCE, Process, within};
use crate::server::Server;

/// A kind with the command of its senders, what its receivers call, and how many deliveries each message has.
type Row = (&'static str, &'static str, &'static str, u64);

fn deliver(port: u16, line: &str) -> Keystorm {
    let (kind, options) = line.split_once(' ').unwrap_or((line, ""));
    Keystorm::new(&format!("deliver {kind} -p {port} --cluster --json - {options}"))
}

/// Deliveries that were counted in one way or another.
fn counted(test: &Value) -> u64 {
    let deliveries = &test["deliveries"];
    let of = |part: &str, name: &str| deliveries[part][name].as_u64().unwrap_or(0);
    let plain = ["received", "lost", "missed_while_away"].map(|name| count(test, name));
    let caches = ["covered_by_later_reads", "removed_unread"].map(|n| of("invalidations", n));
    plain.iter().chain(&caches).sum::<u64>() + of("polls", "overtaken")
}

/// Checks that each message has that many deliveries, whatever became of them; of a message without a reply nobody
/// knows whether it has any.
pub(crate) fn adds_up(test: &Value, copies: u64, line: &str) {
    let [acknowledged, unanswered] =
        ["messages_acknowledged", "messages_unacknowledged"].map(|name| count(test, name));
    let due = acknowledged * copies..=(acknowledged + unanswered) * copies;
    assert!(due.contains(&counted(test)), "{line}: {due:?}: {test}");
    assert_eq!(count(test, "corrupt"), 0, "{line}");
    assert!(count(test, "received") > 0, "{line}");
}

/// Checks that nothing was lost, either.
fn is_whole(test: &Value, copies: u64, line: &str) {
    adds_up(test, copies, line);
    let names = ["lost", "doubled", "out_of_order"];
    let counts = names.map(|name| count(test, name));
    assert_eq!(counts, [0; 3], "{line}: {}", test["deliveries"]);
    let behind = test["deliveries"]["polls"]["receivers_behind"].as_u64().unwrap_or(0);
    assert_eq!(behind, 0, "{line}");
}

/// The slots of all hash tags that are the first of three masters'.
fn slots_of_tags() -> impl Iterator<Item = u16> {
    let slots = (0..100).map(|tag| wire::cluster::slot_of(format!("{{{tag:012}}}").as_bytes()));
    slots.filter(|slot| *slot < 5_461)
}

#[test]
fn slots_move_from_node_to_node_and_each_message_is_counted_once() {
    let cluster = Cluster::new(3, 1, &[]);
    for (line, send, copies) in [
        ("notify --enable-events --subscribers 2 --ttl 0.1", "set", 2),
        ("invalidate --caches 3", "eval", 3),
        ("invalidate --caches 4 --prefixes 8 --prefixes-per-cache 4 --redirect", "eval", 2),
        ("invalidate --tracking default --caches 3 --keys 40", "xadd", 3),
        ("invalidate --tracking optin --caches 2 --keys 40 --redirect", "xadd", 2),
        ("replica --keys 12 --drain 60", "set", 1),
    ] {
        cluster.reset_counts();
        let port = cluster.nodes[0].port();
        let running = deliver(port, &format!("{line} --rps 500 --duration 600")).start();
        let [from, to, other] = cluster.masters() else { unreachable!() };
        let runs = || from.calls(send) > 50 && to.calls(send) > 50;
        assert!(within(PATIENCE, runs), "{line}: load runs");
        for (from, to) in [(from, to), (to, from)] {
            migrate((from, to), &[other], slots_of_tags());
            let before = to.calls(send);
            assert!(within(PATIENCE, || to.calls(send) > before + 50), "{line}: load goes on");
        }
        running.interrupt();
        is_whole(&test(running.wait().exits(130)), copies, line);
    }
}

/// Every kind, with few keys, so that nodes have none.
const FEW_KEYS: [Row; 11] = [
    ("pubsub --channels 1 --subscribers 2", "publish", "subscribe", 2),
    ("pubsub --sharded --channels 1 --subscribers 2", "spublish", "ssubscribe", 2),
    ("list --receivers 2", "lpush", "brpop", 1),
    ("list --pop blmove --receivers 2", "lpush", "blmove", 1),
    ("zset --receivers 2", "zadd", "bzpopmin", 1),
    ("stream --receivers 2", "xadd", "xread", 2),
    ("stream --groups 1 --consumers 2", "xadd", "xreadgroup", 1),
    ("invalidate --caches 2 --prefixes 1", "eval", "client|tracking", 2),
    ("invalidate --tracking default --caches 2 --keys 1", "xadd", "xrange", 2),
    ("notify --enable-events --subscribers 2", "set", "subscribe", 2),
    ("replica --keys 1", "set", "get", 1),
];

#[test]
fn a_node_without_a_key_or_a_slot_is_in_nobodys_way() {
    let cluster = Cluster::new(3, 1, &[]);
    // One that gives all its slots away would become a replica.
    let empty = cluster.join(&["--cluster-allow-replica-migration", "no"]);
    for (line, send, ..) in FEW_KEYS {
        cluster.reset_counts();
        for port in [empty.port(), cluster.nodes[1].port()] {
            let test = test(deliver(port, &format!("{line} -n 300")).run().ok());
            let copies = FEW_KEYS.iter().find(|row| row.0 == line).unwrap().3;
            is_whole(&test, copies, line);
            assert_eq!(count(&test, "messages_acknowledged"), 300, "{line}");
        }
        let by_masters = cluster.masters().iter().map(|master| master.calls(send));
        assert!(by_masters.sum::<u64>() >= 600, "{line}");
    }
    slots_move_to_a_node_without_any(&cluster, &empty);
}

/// All slots of the tags move, that of the one key among them.
fn slots_move_to_a_node_without_any(cluster: &Cluster, empty: &Server) {
    let [from, second, third] = cluster.masters() else { unreachable!() };
    for (line, send, copies) in [
        ("notify --enable-events --subscribers 2 --ttl 0.1", "set", 2),
        ("invalidate --caches 2", "eval", 2),
        ("invalidate --tracking default --caches 2 --keys 40 --redirect", "xadd", 2),
    ] {
        let port = cluster.nodes[0].port();
        let running = deliver(port, &format!("{line} --rps 300 --duration 600")).start();
        let sent = from.calls(send);
        assert!(within(PATIENCE, || from.calls(send) > sent + 50), "{line}: load runs");
        migrate((from, empty), &[second, third], slots_of_tags());
        let before = empty.calls(send);
        assert!(within(PATIENCE, || empty.calls(send) > before + 50), "{line}: load goes on");
        running.interrupt();
        is_whole(&test(running.wait().exits(130)), copies, line);
        migrate((empty, from), &[second, third], slots_of_tags());
    }
}

/// Kinds whose receivers wait while the primary is replaced. Keys are at all masters.
const WAITING: [Row; 9] = [
    ("pubsub --channels 3 --subscribers 6", "publish", "subscribe", 2),
    ("pubsub --sharded --channels 12 --subscribers 24", "spublish", "ssubscribe", 2),
    ("list --keys 12 --receivers 24", "lpush", "brpop", 1),
    ("zset --keys 12 --receivers 12", "zadd", "bzpopmin", 1),
    ("stream --keys 12 --groups 1 --consumers 12", "xadd", "xreadgroup", 1),
    ("invalidate --caches 2", "eval", "client|tracking", 2),
    ("invalidate --tracking default --caches 2 --keys 40", "xadd", "xrange", 2),
    ("notify --subscribers 3", "set", "subscribe", 3),
    ("replica --keys 12", "set", "get", 1),
];

/// Whether a client of the server had such a command as its last one.
pub(crate) fn has_client(server: &Server, command: &str) -> bool {
    let clients = server.text(&["CLIENT", "LIST"]);
    clients.lines().any(|client| client.contains(&format!(" cmd={command} ")))
}

/// Waits until a server has load and receivers of each of these runs.
fn serves(server: &Server, running: &[Process], rows: &[Row]) {
    let sent: Vec<u64> = rows.iter().map(|(_, send, ..)| server.calls(send)).collect();
    for ((running, (_, send, receive, _)), before) in running.iter().zip(rows).zip(sent) {
        running.until("senders go on", |_| server.calls(send) > before + 20);
        running.until("receivers wait there", |_| has_client(server, receive));
    }
}

/// Ends the runs, and checks that the counts of each add up.
fn end(running: Vec<Process>, rows: &[Row]) -> Vec<Value> {
    running.iter().for_each(Process::interrupt);
    let ended = running.into_iter().zip(rows).map(|(running, (line, _, _, copies))| {
        let test = test(running.wait().exits(130));
        adds_up(&test, *copies, line);
        test
    });
    ended.collect()
}

/// Whether INFO comes to have these words.
fn comes_to_say(server: &Server, words: &str) -> bool {
    within(PATIENCE, || server.info_anew().is_some_and(|info| info.contains(words)))
}

#[test]
fn receivers_of_every_kind_wait_at_the_replica_that_took_over() {
    let args = ["--cluster-node-timeout", "2000", "--notify-keyspace-events", "E$"];
    let mut cluster = Cluster::new(3, 1, &args);
    let start = |(line, ..): &Row| {
        let line = format!("{line} --rps 100 --duration 600 --drain 2");
        deliver(cluster.nodes[1].port(), &line).start()
    };
    let running: Vec<Process> = WAITING.iter().map(start).collect();
    serves(&cluster.nodes[0], &running[..8], &WAITING[..8]);
    running[8].until("replicas are read", |_| has_client(&cluster.nodes[3], "get"));
    // The replica takes over by agreement, and its master is a replica then.
    let (master, replica) = (0, 3);
    cluster.nodes[replica].ask(&["CLUSTER", "FAILOVER"]);
    assert!(comes_to_say(&cluster.nodes[replica], "role:master"));
    assert!(comes_to_say(&cluster.nodes[master], "role:slave"));
    // What is published to a replica reaches everybody, so publishers stay.
    serves(&cluster.nodes[replica], &running[2..], &WAITING[2..]);
    // Back, since the other one dies.
    assert!(comes_to_say(&cluster.nodes[master], "master_link_status:up"));
    cluster.nodes[replica].kill();
    assert!(comes_to_say(&cluster.nodes[master], "role:master"));
    serves(&cluster.nodes[master], &running[..8], &WAITING[..8]);
    let tests = end(running, &WAITING);
    for ((line, ..), test) in WAITING[2..8].iter().zip(&tests[2..8]) {
        assert!(count(test, "receivers_cut_off") > 0, "{line}: {test}");
    }
}
