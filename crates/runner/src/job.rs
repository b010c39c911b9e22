//! Jobs of the runner: a plan, its servers, and what it needs from outside.

use std::ops::RangeInclusive;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant, SystemTime};

use engine::{Address, TlsContext};
use workload::{Plan, RequestSource};

use crate::destination::{Destination, Resolver};
use crate::gate::GateOpening;
use crate::password::PasswordSource;
use crate::route::cluster::{ClusterJob, TopologyWatch};
use crate::route::ring::RingJob;
use crate::{Barrier, LiveRate};

/// A plan, its target, and the outside parts that it needs.
#[derive(Clone)]
pub struct RunJob<'r> {
    /// The plan.
    pub plan: &'r Plan,
    /// Resolved address of the target.
    pub address: &'r Address,
    /// Resolved addresses of the receivers, if the plan names separate ones.
    pub receivers_at: Vec<Address>,
    /// Source of the current password, if each login asks for it.
    pub password: Option<&'r dyn PasswordSource>,
    /// Resolver of the address, if the address may change.
    pub resolver: Option<&'r dyn Resolver>,
    /// TLS for every connection, made from the plan's options; `None` without TLS.
    pub tls: Option<&'r TlsContext>,
    /// Local ports that this machine connects from, if known.
    pub local_ports: Option<RangeInclusive<u16>>,
    /// Start of the load.
    pub start: Start<'r>,
    /// The servers, if there are several.
    pub several: Option<ServerSet<'r>>,
    /// Source of the plan's requests, if they do not derive from the plan.
    pub source: Option<&'r dyn RequestSource>,
    /// Rate of the load, if it may change during the run.
    pub rate: Option<&'r LiveRate>,
    /// Set to end the run early.
    pub interrupted: &'r AtomicBool,
}

/// Several servers.
#[derive(Debug, Clone, Copy)]
pub enum ServerSet<'r> {
    /// A Redis Cluster: its nodes and their topology.
    Cluster(ClusterJob<'r>),
    /// Independent servers, each with a part of the keys.
    Ring(RingJob<'r>),
    /// Interchangeable servers at these addresses.
    Pool(&'r [Address]),
}

/// Time at which load starts.
#[derive(Clone, Copy)]
pub enum Start<'r> {
    /// As soon as all connections are open.
    Ready,
    /// At an agreed instant; a run that is not ready by then fails.
    At(SystemTime),
    /// Upon release of the barrier.
    Released(&'r Barrier),
}

impl<'r> RunJob<'r> {
    /// Returns the cluster of the run, if there is one.
    pub(crate) fn cluster(&self) -> Option<ClusterJob<'r>> {
        let Some(ServerSet::Cluster(cluster)) = self.several else { return None };
        Some(cluster)
    }

    /// Returns the parts that keep server addresses current while load runs.
    pub(crate) fn whereabouts(&self) -> (Destination, Option<TopologyWatch>) {
        let watch = self.cluster().map(|cluster| TopologyWatch::new(cluster.topology));
        (Destination::new(self.address, self.resolver.is_some()), watch)
    }
}

impl<'r> Start<'r> {
    pub(crate) fn opens(self, origin: Instant) -> GateOpening<'r> {
        match self {
            Start::Ready => GateOpening::AtOnce,
            Start::At(instant) => GateOpening::At(on_clock(instant, origin)),
            Start::Released(barrier) => GateOpening::Released(barrier, origin),
        }
    }
}

/// Converts wall-clock time to the engines' clock, which began at `origin`; negative for an earlier instant.
fn on_clock(instant: SystemTime, origin: Instant) -> i64 {
    let ns = |time: Duration| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
    let (now, now_ns) = (SystemTime::now(), ns(origin.elapsed()));
    match instant.duration_since(now) {
        Ok(ahead) => now_ns.saturating_add(ns(ahead)),
        Err(behind) => now_ns.saturating_sub(ns(behind.duration())),
    }
}
