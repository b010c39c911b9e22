//! `--convert`: a file of 2.x, 3.x or 4.0 as one of 5.x. Settings that 5.x lacks become comments.

use std::fmt::Write;

use cli::workload_file::Source;
use spec::write::toml_text as quoted;
use toml::de::DeTable;

use super::config::Config;
use super::fault::{Fault, rule};
use super::table::Table;
use super::verb::Verb;
use super::versions::Version;

/// Keys of a key space that has no count.
const KEYS_MOST: u64 = 1_000_000;
/// Defaults for keys that a file lacks.
const INTERVAL_S: u64 = 60;
const WINDOWS: u64 = 5;
const TIMEOUT_MS: u64 = 1000;
const VALUE_BYTES: u64 = 1;

/// Content of an older file, in the words of 5.x.
#[derive(Debug, Default)]
struct ConvertedConfig {
    protocol: &'static str,
    interval_s: u64,
    windows: u64,
    admin: Option<String>,
    endpoints: Vec<String>,
    threads: u64,
    poolsize: u64,
    connect_timeout_ms: Option<u64>,
    request_timeout_ms: Option<u64>,
    rate: u64,
    keyspaces: Vec<Space>,
    lost: Vec<String>,
}

#[derive(Debug)]
struct Space {
    weight: u64,
    klen: u64,
    nkeys: u64,
    vlen: Option<u64>,
    zipf: bool,
    ttl_s: u64,
    /// Verbs and their weights.
    commands: Vec<(&'static str, u64)>,
}

/// The text of the new file, which can be carried out.
///
/// # Errors
/// Returns an error if the file is not TOML, is for 5.x already, or asks for something that 5.x lacks.
pub(super) fn converted(source: &Source) -> Result<String, Fault> {
    let parsed = DeTable::parse(&source.text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        Fault::File(source.fault(at, error.message()))
    })?;
    let root = Table::root(source, parsed.get_ref());
    let version = Version::from_table(&root).ok_or_else(|| {
        rule(format!("{}: nothing to convert: not a file of rpc-perf 1.x to 4.0", source.name))
    })?;
    let mut new =
        ConvertedConfig { interval_s: INTERVAL_S, windows: WINDOWS, ..ConvertedConfig::default() };
    match version {
        Version::Two => new.two(&root)?,
        Version::Three => new.three(&root)?,
        Version::Four => new.four(&root)?,
    }
    new.lost.extend(root.unknown());
    new.complete();
    let text = new.text(source, version);
    let written = Source { name: format!("{}, converted", source.name), text, is_preset: false };
    Config::read(&written)?;
    Ok(written.text)
}

impl ConvertedConfig {
    /// Gives what is missing or has no equivalent the values that older versions had, and says so.
    fn complete(&mut self) {
        for (key, value, default) in [
            ("interval", &mut self.interval_s, INTERVAL_S),
            ("windows", &mut self.windows, WINDOWS),
        ] {
            if *value == 0 {
                self.lost.push(format!("{key} = 0, a run without an end: it is {default}"));
                *value = default;
            }
        }
        for space in &mut self.keyspaces {
            let writes = space.commands.iter().any(|(verb, _)| ["set", "hash_set"].contains(verb));
            if writes && space.vlen.is_none() {
                space.vlen = Some(VALUE_BYTES);
                self.lost.push(format!(
                    "no length of values: vlen is {VALUE_BYTES}, as it was by default"
                ));
            }
        }
    }

    fn general(&mut self, general: &Table<'_, '_>) -> Result<(), Fault> {
        self.protocol = protocol(general)?;
        self.interval_s = general.number("interval")?.unwrap_or(INTERVAL_S);
        self.windows = general.number("windows")?.unwrap_or(WINDOWS);
        self.admin = general.text("admin")?;
        Ok(())
    }

