//! The command line of `keystorm calibrate`: for how long, with how many connections.
//!
//! The load is that of the classic front end, in its own words, so that what is calibrated is
//! what a user of it runs.

use std::ffi::OsString;
use std::time::Duration;

use clap::Parser;
use job::Calibration;
use workload::Plan;

use super::front::{Front, command, with_options};
use super::run::{RunFront, seconds, seconds_in, small_count};
use super::sink::{EngineArg, SinkProtocol};
use super::{FrontEnd, Intent, UsageError};

/// Measures how fast this client can be on this machine. Runs it against a sink: a server that only
/// answers, on its own core if there are two. Prints requests per second and client CPU per request
/// for pipelines of 1, 16 and 64, over TCP and a unix socket, with each engine. These are limits of
/// the client, not results about a server.
#[derive(Debug, Parser)]
#[command(
    name = "keystorm calibrate",
    override_usage = "keystorm calibrate [OPTIONS]",
    after_help = EXAMPLE,
)]
struct Options {
    /// Parallel connections
    #[arg(short = 'c', long, value_name = "CLIENTS", help_heading = "Load", default_value = "50",
          value_parser = small_count)]
    clients: u32,
    /// Protocol: `resp`, or `memcache` for memcached's text protocol
    #[arg(
        long,
        value_name = "PROTOCOL",
        help_heading = "Load",
        default_value = "resp",
        hide_possible_values = true
    )]
    protocol: SinkProtocol,
    /// How long each line of the table takes [default: 1s]
    #[arg(long, value_name = "TIME", help_heading = "Load", allow_hyphen_values = true,
          value_parser = seconds)]
    seconds: Option<Duration>,
    /// Measure each line for only 250 ms, for a rough first look
    #[arg(long, help_heading = "Load")]
    quick: bool,
    /// What moves the bytes: io_uring (`uring`), `epoll`, or `auto` for each that works here
    #[arg(
        long,
        value_name = "NAME",
        help_heading = "Load",
        default_value = "auto",
        hide_possible_values = true
    )]
    engine: EngineArg,
    /// Print JSON instead of a table
    #[arg(long, help_heading = "Results")]
    json: bool,
}

/// Every line that begins with `$` is run by a test.
const EXAMPLE: &str = "\
Example:
  A first look, in a few seconds:
    $ keystorm calibrate --quick";

const SECONDS_DEFAULT: f64 = 1.0;
const SECONDS_QUICK: f64 = 0.25;
/// Longest cell.
const SECONDS_MAX: f64 = 3600.0;

/// Its front end.
pub(crate) const FRONT: Front = Front {
    names: &["calibrate"],
    command: command::<Options>,
    parse: |args| with_options(args, intent),
};

/// What the options mean.
fn intent(
    Options { clients, protocol, seconds, quick, engine, json }: Options,
) -> Result<Intent, UsageError> {
    let default = if quick { SECONDS_QUICK } else { SECONDS_DEFAULT };
    let seconds = seconds.unwrap_or(Duration::from_secs_f64(default));
    let seconds = seconds_in("--seconds", seconds, 0.01..=SECONDS_MAX).map_err(UsageError)?;
    let plan = load(clients, protocol, seconds)?;
    let engine = engine.choice();
    Ok(Intent::Calibrate(Box::new(Calibration { plan, seconds, engine, json })))
}

/// `SET` of 3 bytes, as the classic front end sends it.
fn load(clients: u32, protocol: SinkProtocol, seconds: f64) -> Result<Plan, UsageError> {
    let protocol = match protocol {
        SinkProtocol::Resp => "resp",
        SinkProtocol::Memcache => "memcache",
    };
    let words = format!("-t set -c {clients} --protocol {protocol} --duration {seconds} --seed 1");
    let words = words.split(' ').map(OsString::from).collect();
    match RunFront.parse(None, words)? {
        Intent::Run(mut job) if job.plans.len() == 1 => Ok(job.plans.remove(0)),
        _ => Err(UsageError("the load of a calibration is one plan".to_owned())),
    }
}
