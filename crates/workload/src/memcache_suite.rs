//! The tests of memcached that run when no command is given, as data.
//!
//! Owns their names, order, titles, commands, and the required data: unlike in the suite of Redis, keys that
//! are read exist, and keys that are created do not. The front end decides which run.

use crate::{Arg, CommandSpec, KeyDist, KeySpace, Lifetime, Piece, ProtocolKind};

/// Parameters of the suite's commands.
#[derive(Debug, Clone, Copy)]
pub struct MemcacheShape {
    /// Bytes of every value.
    pub value_len: u32,
    /// Requests of each test, if limited by number.
    pub requests: Option<u64>,
    /// Seed that distinguishes the keys created by this run.
    pub seed: u64,
    /// Lifetime of stored items; `None` for ever.
    pub lifetime: Option<Lifetime>,
}

impl MemcacheShape {
    /// The lifetime as a word, or `other` without one.
    fn lifetime_or(&self, other: &str) -> Arg {
        match self.lifetime {
            Some(lifetime) => Arg::of_lifetime(lifetime),
            None => Arg::literal(other.as_bytes()),
        }
    }
}

/// Keys that tests read and write without `-r`.
pub const KEYS_DEFAULT: u64 = 10_000;
/// Maximum number of keys to delete, each of which must be stored before.
const DELETED_MAX: u64 = 1_000_000;
/// Number of keys that can be created, each once; no run has more requests.
const CREATED: u64 = 1_000_000_000_000;

/// Keys of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keys {
    /// Keys of `-r`, drawn as requested.
    Drawn,
    /// Each key once, in order, none of which exists.
    Fresh,
    /// Each key once, in order, all of which exist.
    Once,
}

/// Protocols in which a test can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TestProtocols {
    Everywhere,
    Text,
    Meta,
}

/// Test of the suite.
#[derive(Debug, Clone, Copy)]
pub struct MemcacheTest {
    /// Name in `-t`.
    pub name: &'static str,
    /// The title that reports print.
    pub title: &'static str,
    keys: Keys,
    spoken: TestProtocols,
    command: fn(&MemcacheShape) -> CommandSpec,
    /// Command sent once `command` is answered, if any.
    then: Option<fn(&MemcacheShape) -> CommandSpec>,
    /// Command that stores the required value of a key, if any.
    fill: Option<fn(&MemcacheShape) -> CommandSpec>,
}

impl MemcacheTest {
    /// Returns whether it can be written in this protocol.
    pub fn is_spoken(&self, protocol: ProtocolKind) -> bool {
        match self.spoken {
            TestProtocols::Everywhere => true,
            TestProtocols::Text => protocol != ProtocolKind::MemcacheBinary,
            TestProtocols::Meta => protocol == ProtocolKind::MemcacheMeta,
        }
    }

    /// The commands that the test repeats, each sent once the previous one is answered.
    pub fn commands(&self, shape: &MemcacheShape) -> Vec<CommandSpec> {
        let then = self.then.map(|then| then(shape));
        std::iter::once((self.command)(shape)).chain(then).collect()
    }

    /// The command to send once for every key before the test, if any.
    pub fn fill(&self, shape: &MemcacheShape) -> Option<CommandSpec> {
        self.fill.map(|fill| fill(shape))
    }

    /// Keys of the test, where `drawn` are the command line's.
    pub fn keys(&self, drawn: &KeySpace, shape: &MemcacheShape) -> KeySpace {
        let range = match self.keys {
            Keys::Drawn => {
                let range = drawn.range.unwrap_or(KEYS_DEFAULT);
                return KeySpace { range: Some(range), ..drawn.clone() };
            }
            Keys::Fresh => CREATED,
            Keys::Once => shape.requests.unwrap_or(DELETED_MAX).clamp(1, DELETED_MAX),
        };
        KeySpace::new(Some(range), KeyDist::SEQUENTIAL)
    }
}

