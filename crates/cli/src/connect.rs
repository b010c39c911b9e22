//! The command line of `keystorm connect`: a run of which each request has a connection of its own.
//!
//! The words are those of a run with `--connect` and a default load; the word `connect` has the same effect in the
//! command line of an experiment.

use std::ffi::OsString;

use clap::{Arg, Command};
use lab::words::TypedOption;
use lab::{Arity, TypedLine};
use naming::{
    ARRIVALS, BURST, CLOSE, CLUSTER, CONNECT, CONNECTIONS, DEADLINE, DURATION, HTML, IDLE, JSON,
    KEEP_ALIVE, MIX, NAME, ON_ERROR, OPEN_FOR, OptionId, PIPELINE, PROBE, PROTOCOL, RATE,
    RECONNECT, REPEAT, REPLAY, REQUESTS, RETRY, SHARD, SLO, SOURCE_IP, TESTS, THREADS, TIMEOUT,
    URI, WINDOW, WORKLOAD,
};

use super::experiment::line::{names_length, takes_of};
use super::front::{Front, with_those_of_one_run};
use super::suggestions::{named, shorten_names};
use super::{Intent, RUN, UsageError, help, run};

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
    let probe = PROBE.word();
    let line = TypedLine::parse(args, |name| {
        takes_of(&vocabulary, if name == BESIDE { &probe } else { name })
    });
    RUN.parse(None, complete(line, &vocabulary, true).words())
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

/// The line of a run with the options for new connections added. `alone` is false in an experiment.
fn complete(mut line: TypedLine, vocabulary: &Command, alone: bool) -> TypedLine {
    let besides = line.options.iter_mut().filter(|given| given.name == BESIDE);
    besides.for_each(|given| given.name = PROBE.to_string());
    shorten_names(&mut line, |name| named(vocabulary, name));
    let value = |line: &TypedLine, name: OptionId| {
        let given = line.options.iter().rfind(|given| given.name == name.word())?;
        Some(given.value.as_ref()?.to_string_lossy().into_owned())
    };
    let is_memcached = [PROTOCOL, URI]
        .into_iter()
        .any(|name| value(&line, name).is_some_and(|value| value.starts_with("memcache")));
    let burst = value(&line, BURST);
    line.options.push(TypedOption::flag(CONNECT));
    line.set_default(NAME, "new connections");
    if let Some(burst) = burst.filter(|_| alone && !names_length(&line) && !line.has(RATE)) {
        line.options.push(TypedOption::new(REQUESTS, burst));
    }
    if line.rest.iter().all(|word| word == "--") {
        let command = if is_memcached { MEMCACHED_COMMAND } else { COMMAND };
        line.rest = vec!["--".into(), command.into()];
    }
    line
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
    line.take_words(1, |name| takes_also(name).or_else(|| takes_of(&vocabulary, name)));
    complete(line, &vocabulary, false)
}

/// The words of a run for those of an experiment that name it so; others as they are.
pub(crate) fn words(
    args: Vec<OsString>,
    takes_also: impl Fn(&str) -> Option<Arity>,
) -> Vec<OsString> {
    if !args.iter().any(|word| word == WORD) {
        return args;
    }
    let vocabulary = run::vocabulary();
    let line =
        TypedLine::parse(args, |name| takes_also(name).or_else(|| takes_of(&vocabulary, name)));
    hoisted(line, takes_also).words()
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
