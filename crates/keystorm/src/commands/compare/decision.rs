//! Carrying out a decision between several servers: the load at the rate that was asked for, then as fast as
//! it goes.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Result, anyhow};
use console::diagnostics;
use job::{CompareJob, ComparedLoad, End, LiveSides};
use lab::terms::{Pins, pinned};
use page::Page;
use report::compare::{
    self, Comparison, GateState, Pairing, RunDigest, Setup, Subject, TestComparison,
};
use report::decision::{self, Candidate, ClauseValue, Decision, Question, TargetState};
use report::slo::{Bound, Measure, Observation, Outcome, Slo};
use report::{CountUnit, Run, Warning, WarningKind};
use workload::Plan;

use super::blocks::{BlockResult, Blocks, Course, Load, Taken};
use super::test_beds::TestBeds;
use super::{describe_blocks, pins};
use crate::commands::run::say;
use crate::experiment::files::Files;
use crate::experiment::terminal::Terminal;

/// Blocks of a load as fast as it goes: four runs of a server that are all faster than four of another are so by
/// chance once in 70 times.
const LIMIT_BLOCKS: u32 = 2;

/// Decides, and prints the answer before what it rests on.
///
/// # Errors
/// What kept it from being done, in words for a person.
pub(super) fn run(
    sides: &LiveSides,
    job: &CompareJob,
    interrupted: &AtomicBool,
    files: &mut Files,
) -> Result<End> {
    let pins = pins(sides.places);
    let loads = placed(&sides.loads, pins.as_ref())?;
    let mut beds = super::reach(&loads, sides, job, interrupted)?;
    let mut subjects: Vec<Subject> = beds.iter().map(TestBeds::subject).collect();
    compare::name(&mut subjects, &job.names);
    let names: Vec<String> = subjects.iter().map(|subject| subject.name.clone()).collect();
    let blocks = describe_blocks(sides.blocks);
    let how = pins.as_ref().map_or(blocks.clone(), |of| format!("{blocks}. {}", of.description));
    let mut decision = Decision {
        target: sides.slo.as_ref().map(|slo| slo.text.clone()),
        subjects,
        how,
        complete: false,
        questions: Vec::new(),
        pairs: Vec::new(),
        warnings: Vec::new(),
        first: None,
    };
    let answered = |decision: &Decision, taken: &[Taken], limits: &[Taken], memory: &[_]| {
        answered(decision.clone(), (sides, job), &loads, (taken, limits), memory)
    };
    let none = vec![Taken::default(); loads.len()];
    let so_far = Decision { complete: true, ..decision.clone() };
    let mut is_open = |taken: &[Taken]| {
        let so_far = answered(&so_far, taken, &none, &[]);
        so_far.gate() == Some(GateState::Undecided) || so_far.is_open()
    };
    let mut first = |runs: &[Run]| {
        decision.warnings = beside(&names, runs);
        decision.first = runs.first().cloned().map(Arc::new);
    };
    let (numbered, at_limit) = (loads_at_rate(&loads), loads_at_limit(&loads));
    let limit_s: f64 = at_limit.iter().map(|(_, load)| load.block_s()).sum();
    let page = |taken: &[Taken]| {
        page::decision::page(&answered(&so_far, taken, &none, &[]), &job.command_line)
    };
    let mut at_rate = Series {
        course: super::course(job, sides.blocks),
        loads: loads.len(),
        after_s: limit_s * f64::from(LIMIT_BLOCKS),
        files,
        page: &page,
    };
    let (taken, ended) =
        at_rate.carry_out(&mut beds, &names, numbered, &mut is_open, &mut first)?;
    let memory: Vec<Option<u64>> = beds.iter().map(TestBeds::resident_bytes).collect();
    let page = |limits: &[Taken]| {
        page::decision::page(&answered(&so_far, &taken, limits, &memory), &job.command_line)
    };
    let course = Course { looks: 1, ..super::course(job, LIMIT_BLOCKS) };
    let mut limits = Series { course, loads: loads.len(), after_s: 0.0, files, page: &page };
    let (limits, end) = match ended {
        End::Complete => {
            limits.carry_out(&mut beds, &names, at_limit, &mut |_| false, &mut |_| ())?
        }
        end => (none.clone(), end),
    };
    decision.complete = end == End::Complete;
    let decision = answered(&decision, &taken, &limits, &memory);
    write(&decision, job, files)?;
    Ok(judged(&decision, job, end))
}

