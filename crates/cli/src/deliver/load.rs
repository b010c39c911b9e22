//! A delivery in the command line of an experiment: `search --slo 'p99<5ms' deliver pubsub --subscribers 50`.
//!
//! Words after the kind are options, like those before it: of the run, of the experiment, or of the kind.

use std::ffi::OsString;

use clap::Command;
use spec::delivery::{KINDS, KindOfDelivery};

use super::{command, kind_named};
use crate::experiment::line::takes_of;
use crate::experiment::typed_line::{Arity, TypedLine};
use crate::{UsageError, run, suggestions};

/// The word that says so.
pub(crate) const WORD: &str = "deliver";

/// Options of all kinds that are numbers, as they are typed.
pub(crate) fn numbers() -> Vec<String> {
    let kinds: Vec<Command> = KINDS.iter().map(KindOfDelivery::vocabulary).collect();
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
fn kind_of(rest: &[OsString]) -> Result<Option<&'static KindOfDelivery>, UsageError> {
    if rest.first().is_none_or(|word| word != WORD) {
        return Ok(None);
    }
    kind_named(rest.get(1).map(|word| word.to_string_lossy()).as_deref()).map(Some)
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
    line.rest.splice(0..0, kind);
    Ok(line)
}

/// The kind of delivery that a line names to which [`hoisted`] was applied, taken from it; `None` if it names none.
///
/// # Errors
/// Returns an error if there is no such kind.
pub(crate) fn take_kind(
    line: &mut TypedLine,
) -> Result<Option<&'static KindOfDelivery>, UsageError> {
    let kind = kind_of(&line.rest)?;
    if kind.is_some() {
        line.rest.drain(..2);
    }
    Ok(kind)
}

#[cfg(test)]
mod tests {
    use workload::DeliveryKind;

    use crate::experiment;

    #[test]
    fn an_option_of_a_kind_is_not_taken_for_one_of_a_run_with_the_same_name() {
        let line = "-n 10 deliver notify --event expired --ttl 2s";
        let words = line.split(' ').map(Into::into).collect();
        let load = experiment::load("keystorm search", words).unwrap();
        let plans = load.job(|_| ()).unwrap().plans;
        let kind = plans[0].delivery.as_ref().map(|delivery| delivery.kind);
        assert!(matches!(kind, Some(DeliveryKind::Notify { ttl_ms: 2_000, .. })), "{kind:?}");
    }
}
