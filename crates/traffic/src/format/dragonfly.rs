//! Dragonfly's traffic log, versions 2 and 3, which `DEBUG TRAFFIC START` writes: one file for each thread.
//!
//! Records have no length and no checksum, little-endian: client (4 bytes), nanoseconds since 1970 (8), database (4),
//! flags (4, of which bit 0 says that more of the pipeline follow), how many parts (4), the length of each (4), the
//! parts. The stamp is taken when a command was parsed. A client that moves to another thread goes on in its file.

use super::binary::{ARGUMENT_BYTES_MAX, ARGUMENTS_MAX, u32_at, u64_at};
use super::{Format, Head};
use crate::{Decode, Decoded, Event, Fault, Flags, Protocol, Source, Stamps};

pub(super) const FORMAT: Format = Format {
    name: "dragonfly",
    title: "Dragonfly's traffic log",
    recognizes: |head| {
        let Some(header) = header(head) else { return false };
        let bytes = &head.bytes[header..];
        // 2020 to 2100.
        let is_stamp = (1_577_836_800..4_102_444_800).contains(&(u64_at(bytes, 4) / 1_000_000_000));
        is_stamp && (1..=ARGUMENTS_MAX).contains(&u32_at(bytes, 20))
    },
    open,
};

const RECORD_HEAD: usize = 24;
/// Number of memcached's protocol for recorded commands, in files of version 3.
const MEMCACHE: u8 = 2;
const REPLICA: u8 = 4;

/// Returns the offset of the records, if the file begins like a known version and has one record.
fn header(head: &Head<'_>) -> Option<usize> {
    let length = match head.bytes {
        [2, ..] => 1,
        [3, 1..=4, ..] => 2,
        _ => return None,
    };
    (head.bytes.len() >= length + RECORD_HEAD).then_some(length)
}

fn open(head: &Head<'_>) -> Result<(Box<dyn Decode>, Source), Fault> {
    let (skip, listener) = match head.bytes {
        [2, ..] => (1, 1),
        [3, listener @ 1..=4, ..] => (2, *listener),
        [version, ..] => {
            return Err(Fault(format!("version {version} of Dragonfly's log; known are 2 and 3")));
        }
        [] => return Err(Fault("the file is empty".into())),
    };
    let mut source = Source {
        format: "dragonfly",
        stamps: Stamps::Arrival,
        shares_clients: true,
        ..Source::default()
    };
    if listener == MEMCACHE {
        source.protocol = Protocol::Memcache;
    }
    if listener == REPLICA {
        source.is_effects = true;
        source.notes.push("the record is of what a replica was sent, not of clients".into());
    }
    Ok((Box::new(Dragonfly { skip, ..Dragonfly::default() }), source))
}

#[derive(Debug, Default)]
struct Dragonfly {
    /// Bytes of the file's header to skip.
    skip: u64,
    /// Lengths of the parts of this record, and index of the next part.
    lengths: Vec<u32>,
    next: usize,
}

impl Decode for Dragonfly {
    fn decode(&mut self, input: &[u8], _: bool, event: &mut Event) -> Result<Decoded, Fault> {
        if self.skip > 0 {
            return Ok(Decoded::Progress(std::mem::take(&mut self.skip)));
        }
        let Some(&length) = self.lengths.get(self.next) else { return self.head(input, event) };
        let bytes = length as usize;
        if bytes > ARGUMENT_BYTES_MAX {
            event.push_size(length, 0);
        } else if input.len() < bytes {
            return Ok(Decoded::More);
        } else {
            event.push(&input[..bytes]);
        }
        self.next += 1;
        Ok(if self.next == self.lengths.len() {
            Decoded::Event(u64::from(length))
        } else {
            Decoded::Progress(u64::from(length))
        })
    }
}

impl Dragonfly {
    /// Parses the head of a record, with the lengths of its parts.
    fn head(&mut self, input: &[u8], event: &mut Event) -> Result<Decoded, Fault> {
        if input.len() < RECORD_HEAD {
            return Ok(Decoded::More);
        }
        let parts = u32_at(input, 20);
        if !(1..=ARGUMENTS_MAX).contains(&parts) {
            return Err(Fault(format!(
                "a record claims {parts} arguments; the rest is unreadable"
            )));
        }
        let length = RECORD_HEAD + parts as usize * 4;
        if input.len() < length {
            return Ok(Decoded::More);
        }
        event.clear();
        event.client = u64::from(u32_at(input, 0));
        event.at_ns = u64_at(input, 4);
        event.db = u32_at(input, 12);
        if u32_at(input, 16) & 1 == 1 {
            event.flags.set(Flags::PIPELINED);
        }
        self.lengths.clear();
        self.lengths.extend(input[RECORD_HEAD..length].chunks_exact(4).map(|four| u32_at(four, 0)));
        self.next = 0;
        Ok(Decoded::Progress(length as u64))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A file of a version with these records, each of one client and time.
    pub(in super::super) fn file(version: &[u8], records: &[(u32, u64, u32, &[&str])]) -> Vec<u8> {
        let mut bytes = version.to_vec();
        for (client, at_ns, flags, parts) in records {
            bytes.extend(client.to_le_bytes());
            bytes.extend(at_ns.to_le_bytes());
            bytes.extend([3, 0, 0, 0]);
            bytes.extend(flags.to_le_bytes());
            bytes.extend((parts.len() as u32).to_le_bytes());
            parts.iter().for_each(|part| bytes.extend((part.len() as u32).to_le_bytes()));
            parts.iter().for_each(|part| bytes.extend(part.bytes()));
        }
        bytes
    }

    #[test]
    fn both_versions_are_read() {
        let at_ns = 1_700_000_000_123_456_789;
        let records: [(_, _, _, &[&str]); 2] =
            [(7, at_ns, 1, &["SET", "k", ""]), (7, at_ns + 1, 0, &["GET", "k"])];
        for version in [&[2][..], &[3, 1], &[3, 2]] {
            let bytes = file(version, &records);
            let read = crate::conformance::read("dragonfly", &bytes, bytes.len(), 1);
            let [set, get] = &read.events[..] else { panic!("{read:?}") };
            assert_eq!((set.client, set.at_ns, set.db, set.len()), (7, at_ns, 3, 3));
            assert!(set.flags.has(Flags::PIPELINED) && !get.flags.has(Flags::PIPELINED));
        }
        let unknown = crate::conformance::read("dragonfly", &file(&[9], &records), 1, 1);
        assert!(unknown.fault.unwrap().contains("version 9"));
    }
}
