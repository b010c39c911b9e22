//! A server's description of a command or a subcommand: an entry of its reply to `COMMAND INFO`.

use wire::resp::Value;

/// Positions of the fields of an entry.
const FLAGS: usize = 2;
const FIRST_KEY: usize = 3;
const CATEGORIES: usize = 6;
const SUBCOMMANDS: usize = 9;

/// A server's description of a command.
#[derive(Debug, Clone, Copy)]
pub struct CommandInfo<'v>(&'v [Value]);

impl<'v> CommandInfo<'v> {
    /// Parses the entry of a command, or of its subcommand `sub`. `None` if the server does not know the
    /// command.
    #[must_use]
    pub fn of(entry: &'v Value, name: &str, sub: Option<&str>) -> Option<Self> {
        let Value::Array(info) = entry else { return None };
        let full = sub.map(|sub| format!("{name}|{sub}").to_lowercase());
        let named = |entry: &&Vec<Value>| entry.first().and_then(Value::text) == full;
        let subcommands = match info.get(SUBCOMMANDS) {
            Some(Value::Array(subcommands)) => subcommands.as_slice(),
            _ => &[],
        };
        let mut subcommands = subcommands.iter().filter_map(|entry| match entry {
            Value::Array(info) => Some(info),
            _ => None,
        });
        Some(Self(subcommands.find(named).unwrap_or(info)))
    }

    /// Returns whether it has a flag or ACL category with that name.
    #[must_use]
    pub fn has(self, flag: &str) -> bool {
        let words = [FLAGS, CATEGORIES].into_iter().filter_map(|place| match self.0.get(place) {
            Some(Value::Array(words) | Value::Set(words)) => Some(words),
            _ => None,
        });
        let mut words = words.flatten().filter_map(Value::text);
        words.any(|word| word.trim_start_matches('@') == flag)
    }

    /// Position of its first key; `None` without keys.
    #[must_use]
    pub fn first_key(self) -> Option<usize> {
        self.0.get(FIRST_KEY)?.text()?.parse().ok()
    }
}
