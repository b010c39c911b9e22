//! Carrying out `keystorm compare`: the same load on two servers in turn, or two files read.
//!
//! Owns who is compared and when results are printed, which is after each test. The order of the runs
//! is [`blocks`]'s, what a side is [`rigs`]'s, the tables of servers of different protocols
//! [`terms`]'s. What the runs say is [`report::compare`]'s business.

mod blocks;
mod rigs;
mod terms;
mod writer;

use std::sync::atomic::AtomicBool;

use anyhow::{Context, Error, Result, anyhow, bail};
use lab::terms::PairedLoad;
use report::compare::{self, Comparison, Pairing, RefusalKind, Setup, TestComparison};
use workload::{Plan, Stop, quantity};

use crate::aside::{self, Aside};
use crate::execute::{End, tell_about};
use crate::front::{CompareJob, LiveSides, Sides};
use crate::keep::Place;
use crate::reported::Pages;
use crate::rig::Rig;
use crate::saved;
use crate::signals;
use blocks::Told;
use rigs::Rigs;
use writer::Writer;

/// Compares, prints, and says whether B is worse than allowed.
///
/// # Errors
/// What kept it from being done, in words for a person.
pub(crate) fn compare(job: &CompareJob) -> Result<End> {
    job.notes.iter().try_for_each(aside::say)?;
    // Before anything is measured, as with every result that is kept.
    let place = job.output.json.as_deref().map(|path| Place::new("--json", path)).transpose()?;
    let pages = Pages::open(&job.output.pages)?;
    let mut writer = Writer { output: &job.output, place };
    let interrupted = signals::interrupted().context("installing the Ctrl-C handler")?;
    let (comparison, end) = match &job.sides {
        Sides::Saved(files) => {
            let [a, b] = &**files;
            let names = [a, b].map(|path| path.display().to_string());
            let (a, b) = (saved::read(a)?, saved::read(b)?);
            let names = [names[0].as_str(), names[1].as_str()];
            let comparison =
                compare::of_saved(names, &a, &b, job.fail_on_regression, job.errors_allowed)?;
            writer.head(&comparison)?;
            writer.warn(&comparison.warnings)?;
            for test in &comparison.tests {
                writer.test(test, &test.name)?;
            }
            (comparison, End::Complete)
        }
        Sides::Live(live) => run_live(live, job, &interrupted, &mut writer)?,
        Sides::Terms(sides) => terms::run(sides, job, &interrupted, &mut writer)?,
    };
    writer.foot(&comparison)?;
    if job.output.pages.any() {
        pages.write(&page::comparison::page(&comparison, &job.again))?;
    }
    judge(&comparison, job, end)
}

/// Exit code 3 is for what was surely found. That nothing could be found must not look like that
/// nothing was.
fn judge(comparison: &Comparison, job: &CompareJob, end: End) -> Result<End> {
    // Whoever asks for a judgement of a server gets none that a broken one passes.
    let broken = comparison.tests.iter().filter_map(|test| test.refused.as_ref());
    let broken = broken.filter(|refused| refused.kind == RefusalKind::Failures).count() > 0;
    if end == End::Complete && broken && job.is_gate {
        return Ok(End::Regressed);
    }
    let Some(percent) = comparison.threshold else { return Ok(end) };
    let regressions = comparison.regressions(percent);
    let refused = comparison.tests.iter().find(|test| test.refused.is_some());
    match (end, refused) {
        (End::Complete, _) if !regressions.found.is_empty() => Ok(End::Regressed),
        (End::Complete, Some(test)) => {
            bail!("--fail-on-regression: there is no ratio for {}", comparison.name_of(test))
        }
        (End::Complete, None) if !regressions.unknown.is_empty() => bail!(
            "--fail-on-regression: a single run per side has no confidence interval; use \
             --repeat"
        ),
        (end, _) => Ok(end),
    }
}

