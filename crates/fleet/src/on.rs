//! `--on`: the launcher and its settings.

use std::fmt;

/// A launcher's name, and its settings in the user's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct On {
    /// `local`, `ssh`, or the NAME of a program `keystorm-on-NAME` on the PATH.
    pub launcher: String,
    /// Text after the colon.
    pub settings: String,
}

impl On {
    /// Settings without a name, such as hosts.
    pub(crate) fn items(&self) -> impl Iterator<Item = &str> {
        self.words().filter(|word| !word.contains('='))
    }

    /// The value of a named setting.
    pub(crate) fn setting(&self, name: &str) -> Option<&str> {
        self.words().find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
    }

    /// Names of all named settings.
    pub(crate) fn setting_names(&self) -> impl Iterator<Item = &str> {
        self.words().filter_map(|word| word.split_once('=')).map(|(name, _)| name)
    }

    fn words(&self) -> impl Iterator<Item = &str> {
        self.settings.split(',').filter(|word| !word.is_empty())
    }
}

impl fmt::Display for On {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.settings.as_str() {
            "" => f.write_str(&self.launcher),
            settings => write!(f, "{}:{settings}", self.launcher),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_no_sense_is_reported_with_what_to_write() {
        for (text, says) in [
            ("local", "number of clients"),
            ("local:0", "number of clients"),
            ("local:x", "number of clients"),
            ("local:2,3", "number of clients"),
            ("local:2000", "1000"),
            ("ssh", "ssh:load1,load2"),
            ("ssh:a,-oProxyCommand=x", "host"),
            ("ssh:a,-x", "host"),
            ("ssh:a,user=b", "user"),
            ("nosuchlauncher", "keystorm-on-nosuchlauncher"),
            ("../x:1", "name"),
            ("", "name"),
        ] {
            let error = text.parse::<On>().unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
        let on: On = "ssh:a,me@b,program=/opt/keystorm".parse().unwrap();
        assert_eq!((on.count(), on.setting("program")), (Some(2), Some("/opt/keystorm")));
        assert_eq!("local:64".parse::<On>().unwrap().count(), Some(64));
    }
}
