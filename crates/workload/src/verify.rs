//! Replies that hold stored values, so that they can be compared with the expected ones.

use crate::value_key::{self, ValueKey};
use crate::{CommandSpec, ProtocolKind};

/// Value in a string of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestedValue {
    /// The number of its key.
    pub key: ValueKey,
    /// Number that distinguishes it from other values of that key ([`value_key::of_field`]); 0 if there is
    /// only one.
    pub variant: u64,
}

/// The arguments whose values a command asks for, in the order of the reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValuePattern {
    /// The value of the key that ends this argument.
    One(usize),
    /// The value of each field of one key, from this argument on.
    Fields(usize),
    /// The value of each argument from this one on.
    From(usize),
}

/// Commands whose replies consist of stored values.
const READS: [(&str, ValuePattern); 6] = [
    ("GET", ValuePattern::One(1)),
    ("GETEX", ValuePattern::One(1)),
    ("GETDEL", ValuePattern::One(1)),
    ("HGET", ValuePattern::Fields(2)),
    ("HMGET", ValuePattern::Fields(2)),
    ("MGET", ValuePattern::From(1)),
];

/// Commands of memcached that read values, and the requested ones.
const MEMCACHE_READS: [(&str, ValuePattern); 6] = [
    ("GET", ValuePattern::From(1)),
    ("GETS", ValuePattern::From(1)),
    ("GAT", ValuePattern::From(2)),
    ("GATS", ValuePattern::From(2)),
    ("GETK", ValuePattern::One(1)),
    ("MG", ValuePattern::One(1)),
];

fn reads(protocol: ProtocolKind) -> &'static [(&'static str, ValuePattern)] {
    if protocol.is_memcache() { &MEMCACHE_READS } else { &READS }
}

/// Names of the commands whose replies can be compared, in lower case.
pub fn names(protocol: ProtocolKind) -> impl Iterator<Item = String> {
    reads(protocol).iter().map(|(name, _)| name.to_lowercase())
}

/// Keys whose values a command asks for, in the order of its reply: the number of each, and the count of
/// fresh numbers before it in the command; `None` for a key without one. Empty for a command whose reply has
/// no values. The rule is the one for values: each of several keys has the number [that names
/// it](crate::value_key::of_each); a single key has `__key__` if the command has it, otherwise the number
/// that would come before the value.
pub fn keys_asked(command: &CommandSpec, protocol: ProtocolKind) -> Vec<Option<RequestedValue>> {
    let name = command.name();
    let alone = |key: Option<ValueKey>| key.map(|key| RequestedValue { key, variant: 0 });
    match reads(protocol).iter().find(|(known, _)| *known == name) {
        Some((_, ValuePattern::From(first))) => {
            value_key::of_each(command).into_iter().skip(*first).map(alone).collect()
        }
        Some((_, ValuePattern::Fields(first))) => {
            let fields = command.args.iter().enumerate().skip(*first);
            let values = fields.map(|(at, field)| {
                let variant = value_key::of_field(field).unwrap_or(0);
                Some(RequestedValue { key: value_key::of_one(command, at)?, variant })
            });
            values.collect()
        }
        Some((_, ValuePattern::One(at))) if *at < command.args.len() => {
            vec![alone(value_key::of_one(command, *at))]
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Slot;

    fn key_numbers(line: &str, protocol: ProtocolKind) -> Vec<Option<(Slot, u64)>> {
        let asked = keys_asked(&CommandSpec::parse(line.split(' ')), protocol);
        asked.into_iter().map(|value| value.map(|value| value.key)).collect()
    }

    #[test]
    fn a_field_has_the_same_value_whichever_command_names_it() {
        let parse = |line: &str| CommandSpec::parse(line.split(' '));
        let asked = |line: &str| keys_asked(&parse(line), ProtocolKind::Resp2);
        let variant = |line: &str| asked(line)[0].map(|value| value.variant);
        let written = parse("hset h:__key__ f __data__ g:__rand_int__ __data__");
        let [f, g] = [3, 5].map(|at| value_key::of_value(&written, at));
        assert!(f != g && f.is_some() && g.is_some());
        assert_eq!((variant("hget h:__key__ f"), variant("hget h:__key__ g:__rand_int__")), (f, g));
        let both = asked("hmget h:__key__ f g:__rand_int__");
        assert_eq!(both.iter().map(|value| value.map(|v| v.variant)).collect::<Vec<_>>(), [f, g]);
        assert_eq!(value_key::of_value(&written, 2), None, "a field");
        assert_eq!(value_key::of_value(&parse("set k:__key__ __data__"), 2), None);
    }

    #[test]
    fn a_value_is_asked_for_by_the_number_that_it_was_stored_under() {
        let numbers = |line: &str| key_numbers(line, ProtocolKind::Resp2);
        let fresh = |before| Some((Slot::Fresh, before));
        assert_eq!(numbers("get k:__rand_int__"), [fresh(0)]);
        assert_eq!(numbers("GET k:__key__:__rand_1st__"), [Some((Slot::Key, 0))]);
        assert_eq!(numbers("hget h:__rand_int__ f:__rand_int__"), [fresh(1)]);
        assert_eq!(numbers("mget __rand_int__ __rand_int__"), [fresh(0), fresh(1)]);
        let key = Some((Slot::Key, 0));
        assert_eq!(numbers("mget k:__key__ k:__rand_int__"), [key, fresh(0)]);
        assert_eq!(
            numbers("mget __rand_int__ __rand_1st__ a:__rand_int__:__key__ b:__rand_int__"),
            [fresh(0), Some((Slot::Shared(1), 1)), key, fresh(2)]
        );
        assert_eq!(
            numbers("mget a __rand_int__ b"),
            [None, fresh(0), None],
            "nobody knows those of a, b"
        );
        for none in ["set k:__key__ v", "get k", "lrange k:__key__ 0 9", "mget a b"] {
            assert!(numbers(none).iter().all(Option::is_none), "{none}");
        }
    }

    #[test]
    fn memcached_has_commands_of_its_own() {
        let numbers = |line: &str| key_numbers(line, ProtocolKind::MemcacheText);
        let fresh = |before| Some((Slot::Fresh, before));
        assert_eq!(numbers("get a:__rand_int__ b:__rand_int__"), [fresh(0), fresh(1)]);
        assert_eq!(numbers("gat 60 a:__rand_int__"), [fresh(0)]);
        assert_eq!(numbers("get k:__key__ k:__rand_int__"), [Some((Slot::Key, 0)), fresh(0)]);
        assert_eq!(numbers("mg k:__key__ v t"), [Some((Slot::Key, 0))]);
        assert_eq!(numbers("mget a:__rand_int__"), [], "it has no such command");
    }
}
