//! Lengths of functions.

use crate::source::indent;

/// Each function of formatted lines: its name, the number of its first line, and how many lines it has, from
/// the one with `fn` to its closing brace. A function without a body has none.
pub fn functions(lines: &[&str]) -> Vec<(String, usize, usize)> {
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(name) = name_of(line) else { continue };
        let end = match line.ends_with(['}', ';']) {
            true => Some(at),
            false => lines[at + 1..]
                .iter()
                .position(|later| {
                    indent(later) == indent(line) && (*later).trim_start().starts_with('}')
                        || indent(later) <= indent(line) && later.ends_with(';')
                })
                .map(|after| at + 1 + after),
        };
        match end {
            Some(end) if lines[end].ends_with('}') => {
                found.push((name.to_owned(), at + 1, end - at + 1));
            }
            _ => {}
        }
    }
    found
}

/// The name of the function that begins on this line.
fn name_of(line: &str) -> Option<&str> {
    let mut words = line.trim_start();
    loop {
        let before = words;
        for word in
            ["pub ", "pub(crate) ", "pub(super) ", "const ", "async ", "unsafe ", "extern \"C\" "]
        {
            words = words.strip_prefix(word).unwrap_or(words);
        }
        if let Some(rest) = words.strip_prefix("pub(in ") {
            words = rest.split_once(") ")?.1;
        }
        if words == before {
            break;
        }
    }
    let name = words.strip_prefix("fn ")?;
    name.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_as_long_as_from_its_name_to_its_brace() {
        let text = "impl A {\n    pub(crate) const fn a(\n        b: u32,\n    ) -> u32 {\n        b\n    }\n\n    \
            fn none(&self);\n\n    fn one() {}\n}\n\nunsafe fn last() {\n    if true {\n    }\n}";
        let lines: Vec<&str> = text.lines().collect();
        let expected = [("a", 2, 5), ("one", 10, 1), ("last", 13, 4)];
        let found = functions(&lines);
        let found: Vec<_> = found.iter().map(|(name, at, n)| (name.as_str(), *at, *n)).collect();
        assert_eq!(found, expected);
    }
}
