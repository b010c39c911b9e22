//! Verbs of commands, their aliases, and the parameters that each accepts.

use serde::{Deserialize, Serialize};

/// Protocol of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Protocol {
    Resp,
    #[default]
    Memcache,
    Ping,
}

/// A verb of the Redis and memcached clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(try_from = "String", into = "&'static str")]
pub(super) enum Verb {
    #[default]
    Ping,
    Get,
    GetBatch,
    Set,
    Add,
    Replace,
    Delete,
    HashSet,
    HashGet,
    HashGetAll,
    HashDelete,
    HashExists,
    HashIncrement,
    ListPushFront,
    ListPushBack,
    ListFetch,
    ListLength,
    ListPopFront,
    ListPopBack,
    ListRemove,
    SetAdd,
    SetMembers,
    SetRemove,
    SortedSetAdd,
    SortedSetRange,
    SortedSetIncrement,
    SortedSetRank,
    SortedSetRemove,
    SortedSetScore,
}

/// Kind of a key's content, which a verb works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Text,
    Hash,
    List,
    Set,
    SortedSet,
}

/// Feature of a verb. Without one of the first three, it names no field, element or member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Feature {
    /// Names one field, element or member.
    One,
    /// Names one or several.
    Several,
    /// Adds one or several to a list, which may then be cut off.
    Pushes,
    /// Asks for something that is there (a hit) or not (a miss).
    LooksUp,
}

use Feature::*;
use Verb::*;

const TEXT: Option<Kind> = Some(Kind::Text);
const HASH: Option<Kind> = Some(Kind::Hash);
const LIST: Option<Kind> = Some(Kind::List);
const SET: Option<Kind> = Some(Kind::Set);
const SORTED_SET: Option<Kind> = Some(Kind::SortedSet);

/// A verb, the kind of its key's content (none if it takes any, or has no key), what it does, and its names, of which
/// the first is its own.
type VerbRow = (Verb, Option<Kind>, &'static [Feature], &'static [&'static str]);

/// Every verb, in their order.
const VERBS: [VerbRow; 29] = [
    (Ping, None, &[], &["ping"]),
    (Get, TEXT, &[LooksUp], &["get"]),
    (GetBatch, TEXT, &[], &["get_batch"]),
    (Set, TEXT, &[], &["set"]),
    (Add, TEXT, &[], &["add"]),
    (Replace, TEXT, &[], &["replace"]),
    (Delete, None, &[], &["delete", "del"]),
    (HashSet, HASH, &[Several], &["hash_set", "hset", "hmset", "dictionary_set"]),
    (HashGet, HASH, &[Several, LooksUp], &["hash_get", "hget", "hmget", "dictionary_get"]),
    (HashGetAll, HASH, &[LooksUp], &["hash_get_all", "hgetall", "dictionary_fetch"]),
    (HashDelete, HASH, &[Several], &["hash_delete", "hdel"]),
    (HashExists, HASH, &[One, LooksUp], &["hash_exists", "hexists"]),
    (HashIncrement, HASH, &[One], &["hash_increment", "hincrby"]),
    (ListPushFront, LIST, &[Pushes], &["list_push_front", "lpush"]),
    (ListPushBack, LIST, &[Pushes], &["list_push_back", "rpush"]),
    (ListFetch, LIST, &[], &["list_fetch"]),
    (ListLength, LIST, &[], &["list_length", "llen"]),
    (ListPopFront, LIST, &[], &["list_pop_front", "lpop"]),
    (ListPopBack, LIST, &[], &["list_pop_back", "rpop"]),
    (ListRemove, LIST, &[], &["list_remove", "lrem"]),
    (SetAdd, SET, &[Several], &["set_add", "sadd"]),
    (SetMembers, SET, &[LooksUp], &["set_members", "smembers"]),
    (SetRemove, SET, &[Several], &["set_remove", "srem"]),
    (SortedSetAdd, SORTED_SET, &[Several], &["sorted_set_add", "zadd"]),
    (SortedSetRange, SORTED_SET, &[LooksUp], &["sorted_set_range", "zrange"]),
    (SortedSetIncrement, SORTED_SET, &[One], &["sorted_set_increment", "zincrby"]),
    (SortedSetRank, SORTED_SET, &[One, LooksUp], &["sorted_set_rank", "zrank"]),
    (SortedSetRemove, SORTED_SET, &[Several], &["sorted_set_remove", "zrem"]),
    (SortedSetScore, SORTED_SET, &[Several, LooksUp], &["sorted_set_score", "zscore", "zmscore"]),
];

impl TryFrom<String> for Verb {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        Self::named(&name).ok_or_else(|| format!("{name:?} is not a verb of a keyspace"))
    }
}

impl From<Verb> for &'static str {
    fn from(verb: Verb) -> Self {
        verb.name()
    }
}

