//! The search for the commit that changed a figure: what was measured of each, what is measured next, and the answer.
//!
//! A measurement is the logarithm of a commit's figure divided by that of the good commit. How probable each place of
//! the change is, is the business of [`measure::statistics`].

use std::collections::BTreeMap;

use measure::statistics::{Bisection, Conclusion, Mean, RatioEstimate};
use report::{Metric, compare};
use serde::{Deserialize, Serialize};

/// The name of the layout.
const SCHEMA: &str = "keystorm.bisect/1";
/// Blocks of the bad commit, by which it is known what is looked for and how much it varies; and how many there are
/// where these do not say that it differs.
const BLOCKS_FIRST: usize = 5;
const BLOCKS_FIRST_MAX: usize = 15;
/// First blocks of the bad commit where instructions are counted, and the least spread expected of their logarithms.
const BLOCKS_FIRST_COUNTED: usize = 3;
const SPREAD_COUNTED: f64 = 0.001;
/// More measurements find nothing that fewer did not.
const BLOCKS_MAX: usize = 400;

/// A commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Whole name of the commit.
    pub hash: String,
    /// First line of its message.
    pub subject: String,
}

impl Commit {
    /// The name as people write it, and the subject.
    pub fn describe(&self) -> String {
        format!("{} {}", self.short(), self.subject)
    }

    pub(crate) fn short(&self) -> &str {
        self.hash.get(..12).unwrap_or(&self.hash)
    }
}

/// A search so far; in a file, the state from which it resumes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Bisect {
    schema: String,
    good: String,
    bad: String,
    load: String,
    metric: String,
    /// For each commit, logarithms of its ratio to the good one, one for each block.
    measured: BTreeMap<String, Vec<f64>>,
    /// Commits that cannot be measured, and why.
    skipped: BTreeMap<String, String>,
    /// The commits of the answer, once there is one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    found: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    probability: Option<f64>,
    /// The good one, and those after it up to the bad one.
    #[serde(skip)]
    commits: Vec<Commit>,
    /// Name of the figure in sentences.
    #[serde(skip)]
    called: &'static str,
    /// Least spread that is expected of the values.
    #[serde(skip)]
    spread: f64,
    /// Blocks of the bad commit that are wanted.
    #[serde(skip)]
    blocks_first: usize,
    /// Set once there is nothing left to measure.
    #[serde(skip)]
    pub(crate) has_ended: bool,
}

impl Bisect {
    /// A search among commits, of which the first is good and the last is bad.
    pub fn new(commits: Vec<Commit>, load: String, metric: Metric) -> Self {
        let is_counted = metric == Metric::Instructions;
        let hash = |commit: Option<&Commit>| commit.map_or(String::new(), |one| one.hash.clone());
        Self {
            schema: SCHEMA.to_owned(),
            good: hash(commits.first()),
            bad: hash(commits.last()),
            load,
            metric: metric.name().to_owned(),
            measured: BTreeMap::new(),
            skipped: BTreeMap::new(),
            found: Vec::new(),
            probability: None,
            commits,
            called: compare::called(metric),
            spread: if is_counted { SPREAD_COUNTED } else { 0.0 },
            blocks_first: if is_counted { BLOCKS_FIRST_COUNTED } else { BLOCKS_FIRST },
            has_ended: false,
        }
    }

    /// Takes the measurements of an earlier search; returns whether it was one for the same.
    pub fn resume(&mut self, before: Self) -> bool {
        let of = |search: &Self| {
            let Self { schema, good, bad, load, metric, .. } = search;
            [schema, good, bad, load, metric].map(String::clone)
        };
        let is_same = of(self) == of(&before);
        if is_same {
            (self.measured, self.skipped) = (before.measured, before.skipped);
        }
        is_same
    }

    /// Returns the number of the bad commit; the good one is 0.
    pub fn last(&self) -> usize {
        self.commits.len() - 1
    }

    /// A commit by its number.
    pub fn commit(&self, member: usize) -> &Commit {
        &self.commits[member]
    }

