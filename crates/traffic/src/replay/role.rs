//! Roles of recorded commands: sent (and in which way), or left out (and for which reason).

use crate::commands::{Command, Property};
use crate::{Event, Flags};

/// Treatment of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Sent.
    Sent,
    /// Sent; its reply may have to wait for another client.
    Blocks,
    /// Not sent by itself: the record gives the database of each command.
    Select,
    /// Not sent.
    LeftOut(Reason),
}

/// Reason why a command is not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// Run by a script whose call is sent already.
    ScriptEffect,
    /// About the recorded connection, such as a login.
    Connection,
    /// Not answered by one reply per command, such as a subscription.
    Subscription,
    /// Would shut down or reconfigure the server.
    Administration,
    /// Content was not recorded.
    Unrecorded,
    /// Has no equivalent on the other kind of server.
    NoTwin,
    /// Keys of the command, or of its transaction, are on several nodes of a cluster.
    CrossSlot,
    /// Part of a transaction that does not end, so that its node in a cluster is unknown.
    Unfinished,
    /// Not selected.
    Unselected,
}

impl Reason {
    /// The end of the phrase "… left out, which".
    pub fn why(self) -> &'static str {
        match self {
            Self::ScriptEffect => "scripts ran; the calls of these scripts are sent",
            Self::Connection => "are about the connection that they were recorded on, such as AUTH",
            Self::Subscription => "have no reply of their own, such as SUBSCRIBE",
            Self::Administration => "would change the server itself, such as CONFIG",
            Self::Unrecorded => "were not recorded in full",
            Self::NoTwin => "this kind of server does not have",
            Self::CrossSlot => {
                "have keys of several slots, or stand in such a transaction: no node of a cluster executes them"
            }
            Self::Unfinished => "are of a transaction that does not end in the record",
            Self::Unselected => "are not selected",
        }
    }
}

/// Subcommands that count as administration: they act on other clients, or on the server itself.
const ADMINISTRATION_BY_WORD: &[(&str, &[&str])] = &[
    ("CLIENT", &["KILL", "PAUSE", "UNPAUSE", "UNBLOCK"]),
    ("SCRIPT", &["KILL", "DEBUG"]),
    ("FUNCTION", &["KILL"]),
    ("SLOWLOG", &["RESET"]),
    ("COMMANDLOG", &["RESET"]),
    ("LATENCY", &["RESET"]),
    ("MEMORY", &["PURGE"]),
];
/// Subcommands of `CLIENT` that change the replies of their connection.
const CONNECTION_BY_WORD: &[&str] = &["REPLY", "TRACKING", "CACHING", "NO-EVICT", "NO-TOUCH"];
/// Commands that wait only if an option asks for it.
const STREAMS: &[&str] = &["XREAD", "XREADGROUP"];
fn administers(event: &Event) -> bool {
    let by_word = || {
        let mut all = ADMINISTRATION_BY_WORD.iter();
        all.any(|(name, words)| event.is(name) && event.is_one_of(1, words))
    };
    Command::for_event(event).has(Property::Administers) || by_word()
}

/// Returns whether the script of a command was not recorded.
fn lacks_script(event: &Event) -> bool {
    let lacks = |at: usize| event.argument(at).is_some_and(|argument| argument.bytes.is_none());
    let loads = event.is("SCRIPT") || event.is("FUNCTION");
    Command::for_event(event).has(Property::RunsScript) && lacks(1)
        || loads && (1..event.len()).any(lacks)
}

/// Returns whether a load of single commands can include this command: a replay sends it, it does not block,
/// and it is part of no transaction.
pub fn stands_alone(event: &Event) -> bool {
    Role::for_event(event) == Role::Sent
        && !Command::for_event(event).has(Property::FramesTransaction)
}

impl Role {
    /// Returns the role of an event with arguments.
    pub(crate) fn for_event(event: &Event) -> Self {
        if event.flags.has(Flags::SCRIPT_EFFECT) {
            return Self::LeftOut(Reason::ScriptEffect);
        }
        let command = Command::for_event(event);
        let is_dumb = event.is("CLIENT") && event.is_one_of(1, CONNECTION_BY_WORD);
        if event.is("SELECT") {
            Self::Select
        } else if event.name().is_empty() || lacks_script(event) {
            Self::LeftOut(Reason::Unrecorded)
        } else if is_dumb || command.has(Property::OfRecordedConnection) {
            Self::LeftOut(Reason::Connection)
        } else if command.has(Property::Subscribes) || command.has(Property::MakesLog) {
            Self::LeftOut(Reason::Subscription)
        } else if administers(event) {
            Self::LeftOut(Reason::Administration)
        } else if command.has(Property::Blocks)
            && (!event.is_one_of(0, STREAMS)
                || (1..event.len()).any(|at| event.is_one_of(at, &["BLOCK"])))
        {
            Self::Blocks
        } else {
            Self::Sent
        }
    }
}

/// Returns whether this command depends on earlier commands of its connection, so that its client needs a
/// connection of its own.
pub(crate) fn is_of_session(event: &Event, role: Role) -> bool {
    role == Role::Blocks || Command::for_event(event).has(Property::FramesTransaction)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(words: &str) -> Event {
        let mut event = Event::default();
        words.split(' ').for_each(|word| match word {
            "?" => event.push_size(10, 0),
            word => event.push(word.as_bytes()),
        });
        event
    }

    #[test]
    fn what_stands_alone_is_sent_and_depends_on_nothing_before() {
        for words in [
            "CLIENT SETNAME kill",
            "SLOWLOG GET",
            "GET k",
            "set k ?",
            "EVAL return(1) 0",
            "XREAD STREAMS s 0",
            "JSON.SET k ? ?",
        ] {
            assert!(stands_alone(&event(words)), "{words}");
        }
        for words in [
            "AUTH ?",
            "SELECT 3",
            "CLIENT REPLY OFF",
            "SUBSCRIBE c",
            "MONITOR",
            "CONFIG SET a b",
            "shutdown",
            "MULTI",
            "WATCH k",
            "BLPOP k 0",
            "XREAD BLOCK 0 STREAMS s $",
            "WAIT 1 0",
            "EVAL ? 0",
            "SCRIPT LOAD ?",
            "CLIENT KILL TYPE normal",
            "client pause 2000",
            "CLIENT TRACKING ON",
            "SLOWLOG RESET",
            "FUNCTION KILL",
        ] {
            assert!(!stands_alone(&event(words)), "{words}");
        }
        assert_eq!(Role::for_event(&event("EVALSHA ? 0")), Role::LeftOut(Reason::Unrecorded));
    }
}
