//! The choice between servers: which keep a target at a rate, and what each costs there.
//!
//! Owns the answer: the servers that keep it, the most economical one, and the distance of each from its
//! limit. The caller judges runs by the target.

use measure::statistics::{Interval, Mean};
use serde::Serialize;

use super::{ERRORS_DEFAULT, RunDigest, response_times};
use crate::quantity::{grouped, listed, megabytes};
use crate::{CountUnit, Failures, Figures, Finding, LimitedBy, Lookups, Metric, Summary};

/// State of a target on one server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TargetState {
    /// The target was kept, and the interval excludes a miss.
    Yes,
    /// The target was missed, and the interval excludes keeping it.
    No,
    /// The runs do not decide.
    Undecided,
    /// The client did its work in no run, so that there is no conclusion.
    Void,
}

impl TargetState {
    /// The stable word for programs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
            Self::Undecided => "undecided",
            Self::Void => "void",
        }
    }
}

/// A clause of the target over the runs of a server.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClauseValue {
    /// The clause, such as `p99<2ms`.
    pub clause: String,
    /// Value of all runs together, in the unit of the bound: nanoseconds, or a share of errors; `None` for a
    /// response time if nothing succeeded.
    pub mean: Option<f64>,
    /// Interval that contains the true value 95 times in 100.
    pub interval: Option<[f64; 2]>,
    /// Bound that the value must stay below, or above for a goodput.
    pub below: f64,
    /// Name of the figure, such as `p99`.
    #[serde(skip)]
    pub measure: String,
    /// Set if the value is a time.
    #[serde(skip)]
    pub is_latency: bool,
}

/// A server on one load.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// Name of the server.
    pub name: String,
    /// State of the target; `None` without one.
    pub kept: Option<TargetState>,
    /// Reason why the target is missed or undecided; empty if it is kept.
    pub why: String,
    /// The clauses of the target.
    pub clauses: Vec<ClauseValue>,
    /// Number of counting runs.
    pub runs: usize,
    /// Percentiles of all runs together, and means of other figures over the runs.
    pub figures: Figures,
    /// Answers per second in the unit of the schedule: for messages, each counts once for any number of
    /// deliveries.
    pub pace_rps: Option<f64>,
    /// Interval that contains the true CPU time of the server per request 95 times in 100.
    pub server_cpu_interval: Option<Interval>,
    /// Memory of its processes after the last run, in bytes; not the server's own count.
    pub memory_bytes: Option<u64>,
    /// Requests per second at full speed and the limit there; `None` if too many of them failed.
    pub limit: Option<(f64, LimitedBy)>,
    /// The slowest and the fastest of the runs at full speed.
    pub limit_range: Option<[f64; 2]>,
    /// The share of its requests that failed.
    pub failures: Failures,
    /// Share of hits among lookups of filled keys, 0 to 1; `None` without a fill.
    pub found: Option<f64>,
}

/// Share of hits in the runs, if the keys were filled.
fn found(runs: &[RunDigest]) -> Option<f64> {
    let lookups = runs.iter().map(|glance| {
        let plan = &glance.run().plan;
        let is_meant = plan.key_spaces().any(|(_, keys)| keys.draw.may_miss());
        let lookups = Summary::from_run(glance.run()).lookups;
        (plan.data.fill.is_some() && !is_meant).then_some(lookups)
    });
    let all: Vec<Option<Lookups>> = lookups.collect();
    Lookups::sum(&all).found_share()
}

/// Returns whether a run was so short that queries of the server cost as much CPU as its requests.
fn is_short(glance: &RunDigest) -> bool {
    glance.run().verdict.finding == Some(Finding::Short)
}

/// Mean rate in the unit of the schedule.
fn pace(runs: &[RunDigest]) -> Option<f64> {
    let rates: Vec<f64> =
        runs.iter().map(|glance| Summary::from_run(glance.run()).answered_rps()).collect();
    Some(Mean::from_values(&rates)?.mean)
}

/// The least and the greatest throughput of runs.
fn range(runs: &[RunDigest]) -> Option<[f64; 2]> {
    let rates = || runs.iter().filter_map(|glance| glance.figure(Metric::Throughput));
    Some([rates().min_by(f64::total_cmp)?, rates().max_by(f64::total_cmp)?])
}

