//! Jobs of the commands `keystorm sink` and `keystorm doctor`.

use std::time::Duration;

use std::net::SocketAddr;
use std::path::PathBuf;

use doctor::Load;
use sink::EngineChoice;
use workload::{Plan, ProtocolKind, Target};

/// Job of `keystorm sink`.
#[derive(Debug)]
pub struct SinkJob {
    /// TCP address that the sink listens on.
    pub tcp: Option<SocketAddr>,
    /// Unix socket that the sink listens on, instead of TCP or in addition to it.
    pub unix: Option<PathBuf>,
    /// The I/O engine; by default the fastest that works.
    pub engine: Option<EngineChoice>,
    /// Set if the sink speaks memcached's text protocol instead of RESP.
    pub memcache: bool,
    /// Bytes of the strings in replies.
    pub bulk: u32,
    /// Most connections at a time.
    pub connections: u32,
    /// CPUs that the sink is pinned to; none for no pinning.
    pub cpus: Vec<usize>,
}

/// Job of `keystorm doctor --client`.
#[derive(Debug)]
pub struct ClientCheck {
    /// The load of each line of the table, with its engine, pipeline and address.
    pub plan: Plan,
    /// Duration in seconds of each line of the table.
    pub seconds: f64,
    /// The I/O engine; by default each that works.
    pub engine: Option<EngineChoice>,
    /// Set if the result is JSON.
    pub json: bool,
}

/// Job of `keystorm doctor`.
#[derive(Debug)]
pub struct Checkup {
    /// The server to check.
    pub target: Target,
    /// Protocol of the server.
    pub protocol: ProtocolKind,
    /// Set if the command line names a server, so that it is a failure if nothing listens there.
    pub named: bool,
    /// The load that machine and server are checked for.
    pub load: Load,
    /// Seconds for which steal time, round trips and other clients are observed.
    pub seconds: f64,
    /// Time to measure the latency that this machine alone adds; `None` leaves it out.
    pub intrinsic: Option<Duration>,
    /// Set if the result is JSON (schema keystorm.doctor/1).
    pub json: bool,
    /// Notes on the command line, which are printed first.
    pub notes: Vec<String>,
}
