//! Times in documents: whole nanoseconds as a number of seconds or milliseconds, with fractions.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A time in nanoseconds that may be unknown.
pub(crate) trait Nanoseconds: Copy {
    fn known(self) -> Option<u64>;
    fn read(known: Option<u64>) -> Option<Self>;
}

impl Nanoseconds for u64 {
    fn known(self) -> Option<u64> {
        Some(self)
    }

    fn read(known: Option<u64>) -> Option<Self> {
        known
    }
}

impl Nanoseconds for Option<u64> {
    fn known(self) -> Option<u64> {
        self
    }

    fn read(known: Option<u64>) -> Option<Self> {
        Some(known)
    }
}

macro_rules! unit {
    ($name:ident, $ns:literal) => {
        pub(crate) mod $name {
            use super::*;

            pub(crate) fn serialize<S: Serializer>(
                time: &impl Nanoseconds,
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                time.known().map(|ns| ns as f64 / $ns).serialize(serializer)
            }

            pub(crate) fn deserialize<'de, T: Nanoseconds, D: Deserializer<'de>>(
                source: D,
            ) -> Result<T, D::Error> {
                let known = Option::<f64>::deserialize(source)?;
                T::read(known.map(|time| (time * $ns).round() as u64))
                    .ok_or_else(|| D::Error::custom("a time must be a number"))
            }
        }
    };
}
unit!(seconds, 1e9);
unit!(ms, 1e6);
