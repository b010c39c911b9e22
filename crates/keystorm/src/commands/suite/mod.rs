//! Carrying out `keystorm suite`: every spec on its data, round by round; and two suites compared.

mod cluster;
mod contents;
mod load;
mod roles;
mod saved;
mod session;
mod settings;
mod sources;

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail};
use console::diagnostics::{self, Diagnostics};
use console::report_file;
use job::{End, SuiteJob};
use lab::suite::{Spec, SuiteComparison};
use lab::{Document, Suite};
use measure::Ending;
use report::{Run, Summary};

use self::roles::{PlanRefusal, Role, Roles};
use self::session::{Preparation, Session};
use self::sources::Sources;
use crate::commands::run::tell_about;
use crate::experiment::files::Files;
use crate::experiment::noise;
use crate::experiment::progress::{Progress, planned_s};
use crate::experiment::results;
use crate::experiment::terminal::Terminal;
use crate::signals;
use crate::test_bed::TestBed;

pub(crate) use saved::{compare, saved};

/// Seconds of each spec, and of keystorm's own, unless the command line says.
const SECONDS: f64 = 10.0;
const SECONDS_OWN: f64 = 3.0;
/// Connections that specs commonly open; a server that is started takes at least so many.
const CONNECTIONS: u32 = 256;

/// Measures every spec, prints the table, and writes the page.
///
/// # Errors
/// What kept it from being carried out, in words for a person; what was measured before is kept.
pub(crate) fn suite(job: &SuiteJob) -> Result<End> {
    let sources = sources::read(job)?;
    if job.list {
        return list(&sources);
    }
    let before = job.against.as_deref().map(saved::read).transpose()?;
    let mut files = Files::new(&job.output)?;
    if let Some(directory) = &job.memtier_json {
        fs::create_dir_all(directory)
            .with_context(|| format!("--memtier-json {}", directory.display()))?;
    }
    sources.remarks.iter().try_for_each(|remark| diagnostics::say(report::escape(remark)))?;
    let Some(first) = job.first.plans.first() else { return Ok(End::Complete) };
    let interrupted = signals::interrupted().context("installing the Ctrl-C handler")?;
    noise::warn()?;
    let bed = TestBed::reach(&first.target, first.protocol, CONNECTIONS, None, &interrupted)?;
    tell_about(&bed.server, first, &Diagnostics::Stderr, report::KEYSTORM)?;
    let mut suite = Suite::new(server(&bed), job.rounds, &sources.specs);
    let mut session = Session::new(job, first, bed, &interrupted);
    let keys = session.keys()?;
    if keys > 0 {
        bail!(
            "{} holds {} already, which a suite would remove; use --spawn, or name another server",
            session.bed().server.address,
            workload::quantity::counted(keys, "key")
        );
    }
    let mut progress = files.progress();
    let seconds = job.time_s.unwrap_or(if sources.is_own { SECONDS_OWN } else { SECONDS });
    let running = RoundContext { job, seconds, interrupted: &interrupted };
    let ended = running.rounds(&sources.specs, &mut session, &mut suite, &mut progress, &mut files);
    progress.clear();
    let tidied = session.tidy();
    if matches!(ended, Ok(End::Complete | End::Failed)) {
        suite.set_complete();
    }
    let compared = before.map(|(name, before)| {
        let names = [name, "this run".to_owned()];
        SuiteComparison::new(names, &before, &suite, job.metric, job.threshold)
    });
    show(job, &suite, compared.as_ref(), &files)?;
    tidied?;
    Ok(match (ended?, compared) {
        (End::Complete, Some(compared)) => saved::end(&compared),
        (end, _) => end,
    })
}

/// Returns the server's name and version.
fn server(bed: &TestBed<'_>) -> String {
    let known = |fact: &Option<String>| fact.clone().unwrap_or_else(|| "server".to_owned());
    format!("{} {}", known(&bed.server.facts.product), known(&bed.server.facts.version))
}

/// Prints the specs and what they test.
fn list(sources: &Sources) -> Result<End> {
    let mut table = page::Table::new(["spec", "groups", "commands", "priority"]);
    for spec in &sources.specs {
        let priority = spec.priority.map_or("–".to_owned(), |priority| priority.to_string());
        table.row([spec.name.clone(), spec.groups.join(","), spec.commands.join(","), priority]);
    }
    let terminal = Terminal::of_stdout();
    terminal.table(&table)?;
    sources.remarks.iter().try_for_each(|remark| terminal.line(remark))?;
    Ok(End::Complete)
}

/// The order in which data need be loaded least often: specs on the same data in a row, those that only read first.
fn order(specs: &[Spec], session: &Session<'_>) -> Vec<usize> {
    let first = |spec: &Spec| specs.iter().position(|other| other.preload == spec.preload);
    let mut order: Vec<usize> = (0..specs.len()).collect();
    let keys: Vec<_> = specs.iter().map(|spec| (first(spec), !session.only_reads(spec))).collect();
    order.sort_by_key(|at| (keys[*at], *at));
    order
}

/// Context of all rounds.
struct RoundContext<'s> {
    job: &'s SuiteJob,
    seconds: f64,
    interrupted: &'s AtomicBool,
}

