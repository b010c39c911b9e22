//! The pages, and the blocks of code in them.

use std::fs;
use std::path::{Path, PathBuf};

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

/// Where the README is.
pub(crate) fn root() -> PathBuf {
    fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).unwrap()
}

/// The pages that people read, from there.
pub(crate) fn all() -> Vec<String> {
    let docs = fs::read_dir(root().join("docs")).unwrap();
    let docs = docs.map(|entry| format!("docs/{}", entry.unwrap().file_name().to_str().unwrap()));
    let docs = docs.filter(|page| page.ends_with(".md") && page != "docs/SUMMARY.md");
    let readmes = ["README.md", "README.zh-CN.md"].map(str::to_owned);
    let mut all: Vec<String> = docs.chain(readmes).collect();
    all.retain(|page| root().join(page).exists());
    all.sort();
    all
}

/// A block of code.
#[derive(Debug, PartialEq)]
pub(crate) struct Block {
    /// The line of its fence, from 1.
    pub(crate) line: usize,
    pub(crate) kind: Kind,
}

/// What is done with it.
#[derive(Debug, PartialEq)]
pub(crate) enum Kind {
    Commands(String),
    /// Commands, and what each prints.
    Session(Vec<(String, String)>),
    /// A file and its text.
    File(String, String),
    /// Why it is not run.
    NotRun(String),
    Unknown,
}

/// The blocks of a page, in order.
pub(crate) fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut mark: Option<String> = None;
    let mut open: Option<(usize, String, String)> = None;
    for (event, range) in Parser::new(text).into_offset_iter() {
        match event {
            Event::Start(Tag::HtmlBlock) => mark = None,
            Event::Html(html) => *mark.get_or_insert_default() += &html,
            Event::End(TagEnd::HtmlBlock) => {
                let why =
                    mark.as_deref().and_then(|html| html.trim().strip_prefix("<!-- not run:"));
                mark = why.map(|why| why.trim_end_matches("-->").trim().to_owned());
            }
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) => {
                let line = text[..range.start].lines().count() + 1;
                open = Some((line, language.into_string(), String::new()));
            }
            Event::Text(part) => {
                if let Some((.., code)) = &mut open {
                    *code += &part;
                }
            }
            Event::End(TagEnd::CodeBlock) => {
                let Some((line, language, code)) = open.take() else { continue };
                let kind = match mark.take() {
                    Some(why) => Kind::NotRun(why),
                    None => kind(&language, code),
                };
                blocks.push(Block { line, kind });
            }
            // A mark is for the block that follows it at once.
            Event::Start(Tag::Paragraph | Tag::Heading { .. }) => mark = None,
            _ => {}
        }
    }
    blocks
}

fn kind(language: &str, code: String) -> Kind {
    let name = code.lines().next().and_then(|line| line.strip_prefix("# "));
    match (language, name) {
        ("sh" | "bash", _) => Kind::Commands(code),
        ("console", _) => Kind::Session(steps(&code)),
        ("toml", Some(name)) => Kind::File(name.to_owned(), code.clone()),
        _ => Kind::Unknown,
    }
}

/// Commands behind `$`, with lines that go on after `\`, and what stands below each.
fn steps(code: &str) -> Vec<(String, String)> {
    let mut steps: Vec<(String, String)> = Vec::new();
    let mut goes_on = false;
    for line in code.lines() {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => steps.push((command.to_owned(), String::new())),
            (None, Some((command, _))) if goes_on => *command += &format!("\n{line}"),
            (None, Some((_, expected))) => *expected += &format!("{line}\n"),
            (None, None) => panic!("output without a command: {line}"),
        }
        goes_on = line.ends_with('\\');
    }
    steps
}

#[test]
fn blocks_are_distinguished() {
    let page = "a\n\n```sh\nx\n```\n\n<!-- not run: it is\nlong -->\n```text\ny\n```\n\n```console\n$ a \\\n  b\nc\n\
                ...\n$ d\n```\n\n```toml\n# f.toml\nk = 1\n```\n\n<!-- not run: lost -->\ntext\n\n```text\nz\n```\n";
    let found: Vec<Kind> = blocks(page).into_iter().map(|block| block.kind).collect();
    let session = [("a \\\n  b", "c\n...\n"), ("d", "")].map(|(c, e)| (c.to_owned(), e.to_owned()));
    assert_eq!(
        found,
        [
            Kind::Commands("x\n".to_owned()),
            Kind::NotRun("it is\nlong".to_owned()),
            Kind::Session(session.to_vec()),
            Kind::File("f.toml".to_owned(), "# f.toml\nk = 1\n".to_owned()),
            Kind::Unknown,
        ]
    );
    assert_eq!(blocks(page)[0].line, 3);
}
