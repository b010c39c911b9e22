//! Connections that each carry one request: latency from due through every stage, bursts, and failed
//! attempts.

use std::io::ErrorKind;

use engine::{Address, ConnId, Script, ScriptedEvent};
use measure::{Ending, Latency, Measurement};
use workload::{
    Arrivals, CommandSpec, ConnectionPerRequest, OnError, Pace, PlanParts, ReconnectLimits,
    Schedule, Stop,
};

use super::server::{Fault, Server};
use super::{MS, RunHandles, SECOND, parts, replay, replay_script};
use crate::concrete::work;
use crate::route::NewConnections;
use crate::worker::Worker;

/// A plan of new connections, at most this many at once.
fn connecting(connections: u32, stop: Stop, pace: Pace, hold_ns: Option<u64>) -> PlanParts {
    let mut plan = parts(connections, 1, stop);
    plan.sequence = vec![CommandSpec::parse(["PING"])];
    plan.load.pace = pace;
    plan.load.concurrency.per_request = Some(ConnectionPerRequest { hold_ns, reset: false });
    plan.recovery.reconnect = true;
    plan.recovery.on_error = OnError::Count;
    plan.recovery.timeout_ns = Some(3 * SECOND);
    plan.recovery.reopening = ReconnectLimits { within_ns: Some(3 * SECOND), tries: None };
    plan
}

fn burst(size: u32, rate_per_s: f64) -> Pace {
    let schedule = Schedule::constant(rate_per_s);
    Pace::Open(Schedule { arrivals: Arrivals::Bursts(size), ..schedule })
}

/// Accepts one connection after another, each after a fixed time, and answers at once.
struct Acceptor {
    accept_ns: u64,
    free_ns: u64,
    /// Fault of the Nth connection, if it has one.
    fault: fn(u64) -> Option<ErrorKind>,
    silent: fn(u64) -> bool,
    connects: u64,
}

impl Acceptor {
    fn new(accept_ns: u64) -> Self {
        Self { accept_ns, free_ns: 0, fault: |_| None, silent: |_| false, connects: 0 }
    }
}

impl Script for Acceptor {
    fn connected(
        &mut self,
        _conn: ConnId,
        _to: &Address,
        now_ns: u64,
    ) -> Vec<(u64, ScriptedEvent)> {
        let number = self.connects;
        self.connects += 1;
        if (self.silent)(number) {
            return vec![];
        }
        self.free_ns = self.free_ns.max(now_ns) + self.accept_ns;
        let answer = (self.fault)(number).map_or(ScriptedEvent::Accept, ScriptedEvent::Fail);
        vec![(self.free_ns, answer)]
    }

    fn received(&mut self, _conn: ConnId, _bytes: &[u8], now_ns: u64) -> Vec<(u64, ScriptedEvent)> {
        vec![(now_ns + MS, ScriptedEvent::Bytes(b"+PONG\r\n".to_vec()))]
    }
}

fn at_door(plan: PlanParts, door: Acceptor) -> Measurement {
    let run = |engine: engine::ScriptedEngine<Acceptor>,
               context: crate::worker::WorkerContext<'_>,
               recorder| {
        let route = NewConnections::new(&context, &[]);
        work(Worker::<_, wire::resp::Resp, _>::new(engine, context, recorder, route))
    };
    replay_script(plan, door, &RunHandles::default(), run, Vec::new)
}

fn ms(latency: &Latency, quantile: f64) -> u64 {
    (latency.quantile_ns(quantile).unwrap() + MS / 2) / MS
}

#[test]
fn each_request_has_a_connection_and_latency_counts_all_stages_from_due() {
    for (pace, connections) in [(Pace::Closed, 7), (Pace::constant(500.0), 1000)] {
        let plan = connecting(connections, Stop::Requests(100), pace, Some(0));
        let (got, log) = replay(plan, Server::taking(MS / 10).delaying(4 * MS));
        assert_eq!(got.ending, Ending::Complete);
        assert_eq!((log.connects, log.requests.len(), got.total.requests()), (100, 100, 100));
        let stages = got.total.connections.stages.as_deref().unwrap();
        assert_eq!((stages.connected.count(), stages.first_reply.count()), (100, 100));
        assert_eq!((stages.tls.count(), stages.login.count()), (0, 0));
        assert!((4..=5).contains(&ms(&got.total.response(), 0.5)));
    }
}

