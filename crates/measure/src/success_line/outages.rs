//! Outages in the successes and failures, found alike for every kind of deployment.
//!
//! An outage belongs to a server that has to answer: the owner of slots, one of a pool or ring, or the only
//! one. It lasts from that server's last success while requests were due, to the first success of the server
//! responsible then, or to the end of the run. It is named after the server that was responsible when it
//! began. Where responsibility changes, [`Tenure`]s say who had it, and when.

use std::ops::Range;

use super::{KEPT_MAX, NodeActivity, NodeLine, SuccessLine};
use crate::slices::{Failures, SLICE_NS};
use crate::{Outage, Tenure, UsualPauses};

/// Outages kept for each server.
const OUTAGES_MAX: usize = 1000;

/// Shortest outages in slices, with a failure and without one.
const FAILING_MIN: usize = (Outage::FAILING_MIN_NS / SLICE_NS) as usize;
const SILENT_MIN: usize = (Outage::SILENT_MIN_NS / SLICE_NS) as usize;
/// Multiple of the usual distance between two successes above which a gap is an outage.
const TIMES_USUAL: usize = 20;
/// Multiple of the usual reply time above which silence is an outage: a server with many clients may read all
/// their requests before it answers any.
const TIMES_SERVICE: usize = 4;
/// Maximum and minimum number of slices before an outage whose rate is taken as the rate before.
const BEFORE_MAX: usize = 100;
const BEFORE_MIN: usize = 10;
/// Recovery: the rate over `BACK_OVER` slices must reach `BACK_SHARE` of the rate before the outage.
const BACK_OVER: usize = 10;
const BACK_SHARE: f64 = 0.95;

impl SuccessLine {
    /// The outages of a run that took `elapsed_ns`, in order of their beginnings. Without tenures every
    /// server had to answer all the time. In the ordered spans `absent` the client itself did not run, which
    /// says nothing about a server.
    pub fn outages(
        &self,
        elapsed_ns: u64,
        usual: &UsualPauses,
        tenures: &[Tenure],
        absent: &[Range<u64>],
    ) -> Vec<Outage> {
        let always: Vec<Tenure>;
        let tenures = match tenures {
            [] => {
                always = (0..self.nodes.len() as u16).map(|node| Tenure::new(node, 0)).collect();
                &always
            }
            tenures => tenures,
        };
        // Replies that are missing when the run ends count for no outage.
        let ends = self.nodes.iter().map(|line| {
            let failed = line.failures.last_key_value().map_or(0, |(index, _)| index + 1);
            failed.max(line.ok.len())
        });
        let end = ends.max().unwrap_or(0).max(elapsed_ns.div_ceil(SLICE_NS) as usize);
        let absent = absent
            .iter()
            .map(|span| (span.start / SLICE_NS) as usize..span.end.div_ceil(SLICE_NS) as usize);
        // Servers share a schedule.
        let sharing = self.nodes.iter().filter(|line| !line.ok.is_empty()).count().max(1) as u64;
        let usual =
            UsualPauses { due_every_ns: usual.due_every_ns.saturating_mul(sharing), ..*usual };
        let mut search = Search {
            lines: &self.nodes,
            tenures,
            absent: absent.collect(),
            end: end.min(KEPT_MAX),
            usual,
            counted: Vec::new(),
        };
        let mut outages = Vec::new();
        for tenure in tenures {
            outages.extend(search.outages(tenure));
        }
        outages.sort_by_key(|outage| outage.from_ns);
        let last = self.nodes.iter().map(|line| line.ok.len()).max().unwrap_or(0);
        let since_ns = outages.iter().filter(|o| o.to_the_end).map(|o| o.from_ns).max();
        if since_ns.is_some_and(|ns| ns / SLICE_NS >= last as u64) {
            let lasting =
                outages.iter_mut().filter(|o| o.to_the_end && Some(o.from_ns) == since_ns);
            lasting.for_each(|outage| outage.of_all = true);
        }
        outages
    }
}

struct Search<'l> {
    lines: &'l [NodeLine],
    tenures: &'l [Tenure],
    /// Slices in which the client did not run.
    absent: Vec<Range<usize>>,
    end: usize,
    usual: UsualPauses,
    /// Servers and slices whose failures belong to a found outage: a success at the edge of two outages
    /// leaves its slice to the first.
    counted: Vec<(u16, Range<usize>)>,
}

