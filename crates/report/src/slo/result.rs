//! Result of a target, for one run or for several, in the words of every layout.

use serde::{Serialize, Serializer};

use super::{Bound, Judgement, Measure, Observation, Outcome, Slo};
use crate::{Summary, resting};

/// A target compared with measurements.
#[derive(Debug, Clone, Serialize)]
pub struct SloResult {
    /// The target.
    #[serde(serialize_with = "text")]
    pub slo: Slo,
    /// Judgement of the target.
    #[serde(flatten)]
    pub judgement: Judgement,
    /// Measured values for each clause, even if nothing is judged.
    #[serde(skip)]
    bounds: Vec<Bound>,
    /// The requests that were answered.
    #[serde(skip)]
    samples: u64,
}

fn text<S: Serializer>(slo: &Slo, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&slo.text)
}

/// A clause of a target, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClauseResult {
    /// Name, such as `p99 < 2 ms`.
    pub name: String,
    /// Outcome of the clause.
    pub outcome: Outcome,
    /// Measured value, such as `1.31 ms`, with the mark of a percentile of few samples.
    pub value: String,
}

impl Summary<'_> {
    /// Computes the result of the run's target, if there is one.
    pub fn target(&self) -> Option<SloResult> {
        self.run.slo.as_ref().map(|slo| SloResult::of_run(slo, self))
    }
}

impl Outcome {
    /// Returns the outcome in a word or two.
    pub fn word(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Missed => "missed",
            Self::Undecided => "undecided",
            Self::Void => "not judged",
        }
    }
}

impl SloResult {
    /// Makes the result of one run.
    fn of_run(slo: &Slo, summary: &Summary<'_>) -> Self {
        Self::of_trials(slo, &[Observation::of_summary(slo, summary)])
    }

    /// Makes the joint result of several runs, without void ones.
    pub fn of_trials(slo: &Slo, trials: &[Observation]) -> Self {
        let valid: Vec<&Observation> = trials.iter().filter(|trial| !trial.is_void()).collect();
        let judgement = slo.judge(&trials.iter().collect::<Vec<_>>());
        let shown = if valid.is_empty() { trials.iter().collect() } else { valid };
        let samples = shown.iter().map(|trial| trial.samples()).sum();
        let bounds =
            if judgement.bounds.is_empty() { slo.bounds(&shown) } else { judgement.bounds.clone() };
        Self { slo: slo.clone(), judgement, bounds, samples }
    }

    /// Returns the outcome of the target.
    pub fn outcome(&self) -> Outcome {
        self.judgement.outcome
    }

    /// Results of the clauses. A single clause has the outcome of the whole, which includes the schedule.
    pub fn clauses(&self) -> Vec<ClauseResult> {
        let whole = self.outcome();
        let clauses = self.bounds.iter().map(|bound| ClauseResult {
            name: bound.clause.name(),
            outcome: match whole {
                Outcome::Void => whole,
                _ if self.bounds.len() == 1 => whole,
                _ => bound.outcome,
            },
            value: self.value(bound),
        });
        clauses.collect()
    }

    /// Value of a clause, with its mark.
    fn value(&self, bound: &Bound) -> String {
        let value = bound.clause.describe(bound.value);
        match bound.clause.measure {
            Measure::Quantile(_) | Measure::Mean | Measure::Max if self.samples == 0 => {
                "no reply to measure".to_owned()
            }
            Measure::Quantile(quantile) => resting::marked(value, quantile, self.samples),
            _ => value,
        }
    }

    /// Short form, such as `p99<2ms kept (1.31 ms)`.
    pub fn short(&self) -> String {
        let values: Vec<String> = self.bounds.iter().map(|bound| self.value(bound)).collect();
        format!("{} {} ({})", self.slo.text, self.outcome().word(), values.join(", "))
    }

    /// Sentence, such as `p99<2ms: missed: p99 3.2 ms (95 % interval 3.1 ms to 3.4 ms)`.
    pub fn sentence(&self) -> String {
        let Judgement { outcome, why, .. } = &self.judgement;
        let measured = || {
            let values = self.bounds.iter();
            let values = values.map(|b| format!("{} {}", b.clause.measure, self.value(b)));
            values.collect::<Vec<_>>().join(", ")
        };
        let what = match outcome {
            Outcome::Kept => format!("kept ({})", measured()),
            Outcome::Missed => format!("missed: {why}"),
            Outcome::Undecided => {
                let certain = &self.judgement.certain;
                let certain = certain.iter().map(|text| format!("; {text}")).collect::<String>();
                format!("undecided: {why}{certain}; {}", self.remedy())
            }
            Outcome::Void => format!("not judged ({}): {why}", measured()),
        };
        format!("{}: {what}", self.slo.text)
    }

