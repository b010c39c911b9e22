//! TOML as a workload. Whatever is not understood is an error that names its place, and the key or the
//! name that was probably meant.

use std::error::Error;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use workload::{KeyDist, KeyNumbering, StepCondition, quantity};

use super::check::check;
use super::settings::{Assignment, other, settings, written};
use super::{
    Command, Form, Load, LocatedName, Operation, Part, Phase, Setting, Settings, Source, Space,
    Step, Workload,
};
use crate::near::{nearest, one_of};

/// Keys of a file beside its settings.
const OF_FILE: [&str; 6] = ["name", "description", "sequence", "operation", "keys", "phase"];
/// Keys of a phase beside its settings.
const OF_PHASE: [&str; 5] = ["name", "every-key", "mix", "sequence", "operation"];
const OF_OPERATION: [&str; 6] = ["name", "weight", "keys", "command", "commands", "steps"];
const OF_STEP: [&str; 3] = ["command", "commands", "when"];
const OF_SPACE: [&str; 6] = ["range", "dist", "first", "unpadded", "by", "one-slot"];

/// Reads a workload. `options` are those that settings are values of.
///
/// # Errors
/// What makes no sense in it, and where.
pub(crate) fn read(source: Source, options: clap::Command) -> Result<Workload, String> {
    let table = DeTable::parse(&source.text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        source.fault(at, error.message())
    })?;
    let mut reader = Reader { source: &source, options };
    let mut workload = reader.workload(table.get_ref())?;
    if workload.name.is_empty() {
        workload.name = source.stem();
    }
    check(&source, &workload)?;
    workload.source = source;
    Ok(workload)
}

struct Reader<'s> {
    source: &'s Source,
    options: clap::Command,
}

type Value<'v, 'i> = &'v Spanned<DeValue<'i>>;

/// A key with what it is set to.
struct Entry<'v, 'i> {
    key: &'v str,
    at: usize,
    value: Value<'v, 'i>,
}

/// The entries of a table, in the order in which they stand there.
fn entries<'v, 'i>(table: &'v DeTable<'i>) -> Vec<Entry<'v, 'i>> {
    let entry = |(key, value): (&'v Spanned<_>, Value<'v, 'i>)| -> Entry<'v, 'i> {
        let name: &'v std::borrow::Cow<'i, str> = key.get_ref();
        Entry { key: name, at: key.span().start, value }
    };
    let mut entries: Vec<Entry<'v, 'i>> = table.iter().map(entry).collect();
    entries.sort_by_key(|entry| entry.at);
    entries
}

fn start(value: Value<'_, '_>) -> usize {
    value.span().start
}

/// `cursor:N`, of a step that is sent instead of the one before it while replies bring a cursor, at most N times in
/// a row.
fn cursors(text: &str) -> Option<StepCondition> {
    let most = text.strip_prefix("cursor:")?.parse().ok()?;
    Some(StepCondition::OnCursor { most: Some(most) })
}

