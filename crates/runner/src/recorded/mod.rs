//! Recorded traffic as a source of requests: read ahead by a separate thread, in blocks that each belong to
//! one worker.
//!
//! Code that knows the format of a record implements [`Record`] for it. [`feed`] reads the record and
//! distributes its commands by connection, and workers draw from a [`source`]. The route decides which
//! connection sends when.

pub(crate) mod blocked;
pub(crate) mod feed;
pub(crate) mod source;

/// Recorded traffic, readable once for each run.
pub trait Record: Sync {
    /// Begins to read the record.
    ///
    /// # Errors
    /// Returns the reason why it cannot be read.
    fn commands(&self) -> Result<Box<dyn RecordedCommands + Send + '_>, String>;
}

/// The commands of a record, in the order in which they are due.
pub trait RecordedCommands {
    /// Appends the bytes of the next command to `bytes` and returns its connection and due time. `None` at
    /// the end.
    ///
    /// # Errors
    /// Returns the reason why reading stopped.
    fn next(&mut self, bytes: &mut Vec<u8>) -> Result<Option<RecordedCommand>, String>;
}

/// A command of a record, without its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordedCommand {
    /// Due time, in nanoseconds from the start of load.
    pub due_ns: u64,
    /// Connection of the plan that sends it.
    pub connection: u32,
    /// Number of the command in the plan's sequence.
    pub command: u32,
    /// Database of the command.
    pub db: u32,
    /// Set if its reply may wait for another client, as with `BLPOP`: that time is no latency.
    pub blocks: bool,
    /// Slot of its keys in a cluster; `None` if any node may answer.
    pub slot: Option<u16>,
    /// Set if the command is part of a transaction and cannot be redirected alone.
    pub bound: bool,
}
