//! Conversion of options to a job: the load, and the layout of the results.

use std::ffi::OsString;
use std::sync::Arc;

use cli::job::{Intent, Job, ToolMessage};
use cli::run::Tool;
use host::affinity;
use report::Persona;

use super::address;
use super::configuration;
use super::exporter::Exporter;
use super::fault::{Fault, check_error};
use super::options::Options;
use super::output::Reports;
use super::plan;
use super::progress::MonitorSettings;
use super::values::Requests;
use super::verification;
use super::waiting::ReconnectOptions;
use crate::memtier::layout::Style;

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
        (described, &job.plans[..], options.import.verify)
    {
        verification::describe(options, &items, load, &mut spec)?;
        let plans = spec.plans(&mut Vec::new()).map_err(|error| check_error(error.why))?;
        if options.import.verify_only {
            job.plans = plans;
        } else {
            job.last = plans.into_iter().next();
        }
    }
    job.repeats = if options.import.verify_only { 1 } else { options.run_count };
    if own_layout {
        return Ok(job);
    }
    job.output.reports = Some(Arc::new(reports(options)));
    if options.show_config {
        job.greeting = configuration::shown(options);
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

fn reports(options: &Options) -> Reports {
    let style = Style {
        percentiles: options.percentiles.clone(),
        distributions: !options.hide_histogram,
        built_in: options.commands.is_empty(),
        leaves_out_sets: options.multi_key_get > 0 && options.turn().0 == 0,
        merged: !options.by_line,
        every_run: options.print_all_runs,
        lookups: options.miss_tracking,
    };
    let configuration = configuration::entries(options);
    let head = match (options.requests, options.requests_each()) {
        (Some(Requests::AllKeys), Some(each)) => format!("setting requests to {each}\n"),
        _ => String::new(),
    };
    // Misses of generated GETs are reported only with --miss-tracking.
    let tracked = options.miss_tracking && !options.commands.is_empty();
    let seconds = options.test_time.unwrap_or_default();
    let exporter = || Arc::new(Exporter::new(&options.prometheus, options.run_count, seconds));
    Reports {
        head,
        shows_config: options.show_config,
        out_file: options.out_file.as_ref().map(Into::into),
        json_file: options.json_out_file.as_ref().map(Into::into),
        hdr_prefix: options.hdr_file_prefix.clone(),
        client_prefix: options.client_stats.clone(),
        configuration,
        waiting: ReconnectOptions::from_options(options),
        watched: MonitorSettings {
            style,
            statsd: options.statsd.clone(),
            cpu_warn: options.cpu_warn,
            stage_timeout: options.stage_timeout,
            realtime: options.realtime.then_some(options.latency_window),
            retries: options.retrying.is_on(),
            failed_keys: options.retrying.failed_keys.clone(),
            miss_threshold: options.miss_threshold.or(tracked.then_some(MISS_THRESHOLD)),
            debug: options.debug,
            exporter: options.prometheus.port.map(|_| exporter()),
            oversubscribed: oversubscribed(options.threads),
        },
        seconds: Arc::default(),
    }
}

/// Default miss rate (%) above which a command is reported.
const MISS_THRESHOLD: f64 = 1.0;

/// The warning about threads that share CPUs.
fn oversubscribed(threads: u32) -> Option<String> {
    let allowed = affinity::allowed().len();
    (allowed > 0 && threads as usize > allowed).then(|| {
        format!(
            "warning: CPU oversubscription: {threads} worker threads share {allowed} allowed logical \
             CPU(s). CPU contention may limit benchmark throughput and increase latency. Consider \
             reducing --threads or expanding the allowed CPU set."
        )
    })
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
