//! What properties mean, as a plan: whom to ask comes from keystorm's own options, what to send from the
//! workload.

use std::ffi::OsString;

use cli::run::ParsedArgs;
use job::{Job, UsageError};
use workload::derived::CheckedValues;
use workload::typed_login::shown_address;
use workload::{
    Backoff, Content, KeyDist, KeySpace, Mix, OnError, Operation, Pick, PlanParts, Retry, SizeBy,
    Step, Stop, ValueSpec, limits,
};

use super::arguments::{Arguments, Binding, Phase};
use super::properties::Properties;
use super::workload::{CoreWorkload, Kind};
use super::{PERSONA, known, results};

const NS_PER_S: u64 = 1_000_000_000;

/// Amount of work, and its time limit.
struct Amount {
    /// 0 for as much as there is time for.
    operations: u64,
    seconds: u64,
    threads: u32,
    /// YCSB's message when it lowers the number of threads.
    warning: Option<String>,
}

/// The job of a command line.
///
/// # Errors
/// What makes no sense, in words for the person who typed it.
pub(super) fn job(arguments: &Arguments) -> Result<Job, UsageError> {
    let properties = &arguments.properties;
    let mut remarks = known::check(properties).map_err(UsageError)?;
    let workload =
        CoreWorkload::from_properties(properties, arguments.phase).map_err(UsageError)?;
    remarks.extend(workload.remarks.iter().cloned());
    let amount = Amount::from_properties(properties, arguments.phase).map_err(UsageError)?;
    let words = words(arguments, &amount).map_err(UsageError)?;
    let typed = match ParsedArgs::read("ycsb", |command| command, words)? {
        Ok(typed) => typed.in_place_of(PERSONA),
        Err(intent) => return Err(UsageError(describe(intent))),
    };
    let mut job = typed.job_of_peer()?;
    let built = |parts: PlanParts| {
        let parts = complete(parts, arguments, &workload, &amount)?;
        let plan = parts.build().map_err(|e| e.to_string())?;
        runner::check_memory(&plan)?;
        Ok::<_, String>(plan)
    };
    let plans = job.plans.iter().map(|plan| built((**plan).clone()));
    job.plans = plans.collect::<Result<_, _>>().map_err(UsageError)?;
    let checked = workload.checked.is_some();
    results::complete(&mut job, arguments, (amount.warning, remarks), checked)
        .map_err(UsageError)?;
    Ok(job)
}