/// The server of a side, for the clients of the side before it.
fn reach<'r>(
    plan: &Plan,
    beside: Option<&Rigs<'r>>,
    job: &CompareJob,
    interrupted: &'r AtomicBool,
) -> Result<Rigs<'r>> {
    let (protocol, connections) = (plan.protocol, plan.own_connections());
    Rigs::reach(std::slice::from_ref(&plan.target), |target| {
        let mut rig = match beside.and_then(Rigs::first) {
            None => {
                let several = job.several.as_ref();
                Rig::reach_asking(
                    host::Questions::All,
                    target,
                    protocol,
                    connections,
                    several,
                    interrupted,
                )?
            }
            Some(first) => first.reach_beside(target, protocol, connections)?,
        };
        rig.sample = job.output.sample;
        tell_about(&rig.server, plan, &Aside::Stderr, report::Persona::Ours)?;
        Ok(rig)
    })
}

/// Puts the load on both in turn.
fn run_live(
    live: &LiveSides,
    job: &CompareJob,
    interrupted: &AtomicBool,
    writer: &mut Writer<'_>,
) -> Result<(Comparison, End)> {
    let Some([first_a, first_b]) = live.plans.first() else { bail!("there is no test to compare") };
    apples(first_a, first_b)?;
    let rigs_a = reach(first_a, None, job, interrupted).context("A")?;
    let rigs_b = reach(first_b, Some(&rigs_a), job, interrupted).context("B")?;
    let mut both = [rigs_a, rigs_b];
    let mut comparison = Comparison {
        // One of our own is told by where it is: its options are those of the command line.
        subjects: both
            .each_ref()
            .map(|rigs| compare::Subject { command_line: None, ..rigs.subject() }),
        how: how(first_a, live.blocks, both.each_ref().map(Rigs::is_own)),
        complete: false,
        tests: Vec::new(),
        warnings: Vec::new(),
        threshold: job.fail_on_regression,
        errors_allowed: job.errors_allowed,
        terms: None,
    };
    writer.head(&comparison)?;
    let paired = |[a, b]: &[Plan; 2]| PairedLoad {
        name: a.name.clone(),
        sides: [vec![a.clone()], vec![b.clone()]],
    };
    let paired_loads: Vec<PairedLoad> = live.plans.iter().map(paired).collect();
    let mut tell = |told: Told<'_>| match told {
        Told::First(a, b) => {
            comparison.warnings = compare::beside(a, b);
            writer.warn(&comparison.warnings)
        }
        Told::PairedLoad(at, [a, b]) => {
            let plan = &live.plans[at][0];
            let names = ["A", "B"].map(str::to_owned);
            let setup = Setup::of(plan, names, Pairing::Blocks, job.errors_allowed);
            let test = TestComparison::of(&plan.name, &setup, &a, &b);
            writer.test(&test, &test.name)?;
            comparison.tests.push(test);
            writer.keep(&comparison)
        }
    };
    let end = blocks::carry_out(&mut both, &paired_loads, live.blocks, job.output.live, &mut tell)?;
    comparison.complete = end == End::Complete;
    Ok((comparison, end))
}

/// The same plan gives the same load only if the client does the same work for both, TLS included.
fn apples(a: &Plan, b: &Plan) -> Result<()> {
    let found = compare::unlike(["A", "B"], a, b)?;
    if found.is_empty() { Ok(()) } else { Err(unlike_error(&found)) }
}

fn unlike_error(found: &[String]) -> Error {
    anyhow!("the runs would differ in more than the server: {}", found.join("; "))
}

/// How the runs are taken, in a sentence, and what is in no interval.
fn how(plan: &Plan, blocks: u32, own: [bool; 2]) -> String {
    let each = match plan.stop {
        Stop::Requests(n) => quantity::counted(n, "request"),
        Stop::AfterNs(ns) => format!("{} s", ns as f64 / 1e9),
    };
    let blocks = blocks_told(blocks);
    let given: Vec<&str> =
        ["A", "B"].into_iter().zip(own).filter(|(_, own)| !own).map(|(name, _)| name).collect();
    let starts = match given.is_empty() {
        true => String::new(),
        false => format!("; intervals do not cover how starts of {} differ", given.join(" and ")),
    };
    format!("{blocks} of A B B A for each test, {each} a run; ratios are B / A{starts}")
}

fn blocks_told(blocks: u32) -> String {
    quantity::counted(blocks.into(), "block")
}
