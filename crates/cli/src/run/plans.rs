//! What was typed, as plans: one for each test.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use report::slo::Slo;
use report::{FormatOptions, Persona};
use workload::suite::{FCALL_KEYS_MAX, FUNCTIONS_MAX, Origin, SUITE, SuiteShape, SuiteTest, names};
use workload::{
    Arrivals, Concurrency, Data, Endpoint, Lifetime, Load, OnError, Pace, Plan, PlanParts,
    Recording, Recovery, Schedule, Share, Stop, Window, limits,
};

use super::commands::Given;
use super::options::Options;
use super::target::{OptionsAfterUri, UriPrecedence, protocol, target};
use super::values::{OnErrorArg, Threads, YesNo, nanoseconds};
use super::{commands, ineffective, keys, memcache, payload, rate, reads, replay, tls, verdict};
use crate::cpus::cpu_list;
use crate::outputs::apart;
use crate::{Action, Job, Output, Spread, VerdictTo};

/// A probe of more is a load.
const PROBE_MAX: f64 = 100_000.0;
const REQUESTS_DEFAULT: u64 = 100_000;
/// Options of a single test.
pub(super) const START_AT: &str = "--start-at";
pub(crate) const NAME: &str = "--name";

/// Turns options into a job, by that name. `after` tells which options stand after `-u`, `given` what
/// a file says is sent.
///
/// # Errors
/// What makes no sense, in words for the person who typed it.
pub(super) fn job(
    mut options: Options,
    persona: Persona,
    after: OptionsAfterUri,
    given: Option<Given>,
) -> Result<Job, String> {
    if let Some(refusal) = options.later.refused() {
        return Err(refusal);
    }
    if options.load.requests.is_some() && options.load.duration.is_some() {
        return Err("Options -n and --duration are mutually exclusive.".into());
    }
    let counted = options.load.requests.is_some() || options.data.replay.is_some();
    if options.load.time_limit.is_some() && !counted {
        return Err("--time-limit requires -n; without it, use --duration".into());
    }
    if options.data.xml_root_element.is_some() && options.data.dataset.is_none() {
        return Err("--xml-root-element requires an XML file (--dataset)".into());
    }
    let mut notes = notes(&options, persona);
    replay::check(&options)?;
    let replayed = options.data.replay.as_deref();
    let suite = options.command.is_empty() && given.is_none() && replayed.is_none();
    let output = output(&options, persona, suite)?;
    let slo = options.results.slo.clone();
    // A target for errors is one for a run that goes on in spite of them.
    if slo.as_ref().is_some_and(Slo::bounds_errors) {
        options.results.on_error.get_or_insert(OnErrorArg::Count);
    }
    let action = match options.load.idle {
        true => Action::Idle,
        false => Action::Run { repeat: options.load.repeat },
    };
    let base = base(&options, persona, after, &mut notes)?;
    if suite && options.data.dataset.is_some() {
        return Err(commands::FIELDS_WANTED.into());
    }
    if given.is_none() && options.data.order.is_some() && (suite || replayed.is_some()) {
        return Err("--set order requires operations: --mix, or [[operation]] in a file".to_owned());
    }
    if suite && !options.server.replicas.rfr_also.is_empty() {
        return Err("--rfr-also: requires commands, such as: eval 'return 1' 0".into());
    }
    if suite && options.data.mix {
        return Err("--mix: requires commands, such as: --mix -r 1M -- 9 get k:__key__ ';' 1 set \
             k:__key__ __data__"
            .into());
    }
    for (option, given, most) in [
        ("--num-functions", options.data.num_functions, FUNCTIONS_MAX),
        ("--num-keys-in-fcall", options.data.num_keys_in_fcall, FCALL_KEYS_MAX),
    ] {
        if given > most {
            return Err(format!("{option} {given}: the maximum is {most}"));
        }
    }
    let value_len = base.data.payload_bytes as u32;
    let requests_given = options.load.requests.is_some();
    let is_memcache = base.protocol.is_memcache();
    if is_memcache {
        memcache::check_lifetime(options.data.ttl)?;
    }
    let varies = base.data.values.is_some();
    let mut parts: Vec<PlanParts> = if suite && is_memcache {
        memcache::suite(&base, &options)?
    } else if suite {
        let shape = SuiteShape {
            value_len,
            value_skip: 0,
            randomised: base.data.keys.range.is_some(),
            functions: options.data.num_functions,
            fcall_keys: options.data.num_keys_in_fcall,
            redis_zadd: persona.suite_of_redis,
            cluster: options.server.cluster,
        };
        let tests = chosen(options.data.tests.as_deref(), persona)?;
        tests.into_iter().map(|test| suite_parts(&base, test, &shape, options.data.ttl)).collect()
    } else {
        vec![match (given, replayed) {
            (Some(given), _) => commands::given(base, &options, given)?,
            (None, Some(path)) => replay::parts(base, &options, path, &mut notes)?,
            (None, None) => commands::parts(base, &options, persona)?,
        }]
    };
    if is_memcache {
        let given = requests_given;
        parts.iter_mut().try_for_each(|parts| memcache::complete(parts, given))?;
    }
    reads::prepare(&mut parts, &options, suite, (varies, value_len))?;
    if let Some(name) = &options.results.name {
        single(NAME, parts.len())?;
        for parts in &mut parts {
            (parts.name, parts.named) = (name.clone(), true);
        }
    }
    notes.extend(ineffective::notes(&options, persona, &parts));
    if let Some(retry) = options.load.retrying.plan(parts.first().map_or(1, depth)) {
        parts = parts.into_iter().map(|parts| parts.retrying(retry.clone())).collect();
    }
    let plans: Result<Vec<Plan>, _> = parts.into_iter().map(PlanParts::build).collect();
    let plans = plans.map_err(|e| e.to_string())?;
    plans.iter().try_for_each(|plan| memcache::check_ring(plan, options.load.idle))?;
    plans.iter().try_for_each(runner::check_memory)?;
    let start_at = options.load.start_at;
    if start_at.is_some() {
        single(START_AT, plans.len())?;
    }
    let repeats = options.load.repeats.unwrap_or(1);
    let probe = options.clients.probe.map(|rate| rate as f64);
    if probe.is_some_and(|rate| !(1.0..=PROBE_MAX).contains(&rate)) {
        return Err(format!("--probe: must be between 1 and {PROBE_MAX} requests per second"));
    }
    let server_clock = options.clients.server_clock(&plans)?;
    let several = options.clients.several(&plans)?;
    let greeting = String::new();
    Ok(Job {
        plans,
        slo,
        last: None,
        action,
        repeats,
        output,
        notes,
        remarks: Vec::new(),
        greeting,
        start_at,
        several,
        server_clock,
        probe,
    })
}

