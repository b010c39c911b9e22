//! Markdown as text for a terminal: headings at the margin, everything else indented, tables with columns.
//! Parts that only a browser needs (targets of links between pages, comments) are left out.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use report::page::term;

/// Columns between the text of a section and its heading's margin.
const INDENT: usize = 2;

/// A page, in lines of at most `width` columns as far as possible.
pub(crate) fn rendered(markdown: &str, width: usize, colour: bool) -> String {
    let mut text = Text { width, colour, ..Text::default() };
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        text.take(event);
    }
    text.out
}

/// The text so far, and the open elements.
#[derive(Default)]
struct Text {
    width: usize,
    colour: bool,
    out: String,
    /// The paragraph, heading, cell or block of code being read.
    words: String,
    /// The next number of each open list; `None` for one without numbers.
    lists: Vec<Option<u64>>,
    /// Target of the link being read.
    bullet: Option<String>,
    /// Target of the link that is being read.
    link: Option<String>,
    rows: Vec<Vec<String>>,
}

impl Text {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Text(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.words += &text
            }
            Event::Code(code) => self.words += &format!("`{code}`"),
            Event::SoftBreak | Event::HardBreak => self.words.push(' '),
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::List(first) => {
                self.paragraph();
                self.lists.push(first);
            }
            Tag::Item => {
                let bullet = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "- ".to_owned(),
                };
                self.bullet = Some(bullet);
            }
            Tag::Link { dest_url, .. } => self.link = Some(dest_url.into_string()),
            Tag::TableHead | Tag::TableRow => self.rows.push(Vec::new()),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => {
                let heading = std::mem::take(&mut self.words);
                self.blank();
                self.out += &term::bold(&heading, self.colour);
                self.out += "\n\n";
            }
            TagEnd::Paragraph => {
                self.paragraph();
                self.blank();
            }
            TagEnd::Item => {
                self.paragraph();
                self.bullet = None;
            }
            TagEnd::List(_) => {
                self.lists.pop();
                self.blank();
            }
            TagEnd::CodeBlock => {
                let code = std::mem::take(&mut self.words);
                for line in code.lines() {
                    let line = format!("{:1$}{line}", "", self.indent() + 2);
                    self.out += line.trim_end();
                    self.out.push('\n');
                }
                self.blank();
            }
            TagEnd::Link => {
                let link = self.link.take().filter(|link| link.contains("://"));
                if let Some(link) = link.filter(|link| !self.words.ends_with(link.as_str())) {
                    self.words += &format!(" <{link}>");
                }
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.words);
                if let Some(row) = self.rows.last_mut() {
                    row.push(cell);
                }
            }
            TagEnd::Table => {
                let rows = std::mem::take(&mut self.rows);
                let indent = self.indent();
                for line in term::prose(&rows, self.width.saturating_sub(indent)).lines() {
                    self.out += format!("{:indent$}{line}", "").trim_end();
                    self.out.push('\n');
                }
                self.blank();
            }
            _ => {}
        }
    }

    /// Columns before the text.
    fn indent(&self) -> usize {
        INDENT * (1 + self.lists.len())
    }

    /// Writes the words so far in lines.
    fn paragraph(&mut self) {
        let words = std::mem::take(&mut self.words);
        if words.trim().is_empty() {
            return;
        }
        let indent = self.indent();
        let mut line = match self.bullet.take() {
            Some(bullet) => format!("{bullet:>indent$}"),
            None => " ".repeat(indent),
        };
        let mut empty = true;
        for word in words.split_whitespace() {
            if !empty && line.chars().count() + 1 + word.chars().count() > self.width {
                self.out += &line;
                self.out.push('\n');
                (line, empty) = (" ".repeat(indent), true);
            }
            if !empty {
                line.push(' ');
            }
            line += word;
            empty = false;
        }
        self.out += &line;
        self.out.push('\n');
    }

    /// Adds one empty line after the text so far.
    fn blank(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_laid_out_for_reading() {
        let page = "# The lab\n\nTwo words and a [link](lab.md#a), <!-- not seen -->\nand \
                    [another](https://a.b/c).\n\n<!-- not run: why -->\n```sh\nkeystorm -q\n```\n\n\
                    - one\n  more\n- two\n\n| a | b |\n|---|---|\n| `x` | long words here |\n";
        let expected = "The lab\n\n  Two words and a link, and\n  another <https://a.b/c>.\n\n    \
                        keystorm -q\n\n  - one more\n  - two\n\n  a    b\n  `x`  long words here\n\n";
        assert_eq!(rendered(page, 29, false), expected);
        assert!(rendered("# A\n", 80, true).starts_with("\x1b[1mA\x1b[0m\n"));
    }
}
