//! Watch of the cluster's topology while load runs, beside the workers.
//!
//! A worker that notices a change requests a look and continues. A thread then asks the nodes, which may take
//! a while, and publishes the result; workers notice a version number that has grown.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use measure::Tenure;
use wire::cluster::Topology;

use super::Refresh;
use super::ownership::{ClusterView, Ownership};

/// Minimum time between two looks at the topology, and their interval while a node is absent.
const EVERY: Duration = Duration::from_millis(100);

/// State shared by the workers of a run and the thread that asks.
#[derive(Debug)]
pub(crate) struct TopologyWatch {
    wanted: Mutex<WatchRequest>,
    changed: Condvar,
    version: AtomicU64,
    latest: Mutex<Arc<Topology>>,
    asked: AtomicBool,
    /// Names of all nodes that any worker has heard of, in that order.
    names: Mutex<Vec<String>>,
    ownership: Mutex<Ownership>,
}

#[derive(Debug, Default)]
struct WatchRequest {
    look: bool,
    stop: bool,
}

/// Ends the watch when dropped, whatever happens to the run.
pub(crate) struct StopWatch<'w>(pub(crate) &'w TopologyWatch);

impl Drop for StopWatch<'_> {
    fn drop(&mut self) {
        lock(&self.0.wanted).stop = true;
        self.0.changed.notify_all();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl TopologyWatch {
    pub(crate) fn new(topology: &Topology) -> Self {
        Self {
            wanted: Mutex::default(),
            changed: Condvar::new(),
            version: AtomicU64::new(0),
            latest: Mutex::new(Arc::new(topology.clone())),
            asked: AtomicBool::new(false),
            names: Mutex::default(),
            ownership: Mutex::default(),
        }
    }

    /// Returns the number of a node that is common to all workers.
    pub(crate) fn number(&self, name: &str) -> u16 {
        let mut names = lock(&self.names);
        let number = names.iter().position(|known| known == name).unwrap_or_else(|| {
            names.push(name.to_owned());
            names.len() - 1
        });
        number as u16
    }

    /// Returns the name of the node with that number.
    pub(crate) fn name(&self, number: u16) -> Option<String> {
        lock(&self.names).get(usize::from(number)).cloned()
    }

    /// A worker has taken up a topology at this time.
    pub(crate) fn know(&self, known: &ClusterView, now_ns: u64) {
        lock(&self.ownership).know(known, now_ns);
    }

    /// Takes in a node's answer that a slot has another owner.
    pub(crate) fn moved(&self, slot: u16, to: u16, now_ns: u64) {
        lock(&self.ownership).moved(slot, to, now_ns);
    }

    /// Returns the spans in which nodes had to answer.
    pub(crate) fn tenures(&self) -> Vec<Tenure> {
        lock(&self.ownership).tenures().to_vec()
    }

    /// Requests a look at the cluster. Cheap if one was already requested.
    pub(crate) fn ask(&self) {
        if !self.asked.swap(true, Ordering::AcqRel) {
            lock(&self.wanted).look = true;
            self.changed.notify_all();
        }
    }

    /// Number of looks so far.
    #[inline]
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Returns the topology if a new one was published since `seen`, and updates `seen`.
    #[inline]
    pub(crate) fn news(&self, seen: &mut u64) -> Option<Arc<Topology>> {
        let version = self.version();
        if version == *seen {
            return None;
        }
        *seen = version;
        Some(Arc::clone(&lock(&self.latest)))
    }

    /// Publishes a new topology.
    pub(crate) fn publish(&self, topology: Topology) {
        *lock(&self.latest) = Arc::new(topology);
        self.version.fetch_add(1, Ordering::AcqRel);
    }

    /// Looks at the cluster on every request, until it is stopped. The body of a thread.
    pub(crate) fn run(&self, refresh: Refresh<'_>) {
        let mut first = 0;
        loop {
            let mut wanted = lock(&self.wanted);
            while !wanted.look && !wanted.stop {
                wanted = self.changed.wait(wanted).unwrap_or_else(PoisonError::into_inner);
            }
            if wanted.stop {
                return;
            }
            wanted.look = false;
            drop(wanted);
            // From now on a change is one that this look may miss.
            self.asked.store(false, Ordering::Release);
            let mut nodes: Vec<SocketAddr> =
                lock(&self.latest).nodes.iter().filter_map(|node| node.address).collect();
            // Another one first each time: one that is cut off from the others knows nothing new.
            let count = nodes.len().max(1);
            nodes.rotate_left(first % count);
            first += 1;
            if let Some(topology) = refresh(&nodes) {
                self.publish(topology);
            }
            let wanted = lock(&self.wanted);
            drop(self.changed.wait_timeout_while(wanted, EVERY, |wanted| !wanted.stop));
        }
    }
}
