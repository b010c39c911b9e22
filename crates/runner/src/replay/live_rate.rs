//! A rate that changes during the run: the exact number of due requests.

use std::sync::Arc;

use host::WatchRecord;
use report::{Run, ScheduleFigures};
use workload::{Arrivals, Pace, PlanParts, Schedule, Shard, Stop};

use super::schedules::{checked, paced, run_of, stages};
use super::server::{Log, Server};
use super::{MS, SECOND, replay};
use crate::LiveRate;

/// Change of a rate: the time of the request, the time from which it holds, and the rate; `None` for no
/// limit.
type RateChange = (u64, u64, Option<f64>);

/// A run with these changes of its rate.
fn changed(parts: PlanParts, text: &[RateChange]) -> (Run, ScheduleFigures, Log) {
    changed_on(parts, Server::taking(10), text)
}

fn changed_on(
    parts: PlanParts,
    server: Server,
    lines: &[RateChange],
) -> (Run, ScheduleFigures, Log) {
    let rate = Arc::new(LiveRate::from_plan(&parts.clone().build().unwrap()).unwrap());
    let lines = lines.iter();
    let mut server =
        lines.fold(server, |server, (now_ns, at_ns, per_s)| server.rated(*now_ns, *at_ns, *per_s));
    server.rate = Some(Arc::clone(&rate));
    let (measured, log) = replay(parts, server);
    let kept = PlanParts::clone(&rate.plan());
    checked(run_of(kept, measured, WatchRecord::default()), log)
}

/// Requests due, late and never sent, and the requested rate.
fn counts(parts: PlanParts, description: &[RateChange]) -> (u64, u64, u64, f64) {
    let (_, figures, _) = changed(parts, description);
    (figures.due, figures.late, figures.unsent, figures.due_rps)
}

/// A plan of stages of a second each.
fn stages_of(rates: &[(f64, f64)]) -> PlanParts {
    let length_ns = rates.len() as u64 * SECOND;
    paced(stages(rates, SECOND, Arrivals::Constant), Stop::AfterNs(length_ns))
}

const SLOWER: RateChange = (SECOND, 1500 * MS, Some(500.0));

#[test]
fn what_is_due_is_the_area_below_the_rates() {
    let four = Stop::AfterNs(4 * SECOND);
    let at = |rate| paced(Pace::constant(rate), four);
    assert_eq!(counts(at(1000.0), &[SLOWER]), (2750, 0, 0, 687.5));
    // Of a schedule that leaves its worker asleep, too.
    assert_eq!(counts(at(10.0), &[(SECOND, 1400 * MS, Some(1000.0))]), (2614, 0, 0, 653.5));
    let thrice =
        [SLOWER, (2 * SECOND, 2500 * MS, Some(2000.0)), (3 * SECOND, 3500 * MS, Some(100.0))];
    assert_eq!(counts(at(1000.0), &thrice), (1500 + 500 + 2000 + 50, 0, 0, 1012.5));
    let steps = stages_of(&[(100.0, 100.0), (300.0, 300.0)]);
    // Until the next step begins.
    assert_eq!(counts(steps, &[(200 * MS, 500 * MS, Some(1000.0))]), (50 + 500 + 300, 0, 0, 425.0));
    let by_count = paced(Pace::constant(500.0), Stop::Requests(700));
    let (run, figures, _) = changed(by_count, &[(500 * MS, SECOND, Some(100.0))]);
    assert_eq!((figures.due, figures.late, figures.unsent), (700, 0, 0));
    assert!(run.measurement.elapsed_ns.abs_diff(3 * SECOND) < 20 * MS, "500 in 1 s, 200 in 2");
}

#[test]
fn what_was_due_before_leaves_at_its_time_and_the_rest_at_the_new_distances() {
    let (_, _, log) = changed(paced(Pace::constant(1000.0), Stop::AfterNs(4 * SECOND)), &[SLOWER]);
    let start_ns = log.requests[0].0;
    for (n, (at_ns, ..)) in (0..).zip(&log.requests) {
        let due_ns = if n < 1500 { n * MS } else { 1500 * MS + (n - 1500) * 2 * MS };
        assert_eq!(at_ns - start_ns, due_ns, "request {n}");
    }
}

