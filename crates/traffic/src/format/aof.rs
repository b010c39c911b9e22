//! Append-only files: commands as RESP arrays, with `#TS:` lines if the server was asked for them.
//!
//! They hold the effects of client commands: writes only, scripts as their writes, expiries as times. A
//! `SELECT` changes the database of later commands and is not an event. A snapshot (RDB) at the beginning of
//! a file is skipped. Times may begin anywhere in a file, since a server can be asked for them at any time.

use memchr::{memchr, memmem};

use super::binary::{ARGUMENT_BYTES_MAX, ARGUMENTS_MAX};
use super::lines::number;
use super::snapshot::{MAGIC, Snapshot};
use super::{Format, Head};
use crate::{Decode, Decoded, Event, Fault, Flags, Loss, Source, Stamps};

pub(super) const FORMAT: Format =
    Format { name: "aof", title: "an append-only file", recognizes, open };

const STAMP: &[u8] = b"#TS:";
/// A stamp after the first line.
pub(crate) const LATER_STAMP: &[u8] = b"\n#TS:";
/// The longest line before an argument, and the longest comment.
const LINE_BYTES_MAX: usize = 4096;
/// Longest argument that servers accept.
const LENGTH_MAX: u64 = 4 << 30;

fn recognizes(head: &Head<'_>) -> bool {
    match head.bytes {
        [b'*', digit, ..] => digit.is_ascii_digit() && memchr(b'$', head.bytes).is_some(),
        [b'#', ..] => head.bytes.starts_with(STAMP),
        bytes => bytes.starts_with(MAGIC),
    }
}

fn open(head: &Head<'_>) -> Result<(Box<dyn Decode>, Source), Fault> {
    let has_stamps = head.bytes.starts_with(STAMP)
        || memmem::find(head.bytes, LATER_STAMP).is_some()
        || head.is_stamped_later;
    let mut source = Source {
        format: "aof",
        stamps: if has_stamps { Stamps::Second } else { Stamps::None },
        is_effects: true,
        ..Source::default()
    };
    if !has_stamps {
        source.notes.push(NO_TIMES.into());
    }
    let snapshot = head.bytes.starts_with(MAGIC).then(Snapshot::default);
    if snapshot.is_some() {
        source
            .notes
            .push("the snapshot at the beginning is left out: it holds data, no commands".into());
    }
    Ok((Box::new(Aof { is_data: snapshot.is_some(), snapshot, ..Aof::default() }), source))
}

/// Note on a file without times.
pub(crate) const NO_TIMES: &str = "the append-only file has no times: the server was not asked for them with aof-timestamp-enabled";

#[derive(Debug, Default)]
struct Aof {
    /// Set if only a snapshot was seen so far.
    is_data: bool,
    /// The snapshot that is being skipped.
    snapshot: Option<Snapshot>,
    db: u32,
    at_ns: u64,
    /// Number of arguments of this command still to come.
    left: u64,
    /// Length of the next argument, once its line was read.
    length: Option<u64>,
}

impl Decode for Aof {
    fn decode(&mut self, input: &[u8], is_end: bool, event: &mut Event) -> Result<Decoded, Fault> {
        let ends_in_data = self.is_data && is_end;
        let snapshot_only =
            || Fault("it is a snapshot (RDB), or ends in one: that is data and no commands".into());
        if let Some(snapshot) = &mut self.snapshot {
            let (consumed, is_over) = snapshot.skip(input);
            if is_over {
                self.snapshot = None;
            }
            return match consumed {
                0 if ends_in_data => Err(snapshot_only()),
                0 => Ok(Decoded::More),
                consumed => Ok(Decoded::Progress(consumed as u64)),
            };
        }
        if ends_in_data && input.is_empty() {
            return Err(snapshot_only());
        }
        if let Some(length) = self.length {
            return Ok(self.argument(length, input, event));
        }
        let Some(end) = memchr(b'\n', &input[..input.len().min(LINE_BYTES_MAX)]) else {
            return if input.len() < LINE_BYTES_MAX {
                Ok(Decoded::More)
            } else {
                Err(Fault("it is damaged: a line has no end; the rest is unreadable".into()))
            };
        };
        self.is_data = false;
        let consumed = end as u64 + 1;
        Ok(if self.line(input[..end].trim_ascii_end(), event)? {
            Decoded::Progress(consumed)
        } else {
            Decoded::Lost(consumed, Loss::Unreadable)
        })
    }
}

