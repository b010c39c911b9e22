//! Output of memcached for `watch fetchers mutations deletions connevents`: one line for each entry of its
//! log.
//!
//! Microseconds are not padded (`.17204` is 17,204 µs). A client is known by its file descriptor, which a
//! later client may reuse. A command that writes or deletes first looks up its item, with a line like that of
//! a read. Values are sizes. Lines of several threads interleave; each client's are in order.

use std::collections::{HashMap, VecDeque};

use super::lines::{LineKind, Lines, ParseLine, first_lines, number};
use super::{Format, Head};
use crate::{Decode, Decoded, Event, Fault, Flags, Outcome, Protocol, Source, Stamps};

pub(super) const FORMAT: Format = Format {
    name: "watch",
    title: "the output of memcached's watch",
    recognizes: |head: &Head<'_>| {
        first_lines(head)
            .any(|line| stamp(value(line, b"ts")).is_some() && !value(line, b"type").is_empty())
    },
    open: |_| {
        let source = Source {
            format: "watch",
            protocol: Protocol::Memcache,
            stamps: Stamps::Completion,
            notes: vec![
                "lookups of touch and incr look like reads, and those of delete before memcached 1.6.19".into(),
            ],
            ..Source::default()
        };
        Ok((Box::new(Requests::default()), source))
    },
};

/// Maximum number of file descriptors for which reuse by several clients is detected.
const DESCRIPTORS_MAX: usize = 1 << 20;

/// Number of lines within which both halves of a command appear, among lines of other threads.
const WAITING_MAX: usize = 256;

/// The last value of a field in a line; empty without one.
fn value<'l>(line: &'l [u8], name: &[u8]) -> &'l [u8] {
    let values = line.split(|byte| *byte == b' ').filter_map(|field| field.strip_prefix(name));
    values.filter_map(|value| value.strip_prefix(b"=")).next_back().unwrap_or_default()
}

/// Parses `<seconds>.<microseconds>`, where the microseconds are a number rather than a fraction.
fn stamp(text: &[u8]) -> Option<u64> {
    let dot = memchr::memchr(b'.', text)?;
    let (seconds, micros) = (number(&text[..dot])?, number(&text[dot + 1..])?);
    if micros >= 1_000_000 {
        return None;
    }
    seconds.checked_mul(1_000_000_000)?.checked_add(micros * 1000)
}

/// Requests of clients, without the lookups of items to be written or deleted.
#[derive(Debug, Default)]
struct Requests {
    lines: Lines<Watch>,
    next: Event,
    /// Waiting events, since any read among them may be the first half of its client's next command.
    waiting: VecDeque<Event>,
    /// Events whose memory is reused.
    spare: Vec<Event>,
}

impl Requests {
    /// Takes the oldest waiting event.
    fn take(&mut self, event: &mut Event) -> Option<Decoded> {
        let mut first = self.waiting.pop_front()?;
        std::mem::swap(event, &mut first);
        self.recycle(first);
        Some(Decoded::Event(0))
    }

    fn recycle(&mut self, mut event: Event) {
        event.clear();
        self.spare.push(event);
    }

    /// Queues the next event, and removes its waiting first half.
    fn queue_next(&mut self) {
        if let Some(lookup) = self.lookup().and_then(|at| self.waiting.remove(at)) {
            if self.next.flags.has(Flags::NO_CLIENT) {
                (self.next.client, self.next.flags) = (lookup.client, lookup.flags);
            }
            self.recycle(lookup);
        }
        let mut next = self.spare.pop().unwrap_or_default();
        std::mem::swap(&mut next, &mut self.next);
        self.waiting.push_back(next);
    }

    /// Index of its client's last waiting event, if that read the key which this one writes or deletes. Lines
    /// of deletions name no client, so that any client's matches.
    fn lookup(&self) -> Option<usize> {
        let Self { next, waiting, .. } = self;
        if next.is("get") {
            return None;
        }
        let has_client = |event: &Event| !event.flags.has(Flags::NO_CLIENT);
        let is_lookup = |event: &Event| event.is("get") && event.bytes(1) == next.bytes(1);
        if has_client(next) {
            let its =
                waiting.iter().rposition(|event| has_client(event) && event.client == next.client);
            return its.filter(|at| is_lookup(&waiting[*at]));
        }
        let is_last = |at: usize| {
            let mut later = waiting.range(at + 1..);
            !later.any(|later| has_client(later) && later.client == waiting[at].client)
        };
        (0..waiting.len()).rev().find(|at| {
            let event = &waiting[*at];
            has_client(event) && is_lookup(event) && is_last(*at)
        })
    }
}