impl Candidate {
    /// Makes the figures from counting runs, and from those at full speed.
    pub fn new(name: &str, runs: &[RunDigest], fastest: &[RunDigest]) -> Self {
        let spread = |of: &[RunDigest], metric| {
            let values: Option<Vec<f64>> = of.iter().map(|glance| glance.figure(metric)).collect();
            Mean::from_values(&values?)
        };
        let mean = |of: &[RunDigest], metric| spread(of, metric).map(|mean| mean.mean);
        // Percentiles of all requests together, as the target is judged: a mean over runs is another figure.
        let response = response_times(runs.iter().map(RunDigest::run));
        let at = |quantile| Some(response.as_ref()?.quantile_ns(quantile)? as f64 / 1e6);
        // How fast a server refuses is no figure of what it does.
        let succeeded = if at(0.5).is_some() { runs } else { &[] };
        let failures_of = |of: &RunDigest| Failures::from_measurement(&of.run().measurement);
        let refused = fastest.iter().any(|of| failures_of(of).percent() > ERRORS_DEFAULT);
        let fastest = if refused { &[] } else { fastest };
        let last = runs.last().map_or(&[][..], |glance| &glance.run().watched.servers);
        let limited_by = || {
            let middle = fastest.get(fastest.len() / 2)?;
            Some(middle.run().verdict.limited_by)
        };
        let mut failures = Failures::default();
        runs.iter().for_each(|glance| failures += failures_of(glance));
        Self {
            name: name.to_owned(),
            kept: None,
            why: String::new(),
            clauses: Vec::new(),
            runs: runs.len(),
            figures: Figures::new(|metric| {
                metric.quantile().map_or_else(|| mean(succeeded, metric), at)
            }),
            pace_rps: pace(succeeded),
            server_cpu_interval: spread(succeeded, Metric::ServerCpu)
                .filter(|_| !runs.iter().any(is_short))
                .and_then(|mean| mean.interval),
            memory_bytes: last
                .iter()
                .map(|of| of.memory_rss_bytes)
                .sum::<Option<u64>>()
                .filter(|_| !last.is_empty()),
            limit: mean(fastest, Metric::Throughput).zip(limited_by()),
            limit_range: range(fastest),
            failures,
            found: found(runs),
        }
    }

    /// Returns the share of one core that its requests take at their rate, which may exceed 1.
    pub fn cores(&self) -> Option<f64> {
        Some(self.figures.get(Metric::ServerCpu)? * self.figures.get(Metric::Throughput)? / 1e6)
    }

    /// Returns the requested share of its limit.
    pub fn share_of_limit(&self) -> Option<f64> {
        let (limit, _) = self.limit?;
        Some(self.figures.get(Metric::Throughput)? / limit)
    }
}

/// Results of one load on every server.
#[derive(Debug, Clone)]
pub struct Question {
    /// Name of the load.
    pub name: String,
    /// Unit of rates and CPU times.
    pub unit: CountUnit,
    /// Requested rate of requests, or of messages to send; `None` for full speed.
    pub rate_rps: Option<f64>,
    /// The servers in the order of the command line.
    pub candidates: Vec<Candidate>,
}

/// Relative distance of two figures below which they are not worth a sentence.
const WORTH: f64 = 0.03;

impl Question {
    /// Names the servers that keep the target, in a sentence.
    pub fn answer(&self, target: Option<&str>) -> String {
        let at = self.rate_rps.map_or("as fast as they go".to_owned(), |rate| {
            format!("at {} {}/s", grouped(rate), self.unit.plural())
        });
        let Some(target) = target else { return format!("{}, {at}", self.name) };
        let names = [TargetState::Yes, TargetState::No, TargetState::Undecided, TargetState::Void]
            .map(|kept| -> Vec<&str> {
                let found = self.candidates.iter().filter(|of| of.kept == Some(kept));
                found.map(|of| of.name.as_str()).collect()
            });
        let [yes, no, undecided, void] = names;
        let all = self.candidates.len();
        let keeps = match yes.len() {
            0 => format!("no server was shown to keep {target}"),
            n if n == all => format!("all {all} servers keep {target}"),
            1 => format!("{} keeps {target}", yes[0]),
            _ => format!("{} keep {target}", listed(&yes, " and ")),
        };
        let mut parts = vec![format!("{at}, {keeps}")];
        if !no.is_empty() {
            let does = if no.len() == 1 { "does not" } else { "do not" };
            parts.push(format!("{} {does}", listed(&no, " and ")));
        }
        if !undecided.is_empty() {
            parts.push(format!("the runs do not say for {}", listed(&undecided, " and ")));
        }
        if !void.is_empty() {
            parts.push(format!("{} cannot be judged here", listed(&void, " and ")));
        }
        format!("{}: {}", self.name, parts.join("; "))
    }

    /// Returns the servers to choose from: those that keep the target, or all if none is known to or there is
    /// no target.
    fn eligible(&self) -> Vec<&Candidate> {
        let keep: Vec<&Candidate> =
            self.candidates.iter().filter(|of| of.kept == Some(TargetState::Yes)).collect();
        if keep.is_empty() { self.candidates.iter().collect() } else { keep }
    }

