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
    pub fn new(entry: &'v Value, name: &str, sub: Option<&str>) -> Option<Self> {
        let info = entry.items()?;
        let full = sub.map(|sub| format!("{name}|{sub}").to_lowercase());
        let named = |entry: &&[Value]| entry.first().and_then(Value::text) == full;
        let subcommands = info.get(SUBCOMMANDS).and_then(Value::items).unwrap_or_default();
        Some(Self(subcommands.iter().filter_map(Value::items).find(named).unwrap_or(info)))
    }

    /// Returns whether it has a flag or ACL category with that name.
    pub fn has(self, flag: &str) -> bool {
        let words = [FLAGS, CATEGORIES].into_iter().filter_map(|place| self.0.get(place)?.items());
        let mut words = words.flatten().filter_map(Value::text);
        words.any(|word| word.trim_start_matches('@') == flag)
    }

    /// Position of its first key; `None` without keys.
    pub fn first_key(self) -> Option<usize> {
        self.0.get(FIRST_KEY)?.text()?.parse().ok()
    }
}
