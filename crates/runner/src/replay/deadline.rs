//! Deadlines: requests given up, late answers, and proof that nothing is sent after its deadline.

use measure::{Ending, Measurement};
use workload::{
    Arrivals, Backoff, BudgetScope, ClusterOptions, CommandSpec, ConnectionPerRequest, Mix,
    MixStep, OnError, Operation, Pace, Pick, PlanParts, Retry, Schedule, Stage, StepCondition,
    Stop, Window,
};

use super::cluster::masters;
use super::ring::{half_there, on_ring};
use super::server::{Log, Server};
use super::{MS, SECOND, parts, replay, replay_on, ring};

const DEADLINE_NS: u64 = 50 * MS;

/// Sets a rate of 1,000 requests a second.
fn timely(mut parts: PlanParts) -> PlanParts {
    parts.load.pace = Pace::constant(1000.0);
    parts.load.concurrency.window = Window::Rolling;
    parts.recovery.deadline_ns = Some(DEADLINE_NS);
    (parts.recovery.reconnect, parts.recovery.on_error) = (true, OnError::Count);
    parts
}

/// Checks that every request of the schedule ended and none was sent late. Returns the number given up.
fn holds(got: &Measurement) -> u64 {
    let (total, gone) = (&got.total, &got.total.connections);
    let (lateness, deadline) = (total.lateness.as_ref().unwrap(), total.deadline.unwrap());
    assert!(lateness.total.max_ns().unwrap_or_default() <= DEADLINE_NS, "sent after its deadline");
    let ended = total.requests() + gone.lost + gone.timed_out + gone.unanswered;
    assert_eq!(lateness.total.count() + lateness.given_up, ended, "sent or given up");
    assert_eq!(deadline.given_up, gone.timed_out);
    let response = total.response();
    let in_time = response.recorded().filter(|(ns, _)| *ns <= DEADLINE_NS + DEADLINE_NS / 1000);
    let in_time: u64 = in_time.map(|(_, n)| n).sum();
    assert_eq!(total.in_time(), Some(in_time), "{deadline:?}");
    deadline.given_up
}

#[test]
fn what_waits_while_a_server_stands_still_is_given_up_and_what_was_sent_comes_late() {
    for (connections, depth) in [(1, 1), (3, 1), (2, 16)] {
        let plan = timely(parts(connections, depth, Stop::AfterNs(3 * SECOND)));
        let frozen = Server::taking(MS / 10).frozen(SECOND..2 * SECOND);
        let (got, log) = replay(plan, frozen);
        let given_up = holds(&got);
        assert_eq!(got.ending, Ending::Complete);
        // Those due in the last moments of the standstill are still in time, and some were sent into it.
        let expected = 950 - u64::from(connections * depth);
        assert!(given_up.abs_diff(expected) <= 2, "{given_up}, not {expected}");
        assert_eq!(log.requests.len() as u64 + given_up, 3_000);
        let late = got.total.deadline.unwrap().late;
        // What was sent into the standstill, and what was sent last before it was over.
        let sent = u64::from(connections * depth);
        assert!((sent..=2 * sent + 1).contains(&late), "{late} of {sent}");
        let point = |index: usize| &got.timeline.points[index];
        assert_eq!((point(0).in_time, point(0).requests), (Some(250), 250));
    }
}

#[test]
fn without_a_deadline_all_of_it_is_sent() {
    let plan = timely(parts(1, 1, Stop::AfterNs(3 * SECOND)));
    let plan = PlanParts {
        recovery: workload::Recovery { deadline_ns: None, ..plan.recovery.clone() },
        ..plan
    };
    let (got, log) = replay(plan, Server::taking(MS / 10).frozen(SECOND..2 * SECOND));
    assert_eq!((log.requests.len(), got.total.deadline), (3_000, None));
    assert_eq!(got.total.in_time(), None);
}

