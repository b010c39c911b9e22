//! Encoding of an event into the bytes that are sent: unrecorded values are filled in, deadlines are shifted.

use wire::Protocol as _;
use wire::memcache::Text;
use wire::resp::encode_command;

use super::expiry::{is_time_of_day, shifted};
use super::translation::{WireCommand, translated};
use crate::commands::deadline;
use crate::{Event, Protocol};

/// The longest value that is made up in place of an unrecorded one.
const FILLER_MAX: usize = 64 << 20;

/// Encoder of the commands of one reading of a record.
#[derive(Debug)]
pub(crate) struct Encoder {
    recorded: Protocol,
    to_cache: bool,
    /// Incompressible bytes that values are made of.
    noise: Vec<u8>,
    /// Bytes in place of the unrecorded ones in the current command.
    filler: Vec<u8>,
    number: String,
}

impl Encoder {
    pub(crate) fn new(recorded: Protocol, to_cache: bool) -> Self {
        let noise = (0..512).flat_map(|index| workload::random::draw(0xf111, index).to_le_bytes());
        Self {
            recorded,
            to_cache,
            noise: noise.collect(),
            filler: Vec::new(),
            number: String::new(),
        }
    }

    /// Appends a command that was recorded at `at_ns` and is sent at `sent_ns`, both since 1970 if the
    /// record's times are. Returns `false` if this server has no such command.
    pub(crate) fn encode(
        &mut self,
        event: &Event,
        at_ns: u64,
        sent_ns: u64,
        out: &mut Vec<u8>,
    ) -> bool {
        let moved = self.moved_deadline(event, at_ns, sent_ns);
        self.fill(event);
        let (mut next, filler) = (0, &self.filler);
        let mut words = Vec::with_capacity(event.len());
        for (at, argument) in event.arguments().enumerate() {
            words.push(match argument.bytes {
                _ if moved == Some(at) => self.number.as_bytes(),
                Some(_) => event.bytes(at),
                None => {
                    let len = (argument.size as usize).min(FILLER_MAX);
                    next += len;
                    &filler[next - len..next]
                }
            });
        }
        match translated(words, self.recorded, self.to_cache) {
            Some(WireCommand::Resp(words)) => encode_command(&words, out),
            Some(WireCommand::Cache(command)) => {
                out.extend_from_slice(&Text::compile(&command, None).bytes);
            }
            None => return false,
        }
        true
    }

    /// Shifts a deadline among the arguments and writes it to `number`; returns the index of its argument.
    fn moved_deadline(&mut self, event: &Event, at_ns: u64, sent_ns: u64) -> Option<usize> {
        let (at, unit_ns) = match self.recorded {
            Protocol::Resp => deadline(event).map(|deadline| (deadline.at, deadline.unit_ns))?,
            Protocol::Memcache => {
                let at = match event.len() {
                    5 | 6 => 4,
                    3 if event.is("touch") => 2,
                    _ if event.is("gat") => 1,
                    _ => return None,
                };
                is_time_of_day(event.bytes(at)).then_some((at, 1_000_000_000))?
            }
        };
        let moved = shifted(event.bytes(at), unit_ns, at_ns, sent_ns)?;
        self.number.clear();
        let _ = std::fmt::Write::write_fmt(&mut self.number, format_args!("{moved}"));
        Some(at)
    }

    /// Makes as many bytes as were not recorded, as compressible as the original ones.
    fn fill(&mut self, event: &Event) {
        self.filler.clear();
        for argument in event.arguments().filter(|argument| argument.bytes.is_none()) {
            let len = (argument.size as usize).min(FILLER_MAX);
            let end = self.filler.len() + len;
            // This many of every hundred bytes repeat.
            let same = usize::from(argument.compressibility.min(100));
            while self.filler.len() < end {
                let piece = (end - self.filler.len()).min(100);
                let noise = piece.min(100 - same);
                let from = self.filler.len() % (self.noise.len() - 100);
                self.filler.extend_from_slice(&self.noise[from..from + noise]);
                self.filler.resize(self.filler.len() + piece - noise, b'x');
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(event: &Event, recorded: Protocol, to_cache: bool, times: (u64, u64)) -> Vec<u8> {
        let mut out = Vec::new();
        assert!(Encoder::new(recorded, to_cache).encode(event, times.0, times.1, &mut out));
        out
    }

    #[test]
    fn a_command_is_sent_as_it_was_with_its_deadline_moved() {
        let mut event = Event::default();
        for word in [&b"SET"[..], b"k\r\n", b"", b"PXAT", b"5000"] {
            event.push(word);
        }
        let hour = 3_600_000_000_000;
        let bytes = encoded(&event, Protocol::Resp, false, (0, hour));
        let expected =
            "*5\r\n$3\r\nSET\r\n$3\r\nk\r\n\r\n$0\r\n\r\n$4\r\nPXAT\r\n$7\r\n3605000\r\n";
        assert_eq!(String::from_utf8(bytes).unwrap(), expected);
    }

    #[test]
    fn what_was_not_recorded_has_its_size_and_its_compressibility() {
        let mut event = Event::default();
        event.push(b"SET");
        event.push(b"k");
        event.push_size(1000, 75);
        let bytes = encoded(&event, Protocol::Resp, false, (0, 0));
        let same = bytes.iter().filter(|byte| **byte == b'x').count();
        assert!(bytes.starts_with(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1000\r\n"));
        assert_eq!(bytes.len(), 29 + 1000);
        assert!((740..780).contains(&same), "{same}");
    }

    #[test]
    fn memcached_gets_lines() {
        let mut event = Event::default();
        for word in ["set", "k", "value", "0", "60"] {
            event.push(word.as_bytes());
        }
        let bytes = encoded(&event, Protocol::Memcache, true, (0, 0));
        assert_eq!(bytes, b"set k 0 60 5\r\nvalue\r\n");
        let bytes = encoded(&event, Protocol::Memcache, false, (0, 0));
        assert!(bytes.starts_with(b"*5\r\n$3\r\nSET\r\n$1\r\nk\r\n$5\r\nvalue\r\n$2\r\nEX\r\n"));
    }
}
