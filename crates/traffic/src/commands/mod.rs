//! Properties of commands: positions of keys, roles of other arguments, and special effects.
//!
//! The table is from Redis 7.0 and Valkey 8.1 (`COMMAND`), with later commands on hash fields. For a command
//! that is not in it, the first argument is taken as its key.

mod deadline;
mod roles;

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::{Event, Protocol};

pub use deadline::{Deadline, deadline};
pub use roles::{Role, entry_id, roles};

/// Table with the columns name, keys, flags, values, and type of the keys. Keys are `first,last,step` (a last
/// below 0 counts from the end), `count@N` where argument N says how many follow, `streams` (the first half
/// behind that word), or `-`; `1+` adds argument 1. Flags are the letters of [`Property`]. Values are the
/// kinds of the arguments that are no keys: `v` a value, `f` a field or member, `o` others; with `+` they
/// repeat; or the name of a grammar in `roles.rs`.
const TABLE: &str = include_str!("table.txt");

/// Properties of a command.
#[derive(Debug, Clone, Copy)]
pub struct Command {
    keys: Keys,
    flags: &'static str,
    values: &'static str,
    data_type: Option<DataType>,
}

/// Type of the data under a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum DataType {
    String,
    Hash,
    List,
    Set,
    SortedSet,
    Stream,
    HyperLogLog,
    /// A sorted set whose scores are geographic positions.
    Geo,
}

impl DataType {
    fn by_name(name: &str) -> Option<Self> {
        Some(match name {
            "string" => Self::String,
            "hash" => Self::Hash,
            "list" => Self::List,
            "set" => Self::Set,
            "sorted-set" => Self::SortedSet,
            "stream" => Self::Stream,
            "hyperloglog" => Self::HyperLogLog,
            "geo" => Self::Geo,
            _ => return None,
        })
    }
}

/// A property of a command, by its letter in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Property {
    /// Changes data.
    Writes = b'w',
    /// Reads data and changes none.
    Reads = b'r',
    /// Returns the previous data that it changes.
    Takes = b'g',
    /// May wait for another client.
    Blocks = b'b',
    /// Subscribes or unsubscribes, so that any number of replies follow.
    Subscribes = b's',
    /// Publishes messages.
    Publishes = b'p',
    /// Concerns only its connection, such as a login.
    OfConnection = b'c',
    /// Makes sense on the recorded connection only.
    OfRecordedConnection = b'n',
    /// Works on all stored data, so that other clients wait for it.
    OfEverything = b'd',
    /// Works on a whole collection.
    OfWholeCollection = b'a',
    /// Runs the script or function that its first argument gives.
    RunsScript = b'x',
    /// Begins, ends or conditions a transaction.
    FramesTransaction = b't',
    /// Would shut down or reconfigure the server.
    Administers = b'm',
    /// Turns its connection into a log.
    MakesLog = b'l',
}

#[derive(Debug, Clone, Copy)]
enum Keys {
    None,
    Range { first: usize, last: i64, step: usize },
    Counted { count: usize, has_first: bool },
    Streams,
}

static UNKNOWN: Command = Command {
    keys: Keys::Range { first: 1, last: 1, step: 1 },
    flags: "",
    values: "",
    data_type: None,
};

fn keys(text: &str) -> Keys {
    if text == "-" {
        return Keys::None;
    }
    if text == "streams" {
        return Keys::Streams;
    }
    let (has_first, rest) = text.strip_prefix("1+").map_or((false, text), |rest| (true, rest));
    if let Some(count) = rest.strip_prefix("count@").and_then(|at| at.parse().ok()) {
        return Keys::Counted { count, has_first };
    }
    let mut numbers = rest.split(',').filter_map(|number| number.parse::<i64>().ok());
    let mut next = || numbers.next().unwrap_or(1);
    let (first, last, step) = (next(), next(), next());
    Keys::Range { first: first.max(1) as usize, last, step: step.max(1) as usize }
}

fn table() -> &'static HashMap<&'static [u8], Command> {
    static COMMANDS: OnceLock<HashMap<&'static [u8], Command>> = OnceLock::new();
    COMMANDS.get_or_init(|| {
        let rows = TABLE.lines().filter_map(|line| {
            let mut words = line.split(' ');
            let name = words.next()?.as_bytes();
            let keys = keys(words.next()?);
            let (flags, values) = (words.next()?, words.next()?);
            let values = if values == "-" { "" } else { values };
            let data_type = DataType::by_name(words.next()?);
            Some((name, Command { keys, flags, values, data_type }))
        });
        rows.collect()
    })
}

/// Longest name that is looked up.
const NAME_BYTES_MAX: usize = 32;

