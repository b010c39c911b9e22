//! Runs that can be merged, and runs that cannot.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use measure::{Ending, Timeline, WorkerUse};
use proptest::prelude::*;
use workload::{Pace, PlanParts, Shard, Stop};

use super::*;
use crate::fixture;

fn share(ns: &[u64], started_s: u64, connections: u32) -> Run {
    let mut parts = fixture::parts();
    parts.load.concurrency.connections = connections;
    parts.load.stop = Stop::Requests(ns.len().max(1) as u64);
    let mut run = fixture::run(parts, ns);
    run.measurement.started_at += Duration::from_secs(started_s);
    // No two clients take the same CPU time to the nanosecond.
    static SHARES: AtomicU64 = AtomicU64::new(0);
    let cpu_ns = SHARES.fetch_add(1, Ordering::Relaxed);
    run.measurement.workers =
        vec![WorkerUse { cpu_ns, wall_ns: 1, system_ns: None, wait_ns: None }];
    run.measurement.timeline.push(measure::Point::from_tally(0, &run.measurement.total));
    run
}

fn merged(shares: Vec<Run>) -> Result<Run, RecordError> {
    let named = shares.into_iter().enumerate().map(|(n, run)| {
        (format!("{n}.json"), LoadedRecord { runs: vec![run], suite: true, complete: true })
    });
    merge(named.collect(), &[]).map(|mut merged| merged.runs.remove(0))
}

proptest! {
    #[test]
    fn merged_shares_equal_the_run_that_saw_all(
        parts in prop::collection::vec(prop::collection::vec(0u64..1 << 40, 0..40), 1..5),
    ) {
        let shares = parts.iter().map(|ns| share(ns, 0, 10)).collect();
        let merged = merged(shares).unwrap();
        let all = parts.concat();
        let whole = share(&all, 0, 10 * parts.len() as u32);
        let of = |run: &Run| {
            let latency = run.measurement.total.response();
            let point = &run.measurement.timeline.points[0];
            (
                run.measurement.total.requests(),
                latency.recorded().collect::<Vec<_>>(),
                latency.mean_ns().map(f64::to_bits),
                (latency.min_ns(), latency.max_ns()),
                (point.requests, point.p50_ns, point.p99_ns, point.max_ns, point.mean_ns()),
                run.plan.load.concurrency.connections,
            )
        };
        prop_assert_eq!(of(&merged), of(&whole));
    }
}

#[test]
fn time_is_that_of_the_wall() {
    let run = merged(vec![share(&[1000; 10], 7, 1), share(&[2000; 30], 2, 1)]).unwrap();
    let m = &run.measurement;
    assert_eq!(m.elapsed_ns, 5_026_000_000);
    assert_eq!(m.started_at, SystemTime::UNIX_EPOCH + Duration::from_secs(2));
    let points: Vec<_> = m.timeline.points.iter().map(|p| (p.index, p.requests)).collect();
    assert_eq!(points, [(0, 30), (20, 10)]);
    assert!(run.warnings[0].text.contains("0.json started 5.000 s after"), "{:?}", run.warnings);
}

#[test]
fn other_plans_and_servers_do_not_add_up() {
    let refused = |change: fn(&mut PlanParts)| {
        let mut parts = (*share(&[1], 0, 1).plan).clone();
        change(&mut parts);
        let other = Run { plan: parts.build().unwrap(), ..share(&[1], 0, 1) };
        merged(vec![share(&[1], 0, 1), other]).map(|_| ()).map_err(|e| e.to_string())
    };
    assert_eq!(refused(|p| p.load.seed = 9), Ok(()));
    assert_eq!(refused(|p| p.load.concurrency.workers = 3), Ok(()));
    let error = refused(|p| p.load.concurrency.pipeline_depth = 2).unwrap_err();
    assert!(error.contains("-P is not given in 0.json and 2 in 1.json"), "{error}");
    assert!(refused(|p| p.name = "GET".into()).unwrap_err().contains("-t is "));
    assert!(refused(|p| p.load.stop = Stop::AfterNs(5)).unwrap_err().contains("-n is "));
    let precise = refused(|parts| {
        parts.recording.precision = 2;
        parts.asked.insert("precision".to_owned(), 2.into());
    });
    assert!(precise.unwrap_err().contains("--precision is not given"));
    let mut other = share(&[1], 0, 1);
    other.server.version = Some("8.0".into());
    let error = merged(vec![share(&[1], 0, 1), other]).unwrap_err().to_string();
    assert!(error.contains("redis 7.0.15") && error.contains("redis 8.0"), "{error}");
}

