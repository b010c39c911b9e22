//! What a file says that the command line has an option for: under which key, and how it is written.
//!
//! A value is kept as the text that stands behind the option, so that whoever reads options reads
//! those of files too. An option becomes possible in a file by one row here.

use std::ffi::OsString;

use clap::Arg;

/// An option that a file may say.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    /// What it is called in a file.
    pub(crate) key: &'static str,
    /// The option, by the name of its field.
    pub(crate) option: &'static str,
    /// How its value is written in a file.
    pub(crate) form: Form,
}

/// How a value is written in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// A number or a text, as behind the option.
    Value,
    /// `true` for an option that has no value.
    Flag,
    /// `true` or `false` for these two.
    Either(&'static str, &'static str),
}

const fn value(key: &'static str, option: &'static str) -> Setting {
    Setting { key, option, form: Form::Value }
}

const fn flag(key: &'static str, option: &'static str) -> Setting {
    Setting { key, option, form: Form::Flag }
}

const fn either(
    key: &'static str,
    option: &'static str,
    yes: &'static str,
    no: &'static str,
) -> Setting {
    Setting { key, option, form: Form::Either(yes, no) }
}

/// Every one, in the order in which files are written.
pub(crate) const SETTINGS: &[Setting] = &[
    value("requests", "requests"),
    flag("per-connection", "per_connection"),
    value("time-limit", "time_limit"),
    value("duration", "duration"),
    value("warmup", "warmup"),
    value("rate", "rate"),
    value("arrivals", "arrivals"),
    value("burst", "burst"),
    value("connections", "connections"),
    flag("connect", "connect"),
    value("open-for", "open_for"),
    value("close", "close"),
    value("pipeline", "pipeline"),
    value("window", "window"),
    value("threads", "threads"),
    value("cpus", "cpus"),
    value("engine", "engine"),
    either("keep-alive", "keep_alive", "1", "0"),
    either("reconnect", "reconnect", "yes", "no"),
    value("join", "join"),
    value("connect-spacing", "connect_spacing"),
    value("requests-per-connection", "requests_per_connection"),
    value("renew", "renew"),
    value("reconnect-wait", "reconnect_wait"),
    value("reconnect-tries", "reconnect_tries"),
    value("reconnect-timeout", "reconnect_timeout"),
    value("timeout", "timeout"),
    value("deadline", "deadline"),
    value("retry", "retry"),
    value("retry-wait", "retry_wait"),
    value("retry-jitter", "retry_jitter"),
    value("retry-queue", "retry_queue"),
    value("retry-on", "retry_on"),
    value("on-error", "on_error"),
    value("key-range", "key_range"),
    value("key-dist", "key_dist"),
    flag("sequential", "sequential"),
    value("first-key", "first_key"),
    flag("unpadded", "unpadded"),
    value("keys-by", "keys_by"),
    flag("one-slot", "one_slot"),
    value("order", "order"),
    value("size", "size"),
    value("size-by", "size_by"),
    value("content", "content"),
    value("ttl", "ttl"),
    flag("fill", "fill"),
    value("fill-with", "fill_with"),
    flag("clean", "clean"),
    value("hit-ratio", "hit_ratio"),
    flag("verify", "verify"),
    flag("fail-on-miss", "fail_on_miss"),
    value("dataset", "dataset"),
    value("rows-by", "rows_by"),
    value("row-value", "row_value"),
    value("xml-root-element", "xml_root_element"),
    value("maxdocs", "maxdocs"),
    value("tests", "tests"),
    value("num-functions", "num_functions"),
    value("num-keys-in-fcall", "num_keys_in_fcall"),
    value("seed", "seed"),
    value("precision", "precision"),
    flag("first-byte", "first_byte"),
    either("kernel-stamps", "kernel_stamps", "yes", "no"),
];

/// Settings that say the same thing in two ways: the last word on one is the last on both.
const EXCLUSIVE: [[&str; 2]; 2] = [["requests", "duration"], ["key-dist", "sequential"]];

/// What a phase of every key decides itself.
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
    /// That of a key.
    pub(crate) fn of_key(key: &str) -> Option<&'static Self> {
        SETTINGS.iter().find(|setting| setting.key == key)
    }

    /// That of an option.
    pub(crate) fn of_option(option: &str) -> Option<&'static Self> {
        SETTINGS.iter().find(|setting| setting.option == option)
    }
}

/// A setting with its value.
#[derive(Debug, Clone)]
pub(crate) struct Assignment {
    /// Which.
    pub(crate) setting: &'static Setting,
    /// What stands behind the option; nothing for a flag.
    pub(crate) value: Option<String>,
    /// Where its value stands.
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

    /// That of a key.
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
    use crate::run::vocabulary;

    /// Options of a load that no file can say, and why.
    const OF_A_COMMAND_LINE: [&str; 13] = [
        // Which part of which run this process is.
        "shard",
        "start_at",
        "repeat",
        "repeats",
        "idle",
        // A file has keys for each.
        "settings",
        "command",
        // The file itself.
        "workload",
        "phase",
        // Who types the line means what it does.
        "yes",
        // Operations decide it; and a file needs no standard input, nor another file.
        "mix",
        "stdin_arg",
        "replay",
    ];

    #[test]
    fn a_file_says_whatever_the_command_line_says_of_a_load() {
        let options = vocabulary();
        let of_load = |arg: &&Arg| {
            let heading = arg.get_help_heading();
            matches!(heading, Some("Load" | "Commands, keys and values"))
        };
        for option in options.get_arguments().filter(of_load).map(|arg| arg.get_id().as_str()) {
            let is_setting = Setting::of_option(option).is_some();
            assert!(
                is_setting != OF_A_COMMAND_LINE.contains(&option),
                "{option}: a row in SETTINGS?"
            );
        }
        for Setting { key, option, form } in SETTINGS {
            let arg = options.get_arguments().find(|arg| arg.get_id() == option);
            let takes = arg.unwrap_or_else(|| panic!("{key}")).get_action().takes_values();
            assert_eq!(takes, *form != Form::Flag, "{key}");
            assert_eq!(Setting::of_key(key).map(|s| s.option), Some(*option), "{key} stands twice");
        }
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
