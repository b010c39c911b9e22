//! Commands that read, write or require a key, and the positions of their keys.

use std::ops::Range;

use crate::redis_commands::{self, KeyPlace};
use crate::{Arg, CommandSpec, ProtocolKind};

/// Positions of the arguments in which a command names the strings that it reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keys {
    First,
    /// All arguments from this one on.
    From(usize),
}

/// Commands that read strings.
const STRINGS: [(&str, Keys); 9] = [
    ("GET", Keys::First),
    ("GETEX", Keys::First),
    ("GETDEL", Keys::First),
    ("GETRANGE", Keys::First),
    ("SUBSTR", Keys::First),
    ("STRLEN", Keys::First),
    ("MGET", Keys::From(1)),
    ("EXISTS", Keys::From(1)),
    ("TTL", Keys::First),
];

/// Commands of memcached that require an item of any content.
const ITEMS: [(&str, Keys); 13] = [
    ("GET", Keys::From(1)),
    ("GETS", Keys::From(1)),
    ("GETK", Keys::First),
    ("MG", Keys::First),
    ("GAT", Keys::From(2)),
    ("GATS", Keys::From(2)),
    ("TOUCH", Keys::First),
    ("DELETE", Keys::First),
    ("MD", Keys::First),
    ("REPLACE", Keys::First),
    ("APPEND", Keys::First),
    ("PREPEND", Keys::First),
    ("CAS", Keys::First),
];

/// Commands of memcached that read an item and change nothing.
const ITEMS_READ: [&str; 4] = ["GET", "GETS", "GETK", "MG"];

/// Commands of memcached that require a numeric item.
const NUMBERS: [&str; 3] = ["INCR", "DECR", "MA"];

/// Commands of memcached that require no item.
pub(super) const ITEMS_WRITTEN: [&str; 3] = ["SET", "ADD", "MS"];

impl CommandSpec {
    /// Returns whether it reads a key and changes nothing, as a command of that protocol.
    pub fn reads(&self, protocol: ProtocolKind) -> bool {
        let name = self.name();
        if protocol.is_memcache() {
            return ITEMS_READ.contains(&name.as_str());
        }
        let second = self.args.get(1).and_then(Arg::fixed_bytes);
        let second = second.as_deref().and_then(|word| std::str::from_utf8(word).ok());
        let known = redis_commands::known(&name, second);
        known.is_some_and(|known| known.read_only && matches!(known.key, KeyPlace::Arg(_)))
    }

    /// Returns whether it may write a key. An unknown command, such as a module's, is assumed to.
    pub fn may_write(&self, protocol: ProtocolKind) -> bool {
        let name = self.name();
        if protocol.is_memcache() {
            let looks = ["GAT", "GATS", "TOUCH"].into_iter().chain(ITEMS_READ);
            let written = ITEMS_WRITTEN.contains(&name.as_str()) || name == "FLUSH_ALL";
            return written || self.needs_item() && !looks.into_iter().any(|looks| looks == name);
        }
        let second = self.args.get(1).and_then(Arg::fixed_bytes);
        let second = second.as_deref().and_then(|word| std::str::from_utf8(word).ok());
        let emptied = matches!(name.as_str(), "FLUSHALL" | "FLUSHDB" | "SWAPDB");
        redis_commands::known(&name, second)
            .is_none_or(|known| emptied || !known.read_only && known.key != KeyPlace::Keyless)
    }

    /// Returns whether an empty reply is a miss. For a command that writes, or a script, it means something
    /// else.
    pub fn looks_for(&self, protocol: ProtocolKind) -> bool {
        let name = self.name();
        if protocol.is_memcache() {
            return !ITEMS_WRITTEN.contains(&name.as_str()) && name != "CAS";
        }
        // A module's command is called as Redis's own is: JSON.GET.
        let own = name.rsplit_once('.').map(|(_, own)| Self::from_words([own]));
        own.as_ref().unwrap_or(self).reads(protocol) || redis_commands::takes(&name)
    }

    /// Returns whether this is a command of memcached whose reply reports a miss.
    pub(super) fn needs_item(&self) -> bool {
        let name = self.name();
        ITEMS.iter().any(|(known, _)| *known == name) || NUMBERS.contains(&name.as_str())
    }

    /// Returns whether it reads what `SET` writes.
    pub fn reads_what_set_writes(&self, protocol: ProtocolKind) -> bool {
        read_keys(self, protocol).is_some()
    }
}

/// Arguments that are keys of strings which a command reads.
pub(super) fn read_keys(command: &CommandSpec, protocol: ProtocolKind) -> Option<Range<usize>> {
    let name = command.name();
    let read = if protocol.is_memcache() { &ITEMS[..] } else { &STRINGS };
    let (_, keys) = read.iter().find(|(known, _)| *known == name)?;
    let words = command.args.len();
    match *keys {
        Keys::First => (words > 1).then_some(1..2),
        Keys::From(first) => Some(first.min(words)..words),
    }
}
