//! What a record is of: facts that hold for all of its events.

/// Protocol of the recorded clients.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Protocol {
    /// Commands of Redis and Valkey.
    #[default]
    Resp,
    /// Commands of memcached, in the form that [`crate::Event`] describes.
    Memcache,
}

/// Moment that the time of an event marks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Stamps {
    /// The command arrived at the server.
    Arrival,
    /// The server had carried the command out: a stall of it is a gap and then a burst that no client sent.
    #[default]
    Completion,
    /// Some moment of the second that was recorded: its events are spread evenly over it.
    Second,
    /// Nothing: the record has no times, or they are too coarse to send by. Times are then 0 or repeat.
    None,
}

/// From where times count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Clock {
    /// From 1970, by the clock of the recorded server.
    #[default]
    Unix,
    /// From an origin that the record does not say.
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
    /// From where times count.
    pub clock: Clock,
    /// Set if only the effects of commands are there, and only of writes, as in an append-only file.
    pub is_effects: bool,
    /// Set if clients have the same numbers in all files of one record, as those of a Dragonfly process.
    pub shares_clients: bool,
    /// The servers that were recorded, as `host:port`, where the record says so.
    pub servers: Vec<String>,
    /// The share of clients or keys that was recorded, from 0 to 1, if not all.
    pub sampled: Option<f64>,
    /// Notes on what the reader left out or assumed, as sentences without a full stop.
    pub notes: Vec<String>,
}