/// End of a silence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ending {
    at: usize,
    to_the_end: bool,
}

impl<'l> Search<'l> {
    /// Outages that began in a tenure.
    fn outages(&mut self, tenure: &Tenure) -> Vec<Outage> {
        let Some(line) = self.lines.get(usize::from(tenure.node)) else { return Vec::new() };
        let unanswered = line.failures.values().any(|f| f.lost + f.timed_out > 0);
        let looked = !line.looks.contains(&NodeActivity::Unknown);
        let silent =
            line.failures.is_empty() && looked && line.looks.contains(&NodeActivity::Asked);
        if line.ok.is_empty() && !unanswered && !silent {
            return Vec::new(); // Every reply was an error: there is no success to come back to.
        }
        let UsualPauses { due_every_ns, service_ns } = self.usual;
        let due_every = due_every_ns.div_ceil(SLICE_NS) as usize - usize::from(due_every_ns > 0);
        let usual = line.usual_distance().max(due_every).saturating_mul(TIMES_USUAL);
        let silent = SILENT_MIN.max((service_ns / SLICE_NS) as usize * TIMES_SERVICE);
        let mut outages: Vec<Outage> = Vec::new();
        let mut begun = (tenure.from_ns / SLICE_NS) as usize;
        let to = tenure.to_ns.map_or(self.end, |ns| (ns.div_ceil(SLICE_NS) as usize).min(self.end));
        if tenure.inherits {
            // Until its first success, the outage belongs to the node that had to answer before.
            let Some(first) = line.successes(begun, to).next() else { return outages };
            begun = first + 1;
        }
        let (mut calm_from, own) = (begun, [(tenure.node, line)]);
        let endings = line.successes(begun, to).map(|at| Ending { at, to_the_end: false });
        for ending in endings.chain([self.ending(tenure)]) {
            let from = std::mem::replace(&mut begun, ending.at + 1);
            if ending.at < from + FAILING_MIN.max(usual) || outages.len() == OUTAGES_MAX {
                continue;
            }
            let after;
            let lines: &[(u16, &NodeLine)] = if ending.at >= to && tenure.to_ns.is_some() {
                after = self.with_heirs(tenure);
                &after
            } else {
                &own
            };
            let before = rate(lines, calm_from, from.saturating_sub(1));
            // Only while something is asked: else nothing is due.
            let mut parts = line.asked(from..ending.at.min(to));
            if let Some(last) = parts.last_mut() {
                last.end = ending.at;
            }
            for part in parts {
                let goes_on = part.end == ending.at;
                let span = self.trimmed(part);
                let mut outage = self.outage(tenure.node, lines, span.clone());
                let least = if outage.first_failure_ns.is_some() { FAILING_MIN } else { silent };
                if self.seen(span.clone()) < least.max(usual) {
                    continue;
                }
                self.counted.extend(lines.iter().map(|(node, _)| (*node, within(&span))));
                outage.to_the_end = ending.to_the_end && goes_on;
                outage.rate_before_per_s =
                    before.or_else(|| outages.last().and_then(|last| last.rate_before_per_s));
                let recovered = outage
                    .rate_before_per_s
                    .and_then(|rate| recovery(lines, ending.at, self.end, rate));
                outage.recovered_ns = recovered.map(|index| index as u64 * SLICE_NS);
                calm_from = recovered.unwrap_or(self.end);
                outages.push(outage);
            }
        }
        outages
    }

    /// Finds the end of the last silence of a tenure: the first success of an heir, or the tenure's own end
    /// if it has none, or the end of the run.
    fn ending(&self, tenure: &Tenure) -> Ending {
        let Some(to_ns) = tenure.to_ns.filter(|ns| ns / SLICE_NS < self.end as u64) else {
            return Ending { at: self.end, to_the_end: true };
        };
        if tenure.heirs.is_empty() {
            return Ending { at: to_ns.div_ceil(SLICE_NS) as usize, to_the_end: false };
        }
        let endings = tenure.heirs.iter().filter_map(|heir| {
            let of_heir = self.tenure_at(*heir, to_ns)?;
            let until = of_heir.to_ns.map_or(self.end, |ns| ns.div_ceil(SLICE_NS) as usize);
            let line = self.lines.get(usize::from(*heir))?;
            let first = line.successes((to_ns / SLICE_NS) as usize, until).next();
            Some(first.map_or_else(|| self.ending(of_heir), |at| Ending { at, to_the_end: false }))
        });
        let end = Ending { at: self.end, to_the_end: true };
        endings.min_by_key(|ending| ending.at).unwrap_or(end)
    }

