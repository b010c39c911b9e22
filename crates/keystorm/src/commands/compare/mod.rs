//! Carrying out `keystorm compare`: the same load on two servers in turn, or two files read.
//!
//! Owns who is compared and when results are printed, which is after each test. [`blocks`] has the order of the
//! runs, [`test_beds`] the servers of a side, [`terms`] the tables of servers of different protocols.
//! [`report::compare`] has the statistics.

mod answers;
pub(super) mod blocks;
mod decision;
mod head_room;
mod replayed;
mod terms;
pub(super) mod test_beds;
mod until_sure;
mod writer;

use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, anyhow, bail};
use console::diagnostics::{self, Diagnostics};
use job::{CompareJob, ComparedLoad, End, InconclusivePolicy, LiveSides, Sides};
use lab::survey::Machine;
use lab::terms::Pins;
use report::compare::{self, Comparison, GateState, Pairing, RefusalKind, Setup, TestComparison};
use workload::{Plan, Stop, quantity};

use crate::commands::doctor::cpus::siblings;
use crate::commands::run::tell_about;
use crate::commands::{impact, show, suite};
use crate::experiment::noise;
use crate::machine::machine;
use crate::signals;
use crate::test_bed::TestBed;
use blocks::{BlockResult, Blocks, Course, Load, Taken};
use replayed::Replayed;
use test_beds::TestBeds;
use writer::Writer;

/// Compares and prints; the outcome tells whether B is worse than allowed.
///
/// # Errors
/// What kept it from being done, in words for a person.
pub(crate) fn compare(job: &CompareJob) -> Result<End> {
    job.notes.iter().try_for_each(diagnostics::say)?;
    if let Sides::Saved(files) = &job.sides
        && files.iter().all(|file| suite::saved(file))
    {
        let [a, b] = &**files;
        return suite::compare([a.as_path(), b.as_path()], job);
    }
    // Before anything is measured, as with every result that is kept.
    let mut writer = Writer::open(job)?;
    let interrupted = signals::interrupted()?;
    if !matches!(job.sides, Sides::Saved(_)) {
        noise::warn()?;
    }
    let (comparison, end) = match &job.sides {
        Sides::Saved(files) => {
            let [a, b] = &**files;
            if let Some(end) = impact::compared([a, b])? {
                return Ok(end);
            }
            let names = [a, b].map(|path| path.display().to_string());
            let (a, b) = (show::read(a)?, show::read(b)?);
            let names = [names[0].as_str(), names[1].as_str()];
            let mut comparison = compare::of_saved(
                names,
                &a,
                &b,
                &job.names,
                &job.command_line,
                job.fail_on_regression,
                job.errors_allowed,
            )?;
            comparison.watched.clone_from(&job.watched);
            writer.head(&comparison)?;
            writer.warn(&comparison.warnings)?;
            for test in &comparison.tests {
                writer.test(test, &test.name)?;
            }
            (comparison, End::Complete)
        }
        Sides::Live(sides) if sides.decides => {
            return decision::run(sides, job, &interrupted, &mut writer.files);
        }
        Sides::Live(live) => run_live(live, job, &interrupted, &mut writer)?,
        Sides::Terms(sides) => terms::run(sides, job, &interrupted, &mut writer)?,
    };
    writer.foot(&comparison)?;
    let gate = comparison.gate().map(|gate| gate.state);
    Ok(judge(gate, any_broken(&comparison.tests), job, end))
}

/// Exit code 3 is for a gate that failed, 4 for one that is undecided: a comparison that could not find a
/// difference must not look like one that found none.
fn judge(gate: Option<GateState>, is_broken: bool, job: &CompareJob, end: End) -> End {
    if !matches!(end, End::Complete | End::Inconclusive) {
        return end;
    }
    match gate {
        Some(GateState::Failed) => End::Regressed,
        // A server on which too many requests failed must not pass a gate.
        None if is_broken && job.is_gate => End::Regressed,
        Some(GateState::Undecided) => undecided(job, end),
        Some(GateState::Passed) | None => end,
    }
}

/// Returns how a comparison ends whose runs do not say.
fn undecided(job: &CompareJob, end: End) -> End {
    match job.inconclusive {
        Some(InconclusivePolicy::Pass) => end,
        Some(InconclusivePolicy::Fail) => End::Regressed,
        Some(InconclusivePolicy::Repeat) | None => End::Inconclusive,
    }
}

/// Returns whether more requests of a test failed than --errors allows.
fn any_broken<'t>(tests: impl IntoIterator<Item = &'t TestComparison>) -> bool {
    let mut refused = tests.into_iter().filter_map(|test| test.refused.as_ref());
    refused.any(|refused| refused.kind == RefusalKind::Failures)
}

