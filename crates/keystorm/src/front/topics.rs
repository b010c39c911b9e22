//! The pages of `docs/` that `keystorm help TOPIC` prints. A new one is a link in `topics/` (which is
//! within the package, as `docs/` is not) and a row here.

/// A page by its name.
macro_rules! topic {
    ($name:literal) => {
        ($name, include_str!(concat!("../../topics/", $name, ".md")))
    };
}

/// Every one, in the order in which they are listed.
const TOPICS: &[(&str, &str)] = &[
    topic!("applications"),
    topic!("automation"),
    topic!("publishing"),
    topic!("measuring"),
    topic!("results"),
    topic!("reports"),
    topic!("comparing"),
    topic!("workloads"),
    topic!("lab"),
    topic!("cluster"),
    topic!("memcached"),
    topic!("fleet"),
];

/// Their names.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    TOPICS.iter().map(|(name, _)| *name)
}

/// The page of that name, in Markdown.
pub(super) fn page(name: &str) -> Option<&'static str> {
    TOPICS.iter().find(|(known, _)| *known == name).map(|(_, page)| *page)
}
