//! Where a worker stands, as it says with each interval that it hands over.
//!
//! What a histogram of replies cannot tell: what is under way, and what it costs. Looked at a few
//! times a second, by the worker itself, so that nobody has to ask it.

/// State of a worker at the end of an interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Gauges {
    /// CPU time of the thread since load began, in nanoseconds.
    pub cpu_ns: u64,
    /// Requests sent and not answered.
    pub in_flight: u64,
    /// Requests that are due and not sent; an expectation if arrivals are random. `None` in a
    /// closed loop, where nothing is due at a time of its own.
    pub backlog: Option<u64>,
    /// Connections that are open and ready.
    pub connections: u32,
}
