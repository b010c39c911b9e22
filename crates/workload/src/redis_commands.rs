//! Facts about Redis's commands by name: the position of the key, whether they only read, and how their
//! replies report a miss.
//!
//! Made from the replies to `COMMAND` of Redis 7.0 and Valkey 9: the first key, and the flags `readonly` and
//! `movablekeys`. The server itself is asked about a command that is in none of the lists (a module's, or a
//! newer one). <https://redis.io/docs/latest/commands/command/>

use crate::CommandSpec;

/// Position of the key that decides on the node of a command. The other keys of the command must be in the
/// same slot, or the node refuses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyPlace {
    /// No key: the command goes to any node.
    Keyless,
    /// This argument; the command's name is number 0.
    Arg(usize),
    /// Depends on the other arguments; `COMMAND GETKEYS` knows it.
    Movable,
}

/// Facts that decide on the node of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Routing {
    /// Position of its key.
    pub key: KeyPlace,
    /// Set if a replica may answer it.
    pub read_only: bool,
}

/// Returns the routing of a command by its first two words; `None` if it is not in the lists.
pub fn known(name: &str, second: Option<&str>) -> Option<Routing> {
    let name = name.to_ascii_uppercase();
    let table = |name: &str| {
        let found = LISTS.iter().find(|(list, ..)| is_in(list, name));
        found.map(|(_, key, read_only)| Routing { key: *key, read_only: *read_only })
    };
    // A container has no key of its own; its subcommand may.
    let sub = second.and_then(|sub| table(&format!("{name}|{}", sub.to_ascii_uppercase())));
    sub.or_else(|| table(&name))
}

/// Returns whether a command is known to write for any arguments; a script may only read.
pub fn always_writes(name: &str) -> bool {
    let may_read = ["EVAL", "EVALSHA", "FCALL"].iter().any(|n| n.eq_ignore_ascii_case(name));
    !may_read && known(name, None).is_some_and(|of| !of.read_only && of.key != KeyPlace::Keyless)
}

/// Returns whether a command changes the meaning of later commands on the same connection, so that its
/// sequence is indivisible.
pub fn is_session_command(name: &str) -> bool {
    ["MULTI", "EXEC", "DISCARD", "WATCH", "UNWATCH"].iter().any(|n| n.eq_ignore_ascii_case(name))
}

impl CommandSpec {
    /// Kind and number of the items that it asks for, if the reply has a value or a null for each of them, or
    /// counts the existing ones.
    pub fn several_asked(&self) -> Option<(&'static str, usize)> {
        let name = self.name();
        if is_in(NAMED_FIELDS, &name) {
            let word = self.args.iter().position(|arg| {
                arg.fixed_bytes().is_some_and(|word| word.eq_ignore_ascii_case(b"FIELDS"))
            })?;
            return Some(("fields", self.args.len().saturating_sub(word + 2)));
        }
        let several = SEVERAL.iter().chain(COUNTED);
        let (_, what, first, behind) = several.into_iter().find(|(known, ..)| *known == name)?;
        Some((what, self.args.len().saturating_sub(first + behind)))
    }

    /// Returns whether its reply has a string or a null for each item that it asks for.
    pub fn has_places(&self) -> bool {
        let name = self.name();
        // Positions are pairs of strings.
        name != "GEOPOS" && !counts_found(&name) && self.several_asked().is_some()
    }

    /// Returns whether its reply reports a miss, by a null or an empty value.
    pub fn finds(&self) -> bool {
        let name = self.name();
        // Its own answer is that of memcached; the name there is in lower case.
        is_in(FINDING, &name) || takes(&name) || empty_is_miss(&name) || counts_found(&name)
    }
}

/// Returns whether an empty collection, or one of nulls only, is a miss of this command, as Redis has no
/// empty collections. The result of a computation (`SINTER`) or search (`SCAN`) may well be empty.
pub fn empty_is_miss(name: &str) -> bool {
    is_in(COLLECTIONS, &name.to_ascii_uppercase())
        || is_in(NAMED_FIELDS, &name.to_ascii_uppercase())
        || SEVERAL.iter().any(|(known, ..)| known.eq_ignore_ascii_case(name))
}

/// Returns whether the reply to this command counts the existing items among those that it asks for.
pub fn counts_found(name: &str) -> bool {
    COUNTED.iter().any(|(known, ..)| known.eq_ignore_ascii_case(name))
}

/// Returns whether a command removes, or touches, what it returns, so that it can miss.
pub fn takes(name: &str) -> bool {
    is_in(TAKING, &name.to_ascii_uppercase())
}

fn is_in(list: &str, name: &str) -> bool {
    list.split_ascii_whitespace().any(|word| word == name)
}

const LISTS: &[(&str, KeyPlace, bool)] = &[
    (WRITE_FIRST, KeyPlace::Arg(1), false),
    (READ_FIRST, KeyPlace::Arg(1), true),
    (WRITE_SECOND, KeyPlace::Arg(2), false),
    (READ_SECOND, KeyPlace::Arg(2), true),
    (WRITE_MOVABLE, KeyPlace::Movable, false),
    (READ_MOVABLE, KeyPlace::Movable, true),
    (KEYLESS, KeyPlace::Keyless, false),
];

