//! Lost connections that come back, and requests that take too long.

use measure::{Ending, Measurement};
use workload::{
    Backoff, Credentials, OnError, Pace, PlanParts, ReconnectLimits, Secret, Stop, Window,
};

use super::server::{Fault, Log, Server};
use super::{MS, SECOND, parts, replay};

/// A plan that continues after every failure.
fn going_on(connections: u32, depth: u32, stop: Stop) -> PlanParts {
    let mut plan = parts(connections, depth, stop);
    (plan.recovery.reconnect, plan.recovery.on_error) = (true, OnError::Count);
    plan
}

/// Checks that every request that the server saw ended in exactly one way.
fn adds_up(got: &Measurement, log: &Log) -> u64 {
    let gone = &got.total.connections;
    let ended = got.total.requests() + gone.lost + gone.timed_out + gone.unanswered;
    assert_eq!(ended, log.requests.len() as u64, "{gone:?}");
    ended
}

#[test]
fn a_server_that_comes_back_is_measured_on() {
    for (connections, depth) in [(1, 1), (5, 1), (5, 16), (50, 1)] {
        let server = Server::taking(MS / 10).down(2 * SECOND..4 * SECOND);
        let (got, log) = replay(going_on(connections, depth, Stop::AfterNs(6 * SECOND)), server);
        assert_eq!(got.ending, Ending::Complete);
        adds_up(&got, &log);
        let gone = &got.total.connections;
        assert!(gone.lost > 0 && gone.lost <= u64::from(connections * depth), "{gone:?}");
        let (dropped, back) = (gone.dropped, gone.reconnects);
        assert_eq!((dropped, back), (u64::from(connections), u64::from(connections)));
        // Four seconds of load; at most 100 ms pass until the end of the outage is noticed.
        let requests = got.total.requests();
        let in_flight = u64::from(connections * depth);
        assert!(
            (39_000..=40_000 + in_flight).contains(&requests),
            "{connections} x {depth}: {requests}"
        );
        let [outage] = got.outages[..] else { panic!("{:?}", got.outages) };
        assert!((1990 * MS..=2120 * MS).contains(&outage.length_ns()), "{outage:?}");
        assert_eq!(outage.failures.lost, gone.lost);
        assert!(outage.first_failure_ns.is_some_and(|ns| ns.abs_diff(2 * SECOND) <= 20 * MS));
        let back_ns = outage.recovered_ns.unwrap();
        assert!((4 * SECOND..4 * SECOND + 300 * MS).contains(&back_ns), "{outage:?}");
        let attempts = log.connects - 2 * connections as usize;
        assert!(attempts <= 2 * 200 + 5 * connections as usize, "{attempts} attempts in 2 s");
    }
}

#[test]
fn a_lost_connection_waits_as_long_as_the_plan_says() {
    let mut plan = going_on(1, 1, Stop::AfterNs(20 * SECOND));
    plan.recovery.backoff =
        Some(Backoff { first_ns: SECOND, factor: 2.0, longest_ns: 60 * SECOND });
    let (got, log) = replay(plan, Server::taking(MS).down(2 * SECOND..8 * SECOND));
    // Tried 1, 3 and 7 seconds after it was lost.
    assert_eq!((got.ending.clone(), log.connects), (Ending::Complete, 4));
    let [outage] = got.outages[..] else { panic!("{:?}", got.outages) };
    let back_ns = outage.recovered_ns.unwrap();
    assert!((9 * SECOND..9 * SECOND + 200 * MS).contains(&back_ns), "{outage:?}");
    adds_up(&got, &log);
}

