//! The command line of `keystorm connect`: a run of which each request has a connection of its own.
//!
//! The words are those of a run with `--connect` and a default load; the word `connect` has the same effect in the
//! command line of an experiment.

use std::ffi::OsString;

use clap::{Arg, Command};
use naming::{
    ARRIVALS, BURST, CLOSE, CLUSTER, CONNECT, CONNECTIONS, DEADLINE, DURATION, HTML, IDLE, JSON,
    KEEP_ALIVE, MIX, ON_ERROR, OPEN_FOR, OptionId, PIPELINE, PROBE, RATE, RECONNECT, REPEAT,
    REPLAY, REQUESTS, RETRY, SHARD, SLO, SOURCE_IP, TESTS, THREADS, TIMEOUT, WINDOW, WORKLOAD,
};

use super::experiment::line::takes_of;
use super::experiment::typed_line::{Arity, TypedLine, TypedOption};
use super::front::{Front, with_those_of_one_run};
use super::run::{self, RunFront};
use super::{Intent, UsageError, help};
use spec::LoadSpec;
use spec::values::{Count, TestName};
use workload::ProtocolKind;

/// The word that says so in the command line of an experiment.
const WORD: &str = "connect";

const ABOUT: &str = "\
Measures how long new connections take, from when each was due to its first reply, and each stage of that";

const LONG_ABOUT: &str = "\
Each request is sent on a connection that is opened when it is due: on a schedule (--rps, --burst), which slow \
connections do not delay, or as many at once as -c says. The report has the latency of each stage (connect, TLS, \
login, first reply), and counts attempts that were refused, reset or not answered, by kind. Takes the options of a \
run. What is sent is PING, or the command at the end of the line.";

const EXAMPLES: &str = include_str!("../help/connect.txt").trim_ascii_end();

/// Options that its own page shows.
const SHOWN: [OptionId; 16] = [
    RATE,
    BURST,
    ARRIVALS,
    OPEN_FOR,
    CLOSE,
    CONNECTIONS,
    REQUESTS,
    DURATION,
    TIMEOUT,
    DEADLINE,
    PROBE,
    THREADS,
    SOURCE_IP,
    SLO,
    HTML,
    JSON,
];

/// Options of a run that the help leaves out.
const REFUSED: [OptionId; 12] = [
    TESTS, PIPELINE, KEEP_ALIVE, MIX, WORKLOAD, REPLAY, WINDOW, CLUSTER, RECONNECT, RETRY,
    ON_ERROR, SHARD,
];

/// Options of a run that `connect` refuses.
const NEVER: [OptionId; 2] = [IDLE, REPEAT];

/// A steady load beside new connections is a probe of them.
const BESIDE: &str = "--beside";

/// The command of each connection where the line has none: of memcached, and of others.
const MEMCACHED_COMMAND: &str = "version";
const COMMAND: &str = "PING";

/// The front end of `keystorm connect`.
pub const FRONT: Front = Front { names: &[WORD], command: whole, parse };

/// Every option.
fn whole() -> Command {
    with_those_of_one_run(base(), &[&REFUSED[..], &NEVER].concat())
}

fn parse(args: Vec<OsString>) -> Result<Intent, UsageError> {
    if args.first().is_some_and(|word| word == "--help") {
        let mut command = if help::asks_for_all(&args) { whole() } else { own_page() };
        return Ok(Intent::Say(command.render_long_help().to_string()));
    }
    let vocabulary = run::vocabulary();
    let mut line = with_probe(TypedLine::parse(args, |name| takes(&vocabulary, name)));
    line.options.push(connecting());
    RunFront::meaning("keystorm", line.words(), |typed| {
        typed.complete(|spec| complete(spec, true));
    })
}

