//! keystorm's own suite: specs in the files of `suite/`, several in each.

use super::Spec;

/// The files, a group of commands or several in each.
const FILES: [&str; 6] = [
    include_str!("../../suite/strings.yml"),
    include_str!("../../suite/hashes.yml"),
    include_str!("../../suite/lists.yml"),
    include_str!("../../suite/sets.yml"),
    include_str!("../../suite/sorted-sets.yml"),
    include_str!("../../suite/others.yml"),
];

/// Returns keystorm's own specs.
///
/// # Errors
/// Returns an error if one cannot be read, which a test excludes.
pub fn built_in() -> Result<Vec<Spec>, String> {
    FILES.iter().flat_map(|file| documents(file)).map(|text| Spec::parse(text, "")).collect()
}

/// The documents of a file.
pub fn documents(text: &str) -> impl Iterator<Item = &str> {
    text.split("\n---\n").filter(|text| !text.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::MEMTIER;

    #[test]
    fn every_spec_can_be_read_and_has_a_name_of_its_own() {
        let specs = built_in().unwrap();
        let mut names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), specs.len());
        let groups = [
            "string",
            "hash",
            "list",
            "set",
            "sorted-set",
            "stream",
            "bitmap",
            "hyperloglog",
            "geo",
            "generic",
            "scripting",
            "transactions",
            "pubsub",
            "connection",
            "server",
        ];
        for group in groups {
            let core =
                |spec: &&Spec| spec.priority == Some(1) && spec.groups.contains(&group.to_owned());
            assert!(specs.iter().any(|spec| core(&spec)), "{group}: none of priority 1");
        }
        for spec in &specs {
            assert!(!spec.name.is_empty() && !spec.description.is_empty(), "{}", spec.name);
            assert!(
                spec.clients
                    .iter()
                    .filter(|line| line.tool == MEMTIER)
                    .all(|l| l.words.iter().any(|w| w == "--test-time"))
            );
        }
    }
}
