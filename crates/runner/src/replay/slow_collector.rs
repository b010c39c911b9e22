//! A collector that is slow because an observer of the run blocks: the measurement is unchanged.

use measure::Measurement;
use workload::{OnError, Pace, PlanParts, Stop};

use super::server::Server;
use super::{MS, SECOND, parts, replay};

/// Times at which a collector reads: never before the end, once, now and then, and at times that end the
/// warm-up.
fn looks() -> Vec<Vec<u64>> {
    vec![
        vec![],
        vec![2 * SECOND],
        (1..9).map(|n| n * 1_100 * MS).collect(),
        (0..40).map(|n| n * 700 * MS).collect(),
    ]
}

/// Returns the figures that runs are compared by.
fn seen(got: &Measurement) -> impl PartialEq + std::fmt::Debug + use<> {
    let (response, lateness) = (got.total.response(), &got.total.lateness);
    (
        got.total.requests(),
        got.total.connections.connect.count(),
        got.total.connections.bytes_out,
        response.recorded().collect::<Vec<_>>(),
        lateness.as_ref().map(|late| (late.due, late.total.count())),
        got.timeline.points.clone(),
        got.outages.clone(),
        got.elapsed_ns,
        got.delayed.as_ref().map(|delayed| delayed.recorded().collect::<Vec<_>>()),
    )
}

fn the_same_however_slow(parts: PlanParts, server: impl Fn() -> Server) -> Measurement {
    let (prompt, _) = replay(parts.clone(), server());
    for at_ns in looks() {
        let (slow, _) = replay(parts.clone(), server().collected_at(at_ns.clone()));
        assert_eq!(seen(&slow), seen(&prompt), "looked at {at_ns:?}");
    }
    prompt
}

#[test]
fn nothing_of_the_warm_up_is_measured() {
    for warmup_ns in [SECOND, 3 * SECOND, 3 * SECOND + MS / 2] {
        let mut plan = parts(3, 4, Stop::Requests(4000));
        plan.load.warmup_ns = warmup_ns;
        let got = the_same_however_slow(plan.clone(), || Server::taking(MS));
        assert_eq!(got.total.requests(), 4000);
        plan.load.pace = Pace::constant(500.0);
        let got = the_same_however_slow(plan, || Server::taking(MS));
        assert_eq!(got.total.requests(), 4000);
    }
}

#[test]
fn outages_are_found_and_have_their_times() {
    let mut plan = parts(5, 1, Stop::AfterNs(8 * SECOND));
    (plan.recovery.reconnect, plan.recovery.on_error) = (true, OnError::Count);
    let down = || Server::taking(MS).down(2 * SECOND..3 * SECOND).down(5 * SECOND..6 * SECOND);
    assert_eq!(the_same_however_slow(plan.clone(), down).outages.len(), 2);
    plan.load.pace = Pace::constant(300.0);
    assert_eq!(the_same_however_slow(plan.clone(), down).outages.len(), 2);
    plan.load.warmup_ns = SECOND;
    assert_eq!(the_same_however_slow(plan, down).outages.len(), 2);
}