/// Returns how a decision ends that ended so: by its gate, and by what the runs do not say.
fn judged(decision: &Decision, job: &CompareJob, end: End) -> End {
    let tests = decision.pairs.iter().flat_map(|pair| &pair.tests);
    match super::judge(decision.gate(), super::any_broken(tests), job, end) {
        End::Complete if decision.is_open() => super::undecided(job, End::Complete),
        end => end,
    }
}

/// The decision with what was taken of each load, at its rate and as fast as it goes.
fn answered(
    mut decision: Decision,
    (sides, job): (&LiveSides, &CompareJob),
    loads: &[ComparedLoad],
    (taken, limits): (&[Taken], &[Taken]),
    memory: &[Option<u64>],
) -> Decision {
    let names: Vec<String> = decision.subjects.iter().map(|subject| subject.name.clone()).collect();
    for (load, taken) in loads.iter().zip(taken) {
        // Several rates of a load have one limit.
        let first = loads.iter().position(|of| of.name == load.name).unwrap_or_default();
        let limit = &limits[first];
        let mut question =
            question(load, &names, (taken, limit), sides.slo.as_ref(), job.repeats_void);
        for (candidate, bytes) in question.candidates.iter_mut().zip(memory) {
            // What a process holds is comparable; what a server counts is not.
            candidate.memory_bytes = bytes.or(candidate.memory_bytes);
        }
        decision.questions.push(question);
    }
    decision.pairs = pairs(&decision, job, loads, taken);
    decision
}

/// Prints the decision, and writes its file and its page where they are asked for.
fn write(decision: &Decision, job: &CompareJob, files: &Files) -> Result<()> {
    print(decision, job)?;
    let page = || page::decision::page(decision, &job.command_line);
    files.finish(|| decision::to_json(decision), page)
}

/// The loads, with servers and client on CPUs of their own where they have some.
pub(super) fn placed(loads: &[ComparedLoad], pins: Option<&Pins>) -> Result<Vec<ComparedLoad>> {
    let placed = |plan: &Plan| pinned(plan, pins).map_err(|why| anyhow!(why));
    let all = |plans: &[Plan]| plans.iter().map(placed).collect::<Result<Vec<Plan>>>();
    let load = |load: &ComparedLoad| {
        let (name, at_rate) = (load.name.clone(), load.at_rate.clone());
        Ok(ComparedLoad { name, at_rate, plans: all(&load.plans)?, limits: all(&load.limits)? })
    };
    loads.iter().map(load).collect()
}

/// A load, and its number among those of the decision.
type NumberedLoad = (usize, Load);

/// The loads at the rate that was asked for.
fn loads_at_rate(loads: &[ComparedLoad]) -> Vec<NumberedLoad> {
    let load = |load: &ComparedLoad| load_of(load.name.clone() + &load.at_rate, &load.plans);
    loads.iter().map(load).enumerate().collect()
}

/// Returns the loads as fast as they go, where that is to be known.
fn loads_at_limit(loads: &[ComparedLoad]) -> Vec<NumberedLoad> {
    let limited = loads.iter().enumerate().filter(|(_, load)| !load.limits.is_empty());
    let load = |(at, load): (usize, &ComparedLoad)| {
        (at, load_of(format!("{} as fast as it goes", load.name), &load.limits))
    };
    limited.map(load).collect()
}

pub(super) fn load_of(name: String, plans: &[Plan]) -> Load {
    Load { name, sides: plans.iter().map(|plan| vec![plan.clone()]).collect() }
}

