//! Plans that write every key that another plan reads, once.

use std::collections::HashSet;
use std::sync::Arc;

use super::reads::{ITEMS_WRITTEN, read_keys};
use super::{
    Backoff, Concurrency, Data, Load, OnError, PlanParts, Recording, Recovery, Retry, Stop, Window,
};
use crate::keys::{DrawnBy, KeyNumbering};
use crate::{Arg, CommandSpec, KeyDist, KeySpace, Piece, RowBy, Shard, Slot};

/// Options of `SET` with the lifetime of a key.
const LIFETIMES: [&[u8]; 4] = [b"EX", b"PX", b"EXAT", b"PXAT"];

/// Requests in flight on a connection of a fill.
const DEPTH: u32 = 16;
/// Bytes of one of its pipelines, unless a request is larger.
const PIPELINE_BYTES: u64 = 1 << 20;

/// Plans that write the keys of a plan, and the keys for which no plan can be derived.
#[derive(Debug, Default)]
pub struct Fill {
    /// A plan for each form of keys.
    pub parts: Vec<PlanParts>,
    /// Commands with keys that do not read strings, by name.
    pub unfillable: Vec<String>,
    /// Keys whose reads cannot be predicted, each with the reason.
    pub unforeseen: Vec<String>,
}

/// Number of keys that an argument stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyArity {
    /// A single one.
    One,
    /// A key for each number of the key space.
    Numbers,
    /// A key for each row of the dataset.
    Rows,
}

impl PlanParts {
    /// Returns the plans that write every key that the plan reads, once, as its `fill` says. Each key gets
    /// its required value. Empty without a `fill`.
    pub fn filled_by(&self) -> Fill {
        let mut fill = Fill::default();
        let Some(with) = &self.data.fill else { return fill };
        for (span, keys) in self.key_spaces() {
            if !with.is_empty() {
                fill.add(self.filled_with(with, keys));
                let named = with.iter().filter_map(|command| command.args.get(1));
                let unforeseen = named.filter_map(|key| self.keys_of(key, keys).err());
                fill.unforeseen.extend(unforeseen);
                continue;
            }
            for command in &self.sequence[span] {
                match read_keys(command, self.protocol) {
                    Some(args) => {
                        for arg in &command.args[args] {
                            match self.keys_of(arg, keys) {
                                Ok(of) => fill.add(self.filled(vec![self.set(arg, of)], of, keys)),
                                Err(why) => fill.unforeseen.push(why),
                            }
                        }
                    }
                    None if has_number(command) && !self.writes(command) => {
                        fill.unfillable.push(command.name())
                    }
                    None => {}
                }
            }
        }
        fill.unfillable.dedup();
        fill
    }

    /// Returns the keys that an argument of a command with these key numbers stands for.
    ///
    /// # Errors
    /// Returns the reason if they depend on more than one number or the row.
    fn keys_of(&self, key: &Arg, keys: &KeySpace) -> Result<KeyArity, String> {
        let (mut slots, mut has_row) = (Vec::new(), false);
        let shown = typed(key);
        for piece in &key.pieces {
            let slot = match piece {
                Piece::Number(_) if keys.range.is_none() => continue,
                Piece::Number(slot) => *slot,
                Piece::Derived(derived) if derived.names_key() => Slot::Key,
                Piece::Field(_) => {
                    has_row = true;
                    continue;
                }
                Piece::Derived(_)
                | Piece::Value
                | Piece::Lifetime(_)
                | Piece::Message
                | Piece::MessageNumber => {
                    return Err(format!("{shown} has text that is drawn for each request"));
                }
                Piece::Tag => {
                    return Err(format!("the {{tag}} of {shown} differs from request to request"));
                }
                Piece::Reply { .. } | Piece::Cas => {
                    return Err(format!("{shown} depends on an earlier reply"));
                }
                Piece::Bytes(_) | Piece::Secret(_) | Piece::Fill { .. } => continue,
            };
            if slot == Slot::Fresh || !slots.contains(&slot) {
                slots.push(slot);
            }
        }
        let by_key = self.data.dataset.as_ref().is_some_and(|dataset| dataset.by() == RowBy::Key);
        match (&slots[..], has_row) {
            ([], false) => Ok(KeyArity::One),
            ([], true) => Ok(KeyArity::Rows),
            ([_], false) => Ok(KeyArity::Numbers),
            ([Slot::Key], true) if by_key => Ok(KeyArity::Numbers),
            ([_], true) => {
                Err(format!("{shown} has a number and a field, which are drawn independently"))
            }
            (_, _) => Err(format!("{shown} has several numbers, which are drawn independently")),
        }
    }

