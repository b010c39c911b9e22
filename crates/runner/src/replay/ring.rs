//! The route to several servers that share out keys, and the promises of clients to their users.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use engine::{Address, ConnId};
use measure::{Ending, Measurement};
use wire::memcache::{Ring as Shares, Text};
use workload::{
    CommandSpec, Endpoint, KeyDist, KeySpace, Mix, MixStep, OnError, Operation, Pace, Pick,
    PlanParts, ProtocolKind, RingHash, StepCondition, Stop,
};

use super::server::{Log, Server};
use super::{MS, SECOND, parts, replay_by};
use crate::concrete::work;
use crate::route::RingRoute;
use crate::route::ring::{RingJob, RingServer};
use crate::worker::Worker;

const FIRST_PORT: u16 = 7000;

fn known_as(servers: u16) -> Vec<(String, u16)> {
    (0..servers).map(|n| ("127.0.0.1".to_owned(), FIRST_PORT + n)).collect()
}

/// A plan of these commands on this many servers.
pub(super) fn on_ring(
    servers: u16,
    lines: &[&str],
    connections: u32,
    depth: u32,
    stop: Stop,
) -> PlanParts {
    let mut parts = parts(connections, depth, stop);
    let servers =
        known_as(servers).into_iter().map(|(host, port)| Endpoint::Tcp { host, port }).collect();
    parts.target.endpoint = Endpoint::Ring { servers, hash: RingHash::Ketama };
    parts.protocol = ProtocolKind::MemcacheText;
    parts.sequence = lines.iter().map(|line| CommandSpec::parse(line.split(' '))).collect();
    parts.data.keys = KeySpace::new(Some(100_000), KeyDist::UNIFORM);
    parts
}

pub(super) fn replay(parts: PlanParts, server: Server) -> (Measurement, Log) {
    let count = parts.target.ring().unwrap().0.len() as u16;
    let servers = known_as(count).into_iter().map(|(host, port)| RingServer {
        known_as: (host, port),
        address: Address::Tcp(SocketAddr::from(([127, 0, 0, 1], port))),
    });
    let servers: Vec<RingServer> = servers.collect();
    replay_by(parts, server, |engine, context, recorder| {
        let job = RingJob { servers: &servers, hash: RingHash::Ketama };
        let route = RingRoute::new::<Text>(&context, job);
        work(Worker::<_, Text, _>::new(engine, context, recorder, route))
    })
}

/// Replies like a server that has half of the keys.
pub(super) fn half_there(words: &[String], _: usize) -> Vec<u8> {
    match words[0].as_str() {
        "get" => {
            let values = words[1..].iter().filter(|key| key.ends_with(['1', '3', '5', '7', '9']));
            let mut reply: String =
                values.map(|key| format!("VALUE {key} 0 3\r\nEND\r\n")).collect();
            reply += "END\r\n";
            reply.into_bytes()
        }
        "set" => b"STORED\r\n".to_vec(),
        _ => b"MN\r\n".to_vec(),
    }
}

/// The requested keys, with the connections that asked for them.
fn keys(log: &Log) -> Vec<(String, ConnId)> {
    let sent = log.requests.iter().flat_map(|(_, conn, words)| {
        let keys = match words[0].as_str() {
            "get" => &words[1..],
            "set" => &words[1..2],
            _ => &[],
        };
        keys.iter().map(|key| (key.clone(), *conn)).collect::<Vec<_>>()
    });
    sent.collect()
}

/// Checks that every connection leads to one server, and every key was requested from its own.
fn each_key_at_home(log: &Log, servers: u16) {
    let shares = Shares::new(&known_as(servers), RingHash::Ketama);
    let mut leads_to = BTreeMap::new();
    for (key, conn) in keys(log) {
        let server = shares.server(key.as_bytes());
        assert_eq!(*leads_to.entry(conn).or_insert(server), server, "{key}");
    }
    let used: BTreeSet<u16> = leads_to.into_values().collect();
    assert_eq!(used.len(), usize::from(servers), "{used:?}");
}

