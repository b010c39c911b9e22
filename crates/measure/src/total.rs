//! Counts of several owners that can be added up.
//!
//! A struct of counts names its fields once, in [`total!`]: a new field that is not named there does not
//! compile.

use crate::Latency;

/// Counts that add up without loss.
pub(crate) trait Total {
    /// Adds another total. Counts stop at their maximum, since totals may come from files with any content.
    fn merge(&mut self, other: &Self);

    /// Forgets everything and keeps the memory.
    fn clear(&mut self);

    /// Returns whether nothing was counted.
    fn is_empty(&self) -> bool;
}

impl Total for u64 {
    fn merge(&mut self, other: &Self) {
        *self = self.saturating_add(*other);
    }

    fn clear(&mut self) {
        *self = 0;
    }

    fn is_empty(&self) -> bool {
        *self == 0
    }
}

impl Total for Latency {
    fn merge(&mut self, other: &Self) {
        self.merge(other);
    }

    fn clear(&mut self) {
        self.clear();
    }

    fn is_empty(&self) -> bool {
        self.count() == 0
    }
}

/// Total of a part that is counted only on demand: a part that only `other` has is taken.
impl<T: Total + Clone> Total for Option<T> {
    fn merge(&mut self, other: &Self) {
        match (self, other) {
            (Some(sum), Some(part)) => sum.merge(part),
            (sum @ None, Some(part)) => *sum = Some(part.clone()),
            (_, None) => {}
        }
    }

    fn clear(&mut self) {
        self.iter_mut().for_each(Total::clear);
    }

    fn is_empty(&self) -> bool {
        self.as_ref().is_none_or(Total::is_empty)
    }
}

impl<T: Total> Total for Box<T> {
    fn merge(&mut self, other: &Self) {
        T::merge(self, other);
    }

    fn clear(&mut self) {
        T::clear(self);
    }

    fn is_empty(&self) -> bool {
        T::is_empty(self)
    }
}

/// Hits and misses by item; the shorter list is padded with zeros.
impl Total for Vec<[u64; 2]> {
    fn merge(&mut self, other: &Self) {
        self.resize(self.len().max(other.len()), [0; 2]);
        let places = self.as_flattened_mut().iter_mut();
        places.zip(other.as_flattened()).for_each(|(sum, part)| sum.merge(part));
    }

    fn clear(&mut self) {
        self.fill([0; 2]);
    }

    fn is_empty(&self) -> bool {
        self.iter().all(|place| *place == [0; 2])
    }
}

/// Implements [`Total`] for a struct, field by field, and gives it a `merge` of its own.
macro_rules! total {
    ($counts:ident { $($field:ident),+ $(,)? }) => {
        impl crate::total::Total for $counts {
            fn merge(&mut self, other: &Self) {
                let Self { $($field),+ } = other;
                $(crate::total::Total::merge(&mut self.$field, $field);)+
            }

            fn clear(&mut self) {
                let Self { $($field),+ } = self;
                $(crate::total::Total::clear($field);)+
            }

            fn is_empty(&self) -> bool {
                let Self { $($field),+ } = self;
                $(crate::total::Total::is_empty($field))&&+
            }
        }

        impl $counts {
            /// Adds another total.
            pub fn merge(&mut self, other: &Self) {
                crate::total::Total::merge(self, other);
            }
        }
    };
}
pub(crate) use total;