#[test]
fn shares_of_one_plan_make_that_plan_and_none_may_lack() {
    let of = |index: u32, of: u32| {
        let mut parts = (*share(&[1; 8], 0, 10).plan).clone();
        parts.load.shard = Shard { index, of };
        Run { plan: parts.build().unwrap(), ..share(&[1; 4], 0, 10) }
    };
    let run = merged(vec![of(2, 2), of(1, 2)]).unwrap();
    assert_eq!(run.plan.load.concurrency.connections, 10);
    assert_eq!((run.plan.load.stop, run.plan.load.shard), (Stop::Requests(8), Shard::WHOLE));
    assert_eq!(run.measurement.total.requests(), 8);
    let refused = |shares: Vec<Run>| merged(shares).unwrap_err().to_string();
    assert!(refused(vec![of(1, 2), of(1, 2)]).contains("both share 1/2"));
    assert!(refused(vec![of(1, 3), of(3, 3)]).contains("share 2/3 is missing"));
    assert!(refused(vec![of(1, 2), of(3, 3)]).contains("1/2"));
    assert!(refused(vec![of(1, 2)]).contains("missing"));
    assert!(refused(vec![of(1, 1), of(2, 2)]).contains("1/1"));
    let mut other = of(2, 2);
    let mut parts = (*other.plan).clone();
    parts.load.seed = 9;
    other.plan = parts.build().unwrap();
    assert!(refused(vec![of(1, 2), other]).contains("seed"));
}

#[test]
fn a_run_counts_once() {
    let once = share(&[1, 2], 0, 1);
    let message = merged(vec![share(&[1], 0, 1), once.clone(), once]).unwrap_err().to_string();
    assert!(message.contains("1.json and 2.json contain the same run"), "{message}");
    let part = || LoadedRecord { runs: vec![share(&[1], 0, 1)], suite: true, complete: true };
    let part = part();
    let twice = LoadedRecord { runs: part.runs.clone(), suite: true, complete: true };
    let named = |loaded| ("c1.json".to_owned(), loaded);
    let message = merge(vec![named(part), named(twice)], &[]).unwrap_err().to_string();
    assert!(message.contains("c1.json is named twice"), "{message}");
}

#[test]
fn shares_that_are_lost_are_claimed_to_be_and_the_plan_is_what_there_is() {
    let of = |index: u32| {
        let mut parts = (*share(&[1; 9], 0, 12).plan).clone();
        parts.load.pace = Pace::constant(300.0);
        parts.load.shard = Shard { index, of: 3 };
        let run = Run { plan: parts.build().unwrap(), ..share(&[1; 3], 0, 12) };
        (format!("{index}.json"), LoadedRecord { runs: vec![run], suite: true, complete: true })
    };
    let merged = merge(vec![of(1), of(3)], &[2]).unwrap();
    assert!(!merged.complete);
    let run = &merged.runs[0];
    let text = "share 2 of 3 is missing; all figures are of the others";
    assert_eq!(run.measurement.ending, Ending::Failed(measure::Failure::new(text)));
    assert_eq!(run.plan.load.concurrency.connections, 8);
    assert_eq!(
        (run.plan.load.stop, run.plan.load.pace.clone()),
        (Stop::Requests(6), Pace::constant(200.0))
    );
    let refused = |parts, missing: &[u32]| merge(parts, missing).unwrap_err().to_string();
    assert!(refused(vec![of(1), of(3)], &[]).contains("--missing 2"));
    assert!(
        refused(vec![of(1), of(3)], &[1, 2]).contains("--missing 1: share 1 is among the files")
    );
    assert!(refused(vec![of(1), of(3)], &[2, 4]).contains("--missing 4: there are only 3 shares"));
    let whole = LoadedRecord { runs: vec![share(&[1], 0, 1)], suite: true, complete: true };
    assert!(refused(vec![("a".into(), whole)], &[2]).contains("--shard"));
}

