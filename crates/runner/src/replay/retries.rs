//! Retries of failed requests: how often, when, and what their times measure.

use std::collections::BTreeMap;

use measure::{Ending, Measurement};
use wire::memcache::Text;
use workload::{
    Backoff, ClusterOptions, CommandSpec, KeyDist, KeySpace, Mix, MixStep, OnError, Operation,
    Pace, Pick, PlanParts, ProtocolKind, Recovery, Retry, StepCondition, Stop,
};

use super::cluster::masters;
use super::server::{Log, Server};
use super::{MS, SECOND, parts, replay, replay_by, replay_on};
use crate::concrete::work;
use crate::route::DirectRoute;
use crate::worker::Worker;

/// A plan of `SET`s that are retried at once, without end.
fn retrying(connections: u32, depth: u32, stop: Stop) -> PlanParts {
    let steps = vec![MixStep { commands: 1, when: StepCondition::Always }];
    let set = Operation { name: "SET".into(), weight: 1, steps, keys: None };
    PlanParts {
        mix: Some(Mix { operations: vec![set], pick: Pick::InOrder }),
        recovery: Recovery {
            on_error: OnError::Count,
            reconnect: true,
            retry: Some(Retry {
                most: None,
                backoff: Backoff { first_ns: 0, factor: 1.0, longest_ns: 60 * SECOND },
                jitter: 0.0,
                on: Vec::new(),
                waiting_max: 64,
            }),
            ..Recovery::default()
        },
        ..parts(connections, depth, stop)
    }
}

fn after(plan: &mut PlanParts, first_ns: u64, factor: f64, waiting_max: u32) {
    let retry = plan.recovery.retry.as_mut().unwrap();
    (retry.backoff.first_ns, retry.backoff.factor) = (first_ns, factor);
    retry.waiting_max = waiting_max;
}

/// Checks that everything that the server saw was a request or a retry.
fn adds_up(got: &Measurement, log: &Log) {
    let gone = &got.total.connections;
    let ended = got.total.requests() + gone.lost + gone.timed_out + gone.unanswered;
    assert_eq!(ended + gone.retries, log.requests.len() as u64, "{gone:?}");
}

fn one_in_ten_fails(_: &[String], n: usize) -> Vec<u8> {
    match n % 10 {
        0 => b"-LOADING the data\r\n".to_vec(),
        _ => b"+OK\r\n".to_vec(),
    }
}

#[test]
fn what_fails_is_sent_again_until_it_succeeds_and_counts_once() {
    for (connections, depth, clustered, wait_ns) in [
        (1, 1, false, 0),
        (4, 1, false, 3 * MS),
        (3, 16, false, 0),
        (3, 16, false, MS / 2),
        (6, 4, true, 0),
        (6, 4, true, 2 * MS),
    ] {
        let mut plan = retrying(connections, depth, Stop::Requests(1_000));
        after(&mut plan, wait_ns, 1.0, 64);
        plan.target.cluster = clustered.then(ClusterOptions::default);
        let topology = clustered.then(|| masters(3));
        let server = Server::taking(MS / 10).answering(one_in_ten_fails);
        let (got, log) = replay_on(plan, server, topology.as_ref());
        assert_eq!(got.ending, Ending::Complete);
        assert_eq!((got.total.requests(), got.total.errors.total()), (1_000, 0));
        let gone = &got.total.connections;
        assert_eq!(gone.retries, log.requests.len() as u64 - 1_000);
        assert!((100..=125).contains(&gone.retries) && gone.retried <= gone.retries, "{gone:?}");
        assert_eq!(got.total.operations.iter().map(|o| o.ok).sum::<u64>() % 1_000, 0);
    }
}

