//! Texts of many runs, without repetition: texts on one topic differ only in their figures.

use crate::{Warning, WarningTopic};

/// Texts in groups: the key of each, the text of its first run, and the number of its runs.
#[derive(Debug, Clone)]
pub struct TextGroups<K>(Vec<(K, String, usize)>);

impl<K> Default for TextGroups<K> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: PartialEq> TextGroups<K> {
    /// Adds the text of a run. Returns whether it is the first of its group.
    pub fn add(&mut self, key: K, text: &str) -> bool {
        let known = self.0.iter_mut().find(|(known, ..)| *known == key);
        let is_new = known.is_none();
        match known {
            Some((.., runs)) => *runs += 1,
            None => self.0.push((key, text.to_owned(), 1)),
        }
        is_new
    }

    /// The first text of each group and the number of its runs, in order of arrival.
    pub fn iter(&self) -> impl Iterator<Item = (&str, usize)> {
        self.0.iter().map(|(_, text, runs)| (text.as_str(), *runs))
    }
}

impl TextGroups<WarningTopic> {
    /// Adds a warning of a run. Returns whether it is the first on its topic.
    pub fn add_warning(&mut self, warning: &Warning) -> bool {
        self.add(warning.topic(), &warning.text)
    }
}
