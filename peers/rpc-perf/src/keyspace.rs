//! `[[workload.keyspace]]`: keys, what is stored in them, and the commands on them, with the rules that
//! they must keep to.

use std::time::Duration;

use super::config::Protocol;
use super::fault::Fault;
use super::table::Table;
use super::verb::Verb;

/// A key space.
#[derive(Debug)]
pub(super) struct Keyspace {
    /// Name in errors.
    pub(super) name: String,
    pub(super) weight: u32,
    pub(super) keys: Names,
    pub(super) zipf: bool,
    /// Fields, elements and members.
    pub(super) inner: Names,
    pub(super) value: Value,
    pub(super) ttl: Option<Duration>,
    /// Commands that are sent at all.
    pub(super) commands: Vec<Command>,
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Command {
    pub(super) verb: Verb,
    pub(super) weight: u32,
    pub(super) cardinality: u32,
    pub(super) truncate: Option<u32>,
    pub(super) start: i32,
    pub(super) end: i32,
    pub(super) by_score: bool,
}

/// Digits and letters that keys are of.
const ALPHABET: u64 = 62;
/// Longest key of memcached.
const MEMCACHE_KEY_MAX: u32 = 250;
/// Largest value.
const VALUE_MAX: u32 = 1 << 30;
/// Maximum number of fields, elements or members of a command.
const CARDINALITY_MAX: u32 = 64;

/// Reads a key space.
///
/// # Errors
/// Returns an error if it makes no sense.
pub(super) fn read(
    table: &Table<'_, '_>,
    protocol: Protocol,
    remarks: &mut Vec<String>,
) -> Result<Keyspace, Fault> {
    let keys = names(table, "nkeys", "klen")?;
    let inner_given = (table.has("inner_keys_nkeys"), table.has("inner_keys_klen"));
    let inner = match inner_given {
        (true, true) => names(table, "inner_keys_nkeys", "inner_keys_klen")?,
        _ => Names { count: 1, len: 1 },
    };
    let zipf = match table.text("key_distribution")?.as_deref() {
        None | Some("uniform") => false,
        Some("zipf") => true,
        Some(_) => {
            return Err(table.broken("key_distribution", "expected \"uniform\" or \"zipf\""));
        }
    };
    let vlen = table.number::<u32>("vlen")?;
    let value = value(table, vlen.unwrap_or(0))?;
    let ttl = table.text("ttl")?;
    let ttl = ttl.map(|text| {
        let time = humantime::parse_duration(&text).ok().filter(|time| time.as_millis() > 0);
        time.ok_or_else(|| {
            table.refused("ttl", format!("{text:?} is not a time of 1ms or more, such as \"15m\""))
        })
    });
    let weight = table.number::<u32>("weight")?.unwrap_or(1);
    let mut commands = Vec::new();
    if !table.has("commands") {
        return Err(table.broken("", "commands is missing"));
    }
    for entry in table.tables("commands", &format!("{} command", table.name))? {
        let command = command(&entry, remarks)?;
        remarks.extend(entry.unknown());
        let inner = (inner, inner_given == (true, true));
        check(&entry, command, protocol, inner, (value, vlen.is_some()))?;
        commands.extend((command.weight > 0).then_some(command));
    }
    if weight > 0 && commands.is_empty() {
        return Err(table.refused("commands", "no command has a weight above 0"));
    }
    if protocol == Protocol::Memcache && !(1..=MEMCACHE_KEY_MAX).contains(&keys.len) {
        let why = format!("memcached keys have 1 to {MEMCACHE_KEY_MAX} bytes");
        return Err(table.refused("klen", why));
    }
    Ok(Keyspace {
        name: table.name.clone(),
        weight,
        keys,
        zipf,
        inner,
        value,
        ttl: ttl.transpose()?,
        commands,
    })
}

/// Reads a number of names and their length, which must be enough for them.
fn names(table: &Table<'_, '_>, count: &str, len: &str) -> Result<Names, Fault> {
    let names = Names {
        count: table.number::<u32>(count)?.unwrap_or(1),
        len: table.number::<u32>(len)?.unwrap_or(0),
    };
    if names.count == 0 {
        return Err(table.refused(count, "from 1 on"));
    }
    if u64::from(names.count) > names.room() {
        let why = format!(
            "{} letters and digits make {} different texts, but {count} is {}",
            names.len,
            names.room(),
            names.count
        );
        return Err(table.refused(len, why));
    }
    Ok(names)
}

impl Names {
    /// Number of names of that length that there may be.
    pub(super) fn room(self) -> u64 {
        ALPHABET.saturating_pow(self.len)
    }
}

fn value(table: &Table<'_, '_>, len: u32) -> Result<Value, Fault> {
    let ratio = table.float("compression_ratio")?.unwrap_or(1.0);
    match table.text("vkind")?.as_deref() {
        Some("i64") => return Ok(Value::Number),
        None | Some("bytes") => {}
        Some(_) => return Err(table.broken("vkind", "expected \"bytes\" or \"i64\"")),
    }
    if len > VALUE_MAX {
        return Err(table.refused("vlen", format!("the maximum is {VALUE_MAX} bytes")));
    }
    match (1.0..=100.0).contains(&ratio) {
        true => Ok(Value::Bytes { len, ratio_percent: (ratio * 100.0).round() as u32 }),
        false => Err(table.refused("compression_ratio", "must be from 1.0 to 100.0")),
    }
}

fn command(entry: &Table<'_, '_>, remarks: &mut Vec<String>) -> Result<Command, Fault> {
    let name = entry.required("verb", entry.text("verb")?)?;
    let verb = Verb::named(&name)
        .ok_or_else(|| entry.broken("verb", format!("{name:?} is not a verb of a keyspace")))?;
    let ranges = ["start", "end", "by_score"].map(|key| entry.has(key));
    if verb != Verb::SortedSetRange && ranges.contains(&true) {
        remarks.push(format!(
            "WARNING: {} {name}: start, end and by_score are of zrange alone",
            entry.name
        ));
    }
    Ok(Command {
        verb,
        weight: entry.number("weight")?.unwrap_or(1),
        cardinality: entry.number("cardinality")?.unwrap_or(1),
        truncate: entry.number("truncate")?,
        start: entry.number("start")?.unwrap_or(0),
        end: entry.number("end")?.unwrap_or(-1),
        by_score: entry.flag("by_score")?.unwrap_or(false),
    })
}

/// Holds a command to the rules.
fn check(
    entry: &Table<'_, '_>,
    command: Command,
    protocol: Protocol,
    (inner, inner_given): (Names, bool),
    (value, has_vlen): (Value, bool),
) -> Result<(), Fault> {
    let Command { verb, cardinality, truncate, .. } = command;
    let name = verb.name();
    let needs_vlen = matches!(verb, Verb::Set | Verb::HashSet);
    if needs_vlen && !has_vlen && value != Value::Number {
        return Err(entry.refused("verb", format!("{name}: the keyspace requires vlen")));
    }
    if cardinality == 0 {
        return Err(entry.refused("cardinality", "must be at least 1"));
    }
    if cardinality > 1 && !verb.takes_several() {
        return Err(entry.refused("cardinality", format!("{name} has exactly one")));
    }
    if cardinality > CARDINALITY_MAX {
        let why = format!("the maximum is {CARDINALITY_MAX}");
        return Err(entry.refused("cardinality", why));
    }
    if truncate.is_some() && !verb.pushes() {
        let why = "only lists that are pushed to can be truncated";
        return Err(entry.refused("truncate", format!("{name}: {why}")));
    }
    if truncate == Some(0) {
        return Err(entry.refused("truncate", "must be at least 1"));
    }
    // It has a field of its own where none is named.
    if verb.has_inner_key() && verb != Verb::HashIncrement && !inner_given {
        let why = format!("{name}: the keyspace requires inner_keys_nkeys and inner_keys_klen");
        return Err(entry.refused("verb", why));
    }
    if !verb.pushes() && verb.has_inner_key() && cardinality > inner.count {
        let why = format!("{cardinality} different ones, but inner_keys_nkeys is {}", inner.count);
        return Err(entry.refused("cardinality", why));
    }
    if command.weight == 0 {
        return Ok(());
    }
    let spoken = match protocol {
        Protocol::Resp => true,
        Protocol::Memcache => {
            matches!(verb, Verb::Get | Verb::Set | Verb::Add | Verb::Replace | Verb::Delete)
        }
        Protocol::Ping => verb == Verb::Ping,
    };
    if !spoken {
        let protocol = protocol.shown().to_lowercase();
        let why = format!("the protocol {protocol} has no {name}");
        return Err(entry.refused("verb", why));
    }
    match verb.refused() {
        Some(why) => Err(entry.refused("verb", format!("{name}: {why}"))),
        None => Ok(()),
    }
}
