//! How long a new replica takes to have what its primary has, watched while the primary is under load.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::Result;
use host::{Client, Transport, info_field};
use workload::Target;

use crate::test_bed::TestBed;

/// How much longer than the load it may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// What the figure is accurate to.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// A synchronisation that is watched by a thread of its own.
pub(super) struct FullSync {
    watcher: JoinHandle<Option<Duration>>,
    load_ended: Arc<AtomicBool>,
}

impl FullSync {
    /// Watches a replica that was attached at `start`.
    ///
    /// # Errors
    /// The replica cannot be asked.
    pub(super) fn watch(replica: &TestBed<'_>, target: &Target, start: Instant) -> Result<Self> {
        let mut client = replica.server.client(target)?;
        let load_ended = Arc::new(AtomicBool::new(false));
        let ended = Arc::clone(&load_ended);
        let watcher = thread::Builder::new().spawn(move || {
            let mut end = None;
            while !is_linked(&mut client)? {
                if ended.load(Ordering::Relaxed) {
                    let end = *end.get_or_insert_with(|| Instant::now() + PATIENCE);
                    if Instant::now() >= end {
                        return None;
                    }
                }
                thread::sleep(LOOK_EVERY);
            }
            Some(start.elapsed())
        })?;
        Ok(Self { watcher, load_ended })
    }

    /// How long it took, once the load has ended; `None` of a replica that was never complete.
    pub(super) fn duration(self) -> Option<Duration> {
        self.load_ended.store(true, Ordering::Relaxed);
        self.watcher.join().ok().flatten()
    }
}

/// Whether a replica has what its primary has; `None` of one that does not answer.
pub(super) fn is_linked(client: &mut Client<Transport>) -> Option<bool> {
    let info = client.ask(&[b"INFO", b"replication"]).ok()?.text()?;
    Some(info_field(&info, "master_link_status") == Some("up"))
}
