//! What must be on a server before a record is sent: keys that it reads before it writes them.
//!
//! A key's type follows from the commands that name it, its size from the first value that the record writes to it.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use runner::{Record, RecordedCommand, RecordedCommands};
use trace::commands::writes;
use trace::{Event, Outcome, Protocol};
use wire::Protocol as _;
use wire::cluster::slot_of;
use wire::memcache::Text;
use wire::resp::encode_command;
use workload::CommandSpec;

/// Keys that are kept; more are not prefilled.
const KEYS_MAX: usize = 10_000_000;
/// Members, fields or elements of a key where the record names none.
const MEMBERS: usize = 10;
/// Those that are kept of what it names, of each key.
const NAMED_MAX: usize = 64;
/// The size of a value where the record never writes one.
const SIZE: u32 = 100;
/// Longest value that is made.
const SIZE_MAX: u32 = 16 << 20;
/// Commands whose value stands behind the key.
const SETS: [&str; 8] = ["SET", "SETNX", "GETSET", "APPEND", "MSET", "add", "replace", "cas"];
/// Connections that write.
const CONNECTIONS: u32 = 8;

/// A database and a key of it.
type Key = (u32, Vec<u8>);

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Type {
    String,
    Hash,
    List,
    Set,
    SortedSet,
    Stream,
}

/// A key that is read first.
#[derive(Debug, Clone)]
struct PrefillKey {
    of: Option<Type>,
    size: Option<u32>,
    members: Vec<Vec<u8>>,
}

/// Finds the keys while a record is read.
#[derive(Debug, Default)]
pub struct Prefill {
    wanted: HashMap<Key, PrefillKey>,
    /// Keys that were written first, by their hash.
    written: HashSet<u64>,
    hashes: RandomState,
    overflown: bool,
}

impl Prefill {
    /// Takes in the next command, whose keys stand at these positions.
    pub(crate) fn see(&mut self, protocol: Protocol, event: &Event, keys: &[usize]) {
        let writes = writes(protocol, event);
        for at in keys.iter().copied() {
            let key = event.bytes(at);
            let hash = self.hashes.hash_one((event.db, key));
            if self.written.contains(&hash) {
                continue;
            }
            let known = (event.db, key.to_vec());
            if let Some(wanted) = self.wanted.get_mut(&known) {
                wanted.learn(event, at);
            } else if self.wanted.len() + self.written.len() >= KEYS_MAX {
                self.overflown = true;
            } else if writes == Some(false) && event.outcome != Outcome::Miss {
                let mut wanted = PrefillKey { of: None, size: None, members: Vec::new() };
                wanted.learn(event, at);
                self.wanted.insert(known, wanted);
            } else if writes == Some(true) {
                self.written.insert(hash);
            }
        }
    }

    /// What is to be written, in an order that is the same each time.
    pub(crate) fn plan(self) -> PrefillPlan {
        let mut keys: Vec<_> = self.wanted.into_iter().collect();
        keys.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        PrefillPlan { keys: keys.into(), overflown: self.overflown, to_cache: false }
    }
}

impl PrefillKey {
    /// What a command tells of a key: its type, its size, or a member.
    fn learn(&mut self, event: &Event, at: usize) {
        if let Outcome::Hit(size) = event.outcome {
            self.size.get_or_insert(size);
        }
        let Some((of, member)) = told(event) else { return };
        if *self.of.get_or_insert(of) != of {
            return;
        }
        let value = match of {
            Type::String if event.is("SETEX") || event.is("PSETEX") => Some(at + 2),
            Type::String if SETS.iter().any(|name| event.is(name)) => Some(at + 1),
            Type::Hash if event.is("HSET") => Some(at + 2),
            _ => None,
        };
        if let Some(argument) = value.and_then(|value| event.argument(value)) {
            self.size.get_or_insert(argument.size);
        }
        for at in member.into_iter().flatten() {
            let name = event.bytes(at);
            if self.members.len() < NAMED_MAX && !self.members.iter().any(|known| known == name) {
                self.members.push(name.to_vec());
            }
        }
    }
}

