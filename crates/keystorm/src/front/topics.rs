//! The pages of `docs/` that `keystorm help TOPIC` prints. A new one is a link in `topics/` (which is
//! within the package, as `docs/` is not) and a row here.

use std::io::Read;

use flate2::read::DeflateDecoder;

/// A page by its name, as `build.rs` has packed it.
macro_rules! topic {
    ($name:literal) => {
        ($name, include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".md")))
    };
}

/// Every one, in the order in which they are listed.
const TOPICS: &[(&str, &[u8])] = &[
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
pub(super) fn page(name: &str) -> Option<String> {
    let (_, packed) = TOPICS.iter().find(|(known, _)| *known == name)?;
    let mut page = String::new();
    let read = DeflateDecoder::new(*packed).read_to_string(&mut page);
    read.is_ok().then_some(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_is_there() {
        for name in names() {
            let page = page(name).unwrap();
            assert!(page.starts_with("# ") && page.ends_with('\n'), "{name}");
        }
        assert_eq!(page("nothing"), None);
    }
}
