//! Clients with a connection to every node of a cluster: each client's requests keep their order, and it has
//! its own sequence of keys.

use std::collections::{BTreeMap, BTreeSet};

use engine::ConnId;
use measure::Ending;
use workload::{
    BudgetScope, ClusterOptions, CommandSpec, DrawnBy, JoinSchedule, KeyDist, KeyNumbering,
    KeySpace, Mix, MixStep, OnError, Operation, Pace, Pick, PlanParts, StepCondition, Stop,
};

use super::cluster::masters;
use super::server::{Log, Server};
use super::{MS, SECOND, parts, replay_on};

const NODES: u16 = 3;

/// Each client writes a key and reads it, one key after another, all through the same ones.
fn write_and_read(clients: u32, depth: u32, stop: Stop) -> PlanParts {
    let keys = KeySpace {
        range: Some(1_000_000),
        draw: KeyDist::SEQUENTIAL,
        numbered: KeyNumbering { first: 0, bare: true, by: DrawnBy::Operation },
        one_slot: None,
    };
    let operation = |name: &str| Operation {
        name: name.into(),
        weight: 1,
        steps: vec![MixStep { commands: 1, when: StepCondition::Always }],
        keys: Some(keys.clone()),
    };
    let mut plan = PlanParts {
        sequence: vec![
            CommandSpec::parse(["SET", "k:__rand_int__", "v"]),
            CommandSpec::parse(["GET", "k:__rand_int__"]),
        ],
        mix: Some(Mix {
            operations: vec![operation("set"), operation("get")],
            pick: Pick::InOrder,
        }),
        ..parts(clients, depth, stop)
    };
    plan.load.share = BudgetScope::PerConnection;
    plan.target.cluster = Some(ClusterOptions { per_node: true, ..ClusterOptions::default() });
    plan
}

/// Returns the commands of each client on each of its connections, in order.
fn by_client(log: &Log) -> BTreeMap<u32, BTreeMap<ConnId, Vec<&[String]>>> {
    let mut sent: BTreeMap<u32, BTreeMap<ConnId, Vec<&[String]>>> = BTreeMap::new();
    for (_, conn, words) in &log.requests {
        let of = sent.entry(conn.0 / u32::from(NODES)).or_default();
        of.entry(*conn).or_default().push(words);
    }
    sent
}

/// Checks that no `GET` came before the `SET` of its key, or on another connection.
#[track_caller]
fn gets_follow_their_sets(log: &Log) {
    for connections in by_client(log).into_values() {
        for requests in connections.into_values() {
            let mut written = BTreeSet::new();
            for words in requests {
                match words[0].as_str() {
                    "SET" => assert!(written.insert(&words[1]), "{} is written twice", words[1]),
                    _ => assert!(written.contains(&words[1]), "{} is not there", words[1]),
                }
            }
        }
    }
}

#[test]
fn each_has_a_connection_to_every_node_and_sends_all_of_its_own() {
    for (clients, depth, requests) in [(1, 1, 10), (4, 1, 600), (5, 16, 333), (20, 3, 50)] {
        let plan = write_and_read(clients, depth, Stop::Requests(requests));
        let (got, log) = replay_on(plan, Server::taking(MS / 10), Some(&masters(NODES)));
        assert_eq!(got.ending, Ending::Complete);
        assert_eq!(log.connects, clients as usize * usize::from(NODES));
        assert_eq!(got.total.requests(), requests * u64::from(clients));
        let sent = by_client(&log);
        assert_eq!(sent.len(), clients as usize);
        for connections in sent.into_values() {
            let all: Vec<_> = connections.into_values().flatten().collect();
            assert_eq!(all.len() as u64, requests);
            let keys: BTreeSet<&String> = all.iter().map(|words| &words[1]).collect();
            assert_eq!(keys.len() as u64, requests.div_ceil(2), "the first keys, each twice");
        }
        gets_follow_their_sets(&log);
    }
}

/// A run by time: each goes through the keys by itself too, whatever the others do.
#[test]
fn by_time_each_has_a_sequence_of_its_own() {
    for depth in [1, 8] {
        let plan = write_and_read(6, depth, Stop::AfterNs(SECOND));
        let (got, log) = replay_on(plan, Server::taking(MS / 10), Some(&masters(NODES)));
        assert_eq!(got.ending, Ending::Complete);
        for connections in by_client(&log).into_values() {
            let sets = connections.into_values().flatten().filter(|words| words[0] == "SET");
            let numbers: BTreeSet<u64> = sets.map(|words| words[1][2..].parse().unwrap()).collect();
            let (count, most) = (numbers.len() as u64, *numbers.last().unwrap());
            // What waits for a node when the time is over is never sent.
            assert!(most + 1 - count < 200, "{count} keys up to {most}");
            assert!(count > 100, "{count}");
        }
        gets_follow_their_sets(&log);
    }
}

#[test]
fn a_node_that_lags_behind_holds_up_its_own_requests_and_no_order_changes() {
    let plan = write_and_read(4, 2, Stop::AfterNs(2 * SECOND));
    let server = Server::taking(MS / 20).frozen(300 * MS..800 * MS).at_node(7001);
    let (got, log) = replay_on(plan, server, Some(&masters(NODES)));
    assert_eq!(got.ending, Ending::Complete);
    let meanwhile = log.requests.iter().filter(|(ns, ..)| (400 * MS..700 * MS).contains(ns));
    assert!(meanwhile.count() > 1_000, "the other nodes go on");
    gets_follow_their_sets(&log);
}

