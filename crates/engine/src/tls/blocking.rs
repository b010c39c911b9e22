//! TLS over a blocking stream, for requests before and after load.

use std::io::{self, Read, Write};

use openssl::ssl::{Error, ErrorCode, SslStream};

use super::pipe::looks_like_tls;
use super::{TlsContext, cause, error};
use crate::Address;

/// A blocking stream in TLS. Its errors name the cause in words; timeouts keep their kind.
pub struct TlsStream<S> {
    stream: SslStream<FirstByte<S>>,
    context: TlsContext,
}

impl<S: Read + Write> TlsStream<S> {
    /// Does the handshake over an open stream.
    ///
    /// # Errors
    /// Returns the reason of a failure in words for a person, with kind [`io::ErrorKind::WouldBlock`] or
    /// [`io::ErrorKind::TimedOut`] if the stream timed out.
    pub fn connect(context: &TlsContext, address: &Address, stream: S) -> io::Result<Self> {
        let watched = FirstByte { stream, first: None };
        let stream = context
            .ssl(Some(address))
            .and_then(|ssl| SslStream::new(ssl, watched))
            .map_err(|why| io::Error::other(error::setup(&why)))?;
        let mut this = Self { stream, context: context.clone() };
        match this.stream.connect() {
            Ok(()) => Ok(this),
            Err(error) => Err(this.describe(error)),
        }
    }

    /// Returns the stream below TLS.
    pub fn get_ref(&self) -> &S {
        &self.stream.get_ref().stream
    }

    fn describe(&self, error: Error) -> io::Error {
        let error = match error.into_io_error() {
            Ok(error) if patience_ended(&error) => return error,
            Ok(error) => {
                let ended = matches!(
                    error.kind(),
                    io::ErrorKind::BrokenPipe
                        | io::ErrorKind::ConnectionReset
                        | io::ErrorKind::UnexpectedEof
                );
                if ended && !self.stream.ssl().is_init_finished() {
                    let words = cause::closed_early(self.stream.get_ref().spoke_tls());
                    return io::Error::other(words);
                }
                return error;
            }
            Err(error) => error,
        };
        let spoke_tls = self.stream.get_ref().spoke_tls();
        io::Error::other(cause::failed(&self.context, self.stream.ssl(), &error, spoke_tls))
    }
}

fn patience_ended(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

impl<S> std::fmt::Debug for TlsStream<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TlsStream").finish_non_exhaustive()
    }
}

impl<S: Read + Write> Read for TlsStream<S> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.stream.ssl_read(into) {
                Ok(read) => return Ok(read),
                Err(error) if error.code() == ErrorCode::ZERO_RETURN => return Ok(0),
                // Something of the protocol's own was read.
                Err(error)
                    if error.code() == ErrorCode::WANT_READ && error.io_error().is_none() => {}
                Err(error) => return Err(self.describe(error)),
            }
        }
    }
}

impl<S: Read + Write> Write for TlsStream<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.ssl_write(bytes).map_err(|error| self.describe(error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.get_mut().flush()
    }
}

/// A stream that remembers the first byte of the other side.
struct FirstByte<S> {
    stream: S,
    first: Option<u8>,
}

impl<S> FirstByte<S> {
    fn spoke_tls(&self) -> Option<bool> {
        self.first.and_then(|byte| looks_like_tls(&[byte]))
    }
}

impl<S: Read> Read for FirstByte<S> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.read(into)?;
        if self.first.is_none() {
            self.first = into[..read].first().copied();
        }
        Ok(read)
    }
}

impl<S: Write> Write for FirstByte<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}
