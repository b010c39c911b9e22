//! The command line of `keystorm deliver KIND`: the run of the senders, and its receivers.
//!
//! [`spec::delivery`] states the options of each kind and their meaning; here they stand among those of a run.

mod like;
mod load;

use std::ffi::OsString;

use clap::Command;
use naming::{CALLED, CLOCK, IDLE, OptionId, PRINT_WORKLOAD, PROBE, REPEAT, START_AT, STDIN_ARG};
use spec::delivery::{KINDS, KindOfDelivery};
use spec::receivers::REFUSED;
use workload::{Plan, Shard};

use super::front::{framed, with_those_of_one_run};
use super::run::{ParsedArgs, vocabulary};
use super::suggestions::one_of;
use super::{FrontEnd, Intent, UsageError, help};
pub(crate) use load::{WORD, hoisted, is_named, numbers, take_kind, takes};

const ABOUT: &str = "\
Measures how long messages take to their receivers, and counts those that are lost, doubled or out of order";

const LONG_ABOUT: &str = "\
Latency counts from when a message was due. Kinds: pubsub (PUBLISH to SUBSCRIBE), list (LPUSH to BRPOP and others), \
zset (ZADD to BZPOPMIN and others), stream (XADD to XREAD or XREADGROUP), notify (a key that is written or expires, to \
the subscribers of its event), replica (a write at the primary to reads at replicas) and \
invalidate (a write to clients with a cache). Load begins when every receiver is confirmed and a message has come \
through; at the end, messages under way are waited for.";

/// Options of a run that are none of its load, and that a delivery does not take, each with the reason.
const REQUEST_OPTIONS: [(OptionId, &str); 8] = [
    (PROBE, "sends requests, and deliver measures messages"),
    (CLOCK, "is about requests, and deliver measures messages"),
    (CALLED, "translates requests; no other tool measures messages"),
    (START_AT, "starts one client of several by hand; use --on, which shares out receivers, too"),
    (PRINT_WORKLOAD, "writes requests, and no workload file has receivers"),
    (IDLE, "opens connections and measures nothing"),
    (REPEAT, "never ends; use --repeat"),
    (STDIN_ARG, "reads an argument from standard input, and a message has none"),
];

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
            kind.vocabulary().get_arguments().any(|arg| arg.get_long() == Some(option))
        });
        let kinds: Vec<&str> = with_option.map(|kind| kind.name).collect();
        if kinds.len() < KINDS.len() { kinds } else { Vec::new() }
    }

    fn parse(&self, _called_as: Option<&str>, args: Vec<OsString>) -> Result<Intent, UsageError> {
        if let Some(page) = help::of_deliver(&args) {
            return Ok(Intent::Say(page.to_owned()));
        }
        let mut args = like::expanded(&args)?.unwrap_or(args);
        let first = args.first().map(|word| word.to_string_lossy());
        if first.as_deref() == Some("--help") {
            return Ok(Intent::Say(command().render_long_help().to_string()));
        }
        let kind = kind_named(first.as_deref().filter(|word| !word.starts_with('-')))?;
        parse(kind, args.split_off(1))
    }
}

/// The options of all kinds.
pub(crate) fn command() -> Command {
    let kinds = || KINDS.iter().map(|kind| kind.vocabulary());
    let long_about = format!("{ABOUT}.\n\n{LONG_ABOUT}");
    let mut all = Command::new("keystorm deliver").about(ABOUT).long_about(long_about);
    for arg in kinds().flat_map(|kind| kind.get_arguments().cloned().collect::<Vec<_>>()) {
        if !all.get_arguments().any(|known| known.get_id() == arg.get_id()) {
            all = all.arg(arg);
        }
    }
    let examples = kinds().filter_map(|kind| kind.get_after_help().map(ToString::to_string));
    let examples = examples.collect::<Vec<_>>().join("\n\n");
    with_those_of_senders(framed_as("KIND", all.arg(like::arg())).after_help(examples))
}