/// The first requests of all connections leave at intervals of the rate, whichever client sends them.
#[test]
fn a_rate_is_shared_by_all_clients() {
    let mut plan = write_and_read(5, 1, Stop::AfterNs(4 * SECOND));
    plan.load.pace = Pace::constant(1_500.0);
    let (got, log) = replay_on(plan, Server::taking(MS / 20), Some(&masters(NODES)));
    let lateness = got.total.lateness.unwrap();
    assert_eq!((lateness.due, lateness.total.count(), log.requests.len()), (6_000, 6_000, 6_000));
    let each: Vec<usize> = by_client(&log)
        .into_values()
        .map(|connections| connections.values().map(Vec::len).sum())
        .collect();
    assert!(each.iter().all(|sent| (1_100..=1_300).contains(sent)), "{each:?}");
    gets_follow_their_sets(&log);
}

/// Clients that have sent their count take no part of what is due to others.
#[test]
fn a_rate_and_a_count_of_each_client_come_to_an_end() {
    let mut plan = write_and_read(3, 1, Stop::Requests(200));
    plan.load.pace = Pace::constant(1_000.0);
    let (got, log) = replay_on(plan, Server::taking(MS / 20), Some(&masters(NODES)));
    assert_eq!((got.ending, log.requests.len()), (Ending::Complete, 600));
    assert_eq!(got.total.lateness.unwrap().total.count(), 600);
}

#[test]
fn a_node_that_is_away_is_reached_again_by_every_client() {
    let mut plan = write_and_read(4, 2, Stop::AfterNs(3 * SECOND));
    (plan.recovery.reconnect, plan.recovery.on_error) = (true, OnError::Count);
    let server = Server::taking(MS / 20).down(SECOND..SECOND + 500 * MS).at_node(7002);
    let (got, log) = replay_on(plan, server, Some(&masters(NODES)));
    assert_eq!(got.ending, Ending::Complete);
    let lost = got.total.connections.lost;
    assert!((1..=8).contains(&lost), "{lost}");
    assert_eq!(log.requests.len() as u64, got.total.requests() + lost);
    let late = log.requests.iter().filter(|(ns, ..)| *ns > 2 * SECOND).map(|(_, conn, _)| *conn);
    assert_eq!(late.collect::<BTreeSet<_>>().len(), 12, "every connection carries load again");
}

/// Clients share one budget unless the plan gives each its own.
#[test]
fn one_budget_is_shared_out() {
    let mut plan = write_and_read(4, 2, Stop::Requests(1_000));
    plan.load.share = BudgetScope::OneBudget;
    let (got, log) = replay_on(plan, Server::taking(MS / 10), Some(&masters(NODES)));
    assert_eq!((got.ending, log.requests.len()), (Ending::Complete, 1_000));
}

/// All connections of a client are opened when it joins, and carry load from then on.
#[test]
fn clients_join_the_load_step_by_step() {
    for pace in [Pace::Closed, Pace::constant(3_000.0)] {
        let mut plan = write_and_read(6, 1, Stop::AfterNs(4 * SECOND));
        plan.load.pace = pace;
        plan.load.concurrency.joining = Some(JoinSchedule { first: 1, step: 2, every_ns: SECOND });
        let (got, log) = replay_on(plan, Server::taking(10 * MS), Some(&masters(NODES)));
        assert_eq!(got.ending, Ending::Complete);
        let mut seen: BTreeMap<u64, BTreeSet<ConnId>> = BTreeMap::new();
        for (at_ns, conn, _) in &log.requests {
            seen.entry(at_ns / SECOND).or_default().insert(*conn);
        }
        let of = |clients: u32| (0..clients * u32::from(NODES)).map(ConnId).collect();
        assert_eq!(seen.into_values().collect::<Vec<_>>(), [1, 3, 5, 6].map(of));
        assert_eq!(
            got.total.connections.connect.count(),
            18,
            "no connection is opened early or twice"
        );
        gets_follow_their_sets(&log);
    }
}

/// A client that joins later has its connections to the nodes that there are then.
#[test]
fn a_client_joins_with_a_connection_to_nodes_that_came_before_it() {
    let mut plan = write_and_read(4, 1, Stop::AfterNs(4 * SECOND));
    (plan.recovery.reconnect, plan.recovery.on_error) = (true, OnError::Count);
    plan.load.concurrency.joining = Some(JoinSchedule { first: 1, step: 1, every_ns: SECOND });
    let server = Server::taking(5 * MS).down(SECOND / 2..SECOND + 500 * MS).at_node(7001);
    let (got, log) = replay_on(plan, server, Some(&masters(NODES)));
    assert_eq!(got.ending, Ending::Complete);
    let late = log.requests.iter().filter(|(ns, ..)| *ns > 3 * SECOND + 500 * MS);
    let carrying: BTreeSet<ConnId> = late.map(|(_, conn, _)| *conn).collect();
    assert_eq!(carrying.len(), 12, "every connection carries load");
    let early = log.requests.iter().filter(|(ns, ..)| *ns < 2 * SECOND);
    assert!(early.clone().all(|(_, conn, _)| conn.0 < 6), "two clients are there");
}
