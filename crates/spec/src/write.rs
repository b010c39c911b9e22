//! A specification in writing: what differs from the default, as words of a command line or as fields of a document.
//!
//! Names, order and shape of options are those that clap knows, values and keys those that serde writes.

use std::sync::OnceLock;

use clap::{Arg, Args, Command};
use naming::OptionId;
use serde_json::{Map, Value};

use crate::LoadSpec;

/// The options of a load.
pub fn vocabulary() -> Command {
    LoadSpec::augment_args(Command::new("load").disable_help_flag(true))
}

/// The key of an option in documents.
pub fn key(option: &Arg) -> String {
    option.get_id().as_str().replace('_', "-")
}

/// Options that say where a server is, who logs in, and by which certificates.
const TARGET_OPTIONS: [OptionId; 13] = [
    naming::HOST,
    naming::PORT,
    naming::SOCKET,
    naming::URI,
    naming::USER,
    naming::PASSWORD,
    naming::PASSWORD_COMMAND,
    naming::DBNUM,
    naming::SNI,
    naming::CACERT,
    naming::CACERTDIR,
    naming::CERT,
    naming::KEY,
];

/// Returns whether a key is that of an option that says where a server is, who logs in, or by which certificates.
pub fn is_of_target(key: &str) -> bool {
    TARGET_OPTIONS.iter().any(|option| option.key() == key)
}

/// The options of `--set`, by their long names: rarely typed ones, which other tools' command lines need.
pub fn settings() -> &'static [&'static str] {
    static NAMES: OnceLock<Vec<&str>> = OnceLock::new();
    NAMES.get_or_init(|| {
        let command = vocabulary();
        let hidden = command.get_arguments().filter(|option| option.is_hide_set());
        let names = hidden.filter_map(|option| option.get_long().map(str::to_owned));
        names.map(|name| &*name.leak()).collect()
    })
}

/// An option that is given, with its value as documents have it.
#[derive(Debug, Clone)]
pub struct PrintedOption {
    /// The option.
    pub option: Arg,
    /// Value of the option.
    pub value: Value,
}

impl LoadSpec {
    /// The options that differ from the default, in the order of the help.
    ///
    /// # Errors
    /// Returns an error if a word is not UTF-8.
    pub fn given(&self) -> Result<Vec<PrintedOption>, serde_json::Error> {
        let mut given = PrintedOption::of_fields(&vocabulary(), given_fields(self)?);
        if let Some(receivers) = &self.delivery {
            given.extend(PrintedOption::of_fields(&receivers.vocabulary(), receivers.given()?));
        }
        Ok(given)
    }

    /// The first option that is given here, and is another in a load that was made of this one, or that the tool which
    /// made it leaves no room for.
    pub fn overridden_in(&self, made: &Self) -> Option<String> {
        let mut meant = made.clone();
        if made.peer.is_some() {
            meant.data = meant.data.beside_a_tool();
        }
        let meant = fields(&meant).ok()?;
        let given = self.given().ok()?;
        let other = given.iter().find(|given| meant.get(&key(&given.option)) != Some(&given.value));
        let name = other?.option.get_long()?;
        Some(name.to_owned())
    }

    /// The words that ask for it, without the name of the program. Passwords in them are `***`.
    ///
    /// # Errors
    /// Returns an error if a word is not UTF-8.
    pub fn words(&self) -> Result<Vec<String>, serde_json::Error> {
        Ok(self.given()?.iter().flat_map(PrintedOption::words).collect())
    }
}

pub(crate) fn fields(spec: &LoadSpec) -> Result<Map<String, Value>, serde_json::Error> {
    match serde_json::to_value(spec)? {
        Value::Object(fields) => Ok(fields),
        _ => Ok(Map::new()),
    }
}

/// The fields that differ from the default.
pub(crate) fn given_fields(spec: &LoadSpec) -> Result<Map<String, Value>, serde_json::Error> {
    let (mut own, default) = (fields(spec)?, fields(&LoadSpec::default())?);
    own.retain(|key, value| default.get(key) != Some(value));
    Ok(own)
}

impl PrintedOption {
    /// The options of a command that are among these fields.
    fn of_fields(command: &Command, mut fields: Map<String, Value>) -> Vec<Self> {
        let printed = command.get_arguments().filter_map(|option| {
            let value = fields.remove(&key(option))?;
            Some(Self { option: option.clone(), value })
        });
        printed.collect()
    }

