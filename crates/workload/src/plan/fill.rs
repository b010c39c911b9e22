//! The plans that write every key that another plan reads, once.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use super::{Concurrency, Data, Load, OnError, PlanParts, Recording, Recovery, Stop, Window};
use crate::argument::placeholder;
use crate::keys::{DrawnBy, Numbered};
use crate::redis_commands::{self, KeyPlace};
use crate::{
    Arg, CommandSpec, Dataset, KeyDist, KeySpace, Piece, ProtocolKind, RowBy, Shard, Slot,
};

/// Which arguments of a command are keys of strings that it reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keys {
    First,
    /// From this one on.
    From(usize),
}

/// Commands that read strings.
const STRINGS: [(&str, Keys); 9] = [
    ("GET", Keys::First),
    ("GETEX", Keys::First),
    ("GETDEL", Keys::First),
    ("GETRANGE", Keys::First),
    ("SUBSTR", Keys::First),
    ("STRLEN", Keys::First),
    ("MGET", Keys::From(1)),
    ("EXISTS", Keys::From(1)),
    ("TTL", Keys::First),
];

/// Commands of memcached for which an item, whatever it holds, must be there.
const ITEMS: [(&str, Keys); 13] = [
    ("GET", Keys::From(1)),
    ("GETS", Keys::From(1)),
    ("GETK", Keys::First),
    ("MG", Keys::First),
    ("GAT", Keys::From(2)),
    ("GATS", Keys::From(2)),
    ("TOUCH", Keys::First),
    ("DELETE", Keys::First),
    ("MD", Keys::First),
    ("REPLACE", Keys::First),
    ("APPEND", Keys::First),
    ("PREPEND", Keys::First),
    ("CAS", Keys::First),
];

/// Those of them that change nothing.
const ITEMS_READ: [&str; 4] = ["GET", "GETS", "GETK", "MG"];

/// Those that also need it to be a number.
const NUMBERS: [&str; 3] = ["INCR", "DECR", "MA"];

/// Commands of memcached that need no item to be there.
const ITEMS_WRITTEN: [&str; 3] = ["SET", "ADD", "MS"];

/// Options of `SET` that say how long a key lives.
const LIFETIMES: [&[u8]; 4] = [b"EX", b"PX", b"EXAT", b"PXAT"];

/// Requests of a fill that a connection has in flight.
const DEPTH: u32 = 16;
/// Bytes of one of its pipelines, if a request is not larger.
const PIPELINE_BYTES: u64 = 1 << 20;

/// The plans that write the keys of a plan, and the keys that no plan can be derived for.
#[derive(Debug, Default)]
pub struct Fill {
    /// A plan for each form that keys have.
    pub parts: Vec<PlanParts>,
    /// Commands with keys in them that read no strings, by name.
    pub untold: Vec<String>,
    /// Keys of which nobody can say which of them are read, each with why.
    pub unforeseen: Vec<String>,
}

/// Which keys an argument is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeysOf {
    /// A single one.
    One,
    /// One for each number of the key space.
    Numbers,
    /// One for each row of the dataset.
    Rows,
}