    /// Returns the plan that writes these keys with the given commands.
    fn filled_with(&self, with: &[CommandSpec], keys: &KeySpace) -> Self {
        let of = match () {
            () if keys.range.is_some() && with.iter().any(has_number) => KeyArity::Numbers,
            () if with.iter().any(has_field) => KeyArity::Rows,
            () => KeyArity::One,
        };
        let commands = with.iter().map(|command| match of {
            KeyArity::Numbers => with_one_key(command),
            KeyArity::Rows | KeyArity::One => command.clone(),
        });
        self.filled(commands.collect(), of, keys)
    }

    /// Returns the number of different keys that a fill plan writes: those of its first command.
    pub fn keys_filled(&self) -> u64 {
        let key = self.sequence.first().and_then(|command| command.args.get(1));
        let rows = self.data.dataset.as_ref().filter(|_| self.data.keys.range.is_none());
        let (Some(key), Some(rows)) = (key.filter(|key| is_of_row(key)), rows) else {
            return self.data.keys.range.unwrap_or(1);
        };
        let keys = (0..rows.len() as u64).map(|row| {
            let cells = key.pieces.iter().filter_map(move |piece| match piece {
                Piece::Field(column) => Some(rows.cell(row, *column)),
                _ => None,
            });
            cells.collect::<Vec<_>>()
        });
        keys.collect::<HashSet<_>>().len() as u64
    }

    /// Plan that removes the keys that this fill plan writes.
    pub fn removed_by(&self) -> Self {
        let remove = if self.protocol.is_memcache() { "delete" } else { "DEL" };
        let commands = self.sequence.iter().map(|command| {
            let key = command.args.get(1).cloned();
            [remove.into()].into_iter().chain(key).collect::<Vec<_>>().into()
        });
        let sequence = commands.collect();
        let recovery = Recovery { retry: None, ..self.recovery.clone() };
        Self { name: "clean".to_owned(), sequence, mix: None, recovery, ..self.clone() }
    }

    /// Returns the plans that prepare a server: commands sent for every key, or once if they name no key by
    /// number. They cover all keys, whatever share of the plan this is.
    pub fn prepared_by(&self) -> Vec<Self> {
        let parts = self.setup.iter().map(|command| {
            let numbered = self.data.keys.range.is_some() && has_number(command);
            let of = if numbered { KeyArity::Numbers } else { KeyArity::One };
            let filled = self.filled(vec![with_one_key(command)], of, &self.data.keys);
            Self { load: Load { shard: Shard::WHOLE, ..filled.load }, ..filled }
        });
        parts.collect()
    }

    /// Returns whether a command of the plan needs no existing data.
    pub fn writes(&self, command: &CommandSpec) -> bool {
        let name = command.name();
        if self.protocol.is_memcache() {
            ITEMS_WRITTEN.contains(&name.as_str())
        } else {
            WRITES.contains(&name.as_str())
        }
    }

