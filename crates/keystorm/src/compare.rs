//! Carrying out `keystorm compare`: the same load on two servers in turn, or two files read.
//!
//! Owns the order of the runs and when results are printed, which is after each test. What the runs
//! say is [`report::compare`]'s business.

use anyhow::{Context, Result, anyhow, bail};
use measure::Ending;
use report::Run;
use report::compare::{self, Comparison, Glance, Pairing, Subject, TestComparison};
use workload::{Plan, Stop};

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
    for note in &job.notes {
        eprintln!("{note}");
    }
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

/// Puts the load on both in turn.
fn run_live(
    live: &LiveSides,
    job: &CompareJob,
    sheet: &mut Sheet<'_>,
) -> Result<(Comparison, End)> {
    let interrupted = signals::interrupted().context("asking to be told of Ctrl-C")?;
    let Some([first_a, first_b]) = live.plans.first() else { bail!("there is no test to compare") };
    apples(first_a, first_b)?;
    let reach = |plan: &Plan| -> Result<Rig<'_>> {
        let mut rig = Rig::reach(&plan.target, plan.own_connections(), &interrupted)?;
        rig.sample = job.output.sample;
        tell_about(&rig.server, plan);
        Ok(rig)
    };
    let rigs = [reach(first_a).context("A")?, reach(first_b).context("B")?];
    let subject =
        |rig: &Rig<'_>| Subject::of(&rig.server.facts, rig.server.address.to_string(), None);
    let mut comparison = Comparison {
        subjects: [subject(&rigs[0]), subject(&rigs[1])],
        how: how(first_a, live.blocks),
        complete: false,
        tests: Vec::new(),
        warnings: Vec::new(),
        threshold: job.fail_on_regression,
    };
    sheet.head(&comparison)?;
    let count = live.plans.len() * live.blocks as usize * BLOCK.len();
    let mut done = 0;
    for plans in &live.plans {
        let mut glances: [Vec<Glance>; 2] = [Vec::new(), Vec::new()];
        let mut end = End::Complete;
        'test: for _ in 0..live.blocks {
            let mut block: [Vec<Run>; 2] = [Vec::new(), Vec::new()];
            for side in BLOCK {
                done += 1;
                let plan = &plans[side];
                let mut line = Live::new(plan, done, count as u32, job.output.live);
                let run = rigs[side].run(plan, None, &mut line)?;
                line.clear();
                if let Some(why) = broken(&run) {
                    eprintln!("{} of {}: {why}", report::escape(&plan.name), ["A", "B"][side]);
                }
                end = match run.measurement.ending {
                    Ending::Complete => End::Complete,
                    Ending::Interrupted => End::Interrupted,
                    Ending::Failed(_) => End::Failed,
                };
                if end != End::Complete {
                    break 'test;
                }
                block[side].push(run);
            }
            if let ([a, ..], [b, ..]) = (&block[0][..], &block[1][..])
                && comparison.tests.is_empty()
                && glances[0].is_empty()
            {
                comparison.warnings = compare::beside(a, b);
                sheet.warn(&comparison)?;
            }
            // A block that is not whole has no ratio, so its runs are not counted.
            for (glances, runs) in glances.iter_mut().zip(&block) {
                glances.extend(runs.iter().filter_map(Glance::of));
            }
        }
        let [a, b] = &glances;
        if !a.is_empty() {
            let plan = &plans[0];
            let open = plan.pace.schedule().is_some();
            let test = TestComparison::of(&plan.name, Pairing::Blocks, plan.precision, a, b, open);
            sheet.test(&test)?;
            comparison.tests.push(test);
        }
        if end != End::Complete {
            return Ok((comparison, end));
        }
        sheet.keep(&comparison)?;
    }
    comparison.complete = true;
    Ok((comparison, End::Complete))
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

/// How the runs are taken, in a sentence.
fn how(plan: &Plan, blocks: u32) -> String {
    let each = match plan.stop {
        Stop::Requests(n) => format!("{n} requests"),
        Stop::AfterNs(ns) => format!("{} s", ns as f64 / 1e9),
    };
    let blocks = if blocks == 1 { "1 block".to_owned() } else { format!("{blocks} blocks") };
    format!("{blocks} of A B B A for each test, {each} a run, with one plan; ratios are B / A")
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
                eprintln!("WARNING: {}", report::escape(warning));
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
                eprintln!("{}", report::escape(line));
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
