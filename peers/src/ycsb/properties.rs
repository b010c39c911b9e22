//! Property files as `java.util.Properties` reads them, and the values of properties.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Names and values. The last value of a name counts.
#[derive(Debug, Clone, Default)]
pub(super) struct Properties(BTreeMap<String, String>);

impl Properties {
    /// Sets one.
    pub(super) fn set(&mut self, name: &str, value: &str) {
        self.0.insert(name.to_owned(), value.to_owned());
    }

    /// Sets all that `others` say.
    pub(super) fn overlay(&mut self, others: &Self) {
        let others = others.0.iter().map(|(name, value)| (name.clone(), value.clone()));
        self.0.extend(others);
    }

    /// Every name.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Value of a property, if it is set.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Value of a property; `or` if it is not set.
    pub(super) fn text<'p>(&'p self, name: &str, or: &'p str) -> &'p str {
        self.get(name).unwrap_or(or)
    }

    /// Value of a property that names a file; an empty one names none.
    pub(super) fn path(&self, name: &str) -> Option<PathBuf> {
        self.get(name).filter(|path| !path.is_empty()).map(PathBuf::from)
    }

    /// Reads a truth value as Java does: `true` in any letters is one, whatever else is none.
    pub(super) fn flag(&self, name: &str, or: bool) -> bool {
        self.get(name).map_or(or, |value| value.eq_ignore_ascii_case("true"))
    }

    /// A number. As in Java a blank behind it makes it none.
    pub(super) fn number<T: FromStr + Display>(&self, name: &str, or: T) -> Result<T, String> {
        let Some(value) = self.get(name) else { return Ok(or) };
        value.parse().map_err(|_| {
            let (what, example) = match "0.5".parse::<T>() {
                Ok(_) => ("number", "0.5"),
                Err(_) => ("whole number", "1000"),
            };
            // A placeholder for no value is not an example.
            let example = Some(or.to_string()).filter(|or| or != "0").unwrap_or(example.to_owned());
            let spaces = if value.trim() == value { "" } else { " without spaces around it" };
            format!("{name}={value:?}: expected a {what}{spaces}, such as {example}")
        })
    }

    /// A number, if it is set; `example` is one.
    pub(super) fn given<T: FromStr + Display>(
        &self,
        name: &str,
        example: T,
    ) -> Result<Option<T>, String> {
        self.get(name).map(|_| self.number(name, example)).transpose()
    }

    /// Reads a whole number; numbers below 0 mean none, as in YCSB.
    pub(super) fn at_least_0(&self, name: &str, or: u64) -> Result<u64, String> {
        match self.get(name) {
            Some(value) if value.parse::<i64>().is_ok_and(|number| number < 0) => Ok(0),
            _ => self.number(name, or),
        }
    }

    /// Reads a file; a workload that comes with YCSB needs none where it is named as in YCSB's own folder.
    pub(super) fn of_file(path: &Path) -> Result<Self, String> {
        match fs::read(path) {
            Ok(bytes) => Ok(Self::read(&bytes)),
            Err(error) => {
                let here = path.strip_prefix("./").unwrap_or(path);
                let name = here.strip_prefix("workloads").unwrap_or(here).to_str();
                name.and_then(super::workloads::named)
                    .map(|text| Self::read(text.as_bytes()))
                    .ok_or_else(|| format!("-P {}: cannot be read: {error}", path.display()))
            }
        }
    }

    /// Reads the text of a file, which is in ISO 8859-1.
    pub(super) fn read(bytes: &[u8]) -> Self {
        let text: String = bytes.iter().map(|byte| char::from(*byte)).collect();
        let mut properties = Self::default();
        for line in logical_lines(&text) {
            let (name, value) = entry(&line);
            properties.set(&name, &value);
        }
        properties
    }
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\x0C')
}

/// Lines without blanks before them, comments and empty lines left out and continued ones joined.
fn logical_lines(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut joined: Option<String> = None;
    for line in text.replace("\r\n", "\n").split(['\n', '\r']) {
        let line = line.trim_start_matches(is_blank);
        if joined.is_none() && (line.is_empty() || line.starts_with(['#', '!'])) {
            continue;
        }
        let mut whole = joined.take().unwrap_or_default();
        let escapes = line.chars().rev().take_while(|c| *c == '\\').count();
        if escapes % 2 == 1 {
            whole += &line[..line.len() - 1];
            joined = Some(whole);
        } else {
            whole += line;
            lines.push(whole);
        }
    }
    lines.extend(joined);
    lines
}

/// The name and the value of a line.
fn entry(line: &str) -> (String, String) {
    let mut escaped = false;
    let ends = |(at, c): (usize, char)| {
        let end = !escaped && (is_blank(c) || matches!(c, '=' | ':'));
        escaped = !escaped && c == '\\';
        end.then_some(at)
    };
    let end = line.char_indices().find_map(ends).unwrap_or(line.len());
    let rest = line[end..].trim_start_matches(is_blank);
    let rest = rest.strip_prefix(['=', ':']).unwrap_or(rest).trim_start_matches(is_blank);
    (unescaped(&line[..end]), unescaped(rest))
}

fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('t') => out.push('\t'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('f') => out.push('\x0C'),
            Some('u') => {
                let digits: String = chars.by_ref().take(4).collect();
                let code = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
                out.push(code.unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            Some(other) => out.push(other),
            None => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_as_java_reads_them() {
        let text = b"# a comment\n  ! another\n\na=1\nb:2\r\nc 3\n  d  =  4 \ne\\=f=g=h\n\
            long=one\\\n    two\ntab=\\t\\u0041\\\\\nempty=\na=5\nname\nlatin=\xE9\n";
        let read = Properties::read(text);
        for (name, value) in [
            ("a", "5"),
            ("b", "2"),
            ("c", "3"),
            ("d", "4 "),
            ("e=f", "g=h"),
            ("long", "onetwo"),
            ("tab", "\tA\\"),
            ("empty", ""),
            ("name", ""),
            ("latin", "\u{e9}"),
        ] {
            assert_eq!(read.get(name), Some(value), "{name}");
        }
        assert_eq!(read.names().count(), 10);
    }

    #[test]
    fn values_are_those_of_java() {
        let read = Properties::read(b"n=12\nblank=12 \nyes=TRUE\none=1\n");
        assert_eq!(read.number("n", 0u64), Ok(12));
        assert_eq!(read.number("none", 7u64), Ok(7));
        assert!(read.number("blank", 0u64).unwrap_err().contains("without spaces"));
        let of = |text: &[u8]| Properties::read(text).at_least_0("n", 7);
        assert_eq!([of(b"n=3"), of(b"n=-3"), of(b"")], [Ok(3), Ok(0), Ok(7)]);
        assert!(of(b"n=x").is_err() && of(b"n=- 3").is_err());
        assert!(read.flag("yes", false) && !read.flag("one", true) && read.flag("none", true));
    }

    #[test]
    fn the_last_word_counts() {
        let mut first = Properties::read(b"a=1\nb=1\n");
        first.overlay(&Properties::read(b"b=2\nc=2\n"));
        assert_eq!(["a", "b", "c"].map(|name| first.get(name).unwrap()), ["1", "2", "2"]);
    }
}
