//! Observations while load still runs, for live displays: the servers' records of slow moments, and the state
//! of this machine.
//!
//! Owns the threads that ask servers, once a second over separate connections, only if a run is displayed.
//! They ask the same questions as after the load.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::WatchRecord;
use super::info::Info;
use super::journal::{Journal, JournalMark};
use super::machine_course::MachineSpan;
use super::server_use::ServerUse;
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

    fn set_journal(&self, address: &str, journal: Journal) {
        let mut record = self.lock();
        record.servers.retain(|known| known.address != address);
        let (address, journal) = (address.to_owned(), Some(journal));
        record.servers.push(ServerUse { address, journal, ..ServerUse::default() });
    }
}

/// A thread that asks a server until it is stopped.
#[derive(Debug)]
pub(super) struct JournalReader {
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

impl JournalReader {
    /// Begins to ask for entries since the mark. `None` if no thread can be started.
    pub(super) fn start(
        mut subject: Subject,
        address: String,
        since: (JournalMark, Info),
        so_far: WatchSoFar,
    ) -> Option<Self> {
        let (stop, stopped) = channel::<()>();
        let look = move || {
            let (mark, info) = since;
            while stopped.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                // A server that stopped answering ends the looks; the load says why.
                let Ok(now) = subject.info_without_memory() else { break };
                let Some(journal) = subject.journal(&mark, &info, &now) else { break };
                so_far.set_journal(&address, journal);
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
