//! The command line of `keystorm bisect`: two commits, a load, and the command that builds a server.

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use cli::compare::{metric_of, percent_in};
use cli::experiment::ExperimentOptions;
use cli::job::{End, Intent, Job, UsageError};
use cli::run::ParsedArgs;
use naming::{HOST, KEEP, ON, OptionId, SEED, SPAWN, URI};
use report::Metric;
use spec::Program;
use spec::values::{Count, Seconds};
use workload::{Endpoint, Plan, Target};

use crate::commands::profile::counted_server;

/// Finds the commit that made a server slower or faster. Builds commits between a good and a bad one, runs each beside
/// the good one in turn, as often as the noise asks, and names the commit with its probability. Builds that fail are
/// skipped; a search that was interrupted resumes.
#[derive(Debug, Parser)]
#[command(
    next_help_heading = "Bisect",
    name = "keystorm bisect",
    override_usage = "keystorm bisect --good COMMIT --bad COMMIT [OPTIONS] [OPTIONS OF A RUN] -- BUILD-COMMAND",
    after_help = EXAMPLE,
)]
pub(super) struct Options {
    /// A commit before the change
    #[arg(long, value_name = "COMMIT")]
    pub(super) good: String,
    /// A commit after it, of which the good one is an ancestor; merges count as one commit
    #[arg(long, value_name = "COMMIT")]
    pub(super) bad: String,
    /// The repository [default: the current folder]. It is not touched: builds have a work tree of their own
    #[arg(long, value_name = "DIR", default_value = ".", hide_default_value = true)]
    pub(super) repository: PathBuf,
    /// The server that is built, from the top of the tree [default: src/valkey-server or src/redis-server]
    #[arg(long, value_name = "PATH")]
    pub(super) server: Option<PathBuf>,
    /// The folder of builds and results, from which the search resumes [default: .keystorm-bisect]
    #[arg(long, value_name = "DIR", default_value = ".keystorm-bisect", hide_default_value = true)]
    pub(super) state: PathBuf,
    /// The figure that changed: throughput, p50, p99, server-cpu, or instructions, which one start of
    /// each commit tells [default: throughput]
    #[arg(long, value_name = "NAME", value_parser = metric_of(&METRICS), default_value = "throughput",
          hide_default_value = true)]
    pub(super) metric: Metric,
    /// Probability at which the search ends, in per cent, from 50 to 99.9 [default: 95]
    #[arg(long, value_name = "PCT", value_parser = sure, default_value = "95", hide_default_value = true)]
    pub(super) sure: f64,
    #[command(flatten)]
    pub(super) output: ExperimentOptions,
    /// The program that builds a tree, and its arguments, in the top folder of the tree.
    #[arg(skip)]
    pub(super) build: Vec<String>,
}

/// Load whose instructions are counted.
pub(super) struct CountedLoad {
    /// Place at which servers are started.
    pub(super) started_at: Target,
    /// Plan with half of the requests.
    pub(super) half: Plan,
}

/// Text below the options.
const EXAMPLE: &str = include_str!("../../../help/bisect.txt").trim_ascii_end();

/// Default of -t.
const TEST: &str = "set";
/// Default of --duration.
const LENGTH: Duration = Duration::from_secs(2);
/// Options of a run that bisect refuses: it starts the servers itself.
pub(super) const REFUSED: [OptionId; 5] = [KEEP, naming::METRICS, ON, HOST, URI];

const METRICS: [Metric; 5] =
    [Metric::Throughput, Metric::P50, Metric::P99, Metric::ServerCpu, Metric::Instructions];

fn sure(text: &str) -> Result<f64, String> {
    percent_in(50.0..=99.9, "50 to 99.9")(text).map(|percent| percent / 100.0)
}

/// Returns what the options mean.
pub(super) fn intent(
    options: Options,
    mut load: ParsedArgs,
    carry_out: fn(&Options, &Job, Option<&CountedLoad>) -> anyhow::Result<End>,
) -> Result<Intent, UsageError> {
    let usage = |text: &str| Err(UsageError(text.to_owned()));
    if options.build.is_empty() {
        return usage("name the command that builds a commit behind --, such as: -- make -j4");
    }
    if let Some(option) = REFUSED.iter().find(|option| load.has(**option)) {
        return Err(UsageError(format!(
            "{option} does not apply: bisect starts the servers that it builds"
        )));
    }
    if let Some(word) = load.first_word() {
        return Err(UsageError(format!(
            "{word}: a bisection takes its load from options, such as -t or --workload"
        )));
    }
    load.default_tests(TEST);
    let (job, counted) = if options.metric == Metric::Instructions {
        let server =
            options.server.as_ref().map_or("redis-server".into(), |path| path.to_string_lossy());
        let of = counted_server(shell_words::quote(&server).into_owned(), load)?;
        let half = of.half.plans.into_iter().next();
        (of.job, half.map(|half| CountedLoad { started_at: of.started_at, half }))
    } else {
        load.default_length(|load| load.end_after(None, Some(Seconds(LENGTH))));
        load.set_default(SEED, |spec| spec.data.seed = Some(Count(1)));
        load.set_default(SPAWN, |spec| spec.server.spawn = Some(Program(None)));
        (load.job(|_| ())?, None)
    };
    if job.plans.len() != 1 {
        return usage("bisect works with a single test; choose it with -t");
    }
    let is_spawned =
        job.plans.iter().all(|plan| matches!(plan.target.endpoint, Endpoint::Spawned { .. }));
    if !is_spawned && counted.is_none() {
        return usage("bisect starts the servers that it builds; name none");
    }
    if options.output.print_plan {
        return Intent::plans(&job.plans);
    }
    Ok(Intent::carry(move || carry_out(&options, &job, counted.as_ref())))
}
