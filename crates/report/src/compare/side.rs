//! A server in a comparison of two: its runs, and what limited and disturbed them.

use std::sync::Arc;

use super::RunDigest;
use super::limits::{Limit, Limits};
use crate::groups::by_frequency;
use crate::{Failures, Held, LimitedBy, Metric, Run};

/// The requests of these runs.
pub(super) fn failures(runs: &[RunDigest]) -> Failures {
    let mut all = Failures::default();
    runs.iter().for_each(|run| all += run.failures);
    all
}

/// The runs of a server.
#[derive(Debug, Clone)]
pub struct Side {
    /// Name of the server.
    pub name: String,
    /// Number of its runs.
    pub runs: usize,
    /// Limits of the runs.
    pub limits: Limits,
    /// Requests to it, including those of void blocks.
    pub failures: Failures,
    /// Share of the time for which others held up client or server.
    pub held: f64,
    /// Share of its reads that hit, in percent, if compared.
    pub hit_ratio: Option<f64>,
    counted: Vec<Arc<Run>>,
    middle: Option<Arc<Run>>,
}

impl Side {
    /// Makes a side of runs that count.
    pub(super) fn new(name: &str, runs: &[RunDigest]) -> Self {
        let throughput = |of: &&RunDigest| of.figures.get(Metric::Throughput).unwrap_or(0.0);
        let mut sorted: Vec<&RunDigest> = runs.iter().collect();
        sorted.sort_by(|a, b| throughput(a).total_cmp(&throughput(b)));
        let middle = sorted.get(sorted.len().saturating_sub(1) / 2);
        Self {
            name: name.to_owned(),
            runs: runs.len(),
            limits: by_frequency(runs.iter().map(Limit::of_run)),
            failures: failures(runs),
            held: Held::mean(runs.iter().map(|of| of.held)).share,
            hit_ratio: None,
            counted: runs.iter().map(|of| of.run.clone()).collect(),
            middle: middle.map(|of| of.run.clone()),
        }
    }

    /// The runs that count.
    pub fn counted(&self) -> impl Iterator<Item = &Run> {
        self.counted.iter().map(|run| &**run)
    }

    /// The run with median throughput, the lower of two, for a closer look.
    pub fn middle(&self) -> Option<&Run> {
        self.middle.as_deref()
    }

    /// Returns the limit of at least half of the runs.
    pub(super) fn mostly(&self) -> Option<LimitedBy> {
        let most = self.limits.first().filter(|(_, count)| count * 2 >= self.runs);
        most.map(|(limit, _)| limit.by)
    }
}