impl PlanParts {
    /// What writes every key that the plan reads, once, as its `fill` says. Each gets the value that it
    /// must have. Nothing if it says nothing.
    #[must_use]
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
                        fill.untold.push(command.name())
                    }
                    None => {}
                }
            }
        }
        fill.untold.dedup();
        fill
    }

    /// The keys that an argument of a command with these key numbers is.
    ///
    /// # Errors
    /// They differ by more than one number or the row: why.
    fn keys_of(&self, key: &Arg, keys: &KeySpace) -> Result<KeysOf, String> {
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
                Piece::Derived(_) | Piece::Value | Piece::Lifetime(_) => {
                    return Err(format!("{shown} has text that is drawn for each request"));
                }
                Piece::Tag => {
                    return Err(format!("the {{tag}} of {shown} is another in each request"));
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
            ([], false) => Ok(KeysOf::One),
            ([], true) => Ok(KeysOf::Rows),
            ([_], false) => Ok(KeysOf::Numbers),
            ([Slot::Key], true) if by_key => Ok(KeysOf::Numbers),
            ([_], true) => Err(format!("{shown} has a number and a field, which are drawn apart")),
            (_, _) => Err(format!("{shown} has several numbers, which are drawn apart")),
        }
    }

    /// What writes these keys by commands that were given for it.
    fn filled_with(&self, with: &[CommandSpec], keys: &KeySpace) -> Self {
        let of = match () {
            () if keys.range.is_some() && with.iter().any(has_number) => KeysOf::Numbers,
            () if with.iter().any(has_field) => KeysOf::Rows,
            () => KeysOf::One,
        };
        let each = |command: &CommandSpec| match of {
            KeysOf::Numbers => with_one_key(command),
            KeysOf::Rows | KeysOf::One => command.clone(),
        };
        self.filled(with.iter().map(each).collect(), of, keys)
    }

    /// How many different keys a plan writes that was made to fill a server: those of its first command.
    #[must_use]
    pub fn keys_filled(&self) -> u64 {
        let key = self.sequence.first().and_then(|command| command.args.get(1));
        let rows = self.data.dataset.as_ref().filter(|_| self.data.keys.range.is_none());
        let (Some(key), Some(rows)) = (key.filter(|key| is_of_row(key)), rows) else {
            return self.data.keys.range.unwrap_or(1);
        };
        let text = |row| {
            let cells = key.pieces.iter().filter_map(move |piece| match piece {
                Piece::Field(column) => Some(rows.cell(row, *column)),
                _ => None,
            });
            cells.collect::<Vec<_>>()
        };
        (0..rows.len() as u64).map(text).collect::<HashSet<_>>().len() as u64
    }

    /// What prepares a server for the plan, by commands that are sent for every key, or once if they
    /// name no key by number: all of them, whatever share of the plan is ours.
    #[must_use]
    pub fn prepared_by(&self) -> Vec<Self> {
        let of = |command: &CommandSpec| {
            let numbered = self.data.keys.range.is_some() && has_number(command);
            let of = if numbered { KeysOf::Numbers } else { KeysOf::One };
            let filled = self.filled(vec![with_one_key(command)], of, &self.data.keys);
            Self { load: Load { shard: Shard::WHOLE, ..filled.load }, ..filled }
        };
        self.setup.iter().map(of).collect()
    }

    /// Whether a command of the plan needs nothing to be there.
    #[must_use]
    pub fn writes(&self, command: &CommandSpec) -> bool {
        let name = command.name();
        match self.protocol.is_memcache() {
            true => ITEMS_WRITTEN.contains(&name.as_str()),
            false => WRITES.contains(&name.as_str()),
        }
    }

    /// A `SET` of that key, as the plan itself would write it.
    fn set(&self, read: &Arg, of: KeysOf) -> CommandSpec {
        let key = if of == KeysOf::Numbers { with_key(read) } else { read.clone() };
        // What a reply brings is there only while the plan runs, and a number only where there is one for
        // the key.
        let known = |command: &&CommandSpec| {
            let foreign = of != KeysOf::Numbers && has_number(command);
            command.name() == "SET" && !command.names_reply() && !foreign
        };
        let own = || self.sequence.iter().filter(known);
        let of_key = |command: &&CommandSpec| {
            command.args.get(1).is_some_and(|arg| arg == read || with_key(arg) == key)
        };
        let own = own().find(of_key).or_else(|| own().next());
        if self.protocol.is_memcache() {
            return self.stored(own, key);
        }
        let value = own.and_then(|set| set.args.get(2)).cloned();
        let mut args = vec![Arg::literal(b"SET"), key, self.value(value)];
        // Of its options only a lifetime is one of what is written.
        let mut options = own.map_or(&[][..], |set| set.args.get(3..).unwrap_or(&[])).iter();
        while let Some(option) = options.next() {
            let name = option.fixed_bytes().unwrap_or_default().to_ascii_uppercase();
            if LIFETIMES.contains(&&name[..]) {
                args.extend([option.clone()].into_iter().chain(options.next().cloned()));
            }
        }
        let set = CommandSpec { args, inline: false };
        match self.data.fill_lifetime {
            Some(lifetime) => set.with_lifetime(lifetime),
            None => set,
        }
    }

    /// A `set` of memcached: flags and a lifetime stand before the value.
    fn stored(&self, own: Option<&CommandSpec>, key: Arg) -> CommandSpec {
        let word = |at: usize| own.and_then(|set| set.args.get(at)).cloned();
        let zero = || Arg::literal(b"0");
        let lifetime = || self.data.fill_lifetime.map_or_else(zero, Arg::of_lifetime);
        let flags = word(2).unwrap_or_else(zero);
        let lifetime = word(3).unwrap_or_else(lifetime);
        let args = vec![Arg::literal(b"set"), key, flags, lifetime, self.value(word(4))];
        CommandSpec { args, inline: false }
    }

    /// This value, or one as values of the plan are.
    fn value(&self, own: Option<Arg>) -> Arg {
        let column = self.data.dataset.as_ref().and_then(|dataset| dataset.values());
        match own {
            Some(value) => value,
            None if let Some(column) = column => Arg { pieces: vec![Piece::Field(column)] },
            None if self.data.values.is_some() => Arg { pieces: vec![Piece::Value] },
            None => {
                let len = u32::try_from(self.data.payload_bytes).unwrap_or(u32::MAX).max(1);
                Arg { pieces: vec![Piece::Fill { len, skip: 0 }] }
            }
        }
    }

    /// A plan that sends these commands once for each key, as fast as it can.
    fn filled(&self, sequence: Vec<CommandSpec>, of: KeysOf, keys: &KeySpace) -> Self {
        let keys = each_once(keys, keys.range.filter(|_| of == KeysOf::Numbers));
        let rows = self.data.dataset.as_ref().filter(|_| of == KeysOf::Rows);
        let times = match (rows, keys.range) {
            (Some(rows), _) => rows.len() as u64,
            (None, range) => range.unwrap_or(1),
        };
        let requests = times.max(1).saturating_mul(sequence.len() as u64);
        let in_order = |rows: &Arc<Dataset>| Arc::new((**rows).clone().taken_by(RowBy::Request));
        // Of fewer keys than shares everybody writes all.
        let shared = times >= u64::from(self.load.shard.of);
        let mut concurrency = Concurrency {
            window: Window::Rolling,
            keep_alive: true,
            joining: None,
            renewed_per_s: 0,
            ..self.load.concurrency.clone()
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
        let data = Data {
            keys,
            dataset: rows.map(in_order).or_else(|| self.data.dataset.clone()),
            values: self.data.values.clone(),
            payload_bytes: self.data.payload_bytes,
            ..Data::default()
        };
        let recovery = Recovery { on_error: OnError::Stop, retry: None, ..self.recovery.clone() };
        Self {
            name: "fill".to_owned(),
            target: self.target.clone(),
            protocol: self.protocol,
            engine: self.engine,
            sequence,
            load,
            data,
            recording: Recording { first_byte: false, ..self.recording },
            recovery,
            ..Self::default()
        }
    }
}

