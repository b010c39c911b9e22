//! The command line of `keystorm profile`: one server or two, and the load.

use std::ffi::OsString;

use clap::Parser;
use cli::experiment::{ExperimentOptions, REFUSED, with_those_of_a_run, with_words};
use cli::front::command;
use cli::job::{Intent, Job, UsageError};
use cli::run::ParsedArgs;
use naming::{
    CONNECTIONS, DURATION, FILL, HOST, ON, OptionId, PROTOCOL, SEED, SERVER_CPUS, SHARD, SLO,
    SOCKET, SPAWN, URI, WARMUP, WORKLOAD,
};
use spec::values::{Count, ProtocolArg, count_in, percent};
use spec::{LoadSpec, Program, ServerArgs, ServerOptions, TlsArgs};
use workload::{ProtocolKind, Stop, Target};

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
    /// Tests with half of the requests.
    pub(crate) half: Job,
}

/// Text below the options.
const EXAMPLE: &str = include_str!("../../../help/profile.txt").trim_ascii_end();

/// Default of -n: the longer of the two lengths.
const REQUESTS: u64 = 20_000;
/// Arguments of a server without timers and threads of its own, as far as that is possible.
const QUIET: &str = "--hz 1 --dynamic-hz no --activerehashing no";
const QUIET_MEMCACHED: &str = "-t 1 -o no_lru_maintainer,no_lru_crawler";
/// Port of a server of Redis unless the command line says.
const PORT_DEFAULT: u16 = 6379;
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
    with_words(args, &REFUSED, |options, programs, mut load, command_line| {
        let sent = sent.get(1..).unwrap_or_default().to_vec();
        load.complete(move |spec| spec.command.clone_from(&sent));
        meaning(resolved(options, programs, &load, command_line)?)
    })
}

/// Adds what the options mean.
fn resolved(
    mut options: Options,
    programs: Vec<OsString>,
    load: &ParsedArgs,
    command_line: String,
) -> Result<Options, UsageError> {
    let usage = |text: &str| Err::<(), _>(UsageError(text.to_owned()));
    options.output.resolve(command_line)?;
    if let Some(option) = NOT_TAKEN.iter().find(|option| load.has(**option)) {
        return Err(UsageError(format!(
            "{option} does not apply: profile starts its servers, and sends -n requests"
        )));
    }
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
        options.servers.push(counted_server(program, load.clone())?);
    }
    Ok(options)
}

/// The server that a program with its arguments is, with the tests of this line.
pub(crate) fn counted_server(
    program: String,
    mut load: ParsedArgs,
) -> Result<CountedServer, UsageError> {
    let words =
        shell_words::split(&program).map_err(|why| UsageError(format!("{program}: {why}")))?;
    let Some((executable, args)) = words.split_first() else {
        return Err(UsageError("the name of a server is empty".to_owned()));
    };
    if executable.rsplit('/').next().is_some_and(|name| name.starts_with("memcached")) {
        load.set_default(PROTOCOL, |spec| spec.server.protocol = Some(ProtocolArg::Memcache));
    }
    load.set_default(CONNECTIONS, |spec| spec.load.connections = Some(Count(1)));
    load.default_length(|load| load.requests = Some(Count(REQUESTS)));
    load.set_default(SEED, |spec| spec.data.seed = Some(Count(1)));
    load.default_tests("get,set");
    // It is private, and nothing in it is anybody's.
    load.complete(|spec| spec.yes = true);
    let asked = load.asked();
    let protocol = spec::protocol(&asked.server).map_err(|why| UsageError(why.to_string()))?;
    let server = counted_options(executable, args, asked, protocol);
    let started = |spec: &mut LoadSpec| {
        (spec.server, spec.tls) = (server.clone(), TlsArgs::default());
    };
    let job = |fills: bool, parts: u64| {
        load.job(|spec| {
            if spec.tls.tls {
                // The server is not started for tests that go over TLS.
                (spec.server.spawn_args, spec.server.spawn_unix) = (None, false);
            } else {
                started(spec);
            }
            spec.data.fill |= fills;
            if let Some(Count(requests)) = &mut spec.load.requests {
                *requests = (*requests / parts).max(1);
            }
        })
    };
    // Read keys are filled first, where that is possible.
    let fills = !load.has(FILL) && !load.has(WORKLOAD) && job(true, 1).is_ok();
    let (job, half) = (job(fills, 1)?, job(fills, 2)?);
    let at = load.job(started)?.plans.into_iter().next();
    let at = at.ok_or_else(|| UsageError("there is no test".to_owned()))?;
    if !job.plans.iter().all(|plan| matches!(plan.load.stop, Stop::Requests(2..))) {
        let text = "instructions are counted for a load of -n 2 requests or more";
        return Err(UsageError(text.to_owned()));
    }
    Ok(CountedServer { program, started_at: at.target.clone(), job, half })
}

