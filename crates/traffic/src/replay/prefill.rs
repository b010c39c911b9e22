//! The data that a server needs before a record is sent: keys that the record reads before it writes them.
//!
//! A key's type follows from the commands that name it, its size from the first value that the record writes
//! to it. Consumer groups of streams that the record uses and does not create are included.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use wire::Protocol as _;
use wire::cluster::slot_of;
use wire::memcache::Text;
use wire::resp::encode_command;
use workload::{CommandSpec, DueRequest, DueRequests, RequestSource};

use crate::commands::{Command, DataType, Property, Role, roles, writes};
use crate::{Event, Outcome, Protocol};

/// Maximum number of keys that are remembered; further ones are not prefilled.
const KEYS_MAX: usize = 10_000_000;
/// Number of members, fields or elements of a key if the record names none.
const MEMBERS: usize = 10;
/// Maximum number of members remembered per key.
const NAMED_MAX: usize = 64;
/// The size of a value if the record never writes one.
const SIZE: u32 = 100;
/// Longest value that is written.
const SIZE_MAX: u32 = 16 << 20;
/// Number of connections that write.
const CONNECTIONS: u32 = 8;

/// A database and a key in it.
type Key = (u32, Vec<u8>);

/// A key that is read before it is written.
#[derive(Debug, Clone, Default)]
struct PrefillKey {
    of: Option<DataType>,
    size: Option<u32>,
    members: Vec<Vec<u8>>,
    /// Set if it is sorted as numbers, so that its elements must be numbers.
    is_sorted: bool,
    /// The consumer group of a stream that this entry creates, instead of a key.
    group: Option<Vec<u8>>,
}

/// Collects keys while a record is read.
#[derive(Debug, Default)]
pub struct Prefill {
    wanted: HashMap<Key, PrefillKey>,
    /// Hashes of keys that were written before they were read.
    written: HashSet<u64>,
    /// Consumer groups of streams; `true` if a group is used before it is created.
    groups: BTreeMap<(Key, Vec<u8>), bool>,
    roles: Vec<Role>,
    places: Vec<usize>,
    hashes: RandomState,
    overflown: bool,
}

impl Prefill {
    /// Processes the next command, with its keys at these positions.
    pub(crate) fn see(&mut self, protocol: Protocol, event: &Event, keys: &[usize]) {
        let writes = writes(protocol, event);
        let takes = protocol == Protocol::Resp && Command::for_event(event).has(Property::Takes);
        roles(protocol, event, &mut self.places, &mut self.roles);
        if protocol == Protocol::Resp {
            self.see_group(event, keys);
        }
        for at in keys.iter().copied() {
            let key = event.bytes(at);
            let hash = self.hashes.hash_one((event.db, key));
            if self.written.contains(&hash) {
                continue;
            }
            let known = (event.db, key.to_vec());
            if let Some(wanted) = self.wanted.get_mut(&known) {
                wanted.learn(protocol, event, at, &self.roles);
            } else if self.wanted.len() + self.written.len() >= KEYS_MAX {
                self.overflown = true;
            } else if (writes == Some(false) || takes) && event.outcome != Outcome::Miss {
                let mut wanted = PrefillKey::default();
                wanted.learn(protocol, event, at, &self.roles);
                self.wanted.insert(known, wanted);
            } else if writes == Some(true) {
                self.written.insert(hash);
            }
        }
    }

    /// Returns the keys to write, in an order that is the same each time.
    pub(crate) fn plan(self) -> PrefillPlan {
        let mut keys: Vec<_> = self.wanted.into_iter().collect();
        keys.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        let count = keys.len() as u64;
        let used = self.groups.into_iter().filter(|(_, is_used)| *is_used);
        keys.extend(used.map(|((key, group), _)| {
            (key, PrefillKey { group: Some(group), ..PrefillKey::default() })
        }));
        PrefillPlan { keys: keys.into(), count, overflown: self.overflown, to_cache: false }
    }

    /// Records the consumer group of a stream that a command uses or creates.
    fn see_group(&mut self, event: &Event, keys: &[usize]) {
        let creates = event.is("XGROUP") && event.bytes(1).eq_ignore_ascii_case(b"CREATE");
        let at = match () {
            () if event.is("XREADGROUP") => 2,
            () if creates || event.is("XINFO") && event.len() > 3 => 3,
            () if event.is_one_of(0, &["XPENDING", "XACK", "XCLAIM", "XAUTOCLAIM"]) => 2,
            () => return,
        };
        let group = event.bytes(at);
        for key in keys.iter().map(|at| event.bytes(*at)).filter(|_| !group.is_empty()) {
            if self.groups.len() < KEYS_MAX {
                let place = ((event.db, key.to_vec()), group.to_vec());
                self.groups.entry(place).or_insert(!creates);
            }
        }
    }
}