/// Commands that ask for several items: their kind, the argument that is the first of them, and the number of
/// arguments after them.
const SEVERAL: &[(&str, &str, usize, usize)] = &[
    ("MGET", "keys", 1, 0),
    ("JSON.MGET", "keys", 1, 1),
    ("HMGET", "fields", 2, 0),
    ("ZMSCORE", "members", 2, 0),
    ("GEOHASH", "members", 2, 0),
    ("GEOPOS", "members", 2, 0),
];

/// Commands that ask for several fields, named after the word FIELDS and their number.
const NAMED_FIELDS: &str = "HGETDEL HGETEX";

/// Commands whose reply counts the items found; the columns are those of [`SEVERAL`].
const COUNTED: &[(&str, &str, usize, usize)] = &[
    ("EXISTS", "keys", 1, 0),
    ("TOUCH", "keys", 1, 0),
    ("HEXISTS", "fields", 2, 0),
    ("SISMEMBER", "members", 2, 0),
];

/// Commands that ask for one item, and are answered by a null if it is missing.
const FINDING: &str = "\
    DUMP GEODIST GET GETSET HGET JSON.GET LINDEX LPOS RANDOMKEY XREAD XREADGROUP ZRANK ZREVRANK ZSCORE";

/// Commands that ask for a collection or a part of one.
const COLLECTIONS: &str = "\
    HGETALL HKEYS HRANDFIELD HVALS LRANGE SMEMBERS SPOP SRANDMEMBER XRANGE XREVRANGE ZPOPMAX ZPOPMIN \
    ZRANDMEMBER ZRANGE ZRANGEBYLEX ZRANGEBYSCORE ZREVRANGE ZREVRANGEBYLEX ZREVRANGEBYSCORE";

/// Commands that return what they remove or touch.
const TAKING: &str = "\
    BLMOVE BLMPOP BLPOP BRPOP BRPOPLPUSH BZMPOP BZPOPMAX BZPOPMIN GETDEL GETEX HGETDEL HGETEX LMOVE \
    LMPOP LPOP RPOP RPOPLPUSH SPOP ZMPOP ZPOPMAX ZPOPMIN";

/// Commands that write, with a key as their first argument.
const WRITE_FIRST: &str = "\
    APPEND BITFIELD BLMOVE BLPOP BRPOP BRPOPLPUSH BZPOPMAX BZPOPMIN COPY DECR DECRBY DEL \
    EXPIRE EXPIREAT GEOADD GEORADIUS GEORADIUSBYMEMBER GEOSEARCHSTORE GETDEL GETEX GETSET \
    HDEL HINCRBY HINCRBYFLOAT HMSET HSET HSETNX INCR INCRBY INCRBYFLOAT LINSERT LMOVE LPOP \
    LPUSH LPUSHX LREM LSET LTRIM MOVE MSET MSETNX PERSIST PEXPIRE PEXPIREAT PFADD PFMERGE \
    PSETEX RENAME RENAMENX RESTORE RESTORE-ASKING RPOP RPOPLPUSH RPUSH RPUSHX SADD \
    SDIFFSTORE SET SETBIT SETEX SETNX SETRANGE SINTERSTORE SMOVE SORT SPOP SPUBLISH SREM \
    SSUBSCRIBE SUNIONSTORE SUNSUBSCRIBE UNLINK WATCH XACK XADD XAUTOCLAIM XCLAIM XDEL XSETID \
    XTRIM ZADD ZDIFFSTORE ZINCRBY ZINTERSTORE ZPOPMAX ZPOPMIN ZRANGESTORE ZREM \
    ZREMRANGEBYLEX ZREMRANGEBYRANK ZREMRANGEBYSCORE ZUNIONSTORE";

/// Commands that read, with a key as their first argument.
const READ_FIRST: &str = "\
    BITCOUNT BITFIELD_RO BITPOS DUMP EXISTS EXPIRETIME GEODIST GEOHASH GEOPOS GEORADIUS_RO \
    GEORADIUSBYMEMBER_RO GEOSEARCH GET GETBIT GETRANGE HEXISTS HGET HGETALL HKEYS HLEN HMGET \
    HRANDFIELD HSCAN HSTRLEN HVALS LCS LINDEX LLEN LPOS LRANGE MGET PEXPIRETIME PFCOUNT PTTL \
    SCARD SDIFF SINTER SISMEMBER SMEMBERS SMISMEMBER SORT_RO SRANDMEMBER SSCAN STRLEN SUBSTR \
    SUNION TOUCH TTL TYPE XLEN XPENDING XRANGE XREVRANGE ZCARD ZCOUNT ZLEXCOUNT ZMSCORE \
    ZRANDMEMBER ZRANGE ZRANGEBYLEX ZRANGEBYSCORE ZRANK ZREVRANGE ZREVRANGEBYLEX \
    ZREVRANGEBYSCORE ZREVRANK ZSCAN ZSCORE";

