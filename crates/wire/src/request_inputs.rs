//! The inputs from which the bytes of a request follow.

use std::num::NonZeroU64;

/// A request, as far as its bytes depend on it: all of it comes from its number, unless a run has given
/// it more.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct RequestInputs<'r> {
    /// Number of the request.
    pub number: u64,
    /// The number of its key, where it depends on what the run has inserted.
    pub key: Option<KeyNumber>,
    /// Values from replies to earlier steps of its operation.
    pub replied: EarlierReplies<'r>,
}

impl From<u64> for RequestInputs<'_> {
    fn from(number: u64) -> Self {
        Self { number, ..Self::default() }
    }
}

/// Values from replies to earlier steps of an operation.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct EarlierReplies<'r> {
    /// A value, if one came.
    pub value: Option<&'r [u8]>,
    /// The token of the item that it is the value of, in protocols that have such tokens.
    pub cas: Option<u64>,
}

/// The number of a key, below 2^64 - 1. As an option it takes no more room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyNumber(NonZeroU64);

impl KeyNumber {
    /// Wraps a number; the largest of all becomes the one before it.
    #[inline]
    #[must_use]
    pub fn new(number: u64) -> Self {
        Self(NonZeroU64::MIN.saturating_add(number.min(u64::MAX - 1)))
    }

    /// The number.
    #[inline]
    #[must_use]
    pub fn number(self) -> u64 {
        self.0.get() - 1
    }
}
