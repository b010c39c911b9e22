//! Options of a load in documents that people write: read one at a time, and put into a specification.

use std::sync::OnceLock;

use clap::error::{ContextKind, ContextValue};
use clap::{Arg, Command};
use naming::{
    IDLE, MIX, NAME, OptionId, PHASE, REPEAT, REPEATS, REPLAY, SETTINGS, SHARD, START_AT,
    STDIN_ARG, WORKLOAD, YES,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::LoadSpec;
use crate::write::{PrintedOption, given_fields, key, vocabulary};

/// Values of options, by their keys.
pub type Fields = Map<String, Value>;

/// Options of a load that no workload file says: those that tell a process its part of a run, those for which a file
/// has keys of its own, the name of the file itself, consent, which only a person can give, `mix`, which operations
/// decide, and standard input and records, since a file needs no other.
const COMMAND_LINE_OPTIONS: [OptionId; 13] = [
    SHARD, START_AT, REPEAT, REPEATS, IDLE, NAME, SETTINGS, WORKLOAD, PHASE, YES, MIX, STDIN_ARG,
    REPLAY,
];

/// The options that a workload file may say, in the order of the help.
pub fn options_of_files() -> impl Iterator<Item = &'static Arg> {
    static ALL: OnceLock<Command> = OnceLock::new();
    ALL.get_or_init(vocabulary).get_arguments().filter(|option| {
        let is_of_load = !matches!(option.get_help_heading(), Some("Server" | "TLS"));
        is_of_load
            && !option.is_positional()
            && !OptionId::any_has(&COMMAND_LINE_OPTIONS, option.get_id().as_str())
    })
}

/// The option that a key of a workload file sets.
pub fn option_of_files(named: &str) -> Option<&'static Arg> {
    options_of_files().find(|option| key(option) == named)
}

/// Reads the value of an option, and returns it as it is written; `None` for the default.
///
/// # Errors
/// Returns the fault in words that begin with the key.
pub fn value(key: &str, given: Value) -> Result<Option<Value>, String> {
    let given = Value::Object(Fields::from_iter([(key.to_owned(), given)]));
    let spec: LoadSpec = serde_json::from_value(given).map_err(|e| wrong(key, &e.to_string()))?;
    let mut given = given_fields(&spec).map_err(|error| format!("{key}: {error}"))?;
    Ok(given.remove(key))
}

/// A message of serde's about the value of an option, in words that begin with its key.
fn wrong(key: &str, message: &str) -> String {
    match (expected(message), message.strip_prefix("unknown variant ")) {
        (Some(what), _) => format!("{key} must be {what}"),
        (None, Some(_)) => format!("{key}: expected one of {}", quoted(message)[1..].join(", ")),
        (None, None) => format!("{key}: {message}"),
    }
}

/// The type that is wanted where a document has another, from a message of serde's.
pub fn expected(message: &str) -> Option<&str> {
    let (_, what) = message.strip_prefix("invalid type: ")?.rsplit_once(", expected ")?;
    Some(match what {
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "i32" | "i64" | "u16" | "u32" => "a whole number",
        "f64" => "a number",
        "string or map" => "a string",
        what if what == "a map" || what.starts_with("struct ") => "a table",
        what => what,
    })
}

/// The names that a message of serde's quotes: first what was found, then what is known.
pub fn quoted(message: &str) -> Vec<&str> {
    message.split('`').skip(1).step_by(2).collect()
}

impl LoadSpec {
    /// Sets options of the load, of its data and of its recording by their keys; `null` stands for the default.
    ///
    /// # Errors
    /// Returns an error if an option does not take its value, or a path is not UTF-8.
    pub fn set(&mut self, values: &Fields) -> Result<(), serde_json::Error> {
        self.load = changed(&self.load, values)?;
        self.data = changed(&self.data, values)?;
        self.recording = changed(&self.recording, values)?;
        Ok(())
    }

    /// Checks which options exclude or require others, as those of a command line are checked.
    ///
    /// # Errors
    /// Returns an error if two options exclude each other, or one lacks another that it requires.
    pub fn check_relations(&self) -> Result<(), clap::Error> {
        // Options without a written form came from a command line, where they were checked.
        let given = self.given().unwrap_or_default();
        let words = std::iter::once("load".to_owned()).chain(given.iter().flat_map(typed));
        let matches = vocabulary().args_override_self(true).try_get_matches_from(words);
        matches.map(|_| ()).map_err(|mut error| {
            // How such a line is written is the caller's to say.
            error.remove(ContextKind::Usage);
            error
        })
    }
}

/// The options that an error of clap's names, by their fields.
pub fn options_in(error: &clap::Error) -> Vec<String> {
    let mut command = vocabulary();
    command.build();
    let written =
        [ContextKind::InvalidArg, ContextKind::PriorArg].map(|kind| match error.get(kind) {
            Some(ContextValue::String(one)) => vec![one.clone()],
            Some(ContextValue::Strings(all)) => all.clone(),
            _ => Vec::new(),
        });
    let option =
        |written: &String| command.get_arguments().find(|option| option.to_string() == *written);
    let named = written.iter().flatten().filter_map(option);
    named.map(|option| option.get_id().to_string()).collect()
}

/// An option in words, without `--set` before a setting.
fn typed(given: &PrintedOption) -> Vec<String> {
    match &given.words()[..] {
        [set, setting] if set == "--set" => vec![format!("--{setting}")],
        words => words.to_vec(),
    }
}

/// A group of options with other values for those of its own.
fn changed<G: Serialize + DeserializeOwned>(
    group: &G,
    values: &Fields,
) -> Result<G, serde_json::Error> {
    let mut own = serde_json::to_value(group)?;
    if let Some(own) = own.as_object_mut() {
        for (key, value) in own.iter_mut() {
            if let Some(other) = values.get(key) {
                value.clone_from(other);
            }
        }
        own.retain(|_, value| !value.is_null());
    }
    serde_json::from_value(own)
}
