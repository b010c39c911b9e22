//! Recorded traffic as a source of requests: read ahead on a thread of its own, in blocks, each of one worker.
//!
//! Whoever knows the format of a record gives it to a run as a [`Record`]. [`feed`] reads it and shares out its
//! commands by connection, [`source`] is what a worker draws from, and which connection sends when is the route's
//! business.

pub(crate) mod blocked;
pub(crate) mod feed;
pub(crate) mod source;

/// Traffic that was recorded, and can be read once for each run.
pub trait Record: Sync {
    /// Begins to read it.
    ///
    /// # Errors
    /// Why it cannot be read.
    fn commands(&self) -> Result<Box<dyn RecordedCommands + Send + '_>, String>;
}

/// The commands of a record, in the order in which they are due.
pub trait RecordedCommands {
    /// Appends the next command to `bytes`, as it is sent, and says whose it is and when it is due. `None` at the end.
    ///
    /// # Errors
    /// Why it cannot be read any further.
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
    /// The database that it is for.
    pub db: u32,
    /// Set if its reply may wait for another client, as that of `BLPOP` does: its time is no latency.
    pub blocks: bool,
    /// The slot of its keys, where it is sent to a cluster; `None` of one that any node answers.
    pub slot: Option<u16>,
    /// Set if the command is part of a transaction, so that it goes nowhere else by itself.
    pub bound: bool,
}
