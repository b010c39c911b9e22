//! Queues, and by which commands their receivers take messages.

use serde::{Deserialize, Serialize};

use crate::Named;

/// A data type that keeps messages until a receiver takes them, and how it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Queue {
    /// Lists: one of those who wait gets each message.
    List {
        /// Command of the senders.
        push: ListPush,
        /// Command of the receivers.
        pop: ListPop,
    },
    /// Sorted sets: one of those who wait gets each message.
    SortedSet {
        /// Command of the receivers.
        pop: SortedSetPop,
        /// Set if members differ in more than their messages: their order then is not that of their senders.
        #[serde(default)]
        mixed: bool,
    },
    /// Streams: every reader gets each message, or one of each group does.
    Stream {
        /// Groups, among which the receivers are shared out in turn; 0 is XREAD, by which each gets all.
        groups: u32,
        /// Way in which consumers of a group acknowledge.
        ack: StreamAck,
        /// Nanoseconds after which a consumer takes over what others had and did not acknowledge; 0 is never.
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
    /// BLMOVE of the oldest to a list of the receiver's own, and LREM from there.
    Blmove,
    /// LPOP of one list after another, and again after a pause when all were empty.
    Lpop,
    /// RPOP, in the way of [`Self::Lpop`].
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
    /// Not at all: they read with NOACK.
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
    /// Returns whether it waits for nothing, so that receivers look from time to time.
    #[must_use]
    pub fn polls(self) -> bool {
        matches!(self, Self::Lpop | Self::Rpop)
    }

    /// Returns whether it takes from the left end, the head, of a list with these senders.
    #[must_use]
    pub fn takes_left(self, push: ListPush) -> bool {
        match self {
            Self::Blpop | Self::Lpop => true,
            Self::Brpop | Self::Rpop => false,
            Self::Blmpop | Self::Blmove => push == ListPush::Rpush,
        }
    }
}

impl Queue {
    /// Consumer groups; 0 where every receiver gets each message, 1 of a list or a sorted set.
    #[must_use]
    pub fn groups(self) -> u32 {
        if let Self::Stream { groups, .. } = self { groups } else { 1 }
    }

    /// Names that a server has for the commands that receivers send while load runs.
    #[must_use]
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
