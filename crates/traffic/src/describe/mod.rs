//! Description of a record: joint figures of its events, in bounded memory.

mod clients;
mod key_counts;
mod patterns;
mod reuse;
mod shapes;
mod sizes;
mod sketch;
mod summary;
mod times;
mod zipf;

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use wire::cluster::slot_of;

use self::clients::Clients;
use self::key_counts::KeyCounts;
use self::patterns::Patterns;
use self::reuse::Reuse;
use self::shapes::Shapes;
use self::sketch::DistinctCounter;
use self::times::Times;
use crate::commands::{Command, Property, Role, deadline, keys_of, roles, writes};
use crate::{Clock, Event, Flags, Outcome, Protocol, Source, Stamps};

pub use reuse::MissPoint;
pub use shapes::{Shape, Word};
pub use sizes::Sizes;
pub use summary::{Command as CommandSummary, Description, Key, Pattern, Percentiles, Warning};
pub use zipf::Zipf;

/// Maximum number of names of commands that are distinguished.
const NAMES_MAX: usize = 1024;
/// Longest kept name of a command.
const NAME_BYTES_MAX: usize = 32;
/// Number of keys of a command, and bytes of a value, above which they are big.
const KEYS_BIG: usize = 100;
const VALUE_BYTES_BIG: u64 = 1 << 20;
/// Maximum number of gaps whose end is remembered.
const GAPS_MAX: usize = 4096;
/// Lifetimes above this, in seconds, are absolute times to memcached.
const RELATIVE_MAX_S: u64 = workload::cache_words::LIFETIME_MAX_S;
/// The most bytes of an example.
const EXAMPLE_BYTES: usize = 80;

/// Sums of the commands of a name.
#[derive(Debug, Clone, Default)]
struct Kind {
    count: u64,
    arguments: Sizes,
    keys: u64,
    has_keys: u64,
    value_bytes: Sizes,
    is_write: Option<bool>,
}

/// Gravity of a notice, in descending order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Grade {
    Everything,
    Script,
    Large,
    Collection,
}

/// A notice with its number of occurrences, and the first one.
#[derive(Debug, Clone, Default)]
struct Notice {
    count: u64,
    example: String,
}

/// Describes a record from its events.
#[derive(Debug, Default)]
pub struct Describer {
    protocol: Protocol,
    /// Set if times count from 1970.
    is_dated: bool,
    hasher: BuildHasherDefault<DefaultHasher>,
    kinds: HashMap<Vec<u8>, Kind>,
    times: Times,
    clients: Clients,
    patterns: Patterns,
    channels: Patterns,
    shapes: Shapes,
    distinct: DistinctCounter,
    key_counts: KeyCounts,
    accesses: u64,
    reuse: Reuse,
    hits: u64,
    misses: u64,
    multi_key: u64,
    cross_slot: Notice,
    notices: HashMap<(Grade, &'static str), Notice>,
    /// Commands that may have stalled the server, by the time of their beginning.
    suspects: HashMap<u64, String>,
    /// The last command, if it was a script.
    last_script: Option<String>,
    transactions: u64,
    scripts: u64,
    effects: u64,
    key_places: Vec<usize>,
    roles: Vec<Role>,
    name: Vec<u8>,
}

impl Describer {
    /// Creates a describer for the events of a source.
    pub fn new(source: &Source) -> Self {
        Self {
            protocol: source.protocol,
            is_dated: source.clock == Clock::Unix && source.stamps != Stamps::None,
            ..Self::default()
        }
    }

    /// Adds an event.
    pub fn add(&mut self, event: &Event) {
        if event.flags.has(Flags::SCRIPT_EFFECT) {
            self.effects += 1;
            return;
        }
        self.look_for_stalls(event);
        self.clients.add(event, self.hasher.hash_one(event.client));
        let mut key_places = std::mem::take(&mut self.key_places);
        roles(self.protocol, event, &mut key_places, &mut self.roles);
        let value_bytes = self.value_bytes(event);
        let is_write = writes(self.protocol, event);
        self.count(event, key_places.len(), value_bytes, is_write);
        self.shapes.add(event, &self.roles);
        keys_of(self.protocol, event, &mut key_places);
        if self.protocol == Protocol::Resp && Command::for_event(event).names_channels() {
            key_places.drain(..).for_each(|at| self.channel(event, at, value_bytes));
        }
        for at in &key_places {
            self.key(event, *at, value_bytes, is_write);
        }
        self.look_for_trouble(event, &key_places, value_bytes);
        self.key_places = key_places;
    }

