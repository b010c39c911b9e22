//! Carries out plans and returns measurements.
//!
//! [`run`] carries out one [`Plan`](workload::Plan): it starts the workers, each with its own engine,
//! connections and tally, and adds up their figures. [`hold_idle`] only holds connections.
//!
//! The only crate in which `workload`, `wire`, `engine` and `measure` meet. `report` interprets the figures;
//! `host` asks the server about itself.

mod barrier;
mod collect;
mod concrete;
mod connection;
mod delivery;
mod destination;
mod engines;
mod explain;
mod failed;
mod gate;
mod gauges;
mod handshake;
mod idle;
mod job;
mod launch;
mod ledger;
mod live_rate;
mod measurement;
mod memory;
mod messages;
mod opening;
mod password;
mod pinning;
mod recorder;
mod reopening;
#[cfg(test)]
mod replay;
mod request;
mod route;
mod source;
mod spin;
mod thread_clocks;
mod worker;

pub use barrier::{Barrier, ExchangeObserver, Progress, ReceivedPage};
pub use collect::{NoObserver, Observer, Snapshot};
pub use destination::Resolver;
pub use failed::{FailedRequest, FailedRequests};
pub use gauges::Gauges;
pub use idle::hold_idle;
pub use job::{RunJob, ServerSet, Start};
pub use launch::run;
pub use live_rate::LiveRate;
pub use measurement::tally_shape;
pub use memory::check_memory;
pub use password::{LoginPassword, PasswordSource};
pub use route::cluster::{ClusterJob, Refresh};
pub use route::ring::{RingJob, RingServer};

/// Length of an interval of the timeline: how often the live line moves.
pub const INTERVAL_NS: u64 = 250_000_000;

/// Reason why a worker cannot go on.
pub(crate) use measure::Failure as Fatal;
