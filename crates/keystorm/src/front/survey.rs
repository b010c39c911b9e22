//! The command line of `keystorm survey`: which server, how long, and where the page goes.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Command, CommandFactory, Parser};
use lab::Line;
use lab::survey::Wish;

use super::lab::{job, split, with_those_of_a_run};
use super::redis_benchmark::{count, seconds, seconds_in};
use super::{FrontEnd, Intent, Job, PageOptions, UsageError};

/// See the module.
pub(crate) struct SurveyFront;

/// What `keystorm survey` is to do.
pub(crate) struct SurveyJob {
    /// What is to be measured, but for what only the server tells.
    pub(crate) wish: Wish,
    /// A job that names the server.
    pub(crate) first: Job,
    /// Where the page and the results go.
    pub(crate) directory: PathBuf,
    /// Where pictures of the charts go.
    pub(crate) pages: PageOptions,
    /// Whether what is written into a server that was given stays there.
    pub(crate) keep: bool,
    /// The command line, without secrets.
    pub(crate) again: String,
}

/// How fast is Redis, here? Measures what Redis's own page of benchmarks shows, on this machine and
/// this server: the suite; SET, GET, LPUSH and LPOP with and without a pipeline over a million keys;
/// a unix socket against TCP; values of 10 bytes to 100 kB; 1 to as many connections as the limits
/// allow; where client and server run; and two instances, where there are cores for them. Prints the
/// tables and writes a page with charts and every run as JSON. Each point says what limited it.
///
/// What needs a server of its own (unix socket, placement, instances) is measured with --spawn. A
/// server that is given is written to: it gets the keys of redis-benchmark (key:..., counter:...,
/// mylist, myset, myhash, myzset, mystream). Which they are is said before, and what was not there
/// before is removed at the end.
///
/// Takes the options of a run that name the server, log in there or say how keystorm works: -h, -p,
/// -s, -u, -a, --spawn, --threads, --engine and the like (see keystorm --help).
#[derive(Debug, Parser)]
#[command(
    name = "keystorm survey",
    bin_name = "keystorm survey",
    disable_help_flag = true,
    args_override_self = true,
    max_term_width = 100,
    override_usage = "keystorm survey [OPTIONS] [OPTIONS OF THE SERVER]",
    after_help = EXAMPLE,
)]
struct Options {
    /// Less of everything: under a minute instead of about three
    #[arg(long, help_heading = "Survey")]
    quick: bool,
    /// Also what this machine has too few cores for
    #[arg(long, help_heading = "Survey")]
    all: bool,
    /// Also a chapter that measures that server beside it, on the same load: memcached (with --spawn)
    #[arg(long, value_name = "SERVER", help_heading = "Survey", value_parser = ["memcached"])]
    with: Option<String>,
    /// Keys of the chapters on pipelines and connections
    #[arg(long, value_name = "NUM", help_heading = "Survey", default_value = "1M", value_parser = count)]
    keys: u64,
    /// How long each run lasts [default: so that all of them take as long as said above]
    #[arg(long, value_name = "TIME", help_heading = "Survey", value_parser = seconds)]
    seconds: Option<Duration>,
    /// Leave in a server that was given what the survey writes there
    #[arg(long, help_heading = "Survey")]
    keep: bool,
    /// Where to write survey.html and survey.json
    #[arg(short = 'o', value_name = "DIR", help_heading = "Results", default_value = ".")]
    output: PathBuf,
    #[command(flatten)]
    pages: PageOptions,
    /// Print this help
    #[arg(long, action = ArgAction::Help, help_heading = "Other")]
    help: Option<bool>,
}

/// What stands below the options.
const EXAMPLE: &str = "\
Ctrl-C prints and keeps what has been measured and ends with exit code 130.

Examples:
  A first look at a server that is started for it, into survey.html:
    $ keystorm survey --quick --spawn

  A server that runs, thoroughly:
    $ keystorm survey -h 127.0.0.1 -o reports";

/// What a survey decides itself, or cannot have.
const REFUSED: [&str; 32] = [
    "-c",
    "-n",
    "-P",
    "-d",
    "--size-by",
    "--content",
    "-r",
    "-t",
    "-k",
    "-l",
    "-I",
    "-x",
    "-q",
    "--duration",
    "--warmup",
    "--rps",
    "--arrivals",
    "--window",
    "--sequential",
    "--key-dist",
    "--csv",
    "--format",
    "--json",
    "--hdr",
    "--dataset",
    "--maxdocs",
    "--start-at",
    "--shard",
    "--print-plan",
    "--cpus",
    "--server-cpus",
    "--spawn-unix",
];

const NAME: &str = "keystorm survey";
const SECONDS_MAX: f64 = 3600.0;

impl FrontEnd for SurveyFront {
    fn names(&self) -> &'static [&'static str] {
        &["survey"]
    }

    fn command(&self) -> Option<Command> {
        Some(with_those_of_a_run(Options::command(), &REFUSED))
    }

    fn parse(&self, _called_as: Option<&str>, args: Vec<OsString>) -> Result<Intent, UsageError> {
        let (options, line, again) = match split::<Options>(args)? {
            Ok(split) => split,
            Err(intent) => return Ok(intent),
        };
        let Options { quick, all, with, keys, seconds, keep, output, pages, .. } = options;
        if pages.html.is_some() {
            return Err(UsageError(
                "--html: the page of a survey is survey.html in the directory of -o".to_owned(),
            ));
        }
        if output.extension().is_some_and(|end| end.eq_ignore_ascii_case("html"))
            && !output.is_dir()
        {
            return Err(UsageError(format!(
                "-o {}: a directory is needed, in which the page will be survey.html",
                output.display()
            )));
        }
        if let Some(option) = REFUSED.iter().find(|option| line.has(option)) {
            let text = format!("{option}: a survey decides that itself; see keystorm sweep");
            return Err(UsageError(text));
        }
        if let Some(word) = line.rest.first() {
            let word = word.to_string_lossy();
            return Err(UsageError(format!("{word}: a survey has commands of its own")));
        }
        let within = |time| seconds_in("--seconds", time, 0.01..=SECONDS_MAX);
        let seconds = seconds.map(within).transpose().map_err(UsageError)?;
        if !(1..=1_000_000_000).contains(&keys) {
            let text = format!("--keys {keys}: between 1 and 1,000,000,000 are possible");
            return Err(UsageError(text));
        }
        let first = job(NAME, line.words())?;
        let endpoint = first.plans.first().map(|plan| &plan.target.endpoint);
        let spawned = matches!(endpoint, Some(workload::Endpoint::Spawned { .. }));
        let unix = matches!(endpoint, Some(workload::Endpoint::Unix(_)));
        let server = Line { options: line.options, rest: Vec::new() };
        let wish = Wish {
            server,
            spawned,
            unix,
            quick,
            all,
            seconds,
            keys,
            clients_max: None,
            with_memcached: with.is_some(),
        };
        Ok(Intent::Survey(Box::new(SurveyJob {
            wish,
            first,
            pages: PageOptions {
                html: Some(output.join("survey.html")),
                ..pages.checked().map_err(UsageError)?
            },
            directory: output,
            keep,
            again,
        })))
    }
}
