//! The figures of a record, for display and for files.

use std::collections::HashMap;

use serde::Serialize;

use super::key_counts::KeyFrequencies;
use super::patterns::pattern;
use super::sketch::Item;
use super::zipf::{even_keys, fit};
use super::{Describer, Grade, Kind, MissPoint, Notice, Shape, Sizes, Zipf};
use crate::commands::DataType;
use crate::{Gap, Losses, Protocol, Source, Stamps};

/// Maximum number of keys, patterns and TTLs that are listed.
const TOP_LISTED: usize = 20;
const PATTERNS_LISTED: usize = 50;
const TTLS_LISTED: usize = 5;

/// Share of accesses of a pattern from which its law must agree with the law of all keys for that to be
/// named.
const PATTERN_SHARE: f64 = 0.05;

/// Description of a record.
#[derive(Debug, Serialize)]
#[allow(missing_docs)]
pub struct Description {
    pub format: String,
    pub memcache: bool,
    pub servers: Vec<String>,
    pub stamps: Stamps,
    pub notes: Vec<String>,
    /// Lines, records or events that could not be read, were lost, or come before the first time of the
    /// record.
    pub lost: u64,
    /// Commands with a damaged time, which got the previous one.
    pub misdated: u64,
    pub events: u64,
    /// Commands of scripts, which are in no other figure.
    pub script_effects: u64,
    /// Seconds from the first event to the last.
    pub seconds: f64,
    pub mean_per_s: Option<f64>,
    pub peak_per_s: u64,
    /// Seconds from the first event, and requests per second then.
    pub rate: Vec<(f64, f64)>,
    pub clock_steps_back: u64,
    pub stalls: Vec<Gap>,
    pub commands: Vec<Command>,
    /// Shapes of commands, from which a similar load can be made.
    #[serde(skip)]
    pub shapes: Vec<Shape>,
    pub clients: Option<u64>,
    /// Connections from an address that was used before, counted as the same client.
    pub connections_on_used_addresses: u64,
    /// Share of requests from the busiest client.
    pub busiest_client_share: Option<f64>,
    /// Share of pipelined requests.
    pub pipelined_share: Option<f64>,
    pub clients_shared: bool,
    pub key_accesses: u64,
    pub distinct_keys: u64,
    pub top_keys: Vec<Key>,
    pub zipf: Option<Zipf>,
    /// Share of keys that occurred once.
    pub keys_used_once: Option<f64>,
    pub patterns: Vec<Pattern>,
    /// Names of channels by pattern, whose messages are in `others`.
    pub channels: Vec<Pattern>,
    /// Share of reads that hit, if recorded.
    pub hit_ratio: Option<f64>,
    pub multi_key: u64,
    pub cross_slot: u64,
    pub warnings: Vec<Warning>,
    pub transactions: u64,
    pub scripts: u64,
    pub miss_ratio_curve: Vec<MissPoint>,
    /// Set if sizes of the curve are in bytes rather than keys.
    pub curve_in_bytes: bool,
}

/// The commands of a name.
#[derive(Debug, Serialize)]
#[allow(missing_docs)]
pub struct Command {
    pub name: String,
    pub count: u64,
    pub share: f64,
    pub arguments: Percentiles,
    /// Keys of each, in the mean.
    pub keys: f64,
    pub writes: Option<bool>,
    pub value_bytes: Option<Percentiles>,
    #[serde(skip)]
    pub value_sizes: Sizes,
}

/// A frequent key.
#[derive(Debug, Serialize)]
#[allow(missing_docs)]
pub struct Key {
    pub name: String,
    pub count: u64,
    /// Largest excess of the count.
    pub error: u64,
    pub share: f64,
}

/// Keys with a common pattern.
#[derive(Debug, Serialize)]
#[allow(missing_docs)]
pub struct Pattern {
    pub name: String,
    pub distinct_keys: u64,
    pub zipf: Option<Zipf>,
    pub reads: u64,
    pub writes: u64,
    /// Uses that may read or write, such as by scripts.
    pub others: u64,
    pub share: f64,
    pub hit_ratio: Option<f64>,
    pub key_bytes: Percentiles,
    pub value_bytes: Option<Percentiles>,
    pub ttl_s: Option<Percentiles>,
    /// The usual TTLs in seconds, and how often each came.
    pub ttls: Vec<(u64, u64)>,
    #[serde(skip)]
    pub value_sizes: Sizes,
    /// Number of keys if all are equally likely, including those that did not occur.
    #[serde(skip)]
    pub even_keys: u64,
    /// Types of its keys, with uses and keys of each, the most used first.
    #[serde(skip)]
    pub types: Vec<(DataType, u64, u64)>,
    /// Set if a command takes the values of these keys as numbers, or sorts by them.
    #[serde(skip)]
    pub is_counted: bool,
}