#[test]
fn the_latency_is_from_the_first_try_to_the_last_result() {
    let mut plan = retrying(1, 1, Stop::Requests(1));
    after(&mut plan, 10 * MS, 2.0, 64);
    let server = Server::taking(MS).answering(|_, n| match n {
        0 | 1 => b"-BUSY\r\n".to_vec(),
        _ => b"+OK\r\n".to_vec(),
    });
    let (got, log) = replay(plan, server);
    let times: Vec<u64> = log.requests.iter().map(|(ns, ..)| ns - log.requests[0].0).collect();
    assert_eq!(times, [0, 11 * MS, 32 * MS]);
    let words: Vec<_> = log.requests.iter().map(|(.., words)| words).collect();
    assert!(words.windows(2).all(|two| two[0] == two[1]), "{words:?}");
    let latency = got.total.commands[0].response();
    assert_eq!((latency.count(), latency.max_ns()), (1, Some(33 * MS)));
    assert_eq!((got.elapsed_ns, got.total.connections.retried), (33 * MS, 1));
}

#[test]
fn others_are_sent_meanwhile_until_too_many_wait() {
    for (waiting_max, others) in [(1, 0), (3, 2)] {
        let mut plan = retrying(1, 1, Stop::Requests(20));
        after(&mut plan, SECOND, 1.0, waiting_max);
        let server = Server::taking(MS).answering(|_, n| match n {
            0..=2 => b"-BUSY\r\n".to_vec(),
            _ => b"+OK\r\n".to_vec(),
        });
        let (got, log) = replay(plan, server);
        assert_eq!(got.total.requests(), 20);
        adds_up(&got, &log);
        let first_ns = log.requests[0].0;
        let soon = log.requests.iter().filter(|(ns, ..)| *ns < first_ns + SECOND).count();
        assert_eq!(soon, 1 + others, "{waiting_max}");
    }
}

#[test]
fn after_its_last_try_it_is_an_error() {
    let mut plan = retrying(2, 1, Stop::Requests(50));
    plan.recovery.retry.as_mut().unwrap().most = Some(2);
    let server = Server::taking(MS).answering(|_, _| b"-OOM no room\r\n".to_vec());
    let (got, log) = replay(plan.clone(), server);
    assert_eq!((got.total.requests(), got.total.errors.total()), (50, 50));
    assert_eq!((log.requests.len(), got.total.connections.retries), (150, 100));
    assert_eq!(got.total.connections.retried, 50);
    // What stays as it is is not tried again, nor what is not named.
    plan.recovery.retry.as_mut().unwrap().on = vec!["BUSY".into()];
    let server = Server::taking(MS).answering(|_, _| b"-OOM no room\r\n".to_vec());
    let (got, log) = replay(plan, server);
    assert_eq!((log.requests.len(), got.total.connections.retries), (50, 0));
}

#[test]
fn what_is_lost_with_its_connection_is_sent_again_when_that_is_back() {
    for (connections, depth, wait_ns) in [(1, 1, 0), (7, 4, 0), (7, 4, 20 * MS)] {
        let mut plan = retrying(connections, depth, Stop::Requests(5_000));
        after(&mut plan, wait_ns, 1.0, 64);
        let server = Server::taking(MS / 10).down(100 * MS..300 * MS).down(500 * MS..600 * MS);
        let (got, log) = replay(plan, server);
        assert_eq!(got.ending, Ending::Complete);
        let gone = &got.total.connections;
        assert_eq!((got.total.requests(), gone.lost), (5_000, 0));
        assert!(gone.dropped > 0 && gone.retries > 0, "{gone:?}");
        adds_up(&got, &log);
    }
}

#[test]
fn what_waits_for_a_server_that_stays_away_is_lost_at_the_end() {
    let plan = retrying(5, 2, Stop::AfterNs(2 * SECOND));
    let (got, log) = replay(plan, Server::taking(MS / 10).down(SECOND..100 * SECOND));
    assert_eq!(got.ending, Ending::Complete);
    let gone = &got.total.connections;
    assert!((1..=10).contains(&gone.lost), "{gone:?}");
    adds_up(&got, &log);
    assert!(got.elapsed_ns <= 2 * SECOND + 100 * MS, "{}", got.elapsed_ns);
}

#[test]
fn nothing_is_put_off_beyond_the_end() {
    let mut plan = retrying(1, 1, Stop::AfterNs(SECOND));
    after(&mut plan, 300 * MS, 1.0, 64);
    let server = Server::taking(MS).answering(|_, _| b"-BUSY\r\n".to_vec());
    let (got, log) = replay(plan, server);
    adds_up(&got, &log);
    let gone = &got.total.connections;
    assert_eq!((gone.lost, gone.unanswered), (0, 0));
    assert_eq!(got.total.errors.total(), got.total.requests());
}

