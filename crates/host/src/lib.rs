//! Facts of this machine and of a server, and servers started for a run.
//!
//! Owns questions over a plain blocking connection, before and after load runs. `runner` carries the load,
//! and `report` interprets its figures.

pub mod affinity;
mod client;
mod client_error;
pub mod cluster;
mod command_info;
pub mod doctor;
mod facts;
pub mod guard;
mod limits;
pub mod machine;
mod mask;
pub mod memcache;
mod plain;
mod probe;
mod questions;
mod spawn;
mod text;
mod transport;
mod watch;

pub use engine::Address;

pub use client::Client;
pub use client_error::ClientError;
pub use command_info::CommandInfo;
pub use facts::{NodeFacts, ServerConfig, ServerFacts, info_field};
pub use limits::{
    OpenFilesError, SourceError, allow_open_files, check_sources, local_ports, port_shortage,
};
pub use machine::HostFacts;
pub use plain::{Patience, PlainSocket};
pub use probe::{Login, ProbeError, log_in, log_in_within, probe};
pub use questions::{ProbeResult, Questions};
pub use spawn::{Listen, Spawn, SpawnError, SpawnKind, SpawnedServer};
pub use text::printable;
pub use transport::Transport;
pub use watch::{
    BusyPart, CommandRunTime, CommandUse, Connect, Journal, JournalEntry, JournalKind, LinkUse,
    MachineSpan, PendingWatch, PollingThreads, SAMPLES_MAX, ServerBusy, ServerProcess,
    ServerSample, ServerUse, Setting, Subject, Watch, WatchRecord, WatchSoFar, slow_commands,
};
