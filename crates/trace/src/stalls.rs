//! Spans of a record in which no command of any client ended: the server stood still, or nobody asked.

use serde::Serialize;

/// Spans that are kept: the longest.
const GAPS_MAX: usize = 20;
/// A gap is a stall if it is at least so long, and so many times the usual distance of commands.
const STALL_NS: u64 = 20_000_000;
const STALL_TIMES: f64 = 100.0;

/// A span in which no client's command was carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Gap {
    /// How long it was, in nanoseconds.
    pub length_ns: u64,
    /// When it began, in nanoseconds after the first event.
    pub at_ns: u64,
}

/// Finds them while a record is read.
#[derive(Debug, Default)]
pub struct Stalls {
    gaps: Vec<Gap>,
    last_ns: u64,
    events: u64,
}

impl Stalls {
    /// Takes in the next event, so long after the first; never before the one before.
    pub fn add(&mut self, since_ns: u64) {
        let gap = Gap { length_ns: since_ns.saturating_sub(self.last_ns), at_ns: self.last_ns };
        (self.last_ns, self.events) = (since_ns, self.events + 1);
        if gap.length_ns < STALL_NS {
            return;
        }
        if self.gaps.len() < GAPS_MAX {
            self.gaps.push(gap);
        } else if let Some(shortest) = self.gaps.iter_mut().min() {
            *shortest = gap.max(*shortest);
        }
    }

    /// What was found, the longest first.
    #[must_use]
    pub fn found(&self) -> Vec<Gap> {
        let usual_ns = self.last_ns as f64 / self.events.max(1) as f64;
        let is_stall = |gap: &&Gap| gap.length_ns as f64 >= usual_ns * STALL_TIMES;
        let mut gaps: Vec<Gap> = self.gaps.iter().filter(is_stall).copied().collect();
        workload::sort::sort_by(&mut gaps, |a, b| b.cmp(a));
        gaps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_is_long_beside_what_is_usual() {
        const MS: u64 = 1_000_000;
        let mut stalls = Stalls::default();
        (0..1000).for_each(|n| stalls.add(n * MS));
        assert_eq!(stalls.found(), []);
        (0..1000).for_each(|n| stalls.add((1400 + n) * MS));
        stalls.add(2450 * MS);
        let [first] = stalls.found()[..] else { panic!("{stalls:?}") };
        assert_eq!((first.at_ns, first.length_ns), (999 * MS, 401 * MS));
    }
}