/// The servers of all sides, found or started; they run all the time, and one of them has load.
fn reach<'r>(
    loads: &[ComparedLoad],
    sides: &LiveSides,
    job: &CompareJob,
    interrupted: &'r AtomicBool,
) -> Result<Vec<TestBeds<'r>>> {
    for load in loads {
        check_same_load(job, sides.mixed, &load.plans.iter().collect::<Vec<_>>())?;
    }
    let mut beds: Vec<TestBeds<'r>> = Vec::new();
    let first = loads.first().map_or(&[][..], |load| &load.plans);
    for (side, plan) in first.iter().enumerate() {
        let plans = loads.iter().map(|load| load.plans[side].own_connections());
        let connections = plans.max().unwrap_or(1);
        let reached = TestBeds::reach(std::slice::from_ref(&plan.target), |target| {
            let mut bed = match beds.first().and_then(TestBeds::first) {
                None => {
                    let several = job.several.as_ref();
                    TestBed::reach(target, plan.protocol, connections, several, interrupted)?
                }
                Some(first) => first.reach_beside(target, plan.protocol, connections)?,
            };
            bed.settings.sample = job.output.sample;
            bed.settings.journal = true;
            bed.settings.fills_quietly = sides.decides && side > 0;
            tell_about(&bed.server, plan, &Diagnostics::Stderr, report::KEYSTORM)?;
            Ok(bed)
        });
        beds.push(reached.with_context(|| job.word(side))?);
    }
    Ok(beds)
}