/// Runs of the same kind.
struct Series<'s> {
    course: Course,
    /// Number of loads of the decision.
    loads: usize,
    /// Planned seconds of what comes after them.
    after_s: f64,
    files: &'s mut Files,
    /// The page of what was taken of each load so far.
    page: &'s dyn Fn(&[Taken]) -> Page,
}

impl Series<'_> {
    /// Carries out these loads: what was taken of each, and how it ended. `is_open` says whether more blocks are
    /// needed, `first` has the first run of each server.
    fn carry_out(
        &mut self,
        beds: &mut [TestBeds<'_>],
        names: &[String],
        loads: Vec<NumberedLoad>,
        is_open: &mut dyn FnMut(&[Taken]) -> bool,
        first: &mut dyn FnMut(&[Run]),
    ) -> Result<(Vec<Taken>, End)> {
        let mut all = vec![Taken::default(); self.loads];
        let (places, loads): (Vec<usize>, Vec<Load>) = loads.into_iter().unzip();
        if loads.is_empty() {
            return Ok((all, End::Complete));
        }
        let progress = self.files.page_progress();
        let mut tell = |result: BlockResult<'_>| {
            match result {
                BlockResult::First(runs) => first(runs),
                BlockResult::Block(taken) => self.files.show(|| {
                    let mut so_far = all.clone();
                    let begun = places.iter().zip(taken).filter(|(_, taken)| !taken.is_empty());
                    begun.for_each(|(at, taken)| so_far[*at] = taken.clone());
                    (self.page)(&so_far)
                }),
                BlockResult::Load(at, taken) => all[places[at]] = taken,
            }
            Ok(())
        };
        let blocks = Blocks::new(beds, names, &loads, self.course, progress);
        let end = blocks.before(self.after_s).carry_out(is_open, &mut tell)?;
        Ok((all, end))
    }
}

/// Returns what differs beside the servers, between the first and each other.
fn beside(names: &[String], runs: &[Run]) -> Vec<String> {
    let Some((first, others)) = runs.split_first() else { return Vec::new() };
    let mut found: Vec<String> = Vec::new();
    for (other, name) in others.iter().zip(&names[1..]) {
        found.extend(compare::beside(&[names[0].clone(), name.clone()], first, other));
    }
    found.dedup();
    let evicts = |warning: &&Warning| warning.kind == WarningKind::Evicted;
    for (run, name) in runs.iter().zip(names) {
        let of_run = run.warnings.iter().filter(evicts);
        found.extend(of_run.map(|warning| format!("{name}: {}", warning.text)));
    }
    found
}

fn question(
    load: &ComparedLoad,
    names: &[String],
    (taken, limit): (&Taken, &Taken),
    slo: Option<&Slo>,
    leaves_out_void: bool,
) -> Question {
    let candidate = |(side, name): (usize, &String)| {
        let (mut runs, limit) = (of_side(&taken.runs, side), of_side(&limit.runs, side));
        if runs.is_empty() {
            runs = of_side(&taken.void_runs, side);
        }
        let mut candidate = Candidate::new(name, &runs, &limit);
        if let Some(slo) = slo {
            judge(&mut candidate, slo, &trials(slo, &runs, leaves_out_void));
        }
        candidate
    };
    let plan = &load.plans[0];
    let rate_rps = plan.load.pace.schedule().and_then(|schedule| schedule.rate_per_s());
    Question {
        name: load.name.clone(),
        unit: CountUnit::from_plan(plan),
        rate_rps: rate_rps.map(|rate| plan.own_rate_per_s(rate)),
        candidates: names.iter().enumerate().map(candidate).collect(),
    }
}

/// The runs of a side, if there are any.
fn of_side(runs: &[Vec<RunDigest>], side: usize) -> Vec<RunDigest> {
    runs.get(side).cloned().unwrap_or_default()
}

/// Returns what each run shows; with `--disturbed=count`, whatever the machine did to it.
fn trials(slo: &Slo, runs: &[RunDigest], leaves_out_void: bool) -> Vec<Observation> {
    let of = |glance: &RunDigest| match Observation::new(slo, glance.run()) {
        observation if leaves_out_void => observation,
        observation => observation.undisturbed(),
    };
    runs.iter().map(of).collect()
}