/// The options of a server that does nothing beside the requests.
fn counted_options(
    executable: &str,
    args: &[String],
    asked: &LoadSpec,
    protocol: ProtocolKind,
) -> ServerOptions {
    // Its own timers and threads are not to work beside the requests.
    let mut fixed = if protocol.is_memcache() { QUIET_MEMCACHED } else { QUIET }.to_owned();
    if asked.tls.tls {
        fixed += &format!(" --tls-port {}", asked.server.port.unwrap_or(PORT_DEFAULT));
    }
    // A configuration file must stay the first; what the user says comes last and wins.
    let at = usize::from(args.first().is_some_and(|first| !first.starts_with('-')));
    let mut args = args.to_vec();
    args.splice(at..at, fixed.split(' ').map(str::to_owned));
    args.extend(asked.server.spawn_args.iter().flat_map(|ServerArgs(more)| more.clone()));
    ServerOptions {
        spawn: Some(Program(Some(executable.to_owned()))),
        spawn_args: Some(ServerArgs(args)),
        counted: true,
        port: None,
        ..asked.server.clone()
    }
}

#[cfg(test)]
mod tests {
    use cli::experiment::load;
    use workload::Endpoint;

    use super::*;

    #[test]
    fn a_server_is_started_quiet_and_filled_with_what_is_read() {
        let counted = |program: &str, text: &str| {
            let words = text.split_whitespace().map(OsString::from).collect();
            let load = load("keystorm profile", words).unwrap();
            let CountedServer { job, started_at, .. } =
                counted_server(program.to_owned(), load).unwrap();
            (job, started_at)
        };
        let (job, target) = counted("my-server my.conf --hz 5", "-n 10 --spawn-unix");
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
        let (job, _) = counted("a", "-t ping");
        assert!(job.plans.iter().all(|plan| plan.data.fill.is_none()));
        let (_, target) = counted("/opt/memcached", "-t set");
        let Endpoint::Spawned { args, .. } = &target.endpoint else { panic!() };
        assert_eq!(args[..2], ["-t", "1"]);
        let (job, target) = counted("a", "--tls --insecure -p 7001 -t set");
        let Endpoint::Spawned { args, .. } = &target.endpoint else { panic!() };
        assert!(args.ends_with(&["--tls-port".to_owned(), "7001".to_owned()]), "{args:?}");
        assert!(job.plans[0].target.tls.is_some() && target.tls.is_none());
    }

    #[test]
    fn half_of_a_load_has_half_of_the_requests_of_each_phase() {
        for (text, requests) in [
            ("-n 11 -t set,get", vec![[5, 11]; 2]),
            ("--workload ycsb-b -n 30 -r 50", vec![[25, 50], [15, 30]]),
        ] {
            let words = text.split_whitespace().map(OsString::from).collect();
            let load = load("keystorm profile", words).unwrap();
            let CountedServer { job, half, .. } = counted_server("a".to_owned(), load).unwrap();
            let both = half.plans.iter().zip(&job.plans);
            let both = both.map(|(half, all)| [half, all].map(super::super::counting::requests));
            assert_eq!(both.collect::<Vec<_>>(), requests, "{text}");
            assert_eq!(half.plans[1].load.seed, job.plans[1].load.seed);
        }
    }
}
