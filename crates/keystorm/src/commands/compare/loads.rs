//! The loads of a comparison, and their results on every server.

use anyhow::{Result, anyhow};
use cli::compare::{CompareJob, ComparedLoad, LiveSides};
use lab::terms::{Pins, pinned};
use report::compare::{
    Candidate, ClauseValue, ComparedTest, Pairing, Question, RunDigest, Setup, TargetState,
    TestComparison,
};
use report::slo::{Bound, Measure, Observation, Outcome, Slo};
use report::{CountUnit, Metric};
use workload::Plan;

use super::blocks::{Load, Taken, looks};

/// The loads, with separate CPUs for servers and client if `pins` has some.
pub(super) fn placed(loads: &[ComparedLoad], pins: Option<&Pins>) -> Result<Vec<ComparedLoad>> {
    let placed = |plan: &Plan| pinned(plan, pins).map_err(|why| anyhow!(why));
    let all = |plans: &[Plan]| plans.iter().map(placed).collect::<Result<Vec<Plan>>>();
    let loads = loads.iter().map(|load| {
        let (name, at_rate) = (load.name.clone(), load.at_rate.clone());
        Ok(ComparedLoad { name, at_rate, plans: all(&load.plans)?, limits: all(&load.limits)? })
    });
    loads.collect()
}

/// A load in blocks.
fn load_of(name: String, plans: &[Plan]) -> Load {
    Load { name, sides: plans.iter().map(|plan| vec![plan.clone()]).collect() }
}

/// A load, and its number among those of the comparison.
pub(super) type NumberedLoad = (usize, Load);

/// Loads at their requested rates.
pub(super) fn as_asked(loads: &[ComparedLoad]) -> Vec<Load> {
    loads.iter().map(|load| load_of(load.whole_name(), &load.plans)).collect()
}

/// Loads at full speed, as far as they are needed.
pub(super) fn at_limit(loads: &[ComparedLoad]) -> Vec<NumberedLoad> {
    let limited = loads.iter().enumerate().filter(|(_, load)| !load.limits.is_empty());
    limited
        .map(|(at, load)| (at, load_of(format!("{} as fast as it goes", load.name), &load.limits)))
        .collect()
}

/// Runs of every load so far.
#[derive(Debug, Clone, Default)]
pub(super) struct AllTaken {
    /// Runs of the loads at their requested rates.
    pub(super) asked: Vec<Taken>,
    /// Runs at full speed.
    pub(super) limits: Vec<Taken>,
    /// Bytes of memory that each server used before it ran at full speed.
    pub(super) memory: Vec<Option<u64>>,
}

/// The loads, and the rules for judging their runs.
#[derive(Clone, Copy)]
pub(super) struct Judge<'j> {
    pub(super) job: &'j CompareJob,
    pub(super) sides: &'j LiveSides,
    pub(super) loads: &'j [ComparedLoad],
    pub(super) names: &'j [String],
}

