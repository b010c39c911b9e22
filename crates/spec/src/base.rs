//! Common part of all tests of a command line.

use std::net::IpAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use naming::Text;
use workload::{
    Arrivals, BudgetScope, Concurrency, Data, Endpoint, EngineKind, Load, OnError, Pace, PlanParts,
    ReconnectLimits, Recording, Recovery, Schedule, Shard, Stop, Target, Window, limits,
};

use crate::dialect::Dialect;
use crate::rank::ShardArg;
use crate::target::{protocol, target};
use crate::values::{Count, Cpus, Milliseconds, Seconds, Threads, YesNo};
use crate::{LoadOptions, LoadSpec, keys, payload, tls};

const REQUESTS_DEFAULT: u64 = 100_000;
/// Time that opening a connection and the first reply may take where no --timeout is given: the kernel has asked four
/// times by then.
const OPENING_MAX: Duration = Duration::from_secs(10);

/// Returns what all tests have in common.
pub(crate) fn base(options: &LoadSpec, notes: &mut Vec<String>) -> Result<PlanParts, Text> {
    let (load, data, results) = (&options.load, &options.data, &options.recording);
    let dialect = options.dialect;
    let (value_len, values) = payload::values(data, dialect)?;
    let arrivals = load.arrivals.map_or(Arrivals::Constant, Into::into);
    let pace = match &load.rate {
        Some(rate) if !rate.is_none() => Pace::Open(Schedule { stages: rate.0.clone(), arrivals }),
        Some(_) | None => Pace::Closed,
    };
    let pace = load.per_request.pace(pace);
    let window = match (load.window, &pace) {
        (Some(window), _) => window.into(),
        (None, Pace::Closed) => Window::Batch,
        (None, Pace::Open(_)) => Window::Rolling,
    };
    let mut target = target(&options.server, dialect)?;
    target.tls = tls::tls(&options.tls, &target, dialect, notes)?;
    let threads = threads(load, &target, dialect, notes);
    let stop = stop(load, &pace);
    let reconnect = reconnects(load, &target, stop, dialect.reconnects);
    load.connecting.check(load.keeps_alive(), reconnect)?;
    let concurrency = concurrency(load, threads, window, &pace, stop)?;
    let parts = Load {
        concurrency,
        pace,
        warmup_ns: load.warmup.map_or(0, Seconds::ns),
        stop,
        at_most_ns: load.time_limit.map(Seconds::ns),
        share: if load.per_connection {
            BudgetScope::PerConnection
        } else {
            BudgetScope::OneBudget
        },
        seed: seed(options),
        shard: load.shard.map_or(Shard::default(), |ShardArg(shard)| shard),
    };
    let by_default =
        dialect.kernel_stamps && Recording::stamps_by_default(&parts, &target.endpoint);
    Ok(PlanParts {
        target,
        protocol: protocol(&options.server)?,
        engine: load.engine.map_or(EngineKind::Auto, Into::into),
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
            precision: precision(results.precision.map(|Count(digits)| digits)),
            first_byte: results.first_byte,
            kernel_stamps: results.kernel_stamps.map_or(by_default, |arg| arg == YesNo::Yes),
            ledger: false,
        },
        recovery: recovery(options, reconnect),
        ..PlanParts::default()
    })
}

/// Returns whether a connection that is lost is opened again; `by_default` where the run ends by time.
fn reconnects(load: &LoadOptions, target: &Target, stop: Stop, by_default: bool) -> bool {
    // One that was started for the run does not come back.
    let returns = !matches!(target.endpoint, Endpoint::Spawned { .. });
    let by_time = matches!(stop, Stop::AfterNs(_)) && by_default && returns;
    // An attempt that fails is counted, and the next is another connection.
    load.reconnect.map_or(by_time || load.per_request.connect, |arg| arg == YesNo::Yes)
}

/// Worker threads; 0 for one that reports do not call multi-threaded.
fn threads(load: &LoadOptions, target: &Target, dialect: Dialect, notes: &mut Vec<String>) -> i64 {
    let threads = match load.threads {
        None => 0,
        Some(Threads::Number(threads)) => threads.max(0),
        Some(Threads::Auto) => spare_cpus(&target.endpoint),
    };
    if threads > i64::from(limits::WORKERS_MAX) {
        let most = limits::WORKERS_MAX;
        notes.push(format!("{}: Too many threads, limiting threads to {most}.", dialect.warning));
    }
    threads
}

fn stop(load: &LoadOptions, pace: &Pace) -> Stop {
    let length_ns = pace.schedule().and_then(Schedule::length_ns);
    match (load.duration, load.requests.map(|Count(requests)| requests), length_ns) {
        (Some(time), ..) => Stop::AfterNs(time.ns()),
        (None, None, Some(ns)) => Stop::AfterNs(ns),
        (None, requests, _) => Stop::Requests(requests.unwrap_or(REQUESTS_DEFAULT)),
    }
}

fn concurrency(
    load: &LoadOptions,
    threads: i64,
    window: Window,
    pace: &Pace,
    stop: Stop,
) -> Result<Concurrency, Text> {
    let pipeline = load.pipeline.map_or(1, |Count(depth)| depth.max(1));
    let (requests, length_s) = match stop {
        Stop::Requests(requests) => (Some(requests), f64::INFINITY),
        Stop::AfterNs(ns) => (None, ns as f64 / 1e9),
    };
    let connections = || load.per_request.connections(pace, requests, length_s);
    Ok(load.connecting.apply_to(Concurrency {
        workers: threads.clamp(1, i64::from(limits::WORKERS_MAX)) as u16,
        multi_thread: threads > 0,
        connections: load.connections.map_or_else(connections, |Count(number)| number),
        per_request: load.per_request.plan(),
        pipeline_depth: u32::try_from(pipeline).unwrap_or(u32::MAX),
        window,
        keep_alive: load.keeps_alive(),
        cpus: load.cpus.clone().map_or(Vec::new(), |Cpus(cpus)| cpus),
        ..Concurrency::default()
    }))
}

fn seed(options: &LoadSpec) -> u64 {
    match options.data.seed {
        Some(Count(seed)) => seed as u64,
        // The shares of a plan must draw from one stream, wherever they run.
        None if options.load.shard.is_some() => 1,
        None => seed_of_now(),
    }
}

fn recovery(options: &LoadSpec, reconnect: bool) -> Recovery {
    let (load, results) = (&options.load, &options.recording);
    // Opening a connection has a limit, so that one without an answer does not keep its place forever.
    let patience = load.per_request.connect.then_some(Milliseconds(OPENING_MAX));
    Recovery {
        on_error: match results.on_error {
            Some(on_error) => on_error.into(),
            // A run that survives an outage also survives the errors of a server that has just restarted.
            None if reconnect => OnError::Count,
            None => OnError::Stop,
        },
        timeout_ns: load.timeout.or(patience).map(Milliseconds::ns),
        deadline_ns: load.deadline.map(Milliseconds::ns),
        retry: None,
        reconnect,
        backoff: load.connecting.backoff(),
        reopening: if load.per_request.connect {
            ReconnectLimits {
                within_ns: load.timeout.or(patience).map(Milliseconds::ns),
                ..load.connecting.reopening()
            }
        } else {
            load.connecting.reopening()
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