impl Verb {
    /// The verb of that name.
    pub(super) fn named(name: &str) -> Option<Self> {
        let found = VERBS.iter().find(|(.., names)| names.contains(&name));
        found.map(|(verb, ..)| *verb)
    }

    fn row(self) -> &'static VerbRow {
        &VERBS[self as usize]
    }

    fn has(self, any: &[Feature]) -> bool {
        self.row().2.iter().any(|own| any.contains(own))
    }

    /// Name of the verb.
    pub(super) fn name(self) -> &'static str {
        self.row().3[0]
    }

    /// Kind of its key's content; `None` if it takes any, or has no key.
    pub(super) fn kind(self) -> Option<Kind> {
        self.row().1
    }

    /// Returns whether it may work on several fields, elements or members, or keys.
    pub(super) fn takes_several(self) -> bool {
        self.has(&[Several, Pushes]) || self == GetBatch
    }

    /// Returns whether it adds to a list, which may then be cut off.
    pub(super) fn pushes(self) -> bool {
        self.has(&[Pushes])
    }

    /// Returns whether it names a field, an element or a member.
    pub(super) fn has_inner_key(self) -> bool {
        self.has(&[One, Several, Pushes])
    }

    /// Returns whether what it asks for is a hit or a miss.
    pub(super) fn looks_up(self) -> bool {
        self.has(&[LooksUp])
    }

    /// Returns whether it stores a value.
    pub(super) fn has_value(self) -> bool {
        matches!(self, Set | Add | Replace | HashSet)
    }

    /// Returns whether it stores a value for which there is no default.
    pub(super) fn needs_value(self) -> bool {
        matches!(self, Self::Set | HashSet)
    }

    /// Returns whether a protocol has it.
    pub(super) fn is_of(self, protocol: Protocol) -> bool {
        match protocol {
            Protocol::Resp => true,
            Protocol::Memcache => matches!(self, Get | Self::Set | Add | Replace | Delete),
            Protocol::Ping => self == Ping,
        }
    }

    /// Reason why it is not carried out over RESP, if it is not.
    pub(super) fn refused(self) -> Option<&'static str> {
        matches!(self, GetBatch | ListRemove).then_some(
            "rpc-perf sends nothing for it and counts a reply of 0 ns; remove it, or set weight = 0",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_of_one_verb() {
        let names: Vec<&str> = VERBS.iter().flat_map(|(.., names)| *names).copied().collect();
        for (at, name) in names.iter().enumerate() {
            assert!(!names[..at].contains(name), "{name}");
            assert!(Verb::named(name).is_some());
        }
        for (name, own) in [
            ("del", "delete"),
            ("hmget", "hash_get"),
            ("zmscore", "sorted_set_score"),
            ("dictionary_set", "hash_set"),
        ] {
            assert_eq!(Verb::named(name).unwrap().name(), own);
        }
        assert_eq!(Verb::named("flushall"), None);
        assert!(VERBS.iter().enumerate().all(|(at, (verb, ..))| *verb as usize == at));
    }
}
