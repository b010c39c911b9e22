//! Conversion of YCSB properties to a load.

use std::time::Duration;

use cli::job::{Job, UsageError};
use cli::run::Tool;
use spec::values::{Count, Milliseconds, OnErrorArg, Positive, ProtocolArg, Seconds};
use spec::{DataOptions, Jitter, LoadSpec, Peer, Rate, RetryOptions, Size, Times};
use workload::derived::CheckedValues;
use workload::typed_login::shown_address;
use workload::{
    Backoff, Content, MixStep, Operation, PeerOptions, Pick, RingHash, Secret, SizeBy,
    StepCondition, limits,
};

use super::arguments::{Arguments, Binding, Phase};
use super::properties::Properties;
use super::redis::{INSERTED, KEY};
use super::workload::{CoreWorkload, Kind};
use super::{PERSONA, known, memcached, redis, results};
use crate::ycsb::layout::{OtherFigures, logged};

const NS_PER_S: u64 = 1_000_000_000;

/// Amount of work, and its time limit.
struct Amount {
    /// Number of operations; 0 for no limit but time.
    operations: u64,
    seconds: u64,
    threads: u32,
    /// YCSB's message when it lowers the number of threads.
    warning: Option<String>,
}

/// The job of a command line.
///
/// # Errors
/// Returns the reason, in words for the person who typed it, if the options make no sense.
pub(super) fn job(arguments: &Arguments) -> Result<Job, UsageError> {
    let properties = &arguments.properties;
    let mut remarks = known::check(properties).map_err(UsageError)?;
    let workload =
        CoreWorkload::from_properties(properties, arguments.phase).map_err(UsageError)?;
    remarks.extend(workload.remarks.iter().cloned());
    let amount = Amount::from_properties(properties, arguments.phase).map_err(UsageError)?;
    let verdict = arguments.verdict.clone();
    let instead = "set this with properties instead";
    let tool = Tool { persona: PERSONA, format: Some("ycsb"), verdict, instead };
    let (mut job, ()) = tool.job(arguments.own.clone(), |spec| {
        describe(arguments, &workload, &amount, spec).map_err(UsageError)
    })?;
    let checked = workload.checked.is_some();
    results::complete(&mut job, arguments, amount.warning, remarks, checked).map_err(UsageError)?;
    Ok(job)
}

impl Amount {
    fn from_properties(properties: &Properties, phase: Phase) -> Result<Self, String> {
        let operations = match phase {
            Phase::Load => CoreWorkload::load_count(properties)?,
            Phase::Run => properties.number("operationcount", 0u64)?,
        };
        let seconds = properties.at_least_0("maxexecutiontime", 0)?;
        if operations == 0 && seconds == 0 {
            return Err(
                "operationcount: the run has no end; set this or maxexecutiontime".to_owned()
            );
        }
        if seconds > limits::DURATION_NS_MAX / NS_PER_S {
            return Err(format!("maxexecutiontime={seconds}: the maximum is 366 days"));
        }
        let mut threads = properties.number("threadcount", 1u32)?;
        if threads == 0 {
            return Err("threadcount=0: must be at least 1".to_owned());
        }
        let lowered = operations > 0 && u64::from(threads) > operations;
        if lowered {
            threads = operations as u32;
        }
        let warning = lowered.then(|| {
            "Warning: the threadcount is bigger than recordcount, the threadcount will be \
             recordcount!\n"
                .to_owned()
        });
        Ok(Self { operations, seconds, threads, warning })
    }
}

/// Writes the load, its target and its rate into `spec`.
fn describe(
    arguments: &Arguments,
    workload: &CoreWorkload,
    amount: &Amount,
    spec: &mut LoadSpec,
) -> Result<(), String> {
    let properties = &arguments.properties;
    match arguments.binding {
        Binding::Redis => of_redis(properties, spec)?,
        Binding::Memcached => of_memcached(properties, spec)?,
    }
    let load = &mut spec.load;
    load.connections = Some(Count(amount.threads));
    let time = (amount.seconds > 0).then(|| Seconds(Duration::from_secs(amount.seconds)));
    load.end_after(Some(Count(amount.operations)).filter(|Count(all)| *all > 0), time);
    load.per_connection = false;
    let target = properties.at_least_0("target", 0)?;
    load.rate = (target > 0).then(|| Rate::constant(target as f64));
    let data = &mut spec.data;
    (data.fill, data.fill_with, data.fail_on_miss) = (false, None, false);
    spec.server.pool = Vec::new();
    let keeps_going = properties.flag("core_workload_insertion_keep_going_on_error", false);
    spec.recording.on_error = Some(match arguments.phase {
        Phase::Load if !keeps_going => OnErrorArg::Stop,
        Phase::Load | Phase::Run => OnErrorArg::Count,
    });
    if arguments.phase == Phase::Load {
        retry(properties, &mut load.retrying)?;
    }
    sent(arguments, workload, spec)
}

/// Sets the Redis server and its timeouts.
fn of_redis(properties: &Properties, spec: &mut LoadSpec) -> Result<(), String> {
    let server = &mut spec.server;
    match properties.get("redis.host").filter(|host| !host.is_empty()) {
        Some(host) => _ = server.host.get_or_insert_with(|| host.to_owned()),
        None if server.spawn.is_some() => {}
        None => {
            return Err("redis.host is not set; add it, such as -p redis.host=127.0.0.1".to_owned());
        }
    }
    if server.spawn.is_none() {
        server.port.get_or_insert(properties.number("redis.port", 6379u16)?);
    }
    server.password = properties.get("redis.password").map(Secret::new);
    server.cluster |= properties.flag("redis.cluster", false);
    let timeout = properties.number("redis.timeout", JEDIS_TIMEOUT_MS)?;
    if timeout > 0 {
        spec.load.timeout.get_or_insert(in_ms(timeout));
    }
    Ok(())
}

