//! What a file says that the command line has an option for: under which key, and how it is written.
//!
//! A value is kept as the text that stands behind the option, so that whoever reads options reads
//! those of files too. The keys are those of [`spec::LoadSpec`].

use std::ffi::OsString;
use std::sync::OnceLock;

use clap::Arg;
use spec::write::{key, vocabulary};

/// An option that a file may say.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    /// Key in a file.
    pub(crate) key: &'static str,
    /// The option, by the name of its field.
    pub(crate) option: &'static str,
    /// Form of its value in a file.
    pub(crate) form: Form,
}

/// Form of a value in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// A number or a text, as behind the option.
    Value,
    /// `true` for an option that has no value.
    Flag,
    /// `true` or `false` for these two.
    Either(&'static str, &'static str),
}

/// Options of a load that no file says.
const OF_A_COMMAND_LINE: [&str; 14] = [
    // Part of which run this process is.
    "shard",
    "start_at",
    "repeat",
    "repeats",
    "idle",
    "name",
    // A file has keys for each.
    "settings",
    "command",
    // The file itself.
    "workload",
    "phase",
    // Consent, which only who types the line can give.
    "yes",
    // Operations decide it; and a file needs no standard input, nor another file.
    "mix",
    "stdin_arg",
    "replay",
];

/// Every one, in the order of the help.
pub(crate) fn settings() -> &'static [Setting] {
    static ALL: OnceLock<Vec<Setting>> = OnceLock::new();
    ALL.get_or_init(|| vocabulary().get_arguments().filter_map(Setting::new).collect())
}

/// Settings that say the same thing in two ways: the last word on one is the last on both.
const EXCLUSIVE: [[&str; 2]; 2] = [["requests", "duration"], ["key-dist", "sequential"]];

/// Settings that a phase of every key decides itself.
pub(crate) const OF_NO_FILL: [&str; 17] = [
    "fill",
    "fill-with",
    "clean",
    "hit-ratio",
    "verify",
    "fail-on-miss",
    "requests",
    "duration",
    "warmup",
    "rate",
    "arrivals",
    "key-dist",
    "sequential",
    "per-connection",
    "time-limit",
    "keys-by",
    "join",
];

impl Setting {
    /// The setting that an option is, unless it is of a command line alone.
    fn new(option: &Arg) -> Option<Self> {
        let id = option.get_id().as_str();
        let is_of_load = !matches!(option.get_help_heading(), Some("Server" | "TLS"));
        if !is_of_load || OF_A_COMMAND_LINE.contains(&id) {
            return None;
        }
        let is_choice = option.get_possible_values().iter().any(|value| value.get_name() == "yes");
        let form = if !option.get_action().takes_values() {
            Form::Flag
        } else if id == "keep_alive" {
            Form::Either("1", "0")
        } else if is_choice {
            Form::Either("yes", "no")
        } else {
            Form::Value
        };
        Some(Self { key: key(option).leak(), option: id.to_owned().leak(), form })
    }

    /// Returns the setting of a key.
    pub(crate) fn of_key(key: &str) -> Option<&'static Self> {
        settings().iter().find(|setting| setting.key == key)
    }

    /// Returns the setting of an option.
    pub(crate) fn of_option(option: &str) -> Option<&'static Self> {
        settings().iter().find(|setting| setting.option == option)
    }
}

/// A setting with its value.
#[derive(Debug, Clone)]
pub(crate) struct Assignment {
    /// Setting that is assigned.
    pub(crate) setting: &'static Setting,
    /// Text behind the option; nothing for a flag.
    pub(crate) value: Option<String>,
    /// Position of its value.
    pub(crate) at: usize,
}

impl Assignment {
    /// The option with its value, as words of a command line.
    pub(crate) fn words(&self, option: &Arg) -> Vec<OsString> {
        let name = written(option);
        match &self.value {
            None => vec![name.into()],
            Some(value) if name.starts_with("--") => vec![format!("{name}={value}").into()],
            Some(value) => vec![name.into(), value.into()],
        }
    }
}

/// An option by its one name in messages: the short one if it has one.
pub(crate) fn written(option: &Arg) -> String {
    match (option.get_short(), option.get_long()) {
        (Some(short), _) => format!("-{short}"),
        (None, long) => format!("--{}", long.unwrap_or_default()),
    }
}

/// Settings, each once.
#[derive(Debug, Clone, Default)]
pub(crate) struct Settings(Vec<Assignment>);

impl Settings {
    /// Each of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Assignment> {
        self.0.iter()
    }

    /// Returns the assignment of a key.
    pub(crate) fn get(&self, key: &str) -> Option<&Assignment> {
        self.0.iter().find(|set| set.setting.key == key)
    }

    /// Adds one, and removes those that it contradicts.
    pub(crate) fn put(&mut self, set: Assignment) {
        self.remove_for(set.setting.key);
        self.0.push(set);
    }

    /// Takes one out.
    pub(crate) fn remove(&mut self, key: &str) {
        self.0.retain(|set| set.setting.key != key);
    }

    /// Takes several out.
    pub(crate) fn remove_all(&mut self, keys: &[&str]) {
        keys.iter().for_each(|key| self.remove(key));
    }

    /// Removes this one and the one that it contradicts.
    pub(crate) fn remove_for(&mut self, key: &str) {
        self.remove(key);
        if let Some(other) = other(key) {
            self.remove(other);
        }
    }

    /// These settings, overridden by others.
    pub(crate) fn overlaid(mut self, others: &Self) -> Self {
        others.iter().cloned().for_each(|set| self.put(set));
        self
    }
}

/// The setting that excludes this one, if there is one.
pub(crate) fn other(key: &str) -> Option<&'static str> {
    let pair = EXCLUSIVE.iter().find(|pair| pair.contains(&key))?;
    pair.iter().find(|one| **one != key).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_those_of_documents_with_the_shape_of_their_options() {
        for (key, option, form) in [
            ("rate", "rate", Form::Value),
            ("key-range", "key_range", Form::Value),
            ("fail-on-miss", "fail_on_miss", Form::Flag),
            ("keep-alive", "keep_alive", Form::Either("1", "0")),
            ("kernel-stamps", "kernel_stamps", Form::Either("yes", "no")),
            ("on-error", "on_error", Form::Value),
        ] {
            assert_eq!(Setting::of_key(key), Some(&Setting { key, option, form }), "{key}");
        }
        assert_eq!(Setting::of_option("uri").or(Setting::of_option("replay")), None);
    }

    #[test]
    fn what_is_stated_last_takes_the_place_of_what_it_contradicts() {
        let set = |key: &str, value: &str| {
            let setting = Setting::of_key(key).unwrap();
            Assignment { setting, value: Some(value.to_owned()), at: 0 }
        };
        let of = |sets: &[Assignment]| {
            let mut settings = Settings::default();
            sets.iter().cloned().for_each(|set| settings.put(set));
            settings
        };
        let common = of(&[set("requests", "5"), set("size", "3"), set("key-dist", "zipf")]);
        let own = of(&[set("duration", "1s"), set("size", "4")]);
        let both = common.overlaid(&own);
        let keys: Vec<&str> = both.iter().map(|set| set.setting.key).collect();
        assert_eq!(keys, ["key-dist", "duration", "size"]);
        assert_eq!(both.get("size").unwrap().value.as_deref(), Some("4"));
    }
}
