//! Meta's traces of its cache (kvcache, 2022 and 2024): columns by the names in the first line, or in their
//! usual order. A line has the number of its occurrences within a second.

use super::lines::{LineKind, Lines, ParseLine, first_lines, number};
use super::{Format, Head};
use crate::{Clock, Decode, Event, Fault, Flags, Outcome, Protocol, Source, Stamps};

pub(super) const FORMAT: Format =
    Format { name: "meta", title: "Meta's cache trace", recognizes, open };

/// The order of columns in a file without names.
const USUAL: &[u8] = b"key,op,size,op_count,key_size";
/// Index of an optional last column.
const USUAL_TTL: usize = 5;
/// Maximum number of occurrences of a line in its second.
const REPEATS_MAX: u64 = u16::MAX as u64;

fn recognizes(head: &Head<'_>) -> bool {
    let Some(first) = first_lines(head).next() else { return false };
    Columns::new(first).is_some()
        || Columns::new(USUAL).is_some_and(|columns| columns.row(first).is_some())
}

fn open(head: &Head<'_>) -> Result<(Box<dyn Decode>, Source), Fault> {
    let named = first_lines(head).next().and_then(Columns::new);
    let columns = named.or_else(|| Some(Columns { ttl: Some(USUAL_TTL), ..Columns::new(USUAL)? }));
    let columns = columns.unwrap_or_default();
    let mut source = Source {
        format: "meta",
        protocol: Protocol::Memcache,
        stamps: Stamps::Second,
        clock: Clock::Relative,
        ..Source::default()
    };
    if columns.time.is_none() {
        source.stamps = Stamps::None;
        source.notes.push("the record has no times".into());
    }
    Ok((Box::new(Lines::new(Meta { columns, seconds: None })), source))
}

/// Positions of columns.
#[derive(Debug, Clone, Copy, Default)]
struct Columns {
    time: Option<usize>,
    key: usize,
    key_size: usize,
    operation: usize,
    count: usize,
    size: usize,
    hits: Option<usize>,
    ttl: Option<usize>,
    /// Minimum number of columns in a line; one with fewer was cut.
    total: usize,
}

/// More columns than any of these files has.
const COLUMNS_MAX: usize = 16;

struct Row<'l> {
    second: u64,
    key: &'l [u8],
    key_bytes: u32,
    operation: &'static str,
    count: u32,
    bytes: u32,
    hits: Option<u32>,
    ttl_s: &'l [u8],
}

impl Columns {
    /// Parses a line of column names; `None` for any other line.
    fn new(line: &[u8]) -> Option<Self> {
        let at = |name: &str| {
            line.split(|byte| *byte == b',')
                .position(|column| column.trim_ascii() == name.as_bytes())
                .filter(|at| *at < COLUMNS_MAX)
        };
        Some(Self {
            time: at("op_time"),
            key: at("key")?,
            key_size: at("key_size")?,
            operation: at("op")?,
            count: at("op_count")?,
            size: at("size")?,
            hits: at("cache_hits"),
            ttl: at("ttl"),
            total: line.split(|byte| *byte == b',').count(),
        })
    }

    fn row<'l>(&self, line: &'l [u8]) -> Option<Row<'l>> {
        if line.split(|byte| *byte == b',').count() < self.total {
            return None;
        }
        let mut columns = [&b""[..]; COLUMNS_MAX];
        for (place, column) in columns.iter_mut().zip(line.split(|byte| *byte == b',')) {
            *place = column.trim_ascii();
        }
        let operation = match columns[self.operation] {
            b"GET" | b"GET_LEASE" => "get",
            b"SET" | b"SET_LEASE" => "set",
            b"DELETE" => "delete",
            _ => return None,
        };
        let second = match self.time {
            Some(at) => number(columns[at]).filter(|second| *second < 1 << 33)?,
            None => 0,
        };
        let small = |at: usize| number(columns[at]).and_then(|number| u32::try_from(number).ok());
        let count =
            number(columns[self.count]).filter(|count| (1..=REPEATS_MAX).contains(count))?;
        let ttl_s = self.ttl.map_or(&b""[..], |at| columns[at]);
        Some(Row {
            second,
            key: columns[self.key],
            key_bytes: small(self.key_size)?,
            operation,
            count: count as u32,
            bytes: small(self.size)?,
            hits: self.hits.and_then(small),
            ttl_s: if number(ttl_s).is_some() { ttl_s } else { b"0" },
        })
    }
}

#[derive(Debug)]
struct Meta {
    columns: Columns,
    /// The second of the last line.
    seconds: Option<u64>,
}

impl ParseLine for Meta {
    fn line(&mut self, line: &[u8], event: &mut Event) -> LineKind {
        let is_first = self.seconds.is_none();
        let Some(row) = self.columns.row(line) else {
            let is_names = is_first && Columns::new(line).is_some();
            return if is_names { LineKind::Other } else { LineKind::Unreadable };
        };
        self.seconds = Some(row.second);
        event.at_ns = row.second * 1_000_000_000;
        event.flags.set(Flags::NO_CLIENT);
        event.push(row.operation.as_bytes());
        event.push_resized(row.key, row.key_bytes);
        event.repeats = row.count;
        match (row.operation, row.hits) {
            ("set", _) => {
                event.push_size(row.bytes, 0);
                event.push(b"0");
                event.push(row.ttl_s);
            }
            ("get", Some(hits)) => {
                event.outcome = Outcome::Hit(row.bytes);
                event.repeated_hits = hits.min(row.count);
            }
            ("get", None) if row.bytes == 0 => event.outcome = Outcome::Miss,
            ("get", None) => {
                event.outcome = Outcome::Hit(row.bytes);
                event.repeated_hits = row.count;
            }
            _ => {}
        }
        LineKind::Event
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::read;

    #[test]
    fn a_line_that_counts_is_as_many_events_within_its_second() {
        let text = b"op_time,key,key_size,op,op_count,size,cache_hits,ttl,usecase,sub_usecase\n\
            5,k,40,GET,4,100,3,0,1,1\n5,k,40,SET,1,100,0,60,1,1\n5,m,4,GET,1,100,0,60,1,1\n";
        let events = read("meta", text, 1, 1).events;
        let is_within = |event: &Event| (5_000_000_000..6_000_000_000).contains(&event.at_ns);
        assert!(events.len() == 6 && events.iter().all(is_within), "{events:?}");
        assert!(events.is_sorted_by_key(|event| event.at_ns));
        let hits = events.iter().filter(|event| event.outcome == Outcome::Hit(100)).count();
        let misses = events.iter().filter(|event| event.outcome == Outcome::Miss).count();
        assert_eq!((hits, misses), (3, 2));
        let set = events.iter().find(|event| event.name() == b"set").unwrap();
        assert_eq!((set.argument(1).unwrap().size, set.bytes(4)), (40, &b"60"[..]));
    }

    #[test]
    fn the_traces_of_2022_have_no_times() {
        for text in ["key,op,size,op_count,key_size\n1,GET,10,2,9\n", "1,GET,10,2,9,0\n"] {
            let read = read("meta", text.as_bytes(), 1, 1);
            assert_eq!((read.events.len(), read.events[1].at_ns), (2, 0), "{text}");
        }
    }
}
