//! The role of a new replica: it asks for the whole data set, and reads it.
//!
//! The data is dropped as it comes. <https://redis.io/docs/latest/commands/sync/>

use std::io::{self, Read, Write};
use std::time::Instant;

use super::Client;
use crate::client_error::{ClientError, late};

/// Length of the mark at the end of a data set of unknown length.
const MARK: usize = 40;

/// The end of a data set: after this many bytes, or at a mark.
enum End {
    After(u64),
    Mark([u8; MARK]),
}

impl<T: Read + Write> Client<T> {
    /// Asks for the whole data set and reads it to its end; returns its size in bytes. Checks `stopped`
    /// between reads. The connection is useless afterwards, as the server takes it for a replica.
    ///
    /// # Errors
    /// Returns an error if the server refuses, closes the connection, or sends nothing for as long as this
    /// client waits.
    pub fn full_sync(&mut self, stopped: &dyn Fn() -> bool) -> Result<u64, ClientError> {
        self.transport.write_all(b"SYNC\r\n").map_err(|error| self.broken(error))?;
        self.transport.flush().map_err(|error| self.broken(error))?;
        let mut bytes = std::mem::take(&mut self.inbox);
        let end = loop {
            // Until it has forked the server says that it lives, with line ends.
            let blank = bytes.iter().take_while(|byte| matches!(byte, b'\n' | b'\r')).count();
            bytes.drain(..blank);
            if let Some(at) = bytes.windows(2).position(|end| end == b"\r\n") {
                let line = bytes.drain(..at + 2).collect::<Vec<u8>>();
                break self.end_of(&line[..at])?;
            }
            if !self.more(&mut bytes, stopped)? {
                return Ok(0);
            }
        };
        let mut read = 0;
        loop {
            let is_whole = match &end {
                End::After(length) => read + bytes.len() as u64 >= *length,
                End::Mark(mark) => bytes.ends_with(mark),
            };
            if is_whole {
                return Ok(read + bytes.len() as u64);
            }
            // A mark may come in two reads.
            let keep = bytes.len().min(MARK);
            read += (bytes.len() - keep) as u64;
            bytes.drain(..bytes.len() - keep);
            if !self.more(&mut bytes, stopped)? {
                return Ok(read);
            }
        }
    }

    /// Parses the header of a data set: it ends after this many bytes or at a mark.
    fn end_of(&self, line: &[u8]) -> Result<End, ClientError> {
        let text = String::from_utf8_lossy(line);
        if let Some(mark) = line.strip_prefix(b"$EOF:")
            && let Ok(mark) = mark.try_into()
        {
            return Ok(End::Mark(mark));
        }
        let length = text.strip_prefix('$').and_then(|length| length.parse().ok());
        length.map(End::After).ok_or_else(|| {
            let why = format!("it answered SYNC with {}", crate::printable(&*text));
            self.broken(io::Error::other(why))
        })
    }

    /// Reads more, within the time limit. Returns whether to continue.
    fn more(
        &mut self,
        bytes: &mut Vec<u8>,
        stopped: &dyn Fn() -> bool,
    ) -> Result<bool, ClientError> {
        let deadline = Instant::now() + self.reply_patience;
        let mut chunk = vec![0; 256 << 10];
        while !stopped() {
            match self.transport.read(&mut chunk) {
                Ok(0) => return Err(self.closed("SYNC")),
                Ok(n) => {
                    bytes.extend_from_slice(&chunk[..n]);
                    return Ok(true);
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if late(&e) && Instant::now() < deadline => {}
                Err(e) => return Err(self.broken(e)),
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::Address;

    /// Returns its bytes in pieces of this size.
    struct Pieces(Vec<u8>, usize);

    impl Read for Pieces {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let n = self.1.min(self.0.len()).min(into.len());
            into[..n].copy_from_slice(&self.0[..n]);
            self.0.drain(..n);
            Ok(n)
        }
    }

    impl Write for Pieces {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn read(bytes: &[u8], piece: usize) -> Result<u64, ClientError> {
        let address = Address::Unix("/s".into());
        let pieces = Pieces(bytes.to_vec(), piece);
        Client::over(pieces, address, Duration::from_secs(1)).full_sync(&|| false)
    }

    #[test]
    fn a_data_set_is_read_to_its_end_however_it_comes() {
        let mark = [b'm'; MARK];
        let marked = [b"\n\n$EOF:".as_slice(), &mark, b"\r\n", &[7; 1000], &mark].concat();
        let counted = [b"\n$1000\r\n".as_slice(), &[7; 1000]].concat();
        for piece in [1, 7, 39, 4096] {
            assert_eq!(read(&marked, piece).unwrap(), 1040);
            assert_eq!(read(&counted, piece).unwrap(), 1000);
        }
        assert!(read(b"-ERR no\r\n", 100).unwrap_err().to_string().contains("-ERR no"));
        assert!(read(b"$1000\r\nabc", 100).is_err(), "cut off");
    }
}