    /// A `SET` of that key, like the plan's own.
    fn set(&self, read: &Arg, of: KeyArity) -> CommandSpec {
        let key = if of == KeyArity::Numbers { with_key(read) } else { read.clone() };
        // Replies exist only while the plan runs, and a number only if there is one for the key.
        let own = || {
            self.sequence.iter().filter(|command| {
                let foreign = of != KeyArity::Numbers && has_number(command);
                command.name() == "SET" && !command.names_reply() && !foreign
            })
        };
        let same_key = own().find(|command| {
            command.args.get(1).is_some_and(|arg| arg == read || with_key(arg) == key)
        });
        let own = same_key.or_else(|| own().next());
        if self.protocol.is_memcache() {
            return self.stored(own, key);
        }
        let value = own.and_then(|set| set.args.get(2)).cloned();
        let mut args = vec!["SET".into(), key, self.value(value)];
        // Among its options, only a lifetime belongs to the written value.
        let mut options = own.map_or(&[][..], |set| set.args.get(3..).unwrap_or(&[])).iter();
        while let Some(option) = options.next() {
            let name = option.fixed_bytes().unwrap_or_default().to_ascii_uppercase();
            if LIFETIMES.contains(&&name[..]) {
                args.extend([option.clone()].into_iter().chain(options.next().cloned()));
            }
        }
        let set = CommandSpec::from(args);
        match self.data.fill_lifetime {
            Some(lifetime) => set.with_lifetime(lifetime),
            None => set,
        }
    }

    /// A `set` of memcached, with flags and a lifetime before the value.
    fn stored(&self, own: Option<&CommandSpec>, key: Arg) -> CommandSpec {
        let word = |at: usize| own.and_then(|set| set.args.get(at)).cloned();
        let zero = || Arg::from("0");
        let lifetime = || self.data.fill_lifetime.map_or_else(zero, Arg::of_lifetime);
        let flags = word(2).unwrap_or_else(zero);
        let lifetime = word(3).unwrap_or_else(lifetime);
        vec!["set".into(), key, flags, lifetime, self.value(word(4))].into()
    }

    /// Returns this value, or one like the plan's values.
    fn value(&self, own: Option<Arg>) -> Arg {
        let column = self.data.dataset.as_ref().and_then(|dataset| dataset.values());
        match own {
            Some(value) => value,
            None if let Some(column) = column => Piece::Field(column).into(),
            None if self.data.values.is_some() => Piece::Value.into(),
            None => {
                let len = u32::try_from(self.data.payload_bytes).unwrap_or(u32::MAX).max(1);
                Piece::Fill { len, skip: 0 }.into()
            }
        }
    }

    /// A plan that sends these commands once for each key, at full speed.
    fn filled(&self, sequence: Vec<CommandSpec>, of: KeyArity, keys: &KeySpace) -> Self {
        let keys = each_once(keys, keys.range.filter(|_| of == KeyArity::Numbers));
        let rows = self.data.dataset.as_ref().filter(|_| of == KeyArity::Rows);
        let times = match (rows, keys.range) {
            (Some(rows), _) => rows.len() as u64,
            (None, range) => range.unwrap_or(1),
        };
        let requests = times.max(1).saturating_mul(sequence.len() as u64);
        // Of fewer keys than shares everybody writes all.
        let shared = times >= u64::from(self.load.shard.of);
        let asked = &self.load.concurrency;
        let mut concurrency = Concurrency {
            workers: asked.workers,
            multi_thread: asked.multi_thread,
            connections: asked.connections,
            requests_each: asked.requests_each,
            cpus: asked.cpus.clone(),
            spacing: asked.spacing,
            window: Window::Rolling,
            ..Concurrency::default()
        };
        let bytes = self.bytes_of(&sequence).max(1);
        concurrency.pipeline_depth = DEPTH.min((PIPELINE_BYTES / bytes).max(1) as u32);
        let load = Load {
            concurrency,
            stop: Stop::Requests(requests),
            seed: self.load.seed,
            shard: if shared { self.load.shard } else { Shard::WHOLE },
            ..Load::default()
        };
        let dataset = rows.map(|rows| Arc::new((**rows).clone().taken_by(RowBy::Request)));
        let data = Data {
            keys,
            dataset: dataset.or_else(|| self.data.dataset.clone()),
            values: self.data.values.clone(),
            payload_bytes: self.data.payload_bytes,
            ..Data::default()
        };
        let recovery = Recovery { on_error: OnError::Stop, retry: None, ..self.recovery.clone() };
        let parts = Self {
            name: "fill".to_owned(),
            target: self.target.clone(),
            protocol: self.protocol,
            engine: self.engine,
            sequence,
            load,
            data,
            recording: Recording { first_byte: false, kernel_stamps: false, ..self.recording },
            recovery,
            ..Self::default()
        };
        // What is sent together cannot be retried one by one, and an append may have been carried out.
        let is_store = self.protocol.is_memcache()
            && matches!(&parts.sequence[..], [one] if one.name() == "SET");
        if is_store { parts.retrying(while_evicting()) } else { parts }
    }
}

