//! Observations while load still runs, for live displays: the servers' use of resources and records of slow moments,
//! and the state of this machine.
//!
//! Owns the threads that ask servers, once a second over separate connections, only if a run is displayed.
//! They ask the same questions as after the load.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::WatchRecord;
use super::local;
use super::machine_timeline::MachineSpan;
use super::server_use::{ServerUse, Snapshot};
use super::subject::Subject;

const EVERY: Duration = Duration::from_secs(1);

/// A shared record of the observations so far.
#[derive(Debug, Clone, Default)]
pub struct WatchSoFar(Arc<Mutex<WatchRecord>>);

impl WatchSoFar {
    /// Returns a copy of the record.
    #[must_use]
    pub fn record(&self) -> WatchRecord {
        self.lock().clone()
    }

    /// Locks the record, even after a panic of a thread, which leaves no partial data that matters.
    fn lock(&self) -> MutexGuard<'_, WatchRecord> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Empties the record, as another run begins.
    pub(super) fn clear(&self) {
        *self.lock() = WatchRecord::default();
    }

    /// Replaces the spans of this machine.
    pub(super) fn set_machine(&self, spans: Vec<MachineSpan>) {
        self.lock().machine = spans;
    }

    fn set_server(&self, server: ServerUse) {
        let mut record = self.lock();
        record.servers.retain(|known| known.address != server.address);
        record.servers.push(server);
    }
}

/// A thread that asks a server until it is stopped.
#[derive(Debug)]
pub(super) struct JournalReader {
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

impl JournalReader {
    /// Begins to ask for use and entries since a look. `None` if no thread can be started.
    pub(super) fn start(
        mut subject: Subject,
        address: String,
        before: Snapshot,
        so_far: WatchSoFar,
    ) -> Option<Self> {
        let (stop, stopped) = channel::<()>();
        let pid = local::find(&before.info);
        let look = move || {
            while stopped.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                // A server that stopped answering ends the looks; the load says why.
                let Some(used) = used(&mut subject, &before, pid) else { break };
                so_far.set_server(ServerUse { address: address.clone(), ..used });
            }
        };
        let thread = thread::Builder::new().name("journal".into()).spawn(look).ok()?;
        Some(Self { stop, thread })
    }

    /// Stops asking.
    pub(super) fn stop(self) {
        drop(self.stop);
        // What it found is asked for again at the end.
        let _ = self.thread.join();
    }
}

/// Returns the use of resources of a server since `before`, without figures that are slow to ask for.
fn used(subject: &mut Subject, before: &Snapshot, pid: Option<u32>) -> Option<ServerUse> {
    let local = pid.and_then(local::read);
    let info = subject.info_without_memory().ok()?.or(&before.info);
    let journal = subject.journal(before.journal.as_ref()?, &before.info, &info)?;
    let used = ServerUse::between(before, &Snapshot { info, local, ..before.clone() }).ok()?;
    Some(ServerUse { journal: Some(journal), ..used })
}
