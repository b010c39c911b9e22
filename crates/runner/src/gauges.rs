//! State of a worker, reported with each interval.
//!
//! Says what a histogram of replies cannot: the requests under way and their cost. The worker itself measures
//! it a few times a second, so nobody has to ask for it.

use serde::{Deserialize, Serialize};

/// State of a worker at the end of an interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gauges {
    /// CPU time of the thread since load began, in nanoseconds.
    pub cpu_ns: u64,
    /// Requests sent and not answered.
    pub in_flight: u64,
    /// Requests that are due and unsent; an expectation if arrivals are random. `None` in a closed loop,
    /// which has no due times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backlog: Option<u64>,
    /// Connections that are open and ready.
    pub connections: u32,
}
