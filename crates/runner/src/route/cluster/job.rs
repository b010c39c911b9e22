//! Inputs of a run on a cluster beyond its plan.

use std::fmt;
use std::net::SocketAddr;

use wire::cluster::{Routing, Topology};

/// Asks one of these nodes for the current topology. Called on a separate thread.
pub type Refresh<'r> = &'r (dyn Fn(&[SocketAddr]) -> Option<Topology> + Sync);

/// The topology of a cluster and how to ask for it again.
#[derive(Clone, Copy)]
pub struct ClusterJob<'r> {
    /// The topology, with resolved addresses.
    pub topology: &'r Topology,
    /// Place of the key in each command of the sequence.
    pub routings: &'r [Routing],
    /// Asks for the topology again, when a node is absent or slots have moved.
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
