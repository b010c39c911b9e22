//! Reasons why a conversation with a server failed, in words for a person.

use std::io;
use std::time::Duration;

use naming::advice::ADDRESS;
use naming::{Text, text};
use thiserror::Error;

/// Longest accepted reply. `INFO` and `CONFIG GET` stay below a thousandth of it.
pub(crate) const REPLY_BYTES_MAX: usize = 64 << 20;

/// Reason why a conversation with a server failed. Worded for the person at the command line.
#[derive(Debug, Error)]
#[error("{text}{hint}")]
pub struct ClientError {
    pub(crate) kind: FailureKind,
    pub(crate) text: Text,
    /// Likely cause with its connecting text; empty if unknown.
    pub(crate) hint: Text,
}

/// Kind of a failed conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailureKind {
    /// No server accepted the connection.
    Unreachable,
    /// This machine has no port left to connect from.
    NoPort,
    /// The server took the connection, and then too long.
    Silent,
    /// The handshake of TLS failed.
    Tls,
    /// The server closed the connection before it answered.
    Closed,
    /// The connection broke otherwise.
    Io,
    /// The answer is in another protocol.
    Stranger,
    /// The reply is longer than any expected one.
    TooLong,
}

impl ClientError {
    pub(crate) fn new(kind: FailureKind, text: Text) -> Self {
        Self { kind, text, hint: Text::default() }
    }

    /// Returns whether the server accepted the connection and then gave no whole answer. It may still answer
    /// other questions, on other connections.
    pub fn is_silence(&self) -> bool {
        matches!(self.kind, FailureKind::Silent | FailureKind::Closed | FailureKind::Io)
    }

    /// Returns whether there is no connection, or the server ended it.
    pub fn is_lost(&self) -> bool {
        matches!(
            self.kind,
            FailureKind::Unreachable | FailureKind::NoPort | FailureKind::Tls | FailureKind::Closed
        )
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