/// Returns the number of requests that were answered, lost or never answered.
fn all(got: &Measurement) -> u64 {
    let gone = &got.total.connections;
    got.total.requests() + gone.lost + gone.timed_out + gone.unanswered
}

#[test]
fn every_request_is_sent_once_to_the_server_of_its_key_for_every_shape() {
    for (servers, connections, depth) in [(2, 1, 1), (3, 2, 4), (4, 50, 1), (5, 8, 16)] {
        let lines = ["get k:__rand_int__", "set k:__rand_int__ 0 0 v", "mn"];
        let plan = on_ring(servers, &lines, connections, depth, Stop::Requests(2_001));
        let (got, log) = replay(plan, Server::taking(MS / 10).in_lines(half_there));
        assert_eq!((got.ending, log.requests.len()), (Ending::Complete, 2_001));
        let by_node: Vec<u64> = got.nodes.iter().map(|node| node.ok).collect();
        assert_eq!((got.total.requests(), by_node.iter().sum::<u64>()), (2_001, 2_001));
        assert!(by_node.iter().all(|ok| *ok > 100), "{by_node:?}");
        each_key_at_home(&log, servers);
    }
}

#[test]
fn a_get_of_keys_that_lie_apart_is_one_request_in_parts() {
    let line = format!("get{}", " k:__rand_int__".repeat(10));
    for (connections, depth, rate) in [(1, 1, None), (6, 3, None), (12, 1, Some(400.0))] {
        let mut plan = on_ring(3, &[&line], connections, depth, Stop::Requests(500));
        plan.load.pace = rate.map_or(Pace::Closed, Pace::constant);
        let (got, log) = replay(plan, Server::taking(MS / 10).in_lines(half_there));
        assert_eq!((got.ending, got.total.requests()), (Ending::Complete, 500));
        assert!((1_300..=1_500).contains(&log.requests.len()), "{}", log.requests.len());
        each_key_at_home(&log, 3);
        let sent = keys(&log);
        let there = sent.iter().filter(|(key, _)| key.ends_with(['1', '3', '5', '7', '9'])).count();
        let counts = got.total.keys();
        assert_eq!((counts.requests, counts.asked, sent.len()), (500, 5_000, 5_000));
        assert_eq!(counts.found, there as u64);
        if let Some(lateness) = got.total.lateness {
            assert_eq!(lateness.total.count(), 500, "a schedule is of requests, not of parts");
        }
    }
}

/// A split request takes as long as its slowest part, from the sending of the first.
#[test]
fn a_request_in_parts_takes_as_long_as_its_slowest_part() {
    let line = format!("get{}", " k:__rand_int__".repeat(20));
    let mut plan = on_ring(2, &[&line], 2, 1, Stop::Requests(20));
    plan.load.pace = Pace::constant(10.0);
    let slow = Server::taking(MS).in_lines(half_there).frozen(500 * MS..800 * MS).at_node(7001);
    let (got, _) = replay(plan, slow);
    assert_eq!(got.total.requests(), 20);
    let slowest_ns = got.total.service().max_ns().unwrap();
    assert!((290 * MS..310 * MS).contains(&slowest_ns), "{slowest_ns}");
    assert!(got.nodes[0].response.max_ns().unwrap() < 10 * MS, "the other part was quick");
}

