//! Translation of commands into those of the other kind of server, if it has an equivalent.

use workload::{CacheCommand, CommandSpec, ProtocolKind};

use super::expiry::is_time_of_day;
use crate::{Event, Protocol};

/// Longest key that memcached accepts.
const KEY_MAX: usize = 250;

/// The arguments of a command as bytes, starting with its name.
pub(crate) type Words<'w> = Vec<&'w [u8]>;

/// A recorded memcached command in the word order of its protocol, with the value last. `None` if memcached
/// would not accept its keys.
pub(crate) fn cache_words<'w>(words: &[&'w [u8]]) -> Option<Words<'w>> {
    let (name, rest) = words.split_first()?;
    let is = |names: &[&str]| names.iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes()));
    let keys = match rest {
        [_, keys @ ..] if is(&["gat", "gats"]) => keys,
        keys if is(&["get", "gets"]) => keys,
        [key, ..] => std::slice::from_ref(key),
        [] => return None,
    };
    if keys.is_empty() || !keys.iter().all(|key| is_cache_key(key)) {
        return None;
    }
    Some(match rest {
        // The token of a recorded item is none of the item that is there now.
        [key, value, flags, expiry, ..] if is(&["cas"]) => vec![b"set", key, flags, expiry, value],
        [key, value, flags, expiry] => vec![name, key, flags, expiry, value],
        _ => words.to_vec(),
    })
}

fn is_cache_key(key: &[u8]) -> bool {
    (1..=KEY_MAX).contains(&key.len()) && key.iter().all(|byte| *byte > b' ' && *byte != 127)
}

/// A recorded command of memcached in the words of Redis.
fn in_redis_words<'w>(words: &[&'w [u8]]) -> Option<Words<'w>> {
    let name = words.first()?.to_ascii_lowercase();
    let ends = |expiry: &'w [u8], mut words: Words<'w>| {
        if expiry != b"0" {
            words.push(if is_time_of_day(expiry) { b"EXAT" } else { b"EX" });
            words.push(expiry);
        }
        words
    };
    Some(match (name.as_slice(), &words[1..]) {
        (b"get" | b"gets", [key]) => vec![b"GET", key],
        (b"get" | b"gets", keys @ [_, ..]) => [&[&b"MGET"[..]], keys].concat(),
        (b"gat" | b"gats", [expiry, key]) => ends(expiry, vec![b"GETEX", key]),
        (b"set" | b"cas", [key, value, _, expiry, ..]) => ends(expiry, vec![b"SET", key, value]),
        (b"add", [key, value, _, expiry]) => ends(expiry, vec![b"SET", key, value, b"NX"]),
        (b"replace", [key, value, _, expiry]) => ends(expiry, vec![b"SET", key, value, b"XX"]),
        (b"append", [key, value, ..]) => vec![b"APPEND", key, value],
        (b"delete", [key]) => vec![b"DEL", key],
        (b"incr", [key, delta]) => vec![b"INCRBY", key, delta],
        (b"decr", [key, delta]) => vec![b"DECRBY", key, delta],
        (b"touch", [key, b"0"]) => vec![b"PERSIST", key],
        (b"touch", [key, expiry]) if is_time_of_day(expiry) => vec![b"EXPIREAT", key, expiry],
        (b"touch", [key, expiry]) => vec![b"EXPIRE", key, expiry],
        _ => return None,
    })
}

/// A Redis command as the equivalent memcached command.
fn in_cache_words(words: &[&[u8]]) -> Option<CommandSpec> {
    let name = words.first()?.to_ascii_uppercase();
    let redis = match (name.as_slice(), &words[1..]) {
        (b"SETEX", [key, seconds, value]) => vec![&b"SET"[..], key, value, b"EX", seconds],
        (b"SETNX", [key, value]) => vec![&b"SET"[..], key, value, b"NX"],
        (b"UNLINK", [key]) => vec![&b"DEL"[..], key],
        (b"GETEX", [key]) => vec![&b"GET"[..], key],
        (b"INCR", [key]) => return of_words(key, &[b"incr", key, b"1"]),
        (b"DECR", [key]) => return of_words(key, &[b"decr", key, b"1"]),
        (b"INCRBY", [key, delta]) => return of_words(key, &[b"incr", key, delta]),
        (b"DECRBY", [key, delta]) => return of_words(key, &[b"decr", key, delta]),
        (b"APPEND", [key, value]) => return of_words(key, &[b"append", key, b"0", b"0", value]),
        (b"GETEX", [key, unit, seconds]) if unit.eq_ignore_ascii_case(b"EX") => {
            return of_words(key, &[b"gat", seconds, key]);
        }
        _ => words.to_vec(),
    };
    let command = CacheCommand::of_cache(&CommandSpec::from_words(redis)).ok()?;
    let keys = command.keys().iter().map(workload::Arg::fixed_bytes);
    let fit = keys.into_iter().all(|key| key.is_some_and(|key| is_cache_key(&key)));
    if fit { command.in_protocol(ProtocolKind::MemcacheText).ok() } else { None }
}

