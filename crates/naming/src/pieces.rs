//! Texts that hold options by identity.

use std::cell::Cell;
use std::fmt::{self, Write};

use crate::OptionId;

/// A text with options in it, which are written in anybody's words.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Text(Vec<Piece>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Words(String),
    Option(OptionId),
}

/// A [`Text`] by a format, in which options are arguments as any others.
#[macro_export]
macro_rules! text {
    ($($format:tt)*) => { $crate::Text::new(::std::format_args!($($format)*)) };
}

thread_local! {
    /// The option that is being written, for a [`Text`] that takes it in.
    static WRITTEN: Cell<Option<OptionId>> = const { Cell::new(None) };
}

/// Writes an option, known to a text that it is written into.
pub(crate) fn written(option: OptionId, write: impl FnOnce() -> fmt::Result) -> fmt::Result {
    WRITTEN.set(Some(option));
    let done = write();
    WRITTEN.set(None);
    done
}

impl Write for Text {
    fn write_str(&mut self, words: &str) -> fmt::Result {
        match (WRITTEN.get(), self.0.last_mut()) {
            (Some(option), _) => self.0.push(Piece::Option(option)),
            (None, Some(Piece::Words(before))) => before.push_str(words),
            (None, _) => self.0.push(Piece::Words(words.to_owned())),
        }
        Ok(())
    }
}

impl Text {
    /// The text that these arguments of a format make.
    pub fn new(format: fmt::Arguments<'_>) -> Self {
        let mut text = Self::default();
        // Nothing that is written here can fail.
        let _ = text.write_fmt(format);
        text
    }

    /// The options that it names, in order.
    pub fn options(&self) -> impl Iterator<Item = OptionId> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Words(_) => None,
            Piece::Option(option) => Some(*option),
        })
    }

    /// Returns whether it names an option with this value behind it.
    pub fn names(&self, option: OptionId, value: &str) -> bool {
        self.0.windows(2).any(|pair| match pair {
            [Piece::Option(named), Piece::Words(words)] if *named == option => {
                words.strip_prefix(' ').is_some_and(|words| words.starts_with(value))
            }
            _ => false,
        })
    }

    /// Writes it with these words for options.
    pub fn in_words<W: AsRef<str>>(&self, word: impl Fn(OptionId) -> W) -> String {
        let mut whole = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Words(words) => whole += words,
                Piece::Option(option) => whole += word(*option).as_ref(),
            }
        }
        whole
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|piece| match piece {
            Piece::Words(words) => f.write_str(words),
            Piece::Option(option) => option.fmt(f),
        })
    }
}

impl From<Text> for String {
    fn from(text: Text) -> Self {
        text.to_string()
    }
}

impl<T: AsRef<str>> From<T> for Text {
    fn from(words: T) -> Self {
        Self(vec![Piece::Words(words.as_ref().to_owned())])
    }
}

#[cfg(test)]
mod tests {
    use crate::{CONNECTIONS, KEY_RANGE};

    #[test]
    fn options_are_written_in_anybodys_words() {
        let number = 7;
        let part = text!("{KEY_RANGE} or more");
        let text = text!("{CONNECTIONS} {number:>3}: must be above {}; see {part}", "-c");
        assert_eq!(text.options().collect::<Vec<_>>(), [CONNECTIONS, KEY_RANGE]);
        let says = "-c   7: must be above -c; see -r or more";
        assert_eq!(text.to_string(), says);
        let theirs = text.in_words(|option| option.field());
        assert_eq!(theirs, "connections   7: must be above -c; see key_range or more");
    }
}
