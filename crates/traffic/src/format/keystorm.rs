//! Keystorm's own records, block by block.

use flate2::{Decompress, FlushDecompress, Status};
use memchr::memmem;

use super::binary::u32_at;
use super::{Format, Head};
use crate::blocks::{
    BLOCK_BYTES_MAX, BLOCK_EVENTS_MAX, BLOCK_HEAD, BLOCK_MAGIC, Cursor, FILE_MAGIC,
};
use crate::facts::{FACTS_BYTES_MAX, source};
use crate::writer::checksum;
use crate::{Decode, Decoded, Event, Fault, Loss, Source};

pub(super) const FORMAT: Format = Format {
    name: "keystorm",
    title: "keystorm's own record",
    recognizes: |head| head.bytes.starts_with(FILE_MAGIC),
    open,
};

fn open(head: &Head<'_>) -> Result<(Box<dyn Decode>, Source), Fault> {
    let rest = head.bytes.strip_prefix(FILE_MAGIC);
    let rest =
        rest.ok_or_else(|| Fault("not a record of keystorm, or one of another version".into()))?;
    let length = u32_at(rest, 0) as usize;
    let facts = rest.get(8..8 + length.min(FACTS_BYTES_MAX));
    let facts =
        facts.filter(|facts| facts.len() == length && checksum(&[facts]) == u32_at(rest, 4));
    let mut source = source(&String::from_utf8_lossy(facts.unwrap_or_default()));
    let skip = match facts {
        Some(facts) => FILE_MAGIC.len() + 8 + facts.len(),
        None => {
            source
                .notes
                .push("the head of the record is damaged: what was recorded is not known".into());
            FILE_MAGIC.len()
        }
    };
    let decoder = Own {
        skip: skip as u64,
        is_searching: facts.is_none(),
        cursor: Cursor::default(),
        decompress: Decompress::new(false),
    };
    Ok((Box::new(decoder), source))
}

struct Own {
    /// Bytes of the file's head to skip.
    skip: u64,
    /// Set while the beginning of a block is searched for, after damage.
    is_searching: bool,
    cursor: Cursor,
    decompress: Decompress,
}

impl Decode for Own {
    fn decode(&mut self, input: &[u8], is_end: bool, event: &mut Event) -> Result<Decoded, Fault> {
        if self.skip > 0 {
            return Ok(Decoded::Progress(std::mem::take(&mut self.skip)));
        }
        if self.cursor.left > 0 {
            self.cursor.next(event)?;
            return Ok(Decoded::Event(0));
        }
        if input.len() < BLOCK_HEAD {
            return Ok(if is_end && self.is_searching && !input.is_empty() {
                Decoded::Progress(input.len() as u64)
            } else {
                Decoded::More
            });
        }
        let is_head = input.starts_with(BLOCK_MAGIC)
            && checksum(&[&input[..BLOCK_HEAD - 4]]) == u32_at(input, BLOCK_HEAD - 4);
        if !is_head {
            return Ok(self.search(input));
        }
        self.is_searching = false;
        self.block(input, is_end)
    }
}

impl Own {
    /// Advances to a possible beginning of a block.
    fn search(&mut self, input: &[u8]) -> Decoded {
        if !std::mem::replace(&mut self.is_searching, true) {
            return Decoded::Lost(1, Loss::Unreadable);
        }
        let found = memmem::find(&input[1..], BLOCK_MAGIC).map(|at| at + 1);
        Decoded::Progress(found.unwrap_or(input.len() - BLOCK_MAGIC.len() + 1) as u64)
    }

    /// Unpacks a block.
    fn block(&mut self, input: &[u8], is_end: bool) -> Result<Decoded, Fault> {
        let (packed, unpacked) = (u32_at(input, 4) as usize, u32_at(input, 8) as usize);
        let (events, sum) = (u32_at(input, 12).min(BLOCK_EVENTS_MAX), u32_at(input, 16));
        let length = BLOCK_HEAD + packed;
        let damaged = Decoded::Lost(length as u64, Loss::Damaged(u64::from(events)));
        if packed.max(unpacked) > BLOCK_BYTES_MAX {
            return Ok(damaged);
        }
        let Some(packed) = input.get(BLOCK_HEAD..length) else {
            return Ok(if is_end {
                Decoded::Lost(input.len() as u64, Loss::Damaged(u64::from(events)))
            } else {
                Decoded::More
            });
        };
        if checksum(&[packed]) != sum || !self.unpack(packed, unpacked) {
            return Ok(damaged);
        }
        self.cursor.start(events)?;
        Ok(Decoded::Progress(length as u64))
    }

    /// Unpacks a block, and returns whether it has exactly the claimed length.
    fn unpack(&mut self, packed: &[u8], length: usize) -> bool {
        self.decompress.reset(false);
        let buffer = self.cursor.buffer();
        buffer.clear();
        // The packed length bounds the unpacked one: a short block reserves no room for a long one.
        buffer.reserve(length.min(packed.len().saturating_mul(1100) + 1024));
        let status = self.decompress.decompress_vec(packed, buffer, FlushDecompress::Finish);
        matches!(status, Ok(Status::StreamEnd)) && buffer.len() == length
    }
}
