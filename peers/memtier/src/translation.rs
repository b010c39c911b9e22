//! From options to a job: the words of keystorm that say where and how, the plan, and what is laid out
//! how.

use std::ffi::OsString;
use std::sync::Arc;

use cli::own;
use cli::run::ParsedArgs;
use host::{Questions, affinity};
use job::{Intent, Job, ToolMessage, UsageError, VerdictTo};
use report::{NodeNames, Persona, ProgressFigures};
use workload::{Plan, PlanParts, Verify};

use super::address;
use super::configuration;
use super::exporter::Exporter;
use super::fault::{Fault, check_error};
use super::options::{Options, Requests};
use super::output::Reports;
use super::plan::{self, Parts};
use super::progress::MonitorSettings;
use super::verification;
use super::waiting::ReconnectOptions;
use crate::layout::Style;

/// Behaviour under this name.
const PERSONA: Persona = Persona {
    program: "memtier_benchmark",
    imitates: true,
    nodes: NodeNames::Masters,
    progress: ProgressFigures::Means,
    questions: Questions::None,
    mentions_shortfall: false,
    suite_of_redis: false,
};

/// Ours that is no option of keystorm's own command line.
const VERDICT: &str = "--verdict";
/// Option that prints a layout of keystorm's instead of memtier's tables.
const FORMAT: &str = "--format";

/// Options of keystorm that memtier has words of its own for, or that would change what is sent.
const OF_ITS_OWN: [&str; 39] = [
    "host",
    "port",
    "user",
    "dbnum",
    "protocol",
    "cluster",
    "rfr",
    "tls",
    "cert",
    "key",
    "cacert",
    "insecure",
    "sni",
    "requests",
    "duration",
    "clients",
    "threads",
    "pipeline",
    "window",
    "workload",
    "phase",
    "key-dist",
    "sequential",
    "size-by",
    "content",
    "ttl",
    "verify",
    "fail-on-miss",
    "mix",
    "dataset",
    "seed",
    "repeat",
    "help",
    "hit-ratio",
    "retry",
    "retry-wait",
    "retry-jitter",
    "retry-queue",
    "retry-on",
];

/// Refuses words of keystorm that would say what its own words say.
fn check_ours(ours: &[String]) -> Result<(), Fault> {
    let name = |word: &String| word.trim_start_matches('-').split('=').next().map(str::to_owned);
    let name = ours.iter().filter_map(name).find(|name| own::is_set_by_tool(name, &OF_ITS_OWN));
    name.map_or(Ok(()), |name| {
        Err(check_error(format!(
            "--ks-{name}: options of memtier_benchmark set what is sent, where and how often; \
             `--as keystorm` turns them into those of keystorm"
        )))
    })
}

/// The job of these options; `ours` are words of keystorm that stand beside them.
pub(super) fn job(options: &Options, ours: &[String]) -> Result<Job, Fault> {
    let verdict = ours.iter().rev().find_map(|word| match word.split_once('=') {
        _ if word == VERDICT => Some(VerdictTo::Stderr),
        Some((VERDICT, file)) => Some(VerdictTo::File(file.into())),
        _ => None,
    });
    check_ours(ours)?;
    let own_layout = ours.iter().any(|word| word.starts_with(FORMAT));
    let is_verdict = |word: &&String| word.split('=').next() == Some(VERDICT);
    let spawned = ours.iter().any(|word| word.starts_with("--spawn"));
    let mut words = keystorm_words(options, spawned)?;
    words.extend(ours.iter().filter(|word| !is_verdict(word)).cloned());
    // What is sent is put in its place below.
    words.extend(["-r", "1", "--", "get", "memtier-__rand_int__"].map(str::to_owned));
    let mut job = based(words)?;
    if job.several.is_some() && options.client_stats.is_some() {
        return Err(check_error(
            "--client-stats with --ks-on is not carried out by keystorm: clients tell what they counted, not \
             what each connection saw; see docs/memtier.md",
        ));
    }
    let base = job.plans.pop().ok_or_else(|| check_error("nothing is to be sent"))?;
    let Parts { load: mut parts, items } = plan::parts(options, &base, &mut job.notes)?;
    if let Some(tls) = &mut parts.target.tls
        && tls.verify == Verify::Host
        && tls.sni.is_none()
    {
        // As there: whose certificate it is, is not looked at.
        tls.verify = Verify::Chain;
    }
    let load = checked(parts)?;
    let verification = if options.import.verify {
        Some(checked(verification::plan(options, &items, &load)?)?)
    } else {
        None
    };
    (job.plans, job.last) = match verification {
        Some(plan) if options.import.verify_only => (vec![plan], None),
        verification => (vec![load], verification),
    };
    job.repeats = if options.import.verify_only { 1 } else { options.run_count };
    if own_layout {
        return Ok(job);
    }
    let output = &mut job.output;
    own::check_output(output).map_err(check_error)?;
    output.options.persona = PERSONA;
    (output.options.verdict, output.options.suite) = (false, false);
    output.verdict = verdict.unwrap_or(VerdictTo::Nowhere);
    (output.live, output.format) = (None, "memtier");
    output.reports = Some(Arc::new(reports(options)));
    if options.show_config {
        job.greeting = configuration::shown(options);
    }
    Ok(job)
}

fn checked(parts: PlanParts) -> Result<Plan, Fault> {
    let plan = parts.build().map_err(|why| check_error(why.to_string()))?;
    wire::check(&plan).map_err(check_error)?;
    runner::check_memory(&plan).map_err(check_error)?;
    Ok(plan)
}

fn based(words: Vec<String>) -> Result<Job, Fault> {
    let words = words.into_iter().map(OsString::from).collect();
    let describe = |why: UsageError| check_error(why.0.trim_end().to_owned());
    match ParsedArgs::read("keystorm", |command| command, words).map_err(describe)? {
        Ok(typed) => typed.job_of_peer().map_err(describe),
        Err(_) => Err(check_error("--ks-help and --ks-version: ask keystorm itself")),
    }
}

/// Translates options into keystorm's own words: the server, if it is not one that is `spawned`, and
/// the shape of the load.
fn keystorm_words(options: &Options, spawned: bool) -> Result<Vec<String>, Fault> {
    let mut words = address::words(options, spawned)?;
    let connections = options.connections();
    let mut say = |option: &str, value: String| words.extend([option.to_owned(), value]);
    say("-c", connections.to_string());
    say("--threads", options.threads.to_string());
    say("-P", options.pipeline.to_string());
    say("--window", "rolling".to_owned());
    say("--on-error", "count".to_owned());
    let reconnect = if options.reconnect_on_error { "yes" } else { "no" };
    say("--reconnect", reconnect.to_owned());
    match options.test_time {
        Some(seconds) if options.requests.is_none() => say("--duration", seconds.to_string()),
        _ => {}
    }
    if options.reconnect_interval > 0 {
        say("-k", "0".to_owned());
    }
    let cpus = affinity::allowed().iter().map(ToString::to_string).collect::<Vec<_>>();
    if options.pin_threads && !cpus.is_empty() {
        say("--cpus", cpus.join(","));
    }
    Ok(words)
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
            retries: options.retrying.plan(1).is_some(),
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
    let text = job::printed_plans(job.every_plan());
    text.map(Intent::Say).map_err(|why| check_error(why.to_string()))
}

/// A text on standard output and nothing else.
pub(super) fn say(out: String, code: u8) -> Intent {
    Intent::Tell(ToolMessage { out, err: String::new(), code })
}