impl PrefillKey {
    /// Records what a command reveals of a key: its type, its size, or a member.
    fn learn(&mut self, protocol: Protocol, event: &Event, at: usize, roles: &[Role]) {
        if let Outcome::Hit(size) = event.outcome {
            self.size.get_or_insert(size);
        }
        let of = match protocol {
            Protocol::Memcache => Some(DataType::String),
            Protocol::Resp => Command::for_event(event).data_type(),
        };
        self.is_sorted |= (event.is("SORT") || event.is("SORT_RO"))
            && !(at + 1..event.len()).any(|at| event.is_one_of(at, &["ALPHA"]));
        let Some(of) = of else { return };
        if *self.of.get_or_insert(of) != of {
            return;
        }
        let of_key = |role: Role| roles.iter().skip(at).position(|one| *one == role);
        // What it sets is a part of the value.
        if !event.is("SETRANGE")
            && let Some(value) = of_key(Role::Value).and_then(|behind| event.argument(at + behind))
        {
            self.size.get_or_insert(value.size);
        }
        let named = roles.iter().enumerate().filter(|(_, role)| **role == Role::Member);
        for name in named.map(|(at, _)| event.bytes(at)) {
            if self.members.len() < NAMED_MAX && !self.members.iter().any(|known| known == name) {
                self.members.push(name.to_vec());
            }
        }
    }
}

/// Commands that are sent before a record, as a record themselves.
#[derive(Debug, Clone)]
pub struct PrefillPlan {
    /// Keys, followed by consumer groups of streams.
    keys: Arc<[(Key, PrefillKey)]>,
    count: u64,
    overflown: bool,
    to_cache: bool,
}

impl PrefillPlan {
    /// Number of keys that are written.
    pub fn keys(&self) -> u64 {
        self.count
    }

    /// Number of commands to send.
    pub fn requests(&self) -> u64 {
        self.keys.len() as u64
    }

    /// Returns whether the record has more keys than are remembered.
    pub fn is_partial(&self) -> bool {
        self.overflown
    }

    /// Number of connections that send them.
    pub fn connections(&self) -> u32 {
        CONNECTIONS.min(self.keys.len().max(1) as u32)
    }

    /// Sets the kind of server that is prefilled.
    pub fn to(self, to_cache: bool) -> Self {
        Self { to_cache, ..self }
    }

    /// An example of the commands that write keys.
    pub fn example(&self) -> CommandSpec {
        if self.to_cache {
            CommandSpec::from_words(["set", "k", "0", "0", "v"])
        } else {
            CommandSpec::from_words(["SET"])
        }
    }
}

impl RequestSource for PrefillPlan {
    fn requests(&self) -> Result<Box<dyn DueRequests + Send + '_>, String> {
        Ok(Box::new(PrefillCommands { plan: self, next: 0, value: Vec::new() }))
    }
}

struct PrefillCommands<'p> {
    plan: &'p PrefillPlan,
    next: usize,
    value: Vec<u8>,
}

impl DueRequests for PrefillCommands<'_> {
    fn next(&mut self, bytes: &mut Vec<u8>) -> Result<Option<DueRequest>, String> {
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
        Ok(Some(DueRequest {
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

/// Appends the command that makes a key or a consumer group.
fn append(key: &[u8], wanted: &PrefillKey, value: &[u8], bytes: &mut Vec<u8>) {
    if let Some(group) = &wanted.group {
        return encode_command(&[b"XGROUP", b"CREATE", key, group, b"$", b"MKSTREAM"], bytes);
    }
    let numbers: Vec<Vec<u8>> = (0..MEMBERS).map(|n| n.to_string().into_bytes()).collect();
    let made: Vec<Vec<u8>> = (0..MEMBERS).map(|n| format!("member:{n}").into_bytes()).collect();
    let members = match wanted.members.is_empty() {
        true if wanted.is_sorted => &numbers,
        true => &made,
        false => &wanted.members,
    };
    let by_default = if wanted.is_sorted { DataType::List } else { DataType::String };
    let each = || members.iter().map(Vec::as_slice);
    let mut words: Vec<&[u8]> = Vec::new();
    match wanted.of.unwrap_or(by_default) {
        DataType::String => words.extend([b"SET", key, value]),
        DataType::Hash => {
            words.extend([b"HSET", key]);
            each().for_each(|member| words.extend([member, value]));
        }
        DataType::List => {
            words.extend([b"RPUSH", key]);
            if wanted.is_sorted {
                words.extend(numbers.iter().map(Vec::as_slice))
            } else {
                words.extend(std::iter::repeat_n(value, MEMBERS))
            }
        }
        DataType::Set => words.extend([&b"SADD"[..], key].into_iter().chain(each())),
        DataType::HyperLogLog => words.extend([&b"PFADD"[..], key].into_iter().chain(each())),
        DataType::SortedSet => {
            words.extend([b"ZADD", key]);
            each().for_each(|member| words.extend([&b"1"[..], member]));
        }
        DataType::Geo => {
            words.extend([b"GEOADD", key]);
            each().for_each(|member| words.extend([&b"1"[..], b"1", member]));
        }
        DataType::Stream => words.extend([&b"XADD"[..], key, b"*", b"field", value]),
    }
    encode_command(&words, bytes);
}
