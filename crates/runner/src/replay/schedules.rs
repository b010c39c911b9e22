//! Exact numbers of scheduled requests that were due, sent late and never sent.

use std::time::{Duration, SystemTime};

use host::{ServerFacts, WatchRecord};
use measure::{Measurement, WorkerUse};
use report::{LimitedBy, LoadedRecord, Run, ScheduleFigures, Summary};
use workload::{Arrivals, OnError, Pace, PlanParts, Schedule, Shard, Stage, Stop, Window};

use super::server::{Log, Server};
use super::{MS, SECOND, parts, replay};

/// A plan at this pace, with room for all due requests.
pub(super) fn paced(pace: Pace, stop: Stop) -> PlanParts {
    let mut parts = parts(400, 1, stop);
    parts.load.pace = pace;
    parts.load.concurrency.window = Window::Rolling;
    parts
}

pub(super) fn stages(stages: &[(f64, f64)], each_ns: u64, arrivals: Arrivals) -> Pace {
    let stage = |&(from_per_s, to_per_s)| Stage::ramp(from_per_s, to_per_s, Some(each_ns));
    Pace::Open(Schedule { stages: stages.iter().map(stage).collect(), arrivals })
}

/// A run of the plan, with workers that had time.
pub(super) fn run_of(parts: PlanParts, mut measured: Measurement, watched: WatchRecord) -> Run {
    let wall_ns = measured.elapsed_ns;
    measured.workers =
        vec![WorkerUse { cpu_ns: wall_ns / 5, wall_ns, system_ns: None, wait_ns: Some(0) }];
    Run::new(parts.build().unwrap(), measured, ServerFacts::default(), String::new(), watched)
}

fn carried_out(parts: PlanParts, server: Server) -> (Run, ScheduleFigures, Log) {
    let (measured, log) = replay(parts.clone(), server);
    checked(run_of(parts, measured, WatchRecord::default()), log)
}

/// A run whose every figure equals the server's count.
pub(super) fn checked(run: Run, log: Log) -> (Run, ScheduleFigures, Log) {
    let summary = Summary::from_run(&run);
    assert_eq!(report::contradictions(&summary), [""; 0]);
    let figures = summary.schedule.unwrap();
    assert_eq!(
        (figures.sent, figures.due),
        (log.requests.len() as u64, figures.sent + figures.unsent)
    );
    (run, figures, log)
}

/// Due, late and never sent.
fn counts(parts: PlanParts, server: Server) -> (u64, u64, u64) {
    let (_, figures, _) = carried_out(parts, server);
    (figures.due, figures.late, figures.unsent)
}

#[test]
fn every_kind_of_schedule_is_due_to_the_request() {
    let two = Stop::AfterNs(2 * SECOND);
    for (pace, stop, due) in [
        (Pace::constant(500.0), two, 1000),
        (Pace::constant(500.0), Stop::Requests(700), 700),
        (stages(&[(0.0, 1000.0)], 2 * SECOND, Arrivals::Constant), two, 1000),
        (stages(&[(1000.0, 0.0)], 2 * SECOND, Arrivals::Constant), two, 1000),
        (stages(&[(100.0, 100.0), (300.0, 300.0)], SECOND, Arrivals::Constant), two, 400),
    ] {
        let plan = paced(pace, stop);
        // Replies that take long are waited for after the end, and that is no part of the schedule.
        for delay_ns in [0, 100 * MS, 300 * MS] {
            let server = Server::taking(10).delaying(delay_ns);
            let (run, figures, _) = carried_out(plan.clone(), server);
            let got = (figures.due, figures.late, figures.unsent);
            assert_eq!(got, (due, 0, 0), "{:?} {delay_ns}", plan.load.pace);
            assert!(figures.kept() && figures.behind_ns.is_none(), "{figures}");
            assert_eq!(run.verdict.limited_by, LimitedBy::Schedule, "{}", run.verdict.text);
        }
    }
    let (measured, _) = replay(parts(1, 1, Stop::Requests(100)), Server::taking(MS));
    assert!(measured.total.lateness.is_none(), "a closed loop has no schedule");
}

#[test]
fn of_random_arrivals_those_are_due_that_were_drawn() {
    for seed in 0..10 {
        let schedule = Schedule { arrivals: Arrivals::Poisson, ..Schedule::constant(2000.0) };
        let mut plan = paced(Pace::Open(schedule), Stop::AfterNs(2 * SECOND));
        plan.load.seed = seed;
        let mut pacer = plan.clone().build().unwrap().pacer(0, 0, 1).unwrap();
        let drawn = std::iter::from_fn(|| pacer.take(2 * SECOND - 1)).count() as u64;
        assert_eq!(counts(plan, Server::taking(10)), (drawn, 0, 0), "seed {seed}");
    }
}