impl Fill {
    /// Keys of the same form are written once.
    fn add(&mut self, parts: PlanParts) {
        let same = |known: &PlanParts| {
            known.sequence == parts.sequence && known.data.keys == parts.data.keys
        };
        if !self.parts.iter().any(same) {
            self.parts.push(parts);
        }
    }
}

/// Commands that need nothing to be there.
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

impl CommandSpec {
    /// Whether it reads a key and changes nothing, as a command of that protocol.
    #[must_use]
    pub fn reads(&self, protocol: ProtocolKind) -> bool {
        let name = self.name();
        if protocol.is_memcache() {
            return ITEMS_READ.contains(&name.as_str());
        }
        let second = self.args.get(1).and_then(Arg::fixed_bytes);
        let second = second.as_deref().and_then(|word| std::str::from_utf8(word).ok());
        let known = redis_commands::known(&name, second);
        known.is_some_and(|known| known.read_only && matches!(known.key, KeyPlace::Arg(_)))
    }

    /// Whether it may write a key. Of a command that nobody knows, such as a module's, that is taken for
    /// granted.
    #[must_use]
    pub fn may_write(&self, protocol: ProtocolKind) -> bool {
        let name = self.name();
        if protocol.is_memcache() {
            let looks = ["GAT", "GATS", "TOUCH"].into_iter().chain(ITEMS_READ);
            let written = ITEMS_WRITTEN.contains(&name.as_str()) || name == "FLUSH_ALL";
            return written || self.needs_item() && !looks.into_iter().any(|looks| looks == name);
        }
        let second = self.args.get(1).and_then(Arg::fixed_bytes);
        let second = second.as_deref().and_then(|word| std::str::from_utf8(word).ok());
        let emptied = matches!(name.as_str(), "FLUSHALL" | "FLUSHDB" | "SWAPDB");
        redis_commands::known(&name, second)
            .is_none_or(|known| emptied || !known.read_only && known.key != KeyPlace::Keyless)
    }