    /// Returns whether instructions are counted.
    pub(crate) fn is_counted(&self) -> bool {
        self.spread > 0.0
    }

    /// Values of a commit: logarithms of its ratio to the good one.
    pub fn values(&self, member: usize) -> &[f64] {
        self.measured.get(&self.commits[member].hash).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn why_skipped(&self, member: usize) -> Option<&str> {
        self.skipped.get(&self.commits[member].hash).map(String::as_str)
    }

    /// Adds a measurement.
    pub fn add(&mut self, member: usize, value: f64) {
        self.measured.entry(self.commits[member].hash.clone()).or_default().push(value);
    }

    /// Notes that a commit cannot be measured.
    pub fn skip(&mut self, member: usize, why: &str) {
        self.skipped.insert(self.commits[member].hash.clone(), why.to_owned());
    }

    /// The commit to be measured next; `None` where there is an answer with this probability, or none can be had.
    pub fn next(&mut self, sure: f64) -> Option<usize> {
        let last = self.last();
        if self.values(last).len() < self.blocks_first {
            return Some(last);
        }
        let Some(bisection) = self.bisection() else {
            if self.blocks_first < BLOCKS_FIRST_MAX {
                self.blocks_first = BLOCKS_FIRST_MAX;
                return self.next(sure);
            }
            self.has_ended = true;
            return None;
        };
        let suspects = bisection.suspects(sure);
        let blocks: usize = (1..last).map(|member| self.values(member).len()).sum();
        let next = bisection.next();
        let next = next.filter(|_| suspects.members.len() > 1 && blocks < BLOCKS_MAX);
        if next.is_none() {
            let mut members = suspects.members;
            members.sort_unstable();
            self.found = members.iter().map(|at| self.commits[*at].hash.clone()).collect();
            (self.probability, self.has_ended) = (Some(suspects.probability), true);
        }
        next
    }

    /// The probabilities so far; `None` while the bad commit does not surely differ.
    fn bisection(&self) -> Option<Bisection> {
        let last = self.last();
        let values = self.values(last);
        let mut bisection =
            Bisection::new(last, values, self.spread).filter(|_| differs(values))?;
        for member in 1..last {
            if self.why_skipped(member).is_some() {
                bisection.skip(member);
            }
            self.values(member).iter().for_each(|value| bisection.observe(member, *value));
        }
        Some(bisection)
    }

    /// Says what is known of a commit, and which is the most probable so far.
    pub fn progress(&self, member: usize) -> String {
        let known = format!("{}: {}", self.commits[member].describe(), self.change(member));
        let Some(most) = self.bisection().map(|bisection| bisection.suspects(0.0)) else {
            return known;
        };
        let likely = most.members.first().map_or("", |at| self.commits[*at].short());
        format!("{known}; most probable is {likely} ({:.0} %)", most.probability * 100.0)
    }

    /// The change of a commit, such as `throughput −3.1 % beside the good one (5 blocks)`.
    pub(crate) fn change(&self, member: usize) -> String {
        let values = self.values(member);
        let blocks = workload::quantity::counted(values.len() as u64, "block");
        format!("{} {} beside the good one ({blocks})", self.called, percent(mean(values)))
    }

    /// The answer in a headline and a sentence; `None` while there is none.
    pub(crate) fn answer(&self) -> Option<(String, String)> {
        let last = self.change(self.last());
        if let Some(probability) = self.probability.filter(|_| self.has_ended) {
            let probability = probability * 100.0;
            let found = self.commits.iter().filter(|commit| self.found.contains(&commit.hash));
            let found: Vec<String> = found.map(Commit::describe).collect();
            if let [only] = &found[..] {
                let text =
                    format!("with a probability of {probability:.1} %; {last} at the bad commit.");
                return Some((format!("The change came with {only}"), text));
            }
            let count = found.len();
            let headline = format!(
                "The change came with one of {count} commits, with a probability of {probability:.1} %"
            );
            let skipped = match self.skipped.len() {
                0 => String::new(),
                skipped => format!(". {skipped} commits could not be built or measured"),
            };
            return Some((headline, format!("{}{skipped}.", found.join("; "))));
        }
        let interval = Mean::from_values(self.values(self.last())).and_then(|mean| mean.interval);
        let interval = interval.map_or(String::new(), |of| {
            format!(" (95 % interval {} to {})", percent(of.low), percent(of.high))
        });
        self.has_ended.then(|| {
            let text = format!(
                "{last}{interval}; make the runs longer (--duration or -n), or choose another load or --metric."
            );
            ("The two commits do not surely differ".to_owned(), text)
        })
    }

    pub(crate) fn is_found(&self) -> bool {
        self.found.len() == 1
    }
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// A logarithm of a ratio as a change in per cent.
pub(crate) fn percent(ln: f64) -> String {
    format!("{:+.1} %", ln.exp_m1() * 100.0).replace('-', "−")
}

/// Returns whether these blocks say that the bad commit differs.
fn differs(values: &[f64]) -> bool {
    let ratios: Vec<f64> = values.iter().map(|value| value.exp()).collect();
    let ratio = RatioEstimate::paired(&vec![1.0; ratios.len()], &ratios, 0.0);
    ratio.is_some_and(|ratio| ratio.conclusion() == Conclusion::Differ)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Findings;

    fn search(count: usize) -> Bisect {
        search_by(count, Metric::Throughput)
    }

    fn search_by(count: usize, metric: Metric) -> Bisect {
        let commits = (0..count)
            .map(|at: usize| Commit { hash: format!("{at:040}"), subject: format!("no. {at}") });
        Bisect::new(commits.collect(), "load".to_owned(), metric)
    }

    /// Measures until there is an answer: 10 % slower from commit `slow` on, with some noise.
    fn carried_out(mut found: Bisect, slow: usize) -> Bisect {
        let mut number = 0_u32;
        while let Some(member) = found.next(0.95) {
            number += 1;
            let noise = f64::from(number * 7 % 5) * 0.002 - 0.004;
            found.add(member, if member >= slow { -0.1 } else { 0.0 } + noise);
        }
        found
    }

    #[test]
    fn the_commit_is_found_and_a_search_resumes_where_it_was() {
        let found = carried_out(search(12), 7);
        assert!(found.is_found() && found.is_conclusive());
        let (headline, text) = found.answer().unwrap();
        assert_eq!(headline, format!("The change came with {} no. 7", &"0".repeat(12)));
        assert!(text.contains("throughput −9.") && text.contains("blocks) at the bad"), "{text}");
        let saved: Bisect = serde_json::from_str(&found.to_json().unwrap()).unwrap();
        let mut again = search(12);
        assert!(again.resume(saved.clone()) && again.next(0.95).is_none() && again.is_found());
        assert!(!search(11).resume(saved));
    }

    #[test]
    fn instructions_are_counted_once_a_commit_even_where_they_do_not_vary() {
        let mut found = search_by(16, Metric::Instructions);
        while let Some(member) = found.next(0.95) {
            found.add(member, if member >= 11 { 0.02 } else { 0.0 });
        }
        let measured: Vec<usize> = (1..16).map(|member| found.values(member).len()).collect();
        assert!(found.is_found() && found.found[0].ends_with("11"), "{:?}", found.found);
        assert_eq!(measured.iter().sum::<usize>(), 3 + 4, "{measured:?}");
    }

    #[test]
    fn two_that_do_not_differ_are_no_answer() {
        let found = carried_out(search(4), 9);
        assert_eq!(found.values(3).len(), BLOCKS_FIRST_MAX);
        let (headline, text) = found.answer().unwrap();
        assert!(headline.ends_with("do not surely differ") && text.contains("95 % interval"));
        assert!(!found.is_conclusive());
    }

    #[test]
    fn commits_that_do_not_build_are_left_as_suspects() {
        let mut found = search(6);
        (2..5).for_each(|member| found.skip(member, "no"));
        let found = carried_out(found, 3);
        let (headline, text) = found.answer().unwrap();
        assert!(headline.contains("one of ") && text.contains("3 commits could not"), "{text}");
        assert!(found.to_csv().contains("\"no\""));
    }
}
