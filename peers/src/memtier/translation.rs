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
use super::words::Words;

/// Behaviour under this name.
const PERSONA: Persona = Persona::of_tool("memtier_benchmark");

/// Option that prints a layout of keystorm's instead of memtier's tables.
const FORMAT: &str = "--format";

/// Use of memtier's own options instead of keystorm's.
const INSTEAD: &str = "options of memtier_benchmark set what is sent, where and how often; \
                       `--as keystorm` turns them into those of keystorm";

/// Returns the job of these options, with what `words` say of keystorm's beside them.
pub(super) fn job(options: &Options, words: Words) -> Result<Job, Fault> {
    let own_layout = words.ours.iter().any(|word| word.starts_with(FORMAT));
    let tool = Tool {
        persona: if own_layout { report::KEYSTORM } else { PERSONA },
        format: (!own_layout).then_some("memtier"),
        verdict: words.verdict.filter(|_| !own_layout),
        instead: INSTEAD,
    };
    let own = words.ours.into_iter().map(OsString::from).collect();
    let mut notes = Vec::new();
    let (mut job, (items, mut spec)) = tool.job(own, |spec| {
        address::describe(options, spec)?;
        let items = plan::describe(options, spec, &mut notes)?;
        Ok::<_, Fault>((items, spec.clone()))
    })?;
    job.notes.extend(notes);
    if job.several.is_some() && options.client_stats.is_some() {
        return Err(check_error(
            "--client-stats with --ks-on is not carried out by keystorm: clients tell what they counted, not \
             what each connection saw; see docs/memtier.md",
        ));
    }
    if let ([load], true) = (&job.plans[..], options.data_verify) {
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

/// The plans of a job as text.
pub(super) fn printed(job: &Job) -> Result<Intent, Fault> {
    let plans = job.plans.iter().chain(&job.last);
    Intent::plans(plans).map_err(|cli::job::UsageError(why)| check_error(why))
}

/// A text on standard output and nothing else.
pub(super) fn say(out: String, code: u8) -> Intent {
    Intent::Tool(ToolMessage { out, err: String::new(), code })
}
