//! The command line of `keystorm deliver KIND`: senders, receivers and their messages.
//!
//! The senders' load is a run's and is read by its front end; here it gets receivers. A kind of delivery is a file
//! here with the options that it has, and a row in [`KINDS`].

mod invalidate;
mod like;
mod load;
mod notify;
mod pubsub;
mod queue;
mod replica;
mod sending;

use std::ffi::OsString;

use clap::Command;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use workload::Named;

use super::suggestions::one_of;
use super::{FrontEnd, Intent, UsageError, help};
pub(crate) use load::{WORD, hoisted, is_named, load_of, message_load, numbers, takes};
use sending::{KindFront, frame, with_those_of_senders};

/// The kinds of delivery.
const KINDS: [KindFront; 7] = [
    KindFront::new::<pubsub::PubsubOptions>(),
    KindFront::new::<queue::ListOptions>(),
    KindFront::new::<queue::ZsetOptions>(),
    KindFront::new::<queue::StreamOptions>(),
    KindFront::new::<notify::NotifyOptions>(),
    KindFront::new::<replica::ReplicaOptions>(),
    KindFront::new::<invalidate::InvalidateOptions>(),
];

const ABOUT: &str = "\
Measures how long messages take to their receivers, and counts those that are lost, doubled or out of order";

const LONG_ABOUT: &str = "\
Latency counts from when a message was due. Kinds: pubsub (PUBLISH to SUBSCRIBE), list (LPUSH to BRPOP and others), \
zset (ZADD to BZPOPMIN and others), stream (XADD to XREAD or XREADGROUP), notify (a key that is written or expires, to \
the subscribers of its event), replica (a write at the primary to reads at replicas) and \
invalidate (a write to clients with a cache). Load begins when every receiver is confirmed and a message has come \
through; at the end, messages under way are waited for.";

/// Reads one of the names of a choice.
fn choice<T: Named + Send + Sync>() -> impl TypedValueParser<Value = T> {
    let names = PossibleValuesParser::new(T::NAMES.iter().map(|(_, name)| *name));
    names.try_map(|name| T::named(&name).ok_or("unknown"))
}

/// The front end of `keystorm deliver`.
pub struct DeliverFront;

impl FrontEnd for DeliverFront {
    fn names(&self) -> &'static [&'static str] {
        &["deliver"]
    }

    fn command(&self) -> Option<Command> {
        Some(command())
    }

    fn kinds_with(&self, option: &str) -> Vec<&'static str> {
        let with_option = KINDS.iter().filter(|kind| {
            (kind.command)().get_arguments().any(|arg| arg.get_long() == Some(option))
        });
        let kinds: Vec<&str> = with_option.map(|kind| kind.name).collect();
        if kinds.len() < KINDS.len() { kinds } else { Vec::new() }
    }

    fn parse(&self, _called_as: Option<&str>, args: Vec<OsString>) -> Result<Intent, UsageError> {
        if let Some(page) = help::of_deliver(&args) {
            return Ok(Intent::Say(page.to_owned()));
        }
        let mut args = like::expanded(&args)?.unwrap_or(args);
        match args.first().and_then(|word| word.to_str()) {
            Some("--help") => Ok(Intent::Say(command().render_long_help().to_string())),
            Some(word) if !word.starts_with('-') => {
                let kind = kind_named(word)?;
                args.remove(0);
                (kind.parse)(args)
            }
            _ => {
                let names = KINDS.map(|kind| kind.name).join(", ");
                Err(UsageError(format!("deliver requires a kind first: {names}")))
            }
        }
    }
}

/// The options of all kinds.
pub(crate) fn command() -> Command {
    let kinds = || KINDS.iter().map(|kind| (kind.command)());
    let long_about = format!("{ABOUT}.\n\n{LONG_ABOUT}");
    let mut all = frame("KIND").about(ABOUT).long_about(long_about);
    for arg in kinds().flat_map(|kind| kind.get_arguments().cloned().collect::<Vec<_>>()) {
        if !all.get_arguments().any(|known| known.get_id() == arg.get_id()) {
            all = all.arg(arg);
        }
    }
    let examples = kinds().filter_map(|kind| kind.get_after_help().map(ToString::to_string));
    let examples = examples.collect::<Vec<_>>().join("\n\n");
    with_those_of_senders(all.arg(like::arg()).after_help(examples))
}

/// The kind of this name.
fn kind_named(word: &str) -> Result<&'static KindFront, UsageError> {
    let kind = KINDS.iter().find(|kind| kind.name == word);
    kind.ok_or_else(|| UsageError(one_of("kind of delivery", word, &KINDS.map(|kind| kind.name))))
}
