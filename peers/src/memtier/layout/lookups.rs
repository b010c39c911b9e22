//! Lookups of commands, and their hits.

use measure::{CommandTally, Tally};
use workload::{CommandSpec, Plan};

/// The lookups of the commands of one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lookup {
    /// Name of the commands, in upper case.
    pub(crate) name: String,
    /// Keys, fields or members that were there.
    pub(crate) hits: u64,
    /// Lookups that found nothing.
    pub(crate) misses: u64,
    /// Hits and misses of each place in the command; empty where that is not known.
    pub(crate) places: Vec<[u64; 2]>,
}

impl Lookup {
    /// Misses in a hundred lookups; `None` without lookups.
    pub(crate) fn miss_percent(&self) -> Option<f64> {
        let all = self.hits + self.misses;
        (all > 0).then(|| 100.0 * self.misses as f64 / all as f64)
    }

    /// Adds another of its name.
    pub(super) fn add(&mut self, other: &Self) {
        self.hits += other.hits;
        self.misses += other.misses;
        let places = self.places.len().max(other.places.len());
        self.places.resize(places, [0; 2]);
        for (sum, place) in self.places.iter_mut().zip(&other.places) {
            sum.iter_mut().zip(place).for_each(|(sum, count)| *sum += count);
        }
    }
}

/// Hits and misses of a command, if its replies tell them.
pub(super) fn of_command(command: &CommandSpec, tally: &CommandTally) -> Option<[u64; 2]> {
    command.finds().then(|| tally.lookups())
}

/// Returns the lookups of a plan, by the names of its commands.
pub(crate) fn lookups(plan: &Plan, total: &Tally) -> Vec<Lookup> {
    let mut lookups: Vec<Lookup> = Vec::new();
    for (command, tally) in plan.different_commands().commands.iter().zip(&total.commands) {
        let Some([hits, misses]) = of_command(command, tally) else { continue };
        if hits + misses == 0 {
            continue;
        }
        let places = match command.several_asked() {
            Some((_, asked)) if asked > 1 => {
                let counted = tally.places.iter().take(asked).copied();
                counted.take_while(|[hits, misses]| hits + misses > 0).collect()
            }
            _ => vec![[hits, misses]],
        };
        let one = Lookup { name: report::escape(command.name()), hits, misses, places };
        merge(&mut lookups, &one);
    }
    lookups
}

/// Adds a lookup to that of its name.
pub(super) fn merge(lookups: &mut Vec<Lookup>, one: &Lookup) {
    match lookups.iter_mut().find(|known| known.name == one.name) {
        Some(known) => known.add(one),
        None => lookups.push(one.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lookups_of_one_name_are_added_place_by_place() {
        let of = |hits, misses, places: &[[u64; 2]]| Lookup {
            name: "MGET".to_owned(),
            hits,
            misses,
            places: places.to_vec(),
        };
        let mut all = Vec::new();
        merge(&mut all, &of(3, 1, &[[2, 0], [1, 1]]));
        merge(&mut all, &of(0, 3, &[[0, 1], [0, 1], [0, 1]]));
        assert_eq!(all, [of(3, 4, &[[2, 1], [1, 2], [0, 1]])]);
        assert_eq!(all[0].miss_percent().map(f64::round), Some(57.0));
        assert_eq!(of(0, 0, &[]).miss_percent(), None);
    }
}
