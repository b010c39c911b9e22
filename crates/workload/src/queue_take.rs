//! By which commands the receivers of queues take their messages.

use serde::{Deserialize, Serialize};

/// How messages are read from a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamTake {
    /// Groups, among which the receivers are shared out in turn; 0 is XREAD, by which each gets all.
    pub groups: u32,
    /// Most entries that one call takes.
    pub count: u32,
    /// How consumers of a group acknowledge.
    pub ack: StreamAck,
    /// Nanoseconds after which a consumer takes over what others had and did not acknowledge; 0 is never.
    pub claim_ns: u64,
}

/// How consumers of a group acknowledge.
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

/// How messages are taken off a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListTake {
    /// By which commands.
    pub by: ListPop,
    /// At the left end, the head.
    pub from_left: bool,
    /// Whether senders put them there.
    pub pushed_left: bool,
}

/// Commands that wait for an element of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ListPop {
    /// BLPOP or BRPOP.
    Pop,
    /// BLMOVE to a list of the receiver's own, and LREM from there.
    Move,
    /// BLMPOP.
    MultiPop,
    /// LPOP or RPOP of one list after another, and again after a pause when all were empty. Waits are these pauses.
    Poll,
}

/// How messages are taken out of a sorted set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SortedSetTake {
    /// By BZMPOP instead of BZPOPMIN or BZPOPMAX.
    pub multi: bool,
    /// The greatest first.
    pub max: bool,
    /// Whether members differ in more than their messages: their order then is not that of their senders.
    #[serde(default)]
    pub mixed: bool,
}
