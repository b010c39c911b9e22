//! Queues, and the commands with which their receivers take messages.

use serde::{Deserialize, Serialize};

use crate::Named;

/// A data type that keeps messages until a receiver takes them, and its commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Queue {
    /// Lists: one waiting receiver gets each message.
    List {
        /// Command of the senders.
        push: ListPush,
        /// Command of the receivers.
        pop: ListPop,
    },
    /// Sorted sets: one waiting receiver gets each message.
    SortedSet {
        /// Command of the receivers.
        pop: SortedSetPop,
        /// Set if members differ in more than their messages, so that their order is not their senders'.
        #[serde(default)]
        mixed: bool,
    },
    /// Streams: every reader gets each message, or one reader of each group.
    Stream {
        /// Number of groups, which receivers join in turn; 0 is XREAD, with which each reader gets all.
        groups: u32,
        /// Way in which consumers of a group acknowledge.
        ack: StreamAck,
        /// Nanoseconds after which a consumer takes over others' unacknowledged messages; 0 for never.
        claim_ns: u64,
    },
}

/// Commands that put a message into a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ListPush {
    /// LPUSH.
    Lpush,
    /// RPUSH.
    Rpush,
}

/// Commands that take a message off a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ListPop {
    /// BRPOP.
    Brpop,
    /// BLPOP.
    Blpop,
    /// BLMPOP of the oldest.
    Blmpop,
    /// BLMOVE of the oldest to the receiver's own list, and LREM from there.
    Blmove,
    /// LPOP of one list after another, and again after a pause when all were empty.
    Lpop,
    /// RPOP, like [`Self::Lpop`].
    Rpop,
}

/// Commands that take a message out of a sorted set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SortedSetPop {
    /// BZPOPMIN.
    Bzpopmin,
    /// BZPOPMAX.
    Bzpopmax,
    /// BZMPOP of the least.
    Bzmpop,
}

/// Way in which consumers of a group acknowledge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StreamAck {
    /// By XACK.
    Xack,
    /// By XACKDEL, which deletes what all groups have acknowledged.
    Xackdel,
    /// None: they read with NOACK.
    Noack,
}

impl Named for ListPush {
    const NAMES: &'static [(Self, &'static str)] =
        &[(Self::Lpush, "lpush"), (Self::Rpush, "rpush")];
}

impl Named for ListPop {
    const NAMES: &'static [(Self, &'static str)] = &[
        (Self::Brpop, "brpop"),
        (Self::Blpop, "blpop"),
        (Self::Blmpop, "blmpop"),
        (Self::Blmove, "blmove"),
        (Self::Lpop, "lpop"),
        (Self::Rpop, "rpop"),
    ];
}

impl Named for SortedSetPop {
    const NAMES: &'static [(Self, &'static str)] =
        &[(Self::Bzpopmin, "bzpopmin"), (Self::Bzpopmax, "bzpopmax"), (Self::Bzmpop, "bzmpop")];
}

impl Named for StreamAck {
    const NAMES: &'static [(Self, &'static str)] =
        &[(Self::Xack, "xack"), (Self::Xackdel, "xackdel"), (Self::Noack, "noack")];
}

impl ListPop {
    /// Returns whether it blocks on nothing, so that receivers poll.
    pub fn polls(self) -> bool {
        matches!(self, Self::Lpop | Self::Rpop)
    }

    /// Returns whether it takes from the left end, the head, of a list with these senders.
    pub fn takes_left(self, push: ListPush) -> bool {
        match self {
            Self::Blpop | Self::Lpop => true,
            Self::Brpop | Self::Rpop => false,
            Self::Blmpop | Self::Blmove => push == ListPush::Rpush,
        }
    }
}

impl Queue {
    /// Number of consumer groups; 0 if every receiver gets each message, 1 for a list or a sorted set.
    pub fn groups(self) -> u32 {
        if let Self::Stream { groups, .. } = self { groups } else { 1 }
    }

    /// Server's names of the receivers' commands while load runs.
    pub fn receiver_commands(self) -> &'static [&'static str] {
        match self {
            Self::List { .. } => &[
                "brpop", "blpop", "blmpop", "blmove", "lpop", "rpop", "lmove", "lrem", "ping",
                "llen", "unlink",
            ],
            Self::SortedSet { .. } => {
                &["bzpopmin", "bzpopmax", "bzmpop", "ping", "zcard", "unlink"]
            }
            Self::Stream { .. } => &[
                "xread",
                "xreadgroup",
                "xack",
                "xackdel",
                "xautoclaim",
                "xgroup",
                "xpending",
                "ping",
                "unlink",
            ],
        }
    }
}
