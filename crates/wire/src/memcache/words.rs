//! The grammar of memcached's commands as people type them: their words, and commands that cannot be sent.
//!
//! One table for all three protocols. The byte count of a value is not typed, as it follows from the value,
//! which is always the last word.

use std::ops::Range;

use workload::{Arg, CommandSpec, Piece};

use super::KEY_MAX;
use crate::argument::Length;

/// The parts of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// A line; its keys, if any, start at this word, and are at most this many.
    Line { keys_from: usize, keys_max: usize },
    /// A line and a block of data, whose length goes before this word.
    Storage { words: usize, length_at: usize },
}

const NONE: Shape = Shape::Line { keys_from: usize::MAX, keys_max: 0 };
const ONE: Shape = Shape::Line { keys_from: 1, keys_max: 1 };
const STORE: Shape = Shape::Storage { words: 5, length_at: 4 };

/// The grammar of a command, found by its first word.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grammar {
    pub(super) name: &'static str,
    pub(super) shape: Shape,
    /// Fewest words.
    pub(super) least: usize,
    /// Syntax, for errors.
    pub(super) usage: &'static str,
}

const fn entry(name: &'static str, shape: Shape, least: usize, usage: &'static str) -> Grammar {
    Grammar { name, shape, least, usage }
}

/// All commands whose words are checked. Others are sent as typed.
pub(super) const GRAMMAR: &[Grammar] = &[
    entry("get", Shape::Line { keys_from: 1, keys_max: usize::MAX }, 2, "get KEY..."),
    entry("gets", Shape::Line { keys_from: 1, keys_max: usize::MAX }, 2, "gets KEY..."),
    entry("gat", Shape::Line { keys_from: 2, keys_max: usize::MAX }, 3, "gat TTL KEY..."),
    entry("gats", Shape::Line { keys_from: 2, keys_max: usize::MAX }, 3, "gats TTL KEY..."),
    entry("set", STORE, 5, "set KEY FLAGS TTL DATA"),
    entry("add", STORE, 5, "add KEY FLAGS TTL DATA"),
    entry("replace", STORE, 5, "replace KEY FLAGS TTL DATA"),
    entry("append", STORE, 5, "append KEY FLAGS TTL DATA"),
    entry("prepend", STORE, 5, "prepend KEY FLAGS TTL DATA"),
    entry("cas", Shape::Storage { words: 6, length_at: 4 }, 6, "cas KEY FLAGS TTL CAS DATA"),
    entry("incr", ONE, 3, "incr KEY N"),
    entry("decr", ONE, 3, "decr KEY N"),
    entry("touch", ONE, 3, "touch KEY TTL"),
    entry("delete", ONE, 2, "delete KEY"),
    entry("mg", ONE, 2, "mg KEY FLAGS..."),
    entry("ms", Shape::Storage { words: usize::MAX, length_at: 2 }, 3, "ms KEY FLAGS... DATA"),
    entry("md", ONE, 2, "md KEY FLAGS..."),
    entry("ma", ONE, 2, "ma KEY FLAGS..."),
    entry("me", ONE, 2, "me KEY"),
    entry("mn", NONE, 1, "mn"),
    entry("getk", ONE, 2, "getk KEY"),
    entry("noop", NONE, 1, "noop"),
    entry("version", NONE, 1, "version"),
    entry("flush_all", NONE, 1, "flush_all [DELAY]"),
    entry("stats", NONE, 1, "stats [WHICH]"),
];

/// Commands after which a connection carries no countable replies.
const UNANSWERED: &[&str] = &["quit", "watch", "shutdown"];

/// Literal bytes of a word; `None` with a placeholder.
pub(super) fn literal(arg: &Arg) -> Option<Vec<u8>> {
    arg.fixed_bytes()
}

/// The first word.
pub(super) fn name(command: &CommandSpec) -> Vec<u8> {
    command.args.first().and_then(literal).unwrap_or_default()
}

pub(super) fn grammar(command: &CommandSpec) -> Option<&'static Grammar> {
    let name = name(command);
    GRAMMAR.iter().find(|known| known.name.as_bytes() == name)
}

/// Returns the position of the length if the command has a block of data and is complete.
pub(super) fn storage(command: &CommandSpec) -> Option<usize> {
    let grammar = grammar(command)?;
    match grammar.shape {
        Shape::Storage { length_at, .. } if command.args.len() >= grammar.least => Some(length_at),
        _ => None,
    }
}