/// What type a command is for, and which arguments are members of it. `None` of one for any type.
fn told(event: &Event) -> Option<(Type, Option<std::ops::Range<usize>>)> {
    let all = || Some(2..event.len());
    let one = || Some(2..3.min(event.len()));
    let name = event.name().to_ascii_uppercase();
    let starts = |start: &[u8]| name.starts_with(start);
    Some(match name.as_slice() {
        b"HGET" | b"HEXISTS" | b"HSTRLEN" | b"HSET" | b"HSETNX" | b"HINCRBY" => (Type::Hash, one()),
        b"HMGET" | b"HDEL" => (Type::Hash, all()),
        b"SISMEMBER" => (Type::Set, one()),
        b"SMISMEMBER" | b"SADD" | b"SREM" => (Type::Set, all()),
        b"ZSCORE" | b"ZRANK" | b"ZREVRANK" => (Type::SortedSet, one()),
        b"ZMSCORE" | b"ZREM" => (Type::SortedSet, all()),
        b"GET" | b"MGET" | b"SET" | b"SETEX" | b"PSETEX" | b"SETNX" | b"GETSET" | b"GETDEL"
        | b"GETEX" | b"STRLEN" | b"APPEND" | b"GETRANGE" | b"SETRANGE" | b"INCR" | b"DECR"
        | b"INCRBY" | b"DECRBY" | b"INCRBYFLOAT" | b"GETBIT" | b"BITCOUNT" | b"GETS" | b"GAT"
        | b"MSET" | b"ADD" | b"REPLACE" | b"SUBSTR" => (Type::String, None),
        b"SCARD" | b"SMEMBERS" | b"SRANDMEMBER" | b"SPOP" | b"SSCAN" | b"SINTER" | b"SUNION"
        | b"SDIFF" => (Type::Set, None),
        _ if starts(b"HSCAN")
            || starts(b"HGET")
            || starts(b"HLEN")
            || starts(b"HKEYS")
            || starts(b"HVALS")
            || starts(b"HRAND") =>
        {
            (Type::Hash, None)
        }
        _ if starts(b"ZR")
            || starts(b"ZC")
            || starts(b"ZADD")
            || starts(b"ZSCAN")
            || starts(b"ZINCR")
            || starts(b"ZPOP")
            || starts(b"ZLEX") =>
        {
            (Type::SortedSet, None)
        }
        _ if starts(b"XR") || starts(b"XLEN") || starts(b"XADD") || starts(b"XINFO") => {
            (Type::Stream, None)
        }
        b"LLEN" | b"LRANGE" | b"LINDEX" | b"LPOS" | b"LPUSH" | b"RPUSH" | b"LPOP" | b"RPOP"
        | b"LTRIM" | b"LSET" | b"LREM" | b"LINSERT" => (Type::List, None),
        _ => return None,
    })
}

/// What is written before a record is sent, as a record of its own.
#[derive(Debug, Clone)]
pub struct PrefillPlan {
    keys: Arc<[(Key, PrefillKey)]>,
    overflown: bool,
    to_cache: bool,
}

impl PrefillPlan {
    /// How many keys are written.
    #[must_use]
    pub fn keys(&self) -> u64 {
        self.keys.len() as u64
    }

    /// Whether the record has more keys than are kept.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        self.overflown
    }

    /// How many connections write them.
    #[must_use]
    pub fn connections(&self) -> u32 {
        CONNECTIONS.min(self.keys.len().max(1) as u32)
    }

    /// The same for a server of this kind.
    #[must_use]
    pub fn to(self, to_cache: bool) -> Self {
        Self { to_cache, ..self }
    }

    /// A command of the kind that writes.
    #[must_use]
    pub fn example(&self) -> CommandSpec {
        match self.to_cache {
            true => CommandSpec::from_words(["set", "k", "0", "0", "v"]),
            false => CommandSpec::from_words(["SET"]),
        }
    }
}

impl Record for PrefillPlan {
    fn commands(&self) -> Result<Box<dyn RecordedCommands + Send + '_>, String> {
        Ok(Box::new(PrefillCommands { plan: self, next: 0, value: Vec::new() }))
    }
}

struct PrefillCommands<'p> {
    plan: &'p PrefillPlan,
    next: usize,
    value: Vec<u8>,
}

impl RecordedCommands for PrefillCommands<'_> {
    fn next(&mut self, bytes: &mut Vec<u8>) -> Result<Option<RecordedCommand>, String> {
        let Some(((db, key), wanted)) = self.plan.keys.get(self.next) else { return Ok(None) };
        self.value.clear();
        self.value.resize(wanted.size.unwrap_or(SIZE).min(SIZE_MAX) as usize, b'x');
        let connection = self.next as u32 % self.plan.connections();
        self.next += 1;
        if self.plan.to_cache {
            let words = [&b"set"[..], key, b"0", b"0", &self.value];
            let command = CommandSpec::from_words(words);
            bytes.extend_from_slice(&Text::compile(&command, None).bytes);
        } else {
            append(key, wanted, &self.value, bytes);
        }
        let db = if self.plan.to_cache { 0 } else { *db };
        let slot = Some(slot_of(key));
        Ok(Some(RecordedCommand {
            due_ns: 0,
            connection,
            command: 0,
            db,
            blocks: false,
            slot,
            bound: false,
        }))
    }
}

/// The command that makes a key.
fn append(key: &[u8], wanted: &PrefillKey, value: &[u8], bytes: &mut Vec<u8>) {
    let made: Vec<Vec<u8>> = (0..MEMBERS).map(|n| format!("member:{n}").into_bytes()).collect();
    let members = if wanted.members.is_empty() { &made } else { &wanted.members };
    let mut words: Vec<&[u8]> = Vec::new();
    match wanted.of.unwrap_or(Type::String) {
        Type::String => words.extend([b"SET", key, value]),
        Type::Hash => {
            words.extend([b"HSET", key]);
            members.iter().for_each(|member| words.extend([member, value]));
        }
        Type::List => {
            words.extend([b"RPUSH", key]);
            words.extend(std::iter::repeat_n(value, MEMBERS));
        }
        Type::Set => {
            words.extend([b"SADD", key]);
            words.extend(members.iter().map(Vec::as_slice));
        }
        Type::SortedSet => {
            words.extend([b"ZADD", key]);
            members.iter().for_each(|member| words.extend([&b"1"[..], member]));
        }
        Type::Stream => words.extend([&b"XADD"[..], key, b"*", b"field", value]),
    }
    encode_command(&words, bytes);
}
