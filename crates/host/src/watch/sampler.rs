//! Threads that ask servers once a second beside the load, over separate connections: for samples, and for the
//! observations of a run that is displayed. The latter ask the same questions as after the load.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::local;
use super::record::WatchSoFar;
use super::sample::{SAMPLES_MAX, ServerSample};
use super::server_use::{ServerUse, Snapshot};
use super::subject::Subject;

const EVERY: Duration = Duration::from_secs(1);

/// Thread that samples a server until it is stopped.
#[derive(Debug)]
pub(super) struct Sampler {
    stop: Sender<()>,
    thread: JoinHandle<(Vec<ServerSample>, u64)>,
}

impl Sampler {
    /// Begins to sample over a separate connection, with or without memory. `None` if no thread can be
    /// started.
    pub(super) fn start(client: Subject, without_memory: bool) -> Option<Self> {
        let (stop, stopped) = channel::<()>();
        let look = move || {
            let (mut client, began) = (client, Instant::now());
            let (mut samples, mut dropped) = (Vec::new(), 0);
            for nth in 1.. {
                let wait = (began + EVERY * nth).saturating_duration_since(Instant::now());
                if stopped.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) {
                    break;
                }
                // A server that stopped answering ends the samples; the load says why.
                let info =
                    if without_memory { client.info_without_memory() } else { client.info(false) };
                let Ok(info) = info else { break };
                if samples.len() == SAMPLES_MAX {
                    dropped += 1;
                    continue;
                }
                samples.push(ServerSample::new(&info, began.elapsed().as_secs_f64()));
            }
            (samples, dropped)
        };
        let thread = thread::Builder::new().name("sampler".into()).spawn(look).ok()?;
        Some(Self { stop, thread })
    }

    /// Stops sampling; returns the samples, and the number of those beyond the bound.
    pub(super) fn stop(self) -> (Vec<ServerSample>, u64) {
        drop(self.stop);
        self.thread.join().unwrap_or_default()
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
        let thread = thread::Builder::new().name("journal".into()).spawn(move || {
            while stopped.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                // A server that stopped answering ends the looks; the load says why.
                let Some(used) = used(&mut subject, &before, pid) else { break };
                so_far.set_server(ServerUse { address: address.clone(), ..used });
            }
        });
        let thread = thread.ok()?;
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
