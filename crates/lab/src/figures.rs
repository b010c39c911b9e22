//! Figures of a run in a row of a table.

use report::{Cause, Disturbance, Finding, Held, LimitedBy, Run, Summary};
use serde::{Deserialize, Serialize};

/// The figures of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Answered requests.
    pub requests: u64,
    /// Error replies among them.
    pub errors: u64,
    /// Answered requests per second.
    pub throughput_rps: f64,
    /// Median response time in nanoseconds.
    pub p50_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// 99.9th percentile.
    pub p999_ns: u64,
    /// Greatest.
    pub max_ns: u64,
    /// CPU time of keystorm's workers for each request, in nanoseconds.
    pub client_cpu_ns: Option<f64>,
    /// Bytes of requests and replies together per second.
    pub bytes_per_s: f64,
    /// Limit of the run.
    pub limited_by: LimitedBy,
    /// Sentence on the limit, with the evidence.
    pub verdict: String,
    /// The reason in a word, if known.
    #[serde(default)]
    pub finding: Option<Finding>,
    /// The evidence in words, without the limit and without advice.
    #[serde(default)]
    pub statement: String,
    /// Reason why the client or the machine, rather than the server, decided the run.
    #[serde(default)]
    pub disturbance: Option<Disturbance>,
    /// Share of the machine that others may have used.
    #[serde(default)]
    pub held: Held,
    /// Reason why the run was cut short; safe for a terminal.
    pub shortfall: Option<String>,
}

/// Describes the limit of a run in a sentence that begins with `words`, if the limit is known.
pub(crate) fn limited_by(run: &Figures, words: &str) -> String {
    match run.limited_by {
        LimitedBy::Unknown => format!("What limited it is unknown: {}", run.statement),
        _ if run.finding == Some(Finding::ScheduleKept) => {
            format!("Not saturated: {}", run.statement)
        }
        _ => format!("{words}{}", run.verdict),
    }
}

impl Figures {
    /// A response time in milliseconds; `None` where no request succeeded.
    pub(crate) fn msec(&self, ns: u64) -> Option<String> {
        (self.max_ns > 0).then(|| report::msec_at_most(ns))
    }

    /// The figures of a run.
    pub fn from_run(run: &Run) -> Self {
        let summary = Summary::from_run(run);
        let payload = run.verdict.evidence.iter().find(|evidence| evidence.name == "payload");
        Self {
            requests: summary.requests,
            errors: summary.errors,
            throughput_rps: summary.throughput_rps,
            p50_ns: summary.response.p50_ns,
            p99_ns: summary.response.p99_ns,
            p999_ns: summary.response_times.quantile_ns(0.999).unwrap_or_default(),
            max_ns: summary.response.max_ns,
            client_cpu_ns: summary.client_cpu_ns(),
            bytes_per_s: payload.map_or(0.0, |evidence| evidence.value),
            limited_by: run.verdict.limited_by,
            verdict: run.verdict.text.clone(),
            finding: run.verdict.finding,
            statement: run.verdict.statement.clone(),
            disturbance: Disturbance::from_run(run),
            held: Held::of_run(run),
            shortfall: summary.shortfall(),
        }
    }

    /// Returns the disturbance of the run by other programs or the hypervisor, if it decided the run. The
    /// client's own faults are reported as its limit.
    pub fn disturbed(&self) -> Option<Cause> {
        self.disturbance.as_ref().map(|found| found.cause).filter(|cause| cause.by_others())
    }

    /// Returns whether the run measured what was planned.
    pub fn complete(&self) -> bool {
        self.shortfall.is_none()
    }
}

/// Returns the disturbance of most of these runs, and the number of runs with any; `None` if there is none.
pub(crate) fn disturbed<'f>(runs: impl Iterator<Item = &'f Figures>) -> Option<(Cause, usize)> {
    let causes: Vec<Cause> = runs.filter_map(Figures::disturbed).collect();
    let count = |cause: &Cause| causes.iter().filter(|other| *other == cause).count();
    let most = causes.iter().copied().max_by_key(count)?;
    Some((most, causes.len()))
}

/// The run with median throughput (the lower of two medians), and the least and greatest throughput.
/// Disturbed runs are left out unless all are disturbed. `None` without runs.
pub(crate) fn middle(runs: &[Figures]) -> Option<(&Figures, (f64, f64))> {
    let mut sorted: Vec<&Figures> = runs.iter().filter(|run| run.disturbed().is_none()).collect();
    if sorted.is_empty() {
        sorted = runs.iter().collect();
    }
    sorted.sort_by(|a, b| a.throughput_rps.total_cmp(&b.throughput_rps));
    let (first, last) = (sorted.first()?, sorted.last()?);
    let span = (first.throughput_rps, last.throughput_rps);
    Some((sorted[(sorted.len() - 1) / 2], span))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Figures of a run that served this many requests per second, for tests.
    pub(crate) fn figures(throughput_rps: f64, p99_ns: u64) -> Figures {
        Figures {
            requests: throughput_rps as u64,
            errors: 0,
            throughput_rps,
            p50_ns: p99_ns / 2,
            p99_ns,
            p999_ns: p99_ns * 2,
            max_ns: p99_ns * 3,
            client_cpu_ns: Some(5_000.0),
            bytes_per_s: throughput_rps * 60.0,
            limited_by: LimitedBy::Server,
            verdict: "server: busy".into(),
            finding: Some(Finding::Server),
            statement: "busy".into(),
            disturbance: None,
            held: Held::default(),
            shortfall: None,
        }
    }

    #[test]
    fn the_middle_of_repeats_is_one_of_them() {
        let runs = [figures(3.0, 1), figures(1.0, 1), figures(2.0, 1), figures(9.0, 1)];
        let (found, span) = middle(&runs).unwrap();
        assert_eq!((found.throughput_rps, span), (2.0, (1.0, 9.0)));
        assert_eq!(middle(&[]), None);
        // Disturbance by other programs is left out of conclusions, unless there is nothing else.
        let held = Disturbance {
            cause: Cause::CpuHeld,
            evidence: Vec::new(),
            text: "the client waited".to_owned(),
        };
        let disturbed = |rps| Figures { disturbance: Some(held.clone()), ..figures(rps, 1) };
        let runs = [disturbed(1.0), figures(5.0, 1), disturbed(2.0), figures(6.0, 1)];
        assert_eq!(middle(&runs).unwrap().1, (5.0, 6.0));
        assert_eq!(super::disturbed(runs.iter()), Some((Cause::CpuHeld, 2)));
        assert_eq!(middle(&[disturbed(1.0)]).unwrap().0.throughput_rps, 1.0);
    }
}
