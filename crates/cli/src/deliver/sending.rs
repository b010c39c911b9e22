//! Common part of the command lines of all kinds of delivery: the run of the senders, and its receivers.

use std::ffi::OsString;
use std::rc::Rc;
use std::time::Duration;

use clap::{ArgAction, ArgMatches, Args, Command, CommandFactory, FromArgMatches, Parser};
use naming::{
    CALLED, CLOCK, DATASET, FILL, HIT_RATIO, IDLE, KEY_RANGE, MIX, OptionId, PRINT_WORKLOAD, PROBE,
    REPEAT, REPLAY, SHARD, START_AT, STDIN_ARG, TESTS, VERIFY, WORKLOAD,
};
use workload::{
    Delivery, DeliveryKind, Exchange, NAME_PREFIX, Piece, Plan, PlanParts, Shard, SizeBy, TAG,
    message,
};

use crate::experiment::line::with_own_options;
use crate::experiment::typed_line::{TypedLine, words_of};
use crate::front::with_those_of_one_run;
use crate::run::{Finish, ParsedArgs};
use crate::suggestions::explained;
use crate::{Intent, UsageError, help};
use spec::values::{Count, TestName, YesNo, seconds, small_count};
use spec::{DeliveryOptions, KeyRange, LoadSpec, Size};

/// A kind of delivery on the command line.
#[derive(Clone, Copy)]
pub(super) struct KindFront {
    pub(super) name: &'static str,
    pub(super) command: fn() -> Command,
    pub(super) parse: fn(Vec<OsString>) -> Result<Intent, UsageError>,
    /// Function from the options of the kind, as words, and the rest of the line to the senders' load.
    pub(super) load: fn(Vec<OsString>, TypedLine) -> Result<DeliveryLoad, UsageError>,
}

/// Words of the senders' run, what they send, and the function that adds receivers to its plan.
pub(crate) struct DeliveryLoad {
    pub(crate) words: Vec<OsString>,
    pub(super) senders: Senders,
    pub(super) finish: Finish,
}

impl DeliveryLoad {
    /// Makes a load that of the senders, and gives its plans their receivers.
    pub(crate) fn complete(self, load: &mut ParsedArgs) {
        load.complete(move |spec| self.senders.complete(spec));
        load.add_receivers(self.finish);
    }
}

/// Load of the senders where no option says otherwise.
pub(super) struct Senders {
    connections: u32,
    places: u32,
    size: u32,
    name: String,
    command: Vec<OsString>,
}

impl Senders {
    /// Senders on so many connections, with messages of `size` bytes through `places` channels or keys; the name of
    /// their run, and the command that each sends, as it is typed.
    pub(super) fn new(
        connections: u32,
        places: u32,
        size: u32,
        name: impl Into<String>,
        command: &[&str],
    ) -> Self {
        let command = command.iter().map(OsString::from).collect();
        Self { connections, places, size, name: name.into(), command }
    }

    /// Completes the load of a run.
    fn complete(&self, spec: &mut LoadSpec) {
        spec.load.connections.get_or_insert(Count(self.connections));
        spec.data.key_range.get_or_insert(KeyRange(self.places.into()));
        let size = spec.data.size.get_or_insert(Size::Fixed(self.size));
        // By default each key keeps one size, and here the key is a channel or a queue.
        if matches!(size, Size::Drawn(_)) {
            spec.data.size_by.get_or_insert(SizeBy::Request);
        }
        spec.recording.name.get_or_insert_with(|| TestName(self.name.clone()));
        // Receivers do not busy-wait, so stamps would cost extra time.
        spec.recording.kernel_stamps.get_or_insert(YesNo::No);
        spec.command.clone_from(&self.command);
    }
}

impl KindFront {
    pub(super) const fn new<O: KindOptions>() -> Self {
        Self { name: O::NAME, command: OwnLine::<O>::command, parse: parse::<O>, load: load::<O> }
    }
}