/// Both servers, found or started, and the comparison of them, which has no results yet.
fn reach_both<'r>(
    live: &LiveSides,
    loads: &[ComparedLoad],
    pins: Option<&Pins>,
    job: &CompareJob,
    interrupted: &'r AtomicBool,
) -> Result<([TestBeds<'r>; 2], Comparison)> {
    let beds = reach(loads, live, job, interrupted)?;
    let both = <[TestBeds<'r>; 2]>::try_from(beds);
    let both = both.map_err(|_| anyhow!("two servers are compared"))?;
    // A server that keystorm started is named by its address: its options stand in the command line.
    let mut subjects =
        both.each_ref().map(|beds| compare::Subject { command_line: None, ..beds.subject() });
    compare::name(&mut subjects, &job.names);
    let names = subjects.each_ref().map(|subject| subject.name.clone());
    let own = both.each_ref().map(TestBeds::is_own);
    let how = describe_method(&loads[0].plans[0], live.blocks, &names, own, pins);
    let more = job.until_sure.is_some() || job.budget.is_some();
    let how = if more { format!("at least {how}") } else { how };
    let comparison = untested(job, subjects, how);
    Ok((both, comparison))
}

/// Puts the load on both in turn.
fn run_live(
    live: &LiveSides,
    job: &CompareJob,
    interrupted: &AtomicBool,
    writer: &mut Writer<'_>,
) -> Result<(Comparison, End)> {
    let pins = pins(live.places);
    let mut loads = decision::placed(&live.loads, pins.as_ref())?;
    let Some(first) = loads.first_mut() else { bail!("there is no test to compare") };
    let read = |sides| Replayed::read(sides, &mut first.plans, live.blocks, job);
    let replayed = live.replayed.as_ref().map(read).transpose()?;
    let (mut both, mut comparison) = reach_both(live, &loads, pins.as_ref(), job, interrupted)?;
    let names = comparison.names();
    writer.head(&comparison)?;
    let load = |load: &ComparedLoad| decision::load_of(load.plans[0].name.clone(), &load.plans);
    let plans: Vec<Plan> = loads.iter().map(|load| load.plans[0].clone()).collect();
    let loads: Vec<Load> = loads.iter().map(load).collect();
    let compared = |at: usize, taken: &Taken| {
        let plan = &plans[at];
        let setup = Setup::new(plan, names.clone(), Pairing::Blocks, job.errors_allowed)
            .among(plans.len(), looks(job));
        TestComparison::new(&plan.name, &setup, &taken.runs[0], &taken.runs[1])
            .with_void(&taken.void, taken.void_runs_of(0, 1))
    };
    let so_far = Comparison { complete: true, ..comparison.clone() };
    let mut is_open = |taken: &[Taken]| {
        let tests: Vec<_> =
            taken.iter().enumerate().map(|(at, taken)| compared(at, taken)).collect();
        let is_open = tests.iter().any(TestComparison::is_open);
        let gate = Comparison { tests, ..so_far.clone() }.gate();
        gate.map_or(is_open, |gate| gate.state == GateState::Undecided)
    };
    if let Some(replayed) = &replayed {
        comparison.replayed = Some(replayed.begin(&mut both, interrupted)?);
    }
    let course = Course { is_fresh: replayed.is_some(), ..course(job, live.blocks) };
    let progress = writer.files.page_progress();
    let mut tell = |result: BlockResult<'_>| match result {
        BlockResult::First(runs) => {
            if let [a, b] = runs {
                comparison.warnings = compare::beside(&names, a, b);
            }
            writer.warn(&comparison.warnings)
        }
        BlockResult::Block(taken) => {
            let begun = taken.iter().enumerate().filter(|(_, taken)| !taken.is_empty());
            writer.show(&comparison, begun.map(|(at, taken)| compared(at, taken)));
            Ok(())
        }
        BlockResult::Load(at, taken) => {
            let test = compared(at, &taken);
            writer.test(&test, &test.name)?;
            comparison.tests.push(test);
            writer.keep(&comparison)
        }
    };
    let mut blocks = Blocks::new(&mut both, &names, &loads, course, progress)
        .before(replayed.as_ref().map_or(0.0, Replayed::search_s));
    let mut end = match job.until_sure {
        None => blocks.carry_out(&mut is_open, &mut tell)?,
        Some(asked) => until_sure::carry_out(&mut blocks, asked, &compared, &mut tell)?,
    };
    if let Some(replayed) = replayed.filter(|_| end == End::Complete) {
        end = replayed.search(&mut both, &mut comparison, writer, interrupted)?;
    }
    comparison.complete = matches!(end, End::Complete | End::Inconclusive);
    Ok((comparison, end))
}

/// A comparison that has no results yet.
fn untested(job: &CompareJob, subjects: [compare::Subject; 2], how: String) -> Comparison {
    Comparison {
        how,
        subjects,
        command_line: job.command_line.clone(),
        complete: false,
        tests: Vec::new(),
        warnings: Vec::new(),
        threshold: job.fail_on_regression,
        watched: job.watched.clone(),
        looks: looks(job),
        errors_allowed: job.errors_allowed,
        terms: None,
        replayed: None,
    }
}

/// Returns how often growing data is judged, at most: each further time makes its test stricter.
fn looks(job: &CompareJob) -> u32 {
    if job.budget.is_some() { LOOKS } else { 1 }
}

fn course(job: &CompareJob, blocks: u32) -> Course {
    // With --until-sure it is not known in advance how often.
    let looks = if job.until_sure.is_some() { u32::MAX } else { looks(job) };
    let budget = job.budget.unwrap_or_default();
    let (repeats_void, live) = (job.repeats_void, job.output.live);
    Course { blocks, looks, budget, repeats_void, is_fresh: false, live }
}

/// While the runs do not say, the blocks are doubled, and doubled again.
const LOOKS: u32 = 3;

/// Refuses sides for which the client would do different work than for the first: TLS on one of them only, for
/// instance. Those of `mixed` protocols may differ in words.
fn check_same_load(job: &CompareJob, mixed: bool, plans: &[&Plan]) -> Result<()> {
    let Some((first, others)) = plans.split_first() else { return Ok(()) };
    let unlike = if mixed { compare::unlike_beside_words } else { compare::unlike };
    for (at, other) in (1..).zip(others) {
        let found = unlike([&job.word(0), &job.word(at)], first, other)?;
        if !found.is_empty() {
            let found = found.join("; ");
            bail!("the runs would differ in more than the server: {found}");
        }
    }
    Ok(())
}

/// Describes how the runs are taken, and what the intervals leave out, in a sentence.
fn describe_method(
    plan: &Plan,
    blocks: u32,
    names: &[String; 2],
    own: [bool; 2],
    pins: Option<&Pins>,
) -> String {
    let each = match (plan.load.stop, &plan.recorded) {
        (Stop::Requests(n), Some(of)) => {
            format!("{} of {} at speed {}", quantity::counted(n, "command"), of.source, of.speed)
        }
        (Stop::Requests(n), None) => quantity::counted(n, "request"),
        (Stop::AfterNs(ns), _) => format!("{} s", ns as f64 / 1e9),
    };
    let [first, second] = names;
    let text = format!("{}; {each} a run; ratios are {second} / {first}", describe_blocks(blocks));
    let starts = match own {
        [true, true] => {
            return pins.map_or(text.clone(), |pins| format!("{text}. {}", pins.description));
        }
        [false, false] => "the servers were not restarted, so the intervals leave out how much \
            starts differ"
            .to_owned(),
        [given, _] => {
            let name = if given { second } else { first };
            format!(
                "{name} was not restarted, so the intervals leave out how much its starts differ"
            )
        }
    };
    format!("{text}; {starts}")
}

/// Separate CPUs for servers and client, if they are to be pinned and there are enough.
fn pins(places: bool) -> Option<Pins> {
    places.then(|| Pins::from_machine(&Machine::new(machine(), siblings))).flatten()
}

/// The order of the runs.
fn describe_blocks(blocks: u32) -> String {
    let blocks = quantity::counted(blocks.into(), "block");
    format!("{blocks} for each test, in which each server runs twice, there and back")
}