    /// Adds the end of a command, and the possible cause of a stall before it: a script is recorded at its
    /// beginning, other commands at their end.
    fn look_for_stalls(&mut self, event: &Event) {
        let gap = self.times.add(event.at_ns);
        if let Some(gap) = gap
            && self.suspects.len() < GAPS_MAX
        {
            let suspect = self.last_script.take().unwrap_or_else(|| example(event));
            self.suspects.insert(gap.at_ns, suspect);
        }
        self.last_script =
            Command::for_event(event).has(Property::RunsScript).then(|| example(event));
    }

    /// The size of the first value of a command.
    fn value_bytes(&self, event: &Event) -> Option<u64> {
        let of_write = self.roles.iter().position(|role| *role == Role::Value);
        match (event.outcome, of_write) {
            (Outcome::Hit(size) | Outcome::Value(size), _) => Some(u64::from(size)),
            (_, Some(at)) => event.argument(at).map(|argument| u64::from(argument.size)),
            _ => None,
        }
    }

    fn count(&mut self, event: &Event, keys: usize, value_bytes: Option<u64>, write: Option<bool>) {
        self.name.clear();
        let name = event.name();
        self.name.extend_from_slice(&name[..name.len().min(NAME_BYTES_MAX)]);
        self.name.make_ascii_lowercase();
        if !self.kinds.contains_key(&self.name) {
            if self.kinds.len() >= NAMES_MAX {
                self.name = patterns::OTHER.to_vec();
            }
            self.kinds.entry(self.name.clone()).or_default();
        }
        let Some(kind) = self.kinds.get_mut(&self.name) else { return };
        kind.count += 1;
        kind.arguments.add(event.len() as u64, 1);
        kind.keys += keys as u64;
        kind.has_keys += u64::from(keys > 0);
        kind.is_write = write;
        if let Some(bytes) = value_bytes {
            kind.value_bytes.add(bytes, 1);
        }
        match &self.name[..] {
            b"exec" => self.transactions += 1,
            b"multi" => {}
            _ if Command::for_event(event).has(Property::RunsScript) => self.scripts += 1,
            _ => {}
        }
    }

    /// Adds the name of a channel, which is not a key.
    fn channel(&mut self, event: &Event, at: usize, value: Option<u64>) {
        let name = event.bytes(at);
        let hash = self.hasher.hash_one(name);
        let pattern = self.channels.entry(name);
        pattern.distinct.add(hash);
        pattern.key_bytes.add(name.len() as u64, 1);
        pattern.others += 1;
        if let Some(bytes) = value {
            pattern.value_bytes.add(bytes, 1);
        }
    }

    fn key(&mut self, event: &Event, at: usize, value: Option<u64>, write: Option<bool>) {
        let Some(argument) = event.argument(at) else { return };
        let key = argument.bytes.unwrap_or_default();
        let hash = self.hasher.hash_one(key);
        self.accesses += 1;
        self.distinct.add(hash);
        let is_read = write == Some(false);
        self.reuse.add(hash, is_read, u64::from(argument.size), value);
        let pattern = self.patterns.entry(key);
        self.key_counts.add(key, hash, pattern.number);
        pattern.distinct.add(hash);
        pattern.key_bytes.add(u64::from(argument.size), 1);
        match write {
            Some(true) => pattern.writes += 1,
            Some(false) => pattern.reads += 1,
            None => pattern.others += 1,
        }
        pattern.is_counted |= counts(self.protocol, event);
        if self.protocol == Protocol::Resp
            && let Some(data_type) = Command::for_event(event).data_type()
        {
            pattern.add_type(data_type, hash);
        }
        if let Some(bytes) = value {
            pattern.value_bytes.add(bytes, 1);
        }
        match event.outcome {
            Outcome::Hit(_) => (self.hits, pattern.hits) = (self.hits + 1, pattern.hits + 1),
            Outcome::Miss => (self.misses, pattern.misses) = (self.misses + 1, pattern.misses + 1),
            _ => {}
        }
        if let Some(ttl_s) = ttl(self.protocol, event, self.is_dated) {
            pattern.add_ttl(ttl_s);
        }
    }

