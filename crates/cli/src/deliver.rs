//! The command line of `keystorm deliver KIND`: senders and receivers, and what goes between them.
//!
//! The senders' load is a run's and is read by its front end; here it gets receivers.

use std::ffi::OsString;
use std::time::Duration;

use clap::{ArgAction, Command, CommandFactory, Parser};
use lab::Line;
use lab::words::Given;
use workload::{Delivery, DeliveryKind, Piece, Plan, PlanParts, message};

use super::experiment::{with_split, with_those_of_a_run};
use super::run::{RunFront, seconds, small_count};
use super::{FrontEnd, Intent, UsageError, near};

/// The front end of `keystorm deliver`.
pub(crate) struct DeliverFront;

/// The kinds of delivery.
const KINDS: [&str; 1] = ["pubsub"];

/// Measures how long messages take to their receivers, and counts those that are lost, doubled or out of order.
///
/// Latency counts from when a message was due. The kind is pubsub: PUBLISH to SUBSCRIBE. Load begins when every
/// subscription is confirmed and a message has come through each channel; at the end, messages under way are
/// waited for.
#[derive(Debug, Parser)]
#[command(
    name = "keystorm deliver",
    bin_name = "keystorm deliver",
    disable_help_flag = true,
    args_override_self = true,
    max_term_width = 100,
    override_usage = "keystorm deliver pubsub [OPTIONS] [OPTIONS OF A RUN]",
    after_help = EXAMPLES,
)]
struct Options {
    /// Connections that publish, as -c of a run [default: 10]
    #[arg(long, value_name = "NUM", help_heading = "Messages", value_parser = small_count)]
    publishers: Option<u32>,
    /// Connections that subscribe [default: 10]
    #[arg(long, value_name = "NUM", help_heading = "Messages", default_value = "10",
          hide_default_value = true, value_parser = small_count)]
    subscribers: u32,
    /// Channels. Each message goes to one, drawn as -r draws keys (--key-dist) [default: 10]
    #[arg(long, value_name = "NUM", help_heading = "Messages", default_value = "10",
          hide_default_value = true, value_parser = small_count)]
    channels: u32,
    /// Channels of each subscriber, which take them in turn [default: 1]
    #[arg(long, value_name = "NUM", help_heading = "Messages", default_value = "1",
          hide_default_value = true, value_parser = small_count)]
    channels_per_subscriber: u32,
    /// Subscribe to patterns that match one channel each (PSUBSCRIBE)
    #[arg(long, help_heading = "Messages")]
    patterns: bool,
    /// Wait this long for the last messages [default: 5s]
    #[arg(long, value_name = "TIME", help_heading = "Messages", allow_hyphen_values = true,
          value_parser = seconds)]
    drain: Option<Duration>,
    /// Threads that receive [default: 1]
    #[arg(long, value_name = "NUM", help_heading = "Messages", default_value = "1",
          hide_default_value = true, value_parser = small_count)]
    receiver_threads: u32,
    /// Print the plan as JSON instead of running it
    #[arg(long, help_heading = "Other")]
    print_plan: bool,
    /// Print this help
    #[arg(long, action = ArgAction::Help, help_heading = "Other")]
    help: Option<bool>,
}

/// Every line that begins with `$` is run by a test.
const EXAMPLES: &str = "\
Examples:
  10,000 messages a second to 50 subscribers of one channel, for 10 seconds:
    $ keystorm deliver pubsub --rps 10k --duration 10s --channels 1 --subscribers 50

  As many as go through 1,000 channels, with payloads of 1 KB:
    $ keystorm deliver pubsub --channels 1000 --subscribers 1000 -d 1k -n 100k";

/// What the help leaves out of a run's options: a message is one command of a known shape.
const REFUSED: [&str; 12] = [
    "-t",
    "-r",
    "--fill",
    "--verify",
    "--mix",
    "--workload",
    "--replay",
    "--dataset",
    "--shard",
    "--on",
    "--cluster",
    "--hit-ratio",
];

/// Bytes of a payload where the command line does not say.
const PAYLOAD_BYTES: &str = "128";
/// Messages that are waited for at the end where the command line does not say.
const DRAIN: Duration = Duration::from_secs(5);

