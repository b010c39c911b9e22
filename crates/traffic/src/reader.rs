//! Events of a file in order: fetches bytes and decodes them.

use std::io::{ErrorKind, Read};
use std::path::PathBuf;

use crate::{Decode, Decoded, Event, Fault, Loss, Losses, Source};

/// Number of bytes that are fetched at once.
const PIECE_BYTES: usize = 256 * 1024;
/// Longest line or piece of a record that is kept whole.
const BUFFER_BYTES_MAX: usize = 64 << 20;

/// Reason why a record cannot be read, or no further.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Error of the operating system.
    #[error("{}: {cause}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The reported error.
        cause: std::io::Error,
    },
    /// Fault of the content.
    #[error("{}: {cause}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// Reason.
        cause: Fault,
    },
}

/// Recorded events in order.
///
/// Memory is bounded for any size of the record: one event, and the state of the file's decoder.
pub trait Reader: Send {
    /// Returns the source of the record.
    fn source(&self) -> &Source;

    /// Reads the next event into `event`; false at the end, when `event` is empty.
    ///
    /// # Errors
    /// Returns an error if the rest of the file cannot be read; earlier events remain valid.
    fn next(&mut self, event: &mut Event) -> Result<bool, ReadError>;

    /// Returns the losses so far.
    fn losses(&self) -> Losses;
}

/// Reader of one file.
pub struct Stream {
    path: PathBuf,
    input: Box<dyn Read + Send>,
    decoder: Box<dyn Decode>,
    source: Source,
    losses: Losses,
    buffer: Vec<u8>,
    /// Offset of the undecoded part of the buffer.
    begin: usize,
    end: usize,
    /// Bytes to drop as they arrive.
    to_drop: u64,
    position: u64,
    is_end: bool,
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stream")
            .field("path", &self.path)
            .field("position", &self.position)
            .finish()
    }
}

impl Stream {
    /// Decodes the bytes of `input`. `path` is for errors.
    pub fn new(
        path: PathBuf,
        input: Box<dyn Read + Send>,
        decoder: Box<dyn Decode>,
        source: Source,
    ) -> Self {
        Self {
            path,
            input,
            decoder,
            source,
            losses: Losses::default(),
            buffer: Vec::new(),
            begin: 0,
            end: 0,
            to_drop: 0,
            position: 0,
            is_end: false,
        }
    }

    /// Number of the last event's line or record, from 1.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// Makes room for a piece and reads it; reads nothing at the end of the input.
    fn fetch(&mut self) -> Result<(), ReadError> {
        if self.begin > 0 && (self.begin == self.end || self.buffer.len() - self.end < PIECE_BYTES)
        {
            self.buffer.copy_within(self.begin..self.end, 0);
            self.end -= self.begin;
            self.begin = 0;
        }
        if self.buffer.len() - self.end < PIECE_BYTES {
            // Twice as long each time, so that a long record is moved a few times only.
            let length = (self.end + PIECE_BYTES).max(self.end * 2);
            self.buffer.resize(length, 0);
        }
        loop {
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.is_end = true,
                Ok(count) => self.end += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                // A compressed file that was cut ends where it can no longer be unpacked.
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                    self.losses.add(Loss::Cut, self.position + 1);
                    self.is_end = true;
                }
                Err(cause) => return Err(ReadError::Io { path: self.path.clone(), cause }),
            }
            break;
        }
        let dropped = self.to_drop.min((self.end - self.begin) as u64);
        self.to_drop -= dropped;
        self.begin += dropped as usize;
        Ok(())
    }

    fn consume(&mut self, count: u64) {
        let there = (self.end - self.begin) as u64;
        self.begin += count.min(there) as usize;
        self.to_drop = count.saturating_sub(there);
    }
}

impl Reader for Stream {
    fn source(&self) -> &Source {
        &self.source
    }

    fn next(&mut self, event: &mut Event) -> Result<bool, ReadError> {
        event.clear();
        loop {
            let input = &self.buffer[self.begin..self.end];
            let step = self.decoder.decode(input, self.is_end, event);
            let path = &self.path;
            match step.map_err(|cause| ReadError::Content { path: path.clone(), cause })? {
                Decoded::Event(count) => {
                    self.consume(count);
                    self.position += 1;
                    return Ok(true);
                }
                Decoded::Progress(count) => self.consume(count),
                Decoded::Ignored(count) => {
                    self.consume(count);
                    self.position += 1;
                }
                Decoded::Lost(count, loss) => {
                    self.consume(count);
                    self.position += 1;
                    self.losses.add(loss, self.position);
                    event.clear();
                }
                Decoded::More if self.is_end => {
                    if self.end > self.begin || !event.is_empty() || self.to_drop > 0 {
                        self.position += 1;
                        self.losses.add(Loss::Cut, self.position);
                    }
                    self.begin = self.end;
                    self.to_drop = 0;
                    event.clear();
                    return Ok(false);
                }
                Decoded::More if self.end - self.begin >= BUFFER_BYTES_MAX => {
                    let cause = Fault("something in it is longer than 64 MiB".into());
                    return Err(ReadError::Content { path: path.clone(), cause });
                }
                Decoded::More => self.fetch()?,
            }
        }
    }

    fn losses(&self) -> Losses {
        self.losses
    }
}
