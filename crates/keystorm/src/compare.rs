//! Carrying out `keystorm compare`: the same load on two servers in turn, or two files read.
//!
//! Owns the order of the runs and when results are printed, which is after each test. What the runs
//! say is [`report::compare`]'s business.

use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, anyhow, bail};
use measure::Ending;
use report::Run;
use report::compare::{self, Comparison, Glance, Pairing, Subject, TestComparison};
use workload::{Endpoint, Plan, Stop};

use crate::aside::{self, Aside};
use crate::execute::{End, say, tell_about};
use crate::front::{CompareJob, LiveSides, Output, Sides};
use crate::keep::Place;
use crate::live::Live;
use crate::reported::Pages;
use crate::rig::Rig;
use crate::saved;
use crate::signals;

/// The order of a block, as indices of the sides. What changes steadily meanwhile hits both alike.
const BLOCK: [usize; 4] = [0, 1, 1, 0];

/// Compares, prints, and says whether B is worse than allowed.
///
/// # Errors
/// What kept it from being done, in words for a person.
pub(crate) fn compare(job: &CompareJob) -> Result<End> {
    job.notes.iter().try_for_each(aside::say)?;
    // Before anything is measured, as with every result that is kept.
    let place = job.output.json.as_deref().map(|path| Place::new("--json", path)).transpose()?;
    let pages = Pages::open(&job.output.pages)?;
    let mut sheet = Sheet { output: &job.output, place };
    let (comparison, end) = match &job.sides {
        Sides::Saved(files) => {
            let [a, b] = &**files;
            let names = [a, b].map(|path| path.display().to_string());
            let (a, b) = (saved::read(a)?, saved::read(b)?);
            let names = [names[0].as_str(), names[1].as_str()];
            let comparison = compare::of_saved(names, &a, &b, job.fail_on_regression)?;
            sheet.head(&comparison)?;
            sheet.warn(&comparison)?;
            for test in &comparison.tests {
                sheet.test(test)?;
            }
            (comparison, End::Complete)
        }
        Sides::Live(live) => run_live(live, job, &mut sheet)?,
    };
    sheet.foot(&comparison)?;
    if job.output.pages.any() {
        pages.write(&page::comparison::page(&comparison, &job.again))?;
    }
    judge(&comparison, end)
}

/// Exit code 3 is for what was surely found. That nothing could be found must not look like that
/// nothing was.
fn judge(comparison: &Comparison, end: End) -> Result<End> {
    let Some(percent) = comparison.threshold else { return Ok(end) };
    let regressions = comparison.regressions(percent);
    match end {
        End::Complete if !regressions.found.is_empty() => Ok(End::Regressed),
        End::Complete if !regressions.unknown.is_empty() => bail!(
            "--fail-on-regression: one run a side has no interval to judge by; repeat with --repeat"
        ),
        end => Ok(end),
    }
}

/// The server of a side, for the clients of the side before it.
fn reach<'r>(
    plan: &Plan,
    beside: Option<&Rig<'r>>,
    job: &CompareJob,
    interrupted: &'r AtomicBool,
) -> Result<Rig<'r>> {
    let (target, protocol, connections) = (&plan.target, plan.protocol, plan.own_connections());
    let mut rig = match beside {
        None => Rig::reach_for(target, protocol, connections, job.several.as_ref(), interrupted)?,
        Some(first) => first.reach_beside(target, protocol, connections)?,
    };
    rig.sample = job.output.sample;
    tell_about(&rig.server, plan, &Aside::Stderr)?;
    Ok(rig)
}

