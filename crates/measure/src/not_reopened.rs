//! Lost connections that were not open again when a run ended, and why the last attempt failed.
//!
//! One entry for each server, so that what is kept is bounded by how many there are, however often each is tried.

/// Lost connections to one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotReopened {
    /// The server, as reports name it.
    pub server: String,
    /// How many connections; at least 1.
    pub connections: u64,
    /// Why the last attempt to open one of them failed: one line, without passwords.
    pub reason: String,
}

/// Adds connections, to those of the same server if there are any. The reason that was there first stays.
pub(crate) fn add(all: &mut Vec<NotReopened>, more: &NotReopened) {
    match all.iter_mut().find(|one| one.server == more.server) {
        Some(one) => one.connections = one.connections.saturating_add(more.connections),
        None => all.push(more.clone()),
    }
}