impl Command {
    /// Returns the properties of an event's command.
    pub fn for_event(event: &Event) -> &'static Self {
        let name = event.name();
        let mut lower = [0; NAME_BYTES_MAX];
        let Some(place) = lower.get_mut(..name.len()) else { return &UNKNOWN };
        place.copy_from_slice(name);
        place.make_ascii_lowercase();
        table().get(&*place).unwrap_or(&UNKNOWN)
    }

    /// Returns whether the command is in the table, so that its arguments are known.
    pub fn is_known(&self) -> bool {
        !std::ptr::eq(self, &UNKNOWN)
    }

    /// Returns whether the command has a property.
    pub fn has(&self, property: Property) -> bool {
        self.flags.as_bytes().contains(&(property as u8))
    }

    /// Type of the command's keys, if it applies to one type only.
    pub fn data_type(&self) -> Option<DataType> {
        self.data_type
    }

    /// Returns whether the command's keys are names of channels.
    pub fn names_channels(&self) -> bool {
        self.has(Property::Publishes) || self.has(Property::Subscribes)
    }

    /// The positions of an event's keys, into `out`.
    pub fn keys(&self, event: &Event, out: &mut Vec<usize>) {
        out.clear();
        let length = event.len();
        match self.keys {
            Keys::None => {}
            Keys::Range { first, last, step } => {
                let end = if last < 0 { length as i64 + last } else { last.min(length as i64 - 1) };
                let mut at = first;
                while at as i64 <= end {
                    out.push(at);
                    at += step;
                }
            }
            Keys::Counted { count, has_first } => {
                if has_first && length > 1 {
                    out.push(1);
                }
                let number = std::str::from_utf8(event.bytes(count)).ok();
                let number = number.and_then(|number| number.parse::<usize>().ok()).unwrap_or(0);
                out.extend((count + 1..length).take(number));
            }
            Keys::Streams => {
                let word = (1..length).find(|at| event.bytes(*at).eq_ignore_ascii_case(b"streams"));
                if let Some(word) = word {
                    let names = (length - word - 1) / 2;
                    out.extend((word + 1..length).take(names));
                }
            }
        }
    }
}

/// The positions of an event's keys, into `out`.
pub fn keys_of(protocol: Protocol, event: &Event, out: &mut Vec<usize>) {
    match protocol {
        Protocol::Resp => Command::for_event(event).keys(event, out),
        Protocol::Memcache => {
            out.clear();
            match event.name() {
                b"get" | b"gets" => out.extend(1..event.len()),
                b"gat" | b"gats" => out.extend(2..event.len()),
                _ => out.extend((event.len() > 1).then_some(1)),
            }
        }
    }
}

/// Returns whether an event changes data; `None` if unknown.
pub fn writes(protocol: Protocol, event: &Event) -> Option<bool> {
    match protocol {
        Protocol::Memcache => Some(!matches!(event.name(), b"get" | b"gets" | b"gat" | b"gats")),
        Protocol::Resp => {
            let command = Command::for_event(event);
            (command.has(Property::Writes) || command.has(Property::Reads))
                .then(|| command.has(Property::Writes))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(words: &str) -> Event {
        let mut event = Event::default();
        words.split(' ').for_each(|word| event.push(word.as_bytes()));
        event
    }

    fn shape(words: &str) -> String {
        let (mut keys, mut out) = (Vec::new(), Vec::new());
        roles(Protocol::Resp, &event(words), &mut keys, &mut out);
        let letters = out.iter().map(|role| match role {
            Role::Name => 'n',
            Role::Key => 'k',
            Role::Value => 'v',
            Role::Member => 'm',
            Role::Other => 'o',
        });
        letters.collect()
    }

    #[test]
    fn keys_and_values_are_found() {
        for (words, expected) in [
            ("SET k v EX 10", "nkvoo"),
            ("mset a 1 b 2", "nkvkv"),
            ("HSET h f v g w", "nkmvmv"),
            ("LPUSH l a b", "nkvv"),
            ("SETEX k 10 v", "nkov"),
            ("DEL a b c", "nkkk"),
            ("SET k v IFEQ w", "nkvov"),
            ("LREM l 0 v", "nkov"),
            ("LINSERT l BEFORE a b", "nkovv"),
            ("SADD s a b", "nkmm"),
            ("ZADD z NX CH 1 a 2 b", "nkooomom"),
            ("ZINCRBY z 1 a", "nkom"),
            ("GEOADD g XX 1 2 a", "nkooom"),
            ("XADD s * f v g w", "nkomvmv"),
            ("XADD s NOMKSTREAM MAXLEN ~ 10 LIMIT 5 1-* f v", "nkooooooomv"),
            ("XADD s MINID 7 1-1 f v", "nkooomv"),
            ("HSETEX h EX 5 FIELDS 2 f v g w", "nkoooomvmv"),
            ("HGETEX h EX 5 FIELDS 1 f", "nkoooom"),
            ("HEXPIRE h 5 FIELDS", "nkoo"),
            ("OBJECT ENCODING k", "nok"),
            ("EVAL script 2 a b x", "nookko"),
            ("ZUNIONSTORE d 2 a b WEIGHTS 1 2", "nkokkooo"),
            ("XREAD COUNT 2 STREAMS a b 0 0", "noookkoo"),
            ("BLPOP a b 0", "nkko"),
            ("EVAL script 99 a", "nook"),
            ("EVAL script -1", "noo"),
            ("PING", "n"),
            ("JSON.SET k $ 1", "nkoo"),
            ("ZADD", "n"),
        ] {
            assert_eq!(shape(words), expected, "{words}");
        }
    }

    #[test]
    fn commands_of_memcached_have_one_form() {
        let (mut keys, mut out) = (Vec::new(), Vec::new());
        roles(Protocol::Memcache, &event("set k v 0 60"), &mut keys, &mut out);
        assert_eq!(out[1..4], [Role::Key, Role::Value, Role::Other]);
        keys_of(Protocol::Memcache, &event("gat 60 a b"), &mut keys);
        assert_eq!(keys, [2, 3]);
    }
}
