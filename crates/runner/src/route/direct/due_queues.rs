//! Requests of a source that wait for their connection, on one server.

use std::collections::VecDeque;

use workload::Plan;

/// Queues, by connection, of requests that are due and not sent, and the database of each connection.
pub(super) struct DueQueues {
    /// Numbers of the source's requests.
    pub(super) numbers: Vec<VecDeque<u64>>,
    pub(super) dbs: Vec<u32>,
    /// Number of waiting requests.
    pub(super) len: u64,
    /// The database that the handshake selects.
    pub(super) first_db: u32,
    /// Time of the last sending.
    pub(super) sent_ns: u64,
}

impl DueQueues {
    /// Returns empty queues for the connections of a worker; none in a plan without a source.
    pub(super) fn new(plan: &Plan, connections: u32) -> Self {
        let connections = if plan.has_source() { connections as usize } else { 0 };
        let first_db = plan.target.db;
        Self {
            numbers: vec![VecDeque::new(); connections],
            dbs: vec![first_db; connections],
            len: 0,
            first_db,
            sent_ns: 0,
        }
    }
}