    /// Returns advice that would lead to a decision.
    fn remedy(&self) -> String {
        if let Some(disturbance) = &self.judgement.disturbance {
            return format!("to decide it, {}", disturbance.remedy());
        }
        let needed = self.slo.requests_min();
        if self.samples < needed {
            format!(
                "{} requests are too few, use {} or more",
                crate::grouped(self.samples as f64),
                crate::grouped(needed as f64)
            )
        } else {
            "use a longer run, or --repeat".to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn held(target: &str, run: &crate::Run) -> SloResult {
        SloResult::of_run(&Slo::parse(target).unwrap(), &Summary::from_run(run))
    }

    #[test]
    fn requests_that_fail_keep_no_target() {
        let mut run = fixture::complete();
        let requests = Summary::from_run(&run).requests;
        (0..requests).for_each(|_| run.measurement.total.errors.add("ERR", "ERR x"));
        let missed = held("p50<10s", &run);
        let why = format!(
            "{} of {} requests failed",
            crate::grouped(requests as f64),
            crate::grouped(2.0 * requests as f64)
        );
        assert_eq!((missed.outcome(), &missed.judgement.why), (Outcome::Missed, &why));
        assert_eq!(held("p50<10s & errors<60%", &run).outcome(), Outcome::Kept);
        assert_eq!(held("errors<40%", &run).outcome(), Outcome::Missed);
        let mut run = fixture::complete();
        run.measurement.total.connections.lost = requests;
        assert_eq!(
            held("errors<1%", &run).outcome(),
            Outcome::Missed,
            "lost requests are failed ones"
        );
        assert_eq!(held("mean<10s", &run).outcome(), Outcome::Missed);
    }

    #[test]
    fn a_target_is_kept_or_missed_with_what_was_measured() {
        let run = fixture::complete();
        let kept = held("p50<10s", &run);
        assert_eq!(kept.outcome(), Outcome::Kept);
        assert!(kept.short().starts_with("p50<10s kept ("), "{}", kept.short());
        assert!(kept.sentence().starts_with("p50<10s: kept (p50 "), "{}", kept.sentence());
        assert_eq!(kept.clauses()[0].name, "p50 < 10 s");
        let missed = held("p50<1ns", &run);
        assert_eq!(missed.outcome(), Outcome::Missed);
        assert!(missed.sentence().starts_with("p50<1ns: missed: p50 "), "{}", missed.sentence());
    }

    #[test]
    fn no_other_program_is_to_blame_for_a_bound_that_the_quickest_reply_misses() {
        let mut run = fixture::open_loop();
        run.measurement.elapsed_ns = run.plan.scheduled_ns(u64::MAX).unwrap();
        fixture::use_cpu(&mut run, (0.3, 0.001), (0.4, 0.5));
        for target in ["max<1ns", "p99<1ns", "mean<1ns"] {
            assert_eq!(held(target, &run).outcome(), Outcome::Missed, "{target}");
        }
        // One that some replies keep may have been missed because of them.
        let max_ns = Summary::from_run(&run).response.max_ns;
        let reachable = held(&format!("max<{}ns", max_ns - 1), &run);
        assert_eq!(reachable.outcome(), Outcome::Undecided, "{reachable:?}");
        assert!(reachable.sentence().contains("other programs held the CPU"), "{reachable:?}");
    }

    #[test]
    fn a_percentile_of_too_few_samples_is_marked_and_undecided() {
        let thin = held("p99.99<10s", &fixture::complete());
        assert_eq!(thin.outcome(), Outcome::Undecided);
        assert!(thin.clauses()[0].value.ends_with('*'), "{:?}", thin.clauses());
        assert!(thin.sentence().contains("too few, use 100,000 or more"), "{}", thin.sentence());
    }

    #[test]
    fn several_clauses_have_an_outcome_each_and_all_must_hold() {
        let both = held("p50<10s & mean<1ns", &fixture::complete());
        let outcomes: Vec<Outcome> = both.clauses().iter().map(|clause| clause.outcome).collect();
        assert_eq!(outcomes, [Outcome::Kept, Outcome::Missed]);
        assert_eq!(both.outcome(), Outcome::Missed);
    }
}
