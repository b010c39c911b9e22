//! Reasons why a conversation with a server failed, in words for a person.

use std::io;
use std::time::Duration;

use naming::advice::ADDRESS;
use naming::{Text, text};
use thiserror::Error;

use crate::Address;

/// Longest accepted reply. `INFO` and `CONFIG GET` stay below a thousandth of it.
pub(crate) const REPLY_BYTES_MAX: usize = 64 << 20;

/// Reason why a conversation with a server failed. Worded for the person at the command line.
#[derive(Debug, Error)]
pub enum ClientError {
    /// The connection was not accepted.
    #[error("could not connect to {address}: {reason}")]
    Connect {
        /// Address of the server.
        address: Address,
        /// Reason, in words.
        reason: String,
        /// Set if this machine, rather than a missing server, is the reason.
        ours: bool,
    },
    /// The server took the connection, and then too long.
    #[error("{address} accepted the connection but did not answer {command} within {waited_s} s")]
    Silent {
        /// Address of the server.
        address: Address,
        /// The name of the command.
        command: String,
        /// Time limit in seconds.
        waited_s: f64,
    },
    /// The server accepted the connection, but TLS failed.
    #[error("TLS with {address} failed: {reason}")]
    Tls {
        /// Address of the server.
        address: Address,
        /// Reason, in words.
        reason: String,
    },
    /// The server closed the connection before it answered.
    #[error("{address} closed the connection instead of answering {command}{hint}")]
    Closed {
        /// Address of the server.
        address: Address,
        /// The name of the command.
        command: String,
        /// Likely cause with its connecting text; empty if unknown.
        hint: Text,
    },
    /// The answer is in another protocol.
    #[error(
        "{address} does not speak RESP, the protocol of Redis and Valkey: it answered \
         {command} with \"{excerpt}\"; {hint}"
    )]
    NotResp {
        /// Address of the server.
        address: Address,
        /// The name of the command.
        command: String,
        /// The beginning of the answer, escaped for a terminal.
        excerpt: String,
        /// Likely cause.
        hint: Text,
    },
    /// The answer is not memcached's.
    #[error(
        "{address} does not speak {protocol}: it answered {command} with \"{excerpt}\"; {why}, and \
         check {ADDRESS}", ADDRESS = ADDRESS
)]
    NotMemcache {
        /// Address of the server.
        address: Address,
        /// The protocol of the question.
        protocol: &'static str,
        /// The name of the command.
        command: String,
        /// The beginning of the answer, escaped for a terminal.
        excerpt: String,
        /// Likely cause.
        why: Box<str>,
    },
    /// The reply is longer than any expected one.
    #[error("{address} answered {command} with more than {REPLY_BYTES_MAX} bytes")]
    TooLong {
        /// Address of the server.
        address: Address,
        /// The name of the command.
        command: String,
    },
    /// The connection broke otherwise.
    #[error("the connection to {address} failed: {cause}")]
    Io {
        /// Address of the server.
        address: Address,
        /// The kernel's error.
        cause: io::Error,
    },
}

impl ClientError {
    /// Returns whether the server accepted the connection and then gave no whole answer. It may still answer
    /// other questions, on other connections.
    #[must_use]
    pub fn is_silence(&self) -> bool {
        matches!(self, Self::Silent { .. } | Self::Closed { .. } | Self::Io { .. })
    }

    /// Returns the error without a guess at its cause, for a server that is known to answer others.
    pub(crate) fn without_hint(self) -> Self {
        match self {
            Self::Closed { address, command, .. } => {
                Self::Closed { address, command, hint: Text::default() }
            }
            other => other,
        }
    }
}

/// Returns the likely cause of bytes that are not RESP.
pub(crate) fn hint(bytes: &[u8]) -> Text {
    wire::resp::speaker(bytes).unwrap_or_else(|| text!("check {ADDRESS}"))
}

pub(crate) fn late(error: &io::Error) -> bool {
    use io::ErrorKind::{TimedOut, WouldBlock};
    matches!(error.kind(), TimedOut | WouldBlock)
}

pub(crate) fn ended(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
}

/// Returns whether connections, open or lately closed, have used up the ports of this machine.
pub(crate) fn is_want_of_ports(error: &io::Error) -> bool {
    use io::ErrorKind::{AddrInUse, AddrNotAvailable};
    matches!(error.kind(), AddrInUse | AddrNotAvailable)
}

/// Describes why a connection failed, without the error numbers of the kernel.
pub(crate) fn reason(error: &io::Error, waited: Duration) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "connection refused".to_owned(),
        io::ErrorKind::NotFound => "the socket does not exist".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::HostUnreachable => "host unreachable".to_owned(),
        io::ErrorKind::NetworkUnreachable => "network unreachable".to_owned(),
        _ if is_want_of_ports(error) => "no local port is free".to_owned(),
        _ if late(error) => format!("no answer within {} s", waited.as_secs_f64()),
        _ => error.to_string(),
    }
}