#[test]
fn a_server_that_is_gone_ends_a_run_of_so_many_requests_with_its_schedule() {
    for share in [BudgetScope::OneBudget, BudgetScope::PerConnection] {
        let requests = if share == BudgetScope::OneBudget { 3_000 } else { 750 };
        let mut plan = timely(parts(4, 1, Stop::Requests(requests)));
        plan.load.share = share;
        let (got, log) = replay(plan, Server::taking(MS / 10).down(SECOND..u64::MAX));
        let given_up = holds(&got);
        assert_eq!(got.ending, Ending::Complete);
        let gone = &got.total.connections;
        assert_eq!(log.requests.len() as u64 + given_up, 3_000, "{gone:?}");
        assert!(given_up >= 1_990, "{given_up}");
        assert!((3 * SECOND..3 * SECOND + 2 * DEADLINE_NS).contains(&got.elapsed_ns));
    }
}

#[test]
fn what_waits_for_a_node_is_given_up_and_the_others_get_theirs() {
    let mut plan = timely(parts(12, 1, Stop::AfterNs(3 * SECOND)));
    plan.target.cluster = Some(ClusterOptions::default());
    plan.data.keys.range = Some(100_000);
    let server = || Server::taking(MS / 10).at_node(7001);
    for server in [server().frozen(SECOND..2 * SECOND), server().down(SECOND..u64::MAX)] {
        let (got, _) = replay_on(plan.clone(), server, Some(&masters(3)));
        let given_up = holds(&got);
        assert!((250..=700).contains(&given_up), "{given_up}");
        for node in &got.nodes {
            let is_its = node.name.ends_with("7001");
            assert_eq!(node.unanswered > 10, is_its, "{}: {}", node.name, node.unanswered);
            assert!(is_its || node.ok > 900, "{}: {}", node.name, node.ok);
        }
    }
}

#[test]
fn parts_of_a_request_are_given_up_as_one() {
    let keys = "get k:__rand_int__ k:__rand_int__ k:__rand_int__ k:__rand_int__";
    let plan = timely(on_ring(3, &[keys], 6, 1, Stop::AfterNs(3 * SECOND)));
    let server = Server::taking(MS / 10).in_lines(half_there).at_node(7001);
    let (got, _) = ring::replay(plan, server.frozen(SECOND..2 * SECOND));
    let (gone, deadline) = (&got.total.connections, got.total.deadline.unwrap());
    assert_eq!(deadline.given_up, gone.timed_out);
    assert!(deadline.given_up > 500, "{deadline:?}");
    assert!(got.total.lateness.as_ref().unwrap().total.max_ns().unwrap() <= DEADLINE_NS);
    let ended = got.total.requests() + gone.lost + gone.timed_out + gone.unanswered;
    assert_eq!(ended, 3_000);
}

/// A `GET` and, after its reply, a `SET`.
fn two_steps(parts: PlanParts) -> PlanParts {
    let steps = vec![MixStep { commands: 1, when: StepCondition::Always }; 2];
    let operation = Operation { name: "buy".into(), weight: 1, steps, keys: None };
    PlanParts {
        sequence: vec![CommandSpec::parse(["GET", "a"]), CommandSpec::parse(["SET", "a", "b"])],
        mix: Some(Mix { operations: vec![operation], pick: Pick::Drawn }),
        ..parts
    }
}

#[test]
fn a_later_step_is_not_sent_after_the_deadline_of_its_operation() {
    for clustered in [false, true] {
        for pace in [Pace::Closed, Pace::constant(10.0)] {
            let mut plan = two_steps(timely(parts(1, 1, Stop::AfterNs(2 * SECOND))));
            plan.load.pace = pace;
            plan.target.cluster = clustered.then(ClusterOptions::default);
            let topology = clustered.then(|| masters(3));
            // The first step takes longer than the whole may.
            let server = Server::taking(MS / 10).delaying(DEADLINE_NS + MS);
            let (got, log) = replay_on(plan, server, topology.as_ref());
            let of = |name: &str| log.requests.iter().filter(|(.., w)| w[0] == name).count();
            assert!(of("GET") > 15, "{}", of("GET"));
            assert_eq!(of("SET"), 0);
            let deadline = got.total.deadline.unwrap();
            assert_eq!(deadline.given_up, of("GET") as u64, "each operation once");
            assert_eq!((got.total.in_time(), got.total.operations[0].ended()), (Some(0), 0));
        }
    }
}