/// Commands that write, with a key as their second argument.
const WRITE_SECOND: &str = "\
    BITOP PFDEBUG XGROUP|CREATE XGROUP|CREATECONSUMER XGROUP|DELCONSUMER XGROUP|DESTROY \
    XGROUP|SETID";

/// Commands that read, with a key as their second argument.
const READ_SECOND: &str = "\
    MEMORY|USAGE OBJECT|ENCODING OBJECT|FREQ OBJECT|IDLETIME OBJECT|REFCOUNT XINFO|CONSUMERS \
    XINFO|GROUPS XINFO|STREAM";

/// Commands that may write, whose arguments give the positions of the keys.
const WRITE_MOVABLE: &str = "\
    BLMPOP BZMPOP EVAL EVALSHA FCALL LMPOP MIGRATE XREADGROUP ZMPOP";

/// Commands that read, whose arguments give the positions of the keys.
const READ_MOVABLE: &str = "\
    EVAL_RO EVALSHA_RO FCALL_RO SINTERCARD XREAD ZDIFF ZINTER ZINTERCARD ZUNION";

/// Commands without a key. Containers are listed for their subcommands without one.
const KEYLESS: &str = "\
    ACL ASKING AUTH BGREWRITEAOF BGSAVE CLIENT CLUSTER COMMAND COMMANDLOG CONFIG DBSIZE \
    DEBUG DISCARD ECHO EXEC FAILOVER FLUSHALL FLUSHDB FUNCTION HELLO INFO KEYS LASTSAVE \
    LATENCY LOLWUT MEMORY MODULE MONITOR MULTI OBJECT PFSELFTEST PING PSUBSCRIBE PSYNC \
    PUBLISH PUBSUB PUNSUBSCRIBE QUIT RANDOMKEY READONLY READWRITE REPLCONF REPLICAOF RESET \
    ROLE SAVE SCAN SCRIPT SELECT SHUTDOWN SLAVEOF SLOWLOG SUBSCRIBE SWAPDB SYNC TIME \
    UNSUBSCRIBE UNWATCH WAIT WAITAOF XGROUP XINFO";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_where_the_servers_say() {
        let place = |name, second| known(name, second).map(|r| (r.key, r.read_only));
        assert_eq!(place("SET", Some("k")), Some((KeyPlace::Arg(1), false)));
        assert_eq!(place("get", Some("k")), Some((KeyPlace::Arg(1), true)));
        assert_eq!(place("ping", None), Some((KeyPlace::Keyless, false)));
        assert_eq!(place("EVAL", Some("return 1")), Some((KeyPlace::Movable, false)));
        assert_eq!(place("xread", Some("COUNT")), Some((KeyPlace::Movable, true)));
        assert_eq!(place("OBJECT", Some("encoding")), Some((KeyPlace::Arg(2), true)));
        assert_eq!(place("OBJECT", Some("HELP")), Some((KeyPlace::Keyless, false)));
        assert_eq!(place("FUNCTION", Some("LOAD")), Some((KeyPlace::Keyless, false)));
        assert_eq!(place("JSON.SET", Some("k")), None);
    }

    #[test]
    fn commands_whose_empty_reply_is_a_miss_are_known() {
        assert!(["lrange", "ZPOPMIN", "MGET", "XRANGE"].into_iter().all(empty_is_miss));
        assert!(!["SINTER", "SCAN", "EXEC", "KEYS"].into_iter().any(empty_is_miss));
    }

    #[test]
    fn the_number_of_things_that_a_command_asks_for_is_known() {
        let several = |line: &str| CommandSpec::parse(line.split(' ')).several_asked();
        assert_eq!(several("mget a b c"), Some(("keys", 3)));
        assert_eq!(several("JSON.MGET a b $"), Some(("keys", 2)));
        assert_eq!(several("HMGET h a b"), Some(("fields", 2)));
        assert_eq!(several("HMGET h"), Some(("fields", 0)));
        assert_eq!(several("HGETEX h EX 10 FIELDS 2 a b"), Some(("fields", 2)));
        assert_eq!(several("hgetdel h fields 1 a"), Some(("fields", 1)));
        assert_eq!(several("HGETEX h"), None);
        assert_eq!(several("GET a"), None);
        assert_eq!(several("EXISTS a b"), Some(("keys", 2)));
        assert_eq!(several("SISMEMBER s a"), Some(("members", 1)));
    }

    #[test]
    fn commands_whose_replies_give_or_count_what_is_found_are_known() {
        let command = |line: &str| CommandSpec::parse(line.split(' '));
        assert!(command("HMGET h a b").has_places() && !command("EXISTS a b").has_places());
        assert!(command("EXISTS a").finds() && !command("DEL a").finds());
    }

    #[test]
    fn no_command_is_in_two_lists() {
        let mut names: Vec<&str> =
            LISTS.iter().flat_map(|(list, ..)| list.split_ascii_whitespace()).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
