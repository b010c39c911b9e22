//! What memcached prints for `watch fetchers mutations deletions connevents`: one line for each entry of its log.
//!
//! Microseconds are not padded (`.17204` is 17,204 µs). A client is known by its file descriptor, which the next
//! client gets when it has left. A command that writes or deletes first looks its item up, which is a line like that
//! of a read. Values are sizes. Lines of several threads interleave; each client's are in order.

use std::collections::HashMap;

use super::lines::{Line, Lines, ParseLine, first_lines, number};
use super::{Format, Head};
use crate::{Decode, Event, Fault, Flags, Outcome, Protocol, Source, Stamps, Step};

pub(super) const FORMAT: Format = Format {
    name: "watch",
    title: "the output of memcached's watch",
    recognizes: |head: &Head<'_>| {
        first_lines(head).any(|line| {
            let fields = Fields::new(line);
            stamp(fields.ts).is_some() && !fields.kind.is_empty()
        })
    },
    open: |_| {
        let source = Source {
            format: "watch",
            protocol: Protocol::Memcache,
            stamps: Stamps::Completion,
            ..Source::default()
        };
        Ok((Box::new(Requests::default()), source))
    },
};

/// Clients that are distinguished when they reuse a file descriptor; those beyond it are not.
const DESCRIPTORS_MAX: usize = 1 << 20;

/// The fields of a line that are read.
#[derive(Debug, Default)]
struct Fields<'l> {
    ts: &'l [u8],
    kind: &'l [u8],
    key: &'l [u8],
    status: &'l [u8],
    command: &'l [u8],
    ttl: &'l [u8],
    size: &'l [u8],
    descriptor: &'l [u8],
    skipped: &'l [u8],
}

impl<'l> Fields<'l> {
    fn new(line: &'l [u8]) -> Self {
        let mut fields = Self::default();
        for field in line.split(|byte| *byte == b' ') {
            let Some(at) = memchr::memchr(b'=', field) else { continue };
            let value = &field[at + 1..];
            let place = match &field[..at] {
                b"ts" => &mut fields.ts,
                b"type" => &mut fields.kind,
                b"key" => &mut fields.key,
                b"status" => &mut fields.status,
                b"cmd" => &mut fields.command,
                b"ttl" => &mut fields.ttl,
                b"size" => &mut fields.size,
                b"cfd" => &mut fields.descriptor,
                b"skipped" => &mut fields.skipped,
                _ => continue,
            };
            *place = value;
        }
        fields
    }
}

/// `<seconds>.<microseconds>`, where the microseconds are a number and no fraction.
fn stamp(text: &[u8]) -> Option<u64> {
    let dot = memchr::memchr(b'.', text)?;
    let (seconds, micros) = (number(&text[..dot])?, number(&text[dot + 1..])?);
    if micros >= 1_000_000 {
        return None;
    }
    seconds.checked_mul(1_000_000_000)?.checked_add(micros * 1000)
}

/// What clients asked for: the lines without those of items that were looked up to be written or deleted.
#[derive(Debug, Default)]
struct Requests {
    lines: Lines<Watch>,
    next: Event,
    /// A read, if it is not the first half of what follows.
    read: Option<Event>,
    /// What follows a read that was one.
    ready: Option<Event>,
}

impl Decode for Requests {
    fn decode(&mut self, input: &[u8], is_end: bool, event: &mut Event) -> Result<Step, Fault> {
        if let Some(ready) = self.ready.take() {
            *event = ready;
            return Ok(Step::Event(0));
        }
        let step = self.lines.decode(input, is_end, &mut self.next)?;
        let Step::Event(length) = step else {
            if matches!(step, Step::Lost(..)) {
                self.next.clear();
            }
            return Ok(match self.read.take_if(|_| step == Step::More && is_end) {
                Some(read) => {
                    *event = read;
                    Step::Event(0)
                }
                None => step,
            });
        };
        let mut next = std::mem::take(&mut self.next);
        let is_read = next.is("get");
        // Lines of deletions name no client.
        let is_anonymous = next.flags.has(Flags::NO_CLIENT);
        let is_half = |read: &Event| {
            let is_same_client = is_anonymous || read.client == next.client;
            !is_read && is_same_client && read.bytes(1) == next.bytes(1)
        };
        match self.read.take() {
            Some(read) if !is_half(&read) => {
                *event = read;
                let place = if is_read { &mut self.read } else { &mut self.ready };
                *place = Some(next);
            }
            None if is_read => {
                self.read = Some(next);
                return Ok(Step::Progress(length));
            }
            half => {
                if let Some(read) = half.filter(|_| is_anonymous) {
                    (next.client, next.flags) = (read.client, read.flags);
                }
                *event = next;
            }
        }
        Ok(Step::Event(length))
    }
}

#[derive(Debug, Default)]
struct Watch {
    /// How often each file descriptor was given to a client.
    descriptors: HashMap<u32, u32>,
}