/// Timeout for a reply in Jedis, which YCSB uses.
const JEDIS_TIMEOUT_MS: u32 = 2000;

fn in_ms(milliseconds: u32) -> Milliseconds {
    Milliseconds(Duration::from_millis(milliseconds.into()))
}

/// Sets the memcached servers and their timeouts.
fn of_memcached(properties: &Properties, spec: &mut LoadSpec) -> Result<(), String> {
    let server = &mut spec.server;
    if server.spawn.is_none() {
        let hosts = memcached_hosts(properties)?;
        if hosts.contains(',') {
            // The ring of spymemcached, the client that YCSB uses.
            server.hash.get_or_insert(RingHash::Spymemcached);
        }
        server.host.get_or_insert(hosts);
    }
    let protocol = match properties.text("memcached.protocol", "text") {
        "text" => ProtocolArg::Memcache,
        "binary" => ProtocolArg::MemcacheBinary,
        other => {
            return Err(format!("memcached.protocol={other}: expected text or binary"));
        }
    };
    server.protocol.get_or_insert(protocol);
    let timeout = properties.number("memcached.opTimeoutMillis", 60_000u32)?;
    spec.load.timeout.get_or_insert(in_ms(timeout));
    Ok(())
}

/// The servers as `-h` takes them, each with its port.
fn memcached_hosts(properties: &Properties) -> Result<String, String> {
    let hosts = properties
        .get("memcached.hosts")
        .filter(|hosts| !hosts.is_empty())
        .ok_or("memcached.hosts is not set; add it, such as -p memcached.hosts=127.0.0.1")?;
    let servers = hosts.split(',').map(|server| {
        let (host, port) = server.split_once(':').unwrap_or((server, "11211"));
        let fault = |what: &str| format!("memcached.hosts={}: {what}", shown_address(hosts));
        if host.is_empty() {
            return Err(fault("a host is missing"));
        }
        let port: u16 = port.parse().map_err(|_| fault("the port is no number from 1 to 65535"))?;
        Ok(format!("{host}:{port}"))
    });
    let servers: Result<Vec<String>, String> = servers.collect();
    Ok(servers?.join(","))
}

/// Says in `spec` which operations YCSB sends, on which keys and with which values.
fn sent(arguments: &Arguments, workload: &CoreWorkload, spec: &mut LoadSpec) -> Result<(), String> {
    let is_run = arguments.phase == Phase::Run;
    // New records get the keys after the existing ones, in order.
    let new = if is_run { INSERTED } else { KEY };
    let mut operations = Vec::new();
    for (kind, weight) in &workload.operations {
        let commands = match arguments.binding {
            Binding::Redis => redis::operation(workload, *kind, new),
            Binding::Memcached => memcached::operation(workload, *kind, new)?,
        };
        let mut steps = vec![MixStep { commands: 1, when: StepCondition::Always }; commands.len()];
        if *kind == Kind::Scan {
            // Records are read by the keys that the first step returned.
            steps[1].when = StepCondition::ForEach;
        }
        let name = kind.name().to_owned();
        operations.push((Operation { name, weight: *weight, steps, keys: None }, commands));
    }
    let (phase, keys) = if is_run { ("run", &workload.keys) } else { ("load", &workload.loaded) };
    let (binding, content) = match arguments.binding {
        Binding::Redis => ("redis", Content::Ycsb),
        Binding::Memcached => ("memcached", Content::YcsbJson),
    };
    let varies = !workload.lengths.is_fixed();
    let largest = workload.lengths.largest();
    let size = if varies { Size::Drawn(workload.lengths.clone()) } else { Size::Fixed(largest) };
    spec.send(operations, Pick::Drawn);
    spec.data = DataOptions {
        size: Some(size),
        size_by: varies.then_some(SizeBy::Request),
        content: Some(content),
        ..spec.data.beside_a_tool().drawn_from(keys)
    };
    let mut peer = Peer {
        name: format!("ycsb {phase} {binding}"),
        payload_bytes: u64::from(largest),
        options: PeerOptions {
            separate_failures: true,
            checks: workload.checked.map(|len| CheckedValues { len, key: redis::named(workload) }),
            ..PeerOptions::default()
        },
        ..Peer::default()
    };
    spec.peer = Some(peer.clone());
    if results::kind(&arguments.properties)?.has(OtherFigures::Raw) {
        let plans = spec.plans(&mut Vec::new()).map_err(|error| error.to_string())?;
        peer.options.logged = plans.iter().flat_map(|plan| logged(plan)).collect();
        spec.peer = Some(peer);
    }
    Ok(())
}

/// Sets whether, how often and after how long failed inserts are retried.
fn retry(properties: &Properties, retrying: &mut RetryOptions) -> Result<(), String> {
    let most = properties.at_least_0("core_workload_insertion_retry_limit", 0)?;
    let most = u32::try_from(most).unwrap_or(u32::MAX);
    let seconds = properties.number("core_workload_insertion_retry_interval", 3u32)?;
    let wait_ns = u64::from(seconds) * NS_PER_S;
    if most > 0 {
        *retrying = RetryOptions {
            retry: Some(Times(Some(most))),
            retry_wait: Some(Backoff { first_ns: wait_ns, factor: 1.0, longest_ns: wait_ns }),
            retry_jitter: Some(Jitter(0.2)),
            // A thread does nothing else meanwhile.
            retry_queue: Some(Positive(1)),
            retry_on: None,
        };
    }
    Ok(())
}
