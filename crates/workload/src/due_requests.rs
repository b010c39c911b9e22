//! Requests that come from outside a plan, with due times and connections of their own.
//!
//! Owns what a run asks of their source. Code that has such requests implements [`RequestSource`]; their bytes
//! are ready to be sent.

/// Requests of a plan that come from outside it, readable once for each run.
pub trait RequestSource: Sync {
    /// Begins to read the requests.
    ///
    /// # Errors
    /// Returns the reason why they cannot be read.
    fn requests(&self) -> Result<Box<dyn DueRequests + Send + '_>, String>;
}

/// Requests in the order in which they are due.
pub trait DueRequests {
    /// Appends the bytes of the next request to `bytes` and returns its connection and due time. `None` at
    /// the end.
    ///
    /// # Errors
    /// Returns the reason why reading stopped.
    fn next(&mut self, bytes: &mut Vec<u8>) -> Result<Option<DueRequest>, String>;
}

/// A request of a source, without its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DueRequest {
    /// Due time, in nanoseconds from the start of load.
    pub due_ns: u64,
    /// Connection of the plan that sends it.
    pub connection: u32,
    /// Number of its command in the plan's sequence.
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