fn base() -> Command {
    Command::new("keystorm connect")
        .bin_name("keystorm connect")
        .about(ABOUT)
        .long_about(format!("{ABOUT}.\n\n{LONG_ABOUT}"))
        .disable_help_flag(true)
        .args_override_self(true)
        .max_term_width(100)
        .override_usage("keystorm connect [OPTIONS] [OPTIONS OF A RUN] [--] [COMMAND ARGS...]")
        .after_help(EXAMPLES)
}

/// The options that most people use, examples, and where the others are.
fn own_page() -> Command {
    let more = format!(
        "More: {:<32}every option, such as those of the server, of TLS and of logging in\n      \
         {:<32}what is measured, and what the figures mean",
        "keystorm connect --help all", "keystorm help connections"
    );
    let run = run::vocabulary();
    let shown = SHOWN.iter().filter_map(|option| {
        run.get_arguments().find(|arg| arg.get_id().as_str() == option.field())
    });
    // Options that are shown name others that are not.
    let others =
        run.get_arguments().filter(|arg| !OptionId::any_has(&SHOWN, arg.get_id().as_str()));
    let shown = shown.map(|arg| arg.clone().hide(false));
    let all: Vec<Arg> = shown.chain(others.map(|arg| arg.clone().hide(true))).collect();
    base().args(all).after_help(format!("{EXAMPLES}\n\n{more}"))
}

/// The value that an option of the line takes.
fn takes(vocabulary: &Command, name: &str) -> Option<Arity> {
    let probe = PROBE.word();
    takes_of(vocabulary, if name == BESIDE { &probe } else { name })
}

/// The option of a run for new connections.
fn connecting() -> TypedOption {
    TypedOption { name: CONNECT.to_string(), value: None }
}

/// The line with the option of a run for the steady load beside new connections.
fn with_probe(mut line: TypedLine) -> TypedLine {
    let besides = line.options.iter_mut().filter(|given| given.name == BESIDE);
    besides.for_each(|given| given.name = PROBE.to_string());
    line
}

/// Makes a load one of new connections. `alone` is false in an experiment.
pub(crate) fn complete(spec: &mut LoadSpec, alone: bool) {
    let load = &mut spec.load;
    let has_length = load.requests.is_some() || load.duration.is_some() || load.rate.is_some();
    if let Some(Count(burst)) = load.per_request.burst.filter(|_| alone && !has_length) {
        load.requests = Some(Count(burst.into()));
    }
    spec.recording.name.get_or_insert_with(|| TestName("new connections".to_owned()));
    if spec.command.is_empty() {
        let is_memcached = spec::protocol(&spec.server).is_ok_and(ProtocolKind::is_memcache);
        spec.command.push(if is_memcached { MEMCACHED_COMMAND } else { COMMAND }.into());
    }
}

/// The line of an experiment, with the words after `connect` as options; unchanged without that word.
pub(crate) fn hoisted(
    mut line: TypedLine,
    takes_also: impl Fn(&str) -> Option<Arity>,
) -> TypedLine {
    if line.rest.first().is_none_or(|word| word != WORD) {
        return line;
    }
    let vocabulary = run::vocabulary();
    let word = line.take_words(1, |name| takes_also(name).or_else(|| takes(&vocabulary, name)));
    line.rest.splice(..0, word);
    with_probe(line)
}

/// Makes `connect` an option of a line to which [`hoisted`] was applied; returns whether the word was there.
pub(crate) fn take_word(line: &mut TypedLine) -> bool {
    let is_named = line.rest.first().is_some_and(|word| word == WORD);
    if is_named {
        line.rest.remove(0);
        line.options.push(connecting());
    }
    is_named
}

#[cfg(test)]
mod tests {
    use super::own_page;

    #[test]
    fn its_page_shows_options_that_exist() {
        let mut page = own_page();
        page.clone().debug_assert();
        let text = page.render_long_help().to_string();
        assert!(text.contains("--open-for") && text.contains("--probe"), "{text}");
        assert!(!text.contains("--mix"), "{text}");
    }
}
