//! What a run on a cluster needs beyond its plan.

use std::fmt;
use std::net::SocketAddr;

use wire::cluster::{Routing, Topology};

/// Asks one of these nodes what the cluster has become. Called on a thread of its own.
pub type Refresh<'r> = &'r (dyn Fn(&[SocketAddr]) -> Option<Topology> + Sync);

/// The topology of a cluster and how to ask for it again.
#[derive(Clone, Copy)]
pub struct ClusterJob<'r> {
    /// The nodes, their hosts resolved.
    pub topology: &'r Topology,
    /// Place of the key in each command of the sequence.
    pub routings: &'r [Routing],
    /// Looks at the cluster again, when a node is gone or slots have moved.
    pub refresh: Refresh<'r>,
}

impl fmt::Debug for ClusterJob<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { topology, routings, refresh: _ } = self;
        f.debug_struct("ClusterJob")
            .field("topology", topology)
            .field("routings", routings)
            .finish_non_exhaustive()
    }
}