#[test]
fn what_is_for_a_server_that_is_gone_is_lost_and_the_others_go_on() {
    let line = format!("get{}", " k:__rand_int__".repeat(4));
    for lines in [&["get k:__rand_int__"][..], &[&line]] {
        let mut plan = on_ring(4, lines, 8, 1, Stop::AfterNs(6 * SECOND));
        (plan.recovery.reconnect, plan.recovery.on_error) = (true, OnError::Count);
        let down = SECOND..3 * SECOND;
        let server = Server::taking(MS / 10).in_lines(half_there).at_node(7002).down(down.clone());
        let (got, log) = replay(plan, server);
        assert_eq!(got.ending, Ending::Complete);
        let within = |from_ns: u64, to_ns: u64| {
            log.requests.iter().filter(|(ns, ..)| (from_ns..to_ns).contains(ns)).count()
        };
        // The moment in which it is waited for, and the tries to come back, are short.
        let meanwhile = within(down.start + 200 * MS, down.end);
        assert!(meanwhile > 10_000, "the others went on: {meanwhile}");
        let [outage] = &got.outages[..] else { panic!("{:?}", got.outages) };
        assert_eq!(got.nodes[usize::from(outage.node)].name, "127.0.0.1:7002");
        assert!(outage.from_ns.abs_diff(down.start) < 50 * MS, "{outage:?}");
        assert!(outage.to_ns >= down.end && outage.to_ns < down.end + 1_300 * MS, "{outage:?}");
        let unanswered: Vec<u64> = got.nodes.iter().map(|node| node.unanswered).collect();
        assert!(unanswered[2] > 1_000, "{unanswered:?}");
        let lost = got.total.connections.lost + got.total.connections.unanswered;
        assert_eq!(unanswered.iter().sum::<u64>(), lost, "each is lost once");
        assert!(within(down.end + 1_300 * MS, 6 * SECOND) > 10_000, "all four are back");
    }
}

#[test]
fn a_run_of_so_many_requests_counts_each_once_whatever_is_lost() {
    let line = format!("get{}", " k:__rand_int__".repeat(6));
    for lines in [&["get k:__rand_int__"][..], &[&line], &[&line, "set k:__rand_int__ 0 0 v", "mn"]]
    {
        for down in [SECOND / 10..SECOND, SECOND / 10..600 * SECOND] {
            let mut plan = on_ring(3, lines, 6, 4, Stop::Requests(30_000));
            (plan.recovery.reconnect, plan.recovery.on_error) = (true, OnError::Count);
            let server = Server::taking(MS / 10).in_lines(half_there).at_node(7001).down(down);
            let (got, _) = replay(plan, server);
            assert_eq!((got.ending.clone(), all(&got)), (Ending::Complete, 30_000), "{lines:?}");
            assert!(got.total.connections.lost > 100);
        }
    }
}

#[test]
fn with_no_server_there_all_waits_as_for_one() {
    let mut plan = on_ring(2, &["get k:__rand_int__"], 4, 1, Stop::AfterNs(4 * SECOND));
    (plan.recovery.reconnect, plan.recovery.on_error) = (true, OnError::Count);
    let server = Server::taking(MS / 10).in_lines(half_there).down(SECOND..2 * SECOND);
    let (got, log) = replay(plan, server);
    assert_eq!(got.ending, Ending::Complete);
    let lost = got.total.connections.lost;
    assert!(lost <= 8, "only what was in flight: {lost}");
    let after = log.requests.iter().filter(|(ns, ..)| *ns > 3_300 * MS).count();
    assert!(after > 1_000, "{after}");
}

/// A run with a single key whose server is gone: requests are lost as they are drawn, and the worker has time for other
/// things.
#[test]
fn requests_that_are_all_lost_do_not_keep_a_worker_from_its_events() {
    let mut plan = on_ring(2, &["get k"], 4, 1, Stop::AfterNs(3 * SECOND));
    (plan.recovery.reconnect, plan.recovery.on_error) = (true, OnError::Count);
    let shares = Shares::new(&known_as(2), RingHash::Ketama);
    let port = FIRST_PORT + shares.server(b"k");
    let server = Server::taking(MS / 10).in_lines(half_there).at_node(port);
    let (got, log) = replay(plan, server.down(SECOND..2 * SECOND));
    assert_eq!(got.ending, Ending::Complete);
    let lost = got.total.connections.lost;
    assert!((100..200_000).contains(&lost), "{lost}");
    assert!(log.requests.iter().any(|(ns, ..)| *ns > 2 * SECOND), "it is back");
}

