//! Errors of a server that did not start, in words for a person.

use thiserror::Error;

/// Reason why a server could not be started, in words for the person at the command line.
#[derive(Debug, Error)]
#[error("{text}")]
pub struct SpawnError {
    pub(super) text: String,
    /// The last lines of its output, safe for a terminal and without passwords.
    pub(super) log: Vec<String>,
    /// Set if it has ended, rather than answered nothing.
    pub(super) has_ended: bool,
}

impl SpawnError {
    /// Returns whether the server ended since its port was taken.
    pub(super) fn is_want_of_port(&self) -> bool {
        self.has_ended && self.log.iter().any(|line| line.contains("in use"))
    }

    /// Returns the last lines of the server's output, if there are any.
    pub fn last_lines(&self) -> &[String] {
        &self.log
    }
}

impl From<String> for SpawnError {
    fn from(text: String) -> Self {
        Self { text, log: Vec::new(), has_ended: false }
    }
}
