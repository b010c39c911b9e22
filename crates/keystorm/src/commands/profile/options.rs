//! The command line of `keystorm profile`: one server or two, and the load.

use std::ffi::OsString;

use clap::Parser;
use cli::experiment::{
    ExperimentOptions, REFUSED, job, names_test, with_those_of_a_run, with_words,
};
use cli::front::command;
use cli::job::{Intent, Job, UsageError};
use lab::TypedLine;
use lab::words::TypedOption;
use naming::{
    CONNECTIONS, DURATION, FILL, HOST, ON, OptionId, PROTOCOL, SEED, SERVER_CPUS, SHARD, SLO,
    SOCKET, SPAWN, SPAWN_ARGS, SPAWN_UNIX, TESTS, URI, WARMUP, WORKLOAD, YES,
};
use spec::values::{count_in, percent};
use workload::{Endpoint, PlanParts, Stop, Target};

use super::counting::Instrument;

/// Counts the instructions of a server for each request, by function. Starts the server under callgrind and
/// sends the requests of the load, then half as many; the difference excludes the cost of the start. The figure
/// is the same to a thousandth on any machine, however busy. For two servers, prints the functions in which the
/// new one takes more or fewer instructions.
///
/// SERVER is a program with its arguments in one word. Takes the options of a run that say what is sent, with
/// -c 1 and -n 20000 by default (see keystorm --help). A command for the server follows --.
#[derive(Parser)]
#[command(
    name = "keystorm profile",
    override_usage = "keystorm profile SERVER [NEW-SERVER] [OPTIONS] [OPTIONS OF A RUN] [-- COMMAND ARGS...]",
    after_help = EXAMPLE,
)]
pub(super) struct Options {
    /// Instrument: callgrind, perf (the processor's counters: at full speed, without functions), or auto for the first
    /// of the two that works
    #[arg(long, value_name = "NAME", help_heading = "Profile", value_enum, default_value = "auto")]
    pub(super) with: Instrument,
    /// Number of starts of each server for each test and length; more make intervals narrower
    #[arg(long, value_name = "TIMES", help_heading = "Profile", default_value = "5",
          value_parser = count_in(1..=100))]
    pub(super) starts: u32,
    /// Exit with code 3 if a test surely takes this many per cent more instructions on the new server
    #[arg(long, value_name = "PCT", help_heading = "Profile", value_parser = percent)]
    pub(super) fail_on_regression: Option<f64>,
    #[command(flatten)]
    pub(super) output: ExperimentOptions,
    #[arg(skip)]
    pub(super) servers: Vec<CountedServer>,
}

/// A server that is started to be counted.
pub(crate) struct CountedServer {
    /// The program with its arguments.
    pub(crate) program: String,
    /// Place at which it is started: where that is not the one of the tests, they are sent over TLS.
    pub(crate) started_at: Target,
    /// Tests that it is sent.
    pub(crate) job: Job,
}

/// Text below the options.
const EXAMPLE: &str = include_str!("../../../help/profile.txt").trim_ascii_end();

const NAME: &str = "keystorm profile";
/// Default of -n: the longer of the two lengths.
const REQUESTS: &str = "20000";
/// Arguments of a server without timers and threads of its own, as far as that is possible.
const QUIET: &str = "--hz 1 --dynamic-hz no --activerehashing no";
const QUIET_MEMCACHED: &str = "-t 1 -o no_lru_maintainer,no_lru_crawler";
/// Options of a run that say how long it is, or name a server that is not started.
const NOT_TAKEN: [OptionId; 10] =
    [HOST, SOCKET, URI, SPAWN, SERVER_CPUS, DURATION, WARMUP, ON, SLO, SHARD];

/// The options, and those of a run that are taken.
pub(super) fn described() -> clap::Command {
    with_those_of_a_run(command::<Options>(), &NOT_TAKEN)
}

/// Reads a command line.
///
/// # Errors
/// Returns an error if it makes no sense.
pub(super) fn parse(
    mut args: Vec<OsString>,
    meaning: impl FnOnce(Options) -> Result<Intent, UsageError>,
) -> Result<Intent, UsageError> {
    // What follows `--` is a command for the servers, and no server.
    let at = args.iter().position(|word| word == "--").unwrap_or(args.len());
    let sent = args.split_off(at);
    with_words(args, &REFUSED, |options, line, command_line| {
        meaning(resolved(options, line, &sent, command_line)?)
    })
}

/// Adds what the options mean.
fn resolved(
    mut options: Options,
    mut line: TypedLine,
    sent: &[OsString],
    command_line: String,
) -> Result<Options, UsageError> {
    let usage = |text: &str| Err::<(), _>(UsageError(text.to_owned()));
    options.output.resolve(command_line)?;
    if let Some(option) = NOT_TAKEN.iter().find(|option| line.has(option)) {
        return Err(UsageError(format!(
            "{option} does not apply: profile starts its servers, and sends -n requests"
        )));
    }
    let programs = std::mem::replace(&mut line.rest, sent.to_vec());
    match programs.len() {
        1 | 2 => {}
        0 => usage("name the server to start, such as: keystorm profile valkey-server -t get,set")?,
        _ => {
            usage("profile takes one server, or an old and a new one; a command stands behind --")?
        }
    }
    if options.fail_on_regression.is_some() && (programs.len() == 1 || options.starts == 1) {
        usage("--fail-on-regression requires two servers, and --starts 2 or more")?;
    }
    for program in programs {
        let program = program.to_string_lossy().into_owned();
        options.servers.push(counted_server(program, line.clone())?);
    }
    Ok(options)
}

