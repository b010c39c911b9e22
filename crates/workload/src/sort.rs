//! Sorting, and sorted maps, off the hot path.
//!
//! The standard library's stable sort is compiled anew for each type and order, 4 KB each time. Here places are
//! sorted, by one copy of it, and the items are then moved to them. `collect` into a map sorts first, and so is
//! compiled anew for each iterator; here entries are inserted one by one.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// Sorts by what `order` says of two items. Equal ones stay in their order.
pub fn sort_by<T>(items: &mut [T], order: impl Fn(&T, &T) -> Ordering) {
    let places = sorted(items.len(), &|a, b| order(&items[a], &items[b]));
    for (at, place) in places.iter().enumerate() {
        // What stood there was moved on by an earlier swap if its place has been filled.
        let mut from = *place;
        while from < at {
            from = places[from];
        }
        items.swap(at, from);
    }
}

/// Sorts by a key of each item. Equal ones stay in their order.
pub fn sort_by_key<T, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K) {
    sort_by(items, |a, b| key(a).cmp(&key(b)));
}

/// A map of these entries. Of two with one key, the later counts.
pub fn map<K: Ord, V>(entries: impl IntoIterator<Item = (K, V)>) -> BTreeMap<K, V> {
    let mut map = BTreeMap::new();
    map.extend(entries);
    map
}

/// A set of these items.
pub fn set<T: Ord>(items: impl IntoIterator<Item = T>) -> BTreeSet<T> {
    let mut set = BTreeSet::new();
    set.extend(items);
    set
}

/// The places of so many items in their order.
fn sorted(len: usize, order: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut places: Vec<usize> = (0..len).collect();
    places.sort_by(|a, b| order(*a, *b));
    places
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn items_are_sorted_as_the_standard_library_sorts_them(keys: Vec<u8>) {
            let mut items: Vec<(u8, usize)> = keys.into_iter().zip(0..).collect();
            let mut expected = items.clone();
            expected.sort_by_key(|(key, _)| *key);
            sort_by_key(&mut items, |(key, _)| *key);
            prop_assert_eq!(items, expected);
        }

        #[test]
        fn maps_and_sets_are_those_that_collect_makes(entries: Vec<(u8, u8)>) {
            prop_assert_eq!(map(entries.clone()), entries.iter().copied().collect::<BTreeMap<_, _>>());
            let keys = || entries.iter().map(|(key, _)| *key);
            prop_assert_eq!(set(keys()), keys().collect::<BTreeSet<_>>());
        }
    }
}