impl Judge<'_> {
    /// The tests of all loads that were begun.
    pub(super) fn tests(self, all: &AllTaken) -> Vec<ComparedTest> {
        let begun = (0..self.loads.len()).filter(|at| !all.asked[*at].is_empty());
        begun.map(|at| self.test(at, all)).collect()
    }

    /// The test of a load.
    pub(super) fn test(self, at: usize, all: &AllTaken) -> ComparedTest {
        let (load, taken) = (&self.loads[at], &all.asked[at]);
        let pairs = (1..self.names.len()).map(|side| self.pair(at, taken, side));
        let question = self.sides.decides.then(|| {
            // Several rates of a load have one limit.
            let first = self.loads.iter().position(|of| of.name == load.name).unwrap_or_default();
            let limit = all.limits.get(first).cloned().unwrap_or_default();
            let mut question = self.question(load, taken, &limit);
            for (candidate, bytes) in question.candidates.iter_mut().zip(&all.memory) {
                // Memory of a process is comparable; memory that a server counts is not.
                candidate.memory_bytes = bytes.or(candidate.memory_bytes);
            }
            question
        });
        ComparedTest { name: load.whole_name(), pairs: pairs.collect(), question }
    }

    /// The comparison of a server with the first, on the load of this number.
    pub(super) fn pair(self, at: usize, taken: &Taken, side: usize) -> TestComparison {
        let load = &self.loads[at];
        let names = [0, side].map(|side| self.names[side].clone());
        let others = self.names.len() - 1;
        let setup = Setup::new(&load.plans[0], names, Pairing::Blocks, self.job.errors_allowed)
            .among(self.loads.len() * others, looks(self.job));
        let [first, other] = [0, side].map(|side| of_side(&taken.runs, side));
        let pair = TestComparison::new(&load.whole_name(), &setup, &first, &other)
            .with_void(&taken.void, taken.void_runs_of(0, side));
        // A target is judged by all requests together, and one figure has one value in a report.
        if self.sides.decides { pair.pooled() } else { pair }
    }

    fn question(self, load: &ComparedLoad, taken: &Taken, limit: &Taken) -> Question {
        let plan = &load.plans[0];
        let rate_rps = plan.load.pace.schedule().and_then(|schedule| schedule.rate_per_s());
        let candidates = self.names.iter().enumerate().map(|(side, name)| {
            let (mut runs, limit) = (of_side(&taken.runs, side), of_side(&limit.runs, side));
            if runs.is_empty() {
                runs = of_side(&taken.void_runs, side);
            }
            let mut candidate = Candidate::new(name, &runs, &limit);
            if let Some(slo) = &self.sides.slo {
                judge(&mut candidate, slo, &trials(slo, &runs, self.job.repeats_void));
            }
            candidate
        });
        Question {
            name: load.name.clone(),
            unit: CountUnit::from_plan(plan),
            rate_rps: rate_rps.map(|rate| plan.own_rate_per_s(rate)),
            candidates: candidates.collect(),
        }
    }
}

/// The runs of a side, if there are any.
fn of_side(runs: &[Vec<RunDigest>], side: usize) -> Vec<RunDigest> {
    runs.get(side).cloned().unwrap_or_default()
}

/// Returns the observations of each run; with `--disturbed=count`, regardless of disturbances.
fn trials(slo: &Slo, runs: &[RunDigest], leaves_out_void: bool) -> Vec<Observation> {
    let observations = runs.iter().map(|glance| match Observation::new(slo, glance.run()) {
        observation if leaves_out_void => observation,
        observation => observation.undisturbed(),
    });
    observations.collect()
}

/// Judges whether a server meets the target, over all of its runs.
fn judge(candidate: &mut Candidate, slo: &Slo, trials: &[Observation]) {
    let judgement = slo.judge(&trials.iter().collect::<Vec<_>>());
    let is_measured = |bound: &Bound| {
        bound.clause.measure == Measure::Errors || candidate.figures.get(Metric::P50).is_some()
    };
    let clause = |bound: &Bound| ClauseValue {
        clause: bound.clause.to_string(),
        mean: is_measured(bound).then_some(bound.value),
        interval: bound.low.zip(bound.high).map(|(low, high)| [low, high]),
        below: bound.clause.below,
        measure: bound.clause.measure.to_string(),
        is_latency: bound.clause.measure.is_latency(),
    };
    candidate.clauses = judgement.bounds.iter().map(clause).collect();
    candidate.why = judgement.why;
    let judged = trials.iter().filter(|trial| !trial.is_void()).count();
    candidate.kept = Some(match judgement.outcome {
        // A few runs of many that missed it are no answer for all of them.
        Outcome::Missed if judged * 2 < trials.len() => {
            candidate.why =
                format!("only {judged} of {} runs can be judged: {}", trials.len(), candidate.why);
            TargetState::Undecided
        }
        Outcome::Kept => TargetState::Yes,
        Outcome::Missed => TargetState::No,
        Outcome::Undecided => TargetState::Undecided,
        Outcome::Void => TargetState::Void,
    });
}