    /// Describes the worth of the difference, a sentence each.
    pub fn worth(&self) -> Vec<String> {
        let eligible = self.eligible();
        if eligible.len() < 2 {
            return self.hits().into_iter().collect();
        }
        let found = [self.cpu_worth(&eligible), memory_worth(&eligible), self.room(&eligible)];
        let mut lines: Vec<String> =
            self.hits().into_iter().chain(found.into_iter().flatten()).collect();
        if lines.is_empty() && eligible.iter().all(|of| of.server_cpu_interval.is_some()) {
            lines.push(
                "No difference in server CPU, memory or limit was found that is worth a choice."
                    .to_owned(),
            );
        }
        lines
    }

    /// Describes each server's share of hits among filled keys, if it is not all.
    fn hits(&self) -> Option<String> {
        let known = |of: &Candidate| Some(format!("{} found {}", of.name, percent_of(of.found?)));
        let lacks = self.candidates.iter().any(|of| of.found.is_some_and(|share| share < 1.0));
        let shares: Vec<String> = self.candidates.iter().filter_map(known).collect();
        lacks.then(|| {
            format!(
                "Of what was filled and read, {}: the rest was gone, and a miss is less work than a hit.",
                shares.join(", ")
            )
        })
    }

    /// Names the server that needs the least CPU. Means whose intervals overlap count as equal.
    fn cpu_worth(&self, eligible: &[&Candidate]) -> Option<String> {
        let (less, more) = ends(eligible, &|of| of.figures.get(Metric::ServerCpu))?;
        let intervals = less.candidate.server_cpu_interval.zip(more.candidate.server_cpu_interval);
        intervals.filter(|(less, more)| less.high < more.low)?;
        let percent = (1.0 - less.figure / more.figure) * 100.0;
        let saved = more.candidate.cores().map(|cores| cores * percent / 100.0);
        let saved = saved
            .filter(|cores| *cores >= 0.01)
            .map_or(String::new(), |cores| format!(", which is {cores:.2} of a core at this load"));
        Some(format!(
            "{} needs the least server CPU: {:.1} µs per {}, {percent:.0} % less than {} with {:.1} µs{saved}.",
            less.candidate.name,
            less.figure,
            self.unit.singular(),
            more.candidate.name,
            more.figure
        ))
    }

    /// Names the server with the most room. Limits that overlap, or that other programs decided, allow no
    /// conclusion.
    fn room(&self, eligible: &[&Candidate]) -> Option<String> {
        let (low, high) = ends(eligible, &|of| Some(of.limit?.0))?;
        let ranges = high.candidate.limit_range.zip(low.candidate.limit_range);
        ranges.filter(|([least, _], [_, most])| least > most)?;
        let limited_by = |of: &Candidate, by: LimitedBy| of.limit.is_some_and(|(_, it)| it == by);
        let contended = |of: &Candidate| limited_by(of, LimitedBy::Contention);
        if contended(low.candidate) || contended(high.candidate) {
            return None;
        }
        let by_client = limited_by(high.candidate, LimitedBy::Client);
        let at_least = if by_client { "at least " } else { "about " };
        Some(format!(
            "{} has the most room: {at_least}{} {}/s at full speed, {:.1} times as much as {}.",
            high.candidate.name,
            grouped(high.figure),
            self.unit.plural(),
            high.figure / low.figure,
            low.candidate.name
        ))
    }
}

/// A candidate at one end of a figure's range.
struct EndOfRange<'c> {
    candidate: &'c Candidate,
    figure: f64,
}

/// Returns the servers with the least and the greatest value, if all have one and the difference matters.
fn ends<'c>(
    eligible: &[&'c Candidate],
    figure: &dyn Fn(&Candidate) -> Option<f64>,
) -> Option<(EndOfRange<'c>, EndOfRange<'c>)> {
    let ends = eligible.iter().map(|of| Some(EndOfRange { candidate: of, figure: figure(of)? }));
    let mut known: Vec<EndOfRange<'c>> = ends.collect::<Option<_>>()?;
    known.sort_by(|a, b| a.figure.total_cmp(&b.figure));
    let most = known.pop()?;
    let least = known.into_iter().next()?;
    (least.figure > 0.0 && most.figure / least.figure >= 1.0 + WORTH).then_some((least, most))
}

/// Names the server that holds the least memory.
fn memory_worth(eligible: &[&Candidate]) -> Option<String> {
    let (least, most) = ends(eligible, &|of| of.memory_bytes.map(|bytes| bytes as f64))?;
    Some(format!(
        "{} holds the least memory: {} resident, {} less than {}.",
        least.candidate.name,
        megabytes(least.figure),
        megabytes(most.figure - least.figure),
        most.candidate.name
    ))
}

/// Percentage of a share that is 100 only if nothing is missing.
fn percent_of(share: f64) -> String {
    let hundredths = (share * 1e4).floor() / 100.0;
    format!("{hundredths:.2} %")
}
