//! The options of `keystorm compare` that a run lacks, and the text of its help.

use naming::{
    CALLED, CLOCK, CORES, HDR, HOST, IDLE, KEEP, OptionId, PORT, PRINT_PLAN, PRINT_WORKLOAD, PROBE,
    REPEAT, SHARD, SOCKET, SPAWN, START_AT, TABLES, URI,
};
use std::ops::RangeBounds;
use std::time::Duration;

use clap::{Arg, ArgAction, Args, Command, CommandFactory, Parser};
use lab::terms::TermKind;
use report::Metric;
use report::compare::COMPARED;

use super::super::replay::RecordOptions;
use super::super::run;
use super::super::suggestions::named;
use super::job::InconclusivePolicy;
use spec::values::{count_in, seconds};

/// Policy for a block that the client or the machine spoiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum DisturbedPolicy {
    Repeat,
    Count,
}

const ABOUT: &str = "Compares servers, or two saved runs. For each test, it prints the ratio of \
    the second to the first for throughput, latency percentiles and CPU per request, with a 95 % \
    confidence interval, whether they differ, and what limited each. All servers get the same load \
    in turn, there and back, so that a temporary slowdown of the machine affects all. With --rps and \
    --slo it says which of two or more servers keeps the target, and at what cost; a list of rates (--rps \
    1k,5k,20k) draws throughput against latency of all of them";

/// Text below every option; examples are on the first page.
const EXAMPLES: &str = include_str!("../../help/compare.txt").trim_ascii_end();

/// Options of servers of different protocols.
pub(super) const TERMS_OPTIONS: [OptionId; 2] = [TABLES, CORES];
/// Maximum number of cores of servers: each core gets a process.
const CORES_MAX: u32 = 256;
/// Options that the help has behind `--slo`.
const BEHIND_SLO: [&str; 7] =
    ["inconclusive", "disturbed", "name_a", "name_b", "budget", "until_sure", "sure_within"];
/// Options that the servers named by the first words replace.
pub(super) const SERVER_OPTIONS: [OptionId; 5] = [HOST, PORT, SOCKET, URI, SPAWN];
pub(super) const NAMED: &str = "cannot be used here: the servers are named by the first words";
/// Options that work with one server only.
pub(super) const SINGLE_SERVER_OPTIONS: [OptionId; 11] =
    [PROBE, CLOCK, HDR, KEEP, IDLE, REPEAT, START_AT, SHARD, PRINT_PLAN, PRINT_WORKLOAD, CALLED];

// Options that a run lacks. (A doc comment would become what the command is about.)
#[derive(Debug, Args)]
pub(super) struct CompareOptions {
    /// Exit with code 3 if the second server's throughput is lower, or its p99 higher, by more than PCT percent (other
    /// figures by --metric), at a confidence of 95 % over all tests together; with code 0 only if that is excluded,
    /// otherwise with 4
    #[arg(long, value_name = "PCT", value_parser = percent, help_heading = "Results")]
    pub(super) fail_on_regression: Option<f64>,
    /// Figures that --fail-on-regression checks, comma-separated: throughput, p50, p90, p95, p99, p99.9, server-cpu
    /// (server CPU per request) and client-cpu [default: throughput,p99]
    #[arg(long, value_name = "LIST", value_parser = metric_of(&COMPARED), value_delimiter = ',',
          action = ArgAction::Set, help_heading = "Results")]
    pub(super) metric: Vec<Metric>,
    /// The percentage of a server's requests that may fail. Above it there is no ratio, and the exit code is 3 if this
    /// or --fail-on-regression is given [default: 0.1]
    #[arg(long, value_name = "PCT", value_parser = percent_in(0.0..=100.0, "0 to 100"), help_heading = "Results")]
    pub(super) errors: Option<f64>,
    /// If the runs do not say whether --fail-on-regression is passed, or --slo kept: pass (exit code 0), fail (3), or
    /// repeat (take further blocks within --budget, even with --repeat) [default: exit code 4]
    #[arg(long, value_name = "WHAT", hide_possible_values = true, help_heading = "Results")]
    pub(super) inconclusive: Option<InconclusivePolicy>,
    /// A block of runs in which the client sent requests late: repeat it (at most as many as --repeat) or count it. All
    /// other noise hits the servers in turn, and is in the intervals [default: repeat]
    #[arg(long, value_name = "WHAT", hide_possible_values = true, help_heading = "Results")]
    pub(super) disturbed: Option<DisturbedPolicy>,
    /// Call the first server so [default: product and version, or what differs]
    #[arg(long, value_name = "NAME", help_heading = "Results")]
    pub(super) name_a: Option<String>,
    /// Call the second server so [default: product and version, or what differs]
    #[arg(long, value_name = "NAME", help_heading = "Results")]
    pub(super) name_b: Option<String>,
    /// Take further blocks while the runs do not say, for at most TIME in all; with --repeat, there are further blocks
    /// only if this is given [default: 3m]
    #[arg(long, value_name = "TIME", value_parser = seconds, help_heading = "Results")]
    pub(super) budget: Option<Duration>,
    /// Repeat until the 95 % interval of each test's throughput, or with --rps of its p99, is within ±PCT percent, or
    /// say how many repeats that takes and exit with code 4 [default: 2]
    #[arg(long, value_name = "PCT", value_parser = percent_in(0.01..=50.0, "0.01 to 50"), num_args = 0..=1,
          require_equals = true, default_missing_value = "2", help_heading = "Results")]
    pub(super) until_sure: Option<f64>,
    /// Time limit of --until-sure [default: 10m]
    #[arg(long, value_name = "TIME", value_parser = seconds, help_heading = "Results")]
    pub(super) sure_within: Option<Duration>,
}

