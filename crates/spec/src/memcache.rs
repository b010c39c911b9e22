//! Meaning of a command line for memcached: options for Redis alone, the suite, and commands that cannot be
//! sent.

use naming::{
    CLUSTER, DBNUM, ENABLE_TRACKING, HOST, IDLE, KEY_RANGE, NO_TOUCH, REQUESTS, RESP3, TESTS, TTL,
    Text, URI, text,
};
use workload::cache_words::LIFETIME_MAX_S;
use workload::memcache_suite::{KEYS_DEFAULT, MEMCACHE_SUITE, MemcacheShape, MemcacheTest};
use workload::{
    CommandSpec, Data, Lifetime, Mix, MixStep, Operation, Pick, Plan, PlanParts, ProtocolKind,
    StepCondition, Stop,
};

use crate::error::first_given;
use crate::{LoadSpec, ServerOptions};

/// Maximum number of keys that are stored before a test of the suite.
const FILLED_MAX: u64 = 10_000_000;

/// Refuses options without a meaning for memcached.
///
/// # Errors
/// Returns an error that names the first of them and, if there is one, an alternative.
pub(crate) fn refuse(server: &ServerOptions, uri_names_database: bool) -> Result<(), Text> {
    const NO_DATABASES: &str = "memcached has no databases; use key prefixes instead";
    let refused = [
        (DBNUM, server.dbnum.is_some(), NO_DATABASES),
        (URI, uri_names_database, NO_DATABASES),
        (RESP3, server.resp3, "RESP3 works with Redis and Valkey only; remove it"),
        (ENABLE_TRACKING, server.enable_tracking, "memcached has no client tracking"),
        (CLUSTER, server.cluster, "memcached has no cluster mode"),
        (NO_TOUCH, server.no_touch, "memcached has no such setting"),
    ];
    let refused =
        refused.into_iter().find_map(|(option, given, why)| given.then_some((option, why)));
    match refused.or_else(|| Some((first_given(&server.replicas)?, "memcached has no replicas"))) {
        Some((CLUSTER, why)) => {
            Err(text!("{CLUSTER}: {why}; {HOST} a,b,c distributes keys over several servers"))
        }
        Some((option, why)) => Err(text!("{option}: {why}")),
        None => Ok(()),
    }
}

/// Refuses lifetimes that memcached takes for absolute times.
///
/// # Errors
/// Returns an error if the lifetime is longer than 30 days.
pub(crate) fn check_lifetime(lifetime: Option<Lifetime>) -> Result<(), Text> {
    match lifetime {
        Some(lifetime) if lifetime.most_s > LIFETIME_MAX_S => Err(text!(
            "{TTL} {lifetime}: memcached takes more than 30 days ({LIFETIME_MAX_S} s) as an \
             absolute time"
        )),
        _ => Ok(()),
    }
}

/// Returns whether a command stores a value with a lifetime.
pub(crate) fn stores(command: &CommandSpec) -> bool {
    ["SET", "ADD", "REPLACE", "CAS", "MS"].contains(&command.name().as_str())
}

/// The tests that `-t` names, or all that the protocol has, as plans.
pub(crate) fn suite(base: &PlanParts, options: &LoadSpec) -> Result<Vec<PlanParts>, Text> {
    let tests = chosen(options.data.tests.as_deref(), base.protocol)?;
    let shape = MemcacheShape {
        value_len: base.data.payload_bytes as u32,
        requests: match base.load.stop {
            Stop::Requests(n) => Some(n),
            Stop::AfterNs(_) => None,
        },
        seed: base.load.seed,
        lifetime: options.data.ttl,
    };
    let filled = base.data.keys.range.unwrap_or(KEYS_DEFAULT);
    if filled > FILLED_MAX && tests.iter().any(|test| test.fill(&shape).is_some()) {
        return Err(text!(
            "{KEY_RANGE} {filled}: memcached tests store every key before they read it, up to \
             {FILLED_MAX}; use a command instead, such as: get key:__rand_int__"
        ));
    }
    Ok(tests.into_iter().map(|test| parts(base, test, &shape)).collect())
}

