//! Several records merged by time, with the clients of different files kept distinct.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::{Event, Losses, ReadError, Reader, Source};

/// Bits of a client's number for the file's own numbers; those above hold the number of the file.
const CLIENT_BITS: u32 = 48;

/// Merges records by time. Within one record the order stays, even where its clock was set back.
///
/// # Errors
/// Returns an error if the first event of a record cannot be read.
pub fn merge(readers: Vec<Box<dyn Reader>>) -> Result<Box<dyn Reader>, ReadError> {
    let source = together(&readers);
    let mut inputs = Vec::new();
    let mut next = BinaryHeap::new();
    for (at, reader) in readers.into_iter().enumerate() {
        let mut input = Input { reader, event: Event::default(), latest_ns: 0 };
        if input.advance()? {
            next.push(Reverse((input.latest_ns, at)));
        }
        inputs.push(input);
    }
    Ok(Box::new(Merge { source, inputs, next }))
}

/// Returns the facts common to all records.
fn together(readers: &[Box<dyn Reader>]) -> Source {
    let mut sources = readers.iter().map(|reader| reader.source());
    let mut all = sources.next().cloned().unwrap_or_default();
    for source in sources {
        if source.format != all.format {
            all.notes.push(format!("records of {} and {} are merged", all.format, source.format));
        }
        if source.protocol != all.protocol {
            all.notes.push("commands of memcached and of Redis are in one record".to_owned());
        }
        if source.clock != all.clock {
            all.notes.push("the clocks of the files have different origins".to_owned());
        }
        if source.stamps != all.stamps {
            all.notes.push("the times of the files have different meanings".to_owned());
        }
        all.is_effects &= source.is_effects;
        all.shares_clients &= source.shares_clients;
        all.servers.extend_from_slice(&source.servers);
        all.sampled = all.sampled.or(source.sampled);
        all.notes.extend_from_slice(&source.notes);
    }
    all.servers.sort();
    all.servers.dedup();
    all.notes.dedup();
    all
}

struct Input {
    reader: Box<dyn Reader>,
    /// Next event.
    event: Event,
    /// Latest time so far; an event with an earlier time is not moved forward.
    latest_ns: u64,
}

impl Input {
    fn advance(&mut self) -> Result<bool, ReadError> {
        let is_there = self.reader.next(&mut self.event)?;
        self.latest_ns = self.latest_ns.max(self.event.at_ns);
        Ok(is_there)
    }
}

struct Merge {
    source: Source,
    inputs: Vec<Input>,
    next: BinaryHeap<Reverse<(u64, usize)>>,
}

impl Reader for Merge {
    fn source(&self) -> &Source {
        &self.source
    }

    fn next(&mut self, event: &mut Event) -> Result<bool, ReadError> {
        event.clear();
        let Some(Reverse((_, at))) = self.next.pop() else { return Ok(false) };
        let input = &mut self.inputs[at];
        std::mem::swap(event, &mut input.event);
        if !self.source.shares_clients {
            event.client = (at as u64) << CLIENT_BITS | event.client & ((1 << CLIENT_BITS) - 1);
        }
        if input.advance()? {
            self.next.push(Reverse((input.latest_ns, at)));
        }
        Ok(true)
    }

    fn losses(&self) -> Losses {
        let mut all = Losses::default();
        for input in &self.inputs {
            all.merge(&input.reader.losses());
        }
        all
    }
}
