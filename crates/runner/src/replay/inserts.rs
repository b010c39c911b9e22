//! Runs that insert keys and read the newest: nothing is read before its insert was answered, and no key is
//! left out, whatever fails.

use std::collections::BTreeMap;

use measure::Ending;
use workload::{
    ClusterOptions, CommandSpec, KeySpace, Mix, MixStep, OnError, Operation, Pick, PlanParts,
    StepCondition, Stop,
};

use super::cluster::masters;
use super::server::{Log, Server};
use super::{MS, SECOND, parts, replay, replay_on};

const RANGE: u64 = 100;

/// Four reads of the newest keys for each insert.
fn growing(connections: u32, depth: u32, stop: Stop) -> PlanParts {
    let operation = |name: &str, weight, dist: &str| Operation {
        name: name.into(),
        weight,
        steps: vec![MixStep { commands: 1, when: StepCondition::Always }],
        keys: Some(KeySpace::new(Some(RANGE), dist.parse().unwrap())),
    };
    PlanParts {
        sequence: vec![
            CommandSpec::parse(["GET", "k:__key__"]),
            CommandSpec::parse(["SET", "k:__key__", "v"]),
        ],
        mix: Some(Mix {
            operations: vec![operation("read", 4, "latest"), operation("insert", 1, "insert")],
            pick: Pick::Drawn,
        }),
        ..parts(connections, depth, stop)
    }
}

/// Every request in order: its time, whether it inserts, and its key.
fn seen(log: &Log) -> Vec<(u64, bool, u64)> {
    log.requests
        .iter()
        .map(|(ns, _, words)| (*ns, words[0] == "SET", words[1][2..].parse().unwrap()))
        .collect()
}

#[test]
fn the_newest_keys_are_read_most_and_none_before_it_is_there() {
    for (connections, depth, clustered) in
        [(1, 1, false), (9, 1, false), (3, 16, false), (6, 4, true)]
    {
        let mut plan = growing(connections, depth, Stop::Requests(5_000));
        let topology = clustered.then(|| masters(3));
        plan.target.cluster = clustered.then(ClusterOptions::default);
        let server = Server::taking(MS / 10);
        let (got, log) = replay_on(plan, server, topology.as_ref());
        assert_eq!((got.ending, got.total.requests()), (Ending::Complete, 5_000));
        let mut inserted = BTreeMap::new();
        let (mut reads, mut newest) = (0, 0);
        for (at_ns, inserts, key) in seen(&log) {
            if inserts {
                assert_eq!(inserted.insert(key, at_ns), None, "each key is inserted once");
                continue;
            }
            reads += 1;
            let there = RANGE + inserted.len() as u64;
            newest += u64::from(there - key <= 10 + u64::from(connections * depth));
            if let Some(since_ns) = inserted.get(&key) {
                assert!(at_ns >= since_ns + MS / 10, "{key} is read before its insert is answered");
            } else {
                assert!(key < RANGE, "{key} was never inserted");
            }
        }
        assert!(inserted.keys().copied().eq(RANGE..RANGE + inserted.len() as u64));
        assert!((900..1_100).contains(&inserted.len()), "{}", inserted.len());
        // Of 600 keys on average the ten newest have 40 % of Zipf's weight.
        assert!(newest * 100 > reads * 30, "{newest} of {reads} reads are of the newest");
    }
}

#[test]
fn a_key_whose_insert_failed_is_inserted_again_before_it_is_read() {
    fn failing_at_times(words: &[String], served: usize) -> Vec<u8> {
        match words[0].as_str() {
            "SET" if served.is_multiple_of(7) => b"-OOM no room\r\n".to_vec(),
            _ => b"+OK\r\n".to_vec(),
        }
    }
    let mut plan = growing(5, 2, Stop::AfterNs(3 * SECOND));
    (plan.recovery.reconnect, plan.recovery.on_error) = (true, OnError::Count);
    let server =
        Server::taking(MS).answering(failing_at_times).down(SECOND..2 * SECOND).delaying(MS / 2);
    let (got, log) = replay(plan, server);
    assert!(got.total.connections.lost > 0 && got.total.errors.total() > 10);
    let mut there = BTreeMap::new();
    let mut tried = BTreeMap::new();
    for (served, (at_ns, inserts, key)) in seen(&log).into_iter().enumerate() {
        if inserts {
            *tried.entry(key).or_insert(0) += 1;
            if served % 7 != 0 {
                there.insert(key, at_ns);
            }
        } else {
            assert!(key < RANGE || there.contains_key(&key), "{key} is read and not there");
        }
    }
    let newest = tried.last_key_value().map_or(0, |(key, _)| *key);
    assert!(tried.keys().copied().eq(RANGE..=newest), "no key is left out");
    assert!(tried.values().any(|times| *times > 1), "some are tried again");
    assert!(there.len() as u64 + 10 >= newest - RANGE, "and then they are there");
}
