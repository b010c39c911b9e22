//! The words of a command line as they are put together.

use std::fmt::Display;

/// The words of a command line, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Words(pub(super) Vec<String>);

// Not inlined: a command line has some hundred of these.
impl Words {
    /// An option with its value.
    #[inline(never)]
    pub(super) fn option(&mut self, name: &str, value: &dyn Display) {
        match setting(name) {
            Some(name) => self.0.extend(["--set".to_owned(), format!("{name}={value}")]),
            None => self.0.extend([name.to_owned(), value.to_string()]),
        }
    }

    /// An option with its value, if there is one.
    #[inline(never)]
    pub(super) fn maybe(&mut self, name: &str, value: Option<&dyn Display>) {
        if let Some(value) = value {
            self.option(name, value);
        }
    }

    /// A word.
    #[inline(never)]
    pub(super) fn word(&mut self, word: &str) {
        self.0.push(word.to_owned());
    }

    /// Adds the flags that are set.
    #[inline(never)]
    pub(super) fn flags(&mut self, flags: &[(bool, &str)]) {
        for (_, flag) in flags.iter().filter(|(on, _)| *on) {
            match setting(flag) {
                Some(name) => self.0.extend(["--set".to_owned(), name.to_owned()]),
                None => self.word(flag),
            }
        }
    }
}

/// The name of an option without its dashes, if it is a setting.
fn setting(option: &str) -> Option<&str> {
    option.strip_prefix("--").filter(|name| spec::write::settings().contains(name))
}

/// Items with commas between them.
pub(super) fn list(items: &[impl ToString]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}