fn depth(parts: &PlanParts) -> u32 {
    parts.load.concurrency.pipeline_depth
}

/// Refuses what is of a single test where there are so many.
pub(crate) fn single(option: &str, tests: usize) -> Result<(), String> {
    if tests <= 1 {
        return Ok(());
    }
    Err(format!(
        "{option} works with a single test only, and these are {tests}; name one with -t, or one \
         phase of a workload with --phase"
    ))
}

/// Warnings in the peers' words.
fn notes(options: &Options, persona: Persona) -> Vec<String> {
    let mut notes = Vec::new();
    let warning = persona.warning();
    if options.exit_on_error {
        let why = match persona {
            _ if !persona.is_peer() => {
                "An error reply ends the run unless --on-error count says otherwise."
            }
            _ => "We now immediately exit on error to avoid false results.",
        };
        notes.push(format!("{warning}: -e option has no effect. {why}"));
    }
    if options.load.keep_alive == 0 && !options.server.login_by_words {
        notes.push(format!(
            "{warning}: Keepalive disabled. You probably need 'echo 1 > \
             /proc/sys/net/ipv4/tcp_tw_reuse' for Linux and 'sudo sysctl -w \
             net.inet.tcp.msl=1000' for Mac OS X in order to use a lot of clients/requests"
        ));
    }
    if !options.command.is_empty() && options.data.tests.is_some() {
        notes.push(format!("{warning}: Option -t is ignored."));
    }
    notes
}

