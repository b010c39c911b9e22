//! What was sent and is not answered yet.

use std::collections::VecDeque;

/// Requests that were sent together, on one connection, to be answered in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Flight {
    /// When they were due; when they were sent in a closed loop.
    pub(crate) intended_ns: u64,
    /// When they were handed to the kernel.
    pub(crate) sent_ns: u64,
    /// When the first byte of the replies was read; 0 until then.
    pub(crate) first_byte_ns: u64,
    /// Replies still to come, at least 1.
    pub(crate) left: u32,
    /// Which command of the sequence the next reply answers.
    pub(crate) command: u32,
    /// Sent in the measured part, not in the warm-up.
    pub(crate) measured: bool,
}

/// The flights of one connection, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Flights {
    queue: VecDeque<Flight>,
    commands: u32,
}

impl Flights {
    /// Adds requests that were just sent.
    #[inline]
    pub(crate) fn push(&mut self, flight: Flight) {
        debug_assert!(flight.left > 0, "nothing was sent");
        self.commands += flight.left;
        self.queue.push_back(flight);
    }

    /// Takes the next reply's request off: its flight as it was, or `None` if nothing was asked.
    #[inline]
    pub(crate) fn settle(&mut self, now_ns: u64, sequence_len: u32) -> Option<Flight> {
        let front = self.queue.front_mut()?;
        if front.first_byte_ns == 0 {
            front.first_byte_ns = now_ns;
        }
        let settled = *front;
        self.commands -= 1;
        front.left -= 1;
        if front.left == 0 {
            self.queue.pop_front();
        } else {
            front.command += 1;
            if front.command == sequence_len {
                front.command = 0;
            }
        }
        Some(settled)
    }

    /// Notes that part of the next reply was read.
    #[inline]
    pub(crate) fn reply_begun(&mut self, now_ns: u64) {
        if let Some(front) = self.queue.front_mut()
            && front.first_byte_ns == 0
        {
            front.first_byte_ns = now_ns;
        }
    }

    /// Requests in flight.
    #[inline]
    pub(crate) fn commands(&self) -> u32 {
        self.commands
    }

    /// When the oldest request in flight was sent.
    #[inline]
    pub(crate) fn oldest_ns(&self) -> Option<u64> {
        self.queue.front().map(|flight| flight.sent_ns)
    }

    /// Forgets all and counts those that were measured. What was sent at `overdue_ns` or before
    /// has timed out; 0 is for none.
    pub(crate) fn abandon(&mut self, overdue_ns: u64) -> Abandoned {
        self.commands = 0;
        let mut abandoned = Abandoned::default();
        for flight in self.queue.drain(..).filter(|flight| flight.measured) {
            if overdue_ns > 0 && flight.sent_ns <= overdue_ns {
                abandoned.timed_out += u64::from(flight.left);
            } else {
                abandoned.lost += u64::from(flight.left);
            }
        }
        abandoned
    }
}

/// Measured requests that will have no reply.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Abandoned {
    /// Their time was over.
    pub(crate) timed_out: u64,
    /// Their connection ended before it was.
    pub(crate) lost: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flight(sent_ns: u64, left: u32) -> Flight {
        Flight { intended_ns: sent_ns, sent_ns, first_byte_ns: 0, left, command: 0, measured: true }
    }

    #[test]
    fn replies_settle_in_order_and_know_their_command() {
        let mut flights = Flights::default();
        flights.push(flight(10, 3));
        flights.push(flight(20, 1));
        let settled: Vec<(u64, u32)> =
            std::iter::from_fn(|| flights.settle(30, 2)).map(|f| (f.sent_ns, f.command)).collect();
        assert_eq!(settled, [(10, 0), (10, 1), (10, 0), (20, 0)]);
        assert_eq!(flights.commands(), 0);
    }

    #[test]
    fn the_first_byte_is_that_of_the_whole_flight() {
        let mut flights = Flights::default();
        flights.push(flight(10, 2));
        flights.reply_begun(15);
        assert_eq!(flights.settle(20, 1).map(|f| f.first_byte_ns), Some(15));
        assert_eq!(flights.settle(30, 1).map(|f| f.first_byte_ns), Some(15));
    }

    #[test]
    fn abandoned_requests_are_counted_if_measured() {
        let mut flights = Flights::default();
        flights.push(Flight { measured: false, ..flight(10, 4) });
        flights.push(flight(20, 2));
        flights.push(flight(30, 1));
        assert_eq!(flights.oldest_ns(), Some(10));
        assert_eq!(flights.abandon(20), Abandoned { timed_out: 2, lost: 1 });
        assert_eq!((flights.commands(), flights.oldest_ns()), (0, None));
    }
}
