//! Connections that are not all opened at once, or not all there from the start.

use serde::{Deserialize, Serialize};

use crate::random;

/// How connections join the load, those of each worker for itself. Each is opened when it joins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Joining {
    /// Connections of a worker that carry load from the start.
    pub first: u32,
    /// Connections of it that join together, at least 1.
    pub step: u32,
    /// Nanoseconds from step to step, at least 1.
    pub every_ns: u64,
}

/// The time between two connections that a worker opens before load starts, drawn anew for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spacing {
    /// Nanoseconds at least.
    pub least_ns: u64,
    /// Nanoseconds at most, not below.
    pub most_ns: u64,
}

impl Spacing {
    /// The time that this random number stands for.
    #[must_use]
    pub fn of(self, drawn: u64) -> u64 {
        let times = self.most_ns.saturating_sub(self.least_ns).saturating_add(1);
        self.least_ns.saturating_add(random::within(drawn, times))
    }
}

impl Joining {
    /// Connections of a worker that carry load after `steps` steps.
    #[must_use]
    pub fn after(self, steps: u64) -> u32 {
        let joined = u64::from(self.step).saturating_mul(steps);
        u32::try_from(joined.saturating_add(self.first.into())).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_drawn_from_the_least_to_the_most() {
        let spacing = Spacing { least_ns: 10, most_ns: 12 };
        let step = u64::MAX / 3;
        assert_eq!([0, 1, 2].map(|n| spacing.of(n * step + n)), [10, 11, 12]);
        assert_eq!(spacing.of(u64::MAX), 12);
        assert_eq!(Spacing { least_ns: 5, most_ns: 5 }.of(u64::MAX), 5);
    }
}