const fn test(
    name: &'static str,
    title: &'static str,
    command: fn(&MemcacheShape) -> CommandSpec,
    fill: Option<fn(&MemcacheShape) -> CommandSpec>,
) -> MemcacheTest {
    let (keys, spoken) = (Keys::Drawn, TestProtocols::Everywhere);
    MemcacheTest { name, title, keys, spoken, command, then: None, fill }
}

const fn text(test: MemcacheTest) -> MemcacheTest {
    MemcacheTest { spoken: TestProtocols::Text, ..test }
}

const fn meta(test: MemcacheTest) -> MemcacheTest {
    MemcacheTest { spoken: TestProtocols::Meta, ..test }
}

/// Renewed lifetime: longer than a run, and below the 30 days from which it would be a date.
const TTL: &str = "86400";

/// All tests in order.
pub const MEMCACHE_SUITE: &[MemcacheTest] = &[
    test("set", "set", |s| stores("set", "key:__rand_int__", s), None),
    test("get", "get", |_| CommandSpec::parse(["get", "key:__rand_int__"]), Some(filled)),
    text(test("gets", "gets", |_| CommandSpec::parse(["gets", "key:__rand_int__"]), Some(filled))),
    text(test("mget10", "get (10 keys)", |_| get_many(10), Some(filled))),
    text(test("mget100", "get (100 keys)", |_| get_many(100), Some(filled))),
    MemcacheTest { keys: Keys::Fresh, ..test("add", "add (new keys)", add, None) },
    test("replace", "replace", |s| stores("replace", "key:__rand_int__", s), Some(filled)),
    test("append", "append", |s| stores("append", "grow:__rand_int__", s), Some(grown)),
    test(
        "incr",
        "incr",
        |_| CommandSpec::parse(["incr", "count:__rand_int__", "1"]),
        Some(counted),
    ),
    MemcacheTest {
        then: Some(swapped),
        ..test("cas", "cas (gets, then cas)", |_| CommandSpec::parse(["gets", "key:__key__"]), {
            Some(filled)
        })
    },
    test(
        "touch",
        "touch",
        |s| {
            let mut command = CommandSpec::parse(["touch", "key:__rand_int__"]);
            command.args.push(s.lifetime_or(TTL));
            command
        },
        Some(filled),
    ),
    test(
        "gat",
        "gat",
        |s| {
            let mut command = CommandSpec::parse(["gat", "key:__rand_int__"]);
            command.args.insert(1, s.lifetime_or(TTL));
            command
        },
        Some(filled),
    ),
    MemcacheTest {
        keys: Keys::Once,
        ..test(
            "delete",
            "delete (each key once)",
            |_| CommandSpec::parse(["delete", "gone:__rand_int__"]),
            Some(|s| stores("set", "gone:__rand_int__", s)),
        )
    },
    meta(test("mg", "mg", |_| CommandSpec::parse(["mg", "key:__rand_int__", "v"]), Some(filled))),
    meta(test("ms", "ms", meta_set, None)),
    meta(MemcacheTest {
        keys: Keys::Once,
        ..test(
            "md",
            "md (each key once)",
            |_| CommandSpec::parse(["md", "gone:__rand_int__"]),
            Some(|s| stores("set", "gone:__rand_int__", s)),
        )
    }),
    meta(test("ma", "ma", |_| CommandSpec::parse(["ma", "count:__rand_int__"]), Some(counted))),
];

fn with_value(words: &[&str], shape: &MemcacheShape) -> CommandSpec {
    let mut command = CommandSpec::parse(words);
    let value = Piece::Fill { len: shape.value_len, skip: 0 };
    command.args.push(Arg { pieces: vec![value] });
    command
}

fn stores(command: &str, key: &str, shape: &MemcacheShape) -> CommandSpec {
    let mut command = with_value(&[command, key, "0"], shape);
    command.args.insert(LIFETIME_AT, shape.lifetime_or("0"));
    command
}

/// Index of the lifetime in the words of `set` and similar commands.
const LIFETIME_AT: usize = 3;

fn meta_set(shape: &MemcacheShape) -> CommandSpec {
    let mut command = with_value(&["ms", "key:__rand_int__"], shape);
    if shape.lifetime.is_some() {
        let mut flag = Arg::literal(b"T");
        flag.pieces.extend(shape.lifetime_or("0").pieces);
        command.args.insert(2, flag);
    }
    command
}

