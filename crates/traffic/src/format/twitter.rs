//! Twitter's cache traces (2020): second, key, key size, value size, client, operation, TTL, separated by commas.
//!
//! A key may have a comma, so the first column and the last five are read from both ends. The value size of a read
//! that missed is 0.

use super::lines::{LineKind, Lines, ParseLine, first_lines, number};
use super::{Format, Head};
use crate::{Clock, Event, Outcome, Protocol, Source, Stamps};

pub(super) const FORMAT: Format = Format {
    name: "twitter",
    title: "Twitter's cache trace",
    recognizes: |head: &Head<'_>| first_lines(head).take(8).any(|line| Row::new(line).is_some()),
    open: |_| {
        let source = Source {
            format: "twitter",
            protocol: Protocol::Memcache,
            stamps: Stamps::Second,
            clock: Clock::Relative,
            ..Source::default()
        };
        Ok((Box::new(Lines::new(Twitter)), source))
    },
};

struct Row<'l> {
    second: u64,
    key: &'l [u8],
    key_bytes: u32,
    value_bytes: u32,
    client: u64,
    operation: &'l [u8],
    ttl_s: &'l [u8],
}

impl<'l> Row<'l> {
    fn new(line: &'l [u8]) -> Option<Self> {
        let mut columns = line.rsplitn(6, |byte| *byte == b',');
        let ttl_s = columns.next()?;
        number(ttl_s)?;
        let operation = columns.next()?;
        let client = number(columns.next()?)?;
        let value_bytes = number(columns.next()?)?.try_into().ok()?;
        let key_bytes = number(columns.next()?)?.try_into().ok()?;
        let mut first = columns.next()?.splitn(2, |byte| *byte == b',');
        let second = number(first.next()?).filter(|second| *second < 1 << 32)?;
        let key = first.next()?;
        let is_operation = operation.iter().all(u8::is_ascii_lowercase) && !operation.is_empty();
        is_operation.then_some(Self {
            second,
            key,
            key_bytes,
            value_bytes,
            client,
            operation,
            ttl_s,
        })
    }
}

#[derive(Debug)]
struct Twitter;

impl ParseLine for Twitter {
    fn line(&mut self, line: &[u8], event: &mut Event) -> LineKind {
        let Some(row) = Row::new(line) else { return LineKind::Unreadable };
        event.at_ns = row.second * 1_000_000_000;
        event.client = row.client;
        event.push(row.operation);
        event.push_resized(row.key, row.key_bytes);
        match row.operation {
            b"get" | b"gets" => {
                event.outcome = match row.value_bytes {
                    0 => Outcome::Miss,
                    bytes => Outcome::Hit(bytes),
                };
            }
            b"set" | b"add" | b"replace" | b"append" | b"prepend" | b"cas" => {
                event.push_size(row.value_bytes, 0);
                event.push(b"0");
                event.push(row.ttl_s);
            }
            b"incr" | b"decr" => event.push(b"1"),
            b"delete" => {}
            _ => return LineKind::Unreadable,
        }
        LineKind::Event
    }
}
