//! `keystorm compare`: runs the same load on two servers in turn, or reads two files.
//!
//! Owns the choice of the sides and the printing of results, after each test. [`blocks`] has the order of the
//! runs, [`test_beds`] the servers of a side, [`terms`] the tables of servers of different protocols.
//! [`report::compare`] has the statistics.

pub(super) mod blocks;
mod loads;
mod replayed;
mod series;
mod terms;
pub(super) mod test_beds;
mod until_sure;
mod writer;

use std::sync::atomic::AtomicBool;

use anyhow::{Context, Error, Result, bail};
use cli::compare::{CompareJob, ComparedLoad, InconclusivePolicy, LiveSides, Sides};
use cli::console::diagnostics::{self, Diagnostics};
use cli::front::Front;
use cli::job::{End, Intent};
use lab::survey::Machine;
use lab::terms::Pins;
use report::compare::{self, Comparison, GateState};
use workload::{Plan, Stop, quantity};

use crate::commands::run::tell_about;
use crate::commands::{history, impact, show, suite};
use crate::experiment::noise;
use crate::machine::machine;
use crate::signals;
use crate::test_bed::TestBed;
use blocks::looks;
use loads::Judge;
use replayed::Replayed;
use series::Series;
use test_beds::TestBeds;
use writer::Writer;

/// Front end of the command.
pub(crate) const FRONT: Front = Front {
    names: &["compare"],
    command: cli::compare::command,
    parse: |args| {
        if history::is_asked(&args) {
            history::judging(args)
        } else {
            cli::compare::intent(args, |job| Intent::carry(move || compare(&job)))
        }
    },
};

/// Compares and prints; the outcome tells whether B is worse than allowed.
///
/// # Errors
/// Returns an error if a side cannot be measured, or a file not be written.
fn compare(job: &CompareJob) -> Result<End> {
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
            let begun = untested(job, Vec::new(), String::new());
            let comparison = compare::of_saved(names, &a, &b, &job.names, begun)?;
            writer.head(&comparison)?;
            writer.warn(&comparison.warnings)?;
            for test in &comparison.tests {
                writer.test(test, &test.name, None)?;
            }
            (comparison, End::Complete)
        }
        Sides::Live(live) => run_live(live, job, interrupted, &mut writer)?,
        Sides::Terms(sides) => terms::run(sides, job, interrupted, &mut writer)?,
    };
    writer.foot(&comparison)?;
    Ok(judge(&comparison, job, end))
}

/// Decides the exit code: 3 for a failed gate, 4 for an undecided one. A comparison that could not find a
/// difference must not look like one that found none.
fn judge(comparison: &Comparison, job: &CompareJob, end: End) -> End {
    if !matches!(end, End::Complete | End::Inconclusive) {
        return end;
    }
    match comparison.gate().map(|gate| gate.state) {
        Some(GateState::Failed) => End::Regressed,
        // A server on which too many requests failed must not pass a gate.
        None if comparison.has_failures() && job.is_gate => End::Regressed,
        // No gate failed, but no server answered either.
        None if comparison.has_served_nothing() => End::Failed,
        Some(GateState::Undecided) => undecided(job, end),
        Some(GateState::Passed) | None if comparison.is_target_open() => undecided(job, end),
        Some(GateState::Passed) | None => end,
    }
}

/// Returns how a comparison without a clear result ends.
fn undecided(job: &CompareJob, end: End) -> End {
    match job.inconclusive {
        Some(InconclusivePolicy::Pass) => end,
        Some(InconclusivePolicy::Fail) => End::Regressed,
        Some(InconclusivePolicy::Repeat) | None => End::Inconclusive,
    }
}

/// The servers of all sides, found or started; all of them keep running, and one at a time has load.
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
        beds.push(reached.map_err(|error| naming(error, &job.word(side)))?);
    }
    Ok(beds)
}

/// Adds a server's word to an error, unless the error names it already.
fn naming(error: Error, word: &str) -> Error {
    if format!("{error:#}").contains(word) { error } else { error.context(word.to_owned()) }
}

/// The comparison of these servers, without results yet.
fn begin(
    live: &LiveSides,
    loads: &[ComparedLoad],
    beds: &[TestBeds<'_>],
    pins: Option<&Pins>,
    job: &CompareJob,
) -> Comparison {
    // A server that keystorm started is named by its address: its options are in the command line.
    let subject = |beds: &TestBeds<'_>| {
        let subject = beds.subject();
        let command_line = subject.command_line.clone().filter(|_| live.decides);
        compare::Subject { command_line, ..subject }
    };
    let mut subjects: Vec<compare::Subject> = beds.iter().map(subject).collect();
    compare::name(&mut subjects, &job.names);
    let names: Vec<String> = subjects.iter().map(|subject| subject.name.clone()).collect();
    let own: Vec<bool> = beds.iter().map(TestBeds::is_own).collect();
    let how = describe_method(&loads[0].plans[0], live.blocks, &names, &own, pins);
    let more = job.until_sure.is_some() || job.budget.is_some();
    let how = if more { format!("at least {how}") } else { how };
    let target = live.slo.as_ref().map(|slo| slo.text.clone());
    Comparison { target, ..untested(job, subjects, how) }
}