    /// Whether a reply of nothing says that what it looks for is not there. After a command that writes,
    /// or a script, it says something else.
    #[must_use]
    pub fn looks_for(&self, protocol: ProtocolKind) -> bool {
        let name = self.name();
        if protocol.is_memcache() {
            return !ITEMS_WRITTEN.contains(&name.as_str()) && name != "CAS";
        }
        // A module's command is called as Redis's own is: JSON.GET.
        let own = name.rsplit_once('.').map(|(_, own)| Self::from_words([own]));
        own.as_ref().unwrap_or(self).reads(protocol) || redis_commands::takes(&name)
    }

    /// Whether it is a command of memcached that says if the item is there which it is about.
    pub(super) fn needs_item(&self) -> bool {
        let name = self.name();
        ITEMS.iter().any(|(known, _)| *known == name) || NUMBERS.contains(&name.as_str())
    }

    /// Whether `SET` writes what it reads.
    #[must_use]
    pub fn reads_what_set_writes(&self, protocol: ProtocolKind) -> bool {
        read_keys(self, protocol).is_some()
    }
}

/// The arguments that are keys of strings which a command reads.
fn read_keys(command: &CommandSpec, protocol: ProtocolKind) -> Option<Range<usize>> {
    let name = command.name();
    let read = if protocol.is_memcache() { &ITEMS[..] } else { &STRINGS };
    let (_, keys) = read.iter().find(|(known, _)| *known == name)?;
    let words = command.args.len();
    match *keys {
        Keys::First => (words > 1).then_some(1..2),
        Keys::From(first) => Some(first.min(words)..words),
    }
}

/// So many of these keys, in order.
fn each_once(keys: &KeySpace, range: Option<u64>) -> KeySpace {
    let numbered = Numbered { by: DrawnBy::Request, ..keys.numbered };
    KeySpace { range, draw: KeyDist::SEQUENTIAL, numbered, one_slot: None }
}

fn has_number(command: &CommandSpec) -> bool {
    let numbered = |piece: &Piece| match piece {
        Piece::Number(_) => true,
        Piece::Derived(derived) => derived.names_key(),
        _ => false,
    };
    command.args.iter().flat_map(|arg| &arg.pieces).any(numbered)
}

fn has_field(command: &CommandSpec) -> bool {
    command.args.iter().any(is_of_row)
}

fn is_of_row(arg: &Arg) -> bool {
    arg.pieces.iter().any(|piece| matches!(piece, Piece::Field(_)))
}

/// A key as it was typed, as far as that tells it from others.
fn typed(key: &Arg) -> String {
    let text = |piece: &Piece| match piece {
        Piece::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Piece::Number(slot) => placeholder(*slot).to_owned(),
        Piece::Tag => "{tag}".to_owned(),
        Piece::Derived(derived) if derived.names_key() => "__key:...__".to_owned(),
        Piece::Derived(_) => "__draw:...__".to_owned(),
        Piece::Field(_) => "__field:...__".to_owned(),
        Piece::Reply { .. } => "__reply__".to_owned(),
        Piece::Value => "__data__".to_owned(),
        Piece::Lifetime(_) => "__ttl__".to_owned(),
        Piece::Cas => "__cas__".to_owned(),
        Piece::Secret(_) | Piece::Fill { .. } => "...".to_owned(),
    };
    key.pieces.iter().map(text).collect()
}

/// The argument with every number in it replaced by the number of the key.
fn with_key(arg: &Arg) -> Arg {
    let piece = |piece: &Piece| match piece {
        Piece::Number(_) => Piece::Number(Slot::Key),
        piece => piece.clone(),
    };
    Arg { pieces: arg.pieces.iter().map(piece).collect() }
}

