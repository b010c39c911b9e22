//! The command line of `keystorm doctor`: which server, and which load it is to be fit for; or the client alone.

use std::ffi::OsString;
use std::time::Duration;

use clap::parser::ValueSource;
use clap::{ArgMatches, Parser};
use doctor::Load;
use job::{Checkup, ClientCheck, FrontEnd};
use workload::{Plan, ProtocolKind};

use super::front::{Front, command, with_matches};
use super::near::written;
use super::run::RunFront;
use super::sink::EngineArg;
use super::{Intent, UsageError};
use spec::values::{count, port, seconds, seconds_in, signed, small_count};
use spec::{Dialect, ServerOptions, TlsArgs, Uri, protocol, target, tls};

/// Checks this machine, the network and a server for conditions that distort results. Each line is
/// ok, warn, bad, or ? if it could not be checked. For each warn and bad, it then prints why it
/// matters and how to fix it. Doctor changes nothing. If no server is named and none listens on
/// 127.0.0.1:6379, it checks only this machine. For memcached (--protocol memcache or memcache://)
/// it has its own checks. With --client it measures how fast this client can be on this machine.
#[derive(Debug, Parser)]
#[command(
    name = "keystorm doctor",
    override_usage = "keystorm doctor [OPTIONS] [TARGET]",
    after_help = EXAMPLE,
)]
struct Options {
    /// The server in one word: HOST, HOST:PORT, the PATH of a unix socket, or a URI as for -u
    #[arg(value_name = "TARGET", conflicts_with_all = ["host", "port", "socket", "uri", "spawn"])]
    target: Option<String>,
    #[command(flatten, next_help_heading = "Server")]
    server: ServerOptions,
    #[command(flatten, next_help_heading = "TLS")]
    tls: TlsArgs,
    /// Connections of the planned run
    #[arg(short = 'c', long, value_name = "CLIENTS", help_heading = "Planned load",
          default_value = "50", value_parser = small_count)]
    clients: u32,
    /// Requests per pipeline
    #[arg(short = 'P', long, value_name = "NUMREQ", help_heading = "Planned load",
          default_value = "1", value_parser = small_count)]
    pipeline: u32,
    /// Value size in bytes
    #[arg(short = 'd', value_name = "SIZE", help_heading = "Planned load",
          default_value = "3", value_parser = count)]
    data_size: u64,
    /// Requests per second of the planned run
    #[arg(long, value_name = "RATE", help_heading = "Planned load", value_parser = count)]
    rps: Option<u64>,
    /// 1 keeps connections open, 0 opens one per pipeline
    #[arg(
        short = 'k',
        value_name = "BOOLEAN",
        help_heading = "Planned load",
        default_value = "1",
        value_parser = signed
    )]
    keep_alive: i64,
    /// Measure the limits of this client instead, against a server that stores nothing, on its own core if
    /// there are two: requests per second and client CPU per request for pipelines of 1, 16 and 64, over
    /// TCP and a unix socket, with each engine. Takes -c, --protocol, and --seconds for each line
    #[arg(long, help_heading = "This client")]
    client: bool,
    /// I/O engine: io_uring (`uring`), `epoll`, or `auto` for each that works here
    #[arg(
        long,
        value_name = "NAME",
        help_heading = "This client",
        default_value = "auto",
        hide_possible_values = true,
        requires = "client"
    )]
    engine: EngineArg,
    /// Time to watch stolen time, round trips and other clients' commands
    #[arg(
        long,
        value_name = "TIME",
        help_heading = "Results",
        default_value = "1s",
        allow_hyphen_values = true,
        value_parser = seconds
    )]
    seconds: Duration,
    /// Measure for this long what this machine alone adds to latencies: a busy thread that loses its
    /// CPU, and timers that end late [default: 10s]
    #[arg(
        long,
        value_name = "TIME",
        help_heading = "Results",
        num_args = 0..=1,
        default_missing_value = "10s",
        allow_hyphen_values = true,
        value_parser = seconds
    )]
    intrinsic: Option<Duration>,
    /// Print JSON instead of lines: schema keystorm.doctor/1, or the table of --client
    #[arg(long, help_heading = "Results")]
    json: bool,
}