/// A distribution, in five figures.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Percentiles {
    pub mean: f64,
    pub p50: u64,
    pub p90: u64,
    pub p99: u64,
    pub max: u64,
}

impl Percentiles {
    fn new(sizes: &Sizes) -> Self {
        let at = |percent| sizes.percentile(percent);
        Self { mean: sizes.mean(), p50: at(50.0), p90: at(90.0), p99: at(99.0), max: sizes.max() }
    }

    fn from_sizes(sizes: &Sizes) -> Option<Self> {
        (sizes.count() > 0).then(|| Self::new(sizes))
    }
}

/// Commands to be warned of.
#[derive(Debug, Serialize)]
#[allow(missing_docs)]
pub struct Warning {
    pub what: String,
    pub count: u64,
    pub share: f64,
    /// The first occurrence.
    pub example: String,
}

/// Share of a total; 0 if that is 0.
fn share(part: u64, total: u64) -> f64 {
    if total == 0 { 0.0 } else { part as f64 / total as f64 }
}

fn ratio(hits: u64, misses: u64) -> Option<f64> {
    (hits + misses > 0).then(|| share(hits, hits + misses))
}

impl Describer {
    /// Describes the events. `losses` are those of their reader.
    pub fn finish(mut self, source: &Source, losses: &Losses) -> Description {
        let events = self.times.events;
        let keys = self.key_counts.finish();
        let of_all = (self.distinct.count(), self.accesses);
        let all_patterns = patterns(self.patterns, self.accesses, &keys);
        let zipf = keys
            .find(keys.items.iter(), None, of_all, fit)
            .map(|zipf| Zipf { fits: zipf.fits && is_one_law(&zipf, &all_patterns), ..zipf });
        let stalls = match source.stamps {
            Stamps::Arrival | Stamps::Completion => self.times.stalls.found(),
            Stamps::Second | Stamps::None => Vec::new(),
        };
        let top_keys = keys.items.iter().take(TOP_LISTED).map(|item| Key {
            name: String::from_utf8_lossy(&item.name).into_owned(),
            count: item.count,
            error: item.error,
            share: share(item.count, self.accesses),
        });
        let has_clients = self.clients.events > 0;
        let of_clients = |count: u64| has_clients.then(|| share(count, self.clients.events));
        let is_timed = source.stamps != Stamps::None;
        Description {
            format: source.format.to_owned(),
            memcache: self.protocol == Protocol::Memcache,
            servers: source.servers.clone(),
            stamps: source.stamps,
            notes: source.notes.clone(),
            lost: losses.total(),
            misdated: losses.misdated,
            events,
            script_effects: self.effects,
            seconds: self.times.span_ns() as f64 / 1e9,
            mean_per_s: self.times.mean_per_s().filter(|_| is_timed),
            peak_per_s: if is_timed { self.times.peak_per_s() } else { 0 },
            rate: if is_timed { self.times.points() } else { Vec::new() },
            clock_steps_back: self.times.steps_back,
            warnings: warnings(&self.notices, &self.suspects, &self.cross_slot, &stalls, events),
            stalls,
            clients: has_clients.then(|| self.clients.count()),
            connections_on_used_addresses: self.clients.on_used_addresses,
            busiest_client_share: self.clients.busiest().and_then(|item| of_clients(item.count)),
            pipelined_share: match source.stamps {
                Stamps::Second | Stamps::None => None,
                _ => of_clients(self.clients.pipelined),
            },
            clients_shared: self.clients.is_shared,
            key_accesses: self.accesses,
            distinct_keys: self.distinct.count(),
            top_keys: top_keys.collect(),
            zipf,
            keys_used_once: self.reuse.used_once(),
            hit_ratio: ratio(self.hits, self.misses),
            multi_key: self.multi_key,
            cross_slot: self.cross_slot.count,
            transactions: self.transactions,
            scripts: self.scripts,
            commands: commands(self.kinds, events),
            patterns: all_patterns,
            channels: patterns(self.channels, 0, &KeyFrequencies::default()),
            shapes: self.shapes.sorted(),
            miss_ratio_curve: self.reuse.curve(),
            curve_in_bytes: self.reuse.is_in_bytes(),
        }
    }
}

/// Returns whether keys of all patterns may follow one law. Patterns with evenly drawn keys but different
/// frequencies look like a law of all together without being one.
fn is_one_law(all: &Zipf, patterns: &[Pattern]) -> bool {
    let large = || patterns.iter().filter(|pattern| pattern.share >= PATTERN_SHARE);
    let laws = || large().filter_map(|pattern| pattern.zipf);
    let are_even = large().next().is_some() && laws().all(|law| law.exponent == 0.0);
    laws().all(|law| law.fits && law.agrees(all)) && !(are_even && all.exponent > 0.0)
}