impl FrontEnd for DeliverFront {
    fn names(&self) -> &'static [&'static str] {
        &["deliver"]
    }

    fn command(&self) -> Option<Command> {
        Some(with_those_of_a_run(Options::command(), &REFUSED))
    }

    fn parse(&self, _called_as: Option<&str>, args: Vec<OsString>) -> Result<Intent, UsageError> {
        let mut args = args;
        let kind = match args.first().and_then(|word| word.to_str()) {
            Some("--help") => OsString::new(),
            Some(word) if KINDS.contains(&word) => args.remove(0),
            Some(word) if !word.starts_with('-') => {
                let nearest = near::nearest(word, KINDS.into_iter());
                return Err(UsageError(near::one_of("kind of delivery", word, nearest, &KINDS)));
            }
            _ => {
                let kinds = KINDS.join(", ");
                return Err(UsageError(format!("deliver requires a kind first: {kinds}")));
            }
        };
        with_split(args, |options, line, _| intent(&kind.to_string_lossy(), &options, line))
    }
}

/// What the options mean.
fn intent(kind: &str, options: &Options, line: Line) -> Result<Intent, UsageError> {
    if let Some(name) = REFUSED.iter().find(|name| line.has(name)) {
        return Err(UsageError(format!("{name}: deliver {kind} sends one command of its own")));
    }
    if let Some(word) = line.rest.iter().find(|word| *word != "--") {
        let word = shell_words::quote(&word.to_string_lossy()).into_owned();
        return Err(UsageError(format!(
            "unexpected word {word}: deliver has commands of its own; see keystorm deliver --help"
        )));
    }
    let Intent::Run(mut job) = RunFront.parse(None, sending(line, options))? else {
        return Err(UsageError("what deliver sends is one run".to_owned()));
    };
    let plans = job.plans.iter().map(|plan| with_receivers(plan, options));
    job.plans = plans.collect::<Result<_, _>>()?;
    if options.print_plan {
        let text = job::printed_plans(&job.plans);
        return text.map(Intent::Say).map_err(|error| UsageError(error.to_string()));
    }
    Ok(Intent::Run(job))
}

/// The run of the senders, in its words.
fn sending(mut line: Line, options: &Options) -> Vec<OsString> {
    let mut add = |name: &str, value: String| {
        if !line.has(name) {
            line.options.push(Given::new(name, value));
        }
    };
    add("-c", options.publishers.unwrap_or(10).to_string());
    add("-r", options.channels.to_string());
    add("-d", PAYLOAD_BYTES.to_owned());
    add("--name", "PUBLISH to SUBSCRIBE".to_owned());
    line.rest = ["--", "publish", "__key__", "__data__"].map(OsString::from).to_vec();
    line.words()
}

/// What channels are called by: two runs at one server have different ones, unless one --seed makes them equal.
fn prefix(plan: &Plan) -> String {
    format!("keystorm:{:08x}:", plan.load.seed as u32 ^ (plan.load.seed >> 32) as u32)
}

/// The plan with its receivers, each payload of which ends in a message.
fn with_receivers(plan: &Plan, options: &Options) -> Result<Plan, UsageError> {
    let prefix = prefix(plan);
    let mut parts: PlanParts = (**plan).clone();
    let channel = parts.sequence.first_mut().and_then(|command| command.args.get_mut(1));
    if let Some(channel) = channel {
        channel.pieces.insert(0, Piece::Bytes(prefix.clone().into_bytes()));
    }
    let pieces = parts.sequence.first_mut().and_then(|command| command.args.last_mut());
    let pieces = pieces.map(|payload| &mut payload.pieces);
    let (Some(pieces), least) = (pieces, message::BYTES as u32) else {
        return Err(UsageError("a message has a payload".to_owned()));
    };
    match pieces[..] {
        [Piece::Fill { len, .. }] if len < least => {
            return Err(UsageError(format!(
                "-d {len}: a message has at least {least} bytes, which tell when it was due and which it is"
            )));
        }
        [Piece::Fill { len, skip }] => {
            *pieces = vec![Piece::Fill { len: len - least, skip }, Piece::Message];
        }
        _ => return Err(UsageError("deliver: messages have one size: use -d with one".to_owned())),
    }
    parts.delivery = Some(Delivery {
        kind: DeliveryKind::Pubsub { patterns: options.patterns },
        receivers: options.subscribers,
        threads: u16::try_from(options.receiver_threads).unwrap_or(u16::MAX),
        prefix,
        places: options.channels,
        places_each: options.channels_per_subscriber,
        drain_ns: u64::try_from(options.drain.unwrap_or(DRAIN).as_nanos()).unwrap_or(u64::MAX),
    });
    parts.build().map_err(|error| UsageError(error.to_string()))
}
