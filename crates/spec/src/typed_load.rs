//! A load as words of commands: what a command line, a workload file and another tool ask to be sent.

use serde::{Deserialize, Serialize};
use workload::command_line::{TypedOperation, TypedStep};
use workload::{KeySpace, MixStep, Operation, Pick, escape::escaped, secret};

use crate::{LoadSpec, escape};

/// Load that was typed, as operations or as one sequence.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TypedLoad {
    /// Name in reports.
    #[serde(skip)]
    pub name: String,
    /// Set if one operation is drawn at a time.
    pub mixed: bool,
    /// Set if the load may have steps: under the name of another tool, `;>` and `__reply__` are ordinary words.
    pub stepped: bool,
    /// Set if the load is written in Redis's words, to be translated for another protocol.
    #[serde(skip)]
    pub translated: bool,
    /// Names of the phases that write the data of this one, if the load is a phase.
    #[serde(skip)]
    pub loaded_by: Option<String>,
    /// Operations, one or more.
    pub operations: Vec<LoadOperation>,
}

/// An operation, with properties that only a file can give it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LoadOperation {
    /// Operation as it was typed.
    #[serde(flatten)]
    pub typed: TypedOperation,
    /// Name in reports, if not its commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Key space of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<KeySpace>,
    /// Location of each of its commands in a file.
    #[serde(skip)]
    pub places: Vec<String>,
}

impl LoadSpec {
    /// Sends operations of another tool, each with the words of its commands, picked so. Keys are those of the first.
    pub fn send(&mut self, operations: Vec<(Operation, Vec<Vec<String>>)>, pick: Pick) {
        if let Some((Operation { keys: Some(keys), .. }, _)) = operations.first() {
            self.data = std::mem::take(&mut self.data).drawn_from(keys);
        }
        self.data.order = Some(pick).filter(|pick| *pick != Pick::Drawn);
        let typed_operations =
            operations.into_iter().map(|(Operation { name, weight, steps, keys }, commands)| {
                let mut commands = commands
                    .into_iter()
                    .map(|words| words.into_iter().map(String::into_bytes).collect());
                let steps = steps.into_iter().map(|MixStep { commands: count, when }| {
                    let commands = commands.by_ref().take(count as usize).collect();
                    TypedStep { when, commands }
                });
                let typed = TypedOperation { weight, steps: steps.collect() };
                LoadOperation { typed, name: Some(name), keys, places: Vec::new() }
            });
        let operations = typed_operations.collect();
        self.given =
            Some(TypedLoad { mixed: true, stepped: true, operations, ..TypedLoad::default() });
    }
}

impl TypedLoad {
    /// Returns whether its operations are drawn or have steps: then operations are counted, not commands.
    pub fn is_mix(&self) -> bool {
        self.mixed || self.operations.iter().any(|operation| operation.typed.steps.len() > 1)
    }

    /// Returns whether some operation has keys of its own.
    pub fn draws_in_different_ways(&self) -> bool {
        self.operations.iter().any(|operation| operation.keys.is_some())
    }

    /// Returns whether a step of an operation has several commands, which a command line reads as operations.
    pub fn sends_together(&self) -> bool {
        let mut steps = self.operations.iter().flat_map(|operation| &operation.typed.steps);
        self.mixed && steps.any(|step| step.commands.len() > 1)
    }

    /// The load in words that mean the same to keystorm: without keys of operations that are those of all.
    pub(crate) fn in_own_words(mut self, all: &KeySpace) -> Self {
        let written = if self.stepped { escape::text } else { escape::of_other_tool };
        for LoadOperation { typed, keys, .. } in &mut self.operations {
            keys.take_if(|keys| keys == all);
            let words = typed.steps.iter_mut().flat_map(|step| &mut step.commands).flatten();
            words.for_each(|word| *word = written(word).into_bytes());
        }
        self.stepped = true;
        self
    }

    /// Words of a command line that say it, with weights before operations if it is `mixed` there.
    pub(crate) fn words(&self, mixed: bool) -> Vec<String> {
        let mut words = Vec::new();
        for (number, LoadOperation { typed, .. }) in self.operations.iter().enumerate() {
            for (step, TypedStep { when, commands }) in typed.steps.iter().enumerate() {
                for (at, command) in commands.iter().enumerate() {
                    words.extend(match (number, step, at) {
                        (0, 0, 0) => None,
                        (_, 1.., 0) => Some(when.sign()),
                        _ => Some(";".to_owned()),
                    });
                    words.extend((mixed && (step, at) == (0, 0)).then(|| typed.weight.to_string()));
                    words.extend(command.iter().enumerate().map(|(at, word)| argument(at, word)));
                }
            }
        }
        words
    }
}

/// A word of a command at this position, where nothing is read as what stands between commands.
fn argument(at: usize, word: &[u8]) -> String {
    let separates =
        word.starts_with(b";") || at == 0 && word.first().is_some_and(u8::is_ascii_digit);
    // No placeholder begins before the first of these.
    let end = word.windows(2).position(|pair| pair == b"__").unwrap_or(word.len());
    let (text, rest) = word.split_at(if separates { end } else { 0 });
    let text = if separates { escaped(text) } else { String::new() };
    text + &String::from_utf8_lossy(rest)
}

/// Returns the names of operations in reports: their commands; where these are equal, the whole line; where
/// that is equal, too, a number.
pub fn operation_names(typed: &[&TypedOperation]) -> Vec<String> {
    let joined = |operation: &TypedOperation, command: &dyn Fn(&[Vec<u8>]) -> String| {
        let mut name = String::new();
        for (at, TypedStep { when, commands }) in operation.steps.iter().enumerate() {
            if at > 0 {
                name += &format!(" {} ", when.sign());
            }
            name += &commands.iter().map(|words| command(words)).collect::<Vec<_>>().join(" ; ");
        }
        name
    };
    let word = |word: &[u8]| String::from_utf8_lossy(word).into_owned();
    let short = |words: &[Vec<u8>]| words.first().map_or(String::new(), |w| word(w).to_lowercase());
    let long = |words: &[Vec<u8>]| {
        secret::shown_sequence(words).iter().map(|w| word(w)).collect::<Vec<_>>().join(" ")
    };
    let shorts: Vec<String> = typed.iter().map(|o| joined(o, &short)).collect();
    let times = |names: &[String], name: &String| names.iter().filter(|n| *n == name).count();
    let mut names: Vec<String> = Vec::new();
    for (operation, name) in typed.iter().zip(&shorts) {
        let name = if times(&shorts, name) == 1 { name.clone() } else { joined(operation, &long) };
        let numbered = (2..).map(|number| format!("{name} #{number}"));
        let mut possible = std::iter::once(name.clone()).chain(numbered);
        names.extend(possible.find(|name| !names.contains(name)));
    }
    names
}