/// The two servers of a comparison of exactly two.
fn two<'b, 'r>(beds: &'b mut [TestBeds<'r>]) -> Result<&'b mut [TestBeds<'r>; 2]> {
    beds.try_into().context("a record is sent to two servers")
}

/// Puts the load on all servers in turn.
fn run_live(
    live: &LiveSides,
    job: &CompareJob,
    interrupted: &AtomicBool,
    writer: &mut Writer<'_>,
) -> Result<(Comparison, End)> {
    let machine = Machine::new(machine(), host::affinity::siblings);
    let plans = live.loads.iter().flat_map(|load| &load.plans);
    let pins = Pins::from_machine(&machine, plans.map(|plan| &**plan)).filter(|_| live.places);
    let mut loads = loads::placed(&live.loads, pins.as_ref())?;
    let Some(first) = loads.first_mut() else { bail!("there is no test to compare") };
    let read = |sides| Replayed::read(sides, &mut first.plans, live.blocks, job);
    let replayed = live.replayed.as_ref().map(read).transpose()?;
    if replayed.is_some() {
        first.name.clone_from(&first.plans[0].name);
    }
    let mut beds = reach(&loads, live, job, interrupted)?;
    let mut comparison = begin(live, &loads, &beds, pins.as_ref(), job);
    let names = comparison.names();
    writer.head(&comparison)?;
    if let Some(replayed) = &replayed {
        comparison.replayed = Some(replayed.begin(two(&mut beds)?, interrupted)?);
    }
    let judge = Judge { job, sides: live, loads: &loads, names: &names };
    let series = Series { judge, is_fresh: replayed.is_some() };
    let search_s = replayed.as_ref().map_or(0.0, Replayed::search_s);
    let mut end = series.carry_out(&mut beds, &mut comparison, writer, search_s)?;
    if let Some(replayed) = replayed.filter(|_| end == End::Complete) {
        end = replayed.search(two(&mut beds)?, &mut comparison, writer, interrupted)?;
    }
    comparison.complete = matches!(end, End::Complete | End::Inconclusive);
    Ok((comparison, end))
}

/// A comparison without results yet.
fn untested(job: &CompareJob, subjects: Vec<compare::Subject>, how: String) -> Comparison {
    Comparison {
        how,
        subjects,
        target: None,
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

/// Refuses sides for which the client would do different work than for the first, such as TLS on only one of
/// them. With `mixed` protocols, the words of commands may differ.
fn check_same_load(job: &CompareJob, mixed: bool, plans: &[&Plan]) -> Result<()> {
    let Some((first, others)) = plans.split_first() else { return Ok(()) };
    for (at, other) in (1..).zip(others) {
        let found = compare::unlike([&job.word(0), &job.word(at)], first, other, mixed)?;
        if !found.is_empty() {
            let found = found.join("; ");
            bail!("the runs would differ in more than the server: {found}");
        }
    }
    Ok(())
}

/// Describes in a sentence how runs are taken, and which effects the intervals leave out.
fn describe_method(
    plan: &Plan,
    blocks: u32,
    names: &[String],
    own: &[bool],
    pins: Option<&Pins>,
) -> String {
    let each = match (plan.load.stop, &plan.recorded) {
        (Stop::Requests(n), Some(of)) => {
            format!("{} of {} at speed {}", quantity::counted(n, "command"), of.source, of.speed)
        }
        (Stop::Requests(n), None) => quantity::counted(n, "request"),
        (Stop::AfterNs(ns), _) => format!("{} s", ns as f64 / 1e9),
    };
    let ratios = match names {
        [first, second] => format!("{second} / {first}"),
        _ => format!("to {}", names[0]),
    };
    let text = format!("{}; {each} a run; ratios are {ratios}", describe_blocks(blocks));
    let given: Vec<&str> =
        names.iter().zip(own).filter(|(_, own)| !**own).map(|(name, _)| name.as_str()).collect();
    let (which, whose) = match &given[..] {
        [] => return pins.map_or(text.clone(), |pins| format!("{text}. {}", pins.description)),
        [name] => (format!("{name} was not restarted"), "its starts differ"),
        all if all.len() == names.len() => {
            ("the servers were not restarted".to_owned(), "starts differ")
        }
        all => (format!("{} were not restarted", all.join(" and ")), "their starts differ"),
    };
    format!("{text}; {which}, so the intervals leave out how much {whose}")
}

/// The order of the runs.
fn describe_blocks(blocks: u32) -> String {
    let blocks = quantity::counted(blocks.into(), "block");
    format!("{blocks} for each test; in each, every server runs twice, there and back")
}