/// Retries of what a memcached that is full answers until it has evicted older items, which it does in the background.
fn while_evicting() -> Retry {
    Retry {
        // About 5 s in all.
        most: Some(11),
        backoff: Backoff { first_ns: 10_000_000, factor: 2.0, longest_ns: 1_000_000_000 },
        jitter: 0.0,
        on: vec!["SERVER_ERROR out of memory".to_owned(), "OUT_OF_MEMORY".to_owned()],
        waiting_max: DEPTH,
    }
}

impl Fill {
    /// Adds parts, merging keys of the same form, so that they are written once.
    fn add(&mut self, parts: PlanParts) {
        if !self
            .parts
            .iter()
            .any(|known| known.sequence == parts.sequence && known.data.keys == parts.data.keys)
        {
            self.parts.push(parts);
        }
    }
}

/// Commands that need no existing data.
const WRITES: [&str; 27] = [
    "SET",
    "SETEX",
    "PSETEX",
    "SETNX",
    "MSET",
    "MSETNX",
    "APPEND",
    "SETRANGE",
    "GETSET",
    "INCR",
    "INCRBY",
    "INCRBYFLOAT",
    "DECR",
    "DECRBY",
    "HSET",
    "HMSET",
    "HINCRBY",
    "LPUSH",
    "RPUSH",
    "SADD",
    "ZADD",
    "ZINCRBY",
    "XADD",
    "PFADD",
    "SETBIT",
    "GEOADD",
    "ECHO",
];

/// Returns the first `range` of these keys, in order.
fn each_once(keys: &KeySpace, range: Option<u64>) -> KeySpace {
    let numbered = KeyNumbering { by: DrawnBy::Request, ..keys.numbered };
    KeySpace { range, draw: KeyDist::SEQUENTIAL, numbered, one_slot: None }
}

fn has_number(command: &CommandSpec) -> bool {
    command.args.iter().flat_map(|arg| &arg.pieces).any(|piece| match piece {
        Piece::Number(_) => true,
        Piece::Derived(derived) => derived.names_key(),
        _ => false,
    })
}

fn has_field(command: &CommandSpec) -> bool {
    command.args.iter().any(is_of_row)
}

fn is_of_row(arg: &Arg) -> bool {
    arg.pieces.iter().any(|piece| matches!(piece, Piece::Field(_)))
}

/// Identity of a key: the typed text, as far as it distinguishes keys.
fn typed(key: &Arg) -> String {
    key.pieces.iter().map(Piece::shown).collect()
}

/// The argument with every number replaced by the key's number.
fn with_key(arg: &Arg) -> Arg {
    let pieces = arg.pieces.iter().map(|piece| match piece {
        Piece::Number(_) => Piece::Number(Slot::Key),
        piece => piece.clone(),
    });
    Arg { pieces: pieces.collect() }
}

fn with_one_key(command: &CommandSpec) -> CommandSpec {
    CommandSpec { args: command.args.iter().map(with_key).collect(), inline: command.inline }
}

#[cfg(test)]
#[path = "fill_tests.rs"]
mod tests;
