//! Spans of a record in which no command of any client ended: the server stalled, or got no requests.

use serde::Serialize;

/// Number of spans kept, the longest.
const GAPS_MAX: usize = 20;
/// Minimum length of a stall.
const STALL_NS: u64 = 20_000_000;
/// Minimum ratio of a stall to the longest gap that chance makes between commands at random times: the usual
/// distance, times the logarithm of their number.
const STALL_TIMES: f64 = 2.0;

/// A span in which no client's command was carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Gap {
    /// Length in nanoseconds.
    pub length_ns: u64,
    /// Beginning, in nanoseconds after the first event.
    pub at_ns: u64,
}

/// Finds gaps while a record is read.
#[derive(Debug, Default)]
pub struct Stalls {
    gaps: Vec<Gap>,
    last_ns: u64,
    events: u64,
}

impl Stalls {
    /// Adds the next event, at this time after the first, in ascending order. Returns the gap before it, if
    /// that may be a stall.
    pub fn add(&mut self, since_ns: u64) -> Option<Gap> {
        let gap = Gap { length_ns: since_ns.saturating_sub(self.last_ns), at_ns: self.last_ns };
        (self.last_ns, self.events) = (since_ns, self.events + 1);
        if gap.length_ns < STALL_NS {
            return None;
        }
        if self.gaps.len() < GAPS_MAX {
            self.gaps.push(gap);
        } else if let Some(shortest) = self.gaps.iter_mut().min() {
            *shortest = gap.max(*shortest);
        }
        Some(gap)
    }

    /// Returns the stalls, the longest first.
    pub fn found(&self) -> Vec<Gap> {
        let events = self.events.max(1) as f64;
        let by_chance_ns = self.last_ns as f64 / events * (1.0 + events.ln());
        let stall =
            self.gaps.iter().filter(|gap| gap.length_ns as f64 >= by_chance_ns * STALL_TIMES);
        let mut gaps: Vec<Gap> = stall.copied().collect();
        gaps.sort_by(|a, b| b.cmp(a));
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
        for n in 0..1000 {
            stalls.add(n * MS);
        }
        assert_eq!(stalls.found(), []);
        for n in 0..1000 {
            stalls.add((1400 + n) * MS);
        }
        assert!(stalls.add(2420 * MS).is_some());
        let [first] = stalls.found()[..1] else { panic!("{stalls:?}") };
        assert_eq!((first.at_ns, first.length_ns), (999 * MS, 401 * MS));
    }
}