/// The server that a program with its arguments is, with the tests of this line.
pub(crate) fn counted_server(
    program: String,
    mut line: TypedLine,
) -> Result<CountedServer, UsageError> {
    let of_server =
        line.take(|given| [SPAWN_ARGS, SPAWN_UNIX].iter().any(|of| given.name == of.to_string()));
    let unix = of_server.iter().any(|given| given.value.is_none());
    let more = of_server.iter().filter_map(|given| given.value.as_ref());
    let words = more.fold(program.clone(), |text, more| text + " " + &more.to_string_lossy());
    let words = shell_words::split(&words).map_err(|why| UsageError(format!("{words}: {why}")))?;
    let Some((executable, args)) = words.split_first() else {
        return Err(UsageError("the name of a server is empty".to_owned()));
    };
    if executable.rsplit('/').next().is_some_and(|name| name.starts_with("memcached")) {
        line.set_default(PROTOCOL, "memcache");
    }
    for (name, value) in [(CONNECTIONS, "1"), (naming::REQUESTS, REQUESTS), (SEED, "1")] {
        line.set_default(name, value);
    }
    if !names_test(&line) {
        line.set_default(TESTS, "get,set");
    }
    // It is private, and nothing in it is anybody's.
    line.options.push(TypedOption::flag(YES));
    // Read keys are filled first, where that is possible.
    let mut filled = line.clone();
    if !line.has(FILL) && !line.has(WORKLOAD) {
        filled.options.push(TypedOption::flag(FILL));
    }
    let mut job = job(NAME, filled.words()).or_else(|_| job(NAME, line.words()))?;
    let plan = job.plans.first().ok_or_else(|| UsageError("there is no test".to_owned()))?;
    // Its own timers and threads are not to work beside the requests.
    let mut fixed = if plan.protocol.is_memcache() { QUIET_MEMCACHED } else { QUIET }.to_owned();
    if let (Some(_), Endpoint::Tcp { port, .. }) = (&plan.target.tls, &plan.target.endpoint) {
        fixed += &format!(" --tls-port {port}");
    }
    // A configuration file must stay the first; what the user says comes last and wins.
    let at = usize::from(args.first().is_some_and(|first| !first.starts_with('-')));
    let mut args = args.to_vec();
    args.splice(at..at, fixed.split(' ').map(str::to_owned));
    let endpoint = Endpoint::Spawned {
        program: Some(executable.clone()),
        args,
        unix,
        cpus: Vec::new(),
        counted: true,
    };
    let started_at = Target { endpoint, tls: None, ..plan.target.clone() };
    for plan in &mut job.plans {
        let Stop::Requests(2..) = plan.load.stop else {
            let text = "instructions are counted for a load of -n 2 requests or more";
            return Err(UsageError(text.to_owned()));
        };
        if plan.target.tls.is_none() {
            let mut parts: PlanParts = (**plan).clone();
            parts.target = started_at.clone();
            *plan = parts.build().map_err(|error| UsageError(error.to_string()))?;
        }
    }
    Ok(CountedServer { program, started_at, job })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_started_quiet_and_filled_with_what_is_read() {
        let line = |text: &str| {
            let options = text.split_whitespace().map(|option| match option.split_once('=') {
                Some((name, value)) => TypedOption::new(name, value),
                None => TypedOption::flag(option),
            });
            TypedLine { options: options.collect(), rest: Vec::new() }
        };
        let counted = |program: &str, text: &str| {
            let CountedServer { job, started_at, .. } =
                counted_server(program.to_owned(), line(text)).unwrap();
            (job, started_at)
        };
        let (job, target) = counted("my-server my.conf --hz 5", "-n=10 --spawn-unix");
        let Endpoint::Spawned { program, args, unix, .. } = &target.endpoint else { panic!() };
        assert_eq!((program.as_deref(), *unix), (Some("my-server"), true));
        assert_eq!(
            (&*args[0], &*args[1], &args[args.len() - 2..]),
            ("my.conf", "--hz", &["--hz".to_owned(), "5".to_owned()][..])
        );
        let names: Vec<&str> = job.plans.iter().map(|plan| plan.name.as_str()).collect();
        assert_eq!(names, ["SET", "GET"]);
        assert!(job.plans.iter().all(|plan| plan.data.fill.is_some() && plan.target == target));
        // Nothing is read, so nothing can be filled.
        let (job, _) = counted("a", "-t=ping");
        assert!(job.plans.iter().all(|plan| plan.data.fill.is_none()));
        let (_, target) = counted("/opt/memcached", "-t=set");
        let Endpoint::Spawned { args, .. } = &target.endpoint else { panic!() };
        assert_eq!(args[..2], ["-t", "1"]);
        let (job, target) = counted("a", "--tls --insecure -p=7001 -t=set");
        let Endpoint::Spawned { args, .. } = &target.endpoint else { panic!() };
        assert!(args.ends_with(&["--tls-port".to_owned(), "7001".to_owned()]), "{args:?}");
        assert!(job.plans[0].target.tls.is_some() && target.tls.is_none());
    }
}