/// Puts the load on both in turn.
fn run_live(
    live: &LiveSides,
    job: &CompareJob,
    sheet: &mut Sheet<'_>,
) -> Result<(Comparison, End)> {
    let interrupted = signals::interrupted().context("asking to be told of Ctrl-C")?;
    let Some([first_a, first_b]) = live.plans.first() else { bail!("there is no test to compare") };
    apples(first_a, first_b)?;
    let rig_a = reach(first_a, None, job, &interrupted).context("A")?;
    let rig_b = reach(first_b, Some(&rig_a), job, &interrupted).context("B")?;
    let mut rigs = [rig_a, rig_b];
    let own = rigs.each_ref().map(|rig| rig.server.is_own());
    let mut comparison = Comparison {
        subjects: [0, 1].map(|side| subject(&rigs[side], [first_a, first_b][side])),
        how: how(first_a, live.blocks, own),
        complete: false,
        tests: Vec::new(),
        warnings: Vec::new(),
        threshold: job.fail_on_regression,
    };
    sheet.head(&comparison)?;
    let steps = order(live.plans.len(), live.blocks, own != [false; 2]);
    let mut glances = vec![[Vec::new(), Vec::new()]; live.plans.len()];
    let count = steps.len() * BLOCK.len();
    let (mut done, mut block_before) = (0, 0);
    let mut end = End::Complete;
    for Step { test, block } in steps {
        let plans = &live.plans[test];
        if block != block_before && own != [false; 2] {
            for (rig, plan) in rigs.iter_mut().zip(plans) {
                rig.restart(&plan.target)?;
            }
        }
        block_before = block;
        let mut runs: [Vec<Run>; 2] = [Vec::new(), Vec::new()];
        for side in BLOCK {
            done += 1;
            let plan = &plans[side];
            let mut line = Live::new(plan, done, count as u32, job.output.live);
            let run = rigs[side].run(plan, None, &mut line)?;
            line.clear();
            if let Some(why) = broken(&run) {
                let test = report::escape(&plan.name);
                aside::say(format_args!("{test} of {}: {why}", ["A", "B"][side]))?;
            }
            end = match run.measurement.ending {
                Ending::Complete => End::Complete,
                Ending::Interrupted => End::Interrupted,
                Ending::Failed(_) => End::Failed,
            };
            if end != End::Complete {
                break;
            }
            runs[side].push(run);
        }
        if let ([a, ..], [b, ..]) = (&runs[0][..], &runs[1][..])
            && test == 0
            && block == 0
        {
            comparison.warnings = compare::beside(a, b);
            sheet.warn(&comparison)?;
        }
        if end != End::Complete {
            break;
        }
        for (glances, runs) in glances[test].iter_mut().zip(&runs) {
            glances.extend(runs.iter().filter_map(Glance::of));
        }
        if block + 1 == live.blocks {
            compared(plans, &mut glances[test], &mut comparison, sheet)?;
            sheet.keep(&comparison)?;
        }
    }
    // A block that is not whole has no ratio, so its runs are not counted.
    for (plans, glances) in live.plans.iter().zip(&mut glances) {
        compared(plans, glances, &mut comparison, sheet)?;
    }
    comparison.complete = end == End::Complete;
    Ok((comparison, end))
}

/// A block of one test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Step {
    test: usize,
    block: u32,
}

/// All blocks of a test and then those of the next, so that each is told as soon as it is known. Where
/// each block has servers of its own, all tests of a block and then those of the next: a test finds
/// what those before it wrote.
fn order(tests: usize, blocks: u32, restarts: bool) -> Vec<Step> {
    let step = |test, block| Step { test, block };
    if restarts {
        return (0..blocks).flat_map(|b| (0..tests).map(move |t| step(t, b))).collect();
    }
    (0..tests).flat_map(|t| (0..blocks).map(move |b| step(t, b))).collect()
}

/// Compares what there is of a test, prints it, and leaves nothing of it to be compared again.
fn compared(
    plans: &[Plan; 2],
    glances: &mut [Vec<Glance>; 2],
    comparison: &mut Comparison,
    sheet: &mut Sheet<'_>,
) -> Result<()> {
    let [a, b] = std::mem::take(glances);
    if a.is_empty() {
        return Ok(());
    }
    let plan = &plans[0];
    let open = plan.pace.schedule().is_some();
    let test = TestComparison::of(&plan.name, Pairing::Blocks, plan.precision, &a, &b, open);
    sheet.test(&test)?;
    comparison.tests.push(test);
    Ok(())
}