/// Every line that begins with `$` is run by a test.
const EXAMPLE: &str = "\
Exit codes: 0 if nothing is bad (warnings are possible), 1 if something is, or if the named server
cannot be reached, 2 for a wrong command line.

Examples:
  This machine, and the server on 127.0.0.1:6379 if there is one:
    $ keystorm doctor

  Check whether this machine and a private server are fit for 100,000 requests per second:
    $ keystorm doctor --spawn --rps 100k -d 100 -c 200

  What latencies this machine alone causes, without any server:
    $ keystorm doctor --intrinsic 2s

  Check whether memcached is fit for pipelines of 64:
    $ keystorm doctor --spawn=memcached -P 64

  The limits of this client on this machine, a rough first look:
    $ keystorm doctor --client --seconds 0.25";

/// Longest look.
const SECONDS_MAX: f64 = 3600.0;

/// Front end of the command.
pub(crate) const FRONT: Front = Front {
    names: &["doctor"],
    command: command::<Options>,
    parse: |args| with_matches(args, intent),
};

/// Returns what the options mean.
fn intent(mut options: Options, matches: &ArgMatches) -> Result<Intent, UsageError> {
    if options.client {
        return of_client(&options, matches).map_err(UsageError);
    }
    let typed = |name: &&str| matches.value_source(name) == Some(ValueSource::CommandLine);
    let named = ["target", "host", "port", "socket", "uri", "spawn"].iter().any(typed);
    let seconds = seconds_in("--seconds", options.seconds, 0.0..=SECONDS_MAX);
    let seconds = seconds.map_err(UsageError)?;
    let intrinsic =
        options.intrinsic.map(|time| seconds_in("--intrinsic", time, 0.2..=SECONDS_MAX));
    let intrinsic = intrinsic.transpose().map_err(UsageError)?.map(Duration::from_secs_f64);
    if let Some(word) = options.target.take() {
        put(&word, &mut options.server).map_err(UsageError)?;
    }
    let load = Load {
        connections: options.clients,
        pipeline: options.pipeline.max(1),
        rate_per_s: options.rps.filter(|rate| *rate > 0).map(|rate| rate as f64),
        value_bytes: options.data_size,
        keep_alive: options.keep_alive != 0,
    };
    let mut target = target(&options.server, Dialect::default())?;
    let mut notes = Vec::new();
    let secure = tls(&options.tls, &target, Dialect::default(), &mut notes);
    target.tls = secure?;
    let protocol = protocol(&options.server)?;
    let json = options.json;
    Ok(Intent::Doctor(Box::new(Checkup {
        target,
        protocol,
        named,
        load,
        seconds,
        intrinsic,
        json,
        notes,
    })))
}

/// Options that `--client` obeys.
const OF_CLIENT: [&str; 7] = ["client", "clients", "protocol", "seconds", "engine", "json", "help"];

/// Returns what the options of the client's limits mean.
fn of_client(options: &Options, matches: &ArgMatches) -> Result<Intent, String> {
    let command = command::<Options>();
    let typed = |arg: &&clap::Arg| {
        matches.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine)
            && !OF_CLIENT.contains(&arg.get_id().as_str())
    };
    if let Some(other) = command.get_arguments().find(typed) {
        let name = if other.is_positional() { "TARGET".to_owned() } else { written(other) };
        return Err(format!("{name}: --client measures no server; leave one of the two out"));
    }
    let seconds = seconds_in("--seconds", options.seconds, 0.01..=SECONDS_MAX)?;
    let plan = load_of_client(options, seconds).map_err(|UsageError(why)| why)?;
    let (engine, json) = (options.engine.choice(), options.json);
    Ok(Intent::MeasureClient(Box::new(ClientCheck { plan, seconds, engine, json })))
}

