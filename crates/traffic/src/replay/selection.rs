//! Selection of the commands of a record that are sent: by name, key, database and client.

use crate::Event;

/// A selection of commands. By default all are selected.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Selection {
    /// Command names, one of which must match; empty for any name.
    pub commands: Vec<String>,
    /// Command names that must not match.
    pub not_commands: Vec<String>,
    /// Patterns of the first key, one of which must match; commands without a key match no pattern.
    pub keys: Vec<Glob>,
    /// Databases; empty for all.
    pub dbs: Vec<u32>,
    /// The share of clients that is sent, from 0 to 1. Clients are sent as a whole, so that order and
    /// pipelines are kept.
    pub clients: Option<f64>,
}

impl Selection {
    /// Returns whether every command is selected.
    pub fn is_all(&self) -> bool {
        *self == Self::default()
    }

    /// Returns whether a command with keys at these positions is selected.
    pub(crate) fn takes(&self, event: &Event, keys: &[usize]) -> bool {
        let named = |names: &[String]| names.iter().any(|name| event.is(name));
        (self.commands.is_empty() || named(&self.commands))
            && !named(&self.not_commands)
            && (self.dbs.is_empty() || self.dbs.contains(&event.db))
            && (self.keys.is_empty() || self.takes_key(event, keys.first()))
            && self.clients.is_none_or(|share| takes_client(event.client, share))
    }

    fn takes_key(&self, event: &Event, first: Option<&usize>) -> bool {
        first.is_some_and(|at| self.keys.iter().any(|glob| glob.fits(event.bytes(*at))))
    }
}

/// Returns whether a client belongs to the selected share: the same clients each time.
fn takes_client(client: u64, share: f64) -> bool {
    workload::random::draw_unit(0x5eed, client) < share
}

/// A pattern for keys: `*` matches any bytes, `?` matches one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glob(Vec<u8>);

impl Glob {
    /// Returns the glob for a pattern as typed.
    pub fn new(pattern: &str) -> Self {
        Self(pattern.as_bytes().to_vec())
    }

    /// Returns whether the pattern matches the whole text.
    pub fn fits(&self, text: &[u8]) -> bool {
        let pattern = &self.0;
        let (mut at, mut from) = (0, 0);
        // Position of the last `*`, and the end of the text that it matches.
        let mut star = None;
        while from < text.len() {
            match pattern.get(at) {
                Some(b'*') => {
                    star = Some((at, from));
                    at += 1;
                }
                Some(byte) if *byte == b'?' || *byte == text[from] => {
                    (at, from) = (at + 1, from + 1)
                }
                _ => {
                    let Some((star_at, reached)) = star else { return false };
                    star = Some((star_at, reached + 1));
                    (at, from) = (star_at + 1, reached + 1);
                }
            }
        }
        pattern[at..].iter().all(|byte| *byte == b'*')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(words: &[&str]) -> Event {
        let mut event = Event::default();
        words.iter().for_each(|word| event.push(word.as_bytes()));
        event
    }

    #[test]
    fn a_pattern_fits_as_a_whole() {
        for (pattern, text, fits) in [
            ("user:*", "user:1", true),
            ("user:*", "a user:1", false),
            ("*:cart", "user:1:cart", true),
            ("*:cart", "user:1:cart:x", false),
            ("u?er*1*", "user:21:3", true),
            ("a*b*c", "abbbcbc", true),
            ("", "", true),
            ("*", "", true),
            ("?", "", false),
        ] {
            assert_eq!(Glob::new(pattern).fits(text.as_bytes()), fits, "{pattern} {text}");
        }
    }

    #[test]
    fn commands_are_selected_by_all_that_is_asked() {
        let takes = |selection: &Selection, words: &[&str]| {
            let mut keys = Vec::new();
            let event = event(words);
            crate::commands::keys_of(crate::Protocol::Resp, &event, &mut keys);
            selection.takes(&event, &keys)
        };
        let all = Selection::default();
        assert!(all.is_all() && takes(&all, &["PING"]));
        let keys = Selection { keys: vec![Glob::new("a*")], ..Selection::default() };
        assert!(takes(&keys, &["get", "ab"]) && takes(&keys, &["EVALSHA", "x", "1", "ab"]));
        assert!(!takes(&keys, &["get", "b"]) && !takes(&keys, &["PING"]));
        assert!(!takes(&keys, &["EVAL", "a", "0", "ab"]));
        let names = Selection {
            commands: vec!["GET".into(), "set".into()],
            not_commands: vec!["SET".into()],
            ..Selection::default()
        };
        assert!(takes(&names, &["Get", "k"]) && !takes(&names, &["SET", "k", "v"]));
        let half = Selection { clients: Some(0.5), ..Selection::default() };
        let of = |client| {
            let mut event = Event::default();
            event.client = client;
            event
        };
        let taken = (0..1000).filter(|client| half.takes(&of(*client), &[])).count();
        assert!((400..600).contains(&taken), "{taken}");
    }
}