#[test]
fn a_burst_waits_at_the_door_and_those_behind_are_late_from_due() {
    // 200 at once, one accepted each 10 ms: the last waits for two seconds, though places are few.
    for connections in [200, 20] {
        let plan = connecting(connections, Stop::Requests(200), burst(200, 200.0), Some(0));
        let got = at_door(plan, Acceptor::new(10 * MS));
        assert_eq!((got.ending.clone(), got.total.requests()), (Ending::Complete, 200));
        let response = got.total.response();
        assert_eq!(got.total.errors.by_kind(), []);
        let (least, greatest) = (ms(&response, 0.0), ms(&response, 1.0));
        assert!((2000..2015).contains(&greatest), "{connections}: {least} to {greatest}");
        assert!((1000..1020).contains(&ms(&response, 0.5)), "{}", ms(&response, 0.5));
        let connected = &got.total.connections.stages.as_deref().unwrap().connected;
        let longest = ms(connected, 1.0);
        assert!(longest.abs_diff(u64::from(connections) * 10) < 15, "{longest}");
    }
}

#[test]
fn attempts_that_fail_are_counted_by_kind_and_each_once() {
    let door = Acceptor {
        fault: |number| match number % 10 {
            3 => Some(ErrorKind::ConnectionRefused),
            7 => Some(ErrorKind::ConnectionReset),
            _ => None,
        },
        silent: |number| number % 10 == 9,
        ..Acceptor::new(0)
    };
    let got = at_door(connecting(1000, Stop::Requests(100), Pace::constant(100.0), Some(0)), door);
    assert_eq!(got.ending, Ending::Complete);
    let mut kinds = got.total.errors.by_kind().to_vec();
    kinds.sort();
    let counted = |kind: &str| (kind.to_owned(), 10);
    assert_eq!(kinds, [counted("connection-refused"), counted("connection-reset")]);
    let connections = &got.total.connections;
    assert_eq!((connections.timed_out, connections.unanswered), (10, 0));
    assert_eq!(got.total.commands[0].ok, 70);
    assert_eq!(connections.not_reopened.len(), 0);
}

#[test]
fn a_full_server_refuses_those_beyond_its_limit() {
    let plan = connecting(100, Stop::Requests(80), Pace::constant(100.0), None);
    let (got, log) = replay(plan, Server::taking(MS / 10).failing(Fault::FullUntil(20)));
    assert_eq!((got.ending, log.connects), (Ending::Complete, 80));
    let refused = got.total.errors.by_kind().iter().find(|(kind, _)| kind == "ERR").unwrap().1;
    assert_eq!(refused, 20, "{:?}", got.total.errors.by_kind());
}

#[test]
fn connections_are_held_for_as_long_as_the_plan_says() {
    for (hold_ns, places, sent) in
        [(Some(0), 5, 100), (Some(SECOND), 10, 20), (Some(SECOND), 200, 100), (None, 30, 30)]
    {
        let stop = Stop::AfterNs(2 * SECOND);
        let plan = connecting(places, stop, Pace::constant(50.0), hold_ns);
        let (got, log) = replay(plan, Server::taking(MS / 100));
        assert_eq!(got.ending, Ending::Complete);
        assert_eq!(log.connects, sent, "{hold_ns:?} {places}");
        assert_eq!(got.total.requests(), sent as u64);
        let lateness = got.total.lateness.as_ref().unwrap();
        assert_eq!(lateness.due, 100, "what found no place was due all the same");
    }
}

#[test]
fn a_login_is_a_stage_of_its_own() {
    let mut plan = connecting(50, Stop::Requests(50), Pace::constant(100.0), Some(0));
    plan.protocol = workload::ProtocolKind::Resp3;
    let (got, log) = replay(plan, Server::taking(MS));
    let words = |at: usize| log.requests[at].2[0].clone();
    assert_eq!((words(0).as_str(), words(1).as_str()), ("HELLO", "PING"));
    let stages = got.total.connections.stages.as_deref().unwrap();
    assert_eq!((stages.login.count(), ms(&stages.login, 0.5)), (50, 1));
    assert_eq!((log.requests.len(), got.total.requests()), (100, 50));
}

#[test]
fn warm_up_is_in_no_stage() {
    let stop = Stop::AfterNs(SECOND);
    let mut plan = connecting(50, stop, Pace::constant(100.0), Some(0));
    plan.load.warmup_ns = SECOND;
    let (got, log) = replay(plan, Server::taking(MS));
    let stages = got.total.connections.stages.as_deref().unwrap();
    assert_eq!((log.connects, stages.connected.count(), got.total.requests()), (200, 100, 100));
}