fn output(options: &Options, persona: Persona, suite: bool) -> Result<Output, String> {
    let results = &options.results;
    let to_stdout = |path: &Option<PathBuf>| path.as_deref() == Some(Path::new("-"));
    if to_stdout(&results.hdr) {
        return Err("--hdr: name a file; standard output is for the report".into());
    }
    let pages = results.pages.clone().checked()?;
    apart(
        &[
            ("--json", results.json.as_deref()),
            ("--hdr", results.hdr.as_deref()),
            ("--html", pages.html.as_deref()),
        ],
        &[
            ("--dataset", options.data.dataset.as_deref()),
            ("--replay", options.data.replay.as_deref()),
        ],
    )?;
    if options.load.idle && (results.json.is_some() || results.hdr.is_some() || pages.any()) {
        return Err("-I measures nothing to save with --json, --hdr, --html, --svg or --png".into());
    }
    let document = to_stdout(&results.json);
    if document && (results.quiet || results.csv || results.format.is_some_and(|f| f != "json")) {
        return Err("--json -: standard output can have only one format".into());
    }
    // Under the peers' names standard output is theirs to the byte.
    let ours = !persona.is_peer();
    let format = match (results.format, results.csv, results.quiet) {
        _ if document => "json",
        (Some(name), ..) => name,
        (None, true, _) => "csv",
        (None, false, true) => "quiet",
        (None, false, false) if ours => "text",
        (None, false, false) => "redis",
    };
    let environment = std::env::var_os("KEYSTORM_VERDICT");
    let verdict = verdict::place(persona, results.no_verdict, environment);
    Ok(Output {
        format,
        to: None,
        options: FormatOptions {
            first_byte: results.first_byte,
            suite,
            verdict: verdict == VerdictTo::Report,
            persona,
            full_distribution: results.distribution == Spread::Full,
        },
        verdict,
        live: Some(persona).filter(|_| !matches!(format, "csv" | "json" | "timeline" | "samples")),
        progress: results.progress,
        metrics: results.metrics.clone(),
        json: results.json.clone().filter(|_| !document),
        pages,
        hdr: results.hdr.clone(),
        sample: results.sample,
        reports: None,
    })
}

/// What all tests have in common.
fn base(
    options: &Options,
    persona: Persona,
    after: OptionsAfterUri,
    notes: &mut Vec<String>,
) -> Result<PlanParts, String> {
    let (load, data, results) = (&options.load, &options.data, &options.results);
    let (value_len, values) = payload::values(data, persona)?;
    let arrivals = load.arrivals.map_or(Arrivals::Constant, Into::into);
    let pace = match load.rps.as_deref() {
        None => Pace::Closed,
        Some(text) => rate::pace(text, arrivals).map_err(|e| format!("--rps {text}: {e}"))?,
    };
    let window = match (load.window, &pace) {
        (Some(window), _) => window.into(),
        (None, Pace::Closed) => Window::Batch,
        (None, Pace::Open(_)) => Window::Rolling,
    };
    let rule = if persona.is_peer() { UriPrecedence::Last(after) } else { UriPrecedence::Agree };
    let mut target = target(&options.server, rule)?;
    target.tls = tls::options(options, &target, persona, notes)?;
    let threads = match load.threads {
        None => 0,
        Some(Threads::Number(threads)) => threads.max(0),
        Some(Threads::Auto) => spare_cpus(&target.endpoint),
    };
    if threads > i64::from(limits::WORKERS_MAX) {
        let most = limits::WORKERS_MAX;
        notes.push(format!("{}: Too many threads, limiting threads to {most}.", persona.warning()));
    }
    let length_ns = pace.schedule().and_then(Schedule::length_ns);
    let stop = match (load.duration, load.requests, length_ns) {
        (Some(time), ..) => Stop::AfterNs(nanoseconds(time)),
        (None, None, Some(ns)) => Stop::AfterNs(ns),
        (None, requests, _) => Stop::Requests(requests.unwrap_or(REQUESTS_DEFAULT)),
    };
    // By the name of a peer a lost connection ends the run, as it does there.
    let ours = !persona.is_peer();
    // One that was started for the run does not come back.
    let returns = !matches!(target.endpoint, Endpoint::Spawned { .. });
    let by_time = matches!(stop, Stop::AfterNs(_)) && ours && returns;
    let reconnect = load.reconnect.map_or(by_time, |arg| arg == YesNo::Yes);
    let pipeline = load.pipeline.unwrap_or(1).max(1);
    load.connecting.check(load.keep_alive != 0, reconnect)?;
    let concurrency = Concurrency {
        workers: threads.clamp(1, i64::from(limits::WORKERS_MAX)) as u16,
        multi_thread: threads > 0,
        connections: load.clients,
        pipeline_depth: u32::try_from(pipeline).unwrap_or(u32::MAX),
        window,
        keep_alive: load.keep_alive != 0,
        cpus: cpu_list("--cpus", load.cpus.as_deref())?,
        ..Concurrency::default()
    };
    Ok(PlanParts {
        target,
        protocol: protocol(&options.server)?,
        engine: load.engine.into(),
        load: Load {
            concurrency: load.connecting.of(concurrency),
            pace,
            warmup_ns: nanoseconds(load.warmup.unwrap_or_default()),
            stop,
            at_most_ns: load.time_limit.map(nanoseconds),
            share: if load.per_connection { Share::PerConnection } else { Share::OneBudget },
            seed: match data.seed {
                Some(seed) => seed as u64,
                // The shares of a plan must draw from one stream, wherever they run.
                None if load.shard.is_some() => 1,
                None => seed_of_now(),
            },
            shard: load.shard.unwrap_or_default(),
        },
        data: Data {
            keys: keys::space(data)?,
            payload_bytes: u64::from(value_len),
            values,
            verify: data.verify,
            fail_on_miss: data.fail_on_miss,
            ..Data::default()
        },
        recording: Recording {
            precision: precision(results.precision),
            first_byte: results.first_byte,
        },
        recovery: Recovery {
            on_error: match results.on_error {
                Some(on_error) => on_error.into(),
                // Who stands an outage stands the errors of a server that has just come back.
                None if reconnect => OnError::Count,
                None => OnError::Stop,
            },
            timeout_ns: load.timeout.map(nanoseconds),
            retry: None,
            reconnect,
            backoff: load.connecting.backoff(),
            reopening: load.connecting.reopening(),
        },
        ..PlanParts::default()
    })
}

