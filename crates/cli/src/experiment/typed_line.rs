//! Division of a command line into options and the rest, without interpreting them.
//!
//! The lexer is clap's, so that words mean what they mean to the parser behind it. The first word that is not an
//! option begins the rest. The caller, which has the parser, knows the options.

use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::os::unix::ffi::OsStrExt;

use clap_lex::{ArgCursor, RawArgs, ShortFlags};

/// Number of values of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arity {
    /// No value.
    Nothing,
    /// A value, in the same word or the next.
    Value,
    /// An optional value, only after `=`.
    Attached,
}

/// An option with its value, as the user typed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TypedOption {
    /// Name, with the hyphens.
    pub(crate) name: String,
    /// Value, if there is one.
    pub(crate) value: Option<OsString>,
}

/// A command line, as options and the words after them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TypedLine {
    /// The options, in order.
    pub(crate) options: Vec<TypedOption>,
    /// Words after the options, from `--` or the first word that is not an option.
    pub(crate) rest: Vec<OsString>,
}

impl TypedOption {
    /// An option with a value.
    pub(crate) fn new(name: impl Display, value: impl Into<OsString>) -> Self {
        Self { name: name.to_string(), value: Some(value.into()) }
    }

    /// The words of the option.
    fn words(&self) -> Vec<OsString> {
        match &self.value {
            None => vec![self.name.clone().into()],
            Some(value) if self.name.starts_with("--") => {
                let mut word = OsString::from(format!("{}=", self.name));
                word.push(value);
                vec![word]
            }
            Some(value) => vec![self.name.clone().into(), value.clone()],
        }
    }
}

impl TypedLine {
    /// Divides words. `takes` returns the arity of an option; an unknown one is taken as an option without a
    /// value, which the later parser will refuse.
    pub(crate) fn parse(args: Vec<OsString>, takes: impl Fn(&str) -> Option<Arity>) -> Self {
        let words = RawArgs::new(args);
        let (mut at, mut options) = (words.cursor(), Vec::new());
        while let Some(word) = words.peek(&at).filter(|word| word.is_long() || word.is_short()) {
            words.next_os(&mut at);
            if let Some((name, attached)) = word.to_long() {
                let name = format!("--{}", name.map_or_else(lossy, str::to_owned));
                let takes_next = attached.is_none() && takes(&name) == Some(Arity::Value);
                let value = if takes_next { next(&words, &mut at) } else { attached };
                options.push(TypedOption { name, value: value.map(OsStr::to_owned) });
            }
            // Of short options in one word the last may have a value.
            let mut letters = word.to_short();
            while let Some(letter) = letters.as_mut().and_then(ShortFlags::next_flag) {
                let name = format!("-{}", letter.map_or_else(lossy, String::from));
                let mut value = None;
                if takes(&name) == Some(Arity::Value) {
                    let attached = letters.as_mut().and_then(ShortFlags::next_value_os);
                    value = attached.map(without_equals).or_else(|| next(&words, &mut at));
                }
                options.push(TypedOption { name, value: value.map(OsStr::to_owned) });
            }
        }
        Self { options, rest: words.remaining(&mut at).map(OsStr::to_owned).collect() }
    }

    /// Takes the first words of the rest, where further options and words follow them.
    pub(crate) fn take_words(
        &mut self,
        count: usize,
        takes: impl Fn(&str) -> Option<Arity>,
    ) -> Vec<OsString> {
        let behind = Self::parse(self.rest.split_off(count), takes);
        self.options.extend(behind.options);
        std::mem::replace(&mut self.rest, behind.rest)
    }

    /// The words again.
    pub(crate) fn words(&self) -> Vec<OsString> {
        let options = self.options.iter().flat_map(TypedOption::words);
        options.chain(self.rest.iter().cloned()).collect()
    }

    /// Returns whether there is an option with this name.
    pub(crate) fn has(&self, name: impl Display) -> bool {
        let name = name.to_string();
        self.options.iter().any(|given| given.name == name)
    }

    /// Removes and returns the options that `ours` picks.
    pub(crate) fn take(&mut self, ours: impl Fn(&TypedOption) -> bool) -> Vec<TypedOption> {
        let (taken, left) = std::mem::take(&mut self.options).into_iter().partition(ours);
        self.options = left;
        taken
    }
}

/// The words of options alone.
pub(crate) fn words_of(options: &[TypedOption]) -> Vec<OsString> {
    options.iter().flat_map(TypedOption::words).collect()
}

/// The next word. A cursor must not move beyond the last.
fn next<'w>(words: &'w RawArgs, at: &mut ArgCursor) -> Option<&'w OsStr> {
    (!words.is_end(at)).then(|| words.next_os(at))?
}

fn lossy(name: &OsStr) -> String {
    name.to_string_lossy().into_owned()
}

/// The value of a short option, which may stand behind `=`.
fn without_equals(attached: &OsStr) -> &OsStr {
    OsStr::from_bytes(attached.as_bytes().strip_prefix(b"=").unwrap_or(attached.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn takes(name: &str) -> Option<Arity> {
        match name {
            "-c" | "-P" | "-t" | "--rps" => Some(Arity::Value),
            "-q" | "--csv" => Some(Arity::Nothing),
            "--spawn" => Some(Arity::Attached),
            _ => None,
        }
    }

    fn line(text: &str) -> TypedLine {
        TypedLine::parse(text.split_whitespace().map(OsString::from).collect(), takes)
    }

    fn shown(line: &TypedLine) -> Vec<String> {
        line.words().iter().map(|word| word.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn every_way_to_write_an_option_is_understood() {
        for (typed, words) in [
            ("-c 5", "-c 5"),
            ("-c5", "-c 5"),
            ("-c=5", "-c 5"),
            ("-qc 5", "-q -c 5"),
            ("-qc5", "-q -c 5"),
            ("--rps 10", "--rps=10"),
            ("--rps=10", "--rps=10"),
            ("--rps --csv", "--rps=--csv"),
            ("--spawn -q", "--spawn -q"),
            ("--spawn=x -q", "--spawn=x -q"),
            ("-c -5", "-c -5"),
            ("-q get -c 5", "-q get -c 5"),
            ("-q -- get -c 5", "-q -- get -c 5"),
            ("--bogus get", "--bogus get"),
            ("-c", "-c"),
        ] {
            assert_eq!(shown(&line(typed)).join(" "), words, "{typed}");
        }
        assert_eq!(line("-q get -c 5").rest, ["get", "-c", "5"]);
        assert_eq!(line("--spawn get").rest, ["get"]);
    }

    #[test]
    fn options_can_be_taken_out() {
        let mut line = line("-c 5 --csv -q ping");
        assert_eq!(line.take(|given| given.name == "--csv").len(), 1);
        assert_eq!(shown(&line).join(" "), "-c 5 -q ping");
        assert!(line.has("-q") && !line.has("--csv"));
    }
}
