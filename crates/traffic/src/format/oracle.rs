//! oracleGeneral, the format of libCacheSim for collections of cache traces: records of 24 bytes, with second
//! (4), object (8), size (4), and the number of the object's next access (8).
//!
//! It has no operations: each record is a read, which stores the object if it is missing.

use super::binary::{u32_at, u64_at};
use super::{Format, Head};
use crate::{Clock, Decode, Decoded, Event, Fault, Flags, Outcome, Protocol, Source, Stamps};

pub(super) const FORMAT: Format = Format {
    name: "oracleGeneral",
    title: "oracleGeneral",
    recognizes,
    open: |_| {
        let source = Source {
            format: "oracleGeneral",
            protocol: Protocol::Memcache,
            stamps: Stamps::Second,
            clock: Clock::Relative,
            notes: vec!["the record has no operations: every line is taken as a read".into()],
            ..Source::default()
        };
        Ok((Box::new(Oracle), source))
    },
};

const RECORD: usize = 24;
/// Number of records by which a cut file is recognised.
const CUT_RECORDS: usize = 8;
/// Largest plausible object, in bytes.
const SIZE_MAX: u32 = 1 << 30;

/// Recognises the format, which has no marks, by plausible records: ascending times, sizes, and later next
/// accesses.
fn recognizes(head: &Head<'_>) -> bool {
    let records = head.bytes.chunks_exact(RECORD).take(1000);
    let mut last_s = 0;
    let makes_sense = records.enumerate().all(|(at, record)| {
        let (second, size) = (u32_at(record, 0), u32_at(record, 12));
        let next = u64_at(record, 16) as i64;
        let in_order = second >= std::mem::replace(&mut last_s, second);
        in_order && size <= SIZE_MAX && (next == -1 || next > at as i64 && next < 1 << 40)
    });
    // A short file is whole, or has enough records to be a cut one.
    makes_sense
        && head.bytes.len() >= RECORD
        && (!head.is_whole
            || head.bytes.len().is_multiple_of(RECORD)
            || head.bytes.len() > CUT_RECORDS * RECORD)
}

#[derive(Debug)]
struct Oracle;

impl Decode for Oracle {
    fn decode(&mut self, input: &[u8], _: bool, event: &mut Event) -> Result<Decoded, Fault> {
        if input.len() < RECORD {
            return Ok(Decoded::More);
        }
        event.at_ns = u64::from(u32_at(input, 0)) * 1_000_000_000;
        event.flags.set(Flags::NO_CLIENT);
        event.outcome = Outcome::Value(u32_at(input, 12));
        event.push(b"get");
        let digits = event.open_argument();
        // Writing to memory does not fail.
        let _ = std::io::Write::write_fmt(digits, format_args!("{}", u64_at(input, 4)));
        event.end_argument();
        Ok(Decoded::Event(RECORD as u64))
    }
}