/// The options of a kind, and their interpretation.
pub(super) trait KindOptions: Args + 'static {
    /// Name of the kind.
    const NAME: &'static str;

    /// Returns the options that every kind has.
    fn common(&self) -> &CommonOptions;

    /// The load of the senders.
    fn senders(&self) -> Senders;

    /// Puts the message, and names that begin with this prefix, into the command, and returns its receivers.
    ///
    /// # Errors
    /// Returns an error if the options ask for something impossible.
    fn receivers(&self, prefix: String, parts: &mut PlanParts) -> Result<Delivery, UsageError>;
}

/// A command line with the options of a kind only, and those that were given.
struct OwnLine<O>(O, DeliveryOptions);

impl<O: KindOptions> CommandFactory for OwnLine<O> {
    fn command() -> Command {
        O::augment_args(frame(O::NAME))
    }

    fn command_for_update() -> Command {
        Self::command()
    }
}

impl<O: KindOptions> FromArgMatches for OwnLine<O> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let asked = DeliveryOptions::from_matches(O::NAME, &Self::command(), matches);
        Ok(Self(O::from_arg_matches(matches)?, asked))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.update_from_arg_matches(matches)
    }
}

impl<O: KindOptions> Parser for OwnLine<O> {}

/// `keystorm deliver` without options, with the usage of this kind.
pub(super) fn frame(kind: &str) -> Command {
    Command::new("keystorm deliver")
        .bin_name("keystorm deliver")
        .disable_help_flag(true)
        .args_override_self(true)
        .max_term_width(100)
        .override_usage(format!("keystorm deliver {kind} [OPTIONS] [OPTIONS OF A RUN]"))
}

/// Options of kinds whose messages may go from one client to another.
#[derive(Debug, Clone, Args)]
pub(super) struct ExchangeOptions {
    /// Let the receivers of each client of --on get what the senders of all clients send; latencies are then only as
    /// exact as the clients' clocks are known
    #[arg(long, help_heading = "Messages")]
    between_clients: bool,
}

impl ExchangeOptions {
    /// Returns the exchange, if messages go between clients.
    pub(super) fn exchange(&self) -> Option<Exchange> {
        self.between_clients.then(Exchange::default)
    }
}

