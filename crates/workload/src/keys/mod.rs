//! The key space: how many keys there are and in which order a test visits them.
//!
//! A distribution is a pure function from the number of a draw to a key. That one decision buys
//! three things: `--seed` reproduces the keys for any number of threads and connections, a
//! sequential run covers the space exactly once with no counter to share, and the distribution
//! has no state that a hot path would have to own.
//!
//! A new distribution is one file here and one row in [`KEY_DRAWS`].

mod sequential;
mod uniform;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

pub use sequential::Sequential;
pub use uniform::Uniform;

/// A distribution of keys.
pub trait KeyDraw: Send + Sync {
    /// The key of draw number `index`, in `0..range`. `range` is at least 1.
    fn draw(&self, seed: u64, index: u64, range: u64) -> u64;
}

/// Every distribution by its name.
pub const KEY_DRAWS: &[(&str, &dyn KeyDraw)] =
    &[("uniform", &Uniform), ("sequential", &Sequential)];

/// What number placeholders are replaced with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct KeySpace {
    /// Keys are `0..range`. `None` leaves placeholders as the text they are, as
    /// `redis-benchmark` does without `-r`. A range of 0 means only key 0, as there.
    pub range: Option<u64>,
    /// The distribution, a name in [`KEY_DRAWS`].
    pub draw: &'static str,
}

/// Written out, because the name has to be looked up in the table.
impl<'de> Deserialize<'de> for KeySpace {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Named {
            range: Option<u64>,
            draw: String,
        }
        let Named { range, draw } = Named::deserialize(deserializer)?;
        match KEY_DRAWS.iter().find(|(name, _)| *name == draw) {
            Some((draw, _)) => Ok(Self { range, draw }),
            None => Err(D::Error::custom(format!("there is no key distribution {draw:?}"))),
        }
    }
}

impl Default for KeySpace {
    fn default() -> Self {
        Self { range: None, draw: "uniform" }
    }
}

impl KeySpace {
    /// The distribution that `draw` names.
    ///
    /// # Panics
    /// When the name is not in the table, which only a slip in keystorm can cause.
    #[must_use]
    pub fn distribution(&self) -> &'static dyn KeyDraw {
        let found = KEY_DRAWS.iter().find(|(name, _)| *name == self.draw);
        found.expect("the name of a registered key distribution").1
    }

    /// Digits that hold every key: 12, or more for ranges beyond 10^12.
    #[must_use]
    pub fn digits(&self) -> usize {
        let largest = self.range.unwrap_or(0).saturating_sub(1);
        crate::command::PLACEHOLDER_LEN.max(largest.max(1).ilog10() as usize + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The conformance suite of the seam: what every distribution must hold.
    #[test]
    fn every_distribution_is_deterministic_and_within_bounds() {
        for (name, draw) in KEY_DRAWS {
            for range in [1, 2, 7, 1_000, u64::from(u32::MAX) + 1, u64::MAX] {
                for index in (0..200).chain([u64::MAX - 1, u64::MAX]) {
                    let key = draw.draw(42, index, range);
                    assert!(key < range, "{name}: {key} is outside 0..{range}");
                    assert_eq!(key, draw.draw(42, index, range), "{name} repeats itself");
                }
            }
        }
    }

    #[test]
    fn digits_grow_only_beyond_twelve() {
        let digits = |range| KeySpace { range: Some(range), draw: "uniform" }.digits();
        assert_eq!(digits(0), 12);
        assert_eq!(digits(1_000_000_000_000), 12);
        assert_eq!(digits(1_000_000_000_001), 13);
        assert_eq!(digits(u64::MAX), 20);
    }
}
