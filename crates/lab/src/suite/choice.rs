//! Choice of the specs of a suite.

use std::ops::RangeInclusive;

pub use regex_lite::Regex as Pattern;

use super::Spec;

/// Requirements for a spec; an empty or `None` field requires nothing.
#[derive(Debug, Clone, Default)]
pub struct Choice {
    /// Groups, of which the spec must be in one.
    pub groups: Vec<String>,
    /// Commands, of which the spec must test one.
    pub commands: Vec<String>,
    /// Range of the priority; specs without one have the least.
    pub priority: Option<RangeInclusive<u32>>,
    /// Pattern that the name must match.
    pub name: Option<Pattern>,
}

impl Choice {
    /// Returns whether all specs match.
    pub fn is_all(&self) -> bool {
        let Self { groups, commands, priority, name } = self;
        groups.is_empty() && commands.is_empty() && priority.is_none() && name.is_none()
    }

    /// Returns whether a spec matches.
    pub fn takes(&self, spec: &Spec) -> bool {
        let of = |wanted: &[String], has: &[String]| {
            wanted.is_empty() || wanted.iter().any(|one| has.contains(&one.to_lowercase()))
        };
        let priority = spec.priority.unwrap_or(u32::MAX);
        let [wanted, has] = [&self.groups, &spec.groups]
            .map(|names| names.iter().map(|name| group(name)).collect::<Vec<_>>());
        of(&wanted, &has)
            && of(&self.commands, &spec.commands)
            && self.priority.as_ref().is_none_or(|range| range.contains(&priority))
            && self.name.as_ref().is_none_or(|name| name.is_match(&spec.name))
    }
}

/// The common name of a group, for any of its names.
fn group(name: &str) -> String {
    match name.to_lowercase().as_str() {
        "zset" | "sorted_set" => "sorted-set".to_owned(),
        "hll" => "hyperloglog".to_owned(),
        other => other.to_owned(),
    }
}

/// Parses a priority in an option: `5`, `1..40`.
///
/// # Errors
/// Returns an error in words for a person if it is malformed.
pub fn priorities(text: &str) -> Result<RangeInclusive<u32>, String> {
    let number = |text: &str| {
        text.trim().parse::<u32>().map_err(|_| format!("{text}: expected a number, or 1..40"))
    };
    match text.split_once("..") {
        Some((from, to)) => {
            let (from, to) = (number(from)?, number(to)?);
            if from > to { Err(format!("{text}: the first is the lower")) } else { Ok(from..=to) }
        }
        None => number(text).map(|one| one..=one),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_condition_has_to_hold() {
        let spec = Spec {
            name: "hash-hget-1k".into(),
            groups: vec!["hash".into()],
            commands: vec!["hget".into(), "hset".into()],
            priority: Some(12),
            ..Spec::default()
        };
        let choice = Choice::default();
        assert!(choice.is_all() && choice.takes(&spec));
        let choice = Choice { groups: vec!["zset".into(), "HASH".into()], ..choice };
        assert!(!choice.is_all() && choice.takes(&spec));
        let choice = Choice { commands: vec!["HGET".into()], ..choice };
        let choice = Choice { priority: Some(priorities("1..12").unwrap()), ..choice };
        assert!(choice.takes(&spec));
        let choice = Choice { name: Some(Pattern::new("^hash.*1k$").unwrap()), ..choice };
        assert!(choice.takes(&spec));
        assert!(!choice.takes(&Spec { priority: None, ..spec.clone() }));
        assert!(!choice.takes(&Spec { name: "hash-hget-10".into(), ..spec.clone() }));
        let sorted = Spec { groups: vec!["sorted-set".into()], ..spec };
        let choice = Choice { groups: vec!["zset".into()], ..Choice::default() };
        assert!(choice.takes(&sorted), "a group of two names");
        assert_eq!(priorities("3").unwrap(), 3..=3);
        assert!(priorities("9..1").is_err() && priorities("low").is_err());
    }
}
