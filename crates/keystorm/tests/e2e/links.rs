//! Links between the pages: what each leads to is there, heading included, and the list of the site
//! has every page. The first page in Chinese has the same parts and commands as the English one.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::documents::page::{all, blocks, root};

/// What a page has to lead to, and where it leads.
#[derive(Default)]
struct Page {
    anchors: BTreeSet<String>,
    links: Vec<String>,
    levels: Vec<u8>,
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

fn page(text: &str) -> Page {
    let mut page = Page::default();
    let mut heading: Option<String> = None;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                page.links.push(dest_url.into_string());
            }
            Event::Html(html) | Event::InlineHtml(html) => page.links.extend(attributes(&html)),
            Event::Start(Tag::Heading { level, .. }) => {
                page.levels.push(level as u8);
                heading = Some(String::new());
            }
            Event::Text(text) | Event::Code(text) => {
                if let Some(heading) = &mut heading {
                    *heading += &text;
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                let anchor = anchor(&heading.take().unwrap());
                let again = (1..).map(|n| format!("{anchor}-{n}"));
                let mut names = std::iter::once(anchor.clone()).chain(again);
                let free = names.find(|name| !page.anchors.contains(name)).unwrap();
                page.anchors.insert(free);
            }
            _ => {}
        }
    }
    page
}

/// Where pictures in HTML come from.
fn attributes(html: &str) -> Vec<String> {
    let values =
        ["src=\"", "srcset=\"", "href=\""].into_iter().flat_map(|name| html.split(name).skip(1));
    values.map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
}

/// The name that GitHub and mdBook give a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

/// A path without `.` and `..`.
fn tidied(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut tidy, part| {
        match part {
            Component::ParentDir => drop(tidy.pop()),
            Component::CurDir => {}
            part => tidy.push(part),
        }
        tidy
    })
}

#[test]
fn every_link_leads_somewhere() {
    let others = ["CONTRIBUTING.md", "CHANGELOG.md", "docs/SUMMARY.md"].map(str::to_owned);
    let mut broken = Vec::new();
    for path in all().into_iter().chain(others) {
        for link in page(&read(&path)).links.iter().filter(|link| !link.contains("://")) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let to = match file {
                "" => PathBuf::from(&path),
                file => tidied(&Path::new(&path).parent().unwrap().join(file)),
            };
            let there = root().join(&to).exists()
                && (anchor.is_empty()
                    || page(&read(to.to_str().unwrap())).anchors.contains(anchor));
            if !there {
                broken.push(format!("{path}: {link}"));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// The files of the repository that can be named, by their paths from its root.
fn sources(dir: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(dir).unwrap().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let skipped = ["target", ".git", "node_modules"].iter().any(|skip| name == *skip);
        if path.is_dir() && !skipped {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(format!("/{}", path.strip_prefix(root()).unwrap().display()));
        }
    }
}

#[test]
fn every_source_that_a_page_names_is_there() {
    let mut found = Vec::new();
    sources(&root(), &mut found);
    let is_named = |word: &&str| {
        word.ends_with(".rs")
            && !word.starts_with('/')
            && !word.contains("NAME")
            && !word.contains('*')
            && word.len() > 3
    };
    let mut missing = Vec::new();
    for path in all().into_iter().chain(["CONTRIBUTING.md".to_owned()]) {
        let text = read(&path);
        let words = text.split(|c: char| !(c.is_alphanumeric() || "_-./*".contains(c)));
        let gone = |word: &&str| !found.iter().any(|file| file.ends_with(&format!("/{word}")));
        missing.extend(words.filter(is_named).filter(gone).map(|word| format!("{path}: {word}")));
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn the_site_has_every_page() {
    let listed: BTreeSet<String> = page(&read("docs/SUMMARY.md")).links.into_iter().collect();
    let there = all().into_iter().filter_map(|page| Some(page.strip_prefix("docs/")?.to_owned()));
    assert_eq!(listed, there.collect());
    // A site has no pages above it: what is there is led to by its address.
    for path in all().iter().filter(|path| path.starts_with("docs/")) {
        let up: Vec<String> =
            page(&read(path)).links.into_iter().filter(|link| link.starts_with("..")).collect();
        assert!(up.is_empty(), "{path}: {up:?}");
    }
}

#[test]
fn the_front_page_is_a_front_page() {
    let lines = read("README.md").lines().count();
    assert!(lines <= 150, "{lines} lines; the rest belongs into docs/");
}

#[test]
fn the_front_page_in_chinese_has_the_same_parts() {
    let [ours, theirs] = ["README.md", "README.zh-CN.md"].map(read);
    let (english, chinese) = (page(&ours), page(&theirs));
    assert_eq!(english.levels, chinese.levels, "headings");
    // Each leads to the other, and to the same pages; headings have other names there.
    let led = |page: &Page| -> Vec<String> {
        let targets = page.links.iter().filter(|link| !link.starts_with("README"));
        targets.map(|link| link.split('#').next().unwrap().to_owned()).collect()
    };
    assert_eq!(led(&english), led(&chinese), "links");
    let blocks =
        [&ours, &theirs].map(|text| blocks(text).into_iter().map(|b| b.kind).collect::<Vec<_>>());
    assert_eq!(blocks[0], blocks[1], "commands and what they print");
    let rows = |text: &str| text.lines().filter(|line| line.starts_with('|')).count();
    assert_eq!(rows(&ours), rows(&theirs), "rows of tables");
}
