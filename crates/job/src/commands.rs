//! What the other commands are to do: `keystorm sink`, `calibrate` and `doctor`.

use std::time::Duration;

use std::net::SocketAddr;
use std::path::PathBuf;

use doctor::Load;
use sink::EngineChoice;
use workload::{Plan, ProtocolKind, Target};

/// What `keystorm sink` is to do.
#[derive(Debug)]
pub struct SinkJob {
    /// Where it listens on TCP.
    pub tcp: Option<SocketAddr>,
    /// Unix socket to listen on, instead of or in addition to a port
    pub unix: Option<PathBuf>,
    /// I/O engine: io_uring (`uring`), `epoll`, or `auto` for the fastest available
    pub engine: Option<EngineChoice>,
    /// Whether it speaks memcached's lines, and not RESP.
    pub memcache: bool,
    /// Size of strings in replies, in bytes
    pub bulk: u32,
    /// Most connections at a time.
    pub connections: u32,
    /// CPUs to pin the sink to, such as 1 or 0,2-3
    pub cpus: Vec<usize>,
}

/// What `keystorm calibrate` is to do.
#[derive(Debug)]
pub struct Calibration {
    /// The load of each cell; engine, pipeline and address are the cell's.
    pub plan: Plan,
    /// How long to measure each line of the table [default: 1s]
    pub seconds: f64,
    /// I/O engine: io_uring (`uring`), `epoll`, or `auto` for each that is available
    pub engine: Option<EngineChoice>,
    /// Whether the result is JSON.
    pub json: bool,
}

/// What `keystorm doctor` is to do.
#[derive(Debug)]
pub struct Checkup {
    /// The server as one word: HOST, HOST:PORT, the PATH of a unix socket, or a URI as for -u
    pub target: Target,
    /// What it speaks.
    pub protocol: ProtocolKind,
    /// Whether a server was named, so that it is a failure if it is not there.
    pub named: bool,
    /// The load to be fit for.
    pub load: Load,
    /// How long to observe steal time, round trips and other clients
    pub seconds: f64,
    /// How long to measure what this machine alone adds to latencies; `None` leaves it out.
    pub intrinsic: Option<Duration>,
    /// Print JSON (schema keystorm.doctor/1) instead of lines
    pub json: bool,
    /// What to say of the command line.
    pub notes: Vec<String>,
}