#[test]
fn everything_divides_by_one_time() {
    let second = |started_ms: u64, per_interval: u64| {
        let mut run = share(&[1], 0, 1);
        let tally = &run.measurement.total;
        let points = (0..8).map(|index| measure::Point {
            requests: per_interval,
            ..measure::Point::from_tally(index, tally)
        });
        run.measurement.timeline = Timeline::from_points(250_000_000, points.collect());
        run.measurement.total.commands[0].ok = 8 * per_interval;
        run.measurement.started_at += Duration::from_millis(started_ms);
        run.measurement.elapsed_ns = 2_000_000_000;
        run
    };
    let run = merged(vec![second(0, 100), second(500, 200)]).unwrap();
    assert_eq!(run.measurement.elapsed_ns, 2_500_000_000);
    assert_eq!(run.measurement.timeline.all_ran, Some(500_000_000..2_000_000_000));
    let summary = crate::Summary::from_run(&run);
    assert_eq!((summary.requests, summary.elapsed_s, summary.throughput_rps), (2400, 2.5, 960.0));
    assert_eq!(summary.counted_rps(), 960.0);
    let description = summary.together.unwrap();
    assert_eq!(
        description,
        "all clients ran at the same time for 1.50 of the 2.50 seconds, with 1200.00 requests/s"
    );
    // A microsecond between their starts is no time of its own.
    let mut late = second(500, 200);
    late.measurement.started_at -= Duration::from_nanos(499_999_000);
    let run = merged(vec![second(0, 100), late]).unwrap();
    assert_eq!(run.measurement.timeline.all_ran, Some(1_000..2_000_000_000));
    let summary = crate::Summary::from_run(&run);
    assert_eq!((summary.together, summary.throughput_rps), (None, 2400.0 / 2.000_001));
}

#[test]
fn what_is_asked_for_is_of_the_time_that_is_reported() {
    let ramp = |started_ms: u64, cpu_ns| {
        let mut parts = fixture::parts();
        let stage = workload::Stage::ramp(250.0, 1000.0, Some(2_000_000_000));
        let schedule =
            workload::Schedule { stages: vec![stage], arrivals: workload::Arrivals::Constant };
        parts.load.pace = Pace::Open(schedule);
        parts.load.stop = Stop::AfterNs(2_000_000_000);
        let mut run = fixture::run(parts, &[1000; 1250]);
        run.measurement.elapsed_ns = 2_000_000_000;
        run.measurement.started_at += Duration::from_millis(started_ms);
        run.measurement.workers =
            vec![WorkerUse { cpu_ns, wall_ns: 1, system_ns: None, wait_ns: None }];
        run
    };
    for (apart_ms, per_s) in [(0, 1250.0), (500, 1000.0), (2000, 625.0)] {
        let run = merged(vec![ramp(0, 1), ramp(apart_ms, 2)]).unwrap();
        let summary = crate::Summary::from_run(&run);
        assert_eq!(summary.throughput_rps, per_s, "{apart_ms} ms apart");
        assert!((summary.target_rps().unwrap() - per_s).abs() < 1.0, "{:?}", summary.target_rps());
    }
}

#[test]
fn endings_and_verdicts_of_all_count() {
    let mut stopped = share(&[1], 0, 1);
    stopped.measurement.ending = Ending::Interrupted;
    let mut failed = share(&[1], 0, 1);
    failed.measurement.ending = Ending::Failed(measure::Failure::new("gone"));
    failed.verdict.limited_by = LimitedBy::Errors;
    let run = merged(vec![share(&[1], 0, 1), stopped.clone()]).unwrap();
    assert_eq!(run.measurement.ending, Ending::Interrupted);
    let text = &run.verdict.text;
    assert!(
        text.starts_with("unknown: ") && text.ends_with("(the same for all 2 clients)"),
        "{text}"
    );
    let run = merged(vec![stopped, failed]).unwrap();
    assert_eq!(run.measurement.ending, Ending::Failed(measure::Failure::new("1.json: gone")));
    assert_eq!(run.verdict.limited_by, LimitedBy::Unknown);
    let text = &run.verdict.text;
    assert!(text.contains("(0.json by something unknown; 1.json by errors)"), "{text}");
}