impl RoundContext<'_> {
    fn rounds(
        &self,
        specs: &[Spec],
        session: &mut Session<'_>,
        suite: &mut Suite,
        progress: &mut Progress,
        files: &mut Files,
    ) -> Result<End> {
        let mut names: Vec<String> = specs.iter().flat_map(Spec::needs).collect();
        names.sort();
        names.dedup();
        session.learn(&names)?;
        for (entry, spec) in suite.specs.iter_mut().zip(specs) {
            let (Err(unfit) | Ok(Err(unfit))) = session
                .check(spec)
                .map(|()| roles::of_spec(spec, self.job, session.target(), self.seconds).map(drop))
            else {
                continue;
            };
            match unfit {
                PlanRefusal::Unsupported(why) => entry.skipped = Some(why),
                PlanRefusal::Broken(why) => entry.failure = Some(why),
            }
        }
        let order = order(specs, session);
        let mut left_s = self.seconds * (order.len() * self.job.rounds as usize) as f64;
        for round in 0..self.job.rounds {
            if round > 0 {
                session.forget();
            }
            for &at in &order {
                left_s -= self.seconds;
                if suite.specs[at].skipped.is_some() || suite.specs[at].failure.is_some() {
                    continue;
                }
                let ran = self.spec(&specs[at], session, progress, left_s.max(0.0));
                if self.interrupted.load(Ordering::Relaxed) {
                    return Ok(End::Interrupted);
                }
                match ran {
                    Ok((prepared, roles, runs)) => {
                        self.put(suite, at, &prepared, &roles, runs)?;
                    }
                    Err(PlanRefusal::Unsupported(why)) => suite.specs[at].skipped = Some(why),
                    Err(PlanRefusal::Broken(why)) => suite.specs[at].failure = Some(why),
                }
                files.keep(|| suite.to_json(), || suite.page(&self.job.command_line, None))?;
            }
        }
        let failed = suite.specs.iter().any(|entry| entry.failure.is_some());
        Ok(if failed { End::Failed } else { End::Complete })
    }

    /// Prepares and measures a spec once.
    fn spec(
        &self,
        spec: &Spec,
        session: &mut Session<'_>,
        progress: &mut Progress,
        left_s: f64,
    ) -> Result<(Preparation, Roles, Vec<Run>), PlanRefusal> {
        let prepared = session.prepare(spec, progress)?;
        // The server may have another address now.
        let roles = roles::of_spec(spec, self.job, session.target(), self.seconds)?;
        let this_s = roles.roles.iter().map(|role| planned_s(&role.plan)).fold(0.0, f64::max);
        progress.begin(spec.name.clone(), this_s, left_s);
        let runs = load::measure(session.bed(), session.target(), &roles.roles, progress);
        progress.end();
        let runs = runs.map_err(|error| PlanRefusal::Broken(format!("{error:#}")))?;
        Ok((prepared, roles, runs))
    }

    /// Adds what a spec yielded.
    fn put(
        &self,
        suite: &mut Suite,
        at: usize,
        prepared: &Preparation,
        roles: &Roles,
        runs: Vec<Run>,
    ) -> Result<()> {
        let entry = &mut suite.specs[at];
        for remark in prepared.remarks.iter().chain(&roles.remarks) {
            if !entry.remarks.contains(remark) {
                entry.remarks.push(remark.clone());
            }
        }
        for run in &runs {
            if let Ending::Failed(failure) = &run.measurement.ending {
                entry.failure = Some(failure.text.clone());
                return Ok(());
            }
        }
        entry.bytes_per_key.extend(prepared.bytes_per_key);
        if let Some(directory) = &self.job.memtier_json {
            write_documents(directory, &entry.name, &roles.roles, &runs)?;
        }
        let named: Vec<(String, Run)> =
            roles.roles.iter().map(|role| role.name.clone()).zip(runs).collect();
        Ok(suite.add(at, &named)?)
    }
}

/// Writes what memtier would write of each client, the one that stands for the spec under its name alone.
fn write_documents(directory: &Path, name: &str, roles: &[Role], runs: &[Run]) -> Result<()> {
    let name = name.replace(['/', '\\'], "_");
    for (number, (role, run)) in roles.iter().zip(runs).enumerate() {
        let text = role.tool.as_ref().and_then(|tool| tool.document(&Summary::from_run(run)));
        let Some(text) = text else { continue };
        let file = match number {
            0 => format!("{name}.json"),
            _ => format!("{name}.{number}.json"),
        };
        let path = directory.join(file);
        report_file::write(&path, text).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

fn show(
    job: &SuiteJob,
    suite: &Suite,
    compared: Option<&SuiteComparison>,
    files: &Files,
) -> Result<()> {
    let text = |terminal: &Terminal| {
        if let Some(compared) = compared {
            saved::print(compared)?;
            terminal.line("")?;
        }
        terminal.table(&suite.table(None))?;
        if !job.output.quiet {
            terminal.line("")?;
            terminal.line(&suite.count())?;
            suite.left_out().iter().try_for_each(|line| terminal.line(line))?;
            suite.remarks().iter().try_for_each(|remark| terminal.line(remark))?;
            terminal.warnings(&suite.warnings())?;
        }
        Ok(())
    };
    let page = || suite.page(&job.command_line, compared);
    results::show(&job.output, files, || suite.to_json(), || suite.to_csv(), page, text)
}
