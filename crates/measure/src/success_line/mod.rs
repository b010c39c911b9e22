//! Successes and failures of each server over time.
//!
//! Workers count them in [`Slices`] of 10 ms, which add up over workers and intervals to one line for each
//! server. [`outages`] finds the outages in it, exact to a slice at either end.

mod outages;

use std::collections::BTreeMap;
use std::ops::Range;

use crate::slices::{Failures, SLICE_NS, Slices};

/// Slices between two notes of whether anything is asked of a server: an interval.
const LOOK: usize = 25;
/// Maximum number of slices kept for each server: a day. Later events are in no outage.
const KEPT_MAX: usize = 8_640_000;

/// Successes and failures on each server over a whole run.
#[derive(Debug, Clone, Default)]
pub struct SuccessLine {
    nodes: Vec<NodeLine>,
}

#[derive(Debug, Clone, Default)]
struct NodeLine {
    /// Successes of each slice.
    ok: Vec<u32>,
    failures: BTreeMap<usize, Failures>,
    /// Activity at the end of each interval.
    looks: Vec<NodeActivity>,
}

/// Activity of a server's workers at the end of an interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum NodeActivity {
    /// Not reported.
    #[default]
    Unknown,
    /// No worker asked for anything.
    Unasked,
    /// A worker asked for something.
    Asked,
}

impl SuccessLine {
    /// Adds a worker's slices of the interval that begins at `from_ns`, for each server.
    pub fn add(&mut self, from_ns: u64, slices: &[Slices]) {
        if self.nodes.len() < slices.len() {
            self.nodes.resize_with(slices.len(), NodeLine::default);
        }
        let first = (from_ns / SLICE_NS) as usize;
        for (line, slices) in self.nodes.iter_mut().zip(slices) {
            line.add(first, slices);
        }
    }

    /// Adds the failures, on any server, of the senders whose messages succeed here.
    pub fn add_failures(&mut self, of: &Self) {
        if self.nodes.is_empty() {
            self.nodes.push(NodeLine::default());
        }
        let failures = of.nodes.iter().flat_map(|line| &line.failures);
        failures
            .for_each(|(at, failed)| self.nodes[0].failures.entry(*at).or_default().merge(failed));
    }
}

impl NodeLine {
    fn add(&mut self, first: usize, slices: &Slices) {
        self.look(first / LOOK, slices.unasked);
        for (index, (ok, failures)) in (first..).zip(slices.ok.iter().zip(&slices.failures)) {
            if index >= KEPT_MAX {
                return;
            }
            if *ok > 0 {
                if self.ok.len() <= index {
                    self.ok.resize(index + 1, 0);
                }
                self.ok[index] = self.ok[index].saturating_add(*ok);
            }
            if failures.total() > 0 {
                self.failures.entry(index).or_default().merge(failures);
            }
        }
    }

    fn look(&mut self, interval: usize, unasked: bool) {
        if interval >= KEPT_MAX / LOOK {
            return;
        }
        if self.looks.len() <= interval {
            self.looks.resize(interval + 1, NodeActivity::Unknown);
        }
        self.looks[interval] = match (self.looks[interval], unasked) {
            (NodeActivity::Asked, _) | (_, false) => NodeActivity::Asked,
            (NodeActivity::Unknown | NodeActivity::Unasked, true) => NodeActivity::Unasked,
        };
    }

    /// Parts of the span in which requests for the server were noted.
    fn asked(&self, span: Range<usize>) -> Vec<Range<usize>> {
        let mut parts = Vec::new();
        let mut from = Some(span.start);
        for interval in span.start / LOOK..(span.end / LOOK).min(self.looks.len()) {
            let (begins, ends) = ((interval * LOOK).max(span.start), (interval + 1) * LOOK);
            // Failures since the last look show that there were requests.
            let failed =
                self.failures.range(interval * LOOK..(interval + 1) * LOOK).next().is_some();
            if self.looks[interval] != NodeActivity::Unasked || failed {
                from.get_or_insert(begins);
            } else if ends > span.start
                && let Some(from) = from.take()
            {
                parts.push(from..ends.min(span.end));
            }
        }
        // Nobody has looked at the end yet.
        let last = (span.end / LOOK * LOOK).max(span.start);
        parts.push(from.unwrap_or(last)..span.end);
        parts
    }

    /// Slices with a success from `from` on, before `to`.
    fn successes(&self, from: usize, to: usize) -> impl Iterator<Item = usize> {
        (from..to.min(self.ok.len())).filter(|index| self.ok[*index] > 0)
    }

    fn sum(&self, from: usize, to: usize) -> u64 {
        let to = to.min(self.ok.len());
        self.ok[from.min(to)..to].iter().map(|n| u64::from(*n)).sum()
    }

    /// Median of the numbers of empty slices between two with a success.
    fn usual_distance(&self) -> usize {
        let mut distances: BTreeMap<usize, usize> = BTreeMap::new();
        let mut last = None;
        for index in self.successes(0, usize::MAX) {
            if let Some(last) = last.replace(index) {
                *distances.entry(index - last - 1).or_default() += 1;
            }
        }
        let half = distances.values().sum::<usize>().div_ceil(2);
        let mut seen = 0;
        let median = distances.iter().find(|(_, count)| {
            seen += **count;
            seen >= half
        });
        median.map_or(0, |(distance, _)| *distance)
    }
}

#[cfg(test)]
mod tests;