/// A miss is stored on the server of its key, and a step of several keys ends with its last part.
#[test]
fn steps_go_to_the_servers_of_their_keys() {
    let step = |commands, when| MixStep { commands, when };
    let lines =
        ["get k:__key__", "set k:__key__ 0 0 v", "get a:__key__ b:__key__", "mn", "set c 0 0 v"];
    for down in [None, Some(SECOND / 10..SECOND)] {
        let mut plan = on_ring(3, &lines, 6, 2, Stop::Requests(10_000));
        let operation = |name: &str, steps: &[MixStep]| Operation {
            name: name.into(),
            weight: 1,
            steps: steps.into(),
            keys: None,
        };
        plan.mix = Some(Mix {
            operations: vec![
                operation(
                    "aside",
                    &[step(1, StepCondition::Always), step(1, StepCondition::OnMiss)],
                ),
                operation(
                    "both",
                    &[step(2, StepCondition::Always), step(1, StepCondition::Always)],
                ),
            ],
            pick: Pick::InOrder,
        });
        (plan.recovery.reconnect, plan.recovery.on_error) = (true, OnError::Count);
        let server = Server::taking(MS / 20).in_lines(half_there).at_node(7001);
        let server = match down.clone() {
            Some(down) => server.down(down),
            None => server,
        };
        let (got, log) = replay(plan, server);
        assert_eq!(got.ending, Ending::Complete);
        let (total, ended) = (&got.total, got.total.operations_ended());
        if down.is_some() {
            assert!(ended < 10_000 && total.connections.lost > 100, "{ended}");
            continue;
        }
        each_key_at_home(&log, 3);
        assert_eq!(ended, 10_000);
        let [aside, both] = &total.operations[..] else { panic!() };
        let [get, set, pair, mn, after] = &total.commands[..] else { panic!() };
        assert_eq!((aside.missed, set.ok), (get.miss, get.miss), "every miss was stored");
        assert_eq!((pair.ok + pair.miss, mn.ok, after.ok), (5_000, 5_000, 5_000));
        assert_eq!((both.missed, both.ok), (pair.miss, pair.ok));
        assert_eq!(pair.keys.asked, 10_000);
    }
}

#[test]
fn the_last_server_to_go_is_out_to_the_end_as_the_others_are() {
    for pace in [Pace::Closed, Pace::constant(800.0)] {
        let mut plan = on_ring(2, &["get k:__rand_int__"], 4, 1, Stop::AfterNs(5 * SECOND));
        (plan.recovery.reconnect, plan.recovery.on_error, plan.load.pace) =
            (true, OnError::Count, pace);
        let server = Server::taking(MS / 10).in_lines(half_there).down(2 * SECOND..u64::MAX);
        let (got, _) = replay(plan, server);
        assert_eq!(got.outages.len(), 2, "{:?}", got.outages);
        assert!(
            got.outages.iter().all(|o| o.to_the_end && o.from_ns.abs_diff(2 * SECOND) < 50 * MS)
        );
        assert!(got.outages.iter().any(|o| o.of_all));
    }
}

/// A server of three dies at a rate: requests for it are lost, and no others.
#[test]
fn what_is_lost_at_a_rate_was_not_left_unsent_too() {
    let mut plan = on_ring(3, &["get k:__rand_int__"], 6, 1, Stop::AfterNs(4 * SECOND));
    (plan.recovery.reconnect, plan.recovery.on_error, plan.load.pace) =
        (true, OnError::Count, Pace::constant(1000.0));
    let server = Server::taking(MS / 10).in_lines(half_there).at_node(7001);
    let (got, _) = replay(plan, server.down(SECOND..u64::MAX));
    let lateness = got.total.lateness.clone().unwrap();
    let lost = got.total.connections.lost;
    assert!((700..=1300).contains(&lost) && lateness.given_up + 10 > lost, "{lost}");
    assert_eq!((all(&got), lateness.due), (4000, 4000));
    assert_eq!(lateness.total.count() + lateness.given_up, 4000, "none was never sent");
}
