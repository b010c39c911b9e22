//! Connections that are not all there from the start.

use serde::{Deserialize, Serialize};

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

impl Joining {
    /// Connections of a worker that carry load after `steps` steps.
    #[must_use]
    pub fn after(self, steps: u64) -> u32 {
        let joined = u64::from(self.step).saturating_mul(steps);
        u32::try_from(joined.saturating_add(self.first.into())).unwrap_or(u32::MAX)
    }
}