#[test]
fn a_run_ends_when_a_connection_has_had_all_its_tries() {
    let mut plan = going_on(1, 1, Stop::AfterNs(20 * SECOND));
    plan.recovery.backoff =
        Some(Backoff { first_ns: SECOND, factor: 1.0, longest_ns: 60 * SECOND });
    plan.recovery.reopening = ReconnectLimits { tries: Some(3), within_ns: None };
    let (got, log) = replay(plan.clone(), Server::taking(MS).down(2 * SECOND..8 * SECOND));
    let Ending::Failed(why) = got.ending else { panic!("{:?}", got.ending) };
    assert!(why.text.contains("3 tries in a row"), "{why}");
    assert_eq!(log.connects, 4, "the first time, and 3, 4 and 5 seconds after the start");
    assert!((1990..=2000).contains(&got.total.requests()), "{}", got.total.requests());
    // One that succeeds is the end of the row.
    let server = Server::taking(MS).down(2 * SECOND..4500 * MS).down(10 * SECOND..12500 * MS);
    let (got, log) = replay(plan, server);
    assert_eq!((got.ending.clone(), log.connects), (Ending::Complete, 7));
}

#[test]
fn in_a_run_by_count_lost_requests_count_against_it() {
    for window in [Window::Batch, Window::Rolling] {
        let mut plan = going_on(7, 4, Stop::Requests(5000));
        plan.load.concurrency.window = window;
        let server = Server::taking(MS / 10).down(100 * MS..300 * MS).down(500 * MS..600 * MS);
        let (got, log) = replay(plan, server);
        assert_eq!(got.ending, Ending::Complete);
        assert_eq!(adds_up(&got, &log), 5000);
        assert!(got.total.connections.lost >= 8, "{:?}", got.total.connections);
    }
}

#[test]
fn one_connection_of_many_comes_back_alone() {
    for fault in [Fault::CutAt(1000), Fault::ResetAt(1000)] {
        let plan = going_on(10, 4, Stop::AfterNs(2 * SECOND));
        let (got, log) = replay(plan, Server::taking(MS / 10).failing(fault));
        assert_eq!((got.ending.clone(), log.connects), (Ending::Complete, 11));
        adds_up(&got, &log);
        let gone = &got.total.connections;
        assert!((1..=4).contains(&gone.lost), "{gone:?}");
        assert_eq!((gone.dropped, gone.reconnects), (1, 1));
    }
}

#[test]
fn a_schedule_does_not_wait_for_the_server() {
    let mut plan = going_on(4, 1, Stop::AfterNs(10 * SECOND));
    plan.load.pace = Pace::constant(1000.0);
    plan.load.concurrency.window = Window::Rolling;
    let server = Server::taking(MS / 20).down(4 * SECOND..5 * SECOND);
    let (got, log) = replay(plan, server);
    assert_eq!(adds_up(&got, &log), 10_000, "what was due in the outage is sent after it");
    let response = got.total.response();
    let p95_ms = response.quantile_ns(0.95).unwrap() / MS;
    assert!((450..650).contains(&p95_ms), "{p95_ms} ms");
    assert!(response.max_ns().unwrap() >= 990 * MS);
    assert!(got.total.service().quantile_ns(0.99).unwrap() < MS);
    // Those that were due in the outage waited for its end, one more than the other.
    let delayed = got.delayed.unwrap();
    assert!((990..=1130).contains(&delayed.count()), "{}", delayed.count());
    let p50_ms = delayed.quantile_ns(0.5).unwrap() / MS;
    assert!((450..=620).contains(&p50_ms), "{p50_ms} ms");
}

#[test]
fn a_server_that_only_pauses_has_an_outage_without_failures() {
    let mut plan = going_on(4, 1, Stop::AfterNs(5 * SECOND));
    plan.load.pace = Pace::constant(1000.0);
    plan.load.concurrency.window = Window::Rolling;
    let server = Server::taking(MS / 20).frozen(2 * SECOND..3 * SECOND);
    let (got, _) = replay(plan.clone(), server);
    let [outage] = got.outages[..] else { panic!("{:?}", got.outages) };
    assert_eq!((outage.first_failure_ns, outage.failures.total()), (None, 0));
    assert!(outage.length_ns().abs_diff(SECOND) <= 20 * MS, "{outage:?}");
    assert_eq!(got.total.requests(), 5000);
    let delayed = got.delayed.unwrap();
    assert!((990..=1010).contains(&delayed.count()), "{}", delayed.count());
    let server = Server::taking(MS / 20).frozen(2 * SECOND..2 * SECOND + 400 * MS);
    let (got, _) = replay(plan, server);
    assert_eq!(got.outages, [], "too short to be told from a busy client");
}

