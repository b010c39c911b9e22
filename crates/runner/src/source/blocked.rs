//! Requests of a source that wait for other clients, and the limit on their wait.

use crate::connection::{Connection, State};

/// Longest wait for blocked commands when nothing else is left.
pub(crate) const BLOCKED_MAX_NS: u64 = 1_000_000_000;

/// Returns whether the oldest command of a connection waits for another client and has exceeded that limit.
pub(crate) fn is_blocked<D, M: Copy, L>(connection: &Connection<D, M, L>, now_ns: u64) -> bool {
    let requests = &connection.requests;
    connection.state == State::Ready
        && requests.oldest_is_unmeasured()
        && requests.oldest_ns().is_some_and(|ns| now_ns > ns.saturating_add(BLOCKED_MAX_NS))
}
