//! Options of the load: how much, how fast, and by what.

use std::time::Duration;

use crate::run::connecting::ConnectionOptions;
use crate::run::per_request::PerRequest;
use crate::run::rank::shard;
use crate::run::retrying::RetryOptions;
use crate::run::values::{
    ArrivalsArg, EngineArg, Threads, WindowArg, YesNo, count, count_in, milliseconds, seconds,
    signed, small_count, start_at, threads,
};

#[derive(Debug, clap::Args)]
pub(in crate::run) struct LoadOptions {
    /// Parallel connections; all counts accept k, M and G: 10k [default: 50]
    #[arg(short = 'c', long, value_name = "CLIENTS", allow_hyphen_values = true,
          value_parser = small_count)]
    pub(in crate::run) clients: Option<u32>,
    /// Total number of requests [default: 100000]
    #[arg(short = 'n', long, value_name = "REQUESTS", allow_hyphen_values = true,
          value_parser = count)]
    pub(in crate::run) requests: Option<u64>,
    /// Make -n the number of requests of each connection, and let each take operations and keys
    /// (--set order, --set keys-by) by itself
    #[arg(long)]
    pub(in crate::run) per_connection: bool,
    /// With -n, end after this time even if requests are left
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = seconds)]
    pub(in crate::run) time_limit: Option<Duration>,
    /// Run for this long instead of -n. This and all other times accept 500ms, 2s, 1.5m and 1h;
    /// without a unit, seconds
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = seconds)]
    pub(in crate::run) duration: Option<Duration>,
    /// Run for this long before measuring [default: 0]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = seconds)]
    pub(in crate::run) warmup: Option<Duration>,
    /// Requests per pipeline [default: 1]
    #[arg(short = 'P', long, value_name = "NUMREQ", allow_hyphen_values = true,
          value_parser = signed)]
    pub(in crate::run) pipeline: Option<i64>,
    /// When a pipeline sends again: after all its replies (batch) or after each (rolling) [default:
    /// batch; rolling with --rps]
    #[arg(long, value_name = "WHEN", hide_possible_values = true)]
    pub(in crate::run) window: Option<WindowArg>,
    /// Requests per second, on a schedule that slow replies do not delay: a rate, 10k; a ramp,
    /// 10k..100k/30s; steps, 10k,20k,40k/10s; or any of these in a row, 1k/60s,1k..5k/10s,5k. 0 is no
    /// limit [default: 0]
    #[arg(long, value_name = "RATE", allow_hyphen_values = true)]
    pub(in crate::run) rps: Option<String>,
    /// How --rps spaces requests: constant, or poisson for random arrivals as of independent users
    /// [default: constant]
    #[arg(long, value_name = "HOW", requires = "rps", hide_possible_values = true)]
    pub(in crate::run) arrivals: Option<ArrivalsArg>,
    /// Run share I of N, so that N processes make one run: -n, --rps, -c and -r are totals. `keystorm
    /// merge` adds up their --json files. env takes the rank from srun or mpirun, env/N from Kubernetes
    #[arg(long, value_name = "I/N", value_parser = shard)]
    pub(in crate::run) shard: Option<workload::Shard>,
    /// Start a single test at this time: 2026-05-01T12:00:00Z, seconds since 1970, or +5s for five
    /// seconds from now
    #[arg(long, value_name = "TIME", value_parser = start_at, conflicts_with_all = ["idle", "repeat"])]
    pub(in crate::run) start_at: Option<std::time::SystemTime>,
    /// Worker threads; `auto` for one per CPU that a local server leaves free, 0 for one that
    /// reports do not call multi-threaded [default: 0]
    #[arg(long, value_name = "NUM", allow_hyphen_values = true, value_parser = threads)]
    pub(in crate::run) threads: Option<Threads>,
    /// CPUs to pin worker threads to, one each in turn, such as 1 or 0,2-3
    #[arg(long, value_name = "LIST")]
    pub(in crate::run) cpus: Option<String>,
    /// I/O engine: uring, epoll, or the faster of the two
    #[arg(long, value_name = "NAME", default_value = "auto", hide_possible_values = true)]
    pub(in crate::run) engine: EngineArg,
    /// 1 keeps connections open, 0 opens one per pipeline
    #[arg(short = 'k', value_name = "BOOLEAN", allow_hyphen_values = true, default_value = "1",
          value_parser = signed)]
    pub(in crate::run) keep_alive: i64,
    /// Whether to reopen lost connections and continue: yes or no [default: yes with --duration, unless
    /// the server is spawned]
    #[arg(long, value_name = "WHETHER", hide_possible_values = true)]
    pub(in crate::run) reconnect: Option<YesNo>,
    /// Time limit for a request, in ms without a unit; after it the connection is reopened, or, without
    /// --reconnect, the run ends [default: none]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = milliseconds)]
    pub(in crate::run) timeout: Option<Duration>,
    /// Give up a request that could not be sent this long after it was due (without --rps, after it was
    /// first sent), and count an answer after that as late; in ms without a unit [default: none]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = milliseconds)]
    pub(in crate::run) deadline: Option<Duration>,
    #[command(flatten)]
    pub(in crate::run) per_request: PerRequest,
    #[command(flatten)]
    pub(in crate::run) connecting: ConnectionOptions,
    #[command(flatten)]
    pub(in crate::run) retrying: RetryOptions,
    /// Only open -c idle connections
    #[arg(short = 'I')]
    pub(in crate::run) idle: bool,
    /// Repeat the tests forever
    #[arg(short = 'l')]
    pub(in crate::run) repeat: bool,
    /// Run each test N times; also report means with 95 % confidence intervals, and whether these
    /// are narrow enough to draw conclusions
    #[arg(long = "repeat", value_name = "N", value_parser = count_in(1..=1_000),
          conflicts_with_all = ["repeat", "idle", "start_at"])]
    pub(in crate::run) repeats: Option<u32>,
}
