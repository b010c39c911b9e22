//! The pages of `docs/`, all of which `keystorm help TOPIC` prints. A new one is a line in docs/SUMMARY.md.
//! They are behind the link `topics`, which is within the package, as `docs/` is not.

use std::io::Read;

use flate2::read::DeflateDecoder;

/// Name, title and packed text of each page, in the order of docs/SUMMARY.md, which has the titles.
const TOPICS: &[(&str, &str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/topics.rs"));

/// Names of the pages.
pub fn names() -> impl Iterator<Item = &'static str> {
    TOPICS.iter().map(|(name, ..)| *name)
}

/// A line for each page, with its name and its title.
pub(super) fn list() -> String {
    let width = names().map(str::len).max().unwrap_or_default();
    TOPICS.iter().map(|(name, title, _)| format!("{name:width$}  {title}\n")).collect()
}

/// Returns the page about another program, by its name.
pub(super) fn meant(name: &str) -> Option<&'static str> {
    let programs = ["grafana", "prometheus", "openmetrics", "ci", "python", "pandas"];
    programs.contains(&name.to_lowercase().as_str()).then_some("automation")
}

/// The page of that name, in Markdown.
pub fn page(name: &str) -> Option<String> {
    let (.., packed) = TOPICS.iter().find(|(known, ..)| *known == name)?;
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
        let titled = list().lines().any(|line| line.ends_with("  Load on memcached"));
        assert!(titled && list().lines().count() == TOPICS.len(), "{}", list());
        assert_eq!((page("nothing"), meant("nothing")), (None, None));
        assert!(page(meant("Grafana").unwrap()).unwrap().contains("Grafana"));
    }

    #[test]
    fn every_document_is_in_the_summary() {
        let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
        let mut pages: Vec<String> = std::fs::read_dir(dir)
            .unwrap()
            .filter_map(|file| {
                file.unwrap().file_name().to_str()?.strip_suffix(".md").map(str::to_owned)
            })
            .filter(|name| name != "SUMMARY")
            .collect();
        pages.sort();
        let mut known: Vec<&str> = names().collect();
        known.sort_unstable();
        assert_eq!(known, pages, "a page of docs/ is not in its summary");
    }
}
