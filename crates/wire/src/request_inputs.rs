//! Inputs that determine the bytes of a request.

use std::num::NonZeroU64;

/// A request, as far as its bytes depend on it: its number, and further inputs from the run.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct RequestInputs<'r> {
    /// Number of the request.
    pub number: u64,
    /// Number of its key, if that depends on the run's inserts.
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
    /// Token of the value's item, in protocols with such tokens.
    pub cas: Option<u64>,
}

/// The number of a key, below 2^64 - 1. As an option it takes no more room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyNumber(NonZeroU64);

impl KeyNumber {
    /// Wraps a number; the largest of all is reduced by one.
    #[inline]
    pub fn new(number: u64) -> Self {
        Self(NonZeroU64::MIN.saturating_add(number.min(u64::MAX - 1)))
    }

    /// The number.
    #[inline]
    pub fn number(self) -> u64 {
        self.0.get() - 1
    }
}
