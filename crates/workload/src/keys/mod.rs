//! The key space: the number of keys, and the order in which a test visits them.
//!
//! A distribution is a pure function from the number of a draw to a key. That one decision has three
//! benefits: `--seed` reproduces the keys for any number of threads and connections, a sequential run covers
//! the space exactly once with no shared counter, and the distribution has no state that a hot path would
//! have to own.
//!
//! A new distribution is one file here and one row in [`KEY_DRAWS`].

mod exponential;
mod gaussian;
mod groups;
mod hotspot;
mod insert;
mod inserts;
mod latest;
mod missing;
mod numbered;
mod scattered;
mod sequential;
#[cfg(test)]
mod shape;
mod space;
mod trace;
mod uniform;
mod ycsb;
mod zipf;
mod zipf_cells;
mod zipf_shape;
mod zipf_tail;

pub use groups::{KeyGroups, OneGroup};
pub use inserts::Inserts;
pub use numbered::{DrawnBy, KeyNumbering, slice_of};
pub use space::{KeyDist, KeySpace};
pub use uniform::Uniform;
pub(crate) use ycsb::Zipfian;
pub(crate) use zipf::rank as zipf_rank;

use crate::parameters::{Row, row};
use crate::random::Stream;

/// Draws keys from its range.
pub trait KeyDraw: Send + Sync {
    /// The key of draw number `index` of a stream, in the range.
    fn draw(&self, stream: Stream, index: u64) -> u64;

    /// Fills `keys` with the keys of every `step`-th draw, from draw number `first` on.
    fn draw_run(&self, stream: Stream, first: u64, step: u64, keys: &mut [u64]) {
        let mut index = first;
        for key in keys {
            *key = self.draw(stream, index);
            index = index.wrapping_add(step);
        }
    }

    /// Draws while keys are inserted in order and `0..present` exist: for distributions over the age of a
    /// key.
    fn draw_present(&self, stream: Stream, index: u64, present: u64) -> u64 {
        let _ = present;
        self.draw(stream, index)
    }

    /// Source of its keys.
    fn source(&self) -> Source {
        Source::Number
    }
}

/// Source of the keys of a distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The number of the draw: call [`KeyDraw::draw`].
    Number,
    /// The number of the draw, and the keys inserted by the run: call [`KeyDraw::draw_present`].
    Present,
    /// The next insert of a run: [`Inserts::begin`] gives its key.
    Next,
}

/// Sets up draws from the non-empty `0..range`, in time and memory that do not depend on the range.
pub(crate) type Constructor =
    fn(parameters: Option<&str>, range: u64) -> Result<Box<dyn KeyDraw>, String>;

/// Every distribution.
pub const KEY_DRAWS: &[Row<Constructor>] = &[
    row("uniform", "uniform", "uniform", uniform::read),
    row("sequential", "sequential", "sequential", sequential::read),
    row("zipf", "zipf[:S[,FIRST]]", "zipf:0.99", zipf::read),
    row("zipf-scattered", "zipf-scattered[:S]", "zipf-scattered:0.99", scattered::read),
    row("hotspot", "hotspot:SHARE/KEYS", "hotspot:80/20", hotspot::read),
    row("gaussian", "gaussian[:MEAN,SD]", "gaussian:50,10", gaussian::read),
    row("exponential", "exponential[:PERCENTILE/SHARE]", "exponential:95/85.7", exponential::read),
    row("latest", "latest[:S]", "latest:0.99", latest::read),
    row("ycsb", "ycsb[:GENERATOR[,START,COUNT[,…]]]", "ycsb:zipfian,0,1000", ycsb::read),
    row("insert", "insert", "insert", insert::read),
    row("file", "file:PATH[#COLUMN]", "file:keys.csv#id", trace::read),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The conformance suite of the seam, for every distribution.
    #[test]
    fn every_distribution_is_deterministic_and_within_bounds() {
        for row in KEY_DRAWS {
            let dist: KeyDist = row.example.parse().unwrap();
            for range in [1, 2, 7, 1_000, 1_000_000_000, 1 << 63, u64::MAX] {
                let (keys, again) = (dist.over(range), dist.over(range));
                for index in (0..200).chain([u64::MAX - 1, u64::MAX]) {
                    let key = keys.draw(42.into(), index);
                    assert!(key < range, "{}: {key} is outside 0..{range}", row.name);
                    assert_eq!(key, again.draw(42.into(), index), "{} repeats itself", row.name);
                    assert!(keys.draw_present(42.into(), index, range) < range, "{}", row.name);
                }
            }
        }
    }

    /// A form is its name, with a colon and parameters unless these are in brackets.
    #[test]
    fn what_is_stated_of_a_distribution_can_be_typed() {
        for Row { name, form, .. } in KEY_DRAWS {
            let needed = form.strip_prefix(name).unwrap();
            assert_eq!(name.parse::<KeyDist>().is_err(), needed.starts_with(':'), "{form}");
            let takes_some = !needed.is_empty();
            let nonsense = format!("{name}:/").parse::<KeyDist>();
            assert_eq!(nonsense.is_ok(), takes_some && *name == "file", "{form}");
        }
    }
}
