//! The layout of keystorm's own records: a head, then blocks that stand alone.
//!
//! ```text
//! file   KEYSTORM TRACE 1\n, length of the facts (u32), CRC-32 of them (u32), facts: lines of `name=value`
//! block  KTB1, packed length, unpacked length, events, CRC-32 of the packed bytes, CRC-32 of these five
//!        (u32 each), then columns, each with its length before it, packed with deflate
//! ```
//!
//! Numbers of columns are varints of seven bits a byte. A file that was cut has all blocks before the cut; one whose
//! block is damaged has all others.

use crate::{Event, Fault, Flags, Outcome};

/// Bytes at the start of a file.
pub(crate) const FILE_MAGIC: &[u8] = b"KEYSTORM TRACE 1\n";
/// Bytes at the start of a block.
pub(crate) const BLOCK_MAGIC: &[u8; 4] = b"KTB1";
/// Length of a block's head.
pub(crate) const BLOCK_HEAD: usize = 24;
/// The most events of a block.
pub(crate) const BLOCK_EVENTS_MAX: u32 = 1 << 16;
/// Number of bytes that completes a block.
pub(crate) const BLOCK_BYTES: usize = 1 << 20;
/// The longest argument whose bytes are kept.
pub(crate) const ARGUMENT_BYTES_MAX: u32 = 1 << 20;
/// The longest block, unpacked: one event may be longer than a block.
pub(crate) const BLOCK_BYTES_MAX: usize = 80 << 20;

const COLUMNS: usize = 6;

/// The columns of a block being written.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    /// Flags, outcome and number of arguments; times; clients; databases; arguments; their bytes.
    columns: [Vec<u8>; COLUMNS],
    pub(crate) events: u32,
    last_ns: u64,
    last_client: u64,
}

impl Columns {
    pub(crate) fn bytes(&self) -> usize {
        self.columns.iter().map(Vec::len).sum()
    }

    pub(crate) fn clear(&mut self) {
        self.columns.iter_mut().for_each(Vec::clear);
        (self.events, self.last_ns, self.last_client) = (0, 0, 0);
    }

    pub(crate) fn push(&mut self, event: &Event) {
        let [kinds, times, clients, dbs, arguments, bytes] = &mut self.columns;
        let (outcome, size) = match event.outcome {
            Outcome::Unknown => (0, 0),
            Outcome::Hit(size) => (1, size),
            Outcome::Value(size) => (2, size),
            Outcome::Miss => (3, 0),
            Outcome::Done => (4, 0),
            Outcome::Refused => (5, 0),
        };
        kinds.extend([event.flags.bits(), outcome]);
        if matches!(outcome, 1 | 2) {
            put(kinds, u64::from(size));
        }
        put(kinds, event.len() as u64);
        put(times, zigzag(event.at_ns, self.last_ns));
        put(clients, zigzag(event.client, self.last_client));
        put(dbs, u64::from(event.db));
        (self.last_ns, self.last_client) = (event.at_ns, event.client);
        for argument in event.arguments() {
            match argument.bytes {
                Some(kept)
                    if kept.len() as u32 == argument.size
                        && argument.size <= ARGUMENT_BYTES_MAX =>
                {
                    put(arguments, u64::from(argument.size) << 2);
                    bytes.extend_from_slice(kept);
                }
                Some(kept) if kept.len() as u32 <= ARGUMENT_BYTES_MAX => {
                    put(arguments, (kept.len() as u64) << 2 | 1);
                    put(arguments, u64::from(argument.size));
                    bytes.extend_from_slice(kept);
                }
                _ => {
                    put(arguments, u64::from(argument.size) << 2 | 2);
                    arguments.push(argument.compressibility);
                }
            }
        }
        self.events += 1;
    }

    /// Appends all columns to `out`.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        for column in &self.columns {
            out.extend((column.len() as u32).to_le_bytes());
        }
        self.columns.iter().for_each(|column| out.extend_from_slice(column));
    }
}