    fn two(&mut self, root: &Table<'_, '_>) -> Result<(), Fault> {
        if let Some(general) = root.table("general")? {
            self.protocol = protocol(&general)?;
            self.interval_s = general.number("duration")?.unwrap_or(INTERVAL_S);
            self.windows = general.number("windows")?.unwrap_or(WINDOWS);
            self.request_timeout_ms = general.number("request-timeout")?;
            self.connect_timeout_ms = general.number("connect-timeout")?;
            self.threads = general.number("threads")?.unwrap_or(1);
            self.poolsize = general.number("connections")?.unwrap_or(1);
            self.lost.extend(general.unknown());
        } else {
            (self.protocol, self.threads, self.poolsize) = ("memcache", 1, 1);
        }
        for workload in root.tables("workload", "workload")? {
            workload.text("name")?;
            let method = workload.required("method", workload.text("method")?)?;
            let rate = workload.number::<u64>("rate")?.unwrap_or(0);
            let sizes = workload.tables("parameter", "parameter")?;
            let mut lengths = Vec::new();
            for parameter in &sizes {
                for key in ["style", "seed", "regenerate", "num"] {
                    parameter.has(key);
                }
                lengths.push(parameter.number::<u64>("size")?.unwrap_or(1));
                self.lost.extend(parameter.unknown());
            }
            self.rate += rate;
            let klen = lengths.first().copied().unwrap_or(1);
            let commands = self.verbs(&workload, &[(method, 1)]);
            let (nkeys, vlen) = (room(klen), lengths.get(1).copied());
            self.keyspaces.push(Space {
                weight: rate.max(1),
                klen,
                nkeys,
                vlen,
                zipf: false,
                ttl_s: 0,
                commands,
            });
            self.lost.extend(workload.unknown());
        }
        self.lost.push("the server, formerly on the command line: set endpoints".to_owned());
        Ok(())
    }

    fn three(&mut self, root: &Table<'_, '_>) -> Result<(), Fault> {
        let general = root.table("general")?;
        let general = general.ok_or_else(|| root.broken("", "[general] is missing"))?;
        self.general(&general)?;
        self.threads = general.number("clients")?.unwrap_or(1);
        self.poolsize =
            general.number::<u64>("poolsize")?.unwrap_or(1).saturating_mul(self.threads);
        let milliseconds = |key: &str| -> Result<Option<u64>, Fault> {
            Ok(general.number::<u64>(key)?.map(|us| us.div_ceil(1000)))
        };
        self.request_timeout_ms = milliseconds("request_timeout")?;
        self.connect_timeout_ms = milliseconds("connect_timeout")?;
        self.rate = general.number("request_ratelimit")?.unwrap_or(0);
        self.endpoints = match general.texts("endpoints")? {
            Some(endpoints) => endpoints,
            None => general.text("endpoint")?.into_iter().collect(),
        };
        if general.float("warmup_hitrate").is_ok_and(|rate| rate.is_some()) {
            self.lost.push("warmup_hitrate: --ks-fill writes every key before the run".to_owned());
        }
        self.lost.extend(general.unknown());
        self.spaces(root)
    }

    fn four(&mut self, root: &Table<'_, '_>) -> Result<(), Fault> {
        let section = |key: &str| {
            root.table(key)?.ok_or_else(|| root.broken("", format!("[{key}] is missing")))
        };
        let general = section("general")?;
        self.general(&general)?;
        self.threads = general.number("threads")?.unwrap_or(1);
        self.lost.extend(general.unknown());
        let target = section("target")?;
        self.endpoints = target.texts("endpoints")?.unwrap_or_default();
        self.lost.extend(target.unknown());
        self.poolsize = self.threads;
        if let Some(connection) = root.table("connection")? {
            // There, of each thread.
            let of_thread = connection.number::<u64>("poolsize")?.unwrap_or(1);
            self.poolsize = self.threads.saturating_mul(of_thread);
            self.lost.extend(connection.unknown());
        }
        if let Some(request) = root.table("request")? {
            self.rate = request.number("ratelimit")?.unwrap_or(0);
            self.lost.extend(request.unknown());
        }
        root.has("debug");
        self.spaces(root)
    }