#[test]
fn a_rate_of_0_pauses_and_the_next_one_goes_on_from_there() {
    let plan = || paced(Pace::constant(1000.0), Stop::AfterNs(5 * SECOND));
    let pause = (SECOND, 1500 * MS, Some(0.0));
    // To the end, at its time.
    let (run, figures, log) = changed(plan(), &[pause]);
    assert_eq!((figures.due, figures.late, figures.unsent, figures.due_rps), (1500, 0, 0, 300.0));
    assert_eq!(log.requests.len(), 1500);
    assert_eq!(run.measurement.elapsed_ns, 5 * SECOND);
    assert!(run.measurement.outages.is_empty(), "nothing was due: {:?}", run.measurement.outages);
    let stages = &run.plan.load.pace.schedule().unwrap().stages;
    assert_eq!(stages.iter().map(|stage| stage.to_per_s).collect::<Vec<_>>(), [1000.0, 0.0]);
    // For a while: changed while nothing is sent, which a request before it must do here.
    let again = (SECOND + MS, 3500 * MS, Some(200.0));
    let (run, figures, log) = changed(plan(), &[pause, again]);
    assert_eq!((figures.due, figures.late, figures.unsent, figures.due_rps), (1800, 0, 0, 360.0));
    let start_ns = log.requests[0].0;
    assert_eq!(log.requests[1499].0 - start_ns, 1499 * MS);
    assert_eq!(log.requests[1500].0 - start_ns, 3500 * MS, "not when the pause begins");
    assert!(run.measurement.outages.is_empty(), "a pause is none: {:?}", run.measurement.outages);
    // A step of a ramp ends it.
    let steps = stages_of(&[(100.0, 100.0), (300.0, 300.0)]);
    assert_eq!(counts(steps, &[(200 * MS, 500 * MS, Some(0.0))]), (50 + 300, 0, 0, 175.0));
    // Before load begins, too: its warm-up keeps its rate.
    let mut plan = plan();
    plan.load.warmup_ns = SECOND;
    let rate = Arc::new(LiveRate::from_plan(&plan.clone().build().unwrap()).unwrap());
    rate.set(Some(0.0)).unwrap();
    let mut server = Server::taking(10);
    server.rate = Some(rate);
    let (measured, log) = replay(plan, server);
    assert_eq!((measured.total.lateness.unwrap().due, log.requests.len()), (1, 1001));
}

#[test]
fn without_a_limit_it_is_a_closed_loop_until_the_next_rate() {
    let on_one = |changes: &[RateChange]| {
        let mut plan = paced(Pace::constant(1000.0), Stop::AfterNs(5 * SECOND));
        plan.load.concurrency.connections = 1;
        changed_on(plan, Server::taking(MS / 10), changes)
    };
    // A connection and a hundred microseconds each: ten thousand a second.
    let open = (SECOND, 1500 * MS, None);
    let (run, figures, log) = on_one(&[open]);
    let sent = log.requests.len() as u64;
    assert!(figures.due == sent && sent > 1500 + 3 * 9_000, "{} due, {sent} sent", figures.due);
    assert_eq!((figures.late, figures.unsent), (0, 0), "what leaves when it can is never late");
    assert!((figures.due_rps - sent as f64 / 5.0).abs() < 1.0, "{}", figures.due_rps);
    assert!(run.measurement.outages.is_empty());
    let slowest_ns = run.measurement.total.commands[0].response().max_ns().unwrap();
    assert!(slowest_ns < 2 * MS, "latency is from when it is sent: {slowest_ns}");
    // For a while, and back to a rate: what was sent without one takes nothing from it.
    let again = (2 * SECOND, 2500 * MS, Some(200.0));
    let (run, figures, log) = on_one(&[open, again]);
    let start_ns = log.requests[0].0;
    let within = |span: std::ops::Range<u64>| {
        log.requests.iter().filter(|(at_ns, ..)| span.contains(&(at_ns - start_ns))).count()
    };
    assert_eq!((within(0..1500 * MS), within(2501 * MS..5 * SECOND)), (1500, 499));
    assert!(within(1500 * MS..2500 * MS) > 9_000);
    assert_eq!((figures.due, figures.late, figures.unsent), (log.requests.len() as u64, 0, 0));
    let mut unlimited = run.plan.load.pace.schedule().unwrap().unlimited();
    assert_eq!((unlimited.next(), unlimited.next()), (Some(1500 * MS..2500 * MS), None));
}

