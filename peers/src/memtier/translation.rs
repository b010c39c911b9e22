//! Conversion of options to a job: the load, and the layout of the results.

use std::ffi::OsString;
use std::sync::Arc;

use cli::job::{Intent, Job, ToolMessage};
use cli::run::Tool;
use report::Persona;

use super::address;
use super::configuration;
use super::fault::{Fault, check_error};
use super::options::Options;
use super::output::Reports;
use super::plan;
use super::verification;

/// Behaviour under this name.
const PERSONA: Persona = Persona::of_tool("memtier_benchmark");

/// Ours that is no option of keystorm's own command line.
const VERDICT: &str = "--verdict";
/// Option that prints a layout of keystorm's instead of memtier's tables.
const FORMAT: &str = "--format";

/// Use of memtier's own options instead of keystorm's.
const INSTEAD: &str = "options of memtier_benchmark set what is sent, where and how often; \
                       `--as keystorm` turns them into those of keystorm";

/// Returns the job of these options; `ours` are words of keystorm beside them.
pub(super) fn job(options: &Options, ours: &[String]) -> Result<Job, Fault> {
    let own_layout = ours.iter().any(|word| word.starts_with(FORMAT));
    let tool = Tool {
        persona: if own_layout { report::KEYSTORM } else { PERSONA },
        format: (!own_layout).then_some("memtier"),
        verdict: ours.iter().rev().find_map(|word| verdict(word)).filter(|_| !own_layout),
        instead: INSTEAD,
    };
    let own = ours.iter().filter(|word| verdict(word).is_none()).map(OsString::from).collect();
    let mut described = None;
    let mut notes = Vec::new();
    let mut job = tool.job(own, |spec| {
        address::describe(options, spec)?;
        let items = plan::describe(options, spec, &mut notes)?;
        described = Some((items, spec.clone()));
        Ok::<(), Fault>(())
    })?;
    job.notes.extend(notes);
    if job.several.is_some() && options.client_stats.is_some() {
        return Err(check_error(
            "--client-stats with --ks-on is not carried out by keystorm: clients tell what they counted, not \
             what each connection saw; see docs/memtier.md",
        ));
    }
    if let (Some((items, mut spec)), [load], true) =
        (described, &job.plans[..], options.data_verify)
    {
        verification::describe(options, &items, load, &mut spec)?;
        let plans = spec.plans(&mut Vec::new()).map_err(|error| check_error(error.why))?;
        if options.verify_only {
            job.plans = plans;
        } else {
            job.last = plans.into_iter().next();
        }
    }
    job.repeats = if options.verify_only { 1 } else { options.run_count };
    if own_layout {
        return Ok(job);
    }
    job.output.reports = Some(Arc::new(Reports::new(options)));
    if options.show_config {
        job.greeting = configuration::shown(options.entries(), &options.json_out_file);
    }
    Ok(job)
}

/// The place of verdicts that a word names.
fn verdict(word: &str) -> Option<OsString> {
    match word.split_once('=') {
        None if word == VERDICT => Some("stderr".into()),
        Some((VERDICT, place)) => Some(place.into()),
        _ => None,
    }
}

/// The plans of a job as text.
pub(super) fn printed(job: &Job) -> Result<Intent, Fault> {
    let plans = job.plans.iter().chain(&job.last);
    Intent::plans(plans).map_err(|cli::job::UsageError(why)| check_error(why))
}

/// A text on standard output and nothing else.
pub(super) fn say(out: String, code: u8) -> Intent {
    Intent::Tool(ToolMessage { out, err: String::new(), code })
}
