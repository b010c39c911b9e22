//! Keyspace events, which a server publishes about written keys.
//!
//! As in <https://redis.io/docs/latest/develop/pubsub/keyspace-notifications/>. A server publishes the
//! classes of events in its setting `notify-keyspace-events`, and none by default.

use serde::{Deserialize, Serialize};

use crate::Named;

/// An event that one command of a sender causes, for a new key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeyEvent {
    /// A key was set.
    Set,
    /// A key was added.
    New,
    /// A key was deleted by a command.
    Del,
    /// A key was deleted because its lifetime had passed.
    Expired,
}

/// The setting with the classes of published events.
pub const EVENTS_SETTING: &str = "notify-keyspace-events";

/// A script that sets a key and deletes it.
pub const SET_AND_DELETE: &str =
    "redis.call('SET',KEYS[1],ARGV[1]) return redis.call('DEL',KEYS[1])";

/// The class of all other classes but those in [`NOT_IN_ALL`].
const ALL: char = 'A';

/// Key misses and new keys.
const NOT_IN_ALL: [char; 2] = ['m', 'n'];

/// Class for publishing to a channel for each event, with the key as the payload.
const BY_EVENT: char = 'E';

impl Named for KeyEvent {
    const NAMES: &'static [(Self, &'static str)] =
        &[(Self::Set, "set"), (Self::New, "new"), (Self::Del, "del"), (Self::Expired, "expired")];
}

impl KeyEvent {
    /// The letter of its class in [`EVENTS_SETTING`].
    fn class(self) -> char {
        match self {
            Self::Set => '$',
            Self::New => 'n',
            Self::Del => 'g',
            Self::Expired => 'x',
        }
    }

    /// The channel of the event for the keys of a database.
    pub fn channel(self, db: u32) -> String {
        format!("__keyevent@{db}__:{}", self.name())
    }

    /// Letters to add to this value of [`EVENTS_SETTING`] to have the event published; empty if none.
    pub fn lacking(self, setting: &str) -> String {
        let class = self.class();
        let has_class =
            setting.contains(class) || (setting.contains(ALL) && !NOT_IN_ALL.contains(&class));
        let lacks = [(BY_EVENT, setting.contains(BY_EVENT)), (class, has_class)];
        lacks.into_iter().filter(|(_, has)| !has).map(|(letter, _)| letter).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_setting_lacks_is_added_and_nothing_else() {
        use KeyEvent::{Del, Expired, New, Set};
        for (event, setting, lacking) in [
            (Set, "", "E$"),
            (Set, "E$", ""),
            (Set, "$K", "E"),
            (Expired, "AE", ""),
            (Expired, "AK", "E"),
            (New, "AKE", "n"),
            (New, "nE", ""),
            (Del, "Ex", "g"),
        ] {
            assert_eq!(event.lacking(setting), lacking, "{event:?} {setting}");
        }
    }

    #[test]
    fn channels_are_those_of_the_server() {
        assert_eq!(KeyEvent::Expired.channel(3), "__keyevent@3__:expired");
    }
}
