//! `[[workload.keyspace]]`: keys, what is stored in them, and the commands on them, with the rules that
//! they must keep to.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::document::{Document, flag};
use super::fault::Fault;
use super::verb::{Protocol, Verb};

/// A key space.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Keyspace {
    /// Name in errors.
    #[serde(skip)]
    pub(super) name: String,
    #[serde(default = "one")]
    pub(super) weight: u32,
    pub(super) klen: Option<u32>,
    pub(super) nkeys: Option<u32>,
    pub(super) inner_keys_nkeys: Option<u32>,
    pub(super) inner_keys_klen: Option<u32>,
    pub(super) vlen: Option<u32>,
    pub(super) vkind: Option<ValueKind>,
    pub(super) compression_ratio: Option<f64>,
    pub(super) key_distribution: Option<KeyDistribution>,
    pub(super) ttl: Option<String>,
    /// Commands; once checked, only those that are sent at all.
    pub(super) commands: Vec<Command>,
}

/// Type of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ValueKind {
    Bytes,
    I64,
}

/// Distribution of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum KeyDistribution {
    Uniform,
    Zipf,
}

/// Different texts of one length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Names {
    pub(super) count: u32,
    pub(super) len: u32,
}

/// Values that are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Value {
    Bytes {
        len: u32,
        /// Ratio to 1 at which they compress, in hundredths.
        ratio_percent: u32,
    },
    Number,
}

/// A command.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Command {
    pub(super) verb: Verb,
    #[serde(default = "one")]
    pub(super) weight: u32,
    pub(super) cardinality: Option<u32>,
    pub(super) truncate: Option<u32>,
    pub(super) start: Option<i32>,
    pub(super) end: Option<i32>,
    #[serde(default, deserialize_with = "flag")]
    pub(super) by_score: Option<bool>,
}

/// Digits and letters that keys are of.
const ALPHABET: u64 = 62;
/// Longest key of memcached.
const MEMCACHE_KEY_MAX: u32 = 250;
/// Largest value.
const VALUE_MAX: u32 = 1 << 30;
/// Maximum number of fields, elements or members of a command.
const CARDINALITY_MAX: u32 = 64;

impl Keyspace {
    /// Holds it to the rules.
    ///
    /// # Errors
    /// Returns an error if it makes no sense.
    pub(super) fn check(
        &mut self,
        protocol: Protocol,
        file: &Document<'_>,
        remarks: &mut Vec<String>,
    ) -> Result<(), Fault> {
        let refused =
            |key: &str, why: String| Err(file.refused(&format!("{} {key}", self.name), why));
        for (names, count, len) in [
            (Some(self.keys()), "nkeys", "klen"),
            (self.inner_given(), "inner_keys_nkeys", "inner_keys_klen"),
        ] {
            match names {
                Some(Names { count: 0, .. }) => return refused(count, "from 1 on".to_owned()),
                Some(names) if u64::from(names.count) > names.room() => {
                    let (letters, room, given) = (names.len, names.room(), names.count);
                    let why = format!(
                        "{letters} letters and digits make {room} different texts, but {count} is {given}"
                    );
                    return refused(len, why);
                }
                _ => {}
            }
        }
        let is_bytes = self.vkind != Some(ValueKind::I64);
        if is_bytes && self.vlen > Some(VALUE_MAX) {
            return refused("vlen", format!("the maximum is {VALUE_MAX} bytes"));
        }
        if is_bytes && !(1.0..=100.0).contains(&self.ratio()) {
            return refused("compression_ratio", "must be from 1.0 to 100.0".to_owned());
        }
        if let (Some(text), None) = (&self.ttl, self.ttl()) {
            let why = format!("{text:?} is not a time of 1ms or more, such as \"15m\"");
            return refused("ttl", why);
        }
        for (n, command) in (1..).zip(&self.commands) {
            let name = format!("{} command {n}", self.name);
            remarks.extend(command.without_range(&name));
            command.check(&name, self, protocol, file)?;
        }
        if self.weight > 0 && self.commands.iter().all(|command| command.weight == 0) {
            return refused("commands", "no command has a weight above 0".to_owned());
        }
        let len = self.keys().len;
        if protocol == Protocol::Memcache && !(1..=MEMCACHE_KEY_MAX).contains(&len) {
            let why = format!("memcached keys have 1 to {MEMCACHE_KEY_MAX} bytes");
            return refused("klen", why);
        }
        self.commands.retain(|command| command.weight > 0);
        Ok(())
    }

