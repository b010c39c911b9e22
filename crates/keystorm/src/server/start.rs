//! Starting a private server for a run.

use anyhow::{Context, Result, anyhow};
use host::{Listen, Spawn, SpawnKind, SpawnedServer, affinity};
use naming::SERVER_CPUS;
use workload::ProtocolKind;

/// Returns the kind of servers that speak a protocol.
pub(super) fn kind(protocol: ProtocolKind) -> SpawnKind {
    if protocol.is_memcache() { SpawnKind::Memcached } else { SpawnKind::Redis }
}

/// Starts a server on these CPUs: it inherits those of the thread that starts it.
pub(super) fn pinned(
    cpus: &[usize],
    spawn: impl FnOnce() -> Result<SpawnedServer>,
) -> Result<SpawnedServer> {
    if cpus.is_empty() {
        return spawn();
    }
    let ours = affinity::allowed();
    affinity::pin(cpus)
        .map_err(|e| anyhow!("{SERVER_CPUS}: the server cannot be pinned to {cpus:?}: {e}"))?;
    let spawned = spawn();
    affinity::pin(&ours)?;
    spawned
}

pub(super) fn spawn(
    kind: SpawnKind,
    program: Option<String>,
    args: &[String],
    connections: u32,
    unix: bool,
    is_counted: bool,
) -> Result<SpawnedServer> {
    let guard = std::env::current_exe().context("finding keystorm's own program")?;
    let listen = if unix { Listen::Unix } else { Listen::Loopback };
    let mut args = args.to_vec();
    // The default limit is 10,000 clients. The user's arguments come last and win.
    let (option, default) = match kind {
        SpawnKind::Redis => ("--maxclients", CLIENTS_DEFAULT),
        // It counts file descriptors by their numbers, of which others are taken before.
        SpawnKind::Memcached => ("-c", MEMCACHED_CLIENTS_DEFAULT),
    };
    if connections > default {
        let clients = u64::from(connections) + u64::from(CLIENTS_SPARE);
        args.splice(0..0, [option.to_owned(), clients.to_string()]);
    }
    Ok(Spawn { kind, program, args, listen, guard, is_counted }.start()?)
}

/// Number of clients that a server accepts by default, minus some for monitoring.
const CLIENTS_DEFAULT: u32 = 10_000 - CLIENTS_SPARE;
const MEMCACHED_CLIENTS_DEFAULT: u32 = 1024 - CLIENTS_SPARE;
const CLIENTS_SPARE: u32 = 64;