/// Options of `keystorm deliver`, with the usage of this kind and what every command has.
fn framed_as(kind: &str, own: Command) -> Command {
    let of_run = vocabulary();
    let print_plan = of_run.get_arguments().find(|arg| arg.get_id() == "print_plan").cloned();
    framed(own.args(print_plan)).override_usage(usage(kind))
}

fn usage(kind: &str) -> String {
    format!("keystorm deliver {kind} [OPTIONS] [OPTIONS OF A RUN]")
}

/// The options of a kind, or of all, together with those of the senders' run.
fn with_those_of_senders(own: Command) -> Command {
    let of_requests = REQUEST_OPTIONS.map(|(name, _)| name);
    with_those_of_one_run(own, &[&REFUSED[..], &of_requests].concat())
}

/// The kind that the word after `deliver` names.
fn kind_named(word: Option<&str>) -> Result<&'static KindOfDelivery, UsageError> {
    let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
    let Some(word) = word else {
        return Err(UsageError(format!("deliver requires a kind after it: {}", names.join(", "))));
    };
    let kind = KINDS.iter().find(|kind| kind.name == word);
    kind.ok_or_else(|| UsageError(one_of("kind of delivery", word, &names)))
}

/// The help of a kind: its options and examples, and references to the others.
fn page(kind: &KindOfDelivery, whole: bool) -> String {
    let own = framed_as(kind.name, (kind.augment)(Command::new("keystorm deliver")));
    if whole {
        return with_those_of_senders(own).render_long_help().to_string();
    }
    let more = format!(
        "More: {:<40}the options of a run, too, such as --rps and -d\n      \
         {:<40}what is measured, and what the figures mean",
        format!("keystorm deliver {} --help all", kind.name),
        "keystorm help messages"
    );
    let examples = own.get_after_help().map(ToString::to_string).unwrap_or_default();
    let examples = format!("{}\n\n{more}", examples.trim_end()).trim_start().to_owned();
    own.after_help(examples).render_long_help().to_string()
}

fn parse(kind: &'static KindOfDelivery, args: Vec<OsString>) -> Result<Intent, UsageError> {
    if args.iter().any(|word| word == "--help") {
        return Ok(Intent::Say(page(kind, help::asks_for_all(&args))));
    }
    let read = ParsedArgs::read(
        "keystorm",
        |command| kind.added_to(command).override_usage(usage(kind.name)),
        args,
    )?;
    let mut typed = match read {
        Ok(typed) => typed,
        Err(intent) => return Ok(intent),
    };
    if let Some((name, why)) = REQUEST_OPTIONS.iter().find(|(name, _)| typed.has(*name)) {
        return Err(UsageError(format!("{name} {why}")));
    }
    typed.receive(kind)?;
    let job = typed.job(|_| ())?;
    let exchanges = |plan: &Plan| plan.delivery.as_ref().is_some_and(|of| of.exchange.is_some());
    if job.several.is_none() && job.plans.iter().any(exchanges) {
        return Err(UsageError("--between-clients: requires several clients (--on)".to_owned()));
    }
    let clients = job.several.as_ref().and_then(|fleet| fleet.on.count()).unwrap_or(1);
    job.plans.iter().try_for_each(|plan| check_shares(plan, clients))?;
    if typed.matches().get_flag("print_plan") {
        return Intent::plans(&job.plans);
    }
    Ok(Intent::Run(Box::new(job)))
}

/// Checks that each of this many clients has a share of the senders and the receivers.
fn check_shares(plan: &Plan, clients: u32) -> Result<(), UsageError> {
    let of = clients.min(plan.shares_max());
    (1..=of).try_for_each(|index| {
        let share = plan.with(|parts| parts.load.shard = Shard { index, of });
        let own = share.and_then(|share| share.own_messages());
        own.map(drop).map_err(UsageError::from)
    })
}
