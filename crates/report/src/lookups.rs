//! The one definition of hits and misses of commands.
//!
//! A command has hits and misses if its reply reports a miss
//! ([`CommandSpec::looks_up`](workload::CommandSpec::looks_up)), or if some of its replies were empty. Other
//! replies, such as to a `SET` or to a command queued by a transaction, are neither.

use measure::{CommandTally, Tally};
use serde::Serialize;
use workload::Plan;

use crate::quantity::{grouped, many};

/// Maximum difference of equal shares of hits.
const DIFFERENCE_MAX: f64 = 0.002;

/// Replies to commands that look up keys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Lookups {
    /// Lookups that found the key, or a part of it.
    pub hits: u64,
    /// Lookups that found nothing.
    pub misses: u64,
}

impl Lookups {
    /// Counts the lookups of a command; `None` if it has none.
    pub fn of_command(looks_up: bool, tally: &CommandTally) -> Option<Self> {
        let some = looks_up || tally.miss > 0;
        some.then_some(Self { hits: tally.ok, misses: tally.miss })
    }

    /// Counts the lookups of each different command of a plan.
    pub fn of_commands(plan: &Plan, total: &Tally) -> Vec<Option<Self>> {
        let looks_up = plan.different_commands().looks_up;
        let each = looks_up.iter().zip(&total.commands);
        each.map(|(looks_up, tally)| Self::of_command(*looks_up, tally)).collect()
    }

    /// Adds up the lookups of all commands.
    pub fn sum(of: &[Option<Self>]) -> Self {
        of.iter().flatten().fold(Self::default(), |sum, one| Self {
            hits: sum.hits.saturating_add(one.hits),
            misses: sum.misses.saturating_add(one.misses),
        })
    }

    /// Share of hits, 0 to 1; `None` without lookups.
    pub fn found_share(self) -> Option<f64> {
        let all = self.hits as f64 + self.misses as f64;
        (all > 0.0).then(|| self.hits as f64 / all)
    }

    /// Compares the shares of hits of two runs of a load. They are alike if their distance is at most this
    /// many standard deviations of chance, or the least that counts.
    pub fn is_alike(self, other: Self, deviations: f64) -> bool {
        let count = |of: Self| of.hits as f64 + of.misses as f64;
        let (Some(first), Some(second)) = (self.found_share(), other.found_share()) else {
            return false;
        };
        let both = (self.hits as f64 + other.hits as f64) / (count(self) + count(other));
        let inverse = 1.0 / count(self) + 1.0 / count(other);
        let deviation = (both * (1.0 - both) * inverse).sqrt();
        (first - second).abs() <= DIFFERENCE_MAX.max(deviations * deviation)
    }

    /// Describes hits and misses.
    pub fn in_words(&self) -> String {
        let misses = if self.misses == 1 { "miss" } else { "misses" };
        format!("{}, {} {misses}", many(self.hits, "hit"), grouped(self.misses as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_nothing_up_has_neither_hits_nor_misses() {
        let tally = |ok, miss| {
            let tally = crate::fixture::complete().measurement.total.commands[0].clone();
            CommandTally { ok, miss, ..tally }
        };
        let get = Lookups::of_command(true, &tally(5, 1));
        assert_eq!(get, Some(Lookups { hits: 5, misses: 1 }));
        assert_eq!(Lookups::of_command(false, &tally(9, 0)), None, "a SET");
        let conditional = Lookups::of_command(false, &tally(9, 2));
        assert_eq!(conditional, Some(Lookups { hits: 9, misses: 2 }), "a SET that may not write");
        assert_eq!(Lookups::sum(&[get, None, conditional]).in_words(), "14 hits, 3 misses");
        assert_eq!(Lookups { hits: 0, misses: 1 }.in_words(), "0 hits, 1 miss");
    }

    #[test]
    fn chance_sets_the_shares_of_few_apart() {
        let found = |hits, of| Lookups { hits, misses: of - hits };
        assert!(found(500, 1_000).is_alike(found(520, 1_000), 2.0));
        assert!(!found(50_000, 100_000).is_alike(found(52_000, 100_000), 2.0));
        let many = 1_000_000_000;
        assert!(found(many / 2, many).is_alike(found(many / 2 + many / 1000, many), 2.0));
        assert!(!found(0, 0).is_alike(found(1, 1), 2.0), "of nothing");
    }
}
