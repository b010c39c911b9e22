//! Options of the load: how much, how fast, and by what.

use serde::{Deserialize, Serialize};

use crate::connecting::ConnectionOptions;
use crate::per_request::PerRequest;
use crate::rank::ShardArg;
use crate::retrying::RetryOptions;
use crate::schedule::{Rate, StartAt};
use crate::values::{
    ArrivalsArg, Count, Cpus, EngineArg, KeepAlive, Milliseconds, Seconds, Threads, WindowArg,
    YesNo, count_in,
};

/// Options of the load: how much is sent, how fast, and by what.
#[derive(Debug, Clone, Default, clap::Args, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct LoadOptions {
    /// Parallel connections; all counts accept k, M and G: 10k [default: 50]
    #[arg(short = 'c', long = "clients", value_name = "CLIENTS", allow_hyphen_values = true)]
    pub connections: Option<Count<u32>>,
    /// Total number of requests [default: 100000]
    #[arg(short = 'n', long, value_name = "REQUESTS", allow_hyphen_values = true)]
    pub requests: Option<Count<u64>>,
    /// Make -n the number of requests of each connection, and let each take operations and keys
    /// (--set order, --set keys-by) by itself
    #[arg(long)]
    pub per_connection: bool,
    /// With -n, end after this time even if requests are left
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub time_limit: Option<Seconds>,
    /// Run for this long instead of -n. This and all other times accept 500ms, 2s, 1.5m and 1h;
    /// without a unit, seconds
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub duration: Option<Seconds>,
    /// Run for this long before measuring [default: 0]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub warmup: Option<Seconds>,
    /// Requests per pipeline [default: 1]
    #[arg(short = 'P', long, value_name = "NUMREQ", allow_hyphen_values = true)]
    pub pipeline: Option<Count<i64>>,
    /// Refill a pipeline after all its replies (batch) or after each reply (rolling) [default: batch;
    /// rolling with --rps]
    #[arg(long, value_name = "WHEN", hide_possible_values = true)]
    pub window: Option<WindowArg>,
    /// Requests per second, on a schedule that slow replies do not delay: a rate, 10k; a ramp,
    /// 10k..100k/30s; steps, 10k,20k,40k/10s; or any of these in a row, 1k/60s,1k..5k/10s,5k. 0 is no
    /// limit [default: 0]
    #[arg(long = "rps", value_name = "RATE", allow_hyphen_values = true)]
    pub rate: Option<Rate>,
    /// Spacing of the requests of --rps: constant, or poisson for random arrivals, as from independent
    /// users [default: constant]
    #[arg(long, value_name = "HOW", hide_possible_values = true)]
    pub arrivals: Option<ArrivalsArg>,
    /// Run share I of N, so that N processes make one run: -n, --rps, -c and -r are totals. `keystorm
    /// merge` adds up their --json files. env takes the rank from srun or mpirun, env/N from Kubernetes
    #[arg(long, value_name = "I/N")]
    pub shard: Option<ShardArg>,
    /// Start a single test at this time: 2026-05-01T12:00:00Z, seconds since 1970, or +5s for five
    /// seconds from now
    #[arg(long, value_name = "TIME", conflicts_with_all = ["idle", "repeat"])]
    pub start_at: Option<StartAt>,
    /// Worker threads; `auto` for one per CPU that a local server leaves free, 0 for one that
    /// reports do not call multi-threaded [default: 0]
    #[arg(long, value_name = "NUM", allow_hyphen_values = true)]
    pub threads: Option<Threads>,
    /// CPUs to pin worker threads to, one each in turn, such as 1 or 0,2-3
    #[arg(long, value_name = "LIST")]
    pub cpus: Option<Cpus>,
    /// I/O engine: uring, epoll, or the faster of the two [default: auto]
    #[arg(long, value_name = "NAME", hide_possible_values = true)]
    pub engine: Option<EngineArg>,
    /// 1 keeps connections open, 0 opens one per pipeline [default: 1]
    #[arg(short = 'k', value_name = "BOOLEAN", allow_hyphen_values = true)]
    pub keep_alive: Option<KeepAlive>,
    /// Reopen lost connections and continue: yes or no [default: yes with --duration, unless the server
    /// is spawned]
    #[arg(long, value_name = "WHETHER", hide_possible_values = true)]
    pub reconnect: Option<YesNo>,
    /// Time limit for a request, in ms without a unit; after it the connection is reopened, or, without
    /// --reconnect, the run ends [default: none]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub timeout: Option<Milliseconds>,
    /// Give up a request that could not be sent this long after it was due (without --rps, after it was
    /// first sent), and count an answer after that as late; in ms without a unit [default: none]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub deadline: Option<Milliseconds>,
    /// Connections of which each carries one request.
    #[command(flatten)]
    #[serde(flatten)]
    pub per_request: PerRequest,
    /// Opening and closing of connections.
    #[command(flatten)]
    #[serde(flatten)]
    pub connecting: ConnectionOptions,
    /// Retries: which requests are sent again.
    #[command(flatten)]
    #[serde(flatten)]
    pub retrying: RetryOptions,
    /// Only open -c idle connections
    #[arg(short = 'I')]
    pub idle: bool,
    /// Repeat the tests forever
    #[arg(short = 'l')]
    pub repeat: bool,
    /// Run each test N times; also report means with 95 % confidence intervals, and whether these
    /// are narrow enough to draw conclusions
    #[arg(long = "repeat", value_name = "N", value_parser = count_in(1..=1_000),
          conflicts_with_all = ["repeat", "idle", "start_at"])]
    pub repeats: Option<u32>,
}

impl LoadOptions {
    /// Ends the load after so many requests, or after this time if that comes first.
    pub fn end_after(&mut self, requests: Option<Count<u64>>, time: Option<Seconds>) {
        (self.duration, self.time_limit) =
            if requests.is_some() { (None, time) } else { (time, None) };
        self.requests = requests;
    }

    /// Returns whether connections stay open.
    pub fn keeps_alive(&self) -> bool {
        self.keep_alive.is_none_or(|KeepAlive(yes)| yes)
    }
}