#[test]
fn a_request_that_takes_too_long_is_counted_apart() {
    let mut plan = going_on(3, 1, Stop::AfterNs(3 * SECOND));
    plan.recovery.timeout_ns = Some(160 * MS);
    // A freeze of one thread: what was asked before it is answered to nobody.
    let server = Server::taking(MS).frozen(SECOND..2 * SECOND);
    let (got, log) = replay(plan, server);
    assert_eq!(got.ending, Ending::Complete);
    adds_up(&got, &log);
    let gone = &got.total.connections;
    // Each connection gives up every 160 to 170 ms, and asks again.
    assert!((15..=21).contains(&gone.timed_out), "{gone:?}");
    assert_eq!(gone.lost, 0);
    let [outage] = got.outages[..] else { panic!("{:?}", got.outages) };
    assert!(outage.length_ns().abs_diff(SECOND) <= 120 * MS, "{outage:?}");
    assert_eq!(outage.failures.timed_out, gone.timed_out);
    assert!(got.total.service().max_ns().unwrap() <= 170 * MS);
}

#[test]
fn requests_behind_an_overdue_one_are_lost() {
    let mut plan = going_on(1, 4, Stop::Requests(40));
    plan.load.concurrency.window = Window::Rolling;
    plan.recovery.timeout_ns = Some(100 * MS);
    let server = Server::taking(MS).frozen(20 * MS..125 * MS);
    let (got, log) = replay(plan, server);
    assert_eq!(adds_up(&got, &log), 40);
    let gone = &got.total.connections;
    assert!(gone.timed_out >= 1 && gone.timed_out + gone.lost == 4, "{gone:?}");
}

#[test]
fn a_request_of_time_zero_is_not_overdue_before_its_timeout() {
    let mut plan = going_on(1, 1, Stop::Requests(3));
    plan.recovery.timeout_ns = Some(SECOND);
    // Deadlines are looked at several times before the first reply.
    let (got, log) = replay(plan, Server::taking(600 * MS));
    let gone = &got.total.connections;
    assert_eq!((gone.timed_out, gone.lost, gone.dropped), (0, 0, 0));
    assert_eq!((got.total.requests(), log.connects), (3, 1));
}

#[test]
fn without_reconnecting_a_timeout_ends_the_run() {
    let mut plan = parts(2, 1, Stop::Requests(1000));
    plan.recovery.timeout_ns = Some(100 * MS);
    let server = Server::taking(MS).frozen(50 * MS..SECOND);
    let (got, _) = replay(plan, server);
    let Ending::Failed(why) = &got.ending else { panic!("{:?}", got.ending) };
    assert!(why.text.contains("was not answered within 100 ms (--timeout)"), "{why}");
    assert!(got.elapsed_ns < 170 * MS);
    let gone = &got.total.connections;
    assert_eq!(gone.timed_out + gone.unanswered, 2);
}

#[test]
fn a_server_that_stays_away_does_not_keep_a_run_for_ever() {
    let (got, log) = replay(
        going_on(3, 1, Stop::AfterNs(3 * SECOND)),
        Server::taking(MS).down(SECOND..u64::MAX),
    );
    assert_eq!((got.ending.clone(), got.elapsed_ns), (Ending::Complete, 3 * SECOND));
    adds_up(&got, &log);
    let [gone] = &got.total.connections.not_reopened[..] else { panic!("{:?}", got.total) };
    assert_eq!((gone.connections, gone.reason.as_str()), (3, "connection refused"));
    let (got, _) =
        replay(going_on(3, 1, Stop::Requests(10_000)), Server::taking(MS).down(SECOND..u64::MAX));
    let Ending::Failed(why) = &got.ending else { panic!("{:?}", got.ending) };
    assert!(
        why.text.contains("no connection could be opened for 60 s; the last attempt: "),
        "{why}"
    );
}

