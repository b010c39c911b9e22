//! Comparisons of runs in which requests failed.

use super::tests::{compared, comparison, glances, setup};
use super::*;
use crate::Failures;

/// Runs with this many failures of 2,000 requests.
fn failing(failed: u64) -> Vec<RunDigest> {
    let failed = glances(10, 100_000.0, 0.004, 1).into_iter().map(|mut glance| {
        glance.failures = Failures { asked: 2000, failed };
        glance
    });
    failed.collect()
}

#[test]
fn a_side_whose_requests_fail_has_no_ratio_and_passes_no_gate() {
    for (failed, description) in [(2000, "100.0 %"), (1000, "50.0 %"), (3, "0.150 %")] {
        for sides in [[failing(0), failing(failed)], [failing(failed), failing(0)]] {
            let test = compared(Pairing::Blocks, &sides[0], &sides[1]);
            let name = if test.sides[0].failures.failed > 0 { "first" } else { "second" };
            let comparison = comparison(vec![test.clone()], Some(5.0));
            let refused = test.refused.as_ref().unwrap();
            assert_eq!(refused.kind, RefusalKind::Failures);
            let output = format!(
                "no ratio: {description} of the requests to {name} failed, and at most 0.1 %"
            );
            assert!(refused.text.starts_with(&output), "{refused:?}");
            let notes = notes(&comparison);
            assert_eq!(notes, [format!("Gate failed: SET: {}.", refused.text)]);
            let json: serde_json::Value =
                serde_json::from_str(&to_json(&comparison).unwrap()).unwrap();
            let test = &json["tests"][0];
            let other = &test["servers"][1];
            assert!(other["not_told_because"].as_str().unwrap().contains(description), "{test}");
            assert!(other["figures"]["throughput_rps"]["is_better"].is_null(), "{test}");
            let side = usize::from(name == "second");
            let percent = failed as f64 / 20.0;
            assert_eq!(test["servers"][side]["failed_percent"].as_f64(), Some(percent), "{test}");
        }
    }
}

#[test]
fn failures_within_what_is_allowed_are_reported_and_nothing_is_refused() {
    let test = compared(Pairing::Blocks, &failing(0), &failing(1));
    assert_eq!(test.refused, None);
    let allowed = Setup { errors_allowed: 50.0, ..setup(Pairing::Blocks) };
    let test = TestComparison::new("SET", &allowed, &failing(0), &failing(1000));
    assert_eq!(test.refused, None);
}
