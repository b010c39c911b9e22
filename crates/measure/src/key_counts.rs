//! Keys that were asked for, and those that were there: one request may ask for many.

/// Counts of keys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KeyCounts {
    /// Keys that requests asked for, where their replies tell how many were there.
    pub asked: u64,
    /// Those of them that were there.
    pub found: u64,
}

impl KeyCounts {
    /// Adds keys.
    #[inline]
    pub fn add(&mut self, asked: u64, found: u64) {
        self.asked = self.asked.saturating_add(asked);
        self.found = self.found.saturating_add(found);
    }

    /// Adds all that `other` holds.
    pub(crate) fn merge(&mut self, other: &Self) {
        let Self { asked, found } = other;
        self.add(*asked, *found);
    }
}
