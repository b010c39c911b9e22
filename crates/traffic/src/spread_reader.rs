//! Records with times in whole seconds: events are spread evenly over each second, and a line with a count
//! becomes that many events.

use std::ops::Range;

use crate::dated::Dated;
use crate::{Event, Losses, Outcome, ReadError, Reader, Source, Stamps};

const SECOND_NS: u64 = 1_000_000_000;
/// Maximum number of lines of a second held at once. The first part of a longer second gets the first half of
/// the remaining time, and so on.
const LINES_MAX: usize = 1 << 17;
/// Maximum number of events made of them at once.
const EVENTS_MAX: usize = 1 << 20;
/// Maximum number of bytes of these events.
const BYTES_MAX: usize = 64 << 20;

/// Spreads the events of a record of whole seconds.
#[derive(Default)]
pub(crate) struct SpreadReader {
    inner: Dated,
    /// The lines of a part of a second; those after `held` are spare buffers.
    lines: Vec<Event>,
    held: usize,
    /// Due time of each event, the number of its line, and whether it is beyond the hits of the line.
    order: Vec<(u64, u32, bool)>,
    next: usize,
    /// Rest of the second of the last part.
    rest_ns: Range<u64>,
    /// The first line of the next part, which was read to find the end of a second.
    ahead: Event,
    is_ahead: bool,
    is_over: bool,
}

impl SpreadReader {
    pub(crate) fn new(inner: Dated) -> Self {
        Self { inner, ..Self::default() }
    }

    /// Reads the lines of a second, or of a part of it, and plans their events. Returns false at the end.
    fn fill(&mut self) -> Result<bool, ReadError> {
        (self.held, self.next) = (0, 0);
        self.order.clear();
        let (mut events, mut bytes, mut second) = (0, 0, None);
        let is_timed = self.inner.source().stamps == Stamps::Second;
        let mut is_whole = true;
        loop {
            if !std::mem::take(&mut self.is_ahead)
                && (self.is_over || !self.inner.next(&mut self.ahead)?)
            {
                self.is_over = true;
                break;
            }
            let of = self.ahead.at_ns;
            if second.is_some_and(|second| second != of || !is_timed) {
                self.is_ahead = true;
                break;
            }
            if self.held == LINES_MAX || events >= EVENTS_MAX || bytes >= BYTES_MAX {
                (self.is_ahead, is_whole) = (true, false);
                break;
            }
            second = Some(of);
            events += self.ahead.repeats.max(1) as usize;
            bytes += self.ahead.bytes_held();
            if self.held == self.lines.len() {
                self.lines.push(Event::default());
            }
            std::mem::swap(&mut self.lines[self.held], &mut self.ahead);
            self.held += 1;
        }
        if let Some(second) = second {
            self.plan(second, is_whole, is_timed);
        }
        Ok(second.is_some())
    }

    /// Computes the due times of all events of the held lines.
    fn plan(&mut self, second_ns: u64, is_whole: bool, is_timed: bool) {
        let from =
            if self.rest_ns.end == second_ns + SECOND_NS { self.rest_ns.start } else { second_ns };
        let end = second_ns + SECOND_NS;
        let until = if is_whole { end } else { from + (end - from) / 2 };
        self.rest_ns = until..end;
        let span = if is_timed { (until - from) as f64 } else { 0.0 };
        for (at, line) in self.lines[..self.held].iter().enumerate() {
            let phase = at as f64 / self.held as f64;
            let count = line.repeats.max(1);
            for number in 0..count {
                let due = from + ((f64::from(number) + phase) / f64::from(count) * span) as u64;
                self.order.push((due, at as u32, number >= line.repeated_hits));
            }
        }
        // Stable: events of the same moment stay in the order of their lines.
        self.order.sort_by_key(|(due, ..)| *due);
    }
}

impl Reader for SpreadReader {
    fn source(&self) -> &Source {
        self.inner.source()
    }

    fn next(&mut self, event: &mut Event) -> Result<bool, ReadError> {
        event.clear();
        if self.next == self.order.len() && !self.fill()? {
            return Ok(false);
        }
        let (due, line, is_beyond_hits) = self.order[self.next];
        self.next += 1;
        let line = &mut self.lines[line as usize];
        if line.repeats <= 1 {
            std::mem::swap(event, line);
        } else {
            event.clone_from(line);
            if is_beyond_hits && matches!(line.outcome, Outcome::Hit(_)) {
                event.outcome = Outcome::Miss;
            }
        }
        if event.repeats == 1
            && event.repeated_hits == 0
            && matches!(event.outcome, Outcome::Hit(_))
        {
            event.outcome = Outcome::Miss;
        }
        (event.repeats, event.repeated_hits) = (0, 0);
        event.at_ns = due;
        Ok(true)
    }

    fn losses(&self) -> Losses {
        self.inner.losses()
    }
}