    /// Keys of the key space.
    pub(super) fn keys(&self) -> Names {
        Names { count: self.nkeys.unwrap_or(1), len: self.klen.unwrap_or(0) }
    }

    /// Fields, elements and members.
    pub(super) fn inner(&self) -> Names {
        self.inner_given().unwrap_or(Names { count: 1, len: 1 })
    }

    fn inner_given(&self) -> Option<Names> {
        Some(Names { count: self.inner_keys_nkeys?, len: self.inner_keys_klen? })
    }

    /// Values that are stored under its keys.
    pub(super) fn value(&self) -> Value {
        match self.vkind {
            Some(ValueKind::I64) => Value::Number,
            _ => Value::Bytes {
                len: self.vlen.unwrap_or(0),
                ratio_percent: (self.ratio() * 100.0).round() as u32,
            },
        }
    }

    fn ratio(&self) -> f64 {
        self.compression_ratio.unwrap_or(1.0)
    }

    /// Lifetime of its keys.
    pub(super) fn ttl(&self) -> Option<Duration> {
        let time = humantime::parse_duration(self.ttl.as_ref()?).ok();
        time.filter(|time| time.as_millis() > 0)
    }
}

impl Names {
    /// Number of names of that length that there may be.
    pub(super) fn room(self) -> u64 {
        ALPHABET.saturating_pow(self.len)
    }
}

impl Command {
    /// Number of fields, elements or members.
    pub(super) fn count(&self) -> u32 {
        self.cardinality.unwrap_or(1)
    }

    /// Returns a remark about a range that means nothing.
    fn without_range(&self, entry: &str) -> Option<String> {
        let has_range = self.start.is_some() || self.end.is_some() || self.by_score.is_some();
        let name = self.verb.name();
        (has_range && self.verb != Verb::SortedSetRange).then(|| {
            format!("WARNING: {entry} {name}: start, end and by_score are of zrange alone")
        })
    }

    /// Holds it to the rules.
    fn check(
        &self,
        entry: &str,
        keyspace: &Keyspace,
        protocol: Protocol,
        file: &Document<'_>,
    ) -> Result<(), Fault> {
        let refused = |key: &str, why: String| Err(file.refused(&format!("{entry} {key}"), why));
        let (verb, cardinality) = (self.verb, self.count());
        let name = verb.name();
        if verb.needs_value() && keyspace.vlen.is_none() && keyspace.value() != Value::Number {
            return refused("verb", format!("{name}: the keyspace requires vlen"));
        }
        if cardinality == 0 {
            return refused("cardinality", "must be at least 1".to_owned());
        }
        if cardinality > 1 && !verb.takes_several() {
            return refused("cardinality", format!("{name} has exactly one"));
        }
        if cardinality > CARDINALITY_MAX {
            return refused("cardinality", format!("the maximum is {CARDINALITY_MAX}"));
        }
        if self.truncate.is_some() && !verb.pushes() {
            let why = "only lists that are pushed to can be truncated";
            return refused("truncate", format!("{name}: {why}"));
        }
        if self.truncate == Some(0) {
            return refused("truncate", "must be at least 1".to_owned());
        }
        // It has a field of its own where none is named.
        let needs_inner = verb.has_inner_key() && verb != Verb::HashIncrement;
        if needs_inner && keyspace.inner_given().is_none() {
            let why = "the keyspace requires inner_keys_nkeys and inner_keys_klen";
            return refused("verb", format!("{name}: {why}"));
        }
        let inner = keyspace.inner().count;
        if !verb.pushes() && verb.has_inner_key() && cardinality > inner {
            let why = format!("{cardinality} different ones, but inner_keys_nkeys is {inner}");
            return refused("cardinality", why);
        }
        if self.weight == 0 {
            return Ok(());
        }
        if !verb.is_of(protocol) {
            let protocol = format!("{protocol:?}").to_lowercase();
            return refused("verb", format!("the protocol {protocol} has no {name}"));
        }
        match verb.refused() {
            Some(why) => refused("verb", format!("{name}: {why}")),
            None => Ok(()),
        }
    }
}

fn one() -> u32 {
    1
}