// Options of servers of different protocols.
#[derive(Debug, Args)]
pub(super) struct TermsOptions {
    /// Tables of Redis and memcached, comma-separated: core, machine, latency (requires core) and mget [default: all]
    #[arg(long, value_name = "LIST", value_parser = kind, value_delimiter = ',', action = ArgAction::Set,
          help_heading = "Equal terms")]
    pub(super) tables: Vec<TermKind>,
    /// Cores for the servers in the per-machine table [default: half of all cores]
    #[arg(long, value_name = "NUM", value_parser = count_in(1..=CORES_MAX), help_heading = "Equal terms")]
    pub(super) cores: Option<u32>,
}

/// Options of recorded traffic.
#[derive(Debug, Parser)]
pub(super) struct RecordedLoadOptions {
    #[command(flatten)]
    pub(super) record: RecordOptions,
    /// Do not compare answers to --replay
    #[arg(long = "no-answers", help_heading = "Record")]
    pub(super) no_answers: bool,
}

/// The options, without those that a run has, too.
pub(super) fn record_args() -> Vec<Arg> {
    let (own, of_run) = (RecordedLoadOptions::command(), run::vocabulary());
    let added = own.get_arguments().filter(|arg| {
        let long = arg.get_long().map(|long| format!("--{long}"));
        long.is_some_and(|long| named(&of_run, &long).is_none())
    });
    added.cloned().collect()
}

/// The options of a run as those of a comparison.
pub(super) fn explained(run: Command) -> Command {
    let refused = |arg: &Arg| {
        let id = arg.get_id().as_str();
        OptionId::any_has(&SINGLE_SERVER_OPTIONS, id) || OptionId::any_has(&SERVER_OPTIONS, id)
    };
    let run = run
        .about(ABOUT)
        .mut_args(|arg| if refused(&arg) { arg.hide(true) } else { arg })
        .override_usage("keystorm compare SERVER SERVER... [OPTIONS] [--] [COMMAND ARGS...]")
        .after_help(EXAMPLES);
    let run = CompareOptions::augment_args(run).mut_arg("slo", |slo| {
        slo.help(
            "Target for response times at --rps, such as p99<2ms; the answer says which server keeps it",
        )
    });
    // A changed option moves to the end: these follow the target.
    let run = BEHIND_SLO.into_iter().fold(run, |run, id| run.mut_arg(id, |arg| arg));
    let run = run.args(record_args()).mut_arg("replay", |replay| {
        replay.help_heading("Record").help(
            "Send this recorded traffic to both servers, at its times: compares their answers, each command's \
             response times and CPU, and with --slo how many times the traffic each takes. Repeat it for \
             several files",
        )
    });
    TermsOptions::augment_args(run)
}

/// A figure of these by its name.
pub fn metric_of(all: &'static [Metric]) -> impl Fn(&str) -> Result<Metric, String> + Clone {
    move |text| {
        let named = all.iter().copied().find(|metric| metric.option() == Some(text.trim()));
        named.ok_or_else(|| {
            let names: Vec<&str> = all.iter().copied().filter_map(Metric::option).collect();
            format!("expected one of {}", names.join(", "))
        })
    }
}

fn kind(text: &str) -> Result<TermKind, String> {
    let found = TermKind::ALL.into_iter().find(|kind| kind.name() == text.trim());
    found.ok_or_else(|| "expected core, machine, latency or mget".to_owned())
}

/// Parses a percentage by which a figure may become worse.
///
/// # Errors
/// Returns an error if the text is no percentage from 0 to below 100.
pub fn percent(text: &str) -> Result<f64, String> {
    percent_in(0.0..100.0, "0 to below 100")(text)
}

/// Makes a parser of percentages in a range, whose ends `named` has.
pub fn percent_in(
    range: impl RangeBounds<f64> + Clone,
    named: &'static str,
) -> impl Fn(&str) -> Result<f64, String> + Clone {
    move |text| {
        let percent = spec::values::percent(text).ok().filter(|percent| range.contains(percent));
        percent.ok_or_else(|| format!("expected a percentage from {named}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn per_cent_are_below_a_hundred() {
        assert_eq!((percent("5"), percent("2.5%")), (Ok(5.0), Ok(2.5)));
        for text in ["", "x", "-1", "100", "nan", "inf"] {
            assert!(percent(text).is_err(), "{text}");
        }
    }
}
