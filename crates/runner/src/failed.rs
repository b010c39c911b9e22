//! List of single requests that failed for good, if the plan asks for it.
//!
//! Bounded: a server that refuses everything produces more failures than anybody reads.

use std::time::SystemTime;

/// A request that failed for good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedRequest {
    /// Time at which the failure was known.
    pub at: SystemTime,
    /// The name of its command.
    pub command: String,
    /// First key of the request; empty if it has none.
    pub key: Vec<u8>,
    /// Error reply without passwords, or another reason of the failure.
    pub why: String,
    /// Number of retries.
    pub retries: u32,
}

/// Failed requests of an interval.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FailedRequests {
    /// Failed requests, in the order in which they failed.
    pub list: Vec<FailedRequest>,
    /// Number of further failed requests, which the list leaves out.
    pub left_out: u64,
}

/// Maximum number of entries kept for each worker in each interval.
const MOST: usize = 1 << 16;

impl FailedRequests {
    pub(crate) fn push(&mut self, failed: FailedRequest) {
        if self.list.len() < MOST {
            self.list.push(failed);
        } else {
            self.left_out += 1;
        }
    }

    /// Returns whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}