/// The tests that `-t` names, in the order of the suite.
fn chosen(tests: Option<&str>, persona: Persona) -> Result<Vec<&'static SuiteTest>, String> {
    let Some(tests) = tests else {
        let has = |t: &SuiteTest| !persona.suite_of_redis || t.origin == Origin::Redis;
        let by_default = |t: &&SuiteTest| t.by_default && has(t);
        return Ok(SUITE.iter().filter(by_default).collect());
    };
    let asked = tests.to_lowercase();
    let asked: Vec<&str> = asked.split(',').map(str::trim).filter(|t| !t.is_empty()).collect();
    let known = names();
    if let Some(unknown) = asked.iter().find(|name| !known.contains(name)) {
        let known = known.join(", ");
        return Err(format!("-t: unknown test {unknown:?}; available: {known}"));
    }
    if asked.is_empty() {
        return Err(format!("-t: no test named; available: {}", known.join(", ")));
    }
    Ok(SUITE.iter().filter(|t| t.names.iter().any(|n| asked.contains(n))).collect())
}

fn suite_parts(
    base: &PlanParts,
    test: &SuiteTest,
    shape: &SuiteShape,
    lifetime: Option<Lifetime>,
) -> PlanParts {
    let command = test.command(shape);
    let command = if base.data.values.is_some() { command.with_values() } else { command };
    let command = match lifetime {
        Some(lifetime) => command.with_lifetime(lifetime),
        None => command,
    };
    PlanParts {
        name: test.title.to_owned(),
        setup: test.setup(shape).into_iter().collect(),
        sequence: vec![command],
        ..base.clone()
    }
}

fn precision(digits: Option<i64>) -> u8 {
    match digits {
        None | Some(..=0) => 3,
        Some(digits) => digits.min(4) as u8,
    }
}

/// CPUs that the load may use beside a server on this machine, which takes one.
fn spare_cpus(endpoint: &Endpoint) -> i64 {
    let cpus = std::thread::available_parallelism().map_or(1, |n| n.get() as i64);
    if is_remote(endpoint) { cpus } else { (cpus - 1).max(1) }
}

fn is_remote(endpoint: &Endpoint) -> bool {
    match endpoint {
        Endpoint::Tcp { host, .. } | Endpoint::Replicated { primary: (host, _), .. } => {
            host != "localhost" && !host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
        }
        Endpoint::Sentinel { .. } => true,
        Endpoint::Ring { servers, .. } | Endpoint::Pool { servers } => {
            servers.iter().all(is_remote)
        }
        Endpoint::Unix(_) | Endpoint::Spawned { .. } => false,
    }
}

fn seed_of_now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (now.as_nanos() as u64) ^ u64::from(std::process::id()).rotate_left(32)
}
