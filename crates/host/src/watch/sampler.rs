//! Threads that ask servers once a second beside the load, over separate connections: for samples, and for the
//! observations of a run that is displayed. The latter ask the same questions as after the load.

use std::time::{Duration, Instant};

use super::background::{Background, is_stopped};
use super::local;
use super::record::WatchSoFar;
use super::sample::{SAMPLES_MAX, ServerSample};
use super::server_use::{ServerUse, Snapshot};
use super::subject::Subject;

const EVERY: Duration = Duration::from_secs(1);

/// Samples of a server, and the number of those beyond the bound.
pub(super) type Samples = (Vec<ServerSample>, u64);

/// Begins to sample a server over a separate connection, with or without memory. `None` if no thread can be
/// started.
pub(super) fn sample(mut client: Subject, without_memory: bool) -> Option<Background<Samples>> {
    Background::start("sampler", move |stopped| {
        let began = Instant::now();
        let (mut samples, mut dropped) = (Vec::new(), 0);
        for nth in 1.. {
            let wait = (began + EVERY * nth).saturating_duration_since(Instant::now());
            if is_stopped(&stopped, wait) {
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
    })
}

/// Begins to ask a server for use and entries since a look. `None` if no thread can be started.
pub(super) fn read_journal(
    mut subject: Subject,
    address: String,
    before: Snapshot,
    so_far: WatchSoFar,
) -> Option<Background<()>> {
    let pid = local::find(&before.info);
    Background::start("journal", move |stopped| {
        while !is_stopped(&stopped, EVERY) {
            // A server that stopped answering ends the looks; the load says why.
            let Some(used) = used(&mut subject, &before, pid) else { break };
            so_far.set_server(ServerUse { address: address.clone(), ..used });
        }
    })
}

/// Returns the use of resources of a server since `before`, without figures that are slow to ask for.
fn used(subject: &mut Subject, before: &Snapshot, pid: Option<u32>) -> Option<ServerUse> {
    let local = pid.and_then(local::read);
    let info = subject.info_without_memory().ok()?.or(&before.info);
    let journal = subject.journal(before.journal.as_ref()?, &before.info, &info)?;
    let used = ServerUse::between(before, &Snapshot { info, local, ..before.clone() }).ok()?;
    Some(ServerUse { journal: Some(journal), ..used })
}