/// A side as it is told: a server of our own has another address in each block.
fn subject(rig: &Rig<'_>, plan: &Plan) -> Subject {
    let address = match (&plan.target.endpoint, &rig.server.address) {
        (Endpoint::Spawned { .. }, host::Address::Tcp(address)) => {
            format!("{}, started anew for each block", address.ip())
        }
        (Endpoint::Spawned { .. }, host::Address::Unix(_)) => {
            "a unix socket, started anew for each block".to_owned()
        }
        (_, address) => address.to_string(),
    };
    Subject::of(&rig.server.facts, address, None)
}

/// The same plan gives the same load only if the client does the same work for both, TLS included.
fn apples(a: &Plan, b: &Plan) -> Result<()> {
    let found = compare::unlike(["A", "B"], a, b)?;
    if found.is_empty() {
        return Ok(());
    }
    Err(anyhow!(
        "the runs would differ in more than the server, so that a ratio would not be its: {}",
        found.join("; ")
    ))
}

fn broken(run: &Run) -> Option<String> {
    report::Summary::of(run).shortfall()
}

/// How the runs are taken, in a sentence, and what is in no interval.
fn how(plan: &Plan, blocks: u32, own: [bool; 2]) -> String {
    let each = match plan.stop {
        Stop::Requests(n) => format!("{n} requests"),
        Stop::AfterNs(ns) => format!("{} s", ns as f64 / 1e9),
    };
    let blocks = if blocks == 1 { "1 block".to_owned() } else { format!("{blocks} blocks") };
    let given: Vec<&str> =
        ["A", "B"].into_iter().zip(own).filter(|(_, own)| !own).map(|(name, _)| name).collect();
    let starts = match given.is_empty() {
        true => String::new(),
        false => format!("; how starts of {} differ is in no interval", given.join(" and ")),
    };
    format!("{blocks} of A B B A for each test, {each} a run; ratios are B / A{starts}")
}

/// Where results go.
struct Sheet<'s> {
    output: &'s Output,
    place: Option<Place>,
}

impl Sheet<'_> {
    /// Writes part of the text, or of the CSV.
    fn print(
        &self,
        format: &str,
        write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>,
    ) -> Result<()> {
        if self.output.format != format {
            return Ok(());
        }
        let mut text = Vec::new();
        write(&mut text)?;
        say(&String::from_utf8_lossy(&text))?;
        Ok(())
    }

    fn head(&mut self, comparison: &Comparison) -> Result<()> {
        self.print("text", |out| compare::write_head(comparison, out))?;
        self.print("csv", |out| compare::write_csv_head(out))
    }

    /// Warnings have no place in a CSV, and are in the JSON.
    fn warn(&mut self, comparison: &Comparison) -> Result<()> {
        self.print("text", |out| compare::write_warnings(comparison, out))?;
        if self.output.format == "csv" {
            for warning in &comparison.warnings {
                aside::say(format_args!("WARNING: {}", report::escape(warning)))?;
            }
        }
        Ok(())
    }

    fn test(&mut self, test: &TestComparison) -> Result<()> {
        self.print("text", |out| compare::write_test(test, out))?;
        self.print("csv", |out| compare::write_csv_test(test, out))
    }

    fn foot(&mut self, comparison: &Comparison) -> Result<()> {
        self.print("text", |out| compare::write_foot(comparison, out))?;
        if self.output.format == "json" {
            say(&compare::to_json(comparison)?)?;
        }
        if self.output.format != "text" {
            for line in compare::notes(comparison) {
                aside::say(report::escape(line))?;
            }
        }
        self.keep(comparison)
    }

    fn keep(&self, comparison: &Comparison) -> Result<()> {
        match &self.place {
            Some(place) => place.write(compare::to_json(comparison)?.as_bytes()),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_of_our_own_get_every_test_before_they_are_started_again() {
        let told = |restarts| -> Vec<(usize, u32)> {
            order(2, 3, restarts).iter().map(|step| (step.test, step.block)).collect()
        };
        assert_eq!(told(false), [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]);
        assert_eq!(told(true), [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2)]);
    }
}
