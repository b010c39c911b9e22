//! Recorded commands that wait for other clients, and how long they are waited for.

use crate::connection::{Connection, State};

/// Time for which blocked commands are waited for when nothing else is left.
pub(crate) const BLOCKED_MAX_NS: u64 = 1_000_000_000;

/// Returns whether the oldest command of a connection waits for another client, for longer than it is waited for.
pub(crate) fn is_blocked<D, M: Copy, L>(connection: &Connection<D, M, L>, now_ns: u64) -> bool {
    let requests = &connection.requests;
    connection.state == State::Ready
        && requests.oldest_is_unmeasured()
        && requests.oldest_ns().is_some_and(|ns| now_ns > ns.saturating_add(BLOCKED_MAX_NS))
}