fn filled(shape: &MemcacheShape) -> CommandSpec {
    stores("set", "key:__rand_int__", shape)
}

/// Replaces the read value, unless another client was faster.
fn swapped(shape: &MemcacheShape) -> CommandSpec {
    let mut command = stores("cas", "key:__key__", shape);
    command.args.insert(4, Arg { pieces: vec![Piece::Cas] });
    command
}

/// Begins with small values to append to, whatever an earlier run has left.
fn grown(shape: &MemcacheShape) -> CommandSpec {
    stores("set", "grow:__rand_int__", shape)
}

/// Counts in numbers whose length never changes, so that they are updated in place.
fn counted(shape: &MemcacheShape) -> CommandSpec {
    let words = ["set", "count:__rand_int__", "0", "100000000000000"];
    let mut command = CommandSpec::parse(words);
    command.args.insert(LIFETIME_AT, shape.lifetime_or("0"));
    command
}

fn add(shape: &MemcacheShape) -> CommandSpec {
    stores("add", &format!("new:{:x}:__rand_int__", shape.seed), shape)
}

fn get_many(keys: usize) -> CommandSpec {
    CommandSpec::parse(std::iter::once("get").chain(std::iter::repeat_n("key:__rand_int__", keys)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: MemcacheShape =
        MemcacheShape { value_len: 3, requests: Some(500), seed: 7, lifetime: None };

    #[test]
    fn a_lifetime_is_that_of_all_that_is_stored_or_touched() {
        let lifetime: Lifetime = "60..70".parse().unwrap();
        let shape = MemcacheShape { lifetime: Some(lifetime), ..SHAPE };
        let lives = |command: &CommandSpec| {
            let mut pieces = command.args.iter().flat_map(|arg| &arg.pieces);
            pieces.any(|piece| *piece == Piece::Lifetime(lifetime))
        };
        let without = ["get", "gets", "mget10", "mget100", "incr", "delete", "mg", "md", "ma"];
        for test in MEMCACHE_SUITE {
            let last = test.commands(&shape).pop().unwrap();
            assert_eq!(lives(&last), !without.contains(&test.name), "{}", test.name);
            assert!(test.fill(&shape).is_none_or(|fill| lives(&fill)), "{}", test.name);
        }
    }

    #[test]
    fn names_are_those_of_the_commands_and_differ() {
        for test in MEMCACHE_SUITE {
            let command = test.commands(&SHAPE).pop().unwrap().name().to_lowercase();
            let named = if test.name.starts_with("mget") { "get" } else { test.name };
            assert_eq!(command, named);
        }
        let names: std::collections::HashSet<_> = MEMCACHE_SUITE.iter().map(|t| t.name).collect();
        assert_eq!(names.len(), MEMCACHE_SUITE.len());
    }

    #[test]
    fn each_protocol_has_its_tests() {
        let has = |protocol| {
            let spoken = MEMCACHE_SUITE.iter().filter(|test| test.is_spoken(protocol));
            spoken.map(|test| test.name).collect::<Vec<_>>()
        };
        assert!(!has(ProtocolKind::MemcacheText).contains(&"mg"));
        assert!(has(ProtocolKind::MemcacheMeta).contains(&"mg"));
        assert!(!has(ProtocolKind::MemcacheBinary).contains(&"mget10"));
    }

    #[test]
    fn keys_that_are_created_or_deleted_are_taken_once() {
        let drawn = KeySpace::default();
        let range = |name: &str| {
            let test = MEMCACHE_SUITE.iter().find(|test| test.name == name).unwrap();
            let keys = test.keys(&drawn, &SHAPE);
            (keys.range.unwrap(), keys.draw == KeyDist::SEQUENTIAL)
        };
        assert_eq!(range("get"), (KEYS_DEFAULT, false));
        assert_eq!(range("add"), (CREATED, true));
        assert_eq!(range("delete"), (500, true));
    }
}