impl Reader<'_> {
    fn fault<T>(&self, at: usize, why: impl std::fmt::Display) -> Result<T, String> {
        Err(self.source.fault(at, why))
    }

    fn workload(&mut self, table: &DeTable<'_>) -> Result<Workload, String> {
        let mut workload = Workload::default();
        for entry in entries(table) {
            match entry.key {
                "name" => workload.name = self.text(&entry)?,
                "description" => workload.description = Some(self.text(&entry)?),
                "keys" => workload.spaces = self.spaces(&entry)?,
                "phase" => {
                    let phases = self.tables(&entry, "[[phase]]")?;
                    let phases = phases.into_iter().map(|(at, phase)| self.phase(at, phase));
                    workload.phases = phases.collect::<Result<_, _>>()?;
                }
                "sequence" | "operation" => self.load(&mut workload.load, &entry)?,
                _ => self.set(&mut workload.settings, &entry, &OF_FILE)?,
            }
        }
        Ok(workload)
    }

    fn phase(&mut self, at: usize, table: &DeTable<'_>) -> Result<Phase, String> {
        let mut phase = Phase { at, ..Phase::default() };
        for entry in entries(table) {
            match entry.key {
                "name" => phase.name = Some(self.text(&entry)?),
                "every-key" => phase.every_key = self.truth(&entry)?,
                "mix" => phase.mix = Some(self.mix(&entry)?),
                "sequence" | "operation" => self.load(&mut phase.load, &entry)?,
                _ => self.set(&mut phase.settings, &entry, &OF_PHASE)?,
            }
        }
        Ok(phase)
    }

    fn load(&self, load: &mut Option<Load>, entry: &Entry<'_, '_>) -> Result<(), String> {
        if load.is_some() {
            let why = "use either a sequence or operations; a sequence is a single operation \
                with all commands in one step";
            return self.fault(entry.at, why);
        }
        *load = Some(match entry.key {
            "sequence" => Load::Sequence(self.commands(entry)?),
            _ => {
                let tables = self.tables(entry, "[[operation]]")?;
                let operations = tables.into_iter().map(|(at, table)| self.operation(at, table));
                Load::Operations(operations.collect::<Result<_, _>>()?)
            }
        });
        Ok(())
    }

    fn operation(&self, at: usize, table: &DeTable<'_>) -> Result<Operation, String> {
        let (mut name, mut weight, mut keys, mut steps) = (None, 1, None, None);
        for entry in entries(table) {
            match entry.key {
                "name" => name = Some(self.text(&entry)?),
                "weight" => weight = self.weight(entry.value)?,
                "keys" => {
                    keys = Some(LocatedName { name: self.text(&entry)?, at: start(entry.value) });
                }
                "command" | "commands" | "steps" if steps.is_some() => {
                    return self.fault(
                        entry.at,
                        "an operation has either a command, commands that are sent together, or \
                         steps",
                    );
                }
                "command" | "commands" => {
                    let commands = self.step_commands(&entry)?;
                    steps = Some(vec![Step { when: StepCondition::Always, commands }]);
                }
                "steps" => steps = Some(self.steps(&entry)?),
                _ => return self.unknown(&entry, &OF_OPERATION),
            }
        }
        match steps {
            Some(steps) => Ok(Operation { name, weight, keys, steps, at }),
            None => self.fault(
                at,
                "an operation requires a command, such as command = \"get user:__key__\", or \
                 steps",
            ),
        }
    }

    fn steps(&self, entry: &Entry<'_, '_>) -> Result<Vec<Step>, String> {
        let steps = self.tables(entry, "steps = [{ command = \"...\" }, ...]")?;
        let mut read = Vec::new();
        for (at, table) in steps {
            let (mut when, mut commands) = (StepCondition::Always, None);
            for entry in entries(table) {
                match entry.key {
                    "command" | "commands" if commands.is_some() => {
                        return self.fault(entry.at, "a step has either a command or commands");
                    }
                    "command" | "commands" => commands = Some(self.step_commands(&entry)?),
                    "when" => {
                        when = match &*self.text(&entry)? {
                            "always" => StepCondition::Always,
                            "miss" | "each" | "cursor" if read.is_empty() => {
                                let why = "the first step cannot depend on a miss, a list or a \
                                    cursor of an earlier step";
                                return self.fault(start(entry.value), why);
                            }
                            "miss" => StepCondition::OnMiss,
                            "each" => StepCondition::ForEach,
                            "cursor" => StepCondition::OnCursor { most: None },
                            other if let Some(cursors) = cursors(other) => cursors,
                            other => {
                                let why = format!(
                                    "a step is sent always, on a \"miss\", for \"each\" string of a list or \
                                     on a \"cursor\" (\"cursor:9\" nine times in a row), not on {other:?}"
                                );
                                return self.fault(start(entry.value), why);
                            }
                        };
                    }
                    _ => return self.unknown(&entry, &OF_STEP),
                }
            }
            match commands {
                Some(commands) => read.push(Step { when, commands }),
                None => return self.fault(at, "a step requires a command"),
            }
        }
        Ok(read)
    }

    fn step_commands(&self, entry: &Entry<'_, '_>) -> Result<Vec<Command>, String> {
        match entry.key {
            "command" => Ok(vec![self.command(entry.value)?]),
            _ => self.commands(entry),
        }
    }

    fn commands(&self, entry: &Entry<'_, '_>) -> Result<Vec<Command>, String> {
        let items = entry.value.get_ref().as_array().filter(|items| !items.is_empty());
        let Some(items) = items else {
            let why = format!("{} must be a list of commands: [\"get a\", \"get b\"]", entry.key);
            return self.fault(start(entry.value), why);
        };
        items.iter().map(|item| self.command(item)).collect()
    }

    /// Reads a command: one text, cut as a shell would, or a list of words.
    fn command(&self, value: Value<'_, '_>) -> Result<Command, String> {
        let at = start(value);
        let words = match value.get_ref() {
            DeValue::String(line) => match shell_words::split(line) {
                Ok(words) => words,
                Err(_) => return self.fault(at, "a quotation mark is not closed"),
            },
            DeValue::Array(words) => {
                let word = |word: Value<'_, '_>| match word.get_ref().as_str() {
                    Some(text) => Ok(text.to_owned()),
                    None => self.fault(start(word), "a word of a command must be a string"),
                };
                words.iter().map(word).collect::<Result<_, _>>()?
            }
            _ => {
                let why = "a command is a string such as \"get user:__key__\", or a list of \
                    words";
                return self.fault(at, why);
            }
        };
        if words.is_empty() {
            self.fault(at, "a command cannot be empty")
        } else {
            Ok(Command { words, at })
        }
    }

    fn mix(&self, entry: &Entry<'_, '_>) -> Result<Vec<Part>, String> {
        let Some(table) = entry.value.get_ref().as_table().filter(|table| !table.is_empty()) else {
            let why = "a mix is a table of operations and weights: { read = 9, write = 1 }";
            return self.fault(start(entry.value), why);
        };
        let part = |part: Entry<'_, '_>| {
            let name = LocatedName { name: part.key.to_owned(), at: part.at };
            Ok(Part { name, weight: self.weight(part.value)? })
        };
        entries(table).into_iter().map(part).collect()
    }

    fn weight(&self, value: Value<'_, '_>) -> Result<u32, String> {
        let given = value.get_ref().as_integer().and_then(|n| n.as_str().parse::<u32>().ok());
        match given.filter(|weight| *weight > 0) {
            Some(weight) => Ok(weight),
            None => {
                let why = format!("a weight must be a whole number from 1 to {}", u32::MAX);
                self.fault(start(value), why)
            }
        }
    }

    fn spaces(&self, entry: &Entry<'_, '_>) -> Result<Vec<Space>, String> {
        let Some(table) = entry.value.get_ref().as_table() else {
            return self.fault(entry.at, "a key space needs a name: [keys.NAME]");
        };
        let space = |named: Entry<'_, '_>| {
            let Some(table) = named.value.get_ref().as_table() else {
                let why = format!("a key space must be a table: [keys.{}]", named.key);
                return self.fault(named.at, why);
            };
            let (mut range, mut dist) = (None, KeyDist::UNIFORM);
            let (mut numbered, mut one_slot) = (KeyNumbering::default(), false);
            for entry in entries(table) {
                let at = start(entry.value);
                match entry.key {
                    "range" => {
                        let read = quantity::count(&self.plain(&entry)?);
                        range = Some(read.map_err(|why| self.source.fault(at, why))?);
                    }
                    "dist" => {
                        let read = self.text(&entry)?.parse();
                        dist = read.map_err(|why: String| self.source.fault(at, why))?;
                    }
                    "first" => {
                        let read = quantity::count(&self.plain(&entry)?);
                        numbered.first = read.map_err(|why| self.source.fault(at, why))?;
                    }
                    "by" => {
                        let read = self.text(&entry)?.parse();
                        numbered.by = read.map_err(|why: String| self.source.fault(at, why))?;
                    }
                    "unpadded" => numbered.bare = self.truth(&entry)?,
                    "one-slot" => one_slot = self.truth(&entry)?,
                    _ => return self.unknown(&entry, &OF_SPACE),
                }
            }
            if range.is_none() && dist.file().is_none() {
                return self.fault(named.at, "range is missing: the number of keys to draw from");
            }
            let name = named.key.to_owned();
            Ok(Space { name, range, dist, numbered, one_slot, at: named.at })
        };
        entries(table).into_iter().map(space).collect()
    }

    /// Takes a setting in, or refuses a key that is none of `others` either.
    fn set(
        &mut self,
        settings: &mut Settings,
        entry: &Entry<'_, '_>,
        others: &[&str],
    ) -> Result<(), String> {
        let Some(setting) = Setting::of_key(entry.key) else {
            return self.unknown(entry, others);
        };
        if let Some(other) = other(setting.key).filter(|key| settings.get(key).is_some()) {
            return self
                .fault(entry.at, format!("{} cannot be combined with {other}", setting.key));
        }
        let value = match setting.form {
            Form::Value => Some(self.plain(entry)?),
            Form::Flag if self.truth(entry)? => None,
            Form::Flag => return Ok(()),
            Form::Either(yes, no) => Some(if self.truth(entry)? { yes } else { no }.to_owned()),
        };
        let set = Assignment { setting, value, at: start(entry.value) };
        if let Some(why) = self.refused(&set) {
            return self.fault(set.at, format!("{}: {why}", setting.key));
        }
        settings.put(set);
        Ok(())
    }

    /// Says why the option refuses the value; `None` if it accepts it.
    fn refused(&mut self, set: &Assignment) -> Option<String> {
        let option = self.options.get_arguments().find(|arg| arg.get_id() == set.setting.option)?;
        let words = std::iter::once("keystorm".into()).chain(set.words(option));
        let error = self.options.try_get_matches_from_mut(words).err()?;
        match error.kind() {
            ErrorKind::ValueValidation => error.source().map(ToString::to_string),
            ErrorKind::InvalidValue => match error.get(ContextKind::ValidValue) {
                Some(ContextValue::Strings(valid)) if !valid.is_empty() => {
                    Some(format!("expected one of {}", valid.join(", ")))
                }
                _ => Some("a value is missing".to_owned()),
            },
            // Options that it requires may stand elsewhere in the file.
            _ => None,
        }
    }

    fn unknown<T>(&self, entry: &Entry<'_, '_>, others: &[&str]) -> Result<T, String> {
        let is_settings = others == OF_FILE || others == OF_PHASE;
        let settings = settings().iter().filter(|_| is_settings);
        // The name may be that of the command line's option for the setting.
        let named = |setting: &&Setting| {
            let mut args = self.options.get_arguments();
            let arg = args.find(|arg| arg.get_id() == setting.option);
            let long = arg.and_then(|arg| arg.get_long()) == Some(entry.key);
            long || arg.is_some_and(|arg| written(arg).trim_start_matches('-') == entry.key)
        };
        let of_option = settings.clone().find(named).map(|setting| setting.key);
        let known: Vec<&str> = others.iter().copied().chain(settings.map(|s| s.key)).collect();
        let meant = of_option.or_else(|| nearest(entry.key, known.iter().copied()));
        let text = one_of("key", entry.key, meant, &known);
        self.fault(entry.at, text)
    }

    fn tables<'v, 'i>(
        &self,
        entry: &Entry<'v, 'i>,
        written: &str,
    ) -> Result<Vec<(usize, &'v DeTable<'i>)>, String> {
        let tables = entry.value.get_ref().as_array().filter(|items| !items.is_empty());
        let table = |item: Value<'v, 'i>| {
            let table = item.get_ref().as_table()?;
            Some((start(item), table))
        };
        let tables = tables.and_then(|tables| tables.iter().map(table).collect());
        match tables {
            Some(tables) => Ok(tables),
            None => self.fault(entry.at, format!("{} must be written {written}", entry.key)),
        }
    }

    fn text(&self, entry: &Entry<'_, '_>) -> Result<String, String> {
        match entry.value.get_ref().as_str() {
            Some(text) => Ok(text.to_owned()),
            None => self.fault(start(entry.value), format!("{} must be a string", entry.key)),
        }
    }

    fn truth(&self, entry: &Entry<'_, '_>) -> Result<bool, String> {
        let fault =
            || self.fault(start(entry.value), format!("{} must be true or false", entry.key));
        entry.value.get_ref().as_bool().map_or_else(fault, Ok)
    }

    /// A number or a text, as it would stand behind an option.
    fn plain(&self, entry: &Entry<'_, '_>) -> Result<String, String> {
        match entry.value.get_ref() {
            DeValue::String(text) => Ok(text.clone().into_owned()),
            DeValue::Integer(number) if number.radix() == 10 => {
                Ok(number.as_str().trim_start_matches('+').to_owned())
            }
            DeValue::Float(number) => Ok(number.as_str().trim_start_matches('+').to_owned()),
            _ => {
                let why = format!("{} must be a number or a string", entry.key);
                self.fault(start(entry.value), why)
            }
        }
    }
}
