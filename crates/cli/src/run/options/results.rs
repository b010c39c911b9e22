//! Options of the results: layouts, files and gates.

use std::path::PathBuf;
use std::time::Duration;

use job::MetricsAt;
use report::slo::Slo;

use crate::run::values::{OnErrorArg, YesNo, seconds, signed, test_name};
use crate::show::format_name;
use crate::{PageOptions, Spread};

#[derive(Debug, clap::Args)]
pub(in crate::run) struct ResultOptions {
    /// Print one line per test
    #[arg(short = 'q', long)]
    pub(in crate::run) quiet: bool,
    /// Print CSV
    #[arg(long)]
    pub(in crate::run) csv: bool,
    /// Output format: text, quiet (-q), csv (--csv), redis (as redis-benchmark and
    /// valkey-benchmark), classic (as redis-benchmark 2.x to 5), memtier (as memtier_benchmark) or
    /// json [default: text]
    #[arg(long, value_name = "NAME", value_parser = format_name, conflicts_with_all = ["quiet", "csv"])]
    pub(in crate::run) format: Option<&'static str>,
    /// Latency distribution in the text report: `short`, or `full` for every step [default: short]
    #[arg(
        long,
        value_name = "WHAT",
        value_enum,
        default_value_t,
        hide_default_value = true,
        hide_possible_values = true
    )]
    pub(in crate::run) distribution: Spread,
    /// Call the test so in all results [default: its command; of a mix, its shares]
    #[arg(long, value_name = "NAME", allow_hyphen_values = true, value_parser = test_name,
          conflicts_with = "idle")]
    pub(in crate::run) name: Option<String>,
    /// Save the results to this file, after each test, for `keystorm show` and `keystorm merge`;
    /// `-` prints JSON instead of a report
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub(in crate::run) json: Option<PathBuf>,
    /// Keep the results in this folder too, in a file of their own, for `keystorm history` and
    /// `keystorm compare --baseline` [default: KEYSTORM_HISTORY, where that is set]
    #[arg(long, value_name = "DIR", allow_hyphen_values = true, conflicts_with = "idle")]
    pub(in crate::run) keep: Option<PathBuf>,
    /// A target to hold each test against, such as p99<2ms: kept, missed or undecided in every
    /// report. Exit code 3 if one is missed, 4 if one cannot be decided. Several bounds between
    /// commas: p50, p99 (or any percentile), mean or max below a time, errors below a share:
    /// 'p99<2ms,errors<0.1%'
    #[arg(long, value_name = "TARGET", value_parser = Slo::parse, conflicts_with = "idle")]
    pub(in crate::run) slo: Option<Slo>,
    #[command(flatten)]
    pub(in crate::run) pages: PageOptions,
    /// Log a histogram per interval to this file, in HdrHistogram log format
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub(in crate::run) hdr: Option<PathBuf>,
    /// Serve OpenMetrics for Prometheus at /metrics while tests run: 9121 or :9121 on loopback
    /// only, ADDR:9121 on that address, 0 for any free port
    #[arg(long, value_name = "[ADDR:]PORT", allow_hyphen_values = true, conflicts_with = "idle",
          value_parser = MetricsAt::parse)]
    pub(in crate::run) metrics: Option<MetricsAt>,
    /// Serve the page of the run while it runs, for a browser: with figures, charts and outages so
    /// far, and a form that sets a mark. On any free port of loopback, or on PORT, ADDR:PORT
    #[arg(long, value_name = "[ADDR:]PORT", num_args = 0..=1, require_equals = true,
          default_missing_value = "0", conflicts_with = "idle", value_parser = MetricsAt::parse)]
    pub(in crate::run) live: Option<MetricsAt>,
    /// Significant digits of latencies, 1 to 4 [default: 3]
    #[arg(long, value_name = "DIGITS", allow_hyphen_values = true, value_parser = signed)]
    pub(in crate::run) precision: Option<i64>,
    /// Also report the latency to the first byte of a pipeline's replies, which redis-benchmark
    /// calls latency
    #[arg(long)]
    pub(in crate::run) first_byte: bool,
    /// Have the kernel note when replies arrive, and report which part of the response times they waited
    /// to be read by keystorm [default: yes with --rps
    /// up to 50,000 requests a second and thread over TCP]
    #[arg(long, value_name = "WHETHER", num_args = 0..=1, require_equals = true,
          default_missing_value = "yes", hide_possible_values = true)]
    pub(in crate::run) kernel_stamps: Option<YesNo>,
    /// Do not report what limited each test, or warnings. By default both are in the report, or on
    /// standard error if the format has no room for them; KEYSTORM_VERDICT=stderr, off or FILE
    /// overrides this
    #[arg(long)]
    pub(in crate::run) no_verdict: bool,
    /// Print a row of progress to standard error each time so much has passed, for logs
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = seconds)]
    pub(in crate::run) progress: Option<Duration>,
    /// Also sample the server (INFO) every second during a test, not only before and after
    #[arg(long)]
    pub(in crate::run) sample: bool,
    /// Report the server's own latency too: how long it ran each command, and slow commands, events of its
    /// latency monitor and forks that fell into the run
    #[arg(long, conflicts_with = "idle")]
    pub(in crate::run) server_latency: bool,
    /// Change the server's settings that hide some of that, for the run: latency-monitor-threshold,
    /// slowlog-log-slower-than, slowlog-max-len and latency-tracking
    #[arg(long, requires = "server_latency")]
    pub(in crate::run) set_server: bool,
    /// What an error reply does: `stop` ends the run, as in redis-benchmark; `count` counts it and
    /// continues [default: count if lost connections are reopened, otherwise stop]
    #[arg(long, value_name = "WHAT")]
    pub(in crate::run) on_error: Option<OnErrorArg>,
}
