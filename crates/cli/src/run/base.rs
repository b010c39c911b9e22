//! What all tests of a command line have in common.

use std::net::IpAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use report::Persona;
use workload::{
    Arrivals, BudgetScope, Concurrency, Data, Endpoint, Load, OnError, Pace, PlanParts,
    ReconnectLimits, Recording, Recovery, Schedule, Stop, Target, Window, limits,
};

use super::options::{LoadOptions, Options};
use super::target::{OptionsAfterUri, UriPrecedence, protocol, target};
use super::values::{Threads, YesNo, nanoseconds};
use super::{keys, payload, rate, tls};
use crate::cpus::cpu_list;

const REQUESTS_DEFAULT: u64 = 100_000;
/// How long opening a connection and the first reply may take where no --timeout is given: the kernel has asked
/// four times by then.
const OPENING_MAX: Duration = Duration::from_secs(10);

/// What all tests have in common.
pub(super) fn base(
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
    let pace = load.per_request.pace(pace);
    let window = match (load.window, &pace) {
        (Some(window), _) => window.into(),
        (None, Pace::Closed) => Window::Batch,
        (None, Pace::Open(_)) => Window::Rolling,
    };
    let rule = if persona.is_peer() { UriPrecedence::Last(after) } else { UriPrecedence::Agree };
    let mut target = target(&options.server, rule)?;
    target.tls = tls::options(&options.tls, &target, persona, notes)?;
    let threads = threads(load, &target, persona, notes);
    let stop = stop(load, &pace);
    // By the name of a peer a lost connection ends the run, as it does there.
    let ours = !persona.is_peer();
    let reconnect = reconnects(load, &target, (stop, ours));
    load.connecting.check(load.keep_alive != 0, reconnect)?;
    let concurrency = concurrency(load, threads, (window, &pace), stop)?;
    let parts = Load {
        concurrency,
        pace,
        warmup_ns: nanoseconds(load.warmup.unwrap_or_default()),
        stop,
        at_most_ns: load.time_limit.map(nanoseconds),
        share: if load.per_connection {
            BudgetScope::PerConnection
        } else {
            BudgetScope::OneBudget
        },
        seed: seed(options),
        shard: load.shard.unwrap_or_default(),
    };
    let by_default = ours && Recording::stamps_by_default(&parts, &target.endpoint);
    Ok(PlanParts {
        target,
        protocol: protocol(&options.server)?,
        engine: load.engine.into(),
        load: parts,
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
            kernel_stamps: results.kernel_stamps.map_or(by_default, |arg| arg == YesNo::Yes),
        },
        recovery: recovery(options, reconnect),
        ..PlanParts::default()
    })
}

/// Whether a connection that is lost is opened again, of a run that is not a peer's or is.
fn reconnects(load: &LoadOptions, target: &Target, (stop, ours): (Stop, bool)) -> bool {
    // One that was started for the run does not come back.
    let returns = !matches!(target.endpoint, Endpoint::Spawned { .. });
    let by_time = matches!(stop, Stop::AfterNs(_)) && ours && returns;
    // An attempt that fails is counted, and the next is another connection.
    load.reconnect.map_or(by_time || load.per_request.connect, |arg| arg == YesNo::Yes)
}

/// Worker threads; 0 for one that reports do not call multi-threaded.
fn threads(load: &LoadOptions, target: &Target, persona: Persona, notes: &mut Vec<String>) -> i64 {
    let threads = match load.threads {
        None => 0,
        Some(Threads::Number(threads)) => threads.max(0),
        Some(Threads::Auto) => spare_cpus(&target.endpoint),
    };
    if threads > i64::from(limits::WORKERS_MAX) {
        let most = limits::WORKERS_MAX;
        notes.push(format!("{}: Too many threads, limiting threads to {most}.", persona.warning()));
    }
    threads
}

fn stop(load: &LoadOptions, pace: &Pace) -> Stop {
    let length_ns = pace.schedule().and_then(Schedule::length_ns);
    match (load.duration, load.requests, length_ns) {
        (Some(time), ..) => Stop::AfterNs(nanoseconds(time)),
        (None, None, Some(ns)) => Stop::AfterNs(ns),
        (None, requests, _) => Stop::Requests(requests.unwrap_or(REQUESTS_DEFAULT)),
    }
}

fn concurrency(
    load: &LoadOptions,
    threads: i64,
    (window, pace): (Window, &Pace),
    stop: Stop,
) -> Result<Concurrency, String> {
    let pipeline = load.pipeline.unwrap_or(1).max(1);
    let (requests, length_s) = match stop {
        Stop::Requests(requests) => (Some(requests), f64::INFINITY),
        Stop::AfterNs(ns) => (None, ns as f64 / 1e9),
    };
    let connections = || load.per_request.connections(pace, requests, length_s);
    Ok(load.connecting.of(Concurrency {
        workers: threads.clamp(1, i64::from(limits::WORKERS_MAX)) as u16,
        multi_thread: threads > 0,
        connections: load.clients.unwrap_or_else(connections),
        per_request: load.per_request.plan(),
        pipeline_depth: u32::try_from(pipeline).unwrap_or(u32::MAX),
        window,
        keep_alive: load.keep_alive != 0,
        cpus: cpu_list("--cpus", load.cpus.as_deref())?,
        ..Concurrency::default()
    }))
}

fn seed(options: &Options) -> u64 {
    match options.data.seed {
        Some(seed) => seed as u64,
        // The shares of a plan must draw from one stream, wherever they run.
        None if options.load.shard.is_some() => 1,
        None => seed_of_now(),
    }
}

fn recovery(options: &Options, reconnect: bool) -> Recovery {
    let (load, results) = (&options.load, &options.results);
    // Connections have a limit, so that one that nobody answers does not keep its place for ever.
    let patience = load.per_request.connect.then_some(OPENING_MAX);
    Recovery {
        on_error: match results.on_error {
            Some(on_error) => on_error.into(),
            // Who stands an outage stands the errors of a server that has just come back.
            None if reconnect => OnError::Count,
            None => OnError::Stop,
        },
        timeout_ns: load.timeout.or(patience).map(nanoseconds),
        deadline_ns: load.deadline.map(nanoseconds),
        retry: None,
        reconnect,
        backoff: load.connecting.backoff(),
        reopening: match load.per_request.connect {
            true => ReconnectLimits {
                within_ns: load.timeout.or(patience).map(nanoseconds),
                ..load.connecting.reopening()
            },
            false => load.connecting.reopening(),
        },
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
