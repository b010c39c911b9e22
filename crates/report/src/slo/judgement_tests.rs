//! Joint judgements of trials, by the number that count.

use super::*;
use crate::fixture;
use crate::verdict::Cause;

/// A trial that misses this target, whatever the noise.
fn missed(slo: &Slo) -> Observation {
    let trial = Observation::new(slo, &fixture::open_loop());
    assert!(trial.has_missed_for_sure(slo) && !trial.is_void());
    trial
}

fn void(of: &Observation) -> Observation {
    let disturbance =
        Disturbance { cause: Cause::CpuShared, evidence: Vec::new(), text: String::new() };
    Observation { void: Some(disturbance), ..of.clone() }
}

#[test]
fn one_trial_of_three_or_more_misses_no_target() {
    let slo = Slo::parse("p50<1ns").unwrap();
    let missed = missed(&slo);
    let (void, noisy) = (void(&missed), Observation { is_by_noise: true, ..missed.clone() });
    let outcome = |trials: &[&Observation]| slo.judge(trials).outcome;
    assert_eq!(outcome(&[&missed]), Outcome::Missed, "all there is");
    assert_eq!(outcome(&[&missed, &void]), Outcome::Missed, "half of them");
    for others in [&void, &noisy] {
        assert_eq!(outcome(&[&missed, others, others]), Outcome::Undecided);
        assert_eq!(outcome(&[others, others, others, &missed]), Outcome::Undecided);
        assert_eq!(outcome(&[&missed, others, &missed]), Outcome::Missed, "two of them");
    }
    assert_eq!(outcome(&[&void, &void, &void]), Outcome::Void);
    let kept = Slo::parse("p50<10s").unwrap();
    let trial = Observation { misses: Vec::new(), ..Observation::new(&kept, &fixture::complete()) };
    let (void, trials) = (self::void(&trial), &trial);
    assert_eq!(kept.judge(&[trials, &void, &void]).outcome, Outcome::Kept, "noise makes none kept");
}
