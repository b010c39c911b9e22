//! Refused lines and comments: too long, or without a meaning.

use crate::Fault;

/// Comments that send the reader elsewhere instead of saying what an item is.
pub const EMPTY_REFERENCES: [&str; 4] = ["see the module.", "as above", "see above", "likewise"];

/// Words of comments that leave open who does what.
pub const DIALECT: [&str; 4] = ["told", "of ours", "but for", "in the place of"];

/// Comments that have one of these phrases, as whole words, whatever their case.
pub fn phrases(text: &str, refused: &[&str]) -> Vec<Fault> {
    let comment = |line: &str| {
        let (before, comment) = line.split_once("//")?;
        // Not an address, and nothing in a text.
        (!before.ends_with(':') && !before.contains('"')).then(|| comment.to_lowercase())
    };
    let lines = text.lines().enumerate().filter_map(|(at, line)| Some((at, comment(line)?)));
    let faults = lines.flat_map(|(at, comment)| {
        let found: Vec<&&str> =
            refused.iter().filter(|phrase| has_words(&comment, phrase)).collect();
        found.into_iter().map(move |phrase| Fault { line: at + 1, what: format!("{phrase:?}") })
    });
    faults.collect()
}

fn has_words(text: &str, words: &str) -> bool {
    text.match_indices(words).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + words.len()..].chars().next();
        let is_part =
            |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '`');
        !is_part(before) && !is_part(after)
    })
}

/// Lines of more than `columns` columns that can be broken. In Rust, lines with a string cannot, as the string may
/// be the text of another program; in Markdown, tables, blocks of code, links and HTML cannot.
pub fn long_lines(path: &str, text: &str, columns: usize) -> Vec<Fault> {
    let is_markdown = path.ends_with(".md");
    let mut fenced = false;
    let mut faults = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let words = line.trim_start();
        fenced ^= is_markdown && words.starts_with("```");
        let length = line.chars().count();
        let is_comment = words.starts_with("//");
        let breakable = if is_markdown {
            !fenced && !["|", "<", "["].iter().any(|start| words.starts_with(start))
        } else {
            // Code without a text, and not inside one, is what rustfmt could have broken.
            let ends = ['{', '}', ';', ',', '(', ')'];
            is_comment || !words.contains('"') && words.ends_with(ends)
        };
        if length > columns && breakable {
            faults.push(Fault { line: at + 1, what: format!("{length} columns") });
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_that_says_nothing_is_refused() {
        let text = "/// See the module.\nfn a() {}\n/// As above.\n// Likewise\nlet x = \"// likewise\";\n";
        let faults = phrases(text, &EMPTY_REFERENCES);
        assert_eq!(faults.iter().map(|fault| fault.line).collect::<Vec<_>>(), [1, 3, 4]);
        let lines = |text: &str| phrases(text, &DIALECT).len();
        assert_eq!(lines("/// What it was told.\n// A file of ours\n"), 2);
        assert_eq!(lines("/// `told` is a name, untold another.\nlet told = 1;\n"), 0);
    }

    #[test]
    fn a_line_that_could_be_broken_is_refused() {
        let long = "word ".repeat(30);
        assert_eq!(long_lines("a.rs", &format!("// {long}\n"), 120).len(), 1);
        assert_eq!(long_lines("a.rs", &format!("let a = \"{long}\";\n"), 120), []);
        assert_eq!(
            long_lines("a.md", &format!("{long}\n| {long} |\n```\n{long}\n```\n"), 120).len(),
            1
        );
    }
}