/// Options of every kind.
#[derive(Debug, Clone, Args)]
pub(super) struct CommonOptions {
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

/// Options of a run that a delivery does not take: a message is one command of a known shape.
pub(super) const REFUSED: [OptionId; 10] =
    [TESTS, KEY_RANGE, FILL, VERIFY, MIX, WORKLOAD, REPLAY, DATASET, SHARD, HIT_RATIO];

/// Further options of a run that a delivery does not take, each with the reason.
pub(super) const REQUEST_OPTIONS: [(OptionId, &str); 8] = [
    (PROBE, "sends requests, and deliver measures messages"),
    (CLOCK, "is about requests, and deliver measures messages"),
    (CALLED, "translates requests; no other tool measures messages"),
    (START_AT, "starts one client of several by hand; use --on, which shares out receivers, too"),
    (PRINT_WORKLOAD, "writes requests, and no workload file has receivers"),
    (IDLE, "opens connections and measures nothing"),
    (REPEAT, "never ends; use --repeat"),
    (STDIN_ARG, "reads an argument from standard input, and a message has none"),
];

/// The options of a kind, or of all, together with those of the senders' run.
pub(super) fn with_those_of_senders(own: Command) -> Command {
    let of_requests = REQUEST_OPTIONS.map(|(name, _)| name);
    with_those_of_one_run(own, &[&REFUSED[..], &of_requests].concat())
}

/// Default of --drain.
const DRAIN: Duration = Duration::from_secs(5);

impl CommonOptions {
    /// Returns a delivery through `places` channels or keys, whose names begin with `prefix`, to this many receivers,
    /// each of which listens to `places_each` of them.
    pub(super) fn delivery(
        &self,
        kind: DeliveryKind,
        receivers: u32,
        prefix: String,
        places: u32,
        places_each: u32,
    ) -> Delivery {
        Delivery {
            kind,
            receivers,
            threads: u16::try_from(self.receiver_threads).unwrap_or(u16::MAX),
            prefix,
            places,
            places_each,
            at: Vec::new(),
            exchange: None,
            node_receivers: Vec::new(),
            wait: None,
            drain_ns: u64::try_from(self.drain.unwrap_or(DRAIN).as_nanos()).unwrap_or(u64::MAX),
        }
    }
}

fn parse<O: KindOptions>(args: Vec<OsString>) -> Result<Intent, UsageError> {
    if args.first().is_some_and(|word| word == "--help") {
        let mut command = if help::asks_for_all(&args) {
            with_those_of_senders(OwnLine::<O>::command())
        } else {
            own_page(OwnLine::<O>::command(), O::NAME)
        };
        return Ok(Intent::Say(command.render_long_help().to_string()));
    }
    with_own_options(args, &REQUEST_OPTIONS, |own: OwnLine<O>, line| {
        let print_plan = own.0.common().print_plan;
        delivered(O::NAME, of_senders(own, line)?, print_plan)
    })
}

/// The help of a kind: its options and examples, and references to the others.
fn own_page(command: Command, name: &str) -> Command {
    let more = format!(
        "More: {:<40}the options of a run, too, such as --rps and -d\n      \
         {:<40}what is measured, and what the figures mean",
        format!("keystorm deliver {name} --help all"),
        "keystorm help messages"
    );
    let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    command.after_help(format!("{}\n\n{more}", examples.trim_end()).trim_start().to_owned())
}

fn load<O: KindOptions>(ours: Vec<OsString>, line: TypedLine) -> Result<DeliveryLoad, UsageError> {
    let words = std::iter::once(OsString::from("keystorm")).chain(ours);
    let parsed = OwnLine::<O>::try_parse_from(words);
    of_senders(parsed.map_err(|error| explained(error, &OwnLine::<O>::command()))?, line)
}

/// The load that options mean, and the line of a run beside them.
fn of_senders<O: KindOptions>(
    OwnLine(options, asked): OwnLine<O>,
    line: TypedLine,
) -> Result<DeliveryLoad, UsageError> {
    check(&line, O::NAME, OwnLine::<O>::command)?;
    let (words, senders) = (words_of(&line.options), options.senders());
    let finish = move |plan: &Plan| {
        with_receivers(plan, &asked, &|prefix, parts| options.receivers(prefix, parts))
    };
    Ok(DeliveryLoad { words, senders, finish: Rc::new(finish) })
}

// The functions below do not depend on the type of the options, so they are compiled once for all kinds.

/// Refuses a command, and options of a run that a delivery decides itself.
fn check(line: &TypedLine, kind: &str, command: fn() -> Command) -> Result<(), UsageError> {
    if let Some(name) = REFUSED.iter().find(|name| line.has(name)) {
        let instead = match ["channels", "keys"]
            .iter()
            .find(|option| command().get_arguments().any(|arg| arg.get_long() == Some(option)))
        {
            Some(option) if *name == KEY_RANGE => format!("; use --{option}"),
            _ => String::new(),
        };
        return Err(UsageError(format!(
            "{name}: deliver {kind} sends one command of its own{instead}"
        )));
    }
    if let Some(word) = line.rest.iter().find(|word| *word != "--") {
        let word = shell_words::quote(&word.to_string_lossy()).into_owned();
        return Err(UsageError(format!(
            "unexpected word {word}: deliver has commands of its own; see keystorm deliver --help"
        )));
    }
    Ok(())
}

/// The run of a load, with receivers.
fn delivered(kind: &str, mut load: DeliveryLoad, print_plan: bool) -> Result<Intent, UsageError> {
    let usage = format!("keystorm deliver {kind} [OPTIONS] [OPTIONS OF A RUN]");
    let words = std::mem::take(&mut load.words);
    let read = ParsedArgs::read("keystorm", |command| command.override_usage(usage), words)?;
    let mut typed = match read {
        Ok(typed) => typed,
        Err(intent) => return Ok(intent),
    };
    load.complete(&mut typed);
    let job = typed.job(|_| ())?;
    let exchanges = |plan: &Plan| plan.delivery.as_ref().is_some_and(|of| of.exchange.is_some());
    if job.several.is_none() && job.plans.iter().any(exchanges) {
        return Err(UsageError("--between-clients: requires several clients (--on)".to_owned()));
    }
    let clients = job.several.as_ref().and_then(|fleet| fleet.on.count()).unwrap_or(1);
    job.plans.iter().try_for_each(|plan| check_shares(plan, clients))?;
    if print_plan {
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

/// Prefix of the names of channels and keys. It follows from the seed, so two runs on one server share names only if
/// they have the same --seed.
fn prefix(plan: &Plan) -> String {
    format!("{NAME_PREFIX}{:08x}:", plan.load.seed as u32 ^ (plan.load.seed >> 32) as u32)
}

/// In a cluster, the prefix with an opening brace behind it: the number of a channel or key becomes its hash tag, so
/// that all keys of one number are in the same slot.
pub(super) fn tagged(mut prefix: String, parts: &PlanParts) -> String {
    if parts.target.is_cluster() {
        prefix.push(TAG);
    }
    prefix
}

/// Puts a prefix before the argument, which begins with the number of a channel or key, and closes its hash tag.
///
/// # Errors
/// Returns an error if there is no such argument.
pub(super) fn tag(parts: &mut PlanParts, at: usize, prefix: &str) -> Result<(), UsageError> {
    let pieces = pieces(parts, at)?;
    if prefix.ends_with(TAG) {
        pieces.insert(1.min(pieces.len()), Piece::Bytes(b"}".to_vec()));
    }
    begin_with(parts, at, prefix)
}

/// The plan with its receivers.
fn with_receivers(
    plan: &Plan,
    asked: &DeliveryOptions,
    receivers: &dyn Fn(String, &mut PlanParts) -> Result<Delivery, UsageError>,
) -> Result<Plan, UsageError> {
    plan.try_with(|parts| {
        parts.delivery = Some(receivers(prefix(plan), parts)?);
        parts.asked.insert("delivery".to_owned(), serde_json::json!(asked));
        Ok(())
    })
}

/// The pieces of an argument of the one command that is sent.
///
/// # Errors
/// Returns an error if there is no such argument.
pub(super) fn pieces(parts: &mut PlanParts, at: usize) -> Result<&mut Vec<Piece>, UsageError> {
    let arg = parts.sequence.first_mut().and_then(|command| command.args.get_mut(at));
    let pieces = arg.map(|arg| &mut arg.pieces);
    pieces.ok_or_else(|| UsageError("deliver sends one command".to_owned()))
}

/// Puts the prefix of a run before the argument.
///
/// # Errors
/// Returns an error if there is no such argument.
pub(super) fn begin_with(parts: &mut PlanParts, at: usize, prefix: &str) -> Result<(), UsageError> {
    pieces(parts, at)?.insert(0, Piece::Bytes(prefix.as_bytes().to_vec()));
    Ok(())
}

/// Puts the message at the end of the argument, a payload of `-d` bytes.
///
/// # Errors
/// Returns an error if a payload may be too small.
pub(super) fn end_in_message(parts: &mut PlanParts, at: usize) -> Result<(), UsageError> {
    let drawn = parts.data.values.as_ref().map(|values| values.sizes.smallest());
    let pieces = pieces(parts, at)?;
    let smallest = match (&pieces[..], drawn) {
        ([Piece::Fill { len, .. }], _) => *len,
        ([Piece::Value], Some(smallest)) => smallest,
        _ => return Err(UsageError("deliver sends one payload".to_owned())),
    };
    let least = message::NUMBER_BYTES as u32;
    if smallest < least {
        return Err(UsageError(format!(
            "-d: {smallest} bytes are too few: a message needs at least {least}, for its run and its number"
        )));
    }
    let has_times = smallest as usize >= message::BYTES;
    let message = if has_times { Piece::Message } else { Piece::MessageNumber };
    if let [Piece::Fill { len, .. }] = &mut pieces[..] {
        *len -= message.message_bytes() as u32;
    }
    pieces.push(message);
    Ok(())
}