/// Returns the range of words that are keys.
pub(super) fn key_places(command: &CommandSpec) -> Range<usize> {
    let (from, max) = match grammar(command).map(|grammar| grammar.shape) {
        Some(Shape::Line { keys_from, keys_max }) => (keys_from, keys_max),
        Some(Shape::Storage { .. }) => (1, 1),
        None => return 0..0,
    };
    let words = command.args.len();
    let from = from.min(words);
    from..words.min(from.saturating_add(max))
}

/// The keys of a command.
pub(super) fn keys(command: &CommandSpec) -> &[Arg] {
    &command.args[key_places(command)]
}

/// Returns whether a command reads and its reply shows how many of its keys exist.
pub(super) fn reads(name: &[u8]) -> bool {
    matches!(name, b"get" | b"gets" | b"gat" | b"gats" | b"mg" | b"getk")
}

/// Checks the rules that all protocols of memcached share.
///
/// # Errors
/// Returns the fault and the remedy.
pub(super) fn check(command: &CommandSpec, digits: Option<usize>) -> Result<(), String> {
    let name = name(command);
    let shown = String::from_utf8_lossy(&name).into_owned();
    if name.is_empty() {
        return Err("a memcached command must begin with its name".to_owned());
    }
    if UNANSWERED.iter().any(|word| word.as_bytes() == name) {
        return Err(format!("{shown}: its reply cannot be measured"));
    }
    let Some(grammar) = grammar(command) else {
        let lower = shown.to_ascii_lowercase();
        let known = GRAMMAR.iter().any(|known| known.name == lower);
        return if known {
            Err(format!("{shown}: memcached commands are lower case: {lower}"))
        } else {
            Ok(())
        };
    };
    let usage = grammar.usage;
    if command.args.len() < grammar.least {
        return Err(format!("{shown}: too few arguments; expected {usage}"));
    }
    if let Shape::Storage { words, .. } = grammar.shape
        && command.args.len() > words
    {
        return Err(format!(
            "{shown}: too many arguments; expected {usage}, without the byte count"
        ));
    }
    if command.args.iter().any(|arg| literal(arg).is_some_and(|word| word == b"noreply")) {
        return Err(format!(
            "{shown}: noreply cannot be measured: the server does not report refused commands \
             either"
        ));
    }
    check_cas(command, &shown)?;
    keys(command).iter().try_for_each(|key| check_key(&shown, key, digits))
}

/// Checks that an item's token is a word of `cas`, or a flag of a meta command.
fn check_cas(command: &CommandSpec, name: &str) -> Result<(), String> {
    for (at, arg) in command.args.iter().enumerate() {
        let fits = match (name, &arg.pieces[..]) {
            ("cas", [Piece::Cas]) => at == 4,
            ("ms" | "md" | "ma", [Piece::Bytes(flag), Piece::Cas]) => at > 1 && flag == b"C",
            (_, pieces) => !pieces.contains(&Piece::Cas),
        };
        if !fits {
            return Err(format!(
                "{name}: __cas__ is allowed only in cas (cas KEY FLAGS TTL __cas__ DATA) and as \
                 the flag C__cas__ of ms, md and ma"
            ));
        }
    }
    Ok(())
}

fn check_key(name: &str, key: &Arg, digits: Option<usize>) -> Result<(), String> {
    if key.pieces.contains(&Piece::Value) {
        return Err(format!("{name}: a key cannot be a value (__data__) whose size varies"));
    }
    let length = Length::new(key, digits, &[]);
    if length.fixed > KEY_MAX {
        let len = length.fixed;
        return Err(format!("{name}: a key of {len} bytes; memcached allows at most {KEY_MAX}"));
    }
    if length.fixed == 0 && length.is_fixed() {
        return Err(format!("{name}: the key is empty"));
    }
    let bad = key.pieces.iter().any(|piece| match piece {
        Piece::Bytes(bytes) => bytes.iter().any(|byte| !is_of_word(*byte)),
        Piece::Secret(bytes) => bytes.reveal().iter().any(|byte| !is_of_word(*byte)),
        _ => false,
    });
    if bad {
        return Err(format!("{name}: the key contains spaces or control characters"));
    }
    Ok(())
}

/// Returns whether a byte may be part of a word of a line.
pub(super) fn is_of_word(byte: u8) -> bool {
    byte > b' ' && byte != 0x7f
}
