//! Requirements for every reader with any input, for tests of formats and for fuzzing.

use std::io::Read;
use std::path::Path;

use crate::{Event, Losses, open_input};

/// Maximum memory of an event for each byte of input: an argument of one byte has a span.
const HELD_PER_BYTE: usize = 32;
/// Maximum memory of an event beside that, in bytes.
const HELD_BESIDE: usize = 4096;
/// Bound on the events per byte of input.
const EVENTS_PER_BYTE: usize = 70_000;

/// Result of a reader on an input.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReaderResult {
    /// Events of the input.
    pub events: Vec<Event>,
    /// Counts of missing data.
    pub losses: Losses,
    /// Reason why the input could not be read to its end, if so.
    pub fault: Option<String>,
}

/// An input that arrives in pieces.
struct Pieces {
    bytes: Vec<u8>,
    at: usize,
    /// End of the first piece.
    first: usize,
    /// Length of the other pieces.
    length: usize,
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let end = if self.at < self.first { self.first } else { self.at + self.length };
        let piece = &self.bytes[self.at..end.min(self.bytes.len())];
        let count = piece.len().min(buffer.len());
        buffer[..count].copy_from_slice(&piece[..count]);
        self.at += count;
        Ok(count)
    }
}

/// Reads an input whose first piece has `first` bytes, and the others `length`.
///
/// # Panics
/// Panics if an event holds more than the input can justify.
pub fn read(format: &str, bytes: &[u8], first: usize, length: usize) -> ReaderResult {
    let pieces = Pieces { bytes: bytes.to_vec(), at: 0, first: first.min(bytes.len()), length };
    let mut reading = ReaderResult::default();
    let mut reader = match open_input(Path::new("input"), Box::new(pieces), Some(format)) {
        Ok(reader) => reader,
        Err(error) => return ReaderResult { fault: Some(error.to_string()), ..reading },
    };
    let mut event = Event::default();
    loop {
        match reader.next(&mut event) {
            Ok(true) => reading.events.push(event.clone()),
            Ok(false) => break,
            Err(error) => {
                reading.fault = Some(error.to_string());
                break;
            }
        }
        assert!(event.bytes_held() <= bytes.len() * HELD_PER_BYTE + HELD_BESIDE, "{event:?}");
        assert!(reading.events.len() <= bytes.len() * EVENTS_PER_BYTE, "events without input");
    }
    reading.losses = reader.losses();
    reading
}

/// Reads an input whole and in pieces, and compares the results.
///
/// # Panics
/// Panics if they differ.
pub fn check(format: &str, bytes: &[u8], piece: usize) {
    let whole = read(format, bytes, bytes.len(), bytes.len().max(1));
    let pieces = read(format, bytes, 0, piece.max(1));
    assert_eq!(whole, pieces, "{format}: {bytes:?} in pieces of {piece}");
}
