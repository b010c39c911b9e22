//! Commands of the user's own: their words, quoted as in redis-cli, and the placeholders in them.

use spec::captured::has_open_ended_replies;
use spec::escape::literal;
use wire::cluster::hashed;
use wire::quoted::words;

use super::fault::{Fault, check_error, usage_error};
use super::operations::{DRAWN_KEY, Words};

const KEY: &[u8] = b"__key__";
const DATA: &[u8] = b"__data__";

/// A command as it is sent: the first `__key__` of each argument is the prefix and a number of its own, and a
/// `__data__` is `value`.
pub(super) fn command(line: &str, prefix: &str, value: &str) -> Result<Words, Fault> {
    let words =
        words(line.as_bytes()).ok_or_else(|| usage_error("failed to parse arbitrary command."))?;
    let Some(name) = words.first().filter(|name| !name.is_empty()) else {
        return Err(usage_error("--command requires a non-empty command string."));
    };
    if has_open_ended_replies(name) {
        return Err(usage_error(format!(
            "--command {} is not supported: it is not answered by one reply.",
            String::from_utf8_lossy(name)
        )));
    }
    if find(name, KEY).is_some() || find(name, DATA).is_some() {
        return Err(usage_error(format!(
            "--command {}: the first token must be a literal command name.",
            String::from_utf8_lossy(name)
        )));
    }
    words.iter().map(|word| argument(word, prefix, value)).collect()
}

/// Returns whether the keys of a command are of one slot whatever is drawn: there is one, or they share a hash tag.
pub(super) fn is_of_one_slot(text: &str, prefix: &str) -> bool {
    let words = words(text.as_bytes()).unwrap_or_default();
    let keys = words.iter().filter_map(|word| {
        let at = find(word, KEY)?;
        Some([&word[..at], prefix.as_bytes(), KEY, &word[at + KEY.len()..]].concat())
    });
    // The fixed text that determines the slot, if none of it is drawn.
    let mut tags = keys.map(|key| {
        let tag = &key[hashed(&key)];
        find(tag, KEY).is_none().then(|| tag.to_vec())
    });
    let Some(first) = tags.next() else { return true };
    tags.all(|tag| tag.is_some() && tag == first)
}

/// The remark for a command with several `__key__` in one argument: those behind the first are text.
pub(super) fn keys_as_text(text: &str) -> Option<String> {
    let word = words(text.as_bytes())?.into_iter().find(|word| {
        find(word, KEY).is_some_and(|at| find(&word[at + KEY.len()..], KEY).is_some())
    })?;
    Some(format!(
        "warning: --command: of {} the first __key__ is a key, and the rest is sent as text",
        report::escape(&word)
    ))
}

/// A SCAN that continues: the cursor of the last reply replaces its own. `None` without a cursor.
pub(super) fn with_cursor(command: &Words) -> Option<Words> {
    let at = match &*name(command) {
        "SCAN" => 1,
        "HSCAN" | "SSCAN" | "ZSCAN" => 2,
        _ => return None,
    };
    let mut next = command.clone();
    let typed = std::mem::replace(next.get_mut(at)?, "__reply__".to_owned());
    typed.bytes().all(|byte| byte.is_ascii_digit()).then_some(next)
}

/// The name of a command, for reports.
pub(super) fn name(command: &Words) -> String {
    command.first().map_or(String::new(), |name| name.to_ascii_uppercase())
}

fn argument(word: &[u8], prefix: &str, value: &str) -> Result<String, Fault> {
    if word == DATA {
        return Ok(value.to_owned());
    }
    if find(word, DATA).is_some() {
        return Err(check_error("the data placeholder must be a whole argument: __data__"));
    }
    let Some(at) = find(word, KEY) else { return Ok(literal(word, "", "")) };
    let (before, after) = (&word[..at], &word[at + KEY.len()..]);
    let before = literal(&[before, prefix.as_bytes()].concat(), "", DRAWN_KEY);
    Ok(before + DRAWN_KEY + &literal(after, DRAWN_KEY, ""))
}

fn find(word: &[u8], placeholder: &[u8]) -> Option<usize> {
    word.windows(placeholder.len()).position(|part| part == placeholder)
}

#[cfg(test)]
mod tests {
    use workload::{Arg, Piece, Slot};

    use super::*;

    #[test]
    fn keys_of_one_slot_are_one_key_or_share_a_tag() {
        let of = |line: &str| is_of_one_slot(line, "memtier-");
        for one in
            ["GET __key__", "PING", "MGET {a}__key__ {a}-__key__", "MGET x{a}__key__ {a}y__key__"]
        {
            assert!(of(one), "{one}");
        }
        for several in [
            "MGET __key__ __key__",
            "MGET {a}__key__ {b}__key__",
            "MGET {a}__key__ __key__",
            "MGET {__key__} {__key__}",
            "MGET {}__key__ {}__key__",
        ] {
            assert!(!of(several), "{several}");
        }
        assert!(is_of_one_slot("MGET __key__ __key__", "{t}"));
    }

    #[test]
    fn the_cursor_that_came_takes_the_place_of_the_one_that_was_typed() {
        let next = |line: &str| {
            let next = with_cursor(&command(line, "k", "__data__").unwrap())?;
            next.iter().position(|word| word == "__reply__")
        };
        assert_eq!((next("SCAN 0 COUNT 9"), next("hscan __key__ 17")), (Some(1), Some(2)));
        for none in ["SCAN", "SCAN x", "GET 0", "ZSCAN key", "SCAN __key__"] {
            assert_eq!(next(none), None, "{none}");
        }
    }

    #[test]
    fn placeholders_become_keys_and_values() {
        let command = |line: &str| command(line, "k", "__data__");
        assert_eq!(
            command(r#"SET "p:__key__:s" __data__"#).unwrap(),
            ["SET", "p:k__rand_int__:s", "__data__"]
        );
        let several = command("GET __key__-__key____key__").unwrap();
        let rest = Arg::literal(b"-__key____key__").pieces;
        let read = Arg::literal(several[1].as_bytes()).with_numbers().with_bytes().pieces;
        assert_eq!(read[..2], [Piece::Bytes(b"k".to_vec()), Piece::Number(Slot::Fresh)]);
        assert_eq!(read[2..], rest);
        assert!(
            keys_as_text("SET __key__ a__key__b__key__")
                .unwrap()
                .contains("of a__key__b__key__ the first")
        );
        assert_eq!(keys_as_text("MGET __key__ __key__"), None);
        for (text, says) in [
            ("HSET __key__ f __data__xx", "whole argument"),
            ("__key__ a", "__key__: the first token"),
            ("", "non-empty"),
            ("psubscribe a*", "is not supported"),
            ("GET \"", "failed to parse"),
        ] {
            let (Fault::Usage(line) | Fault::Check(line)) = command(text).unwrap_err();
            assert!(line.contains(says), "{text}: {line}");
        }
    }
}
