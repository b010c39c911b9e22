//! Load on a cluster: each command goes to the node that owns its key's slot.
//!
//! A worker draws commands from the one stream, puts each into the lane of its node ([`lanes`]),
//! and the connections of that node take them from there, up to a pipeline at once. So `-c`
//! connections carry the load in all, as without a cluster, and a pipeline never mixes nodes.
//! Who owns a slot is [`router`]'s knowledge; what a node sends elsewhere, [`redirect`]'s concern.

mod balance;
mod lanes;
mod link;
mod mend;
mod receive;
mod redirect;
mod router;
mod send;
mod watch;
mod worker;

use std::fmt;
use std::net::SocketAddr;

use wire::cluster::{Routing, Topology};

pub(crate) use watch::{StopWatch, Watch};
pub(crate) use worker::ClusterWorker;

/// Asks one of these nodes what the cluster has become. Called on a thread of its own.
pub type Refresh<'r> = &'r (dyn Fn(&[SocketAddr]) -> Option<Topology> + Sync);

/// What a run on a cluster needs beyond its plan.
#[derive(Clone, Copy)]
pub struct ClusterJob<'r> {
    /// The nodes, their hosts resolved.
    pub topology: &'r Topology,
    /// Where each command of the sequence has its key.
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
