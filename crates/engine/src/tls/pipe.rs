//! Buffers that OpenSSL reads and writes instead of a socket; they are reused.

use std::io::{self, Read, Write};

/// Incoming and outgoing ciphertext.
#[derive(Debug, Default)]
pub(super) struct Pipe {
    incoming: Vec<u8>,
    /// Bytes of `incoming` that OpenSSL has read.
    read: usize,
    /// Bytes that OpenSSL wrote and that are not yet sent.
    pub(super) outgoing: Vec<u8>,
    /// Set if the first bytes were the head of a TLS record.
    spoke_tls: Option<bool>,
}

impl Pipe {
    /// Adds received bytes.
    #[inline]
    pub(super) fn receive(&mut self, bytes: &[u8]) {
        if self.read == self.incoming.len() {
            self.incoming.clear();
            self.read = 0;
        }
        self.incoming.extend_from_slice(bytes);
        if self.spoke_tls.is_none() {
            self.spoke_tls = looks_like_tls(&self.incoming);
        }
    }

    /// Returns whether the other side spoke TLS, judged by its first bytes; `None` before them.
    pub(super) fn spoke_tls(&self) -> Option<bool> {
        self.spoke_tls
    }
}

/// Returns whether these bytes begin like a record: type 20 to 23, then version 3.x (RFC 8446, section 5.1).
pub(super) fn looks_like_tls(bytes: &[u8]) -> Option<bool> {
    match bytes {
        [] => None,
        [20..=23] | [20..=23, 3, ..] => Some(true),
        _ => Some(false),
    }
}

impl Read for Pipe {
    #[inline]
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let unread = &self.incoming[self.read..];
        if unread.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let len = unread.len().min(into.len());
        into[..len].copy_from_slice(&unread[..len]);
        self.read += len;
        Ok(len)
    }
}

impl Write for Pipe {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.outgoing.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_received_is_read_once_and_in_order() {
        let mut pipe = Pipe::default();
        let mut into = [0; 4];
        assert_eq!(pipe.read(&mut into).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        pipe.receive(&[22, 3, 1]);
        pipe.receive(&[4, 5]);
        assert_eq!((pipe.read(&mut into).unwrap(), into), (4, [22, 3, 1, 4]));
        pipe.receive(&[6]);
        assert_eq!((pipe.read(&mut into).unwrap(), &into[..2]), (2, &[5, 6][..]));
        assert_eq!(pipe.spoke_tls(), Some(true));
    }

    #[test]
    fn plain_text_is_distinguished_from_tls() {
        assert_eq!(looks_like_tls(b""), None);
        assert_eq!(looks_like_tls(b"-ERR Protocol error"), Some(false));
        assert_eq!(looks_like_tls(&[21, 3, 3, 0, 2]), Some(true));
    }
}
