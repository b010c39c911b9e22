//! Effects of noise on a comparison, and their limits.

use std::sync::Arc;

use measure::statistics::Noise;

use super::tests::{compared, comparison, glances};
use super::*;
use crate::{Failures, Figures, LimitedBy, Summary};

/// The interval alone decides: one wholly beyond 1 is a difference, however wide it is, and none is
/// "unsteady".
#[test]
fn an_interval_alone_decides_what_a_row_says() {
    let (a, b) = (glances(4, 1e5, 0.01, 1), glances(4, 1e5, 0.01, 2));
    let of_test = compared(Pairing::Blocks, &a, &b);
    let mut noise = Noise::new(3);
    for at in 0..10_000 {
        let metric = [Metric::P99, Metric::Throughput][at % 2];
        let mut row = of_test.row(metric).unwrap().clone();
        let spread = if at % 3 == 0 { 0.05 } else { 4.0 };
        let mut ends = [(); 2].map(|()| (spread * noise.normal()).exp());
        ends.sort_by(f64::total_cmp);
        let [low, high] = ends;
        row.ratio.ratio = (low * high).sqrt();
        row.ratio.interval = Some(measure::statistics::Interval { low, high });
        let is_lower_better = metric == Metric::P99;
        let expected = match () {
            () if low > 1.0 => {
                if is_lower_better {
                    "worse"
                } else {
                    "better"
                }
            }
            () if high < 1.0 => {
                if is_lower_better {
                    "better"
                } else {
                    "worse"
                }
            }
            () if low >= 1.0 / 1.05 && high <= 1.05 => "alike",
            () => "undecided",
        };
        let said = verdict(&row);
        assert!(said.starts_with(expected), "{low} {high}: {said}");
        assert!(row.describe_interval().len() <= 15 && row.describe_interval().contains(" to "));
        assert_eq!(row.is_worse(20.0), if is_lower_better { low > 1.2 } else { high < 0.8 });
        assert!(!row.is_worse(20.0) || said.starts_with("worse"), "{low} {high}: {said}");
    }
}

#[test]
fn noise_is_told_by_whether_the_runs_took_turns() {
    let noisy = |seed| {
        let mut runs = glances(4, 1e5, 0.3, seed);
        for run in &mut runs {
            run.limited_by = LimitedBy::Contention;
            run.held.share = 0.4;
        }
        runs
    };
    let said = |pairing| {
        let test = compared(pairing, &noisy(1), &noisy(2));
        assert!(test.is_open());
        (test.cautions().join("; "), noise(&comparison(vec![test], None)))
    };
    let (cautions, told) = said(Pairing::Blocks);
    assert!(
        cautions.is_empty() && told.unwrap().contains("40 % of the time, in turn on all sides")
    );
    let (cautions, told) = said(Pairing::None);
    assert!(cautions.contains("not made in turn") && told.is_none(), "{cautions}");
}

#[test]
fn void_blocks_do_not_count_but_for_what_failed_in_them() {
    use crate::Cause;
    let (a, b) = (glances(10, 1e5, 0.004, 1), glances(10, 1e5, 0.004, 2));
    let late = [Cause::ClientLate; 6];
    // As many as there may be: what counts is judged all the same.
    let test = compared(Pairing::Blocks, &a, &b).with_void(&late, [&a, &b]);
    assert_eq!(test.refused, None);
    assert_eq!(test.sides.each_ref().map(|side| side.runs), [10, 10]);
    let void = test.describe_void().unwrap();
    assert!(
        void.starts_with("6 blocks were void and taken again, as the client did not"),
        "{void}"
    );
    let nothing = compared(Pairing::Blocks, &[], &[]).with_void(&late, [&a, &b]);
    assert_eq!(nothing.refused.as_ref().map(|refused| refused.kind), Some(RefusalKind::Void));
    let gate = comparison(vec![nothing], Some(5.0)).gate().unwrap();
    assert_eq!(gate.state, GateState::Undecided);
    // Noise makes no error: a server that fails in a void block fails.
    let failed = b.iter().cloned().map(|mut glance| {
        glance.failures = Failures { asked: 2000, failed: 2000 };
        glance
    });
    let failing: Vec<RunDigest> = failed.collect();
    let test = compared(Pairing::Blocks, &[], &[]).with_void(&late, [&a, &failing]);
    assert_eq!(test.refused.as_ref().map(|refused| refused.kind), Some(RefusalKind::Failures));
    assert_eq!(comparison(vec![test], Some(5.0)).gate().unwrap().state, GateState::Failed);
}

/// Runs whose second side uses this much more CPU per request, at a meaningless throughput.
fn costing(more: f64) -> TestComparison {
    let wild = |glances: Vec<RunDigest>, factor: f64| -> Vec<RunDigest> {
        let glances = glances.into_iter().enumerate().map(|(at, mut glance)| {
            let mut run = (*glance.run).clone();
            for server in &mut run.watched.servers {
                // What a request costs does not waver with the time that all took together.
                let steady =
                    (1.0 + 0.001 * (at % 3) as f64) * 2e7 / run.measurement.elapsed_ns as f64;
                server.cpu_process_s = server.cpu_process_s.map(|s| s * factor * steady);
                server.cpu_main_s = server.cpu_main_s.map(|s| s * factor * steady);
            }
            glance.figures = Figures::from_summary(&Summary::from_run(&run));
            glance.run = Arc::new(run);
            glance
        });
        glances.collect()
    };
    let a = wild(glances(16, 1e5, 0.2, 1), 1.0);
    let b = wild(glances(16, 1e5, 0.2, 2), 1.0 + more);
    compared(Pairing::Blocks, &a, &b)
}

#[test]
fn server_cpu_stands_in_the_headline_and_in_the_gate_where_throughput_says_nothing() {
    let test = costing(0.1);
    let headline = test.headline();
    assert!(headline.starts_with("undecided: the runs do not show"), "{headline}");
    assert!(
        headline.contains("; second is worse: its server CPU per request is 10."),
        "{headline}"
    );
    assert!(!costing(0.0).headline().contains("server CPU"));
    let gate = |test: TestComparison, watched: &[Metric]| {
        let watched = watched.to_vec();
        Comparison { watched, ..comparison(vec![test], Some(5.0)) }.gate().unwrap().state
    };
    assert_eq!(gate(test.clone(), &WATCHED), GateState::Undecided);
    assert_eq!(gate(test.clone(), &[Metric::ServerCpu]), GateState::Failed);
    assert_eq!(gate(costing(0.0), &[Metric::ServerCpu]), GateState::Passed);
    // A figure that nobody measured passes no gate.
    assert_eq!(gate(test, &[Metric::Keys]), GateState::Undecided);
}