impl Aof {
    /// Parses a line before a command or an argument. Returns false for a malformed time.
    fn line(&mut self, line: &[u8], event: &mut Event) -> Result<bool, Fault> {
        let claim = |what: &str| {
            let line = String::from_utf8_lossy(&line[..line.len().min(40)]);
            Fault(format!("it is damaged: expected {what}, found {line:?}; the rest is unreadable"))
        };
        if self.left > 0 {
            let length =
                line.strip_prefix(b"$").and_then(number).filter(|length| *length <= LENGTH_MAX);
            self.length = Some(length.ok_or_else(|| claim("an argument's length"))?);
            return Ok(true);
        }
        if let Some(second) = line.strip_prefix(STAMP) {
            let second = number(second).filter(|second| *second < 1 << 33);
            self.at_ns = second.map_or(self.at_ns, |second| second * 1_000_000_000);
            return Ok(second.is_some());
        }
        if line.is_empty() || line.starts_with(b"#") {
            return Ok(true);
        }
        let count = line.strip_prefix(b"*").and_then(number);
        let count = count.filter(|count| *count <= u64::from(ARGUMENTS_MAX));
        self.left = count.ok_or_else(|| claim("a command"))?;
        event.clear();
        Ok(true)
    }

    /// Reads an argument and the line end after it.
    fn argument(&mut self, length: u64, input: &[u8], event: &mut Event) -> Decoded {
        let bytes = length as usize;
        if bytes > ARGUMENT_BYTES_MAX {
            event.push_size(length.min(u64::from(u32::MAX)) as u32, 0);
        } else if input.len() < bytes + 2 {
            return Decoded::More;
        } else {
            event.push(&input[..bytes]);
        }
        self.length = None;
        self.left -= 1;
        if self.left > 0 {
            return Decoded::Progress(length + 2);
        }
        if event.is("SELECT") {
            self.db = number(event.bytes(1)).unwrap_or(0) as u32;
            event.clear();
            return Decoded::Progress(length + 2);
        }
        (event.at_ns, event.db) = (self.at_ns, self.db);
        event.flags.set(Flags::NO_CLIENT);
        Decoded::Event(length + 2)
    }
}

#[cfg(test)]
mod tests {
    use crate::conformance::read;

    const COMMANDS: &[u8] =
        b"#TS:1700000000\r\n*2\r\n$6\r\nSELECT\r\n$1\r\n5\r\n#a comment\r\n*3\r\n$3\r\n\
        SET\r\n$1\r\nk\r\n$3\r\n\r\n*\r\n#TS:1700000001\r\n*2\r\n$3\r\nDEL\r\n$1\r\nk\r\n";

    #[test]
    fn databases_and_seconds_are_followed() {
        let read = read("aof", COMMANDS, COMMANDS.len(), 1);
        let [set, del] = &read.events[..] else { panic!("{read:?}") };
        assert_eq!((set.db, set.bytes(2), del.db, del.name()), (5, &b"\r\n*"[..], 5, &b"DEL"[..]));
        assert!(del.at_ns > set.at_ns && set.at_ns >= 1_700_000_000_000_000_000);
    }

    #[test]
    fn a_damaged_second_is_the_last_one_and_a_snapshot_alone_is_called_so() {
        let damaged = String::from_utf8_lossy(COMMANDS).replace("#TS:1700000001", "#TS:17000x0001");
        let read_damaged = read("aof", damaged.as_bytes(), 0, 3);
        assert_eq!((read_damaged.events.len(), read_damaged.losses.unreadable), (2, 1));
        assert!(read_damaged.events[1].at_ns / 1_000_000_000 == 1_700_000_000);
        for checksum in [true, false] {
            let file = super::super::snapshot::tests::snapshot(checksum);
            for length in [file.len(), file.len() - 9] {
                let fault = read("aof", &file[..length], 0, 5).fault.unwrap();
                assert!(fault.contains("it is a snapshot (RDB)"), "{fault}");
            }
        }
    }

    #[test]
    fn hostile_lengths_take_no_memory() {
        for input in
            ["*9999999999\r\n", "*2\r\n$99999999999999\r\n", "*1\r\n$-1\r\n", "*1\r\n+x\r\n"]
        {
            assert!(read("aof", input.as_bytes(), 1, 1).fault.is_some(), "{input}");
        }
        let long = read("aof", b"*2\r\n$1\r\na\r\n$4000000000\r\nabc", 1, 1);
        assert_eq!((long.events.len(), long.losses.cut), (1, 1));
    }

    #[test]
    fn what_follows_a_snapshot_is_read() {
        for checksum in [true, false] {
            let mut file = super::super::snapshot::tests::snapshot(checksum);
            file.extend_from_slice(COMMANDS);
            for piece in [1, 7, file.len()] {
                let read = read("aof", &file, 0, piece);
                assert_eq!((read.events.len(), read.losses.total()), (2, 0), "{checksum} {piece}");
            }
        }
    }
}
