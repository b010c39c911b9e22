//! The pages of `docs/`, all of which `keystorm help TOPIC` prints. A new one is a link in `topics/` (which is
//! within the package, as `docs/` is not) and a row here, in the order of docs/SUMMARY.md.

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
    topic!("workloads"),
    topic!("cluster"),
    topic!("memcached"),
    topic!("messages"),
    topic!("connections"),
    topic!("impact"),
    topic!("recorded-traffic"),
    topic!("redis-and-memcached"),
    topic!("lab"),
    topic!("automation"),
    topic!("installing"),
    topic!("results"),
    topic!("comparing"),
    topic!("history"),
    topic!("suite"),
    topic!("footprint"),
    topic!("fleet"),
    topic!("memtier"),
    topic!("ycsb"),
    topic!("rpc-perf"),
    topic!("publishing"),
    topic!("measuring"),
    topic!("where-the-time-went"),
    topic!("doctor"),
    topic!("reports"),
    topic!("performance"),
    topic!("architecture"),
    topic!("dependencies"),
];

/// Their names.
pub fn names() -> impl Iterator<Item = &'static str> {
    TOPICS.iter().map(|(name, _)| *name)
}

/// The page that somebody means by the name of another program.
pub(super) fn meant(name: &str) -> Option<&'static str> {
    let programs = ["grafana", "prometheus", "openmetrics", "ci", "python", "pandas"];
    programs.contains(&name.to_lowercase().as_str()).then_some("automation")
}

/// The page of that name, in Markdown.
pub fn page(name: &str) -> Option<String> {
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
        assert_eq!((page("nothing"), meant("nothing")), (None, None));
        assert!(page(meant("Grafana").unwrap()).unwrap().contains("Grafana"));
    }

    #[test]
    fn they_are_those_of_the_summary_in_its_order() {
        let summary = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/SUMMARY.md");
        let summary = std::fs::read_to_string(summary).unwrap();
        let linked: Vec<&str> = summary
            .lines()
            .filter_map(|line| line.split_once("](")?.1.strip_suffix(".md)"))
            .collect();
        assert_eq!(names().collect::<Vec<_>>(), linked);
        let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
        let mut pages: Vec<String> = std::fs::read_dir(dir)
            .unwrap()
            .filter_map(|file| {
                file.unwrap().file_name().to_str()?.strip_suffix(".md").map(str::to_owned)
            })
            .filter(|name| name != "SUMMARY")
            .collect();
        pages.sort();
        let mut linked = linked;
        linked.sort_unstable();
        assert_eq!(linked, pages, "a page of docs/ is not in its summary");
    }
}
