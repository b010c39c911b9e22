//! Recorded commands as words that a load can send again and again, with newly made keys: without arguments
//! that would make them fail, and without commands that always would.

use traffic::Event;
use traffic::commands::{Deadline, deadline, entry_id};
use traffic::describe::{Description, Pattern, Shape, Word};

/// Commands that fail if what they name is missing (such as a script or an element), or exists already.
const NEEDY: &str = "\
    EVALSHA EVALSHA_RO FCALL FCALL_RO FUNCTION LSET MOVE RENAME RENAMENX RESTORE \
    RESTORE-ASKING XGROUP XINFO XSETID";
/// Commands that name a consumer group, with the index of its argument.
const GROUP_COMMANDS: [(&str, usize); 5] =
    [("XREADGROUP", 2), ("XACK", 2), ("XPENDING", 2), ("XCLAIM", 2), ("XAUTOCLAIM", 2)];

/// The words; `None` for a command that cannot be part of a load of single commands.
pub(super) fn words(shape: &Shape, of: &Description) -> Option<Vec<Word>> {
    let event = event(&shape.words);
    let mut words = shape.words.clone();
    if of.memcache {
        return in_cache_order(words);
    }
    if !traffic::replay::stands_alone(&event) || NEEDY.split(' ').any(|name| event.is(name)) {
        return None;
    }
    // A recorded number is not above those that the load itself has added.
    if event.is("XADD") {
        *words.get_mut(entry_id(&event))? = Word::Text(b"*".to_vec());
    }
    match deadline(&event) {
        Some(Deadline { at, unit_ns }) => {
            let ttl_s = pattern(shape, of).and_then(|pattern| pattern.ttl_s).map(|ttl| ttl.p50);
            relative(words, at, ttl_s.map(|ttl_s| ttl_s * (1_000_000_000 / unit_ns)))
        }
        None => Some(words),
    }
}

/// The pattern of a shape's keys, or of its channels.
pub(super) fn pattern<'d>(shape: &Shape, of: &'d Description) -> Option<&'d Pattern> {
    named(&shape.pattern, of)
}

/// The keys or channels of this pattern.
pub(super) fn named<'d>(name: &[u8], of: &'d Description) -> Option<&'d Pattern> {
    of.patterns.iter().chain(&of.channels).find(|pattern| pattern.name.as_bytes() == name)
}

/// The consumer group that a command uses.
pub(super) fn group(words: &[Word]) -> Option<&[u8]> {
    let event = event(words);
    let (_, at) = GROUP_COMMANDS.iter().find(|(name, _)| event.is(name))?;
    match words.get(*at)? {
        Word::Text(group) => Some(group),
        _ => None,
    }
}

/// Replaces the time of day at this position by a lifetime. If no lifetime is known, removes the option if
/// the command is valid without it.
fn relative(mut words: Vec<Word>, at: usize, lifetime: Option<u64>) -> Option<Vec<Word>> {
    let Word::Text(name) = &words[0] else { return None };
    let named_at = if name.to_ascii_uppercase().ends_with(b"AT") { 0 } else { at - 1 };
    match lifetime {
        Some(lifetime) => {
            words[at] = Word::Text(lifetime.max(1).to_string().into_bytes());
            if let Word::Text(name) = &mut words[named_at] {
                name.truncate(name.len() - 2);
            }
        }
        None if named_at == 0 => return None,
        None => drop(words.drain(named_at..=at)),
    }
    Some(words)
}

/// The words in memcached's order: the value last, and without the token of a recorded item.
fn in_cache_order(mut words: Vec<Word>) -> Option<Vec<Word>> {
    let is_cas = matches!(&words[0], Word::Text(name) if name == b"cas");
    if is_cas {
        words[0] = Word::Text(b"set".to_vec());
        words.truncate(5);
    }
    if words.len() == 5 && words[2] == Word::Value {
        words[2..].rotate_left(1);
    }
    matches!(words[0], Word::Text(_)).then_some(words)
}

fn event(words: &[Word]) -> Event {
    let mut event = Event::default();
    for word in words {
        match word {
            Word::Text(text) | Word::Key(text) => event.push(text),
            Word::Value => event.push_size(0, 0),
            Word::Size(size) => event.push_size(*size, 0),
        }
    }
    event
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(line: &str) -> Vec<Word> {
        line.split(' ').map(|word| Word::Text(word.as_bytes().to_vec())).collect()
    }

    #[test]
    fn times_of_day_become_lifetimes() {
        for (recorded, lifetime, expected) in [
            ("SET k v PXAT 1700000000000", Some(5000), Some("SET k v PX 5000")),
            ("SET k v exat 1700000000", None, Some("SET k v")),
            ("PEXPIREAT k 1700000000000", Some(0), Some("PEXPIRE k 1")),
            ("EXPIREAT k 1700000000 NX", Some(7), Some("EXPIRE k 7 NX")),
            ("EXPIREAT k 1700000000", None, None),
        ] {
            let words = texts(recorded);
            let at = deadline(&event(&words)).unwrap().at;
            assert_eq!(relative(words, at, lifetime), expected.map(texts), "{recorded}");
        }
    }

    #[test]
    fn memcached_has_the_value_last() {
        let mut words = texts("cas k v 3 60 9");
        words[2] = Word::Value;
        let mut expected = texts("set k 3 60 v");
        expected[4] = Word::Value;
        assert_eq!(in_cache_order(words), Some(expected));
        assert_eq!(in_cache_order(texts("get k")), Some(texts("get k")));
    }
}
