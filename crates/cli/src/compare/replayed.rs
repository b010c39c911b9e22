//! `--replay`: recorded traffic as the load of a comparison.

use std::ffi::OsString;

use clap::Parser;
use naming::CLUSTER;

use super::super::experiment::typed_line::{TypedLine, words_of};
use super::super::front::command;
use super::super::replay::{REFUSED, ReplayedSides, recorded};
use super::super::run::ParsedArgs;
use super::super::suggestions::{self, named};
use super::super::{UsageError, run};
use super::arguments::{RecordedLoadOptions, record_args};
use super::common::{NAME, usage};

/// The option that names a file; it may be repeated.
const REPLAY: &str = "--replay";

/// Files of `--replay`, and what is said of them.
pub(super) type Record = (Vec<OsString>, RecordedLoadOptions);

/// Takes `--replay` and its options from a line; `None` without that option.
///
/// # Errors
/// Returns an error if an option makes no sense with a record.
pub(super) fn taken(line: &mut TypedLine) -> Result<Option<Record>, UsageError> {
    let files = line.take(|given| given.name == REPLAY);
    let own = command::<RecordedLoadOptions>();
    if files.is_empty() {
        let ours = clap::Command::new(NAME).args(record_args());
        return match line.options.iter().find(|given| named(&ours, &given.name).is_some()) {
            Some(given) => usage(&format!("{} requires {REPLAY}", given.name)),
            None => Ok(None),
        };
    }
    if !line.rest.is_empty() {
        return usage("--replay does not go with a command: the record says what is sent");
    }
    let of_run = run::vocabulary();
    suggestions::shorten_names(line, |name| named(&of_run, name));
    let of_cluster = (CLUSTER, "does not work with --replay: keystorm replay sends to a cluster");
    let mut refused = REFUSED.iter().chain(std::iter::once(&of_cluster));
    if let Some((name, why)) = refused.find(|(name, _)| line.has(name)) {
        return usage(&format!("{name} {why}"));
    }
    let words = words_of(&line.take(|given| named(&own, &given.name).is_some()));
    let words = std::iter::once(OsString::from(NAME)).chain(words);
    let options = RecordedLoadOptions::try_parse_from(words)
        .map_err(|error| suggestions::explained(error, &own))?;
    if options.record.speed.is_max() {
        return usage(
            "--speed max: no users send as fast as replies allow; --slo finds how many times the traffic each \
             server takes",
        );
    }
    let files = files.into_iter().filter_map(|given| given.value).collect();
    Ok(Some((files, options)))
}

/// Makes the load one of the record, for two servers.
///
/// # Errors
/// Returns an error if the options make no sense.
pub(super) fn sides(
    (files, options): Record,
    load: &mut ParsedArgs,
) -> Result<ReplayedSides, UsageError> {
    let record = recorded(NAME, options.record, files, load)?;
    Ok(ReplayedSides { record, answers: !options.no_answers, slo: None })
}