    /// Key spaces of 3.x and 4.0: one for each length that values have, by its share of them.
    fn spaces(&mut self, root: &Table<'_, '_>) -> Result<(), Fault> {
        let mut split = Vec::new();
        for space in root.tables("keyspace", "keyspace")? {
            let weight = space.number::<u64>("weight")?.unwrap_or(1);
            let klen = space.number::<u64>("length")?.unwrap_or(1);
            let count = match space.number("count")? {
                Some(count) => Some(count),
                None => space.number("cardinality")?,
            };
            let nkeys = count.unwrap_or_else(|| room(klen));
            let mut ttl_s = space.number("ttl")?.unwrap_or(0);
            let mut given = Vec::new();
            for command in space.tables("commands", "command")? {
                let name = match command.text("verb")? {
                    Some(verb) => verb,
                    None => command.required("action", command.text("action")?)?,
                };
                given.push((name, command.number::<u64>("weight")?.unwrap_or(1)));
                ttl_s = ttl_s.max(command.number("ttl")?.unwrap_or(0));
                self.lost.extend(command.unknown());
            }
            let commands = self.verbs(&space, &given);
            let mut values = Vec::new();
            for value in space.tables("values", "value")? {
                let len = value.number::<u64>("length")?.unwrap_or(1);
                values.push((Some(len), value.number::<u64>("weight")?.unwrap_or(1)));
                self.lost.extend(value.unknown());
            }
            if values.is_empty() {
                values.push((None, 1));
            }
            if space.number::<u64>("batch_size")?.unwrap_or(1) > 1 {
                self.lost.push("batch_size: a get has one key".to_owned());
            }
            let zipf = self.is_zipf(&space)?;
            let all = values.iter().map(|(_, of_value)| of_value).sum::<u64>().max(1);
            for (vlen, of_value) in values {
                let commands = commands.clone();
                let space = Space { weight, klen, nkeys, vlen, zipf, ttl_s, commands };
                split.push((space, of_value, all));
            }
            self.lost.extend(space.unknown());
        }
        self.keyspaces = in_shares(split);
        Ok(())
    }

    /// Returns whether keys of a space follow Zipf's law, as a table of 4.0 says, or a word.
    fn is_zipf(&mut self, space: &Table<'_, '_>) -> Result<bool, Fault> {
        let model = match space.table("key_distribution") {
            Ok(Some(distribution)) => {
                if distribution.has("parameters") {
                    self.lost
                        .push("key_distribution parameters: the exponent is 1 in 5.x".to_owned());
                }
                let model = distribution.text("model")?;
                self.lost.extend(distribution.unknown());
                model
            }
            Ok(None) => None,
            Err(_) => space.text("key_distribution")?,
        };
        match model.map(|model| model.to_lowercase()).as_deref() {
            None | Some("uniform") => Ok(false),
            Some("zipf") => Ok(true),
            Some(other) => {
                self.lost.push(format!("key_distribution {other}: keys are drawn uniformly"));
                Ok(false)
            }
        }
    }

    /// Returns those of these commands that 5.x has.
    fn verbs(
        &mut self,
        table: &Table<'_, '_>,
        given: &[(String, u64)],
    ) -> Vec<(&'static str, u64)> {
        let mut known = Vec::new();
        for (name, weight) in given {
            let name = if name == "lrange" { "list_fetch" } else { name };
            match Verb::named(name).filter(|verb| verb.refused().is_none()) {
                Some(verb) => known.push((verb.name(), *weight)),
                None => self.lost.push(format!("{}: unknown verb {name}", table.name)),
            }
        }
        known
    }

