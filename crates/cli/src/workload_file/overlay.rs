//! Options that a workload file sets. If several places set one, the last counts.

use std::collections::BTreeMap;

use naming::{
    ARRIVALS, CLEAN, DURATION, FAIL_ON_MISS, FILL, FILL_WITH, HIT_RATIO, JOIN, KEY_DIST, KEYS_BY,
    OptionId, PER_CONNECTION, RATE, REQUESTS, SEQUENTIAL, TIME_LIMIT, VERIFY, WARMUP,
};
use serde::{Serialize, Serializer};
use serde_json::Value;
use spec::LoadSpec;
use spec::document::{Fields, option_of_files, options_of_files};
use spec::write::key;

/// Pairs of options that exclude each other: the last one set counts.
const EXCLUSIVE: [[OptionId; 2]; 2] = [[REQUESTS, DURATION], [KEY_DIST, SEQUENTIAL]];

/// Options that a phase of every key decides itself.
pub(crate) const FILL_EXCLUDES: [OptionId; 17] = [
    FILL,
    FILL_WITH,
    CLEAN,
    HIT_RATIO,
    VERIFY,
    FAIL_ON_MISS,
    REQUESTS,
    DURATION,
    WARMUP,
    RATE,
    ARRIVALS,
    KEY_DIST,
    SEQUENTIAL,
    PER_CONNECTION,
    TIME_LIMIT,
    KEYS_BY,
    JOIN,
];

/// A value of an option, and its position in the file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Assignment {
    pub(crate) value: Value,
    pub(crate) at: usize,
}

/// Options that are set, by their keys.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Settings(BTreeMap<String, Assignment>);

impl Settings {
    /// Returns the options of a load that a file may set.
    ///
    /// # Errors
    /// Returns an error if a path is not UTF-8.
    pub(crate) fn of_load(spec: &LoadSpec) -> Result<Self, serde_json::Error> {
        let LoadSpec { load, data, recording, .. } = spec.clone();
        let given = LoadSpec { load, data, recording, ..LoadSpec::default() }.given()?;
        let assignments = given.into_iter().filter_map(|given| {
            let key = key(&given.option);
            option_of_files(&key)?;
            Some((key, Assignment { value: given.value, at: 0 }))
        });
        Ok(Self(assignments.collect()))
    }

    /// Iterates over the keys and their assignments.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Assignment)> {
        self.0.iter().map(|(key, assignment)| (&**key, assignment))
    }

    /// Returns the assignment of a key.
    pub(crate) fn get(&self, key: &str) -> Option<&Assignment> {
        self.0.get(key)
    }

    /// Returns the key of an option that is given and excludes this one.
    pub(crate) fn contradiction(&self, key: &str) -> Option<String> {
        other(key).filter(|other| self.0.contains_key(other))
    }

    /// Sets an option, and removes the one that it excludes.
    pub(crate) fn put(&mut self, key: &str, assignment: Assignment) {
        self.remove_for(key);
        self.0.insert(key.to_owned(), assignment);
    }

    /// Removes these options.
    pub(crate) fn remove_all(&mut self, options: &[OptionId]) {
        options.iter().for_each(|option| drop(self.0.remove(&option.key())));
    }

    /// Removes an option and the one that it excludes.
    pub(crate) fn remove_for(&mut self, key: &str) {
        self.0.remove(key);
        other(key).and_then(|other| self.0.remove(&other));
    }

    /// Returns these options, overridden by others.
    pub(crate) fn overlaid(mut self, others: &Self) -> Self {
        others.iter().for_each(|(key, assignment)| self.put(key, assignment.clone()));
        self
    }

    /// Returns the values without their positions.
    pub(crate) fn values(&self) -> Fields {
        self.iter().map(|(key, assignment)| (key.to_owned(), assignment.value.clone())).collect()
    }
}

impl Serialize for Settings {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let given = options_of_files().filter_map(|option| self.0.get_key_value(&key(option)));
        to.collect_map(given.map(|(key, assignment)| (key, &assignment.value)))
    }
}

/// The key of the option that excludes this one, if there is one.
fn other(key: &str) -> Option<String> {
    let mut pairs = EXCLUSIVE.iter().map(|pair| pair.map(OptionId::key));
    let pair = pairs.find(|pair| pair.iter().any(|one| one == key))?;
    pair.into_iter().find(|one| one != key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stated_last_takes_the_place_of_what_it_contradicts() {
        let given = |given: &[(&str, Value)]| {
            let mut settings = Settings::default();
            for (key, value) in given {
                settings.put(key, Assignment { value: value.clone(), at: 0 });
            }
            settings
        };
        let common =
            given(&[("requests", 5.into()), ("size", 3.into()), ("key-dist", "zipf".into())]);
        let both = common.overlaid(&given(&[("duration", "1s".into()), ("size", 4.into())]));
        let of_both = [("key-dist", "zipf".into()), ("duration", "1s".into()), ("size", 4.into())];
        assert_eq!(both, given(&of_both));
        assert_eq!(both.contradiction("requests"), Some("duration".to_owned()));
        let sequential = both.overlaid(&given(&[("sequential", true.into())]));
        assert_eq!(sequential.get("key-dist"), None);
    }
}
