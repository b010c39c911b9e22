//! Requests of the route to a cluster, and the notes about them.

use crate::request::Request;
use crate::route::by_node::Lane;

/// A command, or an indivisible sequence, on its way to a reply.
pub(crate) type ClusterRequest = Request<Mark>;

/// Note about a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Index of its first command in the sequence, and number of its commands.
    pub(super) first: u32,
    pub(super) commands: u32,
    /// Client of the request, where each has its own connections; 0 otherwise.
    pub(super) client: u32,
    /// Number of redirects and retries.
    pub(super) tries: u32,
    /// Slot of its key, if it has a key.
    pub(super) slot: Option<u16>,
    /// Set if a replica may answer.
    pub(super) read_only: bool,
    /// Set if `ASKING` precedes its commands, with a reply of its own.
    pub(super) asking: bool,
    /// Index plus 1 of the last command that a reply to `ASKING` came for; 0 before.
    pub(super) asked: u32,
    /// Set while it waits to be sent again.
    pub(super) delayed: bool,
    /// Set for part of a transaction of a source, for which a redirect is a result, as it is to the original
    /// client.
    pub(super) bound: bool,
}

impl Mark {
    /// Returns the note of `commands` commands of the sequence, not sent yet.
    #[inline]
    pub(super) fn new(first: u32, commands: u32, client: u32) -> Self {
        Self {
            first,
            commands,
            client,
            tries: 0,
            slot: None,
            read_only: false,
            asking: false,
            asked: 0,
            delayed: false,
            bound: false,
        }
    }

    /// Queue in which it waits for this node.
    #[inline]
    pub(super) fn lane(&self, node: u16) -> Lane {
        Lane { node, client: self.client }
    }

    /// Returns whether it was sent before and came back for a redirect or retry.
    #[inline]
    pub(super) fn was_sent(&self) -> bool {
        self.tries > 0
    }
}

impl ClusterRequest {
    /// Returns whether any node has seen it.
    pub(super) fn was_ever_sent(&self) -> bool {
        self.mark.was_sent() || self.progress.retries > 0
    }
}
