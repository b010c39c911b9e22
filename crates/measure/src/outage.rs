//! When nothing succeeded.
//!
//! Workers count what ended in [`Slices`] of 10 ms. They add up over workers and intervals to one
//! line for each node, and [`SuccessLine::outages`] finds the spans in it in which nothing
//! succeeded though load was due. Times are exact to a slice at either end.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::slices::{Failures, SLICE_NS, Slices};

/// Slices between two looks at whether anything is asked of a node: an interval.
const LOOK: usize = 25;
/// Slices kept for each node: a day. What ends later is in no outage.
const KEPT_MAX: usize = 8_640_000;
/// Outages kept for each node.
const OUTAGES_MAX: usize = 1000;

/// Shortest outage if something failed in it.
const FAILING_MIN: usize = 10;
/// Shortest outage if nothing did, so that it can only be silence: half a second. A busy machine
/// can hold a client up for less.
const SILENT_MIN: usize = 50;
/// An outage is so many times as long as what usually lies between two successes.
const TIMES_USUAL: usize = 20;
/// Silence is so many times as long as a reply usually takes: a server with many clients may read
/// the requests of all before it answers any.
const TIMES_SERVICE: usize = 4;
/// Slices before an outage whose rate is the rate before, at most and at least.
const BEFORE_MAX: usize = 100;
const BEFORE_MIN: usize = 10;
/// Slices that together must be back to so much of that rate.
const BACK_OVER: usize = 10;
const BACK_SHARE: f64 = 0.95;

/// A span in which nothing succeeded on one node although something was asked of it. Times are
/// nanoseconds from the start of the measured part.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Outage {
    /// Index of the node in the measurement's nodes; 0 without a cluster.
    pub node: u16,
    /// The last success before it.
    pub from_ns: u64,
    /// The first success after it, or the end of the run.
    pub to_ns: u64,
    /// Whether it lasted to the end of the run.
    pub to_the_end: bool,
    /// When the first request failed; `None` if none did, and the server was only silent.
    pub first_failure_ns: Option<u64>,
    /// What failed in it.
    pub failures: Failures,
    /// Successes per second in the second before it; `None` if that was too short to tell.
    pub rate_before_per_s: Option<f64>,
    /// From when on the rate was 95 % of that for a tenth of a second; `None` if never.
    pub recovered_ns: Option<u64>,
}

impl Outage {
    /// For how long nothing succeeded.
    #[must_use]
    pub fn length_ns(&self) -> u64 {
        self.to_ns.saturating_sub(self.from_ns)
    }
}

/// What is usual in a run, so that no pause of its own is taken for an outage.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usual {
    /// Nanoseconds between two requests of a schedule; 0 without one.
    pub due_every_ns: u64,
    /// Nanoseconds that a reply takes: the median.
    pub service_ns: u64,
}

/// What succeeded and what failed on each node over a whole run.
#[derive(Debug, Clone, Default)]
pub struct SuccessLine {
    nodes: Vec<NodeLine>,
}

#[derive(Debug, Clone, Default)]
struct NodeLine {
    /// Successes of each slice, as far as the line is long; more than fit count as that many.
    ok: Vec<u16>,
    failures: BTreeMap<usize, Failures>,
    /// What was known at the end of each interval.
    looks: Vec<Look>,
}

/// Whether anything was asked of a node when an interval ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Look {
    /// Nobody said.
    #[default]
    Unknown,
    /// No worker asked for anything.
    Unasked,
    /// One did.
    Asked,
}

impl SuccessLine {
    /// Adds what a worker saw in the interval that begins at `from_ns`, on each node.
    pub fn add(&mut self, from_ns: u64, slices: &[Slices]) {
        if self.nodes.len() < slices.len() {
            self.nodes.resize_with(slices.len(), NodeLine::default);
        }
        let first = (from_ns / SLICE_NS) as usize;
        for (line, slices) in self.nodes.iter_mut().zip(slices) {
            line.add(first, slices);
        }
    }

