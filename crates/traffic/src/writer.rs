//! Writer of keystorm's own records.

use std::io::{Result, Write};

use flate2::{Compress, Compression, Crc, FlushCompress, Status};

use crate::blocks::{BLOCK_BYTES, BLOCK_EVENTS_MAX, BLOCK_MAGIC, Columns, FILE_MAGIC};
use crate::facts::facts;
use crate::{Event, Source};

/// Writes events in blocks. Unflushed events are lost when the program ends; flushed blocks are whole.
pub struct Writer<W> {
    output: W,
    columns: Columns,
    raw: Vec<u8>,
    packed: Vec<u8>,
    compress: Compress,
    bytes: u64,
    events: u64,
}

impl<W: std::fmt::Debug> std::fmt::Debug for Writer<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer")
            .field("output", &self.output)
            .field("events", &self.events)
            .finish()
    }
}

impl<W: Write> Writer<W> {
    /// Begins a record of this source.
    ///
    /// # Errors
    /// Returns an error if its head cannot be written.
    pub fn new(mut output: W, source: &Source) -> Result<Self> {
        let facts = facts(source);
        let mut head = FILE_MAGIC.to_vec();
        head.extend((facts.len() as u32).to_le_bytes());
        head.extend(checksum(&[facts.as_bytes()]).to_le_bytes());
        head.extend_from_slice(facts.as_bytes());
        output.write_all(&head)?;
        Ok(Self {
            output,
            columns: Columns::default(),
            raw: Vec::new(),
            packed: Vec::new(),
            compress: Compress::new(Compression::fast(), false),
            bytes: head.len() as u64,
            events: 0,
        })
    }

    /// Adds an event. Arguments of more than 1 MiB become sizes.
    ///
    /// # Errors
    /// Returns an error if a complete block cannot be written.
    pub fn write(&mut self, event: &Event) -> Result<()> {
        self.columns.push(event);
        self.events += 1;
        if self.columns.events >= BLOCK_EVENTS_MAX || self.columns.bytes() >= BLOCK_BYTES {
            self.flush()
        } else {
            Ok(())
        }
    }

    /// Writes the held events as a block.
    ///
    /// # Errors
    /// Returns an error if it cannot be written.
    pub fn flush(&mut self) -> Result<()> {
        if self.columns.events == 0 {
            return Ok(());
        }
        self.raw.clear();
        self.columns.write(&mut self.raw);
        self.pack()?;
        let mut head = Vec::with_capacity(crate::blocks::BLOCK_HEAD);
        head.extend_from_slice(BLOCK_MAGIC);
        head.extend((self.packed.len() as u32).to_le_bytes());
        head.extend((self.raw.len() as u32).to_le_bytes());
        head.extend(self.columns.events.to_le_bytes());
        head.extend(checksum(&[&self.packed]).to_le_bytes());
        head.extend(checksum(&[&head]).to_le_bytes());
        self.output.write_all(&head)?;
        self.output.write_all(&self.packed)?;
        self.output.flush()?;
        self.bytes += (head.len() + self.packed.len()) as u64;
        self.columns.clear();
        Ok(())
    }

    /// Packs the block.
    fn pack(&mut self) -> Result<()> {
        self.compress.reset();
        self.packed.clear();
        // Upper bound of deflate, which stores incompressible bytes.
        self.packed.reserve(self.raw.len() + self.raw.len() / 1000 + 1024);
        loop {
            let read = self.compress.total_in() as usize;
            let status = self.compress.compress_vec(
                &self.raw[read..],
                &mut self.packed,
                FlushCompress::Finish,
            );
            match status.map_err(std::io::Error::other)? {
                Status::StreamEnd => return Ok(()),
                _ => self.packed.reserve(self.raw.len() / 2 + 1024),
            }
        }
    }

    /// Returns how many bytes were written.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns how many events were added.
    pub const fn events(&self) -> u64 {
        self.events
    }

    /// Writes the held events, and returns the output.
    ///
    /// # Errors
    /// Returns an error if they cannot be written.
    pub fn finish(mut self) -> Result<W> {
        self.flush()?;
        Ok(self.output)
    }
}

/// CRC-32 of consecutive parts.
pub(crate) fn checksum(parts: &[&[u8]]) -> u32 {
    let mut crc = Crc::new();
    parts.iter().for_each(|part| crc.update(part));
    crc.sum()
}
