//! Choices whose values have the names that command lines use.

/// A choice, each value of which has one name.
pub trait Named: Copy + PartialEq + 'static {
    /// Each value with its name.
    const NAMES: &'static [(Self, &'static str)];

    /// The name of a value.
    fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(value, _)| *value == self).map_or("", |(_, name)| name)
    }

    /// The value of this name.
    fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(_, known)| *known == name).map(|(value, _)| *value)
    }
}