#[test]
fn what_a_stall_makes_late_is_counted() {
    let mut plan = paced(Pace::constant(1000.0), Stop::AfterNs(4 * SECOND));
    plan.load.concurrency.connections = 4;
    let server = Server::taking(MS / 20).frozen(SECOND..SECOND + 500 * MS);
    let (_, figures, log) = carried_out(plan, server);
    let start_ns = log.requests[0].0;
    let lateness = (0..).zip(&log.requests).map(|(n, (at_ns, ..))| at_ns - start_ns - n * MS);
    let late = lateness.filter(|late_ns| *late_ns > 10 * MS).count() as u64;
    assert_eq!((figures.due, figures.unsent), (4000, 0));
    // The histogram has two digits.
    assert!(figures.late.abs_diff(late) <= 1 && late > 450, "{} of {late}", figures.late);
    assert!(!figures.kept(), "{figures}");
}

#[test]
fn what_never_left_is_counted_and_nothing_is_hidden_by_the_wait_for_replies() {
    let mut plan = paced(Pace::constant(1000.0), Stop::AfterNs(2 * SECOND));
    (plan.load.concurrency.connections, plan.recovery.reconnect, plan.recovery.on_error) =
        (4, true, OnError::Count);
    let (run, figures, log) = carried_out(plan, Server::taking(10).frozen(SECOND..1000 * SECOND));
    assert_eq!((figures.due, figures.sent), (2000, log.requests.len() as u64));
    assert!((1000..=1005).contains(&figures.sent), "{figures}");
    assert_eq!(run.verdict.limited_by, LimitedBy::Outage, "{}", run.verdict.text);
    assert!(
        run.verdict.text.contains(" s of 2.00 s; 4 requests had no reply"),
        "{}",
        run.verdict.text
    );
}

#[test]
fn a_server_that_never_answers_is_an_outage() {
    let mut plan = parts(3, 1, Stop::AfterNs(2 * SECOND));
    plan.recovery.reconnect = true;
    let (measured, _) = replay(plan.clone(), Server::taking(MS).frozen(0..1000 * SECOND));
    assert!(measured.is_unheard());
    let run = run_of(plan, measured, WatchRecord::default());
    assert_eq!(run.verdict.limited_by, LimitedBy::Outage, "{}", run.verdict.text);
    assert_eq!(report::contradictions(&Summary::from_run(&run)), [""; 0]);
}

#[test]
fn what_was_due_in_the_warm_up_is_in_no_count() {
    let mut plan = paced(Pace::constant(1000.0), Stop::AfterNs(SECOND));
    plan.load.warmup_ns = SECOND;
    let (measured, log) = replay(plan, Server::taking(10));
    let lateness = measured.total.lateness.unwrap();
    assert_eq!((lateness.due, lateness.total.count(), log.requests.len()), (1000, 1000, 2000));
}

#[test]
fn replies_that_fall_behind_are_no_schedule_that_was_kept() {
    let mut plan = paced(Pace::constant(1000.0), Stop::AfterNs(2 * SECOND));
    plan.load.concurrency.connections = 5000;
    let (run, figures, _) = carried_out(plan, Server::taking(3 * MS));
    assert_eq!((figures.due, figures.late, figures.unsent), (2000, 0, 0));
    assert!(figures.behind_ns.is_some_and(|ns| ns > 3 * SECOND), "{figures}");
    assert!(run.verdict.text.contains("replies fell behind"), "{}", run.verdict.text);
}

#[test]
fn shares_that_began_apart_have_sent_all_that_was_due() {
    let mut loaded = Vec::new();
    for index in 1..=3 {
        let mut plan = paced(Pace::constant(1000.0), Stop::AfterNs(SECOND));
        plan.load.shard = Shard { index, of: 3 };
        let (mut run, figures, _) = carried_out(plan, Server::taking(10));
        assert_eq!((figures.due, figures.unsent), ([334, 333, 333][index as usize - 1], 0));
        run.measurement.started_at =
            SystemTime::UNIX_EPOCH + Duration::from_millis(19 * u64::from(index));
        let of_one = LoadedRecord { runs: vec![run], suite: true, complete: true };
        loaded.push((format!("{index}.json"), of_one));
    }
    let whole = report::merge(loaded, &[]).unwrap().runs.remove(0);
    let summary = Summary::from_run(&whole);
    let figures = summary.schedule.as_ref().unwrap();
    assert_eq!((figures.due, figures.sent, figures.late, figures.unsent), (1000, 1000, 0, 0));
    assert_eq!(figures.due_rps, 1000.0);
    assert!(whole.verdict.text.ends_with("(the same for all 3 clients)"), "{}", whole.verdict.text);
    assert_eq!(report::contradictions(&summary), [""; 0]);
}
