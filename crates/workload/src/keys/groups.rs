//! Keys of a request from one group, such as a hash slot, which a server answers together.
//!
//! Owns the keys by group, made once for a whole run. The encoder knows the group of a key.

use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Set if all keys of a request belong to the group of the first. Saved as `true`.
#[derive(Debug, Clone, Default)]
pub struct OneGroup(Arc<OnceLock<KeyGroups>>);

impl OneGroup {
    /// Groups the keys with `make`, unless this was done before.
    pub fn group(&self, make: impl FnOnce() -> KeyGroups) {
        self.0.get_or_init(make);
    }

    /// Moves within a group like [`KeyGroups::behind`]; returns `key` itself while there are no groups.
    #[inline]
    pub fn behind(&self, key: u64, nth: u64) -> u64 {
        self.0.get().map_or(key, |groups| groups.behind(key, nth))
    }
}

/// Always equal: its content follows from the rest of a plan.
impl PartialEq for OneGroup {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for OneGroup {}

impl Serialize for OneGroup {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(true)
    }
}

impl<'de> Deserialize<'de> for OneGroup {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        bool::deserialize(deserializer).map(|_| Self::default())
    }
}

/// Keys `0..range` by group.
#[derive(Debug)]
pub struct KeyGroups {
    /// The group of each key.
    of: Vec<u16>,
    /// Keys by group, ascending within each.
    keys: Vec<u32>,
    /// Start of each group, and the end of the last.
    starts: Vec<u32>,
}

impl KeyGroups {
    /// Maximum number of keys that can be grouped; each takes six bytes.
    pub const KEYS_MAX: u64 = 1 << 28;

    /// Groups `range` keys, at most [`KEYS_MAX`](Self::KEYS_MAX); `group` returns the group of each, below
    /// `groups`.
    pub fn new(range: u64, groups: u16, mut group: impl FnMut(u64) -> u16) -> Self {
        let range = range.min(Self::KEYS_MAX);
        let of: Vec<u16> = (0..range).map(|key| group(key).min(groups - 1)).collect();
        let mut starts = vec![0; usize::from(groups) + 1];
        for group in &of {
            starts[usize::from(*group) + 1] += 1;
        }
        for group in 0..usize::from(groups) {
            starts[group + 1] += starts[group];
        }
        let mut next = starts.clone();
        let mut keys = vec![0; of.len()];
        for (key, group) in (0..).zip(&of) {
            let place = &mut next[usize::from(*group)];
            keys[*place as usize] = key;
            *place += 1;
        }
        Self { of, keys, starts }
    }

    /// The key `nth` positions after `key` in its group, cyclically; `key` itself for 0, and if it is in no
    /// group.
    #[inline]
    pub fn behind(&self, key: u64, nth: u64) -> u64 {
        let Some(group) = usize::try_from(key).ok().and_then(|key| self.of.get(key)) else {
            return key;
        };
        let group = usize::from(*group);
        let members = &self.keys[self.starts[group] as usize..self.starts[group + 1] as usize];
        let place = members.partition_point(|member| u64::from(*member) < key) as u64;
        u64::from(members[((place + nth) % members.len() as u64) as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_behind_a_key_are_of_its_group_and_differ_until_it_ends() {
        let groups = KeyGroups::new(1000, 7, |key| (key * key % 7) as u16);
        for key in 0..1000 {
            let of = |key: u64| key * key % 7;
            let all: Vec<u64> = (0..1000).map(|nth| groups.behind(key, nth)).collect();
            assert_eq!(all[0], key);
            assert!(all.iter().all(|other| of(*other) == of(key)));
            let members = (0..1000).filter(|other| of(*other) == of(key)).count();
            let mut different = all[..members].to_vec();
            different.sort_unstable();
            different.dedup();
            assert_eq!((different.len(), all[members]), (members, key));
        }
        assert_eq!(groups.behind(5000, 3), 5000, "it is in no group");
    }

    #[test]
    fn keys_are_grouped_once() {
        let (one, other) = (OneGroup::default(), OneGroup::default());
        let same = one.clone();
        one.group(|| KeyGroups::new(10, 2, |key| (key % 2) as u16));
        same.group(|| unreachable!());
        assert_eq!(same.behind(1, 1), 3);
        assert_eq!(one, other);
    }
}
