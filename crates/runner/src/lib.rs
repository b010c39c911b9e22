//! Plan to measurement.
//!
//! [`run`] carries out one [`Plan`](workload::Plan): it starts the workers, each with an engine,
//! its connections and a tally of its own, and adds up what they saw. [`hold_idle`] only holds
//! connections.
//!
//! The only place where `workload`, `wire`, `engine` and `measure` meet. What the figures mean is
//! `report`'s business; asking the server about itself, `host`'s.

mod carrier;
mod cluster;
mod collect;
mod destination;
mod engines;
mod explain;
mod flight;
mod gate;
mod idle;
mod launch;
mod memory;
mod opening;
mod prelude;
mod recorder;
mod reopening;
#[cfg(test)]
mod replay;
mod session;
mod spin;
mod standing;
mod worker;

pub use cluster::{ClusterJob, Refresh};
pub use collect::{Observer, Snapshot};
pub use destination::Resolver;
pub use idle::hold_idle;
pub use launch::{Job, run};
pub use memory::check_memory;
pub use standing::Standing;

/// Length of an interval of the timeline: how often the live line moves.
pub const INTERVAL_NS: u64 = 250_000_000;

/// Why a worker cannot go on, in words for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fatal(pub(crate) String);
