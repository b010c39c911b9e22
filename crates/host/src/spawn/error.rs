//! Errors of a server that did not start, in words for a person.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

use naming::{SPAWN, SPAWN_ARGS};
use thiserror::Error;

use crate::Address;

/// Reason why a server could not be started. Worded for the person at the command line.
#[derive(Debug, Error)]
pub enum SpawnError {
    /// There is no server on the PATH.
    #[error(
        "{SPAWN}: no {programs} on the PATH; install one (`make setup` does), or name one with \
         {SPAWN}=PATH", SPAWN = SPAWN
)]
    NoServer {
        /// Program names that were tried.
        programs: String,
    },
    /// There is no program with that name.
    #[error("{SPAWN}={name}: not found on the PATH; give its path", SPAWN = SPAWN)]
    NotOnPath {
        /// The name.
        name: String,
    },
    /// There is no executable file at the path.
    #[error("{SPAWN}={}: not an executable file", path.display(), SPAWN = SPAWN)]
    NotAProgram {
        /// The path.
        path: PathBuf,
    },
    /// The arguments contradict keystorm's own.
    #[error("{SPAWN_ARGS} {arg}: keystorm sets this itself for a spawned server", SPAWN_ARGS = SPAWN_ARGS)]
    Reserved {
        /// The argument.
        arg: String,
    },
    /// The private directory could not be made.
    #[error("{SPAWN}: could not make a private directory in {}: {cause}", place.display(), SPAWN = SPAWN)]
    Home {
        /// Parent of the directory to be made.
        place: PathBuf,
        /// The file system's error.
        cause: io::Error,
    },
    /// The path of the socket exceeds the kernel's limit.
    #[error("{SPAWN}: the socket path {} is too long; set TMPDIR to a shorter one", path.display(), SPAWN = SPAWN)]
    SocketPath {
        /// The path.
        path: PathBuf,
    },
    /// There is no free port, or no process could be started.
    #[error("{SPAWN}: could not start {}: {cause}", program.display(), SPAWN = SPAWN)]
    Start {
        /// The server.
        program: PathBuf,
        /// The kernel's error.
        cause: io::Error,
    },
    /// The server ended before it was ready.
    #[error("{SPAWN}: {} ended before it was ready ({status})", program.display(), SPAWN = SPAWN)]
    Ended {
        /// The server.
        program: PathBuf,
        /// Status with which it ended.
        status: ExitStatus,
        /// Last lines of its output, safe for a terminal and without passwords.
        log: Vec<String>,
    },
    /// The server did not become ready.
    #[error(
        "{SPAWN}: {} did not answer on {address} within {waited_s} s", program.display(), SPAWN = SPAWN
)]
    NotReady {
        /// The server.
        program: PathBuf,
        /// Expected address.
        address: Address,
        /// Time limit in seconds.
        waited_s: u64,
        /// Last lines of its output, safe for a terminal and without passwords.
        log: Vec<String>,
    },
}

impl SpawnError {
    /// Returns the last lines of the server's output, if there are any.
    #[must_use]
    pub fn last_lines(&self) -> &[String] {
        match self {
            Self::Ended { log, .. } | Self::NotReady { log, .. } => log,
            _ => &[],
        }
    }
}
