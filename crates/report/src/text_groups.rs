//! Texts of many runs, without repetition: texts on one topic differ only in their figures.

use crate::{Warning, WarningTopic};

/// Texts in groups, each with a key.
#[derive(Debug, Clone)]
pub struct TextGroups<K>(Vec<Group<K>>);

#[derive(Debug, Clone)]
struct Group<K> {
    key: K,
    /// Text of the first run.
    text: String,
    runs: usize,
}

impl<K> Default for TextGroups<K> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: PartialEq> TextGroups<K> {
    /// Adds the text of a run. Returns whether it is the first of its group.
    pub fn add(&mut self, key: K, text: &str) -> bool {
        match self.0.iter_mut().find(|group| group.key == key) {
            Some(group) => group.runs += 1,
            None => {
                self.0.push(Group { key, text: text.to_owned(), runs: 1 });
                return true;
            }
        }
        false
    }

    /// The first text of each group and the number of its runs, in order of arrival.
    pub fn iter(&self) -> impl Iterator<Item = (&str, usize)> {
        self.0.iter().map(|group| (group.text.as_str(), group.runs))
    }
}

impl TextGroups<WarningTopic> {
    /// Adds a warning of a run. Returns whether it is the first on its topic.
    pub fn add_warning(&mut self, warning: &Warning) -> bool {
        self.add(warning.topic(), &warning.text)
    }
}