/// `SET` of 3 bytes in the words of a run, so that what is measured is what a user of it runs.
fn load_of_client(options: &Options, seconds: f64) -> Result<Plan, UsageError> {
    let refuse = |why: &str| Err(UsageError(why.to_owned()));
    let protocol = match protocol(&options.server)? {
        ProtocolKind::Resp2 | ProtocolKind::Resp3 => "resp",
        ProtocolKind::MemcacheText => "memcache",
        ProtocolKind::MemcacheMeta => "memcache-meta",
        ProtocolKind::MemcacheBinary => {
            return refuse(
                "--protocol memcache-binary: --client speaks resp, memcache or memcache-meta",
            );
        }
    };
    let clients = options.clients;
    let words = format!("-t set -c {clients} --protocol {protocol} --duration {seconds} --seed 1");
    match RunFront.parse(None, words.split(' ').map(OsString::from).collect())? {
        Intent::Run(mut job) if job.plans.len() == 1 => Ok(job.plans.remove(0)),
        _ => refuse("the load of --client is one plan"),
    }
}

/// Reads the server that is one word, as the options that it stands for.
pub(super) fn put(word: &str, server: &mut ServerOptions) -> Result<(), String> {
    if word.contains("://") {
        server.uri = Some(Uri(word.to_owned()));
        return Ok(());
    }
    if word.contains('/') {
        server.socket = Some(word.into());
        return Ok(());
    }
    let (host, port) = match word.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, rest)) => (host, rest.strip_prefix(':')),
        // An IPv6 address without brackets has no port.
        None if word.matches(':').count() > 1 => (word, None),
        None => word.split_once(':').map_or((word, None), |(host, port)| (host, Some(port))),
    };
    if host.is_empty() || word.contains('@') {
        return Err("expected HOST, HOST:PORT, the PATH of a unix socket, or a URI".into());
    }
    server.host = Some(host.to_owned());
    if let Some(port) = port {
        server.port = Some(self::port(port).map_err(|why| format!("TARGET {word}: {why}"))?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    fn checkup(line: &str) -> Result<Checkup, String> {
        let words = line.split_whitespace().map(OsString::from).collect();
        match (FRONT.parse)(words) {
            Ok(Intent::Doctor(checkup)) => Ok(*checkup),
            Ok(_) => Err("another intent".to_owned()),
            Err(UsageError(text)) => Err(text),
        }
    }

    #[test]
    fn tls_is_asked_for_as_in_a_run() {
        let secure = checkup("--tls --cacert ca.pem --sni db -p 7").unwrap();
        let tls = secure.target.tls.unwrap();
        assert_eq!((tls.cacert, tls.sni), (Some("ca.pem".into()), Some("db".to_owned())));
        assert!(checkup("rediss://db").unwrap().target.tls.is_some());
        let idle = checkup("--cacert ca.pem -p 7").unwrap();
        assert!(idle.target.tls.is_none() && idle.notes[0].contains("--cacert"));
        assert!(checkup("--tls --cert c.pem").unwrap_err().contains("--key"));
    }

    #[test]
    fn a_target_is_one_word() {
        for (word, shown) in [
            ("db", "db:6379"),
            ("db:7000", "db:7000"),
            ("[::1]:7000", "[::1]:7000"),
            ("::1", "[::1]:6379"),
            ("/run/s", "/run/s"),
            ("redis://db:7001", "db:7001"),
            ("memcache://db", "db:11211"),
        ] {
            let checkup = checkup(word).unwrap();
            assert_eq!(checkup.target.endpoint.to_string(), shown);
            assert!(checkup.named);
        }
        assert!(!checkup("-c 10").unwrap().named);
        assert!(checkup("-p 6379").unwrap().named);
        for bad in ["db:x", ":1", "u:hunter2@h", "db -p 1", "--seconds -1", "--seconds nan"] {
            let error = checkup(bad).unwrap_err();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn the_load_is_that_of_the_options() {
        let load = checkup("-c 10k -P 16 -d 100 --rps 5M -k 0").unwrap().load;
        assert_eq!((load.connections, load.pipeline, load.value_bytes), (10_000, 16, 100));
        assert_eq!((load.rate_per_s, load.keep_alive), (Some(5e6), false));
    }
}
