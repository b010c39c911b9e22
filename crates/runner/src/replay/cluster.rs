//! The route to a cluster, which must do for each node what the route to one server does.

use std::net::SocketAddr;

use measure::Ending;
use wire::cluster::{Node, Role, Topology, slot_of};
use workload::{ClusterOptions, CommandSpec, OnError, Pace, PlanParts, Stop};

use super::server::Server;
use super::{MS, SECOND, parts, replay_on};

/// Masters with an equal share of the slots each.
pub(super) fn masters(count: u16) -> Topology {
    let bound = |n: u16| (16_384 * u32::from(n) / u32::from(count)) as u16;
    let nodes = (0..count).map(|n: u16| Node {
        id: String::new(),
        host: "127.0.0.1".into(),
        hostname: None,
        port: 7000 + n,
        address: Some(SocketAddr::from(([127, 0, 0, 1], 7000 + n))),
        role: Role::Master,
        slots: vec![bound(n)..=bound(n + 1) - 1],
    });
    Topology { nodes: nodes.collect() }
}

pub(super) fn on_cluster(connections: u32, depth: u32, stop: Stop) -> PlanParts {
    let mut parts = parts(connections, depth, stop);
    parts.target.cluster = Some(ClusterOptions::default());
    parts.data.keys.range = Some(100_000);
    parts
}

#[test]
fn every_request_is_sent_once_for_every_shape() {
    for (nodes, connections, depth) in [(1, 1, 1), (3, 1, 1), (3, 2, 4), (3, 50, 1), (5, 8, 16)] {
        let plan = on_cluster(connections, depth, Stop::Requests(2_000));
        let (got, log) = replay_on(plan, Server::taking(MS / 10), Some(&masters(nodes)));
        assert_eq!((got.ending, log.requests.len()), (Ending::Complete, 2_000));
        let by_node: u64 = got.nodes.iter().map(|node| node.ok).sum();
        assert_eq!((got.total.requests(), by_node), (2_000, 2_000));
    }
}

#[test]
fn lateness_is_recorded_of_every_request() {
    let mut plan = on_cluster(30, 1, Stop::AfterNs(4 * SECOND));
    plan.load.pace = Pace::constant(1000.0);
    let (got, log) = replay_on(plan, Server::taking(MS / 20), Some(&masters(3)));
    let lateness = got.total.lateness.unwrap();
    assert_eq!((lateness.total.count(), log.requests.len()), (4_000, 4_000));
    assert_eq!(lateness.total.max_ns(), Some(0), "every connection had room all the time");
}

#[test]
fn a_rate_beyond_the_server_is_late_by_the_servers_fault() {
    let mut plan = on_cluster(6, 1, Stop::AfterNs(4 * SECOND));
    plan.load.pace = Pace::constant(1_000_000_000.0);
    let (got, log) = replay_on(plan, Server::taking(5 * MS), Some(&masters(3)));
    // It takes 200 a second, and finishes what was under way at the end.
    assert!((800..=806).contains(&log.requests.len()), "{}", log.requests.len());
    let lateness = got.total.lateness.unwrap();
    assert_eq!(lateness.total.count(), log.requests.len() as u64);
    assert!(lateness.total.max_ns().unwrap() > 3 * SECOND, "{:?}", lateness.total.max_ns());
    let own_ns = lateness.own.max_ns().unwrap();
    assert!(own_ns <= MS, "no connection had room for it earlier: {own_ns}");
}

/// A due request that finds every slot taken waits for a reply, not for a time that has come.
#[test]
fn with_fewer_connections_than_nodes_a_schedule_sleeps_until_there_is_room() {
    let mut plan = on_cluster(1, 1, Stop::AfterNs(2 * SECOND));
    plan.load.pace = Pace::constant(1000.0);
    let (got, log) = replay_on(plan, Server::taking(5 * MS), Some(&masters(4)));
    assert_eq!((got.ending, log.requests.len()), (Ending::Complete, 400));
    assert_eq!(got.total.lateness.unwrap().due, 2000);
}