    fn text(&self, source: &Source, version: Version) -> String {
        let mut text =
            format!("# Converted from {}, of rpc-perf {}.\n", source.name, version.name());
        for lost in &self.lost {
            let lost = lost.trim_start_matches("WARNING: ");
            let _ = writeln!(text, "# Not converted: {}", lost.replace('\n', " "));
        }
        let endpoints: Vec<String> = match &self.endpoints[..] {
            [] => vec![quoted("127.0.0.1:6379")],
            all => all.iter().map(|endpoint| quoted(endpoint)).collect(),
        };
        let duration = self.interval_s.saturating_mul(self.windows);
        let timeout = self.request_timeout_ms.unwrap_or(TIMEOUT_MS);
        let _ = write!(
            text,
            "\n[general]\nprotocol = {}\ninterval = {}\nduration = {duration}\nadmin = {}\n\n[debug]\n\n\
             [target]\nendpoints = [{}]\n\n[client]\nthreads = {}\npoolsize = {}\nconnect_timeout = {}\n\
             request_timeout = {timeout}\n\n[workload]\nthreads = 1\n\n[workload.ratelimit]\n",
            quoted(self.protocol),
            self.interval_s,
            quoted(self.admin.as_deref().unwrap_or("127.0.0.1:9090")),
            endpoints.join(", "),
            self.threads,
            self.poolsize,
            self.connect_timeout_ms.unwrap_or(TIMEOUT_MS),
        );
        if self.rate > 0 {
            let _ = writeln!(text, "start = {}", self.rate);
        }
        for Space { weight, klen, nkeys, vlen, zipf, ttl_s, commands } in &self.keyspaces {
            let _ = write!(
                text,
                "\n[[workload.keyspace]]\nweight = {weight}\nklen = {klen}\nnkeys = {nkeys}\n"
            );
            if let Some(vlen) = vlen {
                let _ = writeln!(text, "vlen = {vlen}");
            }
            if *zipf {
                text += "key_distribution = \"zipf\"\n";
            }
            if *ttl_s > 0 {
                let _ = writeln!(text, "ttl = \"{ttl_s}s\"");
            }
            text += "commands = [\n";
            for (verb, weight) in commands {
                let _ = writeln!(text, "    {{ verb = \"{verb}\", weight = {weight} }},");
            }
            text += "]\n";
        }
        text
    }
}

/// Parts of key spaces, each with the whole weight of its space, its part of it and all parts, with weights that
/// leave each space its share of the load.
fn in_shares(split: Vec<(Space, u64, u64)>) -> Vec<Space> {
    let divided = |of: u128, by: u128| of / common_divisor(of, by) * by;
    let whole = |all: u64| u128::from(all);
    // Beyond this, shares are rounded: weights are numbers of 32 bits.
    let least = split.iter().fold(1, |least, (_, _, all)| divided(least, whole(*all)).min(1 << 64));
    let weight = |(space, part, all): &(Space, u64, u64)| {
        u128::from(space.weight).saturating_mul(whole(*part)).saturating_mul(least) / whole(*all)
    };
    let most = split.iter().map(weight).max().unwrap_or(0);
    let scale = most.div_ceil(u128::from(u32::MAX)).max(1);
    let weights: Vec<u64> = split
        .iter()
        .map(|of| u64::try_from(weight(of).div_ceil(scale)).unwrap_or(u64::MAX))
        .collect();
    let spaces = split.into_iter().map(|(space, ..)| space);
    spaces.zip(weights).map(|(space, weight)| Space { weight, ..space }).collect()
}

/// The greatest that divides both.
fn common_divisor(a: u128, b: u128) -> u128 {
    if b == 0 { a.max(1) } else { common_divisor(b, a % b) }
}

/// Returns the protocol, by its older names.
fn protocol(general: &Table<'_, '_>) -> Result<&'static str, Fault> {
    let name = general.text("protocol")?.unwrap_or_else(|| "memcache".to_owned());
    match name.as_str() {
        "memcache" => Ok("memcache"),
        "ping" => Ok("ping"),
        "resp" | "redis" | "redis-resp" | "redis_resp" | "redis-inline" | "redis_inline" => {
            Ok("resp")
        }
        _ => Err(general.refused("protocol", format!("{name}: 5.x does not speak it"))),
    }
}

/// Keys that there are of a length, of letters alone, but no more than fit in memory there.
fn room(klen: u64) -> u64 {
    52u64.saturating_pow(klen.try_into().unwrap_or(u32::MAX)).min(KEYS_MOST)
}

#[cfg(test)]
#[path = "convert_tests.rs"]
mod tests;