#[test]
fn shares_pause_and_go_on_together() {
    for arrivals in [Arrivals::Constant, Arrivals::Poisson] {
        let schedule = Schedule { arrivals, ..Schedule::constant(1000.0) };
        let parts = (1..=3).map(|index| {
            let mut plan = paced(Pace::Open(schedule.clone()), Stop::AfterNs(4 * SECOND));
            plan.load.shard = Shard { index, of: 3 };
            let message =
                [(SECOND, 1500 * MS, Some(0.0)), (SECOND + 9 * MS, 3500 * MS, Some(500.0))];
            let (_, figures, log) = changed(plan, &message);
            assert_eq!((figures.late, figures.unsent), (0, 0));
            let first_ns = log.requests[0].0;
            let paused = first_ns + 1500 * MS..first_ns + 3400 * MS;
            assert!(!log.requests.iter().any(|(at_ns, ..)| paused.contains(at_ns)));
            log.requests.len()
        });
        let sum: usize = parts.sum();
        match arrivals {
            Arrivals::Constant | Arrivals::Bursts(_) => assert_eq!(sum, 1750),
            Arrivals::Poisson => assert!(sum.abs_diff(1750) < 5 * 42, "{sum}"),
        }
    }
}

#[test]
fn a_warm_up_keeps_the_rate_that_it_began_with() {
    let mut plan = paced(Pace::constant(1000.0), Stop::AfterNs(2 * SECOND));
    plan.load.warmup_ns = SECOND;
    let rate = Arc::new(LiveRate::from_plan(&plan.clone().build().unwrap()).unwrap());
    let mut server = Server::taking(10).rated(300 * MS, 600 * MS, Some(500.0));
    server.rate = Some(rate);
    let (measured, log) = replay(plan, server);
    // The first nanosecond after it is its own as well: a millionth of a request.
    assert_eq!(measured.total.lateness.unwrap().due, 1001);
    assert_eq!(log.requests.len(), 2001);
}

#[test]
fn shares_of_a_plan_turn_together() {
    for arrivals in [Arrivals::Constant, Arrivals::Poisson] {
        let schedule = Schedule { arrivals, ..Schedule::constant(1000.0) };
        let parts = (1..=3).map(|index| {
            let mut plan = paced(Pace::Open(schedule.clone()), Stop::AfterNs(4 * SECOND));
            plan.load.shard = Shard { index, of: 3 };
            let (_, figures, log) = changed(plan, &[SLOWER]);
            assert_eq!((figures.late, figures.unsent), (0, 0));
            log.requests.len()
        });
        let sum: usize = parts.sum();
        match arrivals {
            Arrivals::Constant | Arrivals::Bursts(_) => assert_eq!(sum, 2750),
            Arrivals::Poisson => assert!(sum.abs_diff(2750) < 5 * 52, "{sum}"),
        }
    }
}

#[test]
fn what_cannot_be_is_refused_and_changes_nothing() {
    let plan = paced(Pace::constant(1000.0), Stop::AfterNs(SECOND)).build().unwrap();
    let rate = LiveRate::from_plan(&plan).unwrap();
    rate.begins(0);
    assert!(rate.set_at(SECOND, Some(5.0)).unwrap_err().contains("the run ends before"));
    assert!(rate.set_at(1, Some(f64::NAN)).unwrap_err().contains("must be above 0"));
    assert_eq!(rate.plan().load.pace, plan.load.pace);
    for nth in 0..998 {
        rate.set_at(1 + nth, Some(5.0)).unwrap();
    }
    assert!(rate.set_at(5000, Some(5.0)).is_ok());
    assert!(rate.set_at(6000, Some(5.0)).unwrap_err().contains("between 1 and 1000 steps"));
    let closed = paced(Pace::Closed, Stop::Requests(5)).build().unwrap();
    assert!(LiveRate::from_plan(&closed).is_none());
}
