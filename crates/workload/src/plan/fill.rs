//! The plans that write every key that another plan reads, once.

use std::ops::Range;

use super::{Mix, OnError, PlanParts, Share, Stop, Window};
use crate::keys::{DrawnBy, Numbered};
use crate::{Arg, CommandSpec, KeyDist, KeySpace, Pace, Piece, Slot};

/// Which arguments of a command are keys of strings that it reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keys {
    First,
    Each,
}

/// Commands that read strings.
const STRINGS: [(&str, Keys); 9] = [
    ("GET", Keys::First),
    ("GETEX", Keys::First),
    ("GETDEL", Keys::First),
    ("GETRANGE", Keys::First),
    ("SUBSTR", Keys::First),
    ("STRLEN", Keys::First),
    ("MGET", Keys::Each),
    ("EXISTS", Keys::Each),
    ("TTL", Keys::First),
];

/// Requests of a fill that a connection has in flight.
const DEPTH: u32 = 16;
/// Bytes of one of its pipelines, if a request is not larger.
const PIPELINE_BYTES: u64 = 1 << 20;

/// What writes the keys of a plan, and what of it cannot be written without being told how.
#[derive(Debug, Default)]
pub struct Fill {
    /// A plan for each form that keys have.
    pub parts: Vec<PlanParts>,
    /// Commands with keys in them that read no strings, by name.
    pub untold: Vec<String>,
}

impl PlanParts {
    /// What writes every key that the plan reads, once, as its `fill` says. Each gets the value that it
    /// must have. Nothing if it says nothing.
    #[must_use]
    pub fn filled_by(&self) -> Fill {
        let mut fill = Fill::default();
        let Some(with) = &self.fill else { return fill };
        for (span, keys) in self.key_spaces() {
            let numbered = Numbered { by: DrawnBy::Request, ..keys.numbered };
            let keys = KeySpace { range: keys.range, draw: KeyDist::SEQUENTIAL, numbered };
            if !with.is_empty() {
                fill.add(self.filled(with.iter().map(with_one_key).collect(), keys));
                continue;
            }
            for command in &self.sequence[span] {
                match read_keys(command) {
                    Some(args) => {
                        for arg in &command.args[args] {
                            let set = self.set(with_key(arg));
                            fill.add(self.filled(vec![set], keys.clone()));
                        }
                    }
                    None if has_number(command) => fill.untold.push(command.name()),
                    None => {}
                }
            }
        }
        fill.untold.retain(|name| !WRITES.contains(&name.as_str()));
        fill.untold.dedup();
        fill
    }

    /// A `SET` of that key, as the plan itself would write it.
    fn set(&self, key: Arg) -> CommandSpec {
        let own = self.sequence.iter().find(|command| command.name() == "SET");
        let value = match own.and_then(|set| set.args.get(2)) {
            Some(value) => value.clone(),
            None if self.values.is_some() => Arg { pieces: vec![Piece::Value] },
            None => {
                let len = u32::try_from(self.payload_bytes).unwrap_or(u32::MAX).max(1);
                Arg { pieces: vec![Piece::Fill { len, skip: 0 }] }
            }
        };
        let options = own.map_or(&[][..], |set| set.args.get(3..).unwrap_or(&[]));
        let mut args = vec![Arg::literal(b"SET"), key, value];
        args.extend(options.iter().cloned());
        CommandSpec { args, inline: false }
    }

    /// A plan that sends these commands once for each key, as fast as it can.
    fn filled(&self, sequence: Vec<CommandSpec>, keys: KeySpace) -> Self {
        let requests = keys.range.unwrap_or(1).max(1).saturating_mul(sequence.len() as u64);
        let mut parts = Self {
            name: "fill".to_owned(),
            sequence,
            mix: None::<Mix>,
            share: Share::OneBudget,
            keys,
            pace: Pace::Closed,
            warmup_ns: 0,
            stop: Stop::Requests(requests),
            setup: Vec::new(),
            fill: None,
            verify: false,
            on_error: OnError::Stop,
            first_byte: false,
            ..self.clone()
        };
        let bytes = (parts.batch_bytes() / u64::from(parts.fleet.pipeline_depth)).max(1);
        parts.fleet.pipeline_depth = DEPTH.min((PIPELINE_BYTES / bytes).max(1) as u32);
        (parts.fleet.window, parts.fleet.keep_alive) = (Window::Rolling, true);
        parts.fleet.joining = None;
        parts
    }
}

impl Fill {
    /// Keys of the same form are written once.
    fn add(&mut self, parts: PlanParts) {
        let same = |known: &PlanParts| {
            known.sequence == parts.sequence && known.keys.range == parts.keys.range
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

/// Commands that read other things.
const OTHERS: [&str; 24] = [
    "HGET",
    "HMGET",
    "HGETALL",
    "HEXISTS",
    "HLEN",
    "HSTRLEN",
    "HKEYS",
    "HVALS",
    "SISMEMBER",
    "SMEMBERS",
    "SCARD",
    "ZSCORE",
    "ZRANGE",
    "ZRANK",
    "ZCARD",
    "ZCOUNT",
    "LRANGE",
    "LLEN",
    "LINDEX",
    "GETBIT",
    "BITCOUNT",
    "PTTL",
    "TYPE",
    "XLEN",
];

impl CommandSpec {
    /// Whether it reads a key and changes nothing.
    #[must_use]
    pub fn reads(&self) -> bool {
        let name = self.name();
        let changes = name == "GETDEL" || name == "GETEX";
        let known = STRINGS.iter().any(|(known, _)| *known == name) || OTHERS.contains(&&*name);
        known && !changes
    }
}

/// The arguments that are keys of strings which a command reads.
fn read_keys(command: &CommandSpec) -> Option<Range<usize>> {
    let name = command.name();
    let (_, keys) = STRINGS.iter().find(|(known, _)| *known == name)?;
    match keys {
        Keys::First => (command.args.len() > 1).then_some(1..2),
        Keys::Each => Some(1..command.args.len()),
    }
}

fn has_number(command: &CommandSpec) -> bool {
    command.args.iter().flat_map(|arg| &arg.pieces).any(|p| matches!(p, Piece::Number(_)))
}

/// The same with the number of the key in the place of any other.
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

    fn fill(lines: &[&str], with: &[&str]) -> Fill {
        let of = |lines: &[&str]| -> Vec<CommandSpec> {
            lines.iter().map(|line| CommandSpec::parse(line.split(' '))).collect()
        };
        let keys = KeySpace::of(Some(50), KeyDist::UNIFORM);
        PlanParts { sequence: of(lines), keys, fill: Some(of(with)), ..parts() }.filled_by()
    }

    fn written(fill: &Fill) -> Vec<(String, u64)> {
        let key = |arg: &Arg| match &arg.pieces[..] {
            [Piece::Bytes(text), Piece::Number(Slot::Key)] => String::from_utf8_lossy(text).into(),
            other => format!("{other:?}"),
        };
        let of = |parts: &PlanParts| match parts.stop {
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
    fn what_reads_no_strings_must_be_told_how_to_be_filled() {
        let untold = fill(&["HGETALL h:__key__", "SADD s:__key__ x"], &[]);
        assert_eq!((untold.parts.len(), &untold.untold[..]), (0, &["HGETALL".to_owned()][..]));
        let told = fill(&["HGETALL h:__key__"], &["HSET h:__rand_int__ a 1", "HSET h:__key__ b 2"]);
        assert_eq!(written(&told), [("h:".to_owned(), 100)]);
    }
}
