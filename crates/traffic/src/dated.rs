//! Correction of impossible times in a record.
//!
//! A damaged time is far from its neighbours, which are near each other; its command gets the previous time.
//! Commands before the first time of a record that has times later are left out, as their times are unknown.

use std::collections::VecDeque;

use crate::chain::Chain;
use crate::{Event, Losses, ReadError, Reader, Source, Stamps};

const SECOND_NS: u64 = 1_000_000_000;
/// Distance of times that are accepted without a check.
const NEAR_NS: u64 = 60 * SECOND_NS;
/// Distance from the others beyond which a single command at one end of a record has a damaged time.
const ALONE_NS: u64 = 7 * 86_400 * SECOND_NS;
/// Number of times after a jump that confirm a change of the clock.
const TIMES_MAX: usize = 8;
/// Maximum number of events held until they are there, and of their bytes.
const EVENTS_MAX: usize = 4096;
const BYTES_MAX: usize = 16 << 20;

/// A record whose times are checked.
#[derive(Default)]
pub(crate) struct Dated {
    inner: Chain,
    /// Time of the last command that was passed on.
    last_ns: Option<u64>,
    /// Commands whose times are not near it, with their positions.
    held: VecDeque<(u64, Event)>,
    held_bytes: usize,
    /// Number of different times among the held events.
    times: usize,
    /// Number of held events, from the first on, that are ready to be passed on.
    ready: usize,
    spare: Vec<Event>,
    misdated: u64,
    undated: u64,
    first: Option<u64>,
    /// End of the record.
    end: Option<Result<(), ReadError>>,
}

impl Dated {
    pub(crate) fn new(inner: Chain) -> Self {
        Self { inner, ..Self::default() }
    }

    fn hold(&mut self, event: &mut Event) {
        let is_new = self.held.back().is_none_or(|(_, last)| last.at_ns != event.at_ns);
        self.times += usize::from(is_new);
        self.held_bytes += event.bytes_held();
        let mut kept = self.spare.pop().unwrap_or_default();
        std::mem::swap(&mut kept, event);
        self.held.push_back((self.inner.position(), kept));
    }

    /// Decides which of the held commands to pass on.
    fn decide(&mut self) {
        let Some((_, newest)) = self.held.back() else { return };
        let (count, newest_ns) = (self.held.len(), newest.at_ns);
        let is_far = |a: u64, b: u64| a.abs_diff(b) > ALONE_NS;
        let is_enough = self.end.is_some()
            || self.times >= TIMES_MAX
            || count >= EVENTS_MAX
            || self.held_bytes >= BYTES_MAX;
        let at_ns = |at: usize| self.held[at].1.at_ns;
        let (first_ns, second_ns) = (at_ns(0), at_ns(1.min(count - 1)));
        match self.last_ns {
            Some(last_ns) if is_near(last_ns, newest_ns) => self.misdate(0..count - 1, last_ns),
            Some(last_ns) if count == 1 && self.end.is_some() && is_far(last_ns, newest_ns) => {
                self.misdate(0..1, last_ns);
            }
            None if count > 1 && is_near(first_ns, newest_ns) => {
                self.misdate(1..count - 1, first_ns);
            }
            None if count > 2 && is_far(first_ns, second_ns) && is_near(second_ns, newest_ns) => {
                self.misdate(0..1, second_ns);
            }
            _ if is_enough => {}
            _ => return,
        }
        (self.ready, self.times, self.held_bytes) = (count, 0, 0);
    }

    fn misdate(&mut self, which: std::ops::Range<usize>, at_ns: u64) {
        for (position, event) in self.held.range_mut(which) {
            event.at_ns = at_ns;
            self.misdated += 1;
            self.first.get_or_insert(*position);
        }
    }
}

fn is_near(a_ns: u64, b_ns: u64) -> bool {
    a_ns.abs_diff(b_ns) <= NEAR_NS
}

impl Reader for Dated {
    fn source(&self) -> &Source {
        self.inner.source()
    }

    fn next(&mut self, event: &mut Event) -> Result<bool, ReadError> {
        if self.source().stamps == Stamps::None {
            return self.inner.next(event);
        }
        loop {
            if self.ready > 0
                && let Some((_, mut held)) = self.held.pop_front()
            {
                self.ready -= 1;
                std::mem::swap(event, &mut held);
                held.clear();
                self.spare.push(held);
                self.last_ns = Some(event.at_ns);
                return Ok(true);
            }
            if let Some(end) = &mut self.end {
                event.clear();
                return std::mem::replace(end, Ok(())).map(|()| false);
            }
            match self.inner.next(event) {
                Ok(true) => {}
                end => {
                    self.end = Some(end.map(|_| ()));
                    self.decide();
                    continue;
                }
            }
            // A file of a record without a time so far.
            if event.at_ns == 0 && self.inner.source().format == "aof" {
                let Some(last_ns) = self.held.back().map(|(_, e)| e.at_ns).or(self.last_ns) else {
                    self.undated += 1;
                    continue;
                };
                event.at_ns = last_ns;
            }
            let at_ns = event.at_ns;
            if self.held.is_empty() && self.last_ns.is_some_and(|last_ns| is_near(last_ns, at_ns)) {
                self.last_ns = Some(at_ns);
                return Ok(true);
            }
            self.hold(event);
            self.decide();
        }
    }

    fn losses(&self) -> Losses {
        let mut losses = self.inner.losses();
        losses.misdated += self.misdated;
        losses.undated += self.undated;
        losses.first = losses.first.or(self.first);
        losses
    }
}

#[cfg(test)]
mod tests {
    use crate::conformance::read;

    /// Seconds in the result for commands recorded at these, and number of damaged times.
    fn seconds(recorded: &[u64]) -> (Vec<u64>, u64) {
        let text: String =
            recorded.iter().map(|second| format!("{second}.5 [0 a:1] \"GET\" \"k\"\n")).collect();
        let read = read("monitor", text.as_bytes(), text.len(), text.len());
        assert_eq!(read.losses.total(), 0);
        let seconds = read.events.iter().map(|event| event.at_ns / super::SECOND_NS);
        (seconds.collect(), read.losses.misdated)
    }

    #[test]
    fn a_damaged_time_is_that_of_the_command_before() {
        const T: u64 = 1_700_000_000;
        assert_eq!(seconds(&[T, T + 1, 9, T + 2]), (vec![T, T + 1, T + 1, T + 2], 1));
        assert_eq!(seconds(&[T, T + 90_000, T + 80_000, T + 2]), (vec![T, T, T, T + 2], 2));
        assert_eq!(seconds(&[9, T, T + 1, T + 2]), (vec![T, T, T + 1, T + 2], 1));
        assert_eq!(seconds(&[T, T + 1, 10 * T]), (vec![T, T + 1, T + 1], 1));
    }

    #[test]
    fn gaps_and_clocks_that_were_set_are_no_damage() {
        const T: u64 = 1_700_000_000;
        for real in [
            &[T][..],
            &[T, T + 3000],
            &[T, T + 3000, T + 6000, T + 9000],
            &[T, T + 4000, T + 4001, T + 4002],
            &[T, T + 1, T + 900_000, T + 900_001],
            &[T, T - 9000, T - 8999, T - 8998, T - 8997, T - 8996, T - 8995, T - 8994, T - 8993],
        ] {
            assert_eq!(seconds(real), (real.to_vec(), 0));
        }
    }
}