fn with_one_key(command: &CommandSpec) -> CommandSpec {
    CommandSpec { args: command.args.iter().map(with_key).collect(), inline: command.inline }
}

#[cfg(test)]
mod tests {
    use super::super::tests::parts;
    use super::*;

    /// Parts that send these commands and are filled, over 50 keys or as many as `change` says.
    fn read(sequence: Vec<CommandSpec>, change: impl FnOnce(&mut PlanParts)) -> PlanParts {
        let mut parts = PlanParts { sequence, ..parts() };
        parts.data.keys = KeySpace::of(Some(50), KeyDist::UNIFORM);
        parts.data.fill = Some(Vec::new());
        change(&mut parts);
        parts
    }

    fn fill(lines: &[&str], with: &[&str]) -> Fill {
        let of = |lines: &[&str]| -> Vec<CommandSpec> {
            lines.iter().map(|line| CommandSpec::parse(line.split(' '))).collect()
        };
        read(of(lines), |parts| parts.data.fill = Some(of(with))).filled_by()
    }

    fn written(fill: &Fill) -> Vec<(String, u64)> {
        let key = |arg: &Arg| match &arg.pieces[..] {
            [Piece::Bytes(text), Piece::Number(Slot::Key)] => String::from_utf8_lossy(text).into(),
            other => format!("{other:?}"),
        };
        let of = |parts: &PlanParts| match parts.load.stop {
            Stop::Requests(n) => (key(&parts.sequence[0].args[1]), n),
            Stop::AfterNs(_) => unreachable!("keys are counted"),
        };
        fill.parts.iter().map(of).collect()
    }

    #[test]
    fn each_form_of_key_that_is_read_is_written_once() {
        let sets = fill(
            &["GET a:__rand_int__", "SET a:__rand_int__ v", "MGET a:__key__ b:__rand_1st__"],
            &[],
        );
        assert_eq!(written(&sets), [("a:".to_owned(), 50), ("b:".to_owned(), 50)]);
        assert_eq!(sets.parts[0].sequence[0].args[2].fixed_bytes().unwrap(), b"v");
        assert!(sets.untold.is_empty());
        sets.parts.into_iter().for_each(|parts| drop(parts.build().unwrap()));
    }

    #[test]
    fn what_is_written_is_what_is_read_or_is_refused() {
        let of = |line: &str, range: Option<u64>| {
            let sequence =
                line.split(" ; ").map(|line| CommandSpec::parse(line.split(' '))).collect();
            read(sequence, |parts| parts.data.keys.range = range).filled_by()
        };
        let first = |fill: &Fill| {
            let plan = fill.parts[0].clone().build().unwrap();
            (plan.sequence[0].clone(), plan.own_requests(), plan.keys_filled())
        };
        // A key without a number, and one whose placeholder stays as it is, are one key.
        let (set, requests, keys) = first(&of("GET fixed", Some(50)));
        assert_eq!((set.args[1].clone(), requests, keys), (Arg::literal(b"fixed"), Some(1), 1));
        let alone = of("GET k:__rand_int__", None);
        let (set, _, keys) = first(&alone);
        assert_eq!((typed(&set.args[1]), keys), ("k:__rand_int__".to_owned(), 1));
        for (line, why) in [
            ("GET k:__rand_int__:__rand_1st__", "k:__rand_int__:__rand_1st__ has several numbers"),
            ("GET __rand_int____rand_int__", "several numbers"),
        ] {
            let fill = of(line, Some(50));
            assert!(fill.parts.is_empty() && fill.unforeseen[0].contains(why), "{line}");
        }
        assert_eq!(first(&of("GET {__key__}:__key__", Some(50))).2, 50, "one number");
        // Only what is known beforehand, and says what is written, is taken from a SET of the plan.
        let own = of("GET k:__key__ ; SET j:__key__ w ; SET k:__key__ v NX PX 5 GET", Some(50));
        let words = first(&own).0.args.into_iter().filter_map(|arg| arg.fixed_bytes());
        let words: Vec<_> = words.map(|word| String::from_utf8(word).unwrap()).collect();
        assert_eq!(words, ["SET", "v", "PX", "5"]);
        let mut copy = CommandSpec::from_words(["SET", "b"]);
        copy.args.push(Arg { pieces: vec![Piece::Reply { or: Vec::new() }] });
        let sequence = vec![CommandSpec::parse(["GET", "a:__key__"]), copy];
        let plan = read(sequence, |_| ());
        assert!(!plan.filled_by().parts[0].sequence[0].names_reply());
    }