fn parts(base: &PlanParts, test: &MemcacheTest, shape: &MemcacheShape) -> PlanParts {
    let varies = base.data.values.is_some();
    let valued = |command: CommandSpec| if varies { command.with_values() } else { command };
    let commands = test.commands(shape);
    PlanParts {
        name: test.title.to_owned(),
        setup: test.fill(shape).map(valued).into_iter().collect(),
        mix: (commands.len() > 1).then(|| in_turn(test.name, commands.len())),
        sequence: commands.into_iter().map(valued).collect(),
        data: Data { keys: test.keys(&base.data.keys, shape), ..base.data.clone() },
        ..base.clone()
    }
}

/// Builds a mix of one operation with this many commands, each sent once the one before is answered.
fn in_turn(name: &str, commands: usize) -> Mix {
    let (weight, steps) = (1, vec![MixStep { commands: 1, when: StepCondition::Always }; commands]);
    let operation = Operation { name: name.to_owned(), weight, steps, keys: None };
    Mix { operations: vec![operation], pick: Pick::InOrder }
}

fn chosen(asked: Option<&str>, protocol: ProtocolKind) -> Result<Vec<&'static MemcacheTest>, Text> {
    let all: Vec<&MemcacheTest> =
        MEMCACHE_SUITE.iter().filter(|test| test.is_spoken(protocol)).collect();
    let Some(asked) = asked else { return Ok(all) };
    let asked = asked.to_lowercase();
    let asked: Vec<&str> = asked.split(',').map(str::trim).filter(|t| !t.is_empty()).collect();
    let known = || all.iter().map(|test| test.name).collect::<Vec<_>>().join(", ");
    if let Some(unknown) = asked.iter().find(|name| !all.iter().any(|test| test.name == **name)) {
        let elsewhere = MEMCACHE_SUITE.iter().any(|test| test.name == *unknown);
        let hint = if elsewhere { " in this protocol" } else { "" };
        return Err(text!("{TESTS}: unknown test {unknown:?}{hint}; available: {}", known()));
    }
    if asked.is_empty() {
        return Err(text!("{TESTS}: no test named; available: {}", known()));
    }
    Ok(all.into_iter().filter(|test| asked.contains(&test.name)).collect())
}

/// Checks and completes the commands of a plan: those that may keep silent are numbered, and a
/// sequence with such is sent in whole.
///
/// # Errors
/// Returns the reason, in words for the person who typed it, if something cannot be sent.
pub(crate) fn complete(parts: &mut PlanParts, requests_given: bool) -> Result<(), Text> {
    wire::check(parts)?;
    if parts.protocol == ProtocolKind::MemcacheBinary {
        return Ok(());
    }
    let quiet = wire::memcache::number_quiet(&mut parts.sequence)?;
    if quiet && parts.target.ring().is_some() {
        return Err("flag q (quiet) works with one server only; remove it".into());
    }
    let len = parts.requests_per_number() as u64;
    if let (true, Stop::Requests(n)) = (quiet, parts.load.stop)
        && n % len != 0
    {
        let whole = n.div_ceil(len) * len;
        if requests_given {
            return Err(text!(
                "{REQUESTS} {n}: a sequence with quiet commands (flag q) is sent as a whole, and this \
                 one has {len} commands; use {REQUESTS} {whole}"
            ));
        }
        parts.load.stop = Stop::Requests(whole);
    }
    Ok(())
}

/// Checks what a plan asks of several servers, if it is for such.
///
/// # Errors
/// Returns the reason, in words for the person who typed it, if something is impossible there.
pub(crate) fn check_ring(plan: &Plan, idle: bool) -> Result<(), Text> {
    if plan.target.ring().is_none() {
        return Ok(());
    }
    if idle {
        return Err(text!("{IDLE} opens connections to one server only; name one with {HOST}"));
    }
    let (keys, kept) = (wire::Keys::for_plan::<wire::memcache::Text>(plan), plan.replies_kept());
    let mut first = 0;
    for step in plan.mix.iter().flat_map(|mix| &mix.operations).flat_map(|o| &o.steps) {
        let is_kept = kept.get(first).is_some_and(|kept| *kept != workload::CaptureRule::Nothing);
        if is_kept && (step.commands > 1 || keys.count(first) > 1) {
            return Err(
                "__reply__: with several servers, the step that returns it must be one command \
                 with one key"
                    .into(),
            );
        }
        first += step.commands as usize;
    }
    Ok(())
}
