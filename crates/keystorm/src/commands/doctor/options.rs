//! Options of `keystorm doctor`: which server, and which load it is to be fit for; or the client alone.

use std::time::Duration;

use clap::parser::ValueSource;
use clap::{ArgMatches, Parser};
use cli::front::command;
use cli::job::UsageError;
use cli::suggestions::written;
use host::doctor::Load;
use spec::LoadSpec;
use spec::values::{
    Count, EngineArg, ProtocolArg, Seconds, count, seconds, seconds_in, signed, small_count,
};
use workload::ProtocolKind;

use crate::commands::named_server::NamedServer;

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
pub(super) struct Options {
    #[command(flatten)]
    pub(super) server: NamedServer,
    /// Connections of the planned run
    #[arg(short = 'c', long, value_name = "CLIENTS", help_heading = "Planned load",
          default_value = "50", value_parser = small_count)]
    pub(super) clients: u32,
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
    #[arg(short = 'k', value_name = "BOOLEAN", help_heading = "Planned load", default_value = "1",
          value_parser = signed)]
    keep_alive: i64,
    /// Measure the limits of this client instead, against a server that stores nothing, on its own core if
    /// there are two: requests per second and client CPU per request for pipelines of 1, 16 and 64, over
    /// TCP and a unix socket, with each engine. Takes -c, --protocol, and --seconds for each line
    #[arg(long, help_heading = "This client")]
    pub(super) client: bool,
    /// I/O engine: io_uring (`uring`), `epoll`, or `auto` for each that works here
    #[arg(
        long,
        value_name = "NAME",
        help_heading = "This client",
        default_value = "auto",
        hide_possible_values = true,
        requires = "client"
    )]
    pub(super) engine: EngineArg,
    /// Time to watch stolen time, round trips and other clients' commands
    #[arg(long, value_name = "TIME", help_heading = "Results", default_value = "1s",
          allow_hyphen_values = true, value_parser = seconds)]
    pub(super) seconds: Duration,
    /// Measure for this long what this machine alone adds to latencies: a busy thread that loses its
    /// CPU, and timers that end late [default: 10s]
    #[arg(long, value_name = "TIME", help_heading = "Results", num_args = 0..=1,
          default_missing_value = "10s", allow_hyphen_values = true, value_parser = seconds)]
    pub(super) intrinsic: Option<Duration>,
    /// Print JSON instead of lines: schema keystorm.doctor/1, or the table of --client
    #[arg(long, help_heading = "Results")]
    pub(super) json: bool,
    /// Set if the command line names a server, so that it is a failure if nothing listens there.
    #[arg(skip)]
    pub(super) is_named: bool,
}

/// Every line that begins with `$` is run by a test.
const EXAMPLE: &str = include_str!("../../../help/doctor.txt").trim_ascii_end();

/// Longest look.
const SECONDS_MAX: f64 = 3600.0;

/// Options that `--client` obeys.
const CLIENT_OPTIONS: [&str; 7] =
    ["client", "clients", "protocol", "seconds", "engine", "json", "help"];

impl Options {
    /// Returns the options for a server, or for this machine alone.
    pub(super) fn of_server(mut self, matches: &ArgMatches) -> Result<Self, UsageError> {
        self.is_named = ["target", "host", "port", "socket", "uri", "spawn"]
            .iter()
            .any(|name| matches.value_source(name) == Some(ValueSource::CommandLine));
        seconds_in("--seconds", self.seconds, 0.0..=SECONDS_MAX)?;
        if let Some(time) = self.intrinsic {
            seconds_in("--intrinsic", time, 0.2..=SECONDS_MAX)?;
        }
        self.server.read()?;
        Ok(self)
    }

    /// Returns the load that machine and server are checked for.
    pub(super) fn load(&self) -> Load {
        Load {
            connections: self.clients,
            pipeline: self.pipeline.max(1),
            rate_per_s: self.rps.filter(|rate| *rate > 0).map(|rate| rate as f64),
            value_bytes: self.data_size,
            keep_alive: self.keep_alive != 0,
        }
    }

    /// Returns the load that measures the client: `SET` of 3 bytes in the words of a run, so that what is measured is
    /// what a user of it runs.
    pub(super) fn of_client(&self, matches: &ArgMatches) -> Result<LoadSpec, UsageError> {
        let command = command::<Self>();
        let typed = command.get_arguments().find(|arg| {
            matches.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine)
                && !CLIENT_OPTIONS.contains(&arg.get_id().as_str())
        });
        if let Some(other) = typed {
            let name = if other.is_positional() { "TARGET".to_owned() } else { written(other) };
            let text = format!("{name}: --client measures no server; leave one of the two out");
            return Err(UsageError(text));
        }
        let seconds = seconds_in("--seconds", self.seconds, 0.01..=SECONDS_MAX)?;
        let protocol = match self.server.protocol()? {
            ProtocolKind::Resp2 | ProtocolKind::Resp3 => ProtocolArg::Resp,
            ProtocolKind::MemcacheText => ProtocolArg::Memcache,
            ProtocolKind::MemcacheMeta => ProtocolArg::MemcacheMeta,
            ProtocolKind::MemcacheBinary => {
                let why =
                    "--protocol memcache-binary: --client speaks resp, memcache or memcache-meta";
                return Err(UsageError(why.to_owned()));
            }
        };
        let mut load = LoadSpec::default();
        load.server.protocol = Some(protocol);
        load.load.connections = Some(Count(self.clients));
        load.load.duration = Some(Seconds(Duration::from_secs_f64(seconds)));
        (load.data.tests, load.data.seed) = (Some("set".to_owned()), Some(Count(1)));
        load.plans(&mut Vec::new())?;
        Ok(load)
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use cli::front::with_matches;
    use cli::job::Intent;

    use super::*;

    fn checkup(line: &str) -> Result<Options, String> {
        let words = line.split_whitespace().map(OsString::from).collect();
        let mut read = None;
        let said = with_matches(words, |options: Options, matches| {
            read = Some(options.of_server(matches)?);
            Ok(Intent::Hold)
        });
        said.map_err(|UsageError(text)| text)?;
        read.ok_or_else(|| "help".to_owned())
    }

    #[test]
    fn tls_is_asked_for_as_in_a_run() {
        let secure = checkup("--tls --cacert ca.pem --sni db -p 7").unwrap();
        let tls = secure.server.target.tls.unwrap();
        assert_eq!((tls.cacert, tls.sni), (Some("ca.pem".into()), Some("db".to_owned())));
        assert!(checkup("rediss://db").unwrap().server.target.tls.is_some());
        let idle = checkup("--cacert ca.pem -p 7").unwrap();
        assert!(idle.server.target.tls.is_none() && idle.server.notes[0].contains("--cacert"));
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
            assert_eq!(checkup.server.target.endpoint.to_string(), shown);
            assert!(checkup.is_named);
        }
        assert!(!checkup("-c 10").unwrap().is_named);
        assert!(checkup("-p 6379").unwrap().is_named);
        for bad in ["db:x", ":1", "u:hunter2@h", "db -p 1", "--seconds -1", "--seconds nan"] {
            let error = checkup(bad).unwrap_err();
            assert!(!error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn the_load_is_that_of_the_options() {
        let load = checkup("-c 10k -P 16 -d 100 --rps 5M -k 0").unwrap().load();
        assert_eq!((load.connections, load.pipeline, load.value_bytes), (10_000, 16, 100));
        assert_eq!((load.rate_per_s, load.keep_alive), (Some(5e6), false));
    }
}