    #[test]
    fn keys_live_as_long_as_the_plan_says_of_its_fill() {
        let words = |line: &str, protocol: ProtocolKind| {
            let sequence =
                line.split(';').map(|line| CommandSpec::parse(line.split(' '))).collect();
            let parts = read(sequence, |parts| {
                parts.protocol = protocol;
                parts.data.fill_lifetime = Some("60".parse().unwrap());
            });
            let fill = parts.filled_by();
            let args = fill.parts[0].sequence[0].args.iter().filter_map(Arg::fixed_bytes);
            args.map(|word| String::from_utf8(word).unwrap()).collect::<Vec<_>>().join(" ")
        };
        let (redis, memcached) = (ProtocolKind::Resp2, ProtocolKind::MemcacheText);
        assert_eq!(words("GET k:__key__", redis), "SET VXK EX 60");
        assert_eq!(words("GET k:__key__;SET k:__key__ v EX 5", redis), "SET v EX 5");
        assert_eq!(words("get k:__key__", memcached), "set 0 60 VXK");
        assert_eq!(words("get k:__key__;set k:__key__ 0 5 v", memcached), "set 0 5 v");
    }

    #[test]
    fn what_reads_no_strings_must_be_told_how_to_be_filled() {
        let untold = fill(&["HGETALL h:__key__", "SADD s:__key__ x"], &[]);
        assert_eq!((untold.parts.len(), &untold.untold[..]), (0, &["HGETALL".to_owned()][..]));
        let told = fill(&["HGETALL h:__key__"], &["HSET h:__rand_int__ a 1", "HSET h:__key__ b 2"]);
        assert_eq!(written(&told), [("h:".to_owned(), 100)]);
    }

    #[test]
    fn replies_of_nothing_tell_of_what_is_looked_for_and_not_of_what_is_written() {
        let looks = |line: &str, protocol| CommandSpec::parse(line.split(' ')).looks_for(protocol);
        let redis = ["get k", "HMGET h a", "zpopmin z", "getdel k", "JSON.GET k", "object freq k"];
        let others = ["set k v nx", "eval x 0", "FCALL f 0", "JSON.SET k v nx", "ping", "xread $"];
        assert!(redis.into_iter().all(|line| looks(line, ProtocolKind::Resp3)));
        assert!(!others.into_iter().any(|line| looks(line, ProtocolKind::Resp3)));
        let memcache = ProtocolKind::MemcacheText;
        assert!(looks("get k", memcache) && looks("incr k 1", memcache));
        assert!(!looks("add k 0 0 v", memcache) && !looks("cas k 0 0 v 1", memcache));
    }

    #[test]
    fn what_memcached_must_have_is_set_with_flags_and_a_lifetime() {
        let fill = |lines: &[&str]| {
            let sequence =
                lines.iter().map(|line| CommandSpec::parse(line.split(' '))).collect::<Vec<_>>();
            read(sequence, |parts| parts.protocol = ProtocolKind::MemcacheText).filled_by()
        };
        let words = |fill: &Fill| -> Vec<Vec<u8>> {
            let args = &fill.parts[0].sequence[0].args;
            args.iter().filter_map(Arg::fixed_bytes).collect()
        };
        let read = fill(&["gat 60 a:__rand_int__ b:__rand_int__", "mg a:__key__ v"]);
        assert_eq!(written(&read), [("a:".to_owned(), 50), ("b:".to_owned(), 50)]);
        assert_eq!(words(&read), [&b"set"[..], b"0", b"0", b"VXK"]);
        let own = fill(&["get a:__key__", "set a:__key__ 5 60 v"]);
        assert_eq!(words(&own), [&b"set"[..], b"5", b"60", b"v"]);
        let untold = fill(&["incr n:__key__ 1", "set k:__key__ 0 0 v"]);
        assert_eq!((untold.parts.len(), &untold.untold[..]), (0, &["INCR".to_owned()][..]));
    }
}