/// `MULTI` is asked for once at the node that imports the slot; its commands need no `ASKING`.
#[test]
fn a_transaction_follows_its_key_to_the_node_that_imports_it() {
    let mut plan = on_cluster(1, 1, Stop::Requests(30));
    plan.sequence = vec![
        CommandSpec::parse(["MULTI"]),
        CommandSpec::parse(["SET", "k", "v"]),
        CommandSpec::parse(["EXEC"]),
    ];
    plan.recovery.on_error = OnError::Stop;
    let server = Server::taking(MS / 10).answering(|words, before: usize| -> Vec<u8> {
        let reply: &[u8] = match (words[0].as_str(), before) {
            ("SET", 1) => b"-ASK 5 127.0.0.1:7000\r\n",
            ("EXEC", 2) => b"-EXECABORT Transaction discarded because of previous errors.\r\n",
            ("EXEC", _) => b"*1\r\n+OK\r\n",
            ("SET", _) => b"+QUEUED\r\n",
            _ => b"+OK\r\n",
        };
        reply.to_vec()
    });
    let (got, log) = replay_on(plan, server, Some(&masters(1)));
    assert_eq!((got.ending, got.total.requests()), (Ending::Complete, 30));
    let words: Vec<&str> = log.requests.iter().map(|(.., words)| words[0].as_str()).collect();
    assert_eq!(words[..7], ["MULTI", "SET", "EXEC", "ASKING", "MULTI", "SET", "EXEC"]);
    assert_eq!((words.len(), words.iter().filter(|w| **w == "ASKING").count()), (34, 1));
    assert_eq!(got.nodes[0].asked, 1);
}

/// A returning master that does not serve its slots yet, as after a restart.
#[test]
fn a_node_that_turns_requests_away_holds_up_no_other() {
    for per_s in [None, Some(1000.0)] {
        let mut plan = on_cluster(6, 1, Stop::AfterNs(4 * SECOND));
        plan.load.pace = per_s.map_or(plan.load.pace, Pace::constant);
        let server = Server::taking(MS / 5).answering(|words, before: usize| -> Vec<u8> {
            let is_down = slot_of(words[1].as_bytes()) >= 10_923 && before < 3000;
            let reply: &[u8] =
                if is_down { b"-CLUSTERDOWN The cluster is down\r\n" } else { b"+OK\r\n" };
            reply.to_vec()
        });
        let (got, _) = replay_on(plan, server, Some(&masters(3)));
        assert_eq!((got.ending, got.total.errors.total()), (Ending::Complete, 0));
        let ok: Vec<u64> = got.nodes.iter().map(|node| node.ok).collect();
        assert_eq!(ok.iter().sum::<u64>(), got.total.requests());
        assert!(got.nodes[2].retried > 100, "{:?}", got.nodes[2]);
        if per_s.is_some() {
            assert_eq!(got.total.requests(), 4000, "{ok:?}");
        }
        for node in &got.nodes[..2] {
            let longest_ns = node.response.max_ns().unwrap();
            assert!(longest_ns < 100 * MS, "{}: {longest_ns} ns, {ok:?}", node.name);
        }
    }
}

/// However many requests wait for a node that turns them away, the others get theirs at once, and so does that
/// node once it answers.
#[test]
fn many_requests_that_are_turned_away_hold_up_no_other_node() {
    type ReplyFn = fn(&[String], usize) -> Vec<u8>;
    fn answer(words: &[String], is_down: bool) -> Vec<u8> {
        let reply: &[u8] = if is_down && slot_of(words[1].as_bytes()) >= 10_923 {
            b"-CLUSTERDOWN Hash slot not served\r\n"
        } else {
            b"+OK\r\n"
        };
        reply.to_vec()
    }
    let stays_away: ReplyFn = |words, _| answer(words, true);
    let comes_back: ReplyFn = |words, before| answer(words, before < 40_000);
    for (answers, is_back) in [(stays_away, false), (comes_back, true)] {
        let mut plan = on_cluster(6, 1, Stop::AfterNs(4 * SECOND));
        plan.load.pace = Pace::constant(9000.0);
        plan.recovery.on_error = OnError::Count;
        let server = Server::taking(MS / 100).answering(answers);
        let (got, _) = replay_on(plan, server, Some(&masters(3)));
        assert_eq!((got.ending, got.total.errors.total()), (Ending::Complete, 0));
        for node in &got.nodes[..2] {
            let longest_ns = node.response.max_ns().unwrap();
            assert!(node.ok > 11_000 && longest_ns < 100 * MS, "{}: {longest_ns} ns", node.name);
        }
        let (waited, retried) = (got.total.connections.unanswered, got.nodes[2].retried);
        assert!(retried > 4096, "{retried}");
        if is_back {
            assert_eq!((waited, got.total.requests()), (0, 36_000), "{retried}")
        } else {
            assert!(waited > 4096, "{waited}")
        }
    }
}