    /// Finds commands that are large, slow, or would fail on a cluster.
    fn look_for_trouble(&mut self, event: &Event, keys: &[usize], value_bytes: Option<u64>) {
        if keys.len() > 1 {
            self.multi_key += 1;
            let mut slots = keys.iter().map(|at| slot_of(event.bytes(*at)));
            let first = slots.next();
            if self.protocol == Protocol::Resp && slots.any(|slot| Some(slot) != first) {
                note(&mut self.cross_slot, event);
            }
        }
        let mut found = |grade: Grade, what: &'static str| {
            note(self.notices.entry((grade, what)).or_default(), event);
        };
        if keys.len() > KEYS_BIG {
            found(Grade::Large, "has more than 100 keys");
        }
        if value_bytes.is_some_and(|bytes| bytes > VALUE_BYTES_BIG) {
            found(Grade::Large, "has a value of more than 1 MiB");
        }
        if self.protocol == Protocol::Resp {
            let command = Command::for_event(event);
            if command.has(Property::OfEverything) {
                found(Grade::Everything, "works on everything that is stored");
            }
            if command.has(Property::RunsScript) {
                found(Grade::Script, "is a script, and the server does nothing else while it runs");
            }
            if command.has(Property::OfWholeCollection) {
                found(Grade::Collection, "works on a whole collection, whatever its size");
            }
            let is_range = event.is("LRANGE") || event.is("ZRANGE") || event.is("ZREVRANGE");
            if is_range && event.bytes(2) == b"0" && event.bytes(3) == b"-1" {
                found(Grade::Collection, "reads a whole list or sorted set");
            }
        }
    }
}

/// Returns whether a command takes the stored value as a number.
fn counts(protocol: Protocol, event: &Event) -> bool {
    let is_one_of = |names: &[&str]| event.is_one_of(0, names);
    let sorts = || {
        let has_alpha = (2..event.len()).any(|at| event.is_one_of(at, &["ALPHA"]));
        is_one_of(&["SORT", "SORT_RO"]) && !has_alpha
    };
    is_one_of(&["INCR", "DECR"])
        || protocol == Protocol::Resp
            && (is_one_of(&["INCRBY", "DECRBY", "INCRBYFLOAT", "HINCRBY", "HINCRBYFLOAT"])
                || sorts())
}

fn note(notice: &mut Notice, event: &Event) {
    notice.count += 1;
    if notice.example.is_empty() {
        notice.example = example(event);
    }
}

/// The beginning of a command, as text.
fn example(event: &Event) -> String {
    let mut text = String::new();
    for argument in event.arguments() {
        if text.len() >= EXAMPLE_BYTES {
            text.push('…');
            break;
        }
        if !text.is_empty() {
            text.push(' ');
        }
        match argument.bytes {
            Some(bytes) => {
                let shown = &bytes[..bytes.len().min(EXAMPLE_BYTES)];
                text.push_str(&String::from_utf8_lossy(shown));
            }
            None => text.push_str(&format!("<{} bytes>", argument.size)),
        }
    }
    text
}

/// The lifetime that a command gives its key, in seconds; for absolute times, if the time of the command is
/// known.
fn ttl(protocol: Protocol, event: &Event, is_dated: bool) -> Option<u64> {
    let number = |at: usize| std::str::from_utf8(event.bytes(at)).ok()?.parse::<u64>().ok();
    let until =
        |end_ns: u64| is_dated.then(|| Some(end_ns.checked_sub(event.at_ns)? / 1_000_000_000))?;
    let lifetime = match (protocol, event.name()) {
        (Protocol::Memcache, name) => {
            let lifetime = match name {
                b"set" | b"add" | b"replace" | b"cas" => number(4)?,
                b"touch" => number(2)?,
                _ => return None,
            };
            if lifetime > RELATIVE_MAX_S {
                until(lifetime.saturating_mul(1_000_000_000))?
            } else {
                lifetime
            }
        }
        (Protocol::Resp, _) if event.is("SETEX") || event.is("EXPIRE") => number(2)?,
        (Protocol::Resp, _) if event.is("PSETEX") || event.is("PEXPIRE") => {
            number(2)?.div_ceil(1000)
        }
        (Protocol::Resp, _) if deadline(event).is_some() => {
            let end = deadline(event)?;
            until(number(end.at)?.saturating_mul(end.unit_ns))?
        }
        (Protocol::Resp, _) if event.is("SET") || event.is("GETEX") => {
            let option = (2..event.len()).find_map(|at| match event.bytes(at) {
                word if word.eq_ignore_ascii_case(b"EX") => number(at + 1),
                word if word.eq_ignore_ascii_case(b"PX") => Some(number(at + 1)?.div_ceil(1000)),
                _ => None,
            });
            option?
        }
        (Protocol::Resp, _) => return None,
    };
    (lifetime > 0).then_some(lifetime)
}

#[cfg(test)]
mod tests;