impl Decode for Requests {
    fn decode(&mut self, input: &[u8], is_end: bool, event: &mut Event) -> Result<Decoded, Fault> {
        if self.waiting.len() >= WAITING_MAX
            && let Some(step) = self.take(event)
        {
            return Ok(step);
        }
        let step = self.lines.decode(input, is_end, &mut self.next)?;
        Ok(match step {
            Decoded::Event(length) => {
                self.queue_next();
                Decoded::Progress(length)
            }
            Decoded::More if is_end => self.take(event).unwrap_or(step),
            Decoded::Lost(..) => {
                self.next.clear();
                step
            }
            _ => step,
        })
    }
}

#[derive(Debug, Default)]
struct Watch {
    /// Number of times that each file descriptor was given to a client.
    descriptors: HashMap<u32, u32>,
}

impl ParseLine for Watch {
    fn line(&mut self, line: &[u8], event: &mut Event) -> LineKind {
        if line == b"OK" {
            return LineKind::Other;
        }
        if let Some(events) = number(value(line, b"skipped")) {
            return LineKind::Dropped(events);
        }
        let Some(at_ns) = stamp(value(line, b"ts")) else { return LineKind::Unreadable };
        let descriptor = number(value(line, b"cfd")).and_then(|number| u32::try_from(number).ok());
        event.at_ns = at_ns;
        match descriptor {
            Some(descriptor) => {
                let times = self.descriptors.get(&descriptor).copied().unwrap_or(0);
                event.client = u64::from(descriptor) | u64::from(times & 0xffff) << 32;
            }
            None => event.flags.set(Flags::NO_CLIENT),
        }
        match value(line, b"type") {
            b"item_get" => get(line, event),
            b"item_store" => store(line, event),
            b"deleted" => {
                event.push(b"delete");
                push_key(line, event);
                event.outcome = Outcome::Done;
                LineKind::Event
            }
            b"conn_new" => {
                let is_bounded = self.descriptors.len() < DESCRIPTORS_MAX;
                if let Some(descriptor) = descriptor.filter(|_| is_bounded) {
                    *self.descriptors.entry(descriptor).or_default() += 1;
                }
                LineKind::Other
            }
            b"" => LineKind::Unreadable,
            _ => LineKind::Other,
        }
    }
}

fn get(line: &[u8], event: &mut Event) -> LineKind {
    event.push(b"get");
    push_key(line, event);
    event.outcome = match (value(line, b"status"), number(value(line, b"size"))) {
        (b"found", size) => Outcome::Hit(size.unwrap_or(0) as u32),
        _ => Outcome::Miss,
    };
    LineKind::Event
}

fn store(line: &[u8], event: &mut Event) -> LineKind {
    event.push(match value(line, b"cmd") {
        command @ (b"add" | b"replace" | b"append" | b"prepend" | b"cas") => command,
        _ => b"set",
    });
    push_key(line, event);
    event.push_size(number(value(line, b"size")).unwrap_or(0) as u32, 0);
    event.push(b"0");
    let ttl = value(line, b"ttl");
    event.push(if number(ttl).is_some() { ttl } else { b"0" });
    event.outcome = match value(line, b"status") {
        b"stored" => Outcome::Done,
        _ => Outcome::Refused,
    };
    LineKind::Event
}

/// Appends the key of a line, which is URL-encoded.
fn push_key(line: &[u8], event: &mut Event) {
    let encoded = value(line, b"key");
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
            // Three clients at once: both halves of each write have others between them.
            line("item_get", "d", 3),
            line("item_get", "d", 4),
            line("item_get", "e", 5),
            line("item_store", "d", 3),
            line("item_store", "e", 5),
            line("item_store", "f", 4),
        ];
        let input = Box::new(std::io::Cursor::new(lines.concat()));
        let mut reader = crate::open_live("x", "watch", input).unwrap();
        let (mut event, mut seen) = (Event::default(), Vec::new());
        while crate::Reader::next(&mut reader, &mut event).unwrap() {
            let word = |at| String::from_utf8_lossy(event.bytes(at)).into_owned();
            seen.push(format!("{} {} {}", event.client, word(0), word(1)));
        }
        let mut expected =
            vec!["1 get a", "1 set a", "1 get b", "2 set b", "2 delete a", "1 get c", "2 delete c"];
        expected.extend(["4 get d", "3 set d", "5 set e", "4 set f"]);
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_descriptor_that_is_used_again_is_another_client() {
        let mut watch = Watch::default();
        let get = b"ts=1.5 gid=1 type=item_get key=a%20b status=found clsid=1 cfd=9 size=12";
        let mut client = |line: &[u8]| {
            let mut event = Event::default();
            assert_eq!(watch.line(line, &mut event), LineKind::Event);
            assert_eq!((event.bytes(1), event.outcome), (&b"a b"[..], Outcome::Hit(12)));
            let open = b"ts=1.6 gid=2 type=conn_new rip=127.0.0.1 rport=1 transport=tcp cfd=9";
            assert_eq!(watch.line(open, &mut event), LineKind::Other);
            event.client
        };
        assert_ne!(client(get), client(get));
    }
}