impl ParseLine for Watch {
    fn line(&mut self, line: &[u8], event: &mut Event) -> Line {
        if line == b"OK" {
            return Line::Other;
        }
        let fields = Fields::new(line);
        if let Some(events) = number(fields.skipped) {
            return Line::Dropped(events);
        }
        let Some(at_ns) = stamp(fields.ts) else { return Line::Unreadable };
        let descriptor = number(fields.descriptor).and_then(|number| u32::try_from(number).ok());
        event.at_ns = at_ns;
        match descriptor {
            Some(descriptor) => {
                let times = self.descriptors.get(&descriptor).copied().unwrap_or(0);
                event.client = u64::from(descriptor) | u64::from(times & 0xffff) << 32;
            }
            None => event.flags.set(Flags::NO_CLIENT),
        }
        match fields.kind {
            b"item_get" => get(&fields, event),
            b"item_store" => store(&fields, event),
            b"deleted" => {
                event.push(b"delete");
                push_key(fields.key, event);
                event.outcome = Outcome::Done;
                Line::Event
            }
            b"conn_new" => {
                let is_bounded = self.descriptors.len() < DESCRIPTORS_MAX;
                if let Some(descriptor) = descriptor.filter(|_| is_bounded) {
                    *self.descriptors.entry(descriptor).or_default() += 1;
                }
                Line::Other
            }
            b"" => Line::Unreadable,
            _ => Line::Other,
        }
    }
}

fn get(fields: &Fields<'_>, event: &mut Event) -> Line {
    event.push(b"get");
    push_key(fields.key, event);
    event.outcome = match (fields.status, number(fields.size)) {
        (b"found", size) => Outcome::Hit(size.unwrap_or(0) as u32),
        _ => Outcome::Miss,
    };
    Line::Event
}

fn store(fields: &Fields<'_>, event: &mut Event) -> Line {
    event.push(match fields.command {
        command @ (b"add" | b"replace" | b"append" | b"prepend" | b"cas") => command,
        _ => b"set",
    });
    push_key(fields.key, event);
    event.push_size(number(fields.size).unwrap_or(0) as u32, 0);
    event.push(b"0");
    event.push(if number(fields.ttl).is_some() { fields.ttl } else { b"0" });
    event.outcome = match fields.status {
        b"stored" => Outcome::Done,
        _ => Outcome::Refused,
    };
    Line::Event
}

/// A key, which is written as in an address.
fn push_key(encoded: &[u8], event: &mut Event) {
    event.open_argument().extend(percent_encoding::percent_decode(encoded));
    event.end_argument();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn microseconds_are_a_number() {
        assert_eq!(stamp(b"1678306844.17204"), Some(1_678_306_844_017_204_000));
        assert_eq!(stamp(b"1678306844.1720400"), None);
    }

    #[test]
    fn what_is_looked_up_to_be_written_is_no_read() {
        let line = |kind: &str, key: &str, cfd: u32| {
            let rest = "status=not_found clsid=0 size=0 cmd=set ttl=0";
            format!("ts=1.5 gid=1 type={kind} key={key} cfd={cfd} {rest}\n")
        };
        let lines = [
            line("item_get", "a", 1),
            line("item_get", "a", 1),
            line("item_store", "a", 1),
            line("item_get", "b", 1),
            line("item_store", "b", 2),
            line("item_get", "a", 2),
            line("deleted", "a", 2),
            line("item_get", "c", 1),
            line("item_get", "c", 2),
            "ts=1.5 gid=1 type=deleted key=c cmd=delete clsid=1 size=5\n".to_owned(),
        ];
        let input = Box::new(std::io::Cursor::new(lines.concat()));
        let mut reader = crate::open_live("x", "watch", input).unwrap();
        let (mut event, mut seen) = (Event::default(), Vec::new());
        while crate::Reader::next(&mut reader, &mut event).unwrap() {
            let word = |at| String::from_utf8_lossy(event.bytes(at)).into_owned();
            seen.push(format!("{} {} {}", event.client, word(0), word(1)));
        }
        let expected =
            ["1 get a", "1 set a", "1 get b", "2 set b", "2 delete a", "1 get c", "2 delete c"];
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_descriptor_that_is_used_again_is_another_client() {
        let mut watch = Watch::default();
        let get = b"ts=1.5 gid=1 type=item_get key=a%20b status=found clsid=1 cfd=9 size=12";
        let mut client = |line: &[u8]| {
            let mut event = Event::default();
            assert_eq!(watch.line(line, &mut event), Line::Event);
            assert_eq!((event.bytes(1), event.outcome), (&b"a b"[..], Outcome::Hit(12)));
            let open = b"ts=1.6 gid=2 type=conn_new rip=127.0.0.1 rport=1 transport=tcp cfd=9";
            assert_eq!(watch.line(open, &mut event), Line::Other);
            event.client
        };
        assert_ne!(client(get), client(get));
    }
}
