//! Options of a load by their identity, as messages name them.
//!
//! A message holds an option as the field that it is in ([`OptionId`]), which is written in the words of the tool that
//! the program was called as ([`speak`]), or in others that a [`Text`] is asked for. Other tools' words are left to
//! those who read their command lines and files.

mod ids;
mod pieces;

use std::borrow::Cow;
use std::fmt;
use std::sync::OnceLock;

pub use ids::*;
pub use pieces::Text;

/// Identity of an option, or of a piece of advice about options, in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OptionId {
    field: &'static str,
    word: Option<&'static str>,
}

impl OptionId {
    /// The field that holds the option, which is also its identity on a command line.
    pub fn field(self) -> String {
        self.field.to_ascii_lowercase()
    }

    /// The key of the option in a workload file.
    pub fn key(self) -> String {
        self.field().replace('_', "-")
    }

    /// Returns whether one of these options is in this field.
    pub fn any_has(options: &[Self], field: &str) -> bool {
        options.iter().any(|option| option.field.eq_ignore_ascii_case(field))
    }

    /// The word on keystorm's own command line.
    pub fn word(self) -> Cow<'static, str> {
        self.word.map_or_else(|| format!("--{}", self.key()).into(), Into::into)
    }
}

/// Function that returns what a tool calls an option.
pub type Vocabulary = Box<dyn Fn(OptionId) -> Cow<'static, str> + Send + Sync>;

static SPOKEN: OnceLock<Vocabulary> = OnceLock::new();

/// Has messages name options in the words of the tool that the program was called as, instead of keystorm's own.
pub fn speak(words: Vocabulary) {
    let _ = SPOKEN.set(words);
}

impl fmt::Display for OptionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = SPOKEN.get().map_or_else(|| self.word(), |words| words(*self));
        pieces::written(*self, || f.write_str(&word))
    }
}