/// Judges whether a server keeps the target, over all of its runs.
fn judge(candidate: &mut Candidate, slo: &Slo, trials: &[Observation]) {
    let judgement = slo.judge(&trials.iter().collect::<Vec<_>>());
    let is_measured =
        |bound: &Bound| bound.clause.measure == Measure::Errors || candidate.p50_ms.is_some();
    let clause = |bound: &Bound| ClauseValue {
        clause: bound.clause.to_string(),
        mean: is_measured(bound).then_some(bound.value),
        interval: bound.low.zip(bound.high).map(|(low, high)| [low, high]),
        below: bound.clause.below,
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

/// Compares each other server with the first.
fn pairs(
    decision: &Decision,
    job: &CompareJob,
    loads: &[ComparedLoad],
    taken: &[Taken],
) -> Vec<Comparison> {
    let Some((first, others)) = decision.subjects.split_first() else { return Vec::new() };
    let pair = |(side, other): (usize, &Subject)| {
        let names = [first.name.clone(), other.name.clone()];
        let tests = loads.iter().zip(taken).filter_map(|(load, taken)| {
            let (a, b) = (taken.runs.first()?, taken.runs.get(side)?);
            let plan = &load.plans[0];
            let setup = Setup::new(plan, names.clone(), Pairing::Blocks, job.errors_allowed)
                .among(loads.len() * others.len(), super::looks(job));
            let name = load.name.clone() + &load.at_rate;
            let test = TestComparison::new(&name, &setup, a, b)
                .with_void(&taken.void, taken.void_runs_of(0, side));
            Some(test.pooled())
        });
        Comparison {
            subjects: [first.clone(), other.clone()],
            how: decision.how.clone(),
            command_line: job.command_line.clone(),
            complete: decision.complete,
            tests: tests.collect(),
            warnings: Vec::new(),
            threshold: job.fail_on_regression,
            watched: job.watched.clone(),
            // Each other server is one more chance to be wrong.
            looks: super::looks(job) * decision.subjects.len().saturating_sub(1).max(1) as u32,
            errors_allowed: job.errors_allowed,
            terms: None,
            replayed: None,
        }
    };
    (1..).zip(others).map(pair).collect()
}

fn print(decision: &Decision, job: &CompareJob) -> Result<()> {
    let text = !matches!(job.output.format, "json" | "quiet" | "csv");
    for line in decision.gate_notes().iter().filter(|_| !text) {
        diagnostics::say(report::escape(line))?;
    }
    match job.output.format {
        "json" => say(&decision::to_json(decision)?).map(drop),
        "quiet" => {
            let curves = decision.curves();
            let lines = curves.iter().map(|curve| report::escape(curve.answer()) + "\n");
            say(&lines.collect::<String>()).map(drop)
        }
        "csv" => {
            let mut out = Vec::new();
            compare::write_csv_head(&mut out)?;
            for pair in &decision.pairs {
                let [first, second] = pair.names();
                for test in &pair.tests {
                    let name = format!("{}: {second} / {first}", test.name);
                    compare::write_csv_test(test, &name, &mut out)?;
                }
            }
            for curve in decision.curves() {
                diagnostics::say(report::escape(curve.answer()))?;
            }
            decision::write_csv_curves(decision, &mut out)?;
            say(&String::from_utf8_lossy(&out)).map(drop)
        }
        _ => {
            let mut out = Vec::new();
            decision::write_answer(decision, &mut out)?;
            decision::write_gate(decision, &mut out)?;
            let text = String::from_utf8_lossy(&out).into_owned();
            say(text.trim_start_matches('\n')).map(drop)?;
            for curve in decision.curves().iter().filter(|curve| curve.has_several()) {
                Terminal::of_stdout().chart(&page::rate_curve::chart(curve))?;
            }
            let mut out = vec![b'\n'];
            decision::write_head(decision, &mut out)?;
            decision::write_details(decision, &mut out)?;
            say(&String::from_utf8_lossy(&out)).map(drop)
        }
    }
}