fn describe(intent: job::Intent) -> String {
    match intent {
        job::Intent::Say(text) => text,
        _ => String::new(),
    }
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

/// The words of keystorm's own command line that say whom to ask, and how often.
fn words(arguments: &Arguments, amount: &Amount) -> Result<Vec<OsString>, String> {
    let properties = &arguments.properties;
    let mut words: Vec<OsString> = Vec::new();
    match arguments.binding {
        Binding::Redis => of_redis(arguments, &mut words)?,
        Binding::Memcached => of_memcached(arguments, &mut words)?,
    }
    let mut option = |name: &str, value: String| words.extend([name.into(), value.into()]);
    option("-c", amount.threads.to_string());
    match amount.operations {
        0 => option("--duration", amount.seconds.to_string()),
        operations => option("-n", operations.to_string()),
    }
    match properties.at_least_0("target", 0)? {
        0 => {}
        target => option("--rps", target.to_string()),
    }
    words.extend(arguments.own.iter().cloned());
    // What is sent takes its place.
    let command: &[&str] = match arguments.binding {
        Binding::Redis => &["PING"],
        Binding::Memcached => &["get", "k"],
    };
    words.push("--".into());
    words.extend(command.iter().map(OsString::from));
    Ok(words)
}

/// Adds the options of where a Redis is, and of how it is asked.
fn of_redis(arguments: &Arguments, words: &mut Vec<OsString>) -> Result<(), String> {
    let properties = &arguments.properties;
    let spawned = arguments.own.iter().any(|word| word.to_string_lossy().starts_with("--spawn"));
    let mut option = |name: &str, value: &str| words.extend([name.into(), value.into()]);
    match properties.get("redis.host").filter(|host| !host.is_empty()) {
        Some(host) => option("-h", host),
        None if spawned => {}
        None => {
            return Err("redis.host is not set; add it, such as -p redis.host=127.0.0.1".to_owned());
        }
    }
    if !spawned {
        option("-p", &properties.number("redis.port", 6379u16)?.to_string());
    }
    if let Some(password) = properties.get("redis.password") {
        option("-a", password);
    }
    let own = |name: &str| arguments.own.iter().any(|word| word == name);
    let timeout = properties.number("redis.timeout", JEDIS_TIMEOUT_MS)?;
    if timeout > 0 && !own("--timeout") {
        option("--timeout", &timeout.to_string());
    }
    if properties.flag("redis.cluster", false) {
        words.push("--cluster".into());
    }
    Ok(())
}

/// Timeout for a reply in Jedis, which YCSB uses.
const JEDIS_TIMEOUT_MS: u32 = 2000;

/// Adds the options of where memcached servers are, and of how they are asked.
fn of_memcached(arguments: &Arguments, words: &mut Vec<OsString>) -> Result<(), String> {
    let properties = &arguments.properties;
    let spawned = arguments.own.iter().any(|word| word.to_string_lossy().starts_with("--spawn"));
    let mut option = |name: &str, value: &str| words.extend([name.into(), value.into()]);
    let own = |name: &str| arguments.own.iter().any(|word| word == name);
    if !spawned {
        let hosts = memcached_hosts(properties)?;
        option("-h", &hosts);
        if hosts.contains(',') && !own("--hash") {
            // Where spymemcached, which YCSB has, stores them.
            option("--hash", "spymemcached");
        }
    }
    let protocol = match properties.text("memcached.protocol", "text") {
        "text" => "memcache",
        "binary" => "memcache-binary",
        other => {
            return Err(format!("memcached.protocol={other}: expected text or binary"));
        }
    };
    option("--protocol", protocol);
    let timeout = properties.number("memcached.opTimeoutMillis", 60_000u32)?;
    if !own("--timeout") {
        option("--timeout", &timeout.to_string());
    }
    Ok(())
}

/// The servers as `-h` takes them, each with its port.
fn memcached_hosts(properties: &Properties) -> Result<String, String> {
    let hosts = properties
        .get("memcached.hosts")
        .filter(|hosts| !hosts.is_empty())
        .ok_or("memcached.hosts is not set; add it, such as -p memcached.hosts=127.0.0.1")?;
    let server = |server: &str| {
        let (host, port) = server.split_once(':').unwrap_or((server, "11211"));
        let fault = |what: &str| format!("memcached.hosts={}: {what}", shown_address(hosts));
        if host.is_empty() {
            return Err(fault("a host is missing"));
        }
        let port: u16 = port.parse().map_err(|_| fault("the port is no number from 1 to 65535"))?;
        Ok(format!("{host}:{port}"))
    };
    let servers: Result<Vec<String>, String> = hosts.split(',').map(server).collect();
    Ok(servers?.join(","))
}

/// Completes the base plan with YCSB's operations, keys and values.
fn complete(
    mut parts: PlanParts,
    arguments: &Arguments,
    workload: &CoreWorkload,
    amount: &Amount,
) -> Result<PlanParts, String> {
    let mut commands = Vec::new();
    let mut operations = Vec::new();
    for (kind, weight) in &workload.operations {
        let built = arguments.binding.operation(workload, *kind)?;
        commands.extend(built.commands);
        let steps: Vec<Step> = built.steps;
        let inserts = arguments.phase == Phase::Run && *kind == Kind::Insert;
        let keys = inserts.then(|| inserted(workload)).transpose()?;
        operations.push(Operation { name: kind.name().to_owned(), weight: *weight, steps, keys });
    }
    let (phase, keys) = match arguments.phase {
        Phase::Load => ("load", &workload.loaded),
        Phase::Run => ("run", &workload.keys),
    };
    let binding = match arguments.binding {
        Binding::Redis => "redis",
        Binding::Memcached => "memcached",
    };
    parts.name = format!("ycsb {phase} {binding}");
    parts.sequence = commands;
    parts.mix = Some(Mix { operations, pick: Pick::Drawn });
    parts.data.keys = keys.clone();
    parts.data.payload_bytes = u64::from(workload.lengths.largest());
    let content = match arguments.binding {
        Binding::Redis => Content::Ycsb,
        Binding::Memcached => Content::YcsbJson,
    };
    let by = if workload.lengths.is_fixed() { SizeBy::Key } else { SizeBy::Request };
    parts.data.values = Some(ValueSpec { sizes: workload.lengths.clone(), by, content });
    parts.peer.separate_failures = true;
    if let Some(len) = workload.checked {
        parts.peer.checks = Some(CheckedValues { len, key: super::redis::named(workload) });
    }
    if amount.operations > 0 && amount.seconds > 0 {
        parts.load.at_most_ns = Some(amount.seconds * NS_PER_S);
    }
    if amount.operations == 0 {
        parts.load.stop = Stop::AfterNs(amount.seconds * NS_PER_S);
    }
    let keeps_going =
        arguments.properties.flag("core_workload_insertion_keep_going_on_error", false);
    if arguments.phase == Phase::Load {
        parts.recovery.retry = retry(&arguments.properties)?.or(parts.recovery.retry);
    }
    parts.recovery.on_error = match arguments.phase {
        Phase::Load if !keeps_going => OnError::Stop,
        Phase::Load | Phase::Run => OnError::Count,
    };
    if results::kind(&arguments.properties)?.is_raw() {
        parts.peer.logged = crate::layout::logged(&parts);
    }
    Ok(parts)
}

/// Returns how often, and after how long, an insert that failed is sent again; `None` for never.
fn retry(properties: &Properties) -> Result<Option<Retry>, String> {
    let most = properties.at_least_0("core_workload_insertion_retry_limit", 0)?;
    let most = u32::try_from(most).unwrap_or(u32::MAX);
    let seconds = properties.number("core_workload_insertion_retry_interval", 3u32)?;
    let wait_ns = u64::from(seconds) * NS_PER_S;
    Ok((most > 0).then(|| Retry {
        most: Some(most),
        backoff: Backoff { first_ns: wait_ns, factor: 1.0, longest_ns: wait_ns },
        jitter: 0.2,
        on: Vec::new(),
        // A thread does nothing else meanwhile.
        waiting_max: 1,
    }))
}

/// Records that are not there yet, one after another, behind those that are.
fn inserted(workload: &CoreWorkload) -> Result<KeySpace, String> {
    Ok(KeySpace::new(workload.keys.range, KeyDist::INSERT))
}
