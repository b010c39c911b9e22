//! Intervals on their way to the collector, which may be slow: it calls observers, and one that writes to a
//! terminal blocks while its user scrolls.
//!
//! A worker never waits for the collector. Messages without room are kept here in order, so that they arrive
//! as if they had never waited. Beyond a bound of memory their tallies are merged, but each interval keeps
//! its slices, which show outages.

use std::collections::VecDeque;
use std::sync::mpsc::{SyncSender, TrySendError};

use measure::{Interval, Tally, TallyShape};

use crate::collect::Message;

/// Maximum number of bytes of a worker's waiting tallies.
const BYTES_MAX: u64 = 32 << 20;
/// Number of tallies that may wait regardless of their size.
const TALLIES_MIN: u64 = 4;
/// Maximum number of intervals that wait: a day of them. Slices of later intervals are lost to outages.
const INTERVALS_MAX: usize = 4 * 86_400;

/// Messages that the collector has had no room for, in the order in which they were recorded.
pub(super) struct Outbox {
    full: SyncSender<Message>,
    waiting: VecDeque<Message>,
    /// Number of waiting tallies, and its maximum.
    tallies: u64,
    tallies_max: u64,
}

impl Outbox {
    pub(super) fn new(full: SyncSender<Message>, shape: &TallyShape) -> Self {
        let tallies_max = (BYTES_MAX / Tally::bytes(shape).max(1)).max(TALLIES_MIN);
        Self { full, waiting: VecDeque::new(), tallies: 0, tallies_max }
    }

    /// Hands over all that the collector has room for.
    pub(super) fn send(&mut self, message: Message) {
        while let Some(first) = self.waiting.pop_front() {
            let tally = u64::from(holds_tally(&first));
            if let Some(first) = self.refused(first) {
                self.waiting.push_front(first);
                return self.keep(message);
            }
            self.tallies -= tally;
        }
        if let Some(message) = self.refused(message) {
            self.keep(message);
        }
    }

    /// Returns all that still waits, and then the last message.
    pub(super) fn end_with(mut self, last: Message) -> Vec<Message> {
        self.keep(last);
        self.waiting.into()
    }

    /// Sends a message; returns it if there was no room.
    fn refused(&self, message: Message) -> Option<Message> {
        match self.full.try_send(message) {
            Err(TrySendError::Full(message)) => Some(message),
            Ok(()) | Err(TrySendError::Disconnected(_)) => None,
        }
    }

    fn keep(&mut self, mut message: Message) {
        if self.tallies >= self.tallies_max {
            self.put_together(&mut message);
        }
        self.tallies += u64::from(holds_tally(&message));
        if holds_tally(&message) || self.waiting.len() < INTERVALS_MAX {
            self.waiting.push_back(message);
        }
    }

    /// Merges the tally of a message into the last waiting one, if both are of one phase.
    fn put_together(&mut self, message: &mut Message) {
        let Message::Interval { interval: Interval { tally, .. }, warm, .. } = message else {
            return;
        };
        let last = self.waiting.iter_mut().rev().find_map(|waiting| match waiting {
            Message::Interval { interval, warm, .. } => Some((interval.tally.as_mut()?, *warm)),
            Message::Done { .. } => None,
        });
        if let (Some((last, was_warm)), Some(more)) = (last, tally.as_ref())
            && was_warm == *warm
        {
            last.merge(more);
            *tally = None;
        }
    }
}

fn holds_tally(message: &Message) -> bool {
    matches!(message, Message::Interval { interval: Interval { tally: Some(_), .. }, .. })
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::{FailedRequests, Gauges};

    const SHAPE: TallyShape = TallyShape {
        commands: 1,
        precision: 3,
        scheduled: false,
        first_byte: false,
        operations: 0,
        separate_failures: false,
        places: 0,
        spans: false,
        deadline_ns: None,
    };

    fn interval(index: u32, warm: bool) -> Message {
        let mut tally = Tally::new(&SHAPE);
        tally.commands[0].ok = 1;
        let slices = vec![measure::Slices::default()];
        Message::Interval {
            interval: Interval { index, worker: 0, tally: Some(tally), slices },
            gauges: Gauges::default(),
            warm,
            failed: FailedRequests::default(),
        }
    }

    /// Number of the interval, requests in its tally, and whether it belongs to the warm-up.
    fn summary(message: Message) -> (u32, Option<u64>, bool) {
        let Message::Interval { interval, warm, .. } = message else { panic!("no interval") };
        (interval.index, interval.tally.map(|tally| tally.requests()), warm)
    }

    #[test]
    fn what_waited_comes_in_order_and_as_it_was() {
        let (full, messages) = mpsc::sync_channel(1);
        let mut outbox = Outbox::new(full, &SHAPE);
        (0..5).for_each(|index| outbox.send(interval(index, false)));
        assert_eq!(messages.try_iter().map(summary).collect::<Vec<_>>(), [(0, Some(1), false)]);
        let rest = outbox.end_with(interval(5, false));
        let rest: Vec<_> = rest.into_iter().map(summary).collect();
        assert_eq!(rest, [1, 2, 3, 4, 5].map(|index| (index, Some(1), false)));
    }

    #[test]
    fn beyond_the_bound_tallies_are_put_together_and_never_those_of_the_warm_up_with_others() {
        let (full, _messages) = mpsc::sync_channel(0);
        let mut outbox = Outbox { tallies_max: 2, ..Outbox::new(full, &SHAPE) };
        (0..4).for_each(|_| outbox.send(interval(0, true)));
        (0..3).for_each(|index| outbox.send(interval(index, false)));
        let rest: Vec<_> = outbox.end_with(interval(3, false)).into_iter().map(summary).collect();
        let warm = [(0, Some(1), true), (0, Some(3), true), (0, None, true), (0, None, true)];
        let measured = [(0, Some(4), false), (1, None, false), (2, None, false), (3, None, false)];
        assert_eq!(rest, [warm, measured].concat());
    }
}