#[test]
fn a_request_that_failed_is_not_sent_again_after_its_deadline() {
    for pace in [Pace::Closed, Pace::constant(10.0)] {
        let mut plan = timely(parts(1, 1, Stop::AfterNs(SECOND)));
        plan.load.pace = pace;
        plan.recovery.retry = Some(Retry {
            most: None,
            backoff: Backoff { first_ns: 20 * MS, factor: 1.0, longest_ns: SECOND },
            jitter: 0.0,
            on: Vec::new(),
            waiting_max: 64,
        });
        let plan = plan.clone().retrying(plan.recovery.retry.unwrap());
        let server = Server::taking(MS).answering(|_, _| b"-LOADING the data\r\n".to_vec());
        let (got, log) = replay(plan, server);
        let (requests, gone) = (got.total.requests(), &got.total.connections);
        // At once, after 21 and after 42 ms; another time would be too late, and the run may end before.
        assert_eq!(log.requests.len() as u64, requests + gone.retries);
        let most = 2 * requests;
        assert!((most * 9 / 10..=most).contains(&gone.retries), "{} {requests}", gone.retries);
        assert_eq!(got.total.errors.total(), requests, "the last error is the result");
        assert_eq!(got.total.in_time(), Some(0));
    }
}

#[test]
fn a_connection_that_opens_too_late_for_its_request_sends_nothing() {
    let mut plan = timely(parts(20, 1, Stop::AfterNs(SECOND)));
    plan.sequence = vec![CommandSpec::parse(["PING"])];
    plan.load.pace = Pace::constant(100.0);
    plan.load.concurrency.per_request =
        Some(ConnectionPerRequest { hold_ns: Some(0), ..Default::default() });
    plan.recovery.timeout_ns = Some(SECOND);
    plan.protocol = workload::ProtocolKind::Resp3;
    // The reply to the login takes too long.
    let server = Server::taking(MS / 10).delaying(DEADLINE_NS + MS);
    let (got, log) = replay(plan, server);
    let of = |name: &str| log.requests.iter().filter(|(.., words)| words[0] == name).count();
    assert_eq!((of("PING"), got.total.requests()), (0, 0));
    assert_eq!(got.total.deadline.unwrap().given_up as usize, of("HELLO"));
    assert!(of("HELLO") > 50, "{}", of("HELLO"));
}

#[test]
fn each_command_of_a_sequence_is_given_up() {
    let mut plan = timely(parts(1, 1, Stop::AfterNs(2 * SECOND)));
    plan.sequence = vec![plan.sequence[0].clone(); 4];
    let (got, log): (Measurement, Log) =
        replay(plan, Server::taking(MS / 10).frozen(SECOND / 2..SECOND));
    let given_up = holds(&got);
    assert_eq!(given_up % 4, 0);
    assert_eq!(log.requests.len() as u64 + given_up, 2_000);
    let bursts = Stage::steady(1000.0, None);
    let arrivals = Arrivals::Bursts(500);
    let mut plan = timely(parts(1, 1, Stop::AfterNs(2 * SECOND)));
    plan.load.pace = Pace::Open(Schedule { stages: vec![bursts], arrivals });
    // It takes 50 of each 500 in time.
    let (got, log) = replay(plan, Server::taking(MS));
    assert_eq!(log.requests.len() as u64 + holds(&got), 2_000);
    assert!((190..=210).contains(&log.requests.len()), "{}", log.requests.len());
}
