//! Options of the results: layouts, files and gates.

use std::path::PathBuf;
use std::time::Duration;

use crate::job::MetricsAt;
use report::slo::Slo;
use spec::values::seconds;

use crate::outputs::format_name;
use crate::{DistributionDetail, PageOptions};

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ResultOptions {
    /// Print one line per test
    #[arg(short = 'q', long)]
    pub(crate) quiet: bool,
    /// Print CSV
    #[arg(long)]
    pub(crate) csv: bool,
    /// Output format: text, quiet (-q), csv (--csv), json, redis (as redis-benchmark), classic (as its
    /// versions 2.x to 5) or memtier (as memtier_benchmark) [default: text]
    #[arg(long, value_name = "NAME", value_parser = format_name, conflicts_with_all = ["quiet", "csv"])]
    pub(crate) format: Option<&'static str>,
    /// Latency distribution as text: short or full [default: short]
    #[arg(
        long,
        value_name = "WHAT",
        value_enum,
        default_value_t,
        hide_default_value = true,
        hide_possible_values = true
    )]
    pub(crate) distribution: DistributionDetail,
    /// Save the results to this file, after each test, for `keystorm show` and `keystorm merge`;
    /// `-` prints JSON instead of a report
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub(crate) json: Option<PathBuf>,
    /// Keep the results in this folder too, for `keystorm history` and `keystorm compare --baseline`
    /// [default: KEYSTORM_HISTORY, if set]
    #[arg(long, value_name = "DIR", allow_hyphen_values = true, conflicts_with = "idle")]
    pub(crate) keep: Option<PathBuf>,
    /// A target to hold each test against: a percentile, mean or max below a time, errors below a share,
    /// as 'p99<2ms,errors<0.1%'; with --deadline also late below a share, goodput above a rate. Exit code 3
    /// if it is missed, 4 if it cannot be decided
    #[arg(long, value_name = "TARGET", value_parser = Slo::parse, conflicts_with = "idle")]
    pub(crate) slo: Option<Slo>,
    #[command(flatten)]
    pub(crate) pages: PageOptions,
    /// Log a histogram per interval to this file (HdrHistogram log)
    #[arg(long, value_name = "FILE", allow_hyphen_values = true)]
    pub(crate) hdr: Option<PathBuf>,
    /// Serve OpenMetrics at /metrics while tests run: 9121 on loopback only, ADDR:9121 on that address,
    /// 0 for any free port
    #[arg(long, value_name = "[ADDR:]PORT", allow_hyphen_values = true, conflicts_with = "idle",
          value_parser = MetricsAt::parse)]
    pub(crate) metrics: Option<MetricsAt>,
    /// Serve the page of the run while it runs, for a browser, on any free port of loopback, or on PORT,
    /// ADDR:PORT
    #[arg(long, value_name = "[ADDR:]PORT", num_args = 0..=1, require_equals = true,
          default_missing_value = "0", conflicts_with = "idle", value_parser = MetricsAt::parse)]
    pub(crate) live: Option<MetricsAt>,
    /// Do not report what limited each test, or warnings; KEYSTORM_VERDICT=stderr, off or FILE puts them
    /// elsewhere
    #[arg(long)]
    pub(crate) no_verdict: bool,
    /// Print a row of progress to standard error this often, for logs
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = seconds)]
    pub(crate) progress: Option<Duration>,
    /// Sample the server (INFO) every second, not only before and after
    #[arg(long)]
    pub(crate) sample: bool,
    /// Report the server's own latency too: how long it ran each command, slow commands, latency events
    /// and forks during the run
    #[arg(long, conflicts_with = "idle")]
    pub(crate) server_latency: bool,
    /// With --server-latency, change settings of the server that hide some of that, such as
    /// latency-monitor-threshold, for the run
    #[arg(long, requires = "server_latency")]
    pub(crate) set_server: bool,
}
