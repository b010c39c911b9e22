//! Facts of a record that hold for all of its events.

use serde::Serialize;

/// Protocol of the recorded clients.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Protocol {
    /// Commands of Redis and Valkey.
    #[default]
    Resp,
    /// Commands of memcached, in the form described at [`crate::Event`].
    Memcache,
}

/// Moment that the time of an event marks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Stamps {
    /// The command arrived at the server.
    Arrival,
    /// The server had carried the command out: a stall of it is a gap and then a burst that no client sent.
    #[default]
    Completion,
    /// Any moment of the recorded second, over which its events are spread evenly.
    Second,
    /// None: the record has no times, or they are too coarse for replay. Times are then 0 or repeat.
    None,
}

/// Origin of times.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Clock {
    /// The year 1970, by the recorded server's clock.
    #[default]
    Unix,
    /// An unknown origin.
    Relative,
}

/// Facts that hold for all events of a record.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Source {
    /// The name of its format, a row of [`crate::FORMATS`].
    pub format: &'static str,
    /// Protocol that its clients spoke.
    pub protocol: Protocol,
    /// Moment that times mark.
    pub stamps: Stamps,
    /// Origin of times.
    pub clock: Clock,
    /// Set if the record has only effects of commands, and only writes, as in an append-only file.
    pub is_effects: bool,
    /// Set if clients have the same numbers in all files of one record, as for a Dragonfly process.
    pub shares_clients: bool,
    /// The recorded servers, as `host:port`, if known.
    pub servers: Vec<String>,
    /// Recorded share of clients or keys, from 0 to 1, if not all.
    pub sampled: Option<f64>,
    /// Notes on the reader's omissions and assumptions, as sentences without a full stop.
    pub notes: Vec<String>,
}