/// Returns the notices, the gravest first: possible causes of stalls, then by grade.
fn warnings(
    notices: &HashMap<(Grade, &'static str), Notice>,
    suspects: &HashMap<u64, String>,
    cross_slot: &Notice,
    stalls: &[Gap],
    events: u64,
) -> Vec<Warning> {
    let warning = |what: &str, count: u64, example: &str| Warning {
        what: what.to_owned(),
        count,
        share: share(count, events),
        example: example.to_owned(),
    };
    // Of each command by its name, the one with the longest stall.
    let mut by_name: Vec<(&str, u64, &str)> = Vec::new();
    for suspect in stalls.iter().filter_map(|gap| suspects.get(&gap.at_ns)) {
        let name = suspect.split(' ').next().unwrap_or_default();
        match by_name.iter_mut().find(|known| known.0.eq_ignore_ascii_case(name)) {
            Some(known) => known.1 += 1,
            None => by_name.push((name, 1, suspect)),
        }
    }
    by_name.sort_by_key(|entry| std::cmp::Reverse(entry.1));
    let of_stalls = by_name.into_iter().map(|(_, count, example)| {
        warning("ended a stall that it may have caused", count, example)
    });
    let mut graded: Vec<_> = notices.iter().collect();
    let what = (Grade::Large, "has keys of several slots, so a cluster refuses it");
    graded.extend((cross_slot.count > 0).then_some((&what, cross_slot)));
    graded.sort_by(|(a, of_a), (b, of_b)| {
        (a.0, of_b.count).cmp(&(b.0, of_a.count)).then_with(|| a.1.cmp(b.1))
    });
    let graded = graded.into_iter().map(|((_, what), of)| warning(what, of.count, &of.example));
    of_stalls.chain(graded).collect()
}

fn commands(kinds: HashMap<Vec<u8>, Kind>, events: u64) -> Vec<Command> {
    let commands = kinds.into_iter().map(|(name, kind)| Command {
        name: String::from_utf8_lossy(&name).into_owned(),
        count: kind.count,
        share: share(kind.count, events),
        arguments: Percentiles::new(&kind.arguments),
        keys: share(kind.keys, kind.has_keys),
        writes: kind.is_write,
        value_bytes: Percentiles::from_sizes(&kind.value_bytes),
        value_sizes: kind.value_bytes,
    });
    let mut all: Vec<Command> = commands.collect();
    all.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.name.cmp(&b.name)));
    all
}

fn patterns(
    patterns: super::patterns::Patterns,
    accesses: u64,
    keys: &KeyFrequencies,
) -> Vec<Pattern> {
    let mut by_pattern: HashMap<Vec<u8>, Vec<&Item>> = HashMap::new();
    for item in &keys.items {
        let mut name = Vec::new();
        pattern(&item.name, &mut name);
        by_pattern.entry(name).or_default().push(item);
    }
    let pattern = |(name, of): (Vec<u8>, super::patterns::Pattern)| {
        let mut ttls: Vec<(u64, u64)> = of.ttls.iter().map(|(ttl, times)| (*ttl, *times)).collect();
        ttls.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        ttls.truncate(TTLS_LISTED);
        let of_all = (of.distinct.count(), of.uses());
        let items = || by_pattern.get(&name).into_iter().flatten().copied();
        let types = of.types.iter().map(|(of, (uses, keys))| (*of, *uses, keys.count()));
        let mut types: Vec<_> = types.collect();
        types.sort_by_key(|entry| std::cmp::Reverse(entry.1));
        Pattern {
            distinct_keys: of_all.0,
            zipf: keys.find(items(), Some(of.number), of_all, fit),
            even_keys: keys.find(items(), Some(of.number), of_all, even_keys),
            types,
            is_counted: of.is_counted,
            name: String::from_utf8_lossy(&name).into_owned(),
            reads: of.reads,
            writes: of.writes,
            others: of.others,
            share: share(of_all.1, accesses),
            hit_ratio: ratio(of.hits, of.misses),
            key_bytes: Percentiles::new(&of.key_bytes),
            value_bytes: Percentiles::from_sizes(&of.value_bytes),
            ttl_s: Percentiles::from_sizes(&of.ttl_s),
            ttls,
            value_sizes: of.value_bytes,
        }
    };
    patterns.sorted().into_iter().take(PATTERNS_LISTED).map(pattern).collect()
}
