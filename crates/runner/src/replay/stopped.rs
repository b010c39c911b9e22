//! A client that is stopped for a while: the gap in its view says nothing about the server.

use measure::Absence;
use workload::{OnError, Pace, PlanParts, Stop, Window};

use super::server::Server;
use super::{MS, SECOND, parts, replay};

fn load(rate: Option<f64>) -> PlanParts {
    let mut plan = parts(8, 1, Stop::AfterNs(6 * SECOND));
    (plan.recovery.reconnect, plan.recovery.on_error, plan.load.concurrency.window) =
        (true, OnError::Count, Window::Rolling);
    if let Some(rate) = rate {
        plan.load.pace = Pace::constant(rate);
    }
    plan
}

#[test]
fn a_client_that_is_stopped_is_away_and_the_server_has_no_outage() {
    for rate in [None, Some(2000.0), Some(20.0)] {
        let server = Server::taking(MS).stopping_the_client(2 * SECOND..3 * SECOND);
        let (got, _) = replay(load(rate), server);
        assert_eq!(got.outages, [], "{rate:?}");
        let [Absence { from_ns, to_ns }] = got.absences[..] else { panic!("{:?}", got.absences) };
        assert!(from_ns.abs_diff(2 * SECOND) <= 60 * MS && to_ns == 3 * SECOND, "{from_ns}");
        let delayed = got.delayed.map_or(0, |delayed| delayed.count());
        assert_eq!(delayed, 0, "nobody waited for the server");
    }
}

#[test]
fn a_server_that_is_stopped_is_out_and_the_client_is_there() {
    for rate in [None, Some(2000.0)] {
        let server = Server::taking(MS).frozen(2 * SECOND..3 * SECOND);
        let (got, _) = replay(load(rate), server);
        assert_eq!((got.outages.len(), got.absences.len()), (1, 0), "{rate:?}");
    }
}

/// Both at once, one after the other, and a client that is away while its server is down.
#[test]
fn of_both_each_has_its_own() {
    let spans = |plan: PlanParts, server: Server| {
        let (got, _) = replay(plan, server);
        let outages =
            got.outages.iter().map(|o| (o.from_ns / (10 * MS) * 10, o.to_ns / (10 * MS) * 10));
        let outages: Vec<_> = outages.collect();
        let spans =
            got.absences.iter().map(|a| (a.from_ns / (10 * MS) * 10, a.to_ns / (10 * MS) * 10));
        let absences: Vec<_> = spans.collect();
        (outages, absences)
    };
    let near = |a: u64, b: u64| a.abs_diff(b) <= 130;
    let server =
        Server::taking(MS).stopping_the_client(SECOND..2 * SECOND).down(3 * SECOND..4 * SECOND);
    let (outages, absences) = spans(load(None), server);
    assert!(matches!(absences[..], [(a, b)] if near(a, 1000) && near(b, 2000)), "{absences:?}");
    assert!(matches!(outages[..], [(a, b)] if near(a, 3000) && near(b, 4000)), "{outages:?}");
    // Stopped in the middle of an outage: that goes on around it.
    let server =
        Server::taking(MS).down(SECOND..5 * SECOND).stopping_the_client(2 * SECOND..3 * SECOND);
    let (outages, absences) = spans(load(Some(500.0)), server);
    assert!(matches!(absences[..], [(a, b)] if near(a, 2000) && near(b, 3000)), "{absences:?}");
    assert!(matches!(outages[..], [(a, b)] if near(a, 1000) && near(b, 5000)), "{outages:?}");
}

/// Pauses shorter than any outage, and waits that were meant to be long.
#[test]
fn what_a_busy_machine_does_and_long_waits_are_no_absence() {
    let server = Server::taking(MS).stopping_the_client(2 * SECOND..2 * SECOND + 300 * MS);
    let (got, _) = replay(load(None), server);
    assert_eq!((got.outages.len(), got.absences.len()), (0, 0));
    let (got, _) = replay(load(Some(0.5)), Server::taking(MS));
    assert_eq!((got.outages.len(), got.absences.len()), (0, 0));
}
