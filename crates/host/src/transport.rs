//! The transport of a blocking conversation: a socket, or TLS over one.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use engine::TlsStream;

use crate::PlainSocket;

/// A connection with or without TLS.
#[derive(Debug)]
pub enum Transport {
    /// A connection without TLS.
    Plain(PlainSocket),
    /// A connection in TLS.
    Tls(Box<TlsStream<PlainSocket>>),
}

impl Transport {
    /// Sets the time limit for every later read.
    ///
    /// # Errors
    /// Returns an error if the operating system refuses.
    pub fn wait_for(&self, patience: Duration) -> io::Result<()> {
        match self {
            Self::Plain(stream) => stream.set_read_timeout(Some(patience)),
            Self::Tls(stream) => stream.get_ref().set_read_timeout(Some(patience)),
        }
    }
}

impl AsFd for Transport {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Plain(stream) => stream.as_fd(),
            Self::Tls(stream) => stream.get_ref().as_fd(),
        }
    }
}

impl Read for Transport {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(into),
            Self::Tls(stream) => stream.read(into),
        }
    }
}

impl Write for Transport {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(stream) => stream.flush(),
            Self::Tls(stream) => stream.flush(),
        }
    }
}
