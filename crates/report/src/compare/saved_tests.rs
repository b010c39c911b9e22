//! Comparisons of saved runs: grouping of runs, and refusals.

use measure::Ending;
use workload::PlanParts;

use super::*;
use crate::{LoadedRecord, Repeat, fixture};

fn loaded(runs: Vec<crate::Run>) -> LoadedRecord {
    LoadedRecord { runs, suite: true, complete: true }
}

fn repeats(of: u32, change: impl Fn(&mut PlanParts)) -> Vec<crate::Run> {
    let mut parts = fixture::parts();
    change(&mut parts);
    let mut runs = crate::repeats::tests::runs(of);
    for run in &mut runs {
        run.plan = parts.clone().build().unwrap();
    }
    runs
}

#[test]
fn saved_runs_compare_by_their_repeats() {
    let elsewhere = |parts: &mut PlanParts| {
        parts.target.endpoint = workload::Endpoint::Unix("/tmp/s".into());
        parts.load.seed = 9;
    };
    let (a, b) = (loaded(repeats(3, |_| ())), loaded(repeats(4, elsewhere)));
    let comparison =
        of_saved(["a.json", "b.json"], &a, &b, &[], tests::comparison(Vec::new(), None)).unwrap();
    assert_eq!(
        (comparison.tests.len(), comparison.tests[0].pairs[0].sides.each_ref().map(|s| s.runs)),
        (1, [3, 4])
    );
    assert!(comparison.warnings.iter().any(|w| w.contains(" is reached over ")));
    let throughput = comparison.tests[0].pairs[0].row(Metric::Throughput).unwrap();
    let interval = throughput.ratio.interval.unwrap();
    // Runs that were not made in turn carry another hour of the machine, however alike they are.
    assert!(interval.holds(1.0) && interval.high > 1.02 && interval.low < 0.98, "{interval:?}");
    let mut broken = repeats(3, |_| ());
    broken[2].measurement.ending = Ending::Interrupted;
    let comparison = of_saved(
        ["a.json", "b.json"],
        &loaded(broken),
        &b,
        &[],
        tests::comparison(Vec::new(), None),
    )
    .unwrap();
    assert_eq!(comparison.tests[0].pairs[0].sides.each_ref().map(|side| side.runs), [2, 4]);
    assert!(
        comparison
            .warnings
            .iter()
            .any(|w| w.contains("a.json: SET: 1 run that did not complete is left out"))
    );
}

#[test]
fn apples_and_pears_are_refused_and_every_difference_is_named() {
    let error = |b: Vec<crate::Run>| {
        let a = loaded(repeats(3, |_| ()));
        of_saved(["a.json", "b.json"], &a, &loaded(b), &[], tests::comparison(Vec::new(), None))
            .map(|_| ())
            .unwrap_err()
            .to_string()
    };
    let refused = error(repeats(3, |parts| {
        parts.load.concurrency.pipeline_depth = 16;
        parts.target.tracking = true;
        parts.asked.insert("enable-tracking".to_owned(), true.into());
        parts.load.seed = 7;
    }));
    assert!(refused.contains("-P is not given in a.json and 16 in b.json"), "{refused}");
    assert!(
        refused.contains("--enable-tracking is not given in a.json and given in b.json"),
        "{refused}"
    );
    assert!(!refused.contains("seed"), "{refused}");
    let other = error(repeats(3, |parts| parts.name = "GET".into()));
    assert!(other.contains("a.json has the tests SET, but b.json has GET"), "{other}");
    let mut mixed = repeats(3, |_| ());
    mixed[1].plan = repeats(1, |parts| parts.recording.precision = 2)[0].plan.clone();
    assert!(error(mixed).contains("repeats of the test SET differ"));
    let mut failed = repeats(2, |_| ());
    failed
        .iter_mut()
        .for_each(|run| run.measurement.ending = Ending::Failed(measure::Failure::new("gone")));
    assert!(error(failed).contains("every test failed"));
    let single: Vec<_> = repeats(2, |_| ())
        .into_iter()
        .map(|run| crate::Run { repeat: Some(Repeat { number: 1, of: 2 }), ..run })
        .collect();
    assert!(error(single).contains("b.json has SET, SET"));
}
