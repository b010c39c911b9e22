//! Samples of a server beside the load: figures of [`Info`], of which each costs the server one `INFO`, so they are
//! taken only on request.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::info::Info;

/// Maximum number of samples of one test: a day.
pub const SAMPLES_MAX: usize = 86_400;

/// State of a server at one moment. Counts are since its start.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerSample {
    /// Seconds since the sampling began, when the answer arrived.
    pub t_s: f64,
    /// Time of the sample, in seconds since 1970 by this machine's clock.
    pub unix_s: f64,
    /// CPU seconds of the thread that executes commands.
    pub cpu_main_s: Option<f64>,
    /// CPU seconds of the process.
    pub cpu_process_s: Option<f64>,
    /// Bytes of data and overhead.
    pub memory_bytes: Option<u64>,
    /// Clients connected.
    pub clients: Option<u64>,
    /// Commands executed.
    pub commands: Option<u64>,
    /// Bytes read from clients.
    pub net_in_bytes: Option<u64>,
    /// Bytes written to clients.
    pub net_out_bytes: Option<u64>,
    /// Keys removed to stay below the limit of memory.
    pub evicted_keys: Option<u64>,
    /// Keys that expired.
    pub expired_keys: Option<u64>,
    /// Processes forked.
    pub forks: Option<u64>,
    /// Pause of the server by the latest of these forks, in microseconds.
    pub fork_usec: Option<u64>,
    /// Connections taken.
    pub connections: Option<u64>,
    /// Replicas that got the whole data set.
    pub full_syncs: Option<u64>,
    /// Rewrites of the append-only file that began.
    pub aof_rewrites: Option<u64>,
    /// Set if the data set was being saved or the append-only file rewritten.
    pub saving: bool,
}

impl ServerSample {
    pub(super) fn new(info: &Info, t_s: f64) -> Self {
        Self {
            t_s,
            unix_s: now_s(),
            cpu_main_s: info.cpu_main_s(),
            cpu_process_s: info.cpu_process_s(),
            memory_bytes: info.number("used_memory"),
            clients: info.number("connected_clients"),
            commands: info.number("total_commands_processed"),
            net_in_bytes: info.number("total_net_input_bytes"),
            net_out_bytes: info.number("total_net_output_bytes"),
            evicted_keys: info.number("evicted_keys"),
            expired_keys: info.number("expired_keys"),
            forks: info.number("total_forks"),
            fork_usec: info.number("latest_fork_usec"),
            connections: info.number("total_connections_received"),
            full_syncs: info.number("sync_full"),
            aof_rewrites: info.number("aof_rewrites"),
            saving: info.saving() || info.rewriting(),
        }
    }
}

/// Now, in seconds since 1970.
pub(super) fn now_s() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs_f64()
}