#[test]
fn replies_that_never_come_are_not_waited_for() {
    let server = Server::taking(MS).frozen(SECOND..1000 * SECOND);
    let (got, log) = replay(going_on(3, 1, Stop::AfterNs(2 * SECOND)), server);
    assert_eq!((got.ending.clone(), got.elapsed_ns), (Ending::Complete, 2 * SECOND));
    adds_up(&got, &log);
    assert_eq!(got.total.connections.unanswered, 3);
}

#[test]
fn the_login_is_stated_again_and_may_have_to_wait() {
    let mut plan = going_on(2, 1, Stop::AfterNs(2 * SECOND));
    plan.target.credentials = Some(Credentials { user: None, password: Secret::new("hunter2") });
    let server = Server::taking(MS).down(500 * MS..700 * MS).answering(|words, n| {
        match (words[0].as_str(), n) {
            ("AUTH", 100..=510) => b"-LOADING dataset in memory\r\n".to_vec(),
            _ => b"+OK\r\n".to_vec(),
        }
    });
    let (got, log) = replay(plan, server);
    assert_eq!((got.ending.clone(), got.total.connections.reconnects), (Ending::Complete, 2));
    let logins = log.requests.iter().filter(|(.., words)| words[0] == "AUTH").count();
    assert!(logins > 4, "{logins}");
    assert!(got.total.requests() > 1000, "{}", got.total.requests());
}

#[test]
fn a_login_that_is_refused_for_good_ends_the_run() {
    let mut plan = going_on(2, 1, Stop::AfterNs(2 * SECOND));
    plan.target.credentials = Some(Credentials { user: None, password: Secret::new("hunter2") });
    let server = Server::taking(MS).down(500 * MS..700 * MS).answering(|words, n| {
        match (words[0].as_str(), n) {
            ("AUTH", 10..) => b"-WRONGPASS invalid\r\n".to_vec(),
            _ => b"+OK\r\n".to_vec(),
        }
    });
    let (got, _) = replay(plan, server);
    let Ending::Failed(why) = &got.ending else { panic!("{:?}", got.ending) };
    assert!(why.text.contains("refused the login") && !why.text.contains("hunter2"), "{why}");
}

#[test]
fn errors_are_counted_by_kind_and_end_nothing() {
    let server = Server::taking(MS).answering(|_, n| match n {
        100..200 => b"-LOADING Redis is loading the dataset in memory\r\n".to_vec(),
        200..220 => b"-READONLY You can't write against a read only replica.\r\n".to_vec(),
        _ => b"+OK\r\n".to_vec(),
    });
    let (got, log) = replay(going_on(2, 1, Stop::AfterNs(SECOND)), server);
    adds_up(&got, &log);
    let kinds = got.total.errors.by_kind();
    assert_eq!(kinds, [("LOADING".to_owned(), 100), ("READONLY".to_owned(), 20)]);
}

#[test]
fn a_server_that_is_full_is_asked_again() {
    let server = Server::taking(MS).failing(Fault::FullUntil(3));
    let (got, log) = replay(going_on(2, 1, Stop::AfterNs(SECOND)), server);
    // The server takes a connection before it says that it has no room for it.
    let gone = &got.total.connections;
    assert_eq!((gone.dropped, gone.reconnects), (4, 4));
    assert_eq!(got.ending, Ending::Complete);
    // A refusal is the end of one request, and what was in flight when the connection was reset of another.
    assert_eq!((got.total.errors.total(), gone.lost), (3, 1));
    adds_up(&got, &log);
}
