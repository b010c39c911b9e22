//! A delivery in the command line of an experiment: `search --slo 'p99<5ms' deliver pubsub --subscribers 50`.
//!
//! Words after the kind are options, like those before it: of the run, of the experiment, or of the kind.

use std::ffi::OsString;

use clap::Command;
use spec::DeliveryOptions;

use super::sending::{DeliveryLoad, KindFront};
use super::{KINDS, command, kind_named};
use crate::experiment::line::takes_of;
use crate::experiment::typed_line::{Arity, TypedLine, words_of};
use crate::suggestions::named;
use crate::{UsageError, run, suggestions};

/// The word that says so.
pub(crate) const WORD: &str = "deliver";

/// Options of all kinds that are numbers, as they are typed.
pub(crate) fn numbers() -> Vec<String> {
    let kinds = KINDS.map(|kind| (kind.command)());
    let numbers = kinds.iter().flat_map(Command::get_arguments).filter(|option| {
        let names = option.get_value_names().unwrap_or_default();
        names.first().is_some_and(|name| name.starts_with("NUM"))
    });
    numbers.filter_map(|option| Some(format!("--{}", option.get_long()?))).collect()
}

/// Returns what an option of any kind, or of the run of its senders, takes.
pub(crate) fn takes(name: &str) -> Option<Arity> {
    takes_of(&command(), name)
}

/// Returns whether a command line has the word `deliver`, and so may have options of the kinds.
pub(crate) fn is_named(args: &[OsString]) -> bool {
    args.iter().any(|word| word == WORD)
}

/// The kind that the words after the options name; `None` if they are not a delivery.
fn kind_of(rest: &[OsString]) -> Result<Option<&'static KindFront>, UsageError> {
    if rest.first().is_none_or(|word| word != WORD) {
        return Ok(None);
    }
    let Some(word) = rest.get(1) else {
        let names = KINDS.map(|kind| kind.name).join(", ");
        return Err(UsageError(format!("deliver requires a kind after it: {names}")));
    };
    kind_named(&word.to_string_lossy()).map(Some)
}

/// The line with the options behind a kind among those in front of it; what is no delivery as it is.
///
/// # Errors
/// Returns an error if there is no such kind, or a word is no option.
pub(crate) fn hoisted(
    mut line: TypedLine,
    takes_also: impl Fn(&str) -> Option<Arity>,
) -> Result<TypedLine, UsageError> {
    if kind_of(&line.rest)?.is_none() {
        return Ok(line);
    }
    let takes = |name: &str| takes_also(name).or_else(|| takes(name));
    let in_front = line.options.len();
    let kind = line.take_words(2, takes);
    let mut behind = line.options[in_front..].iter();
    if let Some(given) = behind.find(|given| takes(&given.name).is_none()) {
        return Err(suggestions::no_option(&given.name, &command(), &run::vocabulary()));
    }
    if let Some(word) = line.rest.first() {
        let word = shell_words::quote(&word.to_string_lossy()).into_owned();
        return Err(UsageError(format!(
            "unexpected word {word}: deliver has commands of its own; see keystorm deliver --help"
        )));
    }
    line.rest = kind;
    Ok(line)
}

/// The delivery of options that are given.
///
/// # Errors
/// Returns an error if the options ask for something impossible.
pub(crate) fn load_of(given: &DeliveryOptions) -> Result<DeliveryLoad, UsageError> {
    let words = given.options.iter().map(|(key, value)| match value.as_str() {
        Some(value) => format!("--{key}={value}").into(),
        None => format!("--{key}").into(),
    });
    (kind_named(&given.kind)?.load)(words.collect(), TypedLine::default())
}

/// The delivery that a line names to which [`hoisted`] was applied, with the rest of the line; `None` if it names none.
///
/// # Errors
/// Returns an error if the options ask for something impossible.
pub(crate) fn message_load(line: &mut TypedLine) -> Result<Option<DeliveryLoad>, UsageError> {
    let Some(kind) = kind_of(&line.rest)? else { return Ok(None) };
    line.rest.clear();
    let of_run = run::vocabulary();
    suggestions::shorten_names(line, |name| named(&of_run, name));
    let own = (kind.command)();
    let ours = line
        .take(|given| named(&own, &given.name).is_some() && named(&of_run, &given.name).is_none());
    (kind.load)(words_of(&ours), std::mem::take(line)).map(Some)
}