    /// The tenure of a server that includes this time or begins then.
    fn tenure_at(&self, node: u16, at_ns: u64) -> Option<&Tenure> {
        self.tenures.iter().find(|t| {
            t.node == node && t.from_ns <= at_ns && t.to_ns.is_none_or(|to_ns| to_ns > at_ns)
        })
    }

    /// The lines of a server whose tenure ended, of its heirs, and of their heirs.
    fn with_heirs(&self, tenure: &Tenure) -> Vec<(u16, &'l NodeLine)> {
        let (mut nodes, mut of) = (vec![tenure.node], vec![tenure]);
        while let Some(tenure) = of.pop() {
            for heir in &tenure.heirs {
                if !nodes.contains(heir) {
                    nodes.push(*heir);
                    of.extend(tenure.to_ns.and_then(|ns| self.tenure_at(*heir, ns)));
                }
            }
        }
        nodes.into_iter().filter_map(|n| Some((n, self.lines.get(usize::from(n))?))).collect()
    }

    /// A silence shortened at either end by the client's own absences.
    fn trimmed(&self, mut span: Range<usize>) -> Range<usize> {
        for absent in &self.absent {
            if absent.start <= span.start && absent.end > span.start {
                span.start = absent.end.min(span.end);
            }
        }
        for absent in self.absent.iter().rev() {
            if absent.end >= span.end && absent.start < span.end {
                span.end = absent.start.max(span.start);
            }
        }
        span
    }

    /// Number of slices of a silence in which the client ran.
    fn seen(&self, span: Range<usize>) -> usize {
        let absent_slices = self
            .absent
            .iter()
            .map(|absent| absent.end.min(span.end).saturating_sub(absent.start.max(span.start)));
        span.len() - absent_slices.sum::<usize>().min(span.len())
    }
    /// The outage in these slices, with the failures that belong to no other.
    fn outage(&self, node: u16, lines: &[(u16, &NodeLine)], span: Range<usize>) -> Outage {
        let within = within(&span);
        let overlapping =
            self.counted.iter().filter(|(_, of)| of.start < within.end && within.start < of.end);
        let counted: Vec<_> = overlapping.collect();
        let mut failures = Failures::default();
        let mut first: Option<usize> = None;
        for (node, line) in lines {
            for (index, more) in line.failures.range(within.clone()) {
                if !counted.iter().any(|(of, slices)| of == node && slices.contains(index)) {
                    first = Some(first.map_or(*index, |first| first.min(*index)));
                    failures.merge(more);
                }
            }
        }
        Outage {
            node,
            from_ns: span.start as u64 * SLICE_NS,
            to_ns: span.end as u64 * SLICE_NS,
            to_the_end: false,
            of_all: false,
            first_failure_ns: first.map(|index| index as u64 * SLICE_NS),
            failures,
            rate_before_per_s: None,
            recovered_ns: None,
        }
    }
}

/// Slices of a silence and of the successes at its ends, which may hold failures too.
fn within(span: &Range<usize>) -> Range<usize> {
    span.start.saturating_sub(1)..span.end + 1
}

fn sum(lines: &[(u16, &NodeLine)], from: usize, to: usize) -> u64 {
    lines.iter().map(|(_, line)| line.sum(from, to)).sum()
}

/// Successes per second in the second before slice `to`, but not before `calm_from`.
fn rate(lines: &[(u16, &NodeLine)], calm_from: usize, to: usize) -> Option<f64> {
    let from = to.saturating_sub(BEFORE_MAX).max(calm_from);
    let slices = to.checked_sub(from).filter(|slices| *slices >= BEFORE_MIN)?;
    Some(sum(lines, from, to) as f64 * 1e9 / (slices as u64 * SLICE_NS) as f64)
}

/// The first slice from `at` on in which the rate is back.
fn recovery(lines: &[(u16, &NodeLine)], at: usize, end: usize, rate_per_s: f64) -> Option<usize> {
    let wanted = rate_per_s * (BACK_OVER as u64 * SLICE_NS) as f64 / 1e9 * BACK_SHARE;
    let last = end.checked_sub(BACK_OVER)?;
    (at..=last).find(|from| sum(lines, *from, from + BACK_OVER) as f64 >= wanted)
}