    /// The outages of a run that took `elapsed_ns`, in the order in which they began.
    #[must_use]
    pub fn outages(&self, elapsed_ns: u64, usual: &Usual) -> Vec<Outage> {
        let end = elapsed_ns.div_ceil(SLICE_NS) as usize;
        let lines = (0..).zip(&self.nodes);
        let mut outages: Vec<Outage> =
            lines.flat_map(|(node, line)| line.outages(node, end, usual)).collect();
        outages.sort_by_key(|outage| outage.from_ns);
        outages
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
                let sum = u32::from(self.ok[index]).saturating_add(*ok);
                self.ok[index] = sum.min(u32::from(u16::MAX)) as u16;
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
            self.looks.resize(interval + 1, Look::Unknown);
        }
        self.looks[interval] = match (self.looks[interval], unasked) {
            (Look::Asked, _) | (_, false) => Look::Asked,
            (Look::Unknown | Look::Unasked, true) => Look::Unasked,
        };
    }

    /// The first slice after `from`, up to `to`, before which nothing was asked of the node.
    fn unasked(&self, from: usize, to: usize) -> Option<usize> {
        let intervals = from / LOOK..(to / LOOK).min(self.looks.len());
        let at = |interval: usize| (interval + 1) * LOOK;
        intervals.filter(|n| self.looks[*n] == Look::Unasked).map(at).find(|at| *at > from)
    }

    fn sum(&self, from: usize, to: usize) -> u64 {
        let to = to.min(self.ok.len());
        self.ok[from.min(to)..to].iter().map(|n| u64::from(*n)).sum()
    }

    fn outages(&self, node: u16, end: usize, usual: &Usual) -> Vec<Outage> {
        let failed_to = self.failures.last_key_value().map_or(0, |(index, _)| index + 1);
        let end = end.max(failed_to).max(self.ok.len()).min(KEPT_MAX);
        let unanswered = self.failures.values().any(|f| f.lost + f.timed_out > 0);
        let looked = !self.looks.contains(&Look::Unknown);
        let silent = self.failures.is_empty() && looked && self.looks.contains(&Look::Asked);
        if self.ok.is_empty() && !unanswered && !silent {
            return Vec::new(); // Every reply was an error: there is no success to come back to.
        }
        let Usual { due_every_ns, service_ns } = *usual;
        let due_every = due_every_ns.div_ceil(SLICE_NS) as usize - usize::from(due_every_ns > 0);
        let usual = self.usual_distance().max(due_every) * TIMES_USUAL;
        let silent = SILENT_MIN.max((service_ns / SLICE_NS) as usize * TIMES_SERVICE);
        let mut outages: Vec<Outage> = Vec::new();
        let mut begun = 0;
        let mut calm_from = 0;
        let successes = (0..self.ok.len()).filter(|index| self.ok[*index] > 0);
        for at in successes.chain([end]) {
            let from = std::mem::replace(&mut begun, at + 1);
            if at < from + FAILING_MIN.max(usual) || outages.len() == OUTAGES_MAX {
                continue;
            }
            // It ends when nothing is asked any more: slots have moved, or nothing is due.
            let unasked = self.unasked(from, at);
            let mut outage = self.outage(node, from, unasked.unwrap_or(at));
            let least = if outage.first_failure_ns.is_some() { FAILING_MIN } else { silent };
            if outage.length_ns() < least.max(usual) as u64 * SLICE_NS {
                continue;
            }
            outage.to_the_end = at == end && unasked.is_none();
            let measured = self.rate(calm_from, from.saturating_sub(1));
            outage.rate_before_per_s =
                measured.or_else(|| outages.last().and_then(|last| last.rate_before_per_s));
            let recovered = outage.rate_before_per_s.and_then(|rate| self.recovery(at, end, rate));
            outage.recovered_ns = recovered.map(|index| index as u64 * SLICE_NS);
            calm_from = recovered.unwrap_or(end);
            outages.push(outage);
        }
        outages
    }

    /// The span between a success before slice `from` and one in slice `at`, and what failed in it.
    fn outage(&self, node: u16, from: usize, at: usize) -> Outage {
        let within = from.saturating_sub(1)..=at;
        let mut failures = Failures::default();
        let mut first = None;
        for (index, more) in self.failures.range(within) {
            first.get_or_insert(*index);
            failures.merge(more);
        }
        Outage {
            node,
            from_ns: from as u64 * SLICE_NS,
            to_ns: at as u64 * SLICE_NS,
            to_the_end: false,
            first_failure_ns: first.map(|index| index as u64 * SLICE_NS),
            failures,
            rate_before_per_s: None,
            recovered_ns: None,
        }
    }

    /// Empty slices that usually lie between two with a success: the median.
    fn usual_distance(&self) -> usize {
        let mut distances: BTreeMap<usize, usize> = BTreeMap::new();
        let mut last = None;
        for index in (0..self.ok.len()).filter(|index| self.ok[*index] > 0) {
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

    /// Successes per second in the second before slice `to`, but not before `calm_from`.
    fn rate(&self, calm_from: usize, to: usize) -> Option<f64> {
        let from = to.saturating_sub(BEFORE_MAX).max(calm_from);
        let slices = to.checked_sub(from).filter(|slices| *slices >= BEFORE_MIN)?;
        Some(self.sum(from, to) as f64 * 1e9 / (slices as u64 * SLICE_NS) as f64)
    }

    /// The first slice from `at` on where the rate is back.
    fn recovery(&self, at: usize, end: usize, rate_per_s: f64) -> Option<usize> {
        let wanted = rate_per_s * (BACK_OVER as u64 * SLICE_NS) as f64 / 1e9 * BACK_SHARE;
        let last = end.checked_sub(BACK_OVER)?;
        (at..=last).find(|from| self.sum(*from, from + BACK_OVER) as f64 >= wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const SECOND: u64 = 1000 * MS;

    /// Ten successes in each slice of these spans, in milliseconds.
    fn line(spans: &[(u64, u64)]) -> SuccessLine {
        let mut line = SuccessLine::default();
        for (from, to) in spans {
            for at in (*from..*to).step_by(10) {
                let mut slices = Slices::default();
                slices.succeeded(at % 250 * MS, 10);
                line.add(at / 250 * 250 * MS, &[slices]);
            }
        }
        line
    }

    fn fail(line: &mut SuccessLine, node: usize, at_ms: u64, failures: Failures) {
        let mut slices = vec![Slices::default(); node + 1];
        slices[node].failed(at_ms % 250 * MS, &failures);
        line.add(at_ms / 250 * 250 * MS, &slices);
    }

    #[test]
    fn an_outage_has_its_times_and_counts() {
        let mut line = line(&[(0, 2000), (4100, 6000)]);
        let lost = Failures { lost: 5, ..Failures::default() };
        let errors = Failures { errors: 7, ..Failures::default() };
        fail(&mut line, 0, 1990, lost);
        fail(&mut line, 0, 4050, errors);
        fail(&mut line, 0, 5000, errors);
        let outages = line.outages(6 * SECOND, &Usual::default());
        assert_eq!(
            outages,
            [Outage {
                node: 0,
                from_ns: 2000 * MS,
                to_ns: 4100 * MS,
                to_the_end: false,
                first_failure_ns: Some(1990 * MS),
                failures: Failures { errors: 7, lost: 5, timed_out: 0 },
                rate_before_per_s: Some(1000.0),
                recovered_ns: Some(4100 * MS),
            }]
        );
        assert_eq!(outages[0].length_ns(), 2100 * MS);
    }

    #[test]
    fn the_rate_comes_back_later_than_the_first_success() {
        let mut line = line(&[(0, 2000), (5000, 9000)]);
        for at in (3000..5000).step_by(10) {
            let mut slices = Slices::default();
            slices.succeeded(at % 250 * MS, 2);
            line.add(at / 250 * 250 * MS, &[slices]);
        }
        let [outage] = line.outages(9 * SECOND, &Usual::default())[..] else {
            panic!("one outage")
        };
        assert_eq!((outage.from_ns, outage.to_ns), (2000 * MS, 3000 * MS));
        assert_eq!(outage.recovered_ns, Some(5000 * MS));
    }

    #[test]
    fn a_server_that_never_answers_is_out_all_the_time() {
        let mut line = SuccessLine::default();
        (0..12).for_each(|n| line.add(n * 250 * MS, &[Slices::default()]));
        let [outage] = line.outages(3 * SECOND, &Usual::default())[..] else { panic!("one") };
        assert_eq!((outage.from_ns, outage.to_ns, outage.to_the_end), (0, 3 * SECOND, true));
        let mut unasked = Slices::default();
        unasked.ask(false);
        let mut line = SuccessLine::default();
        (0..12).for_each(|n| line.add(n * 250 * MS, &[unasked.clone()]));
        assert_eq!(line.outages(3 * SECOND, &Usual::default()), []);
    }

    #[test]
    fn silence_must_be_longer_than_failure() {
        let mut quiet = line(&[(0, 1000), (1400, 3000)]);
        assert_eq!(quiet.outages(3 * SECOND, &Usual::default()), []);
        fail(&mut quiet, 0, 1200, Failures { timed_out: 1, ..Failures::default() });
        assert_eq!(quiet.outages(3 * SECOND, &Usual::default()).len(), 1);
        let silent = line(&[(0, 1000), (1500, 3000)]);
        let outages = silent.outages(3 * SECOND, &Usual::default());
        assert_eq!((outages.len(), outages[0].first_failure_ns), (1, None));
    }

    #[test]
    fn an_outage_may_last_to_the_end_or_begin_the_run() {
        let [outage] = line(&[(0, 1000)]).outages(3 * SECOND, &Usual::default())[..] else {
            panic!("one")
        };
        assert_eq!((outage.to_ns, outage.to_the_end), (3 * SECOND, true));
        assert_eq!(outage.recovered_ns, None);
        let [outage] = line(&[(1000, 3000)]).outages(3 * SECOND, &Usual::default())[..] else {
            panic!("one")
        };
        assert_eq!((outage.from_ns, outage.to_ns), (0, SECOND));
        assert_eq!(outage.rate_before_per_s, None);
    }

    #[test]
    fn slow_loads_have_pauses_of_their_own() {
        // One success every 200 ms, and none for 3 s; then for 5 s.
        let spans: Vec<(u64, u64)> = (0..100).map(|n| (n * 200, n * 200 + 10)).collect();
        let slow = line(&spans);
        assert_eq!(slow.outages(22 * SECOND, &Usual::default()), []);
        assert_eq!(slow.outages(25 * SECOND, &Usual::default()).len(), 1);
        // A schedule of one a second is not down in between.
        let two = line(&[(0, 10), (1000, 1010)]);
        assert_eq!(two.outages(2 * SECOND, &Usual { due_every_ns: SECOND, service_ns: 0 }), []);
    }

    #[test]
    fn replies_that_take_long_leave_longer_pauses() {
        // 19,000 connections at 50,000/s: all of them are read before the first is answered.
        let bursts = line(&[(0, 500), (1300, 1500), (1600, 2000)]);
        let replies = |service_ns| Usual { due_every_ns: 0, service_ns };
        assert_eq!(bursts.outages(2 * SECOND, &replies(MS)).len(), 1);
        assert_eq!(bursts.outages(2 * SECOND, &replies(300 * MS)), []);
        assert_eq!(bursts.outages(4 * SECOND, &replies(300 * MS)).len(), 1);
    }

    #[test]
    fn errors_alone_are_no_outage_and_losses_alone_are_one() {
        let mut line = SuccessLine::default();
        for at in 0..300 {
            fail(&mut line, 0, at * 10, Failures { errors: 1, ..Failures::default() });
        }
        assert_eq!(line.outages(3 * SECOND, &Usual::default()), []);
        fail(&mut line, 0, 0, Failures { lost: 1, ..Failures::default() });
        assert_eq!(line.outages(3 * SECOND, &Usual::default()).len(), 1);
    }

    #[test]
    fn each_node_has_outages_of_its_own() {
        let mut line = line(&[(0, 4000)]);
        fail(&mut line, 2, 1000, Failures { lost: 1, ..Failures::default() });
        let outages = line.outages(4 * SECOND, &Usual::default());
        assert_eq!((outages.len(), outages[0].node), (1, 2));
    }

    #[test]
    fn a_node_of_which_nothing_is_asked_is_not_out() {
        // Asked from 2 s to 4 s, and after 3 s in vain; the run lasts 9 s.
        let mut line = line(&[(2000, 3000)]);
        for interval in 0..36 {
            let mut slices = Slices::default();
            slices.ask((7..15).contains(&interval));
            line.add(interval * 250 * MS, &[slices]);
        }
        let outages = line.outages(9 * SECOND, &Usual::default());
        assert_eq!(outages.len(), 1, "{outages:?}");
        assert_eq!((outages[0].from_ns, outages[0].to_ns), (3000 * MS, 4000 * MS));
        assert!(!outages[0].to_the_end);
        // One worker that asks is enough.
        let mut asking = Slices::default();
        asking.ask(true);
        (16..20).for_each(|interval| line.add(interval * 250 * MS, &[asking.clone()]));
        (15..20).for_each(|interval| line.add(interval * 250 * MS, &[asking.clone()]));
        assert_eq!(line.outages(9 * SECOND, &Usual::default())[0].to_ns, 5250 * MS);
    }

    #[test]
    fn nothing_has_none() {
        assert_eq!(SuccessLine::default().outages(0, &Usual::default()), []);
        assert_eq!(
            SuccessLine::default().outages(SECOND, &Usual { due_every_ns: 5, service_ns: 5 }),
            []
        );
    }
}
