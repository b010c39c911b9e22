//! `--convert`: a file of 1.x to 4.0 as one of 5.x. Settings that 5.x lacks become comments.

use std::fmt::Write;

use cli::workload_file::Source;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::config::{Client, Config, General, Target, Workload};
use super::document::Document;
use super::fault::{Fault, rule};
use super::keyspace::{Command, KeyDistribution, Keyspace};
use super::rate::Ratelimit;
use super::verb::{Protocol, Verb};
use super::versions::Version;

/// Keys of a key space that has no count.
const KEYS_MOST: u32 = 1_000_000;
/// Defaults for keys that a file lacks.
const INTERVAL_S: u32 = 60;
const WINDOWS: u32 = 5;
const TIMEOUT_MS: u32 = 1000;
const VALUE_BYTES: u32 = 1;
/// Keys that have no effect on the load.
const SILENT: &str = "[debug], name, style, seed, regenerate, num";

/// A file of one of these versions, each of which has some of the keys.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct OlderConfig {
    general: OlderGeneral,
    target: Section,
    connection: Section,
    request: Section,
    keyspace: Vec<Space>,
    workload: Vec<Method>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct OlderGeneral {
    protocol: Option<String>,
    interval: Option<u32>,
    /// The interval of 1.x and 2.x.
    duration: Option<u32>,
    windows: Option<u32>,
    admin: Option<String>,
    #[serde(alias = "clients")]
    threads: Option<u16>,
    connections: Option<u32>,
    poolsize: Option<u32>,
    /// In milliseconds, and in microseconds since 3.x.
    #[serde(alias = "connect-timeout")]
    connect_timeout: Option<u32>,
    #[serde(alias = "request-timeout")]
    request_timeout: Option<u32>,
    request_ratelimit: Option<u32>,
    warmup_hitrate: Option<f64>,
    endpoint: Option<String>,
    endpoints: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Section {
    endpoints: Vec<String>,
    /// Connections of each thread.
    poolsize: Option<u32>,
    ratelimit: Option<u32>,
}

/// A key space of 3.x and 4.0.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Space {
    weight: Option<u32>,
    length: Option<u32>,
    #[serde(alias = "cardinality")]
    count: Option<u32>,
    ttl: u32,
    commands: Vec<Action>,
    values: Vec<Values>,
    batch_size: u32,
    key_distribution: Distribution,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Action {
    #[serde(alias = "action")]
    verb: String,
    weight: Option<u32>,
    #[serde(default)]
    ttl: u32,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Values {
    length: Option<u32>,
    weight: Option<u32>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Distribution {
    model: Option<String>,
    parameters: Option<IgnoredAny>,
}

/// A workload of 1.x and 2.x.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Method {
    method: String,
    #[serde(default)]
    rate: u32,
    #[serde(default)]
    parameter: Vec<Parameter>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Parameter {
    size: Option<u32>,
}

/// The text of the new file, which can be carried out.
///
/// # Errors
/// Returns an error if the file is not TOML, is for 5.x already, or asks for something that 5.x lacks.
pub(super) fn converted(source: &Source) -> Result<String, Fault> {
    let mut file = Document::parse(source)?;
    let version = Version::from_document(&file).ok_or_else(|| {
        rule(format!("{}: nothing to convert: not a file of rpc-perf 1.x to 4.0", source.name))
    })?;
    // Files of 1.x and 2.x need none of them, those of 3.x the first.
    let sections = ["[general]", "[target]"].into_iter().take(version as usize);
    if let Some(section) = sections.into_iter().find(|section| !file.has(section)) {
        return Err(file.broken("", format!("{section} is missing")));
    }
    file.wrap("key_distribution", "model");
    let (old, mut lost) = file.read::<OlderConfig>(SILENT)?;
    let protocol = protocol(&old, &file)?;
    let new = toml::to_string(&old.converted(protocol, version, &mut lost));
    let mut text = format!("# Converted from {}, of rpc-perf {}.\n", source.name, version.name());
    for lost in &lost {
        let lost = lost.trim_start_matches("WARNING: ").replace('\n', " ");
        let _ = writeln!(text, "# Not converted: {lost}");
    }
    text = format!("{text}\n{}", new.map_err(|error| rule(error.to_string()))?);
    let written = Source { name: format!("{}, converted", source.name), text, is_preset: false };
    Config::read(&written)?;
    Ok(written.text)
}

impl OlderConfig {
    /// The file in the words of 5.x. Missing values are those of older versions, and what has no equivalent is added
    /// to `lost`.
    fn converted(self, protocol: Protocol, version: Version, lost: &mut Vec<String>) -> Config {
        let Self { general, target, connection, request, mut keyspace, workload } = self;
        let is_two = version == Version::Two;
        let interval = if is_two { general.duration } else { general.interval };
        let interval = endless(lost, "interval", interval.unwrap_or(INTERVAL_S), INTERVAL_S);
        let windows = endless(lost, "windows", general.windows.unwrap_or(WINDOWS), WINDOWS);
        if general.warmup_hitrate.is_some() {
            lost.push("warmup_hitrate: --ks-fill writes every key before the run".to_owned());
        }
        if is_two {
            lost.extend(general.interval.map(|_| "interval: windows last duration".to_owned()));
            lost.push("the server, formerly on the command line: set endpoints".to_owned());
        }
        // A file has only those of its version.
        let rates = workload.iter().fold(0, |all: u32, method| all.saturating_add(method.rate));
        let start = general.request_ratelimit.or(request.ratelimit).or(Some(rates));
        let start = start.filter(|start| *start > 0);
        keyspace.extend(workload.into_iter().map(Space::from));
        let threads = general.threads.unwrap_or(1);
        let of_thread = general.poolsize.or(connection.poolsize).unwrap_or(1);
        let of_all = if is_two { 1 } else { of_thread.saturating_mul(threads.into()) };
        let unit = if version == Version::Three { 1000 } else { 1 };
        let milliseconds =
            |given: Option<u32>| given.map_or(TIMEOUT_MS, |time| time.div_ceil(unit));
        let mut endpoints = [general.endpoints, target.endpoints].concat();
        endpoints.extend(general.endpoint);
        if endpoints.is_empty() {
            endpoints.push("127.0.0.1:6379".to_owned());
        }
        Config {
            general: General {
                protocol,
                interval,
                duration: interval.saturating_mul(windows),
                admin: general.admin.unwrap_or_else(|| "127.0.0.1:9090".to_owned()),
                ..General::default()
            },
            target: Target { endpoints },
            client: Client {
                threads,
                poolsize: general.connections.unwrap_or(of_all),
                connect_timeout: milliseconds(general.connect_timeout),
                request_timeout: milliseconds(general.request_timeout),
                ..Client::default()
            },
            workload: Workload {
                threads: 1,
                ratelimit: Ratelimit { start, ..Ratelimit::default() },
                keyspace: keyspaces(keyspace, lost),
            },
            ..Config::default()
        }
    }
}

/// Returns a number of seconds or windows, which is `default` where it would be 0.
fn endless(lost: &mut Vec<String>, key: &str, given: u32, default: u32) -> u32 {
    if given > 0 {
        return given;
    }
    lost.push(format!("{key} = 0, a run without an end: it is {default}"));
    default
}

impl From<Method> for Space {
    fn from(Method { method, rate, parameter }: Method) -> Self {
        let mut sizes = parameter.into_iter().map(|of| of.size);
        Self {
            weight: Some(rate.max(1)),
            length: sizes.next().flatten(),
            commands: vec![Action { verb: method, weight: None, ttl: 0 }],
            values: sizes.map(|length| Values { length, weight: None }).take(1).collect(),
            ..Self::default()
        }
    }
}

/// Key spaces of 5.x: one for each length that values have, by its share of them.
fn keyspaces(old: Vec<Space>, lost: &mut Vec<String>) -> Vec<Keyspace> {
    let mut split = Vec::new();
    for (n, mut space) in (1..).zip(old) {
        if space.batch_size > 1 {
            lost.push("batch_size: a get has one key".to_owned());
        }
        let klen = space.length.unwrap_or(1);
        let ttl = space.commands.iter().map(|command| command.ttl).fold(space.ttl, u32::max);
        let mut new = Keyspace {
            weight: space.weight.unwrap_or(1),
            klen: Some(klen),
            nkeys: Some(space.count.unwrap_or_else(|| room(klen))),
            key_distribution: space.key_distribution.converted(lost),
            ttl: (ttl > 0).then(|| format!("{ttl}s")),
            ..Keyspace::default()
        };
        for Action { verb, weight, .. } in space.commands {
            let name = if verb == "lrange" { "list_fetch" } else { &verb };
            match Verb::named(name).filter(|verb| verb.refused().is_none()) {
                Some(verb) => {
                    let weight = weight.unwrap_or(1);
                    new.commands.push(Command { verb, weight, ..Command::default() });
                }
                None => lost.push(format!("keyspace {n}: unknown verb {name}")),
            }
        }
        if space.values.is_empty() {
            space.values.push(Values::default());
            if new.commands.iter().any(|command| command.verb.needs_value()) {
                new.vlen = Some(VALUE_BYTES);
                let why = format!("vlen is {VALUE_BYTES}, as it was by default");
                lost.push(format!("no length of values: {why}"));
            }
        } else {
            new.vlen = Some(VALUE_BYTES);
        }
        let parts = space.values.iter().map(|value| value.weight.unwrap_or(1));
        let all = parts.clone().map(u64::from).sum::<u64>().max(1);
        for (value, part) in space.values.iter().zip(parts) {
            let vlen = value.length.or(new.vlen);
            split.push((Keyspace { vlen, ..new.clone() }, part, all));
        }
    }
    in_shares(split)
}

impl Distribution {
    /// The distribution of 5.x, if that is not its default.
    fn converted(&self, lost: &mut Vec<String>) -> Option<KeyDistribution> {
        if self.parameters.is_some() {
            lost.push("key_distribution parameters: the exponent is 1 in 5.x".to_owned());
        }
        match self.model.as_ref()?.to_lowercase().as_str() {
            "zipf" => return Some(KeyDistribution::Zipf),
            "uniform" => {}
            other => lost.push(format!("key_distribution {other}: keys are drawn uniformly")),
        }
        None
    }
}

/// Parts of key spaces, each with the whole weight of its space, its part of it and all parts, with weights that
/// leave each space its share of the load.
fn in_shares(split: Vec<(Keyspace, u32, u64)>) -> Vec<Keyspace> {
    let divided = |of: u128, by: u128| of / common_divisor(of, by) * by;
    // Beyond this, shares are rounded: weights are numbers of 32 bits.
    let least =
        split.iter().fold(1, |least, (_, _, all)| divided(least, u128::from(*all)).min(1 << 64));
    let weight = |(space, part, all): &(Keyspace, u32, u64)| {
        u128::from(space.weight).saturating_mul(u128::from(*part)).saturating_mul(least)
            / u128::from(*all)
    };
    let most = split.iter().map(weight).max().unwrap_or(0);
    let scale = most.div_ceil(u128::from(u32::MAX)).max(1);
    let weights: Vec<u32> = split
        .iter()
        .map(|of| u32::try_from(weight(of).div_ceil(scale)).unwrap_or(u32::MAX))
        .collect();
    let spaces = split.into_iter().map(|(space, ..)| space);
    spaces.zip(weights).map(|(space, weight)| Keyspace { weight, ..space }).collect()
}

/// The greatest that divides both.
fn common_divisor(a: u128, b: u128) -> u128 {
    if b == 0 { a.max(1) } else { common_divisor(b, a % b) }
}

/// Returns the protocol, by its older names.
fn protocol(old: &OlderConfig, file: &Document<'_>) -> Result<Protocol, Fault> {
    match old.general.protocol.as_deref() {
        None | Some("memcache") => Ok(Protocol::Memcache),
        Some("ping") => Ok(Protocol::Ping),
        Some("resp" | "redis" | "redis-resp" | "redis_resp" | "redis-inline" | "redis_inline") => {
            Ok(Protocol::Resp)
        }
        Some(name) => {
            Err(file.refused("[general] protocol", format!("{name}: 5.x does not speak it")))
        }
    }
}

/// Keys that there are of a length, of letters alone, but no more than fit in memory there.
fn room(klen: u32) -> u32 {
    52u32.saturating_pow(klen).min(KEYS_MOST)
}

#[cfg(test)]
#[path = "convert_tests.rs"]
mod tests;
