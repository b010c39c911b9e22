//! TOML as a workload: options as their specification reads them, everything else as serde does. Whatever is not
//! understood is an error that names its place, and the key or the name that was probably meant.

use serde::Deserialize;
use serde_json::Value;
use spec::document::{self, expected, option_of_files, options_of_files, quoted};
use spec::write::key;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Deserializer, Error, ValueDeserializer};

use super::check::check;
use super::overlay::Assignment;
use super::{Phase, Settings, Source, Workload};
use crate::suggestions::one_of;

/// Keys of a file beside its options.
const FILE_KEYS: [&str; 6] = ["name", "description", "sequence", "operation", "keys", "phase"];
/// Keys of a phase beside its options.
const PHASE_KEYS: [&str; 5] = ["name", "every-key", "mix", "sequence", "operation"];

/// Reads a workload.
///
/// # Errors
/// Returns the place and the reason if something in it makes no sense.
pub(crate) fn read(source: Source) -> Result<Workload, String> {
    let described = |error| described(&source, &error);
    let table = DeTable::parse(&source.text).map_err(described)?;
    let span = table.span();
    let (settings, mut others) = parted(&source, table.into_inner(), &FILE_KEYS)?;
    let phases = others.remove("phase").map(|phases| self::phases(&source, phases)).transpose()?;
    let others = Deserializer::from(Spanned::new(span, others));
    let mut workload = Workload::deserialize(others).map_err(described)?;
    (workload.settings, workload.phases) = (settings, phases.unwrap_or_default());
    if workload.name.is_empty() {
        workload.name = source.stem();
    }
    check(&source, &workload)?;
    workload.source = source;
    Ok(workload)
}

/// An error of TOML or of serde, in our words.
fn described(source: &Source, error: &Error) -> String {
    let (message, names) = (error.message(), quoted(error.message()));
    let why = match (expected(message), &names[..]) {
        (Some(what), _) => format!("expected {what}"),
        (None, [name, known @ ..]) if message.starts_with("unknown field ") => {
            one_of("key", name, known)
        }
        (None, _) => message.to_owned(),
    };
    source.fault(error.span().map_or(0, |span| span.start), why)
}

/// Splits a table into its options and the other keys. Refuses a key that is neither an option nor among
/// `others`.
fn parted<'i>(
    source: &Source,
    table: DeTable<'i>,
    others: &[&str],
) -> Result<(Settings, DeTable<'i>), String> {
    let mut entries: Vec<_> = table.into_iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    let (mut settings, mut rest) = (Settings::default(), DeTable::new());
    for (key, value) in entries {
        let (name, at) = (key.get_ref().to_string(), value.span().start);
        if others.contains(&&*name) {
            rest.insert(key, value);
            continue;
        }
        if option_of_files(&name).is_none() {
            return Err(source.fault(key.span().start, unknown(&name, others)));
        }
        if let Some(other) = settings.contradiction(&name) {
            let why = format!("{name} cannot be combined with {other}");
            return Err(source.fault(key.span().start, why));
        }
        let value = Value::deserialize(ValueDeserializer::from(value));
        let value = value.map_err(|error| described(source, &error))?;
        let value = document::value(&name, value).map_err(|why| source.fault(at, why))?;
        if let Some(value) = value {
            settings.put(&name, Assignment { value, at });
        }
    }
    Ok((settings, rest))
}

fn phases(source: &Source, phases: Spanned<DeValue<'_>>) -> Result<Vec<Phase>, String> {
    let fault = |at| source.fault(at, "phase must be written [[phase]]");
    let at = phases.span().start;
    let DeValue::Array(phases) = phases.into_inner() else { return Err(fault(at)) };
    let phases = phases.into_iter().map(|phase| {
        let span = phase.span();
        let DeValue::Table(table) = phase.into_inner() else { return Err(fault(span.start)) };
        let (settings, others) = parted(source, table, &PHASE_KEYS)?;
        let others = Spanned::new(span.clone(), DeValue::Table(others));
        let phase = Phase::deserialize(ValueDeserializer::from(others));
        let phase = phase.map_err(|error| described(source, &error))?;
        Ok(Phase { settings, at: span.start, ..phase })
    });
    phases.collect()
}

/// Returns the fault of a key that is no option and none of `others` either.
fn unknown(name: &str, others: &[&str]) -> String {
    // The name may be that of the command line's option.
    let of_option = options_of_files().find(|option| {
        let short = option.get_short().map(String::from);
        option.get_long() == Some(name) || short.as_deref() == Some(name)
    });
    let (of_option, keys) = (of_option.map(key), options_of_files().map(key));
    let keys: Vec<String> = keys.collect();
    let known: Vec<&str> = others.iter().copied().chain(keys.iter().map(String::as_str)).collect();
    match of_option {
        Some(meant) => format!("unknown key {name:?}; did you mean {meant}?"),
        None => one_of("key", name, &known),
    }
}