#[test]
fn a_schedule_counts_each_request_once() {
    let mut plan = retrying(4, 1, Stop::AfterNs(10 * SECOND));
    plan.load.pace = Pace::constant(100.0);
    after(&mut plan, 5 * MS, 1.0, 64);
    let server = Server::taking(MS).answering(one_in_ten_fails);
    let (got, log) = replay(plan, server);
    let total = &got.total;
    assert_eq!((total.requests(), total.errors.total()), (1_000, 0));
    let lateness = total.lateness.as_ref().unwrap();
    assert_eq!((lateness.due, lateness.total.count()), (1_000, 1_000));
    adds_up(&got, &log);
    let latency = total.commands[0].response();
    assert!(latency.max_ns().unwrap() >= 7 * MS, "{:?}", latency.max_ns());
}

#[test]
fn a_connection_for_each_pipeline_waits_for_its_retry() {
    let mut plan = retrying(2, 1, Stop::Requests(200));
    plan.load.concurrency.keep_alive = false;
    after(&mut plan, 5 * MS, 1.0, 64);
    let (got, log) = replay(plan, Server::taking(MS).answering(one_in_ten_fails));
    assert_eq!((got.ending.clone(), got.total.requests()), (Ending::Complete, 200));
    adds_up(&got, &log);
}

/// Fills 50 keys of a memcached that answers like this; returns how often each was stored, too.
fn filled(answer: fn(&[String], usize) -> Vec<u8>) -> (Measurement, Log, BTreeMap<String, usize>) {
    let mut plan = parts(3, 1, Stop::Requests(1));
    plan.protocol = ProtocolKind::MemcacheText;
    plan.sequence = vec![CommandSpec::parse(["get", "k:__key__"])];
    plan.data.keys = KeySpace::new(Some(50), KeyDist::UNIFORM);
    plan.data.fill = Some(Vec::new());
    let fill = plan.filled_by().parts.remove(0);
    let server = Server::taking(MS / 10).in_lines(answer);
    let (got, log) = replay_by(fill, server, |engine, context, recorder| {
        let route = DirectRoute::new(&context, &[]);
        work(Worker::<_, Text, _>::new(engine, context, recorder, route))
    });
    let mut stores = BTreeMap::new();
    for (.., words) in &log.requests {
        assert_eq!(words[0], "set");
        *stores.entry(words[1].clone()).or_default() += 1;
    }
    (got, log, stores)
}

const NO_MEMORY_YET: &[u8] = b"SERVER_ERROR out of memory storing object\r\n";

#[test]
fn a_fill_stores_a_key_again_until_memcached_has_freed_memory() {
    let (got, log, stores) = filled(|_, n| match n {
        3..9 | 20..25 => NO_MEMORY_YET.to_vec(),
        _ => b"STORED\r\n".to_vec(),
    });
    assert_eq!(got.ending, Ending::Complete);
    assert_eq!((got.total.requests(), got.total.errors.total()), (50, 0));
    assert_eq!((stores.len(), log.requests.len()), (50, 50 + 11));
}

#[test]
fn a_fill_ends_if_memcached_never_frees_memory_and_at_once_after_other_errors() {
    let (got, log, stores) = filled(|_, _| NO_MEMORY_YET.to_vec());
    let Ending::Failed(failure) = got.ending else { panic!("{:?}", got.ending) };
    assert!(
        failure.text.contains("out of memory storing object (the server evicts nothing (-M), or")
    );
    assert_eq!(stores.values().max(), Some(&12));
    let took_ns = log.requests.last().unwrap().0 - log.requests[0].0;
    assert!((4 * SECOND..7 * SECOND).contains(&took_ns), "{took_ns}");
    let (got, _, stores) = filled(|_, _| b"SERVER_ERROR object too large for cache\r\n".to_vec());
    assert!(matches!(got.ending, Ending::Failed(_)));
    assert_eq!(stores.values().max(), Some(&1));
}