/// The columns of a block being read.
#[derive(Debug, Default)]
pub(crate) struct Cursor {
    bytes: Vec<u8>,
    /// Unread part of each column.
    columns: [(usize, usize); COLUMNS],
    pub(crate) left: u32,
    last_ns: u64,
    last_client: u64,
}

fn damaged() -> Fault {
    Fault("a block has a valid checksum but makes no sense: another program wrote it".into())
}

impl Cursor {
    /// Returns the buffer to unpack a block into, before [`Self::start`].
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        self.left = 0;
        &mut self.bytes
    }

    /// Begins to read an unpacked block.
    pub(crate) fn start(&mut self, events: u32) -> Result<(), Fault> {
        let mut at = COLUMNS * 4;
        for (number, column) in self.columns.iter_mut().enumerate() {
            let length = self.bytes.get(number * 4..number * 4 + 4).ok_or_else(damaged)?;
            let length = u32::from_le_bytes(length.try_into().map_err(|_| damaged())?) as usize;
            *column = (at, at + length);
            at += length;
        }
        if at != self.bytes.len() {
            return Err(damaged());
        }
        (self.left, self.last_ns, self.last_client) = (events, 0, 0);
        Ok(())
    }

    /// Reads the next event, which must exist.
    pub(crate) fn next(&mut self, event: &mut Event) -> Result<(), Fault> {
        self.left -= 1;
        self.read(event).ok_or_else(damaged)
    }

    fn read(&mut self, event: &mut Event) -> Option<()> {
        event.clear();
        event.flags = Flags::from_bits(self.byte(0)?);
        event.outcome = match self.byte(0)? {
            0 => Outcome::Unknown,
            1 => Outcome::Hit(self.number(0)? as u32),
            2 => Outcome::Value(self.number(0)? as u32),
            3 => Outcome::Miss,
            4 => Outcome::Done,
            5 => Outcome::Refused,
            _ => return None,
        };
        let count = self.number(0)?;
        self.last_ns = unzigzag(self.number(1)?, self.last_ns);
        self.last_client = unzigzag(self.number(2)?, self.last_client);
        event.db = self.number(3)? as u32;
        (event.at_ns, event.client) = (self.last_ns, self.last_client);
        for _ in 0..count {
            let head = self.number(4)?;
            let length = (head >> 2) as usize;
            match head & 3 {
                0 => event.push(self.slice(length)?),
                1 => {
                    let size = self.number(4)?;
                    event.push_resized(self.slice(length)?, size as u32);
                }
                2 => {
                    let compressibility = self.byte(4)?;
                    event.push_size(length as u32, compressibility);
                }
                _ => return None,
            }
        }
        Some(())
    }

    fn byte(&mut self, column: usize) -> Option<u8> {
        let (at, end) = &mut self.columns[column];
        let byte = self.bytes[..*end].get(*at)?;
        *at += 1;
        Some(*byte)
    }

    fn number(&mut self, column: usize) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte(column)?;
            number |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return Some(number);
            }
        }
        None
    }

    fn slice(&mut self, length: usize) -> Option<&[u8]> {
        let (at, end) = &mut self.columns[COLUMNS - 1];
        let until = at.checked_add(length).filter(|until| *until <= *end)?;
        let slice = &self.bytes[*at..until];
        *at = until;
        Some(slice)
    }
}

fn put(column: &mut Vec<u8>, mut number: u64) {
    while number >= 128 {
        column.push(number as u8 | 128);
        number >>= 7;
    }
    column.push(number as u8);
}

/// The difference to the previous number, encoded small for either sign.
const fn zigzag(number: u64, before: u64) -> u64 {
    let difference = number.wrapping_sub(before) as i64;
    (difference << 1 ^ difference >> 63) as u64
}

const fn unzigzag(coded: u64, before: u64) -> u64 {
    before.wrapping_add(coded >> 1 ^ (coded & 1).wrapping_neg())
}