fn of_words(key: &[u8], words: &[&[u8]]) -> Option<CommandSpec> {
    let is_number = |word: &&[u8]| !word.is_empty() && word.iter().all(u8::is_ascii_digit);
    let counts = words[0].ends_with(b"cr");
    (is_cache_key(key) && (!counts || is_number(&words[2]))).then(|| CommandSpec::from_words(words))
}

/// A command in the form in which it is sent: words for RESP, or text for memcached.
pub(crate) enum WireCommand<'w> {
    Resp(Words<'w>),
    Cache(CommandSpec),
}

/// The recorded words for this kind of server; `None` if it has no equivalent command.
pub(crate) fn translated<'w>(
    words: Words<'w>,
    recorded: Protocol,
    to_cache: bool,
) -> Option<WireCommand<'w>> {
    match (recorded, to_cache) {
        (Protocol::Resp, false) => Some(WireCommand::Resp(words)),
        (Protocol::Resp, true) => in_cache_words(&words).map(WireCommand::Cache),
        (Protocol::Memcache, false) => in_redis_words(&words).map(WireCommand::Resp),
        (Protocol::Memcache, true) => {
            cache_words(&words).map(|words| WireCommand::Cache(CommandSpec::from_words(words)))
        }
    }
}

/// Returns whether a server of this kind has the command.
pub(crate) fn has_twin(event: &Event, recorded: Protocol, to_cache: bool) -> bool {
    if recorded == Protocol::Resp && !to_cache {
        return true;
    }
    // A value that was not recorded stands for itself.
    let words = event.arguments().map(|argument| argument.bytes.unwrap_or(b"0")).collect();
    translated(words, recorded, to_cache).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str, recorded: Protocol, to_cache: bool) -> Option<String> {
        let words = text.split(' ').map(str::as_bytes).collect();
        let joined = |words: Vec<Vec<u8>>| String::from_utf8(words.join(&b' ')).unwrap();
        Some(match translated(words, recorded, to_cache)? {
            WireCommand::Resp(words) => joined(words.into_iter().map(<[u8]>::to_vec).collect()),
            WireCommand::Cache(command) => {
                joined(command.args.iter().map(|arg| arg.fixed_bytes().unwrap()).collect())
            }
        })
    }

    #[test]
    fn commands_of_redis_have_their_twins_in_memcached() {
        let cache = |text| said(text, Protocol::Resp, true);
        assert_eq!(cache("GET k").unwrap(), "get k");
        assert_eq!(cache("mget a b").unwrap(), "get a b");
        assert_eq!(cache("SET k v EX 9 NX").unwrap(), "add k 0 9 v");
        assert_eq!(cache("SETEX k 9 v").unwrap(), "set k 0 9 v");
        assert_eq!(cache("INCR k").unwrap(), "incr k 1");
        assert_eq!(cache("GETEX k EX 5").unwrap(), "gat 5 k");
        for none in ["HGET k f", "DEL a b", "INCRBY k -1", "SET k v KEEPTTL", "PING"] {
            assert_eq!(cache(none), None, "{none}");
        }
        let long = format!("GET {}", "k".repeat(251));
        assert_eq!(cache(&long), None);
        let words = vec![&b"GET"[..], b"a\r\nflush_all"];
        assert!(
            translated(words, Protocol::Resp, true).is_none(),
            "a key is no place for commands"
        );
    }

    #[test]
    fn commands_of_memcached_have_their_twins_in_redis() {
        let redis = |text| said(text, Protocol::Memcache, false);
        assert_eq!(redis("get k").unwrap(), "GET k");
        assert_eq!(redis("gets a b").unwrap(), "MGET a b");
        assert_eq!(redis("set k v 0 60").unwrap(), "SET k v EX 60");
        assert_eq!(redis("add k v 0 0").unwrap(), "SET k v NX");
        assert_eq!(redis("cas k v 0 0 7").unwrap(), "SET k v");
        assert_eq!(redis("touch k 0").unwrap(), "PERSIST k");
        assert_eq!(redis("set k v 0 1700000000").unwrap(), "SET k v EXAT 1700000000");
        assert_eq!(redis("prepend k v 0 0"), None);
    }

    #[test]
    fn memcached_is_told_what_it_was_told() {
        let cache = |text| said(text, Protocol::Memcache, true);
        assert_eq!(cache("set k v 1 60").unwrap(), "set k 1 60 v");
        assert_eq!(cache("cas k v 1 60 9").unwrap(), "set k 1 60 v");
        assert_eq!(cache("gat 60 a b").unwrap(), "gat 60 a b");
        assert_eq!(cache("incr k 5").unwrap(), "incr k 5");
        assert_eq!(cache("get"), None);
    }
}
