//! Counts of what makes code and comments slow to read: they may only fall.

use crate::source::without_tests;

/// First words of a doc comment that does not say what the item is.
const OPENERS: &str =
    "What,Whether,How,Where,When,Which,Why,Who,Of,In which,That,Those,It,Its,One,The same";

/// Counts of one crate, or of all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Idiom {
    /// Doc comments.
    pub comments: usize,
    /// Doc comments that begin with a refused opener.
    pub openers: usize,
    /// Arms of a `match` whose whole pattern is `true`.
    pub bool_matches: usize,
    /// Parameters that are tuples.
    pub tuple_parameters: usize,
    /// Closures that have a name and are used once.
    pub closures: usize,
}

impl Idiom {
    /// Counts in a file of product code; its `#[cfg(test)]` modules do not count.
    pub fn of_file(text: &str) -> Self {
        let lines = without_tests(text);
        let starts_with = |line: &str, start: &str| line.trim_start().starts_with(start);
        let mut counts = Self::default();
        for (at, line) in lines.iter().enumerate() {
            let begins = at == 0 || !starts_with(lines[at - 1], "///");
            if let Some(comment) = line.trim_start().strip_prefix("/// ").filter(|_| begins) {
                counts.comments += 1;
                let mut openers = OPENERS.split(',').filter_map(|o| comment.strip_prefix(o));
                counts.openers += usize::from(openers.any(|rest| rest.starts_with(' ')));
            }
            counts.bool_matches += usize::from(starts_with(line, "true => "));
        }
        counts.tuple_parameters = tuple_parameters(&lines);
        counts.closures = closures_used_once(&lines);
        counts
    }

    /// Adds the counts of another file.
    pub fn add(&mut self, other: Self) {
        self.comments += other.comments;
        self.openers += other.openers;
        self.bool_matches += other.bool_matches;
        self.tuple_parameters += other.tuple_parameters;
        self.closures += other.closures;
    }

    /// Counts that are above the ones allowed, in words.
    pub fn above(&self, allowed: &Self) -> Vec<String> {
        let counts = [
            ("doc comments begin with What, Whether, It, …", self.openers, allowed.openers),
            ("matches of a bool", self.bool_matches, allowed.bool_matches),
            ("parameters that are tuples", self.tuple_parameters, allowed.tuple_parameters),
            ("named closures used once", self.closures, allowed.closures),
        ];
        let above = counts.into_iter().filter(|(_, found, allowed)| found > allowed);
        above.map(|(what, found, allowed)| format!("{found} {what}, {allowed} allowed")).collect()
    }
}

/// Parameters of functions whose pattern or type is a tuple of several: `(a, b): (A, B)` and `a: (A, B)`.
fn tuple_parameters(lines: &[&str]) -> usize {
    let mut count = 0;
    let mut inside = false;
    for line in lines {
        let words = line.trim_start();
        if words.starts_with("//") {
            continue;
        }
        let is_head = words.starts_with("fn ") || words.contains(" fn ");
        inside |= is_head;
        if inside {
            let parameters = words.split(") -> ").next().unwrap_or(words);
            count += parameters.matches(": (").count();
        }
        inside &= !words.ends_with(['{', ';']);
    }
    count
}

/// Closures with a name that is in one place below, up to the end of the block.
fn closures_used_once(lines: &[&str]) -> usize {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut count = 0;
    for (at, line) in lines.iter().enumerate() {
        let Some(name) = closure_name(line, lines.get(at + 1)) else { continue };
        let below = lines[at + 1..].iter().filter(|line| !line.trim().is_empty());
        let block = below.take_while(|below| indent(below) >= indent(line));
        let code = block.filter(|line| !line.trim_start().starts_with("//"));
        count += usize::from(code.map(|line| uses(line, name)).sum::<usize>() == 1);
    }
    count
}

/// Name of the closure that a line begins, or this line and the next.
fn closure_name<'l>(line: &'l str, next: Option<&&str>) -> Option<&'l str> {
    let (name, value) = line.trim_start().strip_prefix("let ")?.split_once(" =")?;
    let value = if value.is_empty() { next?.trim_start() } else { value.trim_start() };
    let is_closure = value.starts_with('|') || value.starts_with("move |");
    is_closure.then_some(name.trim_start_matches("mut "))
}

/// Number of times that a line names a variable.
fn uses(line: &str, name: &str) -> usize {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let found = line.match_indices(name).map(|(at, _)| (&line[..at], &line[at + name.len()..]));
    let named = found.filter(|(before, after)| {
        !before.ends_with(|c| is_word(c) || c == '.') && !after.starts_with(is_word)
    });
    named.count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_matches_and_tuples_are_counted_outside_tests() {
        let text = "/// What it is.\n/// Whether in a second line.\nstruct A;\n\n/// A name.\n\
                    fn a((b, c): (u8, u8), d: (u8, u8)) -> (u8, u8) {\n    match b {\n        true => 1,\n    }\n}\n\
                    fn b(\n    &self,\n    c: (u8, u8),\n) {\n    let d: (u8, u8) = c;\n}\n\
                    #[cfg(test)]\nmod tests {\n    /// Which one.\n    fn c(d: (u8, u8)) {}\n}\n";
        let counts = Idiom::of_file(text);
        let expected = Idiom { comments: 2, openers: 1, bool_matches: 1, ..Idiom::default() };
        assert_eq!(counts, Idiom { tuple_parameters: 3, ..expected });
        let allowed = Idiom { tuple_parameters: 2, ..counts };
        assert_eq!(counts.above(&allowed), ["3 parameters that are tuples, 2 allowed"]);
        assert_eq!(allowed.above(&counts), [""; 0]);
    }

    #[test]
    fn closures_that_are_used_once_are_counted() {
        let text = "fn a() {\n    let once = |b: u8| b;\n    let twice =\n        move |b: u8| once(b) + c.once;\n    \
                    {\n        let unused = || 1;\n    }\n\n    // twice\n    twice(1) + twice(2) + unused\n}\n\
                    fn once() {\n    let mut inner = || 1;\n    inner()\n}\n";
        assert_eq!(Idiom::of_file(text).closures, 2, "`once` and `inner`");
    }
}