    /// Name of the option as people write it: `-c`, `--rps`, `--set order`, or `the command`.
    pub fn name(&self) -> String {
        let option = &self.option;
        match (option.get_short(), option.get_long()) {
            (Some(short), _) => format!("-{short}"),
            (None, Some(long)) if option.is_hide_set() => format!("--set {long}"),
            (None, Some(long)) => format!("--{long}"),
            (None, None) => "the command".to_owned(),
        }
    }

    /// The value in one word; nothing if the option takes none.
    pub fn argument(&self) -> String {
        match (self.option.is_positional(), self.option.get_action().takes_values()) {
            (true, _) => shell_words::join(texts(&self.value)),
            (false, true) => self.text(),
            (false, false) => String::new(),
        }
    }

    /// Writes the option and its value as words of a command line.
    pub fn words(&self) -> Vec<String> {
        let (name, value) = (self.name(), self.argument());
        if self.option.is_positional() {
            return std::iter::once("--".to_owned()).chain(texts(&self.value)).collect();
        }
        let has_value = self.option.get_action().takes_values();
        if let Some(setting) = name.strip_prefix("--set ") {
            let set = if has_value { format!("{setting}={value}") } else { setting.to_owned() };
            return vec!["--set".to_owned(), set];
        }
        match (has_value, self.option.is_require_equals_set()) {
            (false, _) => vec![name],
            (true, true) if value.is_empty() || value == "yes" => vec![name],
            (true, true) => vec![format!("{name}={value}")],
            (true, false) => vec![name, value],
        }
    }

    /// Returns the value as written behind the option.
    fn text(&self) -> String {
        let is_named =
            self.option.get_possible_values().iter().any(|name| name.matches("yes", false));
        match (&self.value, is_named) {
            (Value::Bool(yes), true) => if *yes { "yes" } else { "no" }.to_owned(),
            (Value::Bool(yes), false) => u8::from(*yes).to_string(),
            (value, _) => texts(value).join(","),
        }
    }
}

/// A text in TOML, where it looks as in JSON.
pub fn toml_text(text: &str) -> String {
    inert(&Value::from(text).to_string())
}

/// A document in TOML in which no character steers a terminal.
pub fn inert(document: &str) -> String {
    let escaped = document.chars().map(|c| match c {
        '\n' => c.to_string(),
        c if c.is_control() => format!("\\u{:04x}", u32::from(c)),
        c => c.to_string(),
    });
    escaped.collect()
}

fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::Array(values) => values.iter().flat_map(texts).collect(),
        Value::String(text) => vec![text.clone()],
        other => vec![other.to_string()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::round_trip_tests::read;

    #[test]
    fn options_of_the_target_are_options() {
        let known: Vec<String> = vocabulary().get_arguments().map(key).collect();
        let of_target = known.iter().filter(|key| is_of_target(key));
        assert_eq!(of_target.count(), TARGET_OPTIONS.len(), "{known:?}");
    }
    use crate::values::Count;

    fn typed(line: &str) -> LoadSpec {
        let words =
            line.split(' ').map(|word| word.replace("__", " ").replace("k: key ", "k:__key__"));
        let words = words.collect::<Vec<_>>();
        read(&words).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn an_option_that_another_tool_leaves_no_room_for_is_named() {
        for (line, overridden) in [
            ("--rps 5 --fill", None),
            ("-c 5", None),
            ("-c 6", Some("clients")),
            ("--duration 9", Some("duration")),
            ("--set order=turns", Some("order")),
            ("--content random", Some("content")),
        ] {
            let mut made = typed(line);
            made.load.connections = Some(Count(5));
            made.load.duration = None;
            made.peer = Some(crate::Peer::default());
            assert_eq!(typed(line).overridden_in(&made).as_deref(), overridden, "{line}");
        }
    }

    #[test]
    fn what_is_not_asked_for_is_not_written() {
        assert_eq!(LoadSpec::default().words().unwrap(), [""; 0]);
        let given = given_fields(&typed("-c 5 --rps 10k -t get")).unwrap();
        assert_eq!(
            toml::to_string(&given).unwrap(),
            "connections = 5\nrate = 10000\ntests = \"get\"\n"
        );
    }

    #[test]
    fn no_password_is_written() {
        for line in [
            "-a hunter2",
            "-u redis://me:hunter2@h:1/2",
            "--password-command hunter2",
            "--spawn --spawn-args --requirepass__hunter2",
            "-- auth hunter2",
        ] {
            let spec = typed(line);
            let written = format!("{:?} {:?}", spec.words().unwrap(), given_fields(&spec).unwrap());
            assert!(written.contains("***") && !written.contains("hunter2"), "{line}: {written}");
        }
    }
}
