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

use Verb::*;

/// Every verb by its names, of which the first is its own.
const NAMES: [(Verb, &[&str]); 29] = [
    (Ping, &["ping"]),
    (Get, &["get"]),
    (GetBatch, &["get_batch"]),
    (Set, &["set"]),
    (Add, &["add"]),
    (Replace, &["replace"]),
    (Delete, &["delete", "del"]),
    (HashSet, &["hash_set", "hset", "hmset", "dictionary_set"]),
    (HashGet, &["hash_get", "hget", "hmget", "dictionary_get"]),
    (HashGetAll, &["hash_get_all", "hgetall", "dictionary_fetch"]),
    (HashDelete, &["hash_delete", "hdel"]),
    (HashExists, &["hash_exists", "hexists"]),
    (HashIncrement, &["hash_increment", "hincrby"]),
    (ListPushFront, &["list_push_front", "lpush"]),
    (ListPushBack, &["list_push_back", "rpush"]),
    (ListFetch, &["list_fetch"]),
    (ListLength, &["list_length", "llen"]),
    (ListPopFront, &["list_pop_front", "lpop"]),
    (ListPopBack, &["list_pop_back", "rpop"]),
    (ListRemove, &["list_remove", "lrem"]),
    (SetAdd, &["set_add", "sadd"]),
    (SetMembers, &["set_members", "smembers"]),
    (SetRemove, &["set_remove", "srem"]),
    (SortedSetAdd, &["sorted_set_add", "zadd"]),
    (SortedSetRange, &["sorted_set_range", "zrange"]),
    (SortedSetIncrement, &["sorted_set_increment", "zincrby"]),
    (SortedSetRank, &["sorted_set_rank", "zrank"]),
    (SortedSetRemove, &["sorted_set_remove", "zrem"]),
    (SortedSetScore, &["sorted_set_score", "zscore", "zmscore"]),
];

/// Kind of a key's content, which a verb works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Text,
    Hash,
    List,
    Set,
    SortedSet,
}

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
        let found = NAMES.iter().find(|(_, names)| names.contains(&name));
        found.map(|(verb, _)| *verb)
    }

    /// Name of the verb.
    pub(super) fn name(self) -> &'static str {
        let found = NAMES.iter().find(|(verb, _)| *verb == self);
        found.map_or("", |(_, names)| names[0])
    }

    /// Returns whether it may work on several fields, elements or members.
    pub(super) fn takes_several(self) -> bool {
        matches!(
            self,
            HashDelete
                | HashGet
                | HashSet
                | ListPushFront
                | ListPushBack
                | SetAdd
                | SetRemove
                | SortedSetAdd
                | SortedSetScore
                | SortedSetRemove
                | GetBatch
        )
    }

    /// Returns whether it adds to a list, which may then be cut off.
    pub(super) fn pushes(self) -> bool {
        matches!(self, ListPushFront | ListPushBack)
    }

    /// Returns whether it names a field, an element or a member.
    pub(super) fn has_inner_key(self) -> bool {
        self.pushes()
            || matches!(
                self,
                HashSet | HashGet | HashDelete | HashExists | HashIncrement | SetAdd | SetRemove
            )
            || matches!(
                self,
                SortedSetAdd
                    | SortedSetIncrement
                    | SortedSetRank
                    | SortedSetRemove
                    | SortedSetScore
            )
    }

    /// Returns whether it stores a value.
    pub(super) fn has_value(self) -> bool {
        matches!(self, Set | Add | Replace | HashSet)
    }

    /// Returns whether it stores a value for which there is no default.
    pub(super) fn needs_value(self) -> bool {
        matches!(self, Self::Set | HashSet)
    }

    /// Kind of its key's content; `None` if it takes any, or has no key.
    pub(super) fn kind(self) -> Option<Kind> {
        Some(match self {
            Ping | Delete => return None,
            Get | GetBatch | Self::Set | Add | Replace => Kind::Text,
            HashSet | HashGet | HashGetAll | HashDelete | HashExists | HashIncrement => Kind::Hash,
            ListPushFront | ListPushBack | ListFetch | ListLength | ListPopFront | ListPopBack
            | ListRemove => Kind::List,
            SetAdd | SetMembers | SetRemove => Kind::Set,
            SortedSetAdd | SortedSetRange | SortedSetIncrement | SortedSetRank
            | SortedSetRemove | SortedSetScore => Kind::SortedSet,
        })
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
        match self {
            GetBatch | ListRemove => Some(
                "rpc-perf sends nothing for it and counts a reply of 0 ns; remove it, or set \
                 weight = 0",
            ),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_of_one_verb() {
        let names: Vec<&str> = NAMES.iter().flat_map(|(_, names)| *names).copied().collect();
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
    }
}
