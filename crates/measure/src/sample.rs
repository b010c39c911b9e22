//! Samples of requests, and the shape of the tallies that count them.

/// Outcome of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// A value, a status or a collection.
    Ok,
    /// A null: the key did not exist.
    Miss,
}

/// Replies that were settled together: one for a single request, more when one read delivered several replies
/// to one send.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// Index of the command among the different commands of the plan's sequence.
    pub command: usize,
    /// Outcome of the replies.
    pub outcome: Outcome,
    /// Number of replies, at least 1.
    pub count: u64,
    /// Bytes of the replies, if they are counted by command.
    pub bytes: u64,
    /// Time at which the requests were due: by the schedule, or in a closed loop when they were sent.
    pub intended_ns: u64,
    /// Time at which their bytes were handed to the kernel.
    pub sent_ns: u64,
    /// Time at which the first byte of the replies to that send was read.
    pub first_byte_ns: u64,
    /// Time at which the last bytes of the read that completed the reply arrived in the client's kernel, if
    /// it stamps them.
    pub arrived_ns: Option<u64>,
    /// Time at which the read that delivered the last byte of the reply returned.
    pub done_ns: u64,
}

/// Choice of the histograms that a tally keeps.
#[derive(Debug, Clone, Copy)]
pub struct TallyShape {
    /// Different commands of the sequence.
    pub commands: usize,
    /// Significant digits, 1 to 5.
    pub precision: u8,
    /// Set if requests have due times of their own (an open loop). In a closed loop response time is service
    /// time, and is not recorded twice.
    pub scheduled: bool,
    /// Set if the latency to the first byte is recorded.
    pub first_byte: bool,
    /// Number of operations with figures beside those of their commands; 0 if commands suffice.
    pub operations: usize,
    /// Set if latencies of misses and errors are kept separate. Otherwise misses are with the other
    /// latencies, and errors have none. First bytes of misses are with the others either way.
    pub separate_failures: bool,
    /// Maximum number of items of a reply for which hits are counted one by one; 0 if they are not.
    pub places: usize,
    /// Set if the kernel stamps the arrival of replies.
    pub spans: bool,
    /// Deadline in nanoseconds, if there is one.
    pub deadline_ns: Option<u64>,
}
