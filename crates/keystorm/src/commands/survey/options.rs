//! The command line of `keystorm survey`: server, length and destination of the page.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Parser;
use cli::experiment::{ExperimentOptions, LOAD_OPTIONS, LiveOption};
use cli::job::{End, Intent, Job, PageOptions, UsageError};
use cli::run::ParsedArgs;
use lab::survey::{DELIVERIES, SurveySpec};
use naming::{CSV, FORMAT, JSON, ON, OptionId, PRINT_PLAN, QUIET, SERVER_CPUS, SPAWN_UNIX};
use spec::values::{Seconds, count, seconds, seconds_in};

/// Measures how fast Redis is on this machine, as Redis's own benchmark page does. It covers the
/// suite; SET, GET, LPUSH and LPOP with and without pipelining over a million keys; a unix socket
/// against TCP; values from 10 bytes to 100 kB; 1 connection up to as many as the limits allow;
/// messages from 10 senders to 1 and 50 subscribers, through a list and through a stream; placement
/// of client and server; and two instances, if there are enough cores. Prints the tables, and writes
/// a page with charts and a JSON file with every run. Each point says what limited it.
///
/// Unix socket, placement and instances need --spawn. An existing server needs an empty database (--dbnum), and
/// an existing cluster must be empty: survey writes the keys of redis-benchmark (key:..., counter:..., mylist, myset,
/// myhash, myzset, mystream), and afterwards removes all keys there. Nobody else may use the database meanwhile.
///
/// Takes the options of a run that name the server, log in, or configure keystorm itself: -h, -p,
/// -s, -u, -a, --spawn, --threads, --engine and the like (see keystorm --help).
#[derive(Debug, Parser)]
#[command(
    name = "keystorm survey",
    override_usage = "keystorm survey [OPTIONS] [OPTIONS OF THE SERVER]",
    after_help = EXAMPLE,
)]
pub(super) struct Options {
    /// Measure less: under a minute instead of about three
    #[arg(long, help_heading = "Survey")]
    quick: bool,
    /// Also measure points for which this machine has too few cores
    #[arg(long, help_heading = "Survey")]
    all: bool,
    /// Add a chapter that measures this server under the same load: memcached (requires --spawn)
    #[arg(long, value_name = "SERVER", help_heading = "Survey", value_parser = ["memcached"])]
    with: Option<String>,
    /// Number of keys in the chapters on pipelines and connections
    #[arg(long, value_name = "NUM", help_heading = "Survey", default_value = "1M", value_parser = count)]
    keys: u64,
    /// Length of each run [default: chosen so that all take the time given at --quick]
    #[arg(long, value_name = "TIME", help_heading = "Survey", value_parser = seconds)]
    seconds: Option<Duration>,
    /// Leave the survey's keys in an existing server
    #[arg(long, help_heading = "Survey")]
    keep: bool,
    /// Directory for survey.json, and for survey.html unless --html names another file
    #[arg(short = 'o', value_name = "DIR", help_heading = "Results", default_value = ".")]
    output: PathBuf,
    #[command(flatten)]
    pages: PageOptions,
    #[command(flatten)]
    live: LiveOption,
}

/// Text below the options.
const EXAMPLE: &str = include_str!("../../../help/survey.txt").trim_ascii_end();

/// Options of a run that a survey decides itself, in addition to those of the load.
const REFUSED: [OptionId; 7] = [QUIET, CSV, FORMAT, JSON, PRINT_PLAN, SERVER_CPUS, SPAWN_UNIX];

/// Every option that a survey decides itself. --on is not among them: any number of clients may carry its load.
pub(super) fn refused() -> Vec<OptionId> {
    LOAD_OPTIONS.into_iter().filter(|option| *option != ON).chain(REFUSED).collect()
}

const SECONDS_MAX: f64 = 3600.0;

/// A requested survey; parts that depend on the server are filled in later.
pub(super) struct SurveyJob {
    pub(super) spec: SurveySpec,
    /// The load of which all others are variants.
    pub(super) load: ParsedArgs,
    /// A job that names the server.
    pub(super) first: Job,
    /// Directory for the page and the results.
    pub(super) directory: PathBuf,
    /// Destinations of results, in that directory unless the command line says otherwise.
    pub(super) output: ExperimentOptions,
    /// Set if the keys that the survey wrote to an existing server are not removed.
    pub(super) keep: bool,
}

/// Checks the directory of the survey, and the options of a run beside its own.
fn check(output: &Path, load: &ParsedArgs) -> Result<(), UsageError> {
    if output.extension().is_some_and(|end| end.eq_ignore_ascii_case("html")) && !output.is_dir() {
        return Err(UsageError(format!(
            "-o {}: not a directory; survey writes survey.html into it",
            output.display()
        )));
    }
    if let Some(option) = refused().into_iter().find(|option| load.has(*option)) {
        let text =
            format!("{option}: survey decides that itself; keystorm sweep has a load of yours");
        return Err(UsageError(text));
    }
    if let Some(word) = load.first_word() {
        return Err(UsageError(format!(
            "unexpected word {}: a survey has its own commands",
            shell_words::quote(&word)
        )));
    }
    Ok(())
}

/// Converts the options to an intent.
pub(super) fn intent(
    options: Options,
    load: ParsedArgs,
    command_line: String,
    carry_out: fn(&SurveyJob) -> anyhow::Result<End>,
) -> Result<Intent, UsageError> {
    let Options { quick, all, with, keys, seconds, keep, output, pages, live, .. } = options;
    check(&output, &load)?;
    let seconds = seconds.map(|time| seconds_in("--seconds", time, 0.01..=SECONDS_MAX));
    let seconds = seconds.transpose().map_err(UsageError)?;
    if !(1..=1_000_000_000).contains(&keys) {
        let text = format!("--keys {keys}: must be between 1 and 1,000,000,000");
        return Err(UsageError(text));
    }
    let first = load.job(|_| ())?;
    let endpoint = first.plans.first().map(|plan| &plan.target.endpoint);
    let spawned = matches!(endpoint, Some(workload::Endpoint::Spawned { .. }));
    let memcached = first.plans.first().is_some_and(|plan| plan.protocol.is_memcache());
    if memcached && (!spawned || with.is_some()) {
        let text = "a survey of memcached starts it (--spawn=memcached), without --with; for one that \
            runs, use keystorm --protocol memcache";
        return Err(UsageError(text.to_owned()));
    }
    let unix = matches!(endpoint, Some(workload::Endpoint::Unix(_)));
    let lacks = DELIVERIES.iter().filter_map(|(kind, receivers, _)| {
        let delivered = load.job(|spec| {
            spec.load.end_after(None, Some(Seconds(Duration::from_secs(1))));
            spec.delivery = Some(receivers());
        });
        delivered.err().map(|UsageError(why)| (*kind, why))
    });
    let lacks = lacks.collect();
    let mut pages = pages;
    pages.check()?;
    pages.html.get_or_insert_with(|| output.join("survey.html"));
    let spec = SurveySpec {
        server: load.asked().clone(),
        spawned,
        unix,
        memcached,
        quick,
        all,
        seconds,
        keys,
        clients_max: None,
        with_memcached: with.is_some(),
        lacks,
    };
    let directory = output;
    let output = ExperimentOptions {
        format: "table".to_owned(),
        csv: false,
        json: Some(directory.join("survey.json")),
        json_option: "-o",
        pages,
        live,
        quiet: false,
        print_plan: false,
        command_line,
    };
    let job = SurveyJob { spec, load, first, directory, output, keep };
    Ok(Intent::carry(move || carry_out(&job)))
}
