//! Items in groups, in the order in which each group began.

use std::cmp::Reverse;

/// Returns the items without repetition.
pub fn unique<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    by_key(items.into_iter().map(|item| (item, ()))).into_iter().map(|(item, _)| item).collect()
}

/// Returns the values of each key together.
pub fn by_key<K: PartialEq, V>(pairs: impl IntoIterator<Item = (K, V)>) -> Vec<(K, Vec<V>)> {
    let mut groups: Vec<(K, Vec<V>)> = Vec::new();
    for (key, value) in pairs {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, values)) => values.push(value),
            None => groups.push((key, vec![value])),
        }
    }
    groups
}

/// Counts equal items, the most frequent first.
pub fn by_frequency<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<(T, usize)> {
    let groups = by_key(items.into_iter().map(|item| (item, ())));
    let mut counts: Vec<_> = groups.into_iter().map(|(item, of)| (item, of.len())).collect();
    counts.sort_by_key(|(_, count)| Reverse(*count));
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_stand_as_they_began() {
        let letters = || "banana".chars();
        assert_eq!(unique(letters()), ['b', 'a', 'n']);
        let places = by_key(letters().zip(1..));
        assert_eq!(places, [('b', vec![1]), ('a', vec![2, 4, 6]), ('n', vec![3, 5])]);
        assert_eq!(by_frequency(letters()), [('a', 3), ('n', 2), ('b', 1)]);
    }
}
