use measure::statistics::Noise;

use super::*;
use crate::slo::Slo;

/// A trial of spans with a thousand requests each, this many of which took 10 ms and the others 1 ms.
fn trial(slow: &[u64]) -> (ClauseEvidence, Latency) {
    let mut response = Latency::new(3);
    for slow in slow {
        response.record_n(10_000_000, *slow);
        response.record_n(1_000_000, 1000 - slow);
    }
    (ClauseEvidence::Beyond(slow.iter().map(|slow| (*slow, 1000)).collect()), response)
}

fn bound(target: &str, trials: &[(ClauseEvidence, Latency)]) -> Bound {
    let clause = Slo::parse(target).unwrap().clauses.swap_remove(0);
    let trial = |(seen, response)| ClauseTrial { seen, left: seen, recorded: None, response };
    clause.bound(&trials.iter().map(|(seen, response)| trial((seen, response))).collect::<Vec<_>>())
}

#[test]
fn an_interval_above_the_target_is_missed_and_one_below_is_kept() {
    let of = |trials: &[&[u64]]| {
        let trials: Vec<_> = trials.iter().map(|slow| trial(slow)).collect();
        bound("p99<2ms", &trials)
    };
    let (good, bad): (&[u64], &[u64]) = (&[0, 1, 0, 2], &[300, 310, 290, 300]);
    let kept = of(&[good, good, good]);
    assert_eq!(kept.outcome, Outcome::Kept);
    assert!(kept.high.is_some_and(|high| high < 2e6), "{kept:?}");
    // Half of the runs were bad, which no chance explains: so were 10 of 20, whatever the others did.
    let half = of(&[good, bad, bad, good]);
    assert_eq!(half.outcome, Outcome::Missed, "{half:?}");
    assert!(half.value > 2e6 && half.low.is_some_and(|low| low > 2e6), "{half:?}");
    let text = half.describe();
    assert!(text.starts_with("p99 10") && text.contains("(95 % interval from 10"), "{text}");
    // One bad run among several is no rate's fault, and the interval says so.
    for all in [&[good, bad][..], &[good, bad, good], &[bad, good, good, good, good, good]] {
        let one = of(all);
        assert_eq!(one.outcome, Outcome::Undecided, "{one:?}");
        assert!(one.low.is_none_or(|low| low < 2e6), "{one:?}");
    }
    assert_eq!(of(&[bad]).outcome, Outcome::Missed);
}

#[test]
fn a_mean_is_not_below_the_quickest_reply_however_far_spans_differ() {
    let (_, response) = trial(&[0, 1000]);
    let apart = (ClauseEvidence::Means([1e6, 10e6].to_vec()), response.clone());
    assert_eq!(bound("mean<1ns", std::slice::from_ref(&apart)).outcome, Outcome::Missed);
    assert_eq!(bound("mean<2ms", &[apart]).outcome, Outcome::Undecided);
}

#[test]
fn the_interval_that_is_shown_and_the_outcome_never_differ() {
    let mut noise = Noise::new(3);
    let mut seen = [0; 3];
    for target in ["p99<2ms", "p90<2ms", "errors<1%", "mean<1.2ms"] {
        for _ in 0..500 {
            let trials = 1 + (noise.uniform() * 5.0) as usize;
            let rate = noise.uniform().powi(4);
            let trials: Vec<_> = (0..trials)
                .map(|_| {
                    let bad = if noise.uniform() < 0.3 { 4.0 } else { 1.0 };
                    let slow = |noise: &mut Noise| (rate * bad * noise.uniform() * 1000.0) as u64;
                    let slow: Vec<u64> = (0..4).map(|_| slow(&mut noise).min(1000)).collect();
                    let (seen, response) = trial(&slow);
                    if target.starts_with("mean") {
                        let means = slow.iter().map(|slow| 1e6 + *slow as f64 * 9e3);
                        (ClauseEvidence::Means(means.collect()), response)
                    } else {
                        (seen, response)
                    }
                })
                .collect();
            let bound = bound(target, &trials);
            let below = bound.clause.below;
            let expected = match (bound.low, bound.high) {
                (_, Some(high)) if high < below => Outcome::Kept,
                (Some(low), _) if low >= below => Outcome::Missed,
                _ => Outcome::Undecided,
            };
            assert_eq!(bound.outcome, expected, "{bound:?}");
            let within = bound.low.is_none_or(|low| low <= bound.value)
                && bound.high.is_none_or(|high| bound.value <= high);
            assert!(within, "{bound:?}");
            let at = [Outcome::Kept, Outcome::Missed, Outcome::Undecided];
            seen[at.iter().position(|outcome| *outcome == expected).unwrap()] += 1;
        }
    }
    assert!(seen.iter().all(|count| *count > 100), "{seen:?}");
}
