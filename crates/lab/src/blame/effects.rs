//! What the segments say together: what each kind costs each other, and whether one costs surely more than the rest.
//!
//! At each load, the 99th percentile of a kind is a level of each block times so much for every request per second of
//! each kind: a regression of logarithms, since noise multiplies waiting, and a stall of the machine is many times what
//! is usual. Costs are its slopes, as milliseconds of the usual percentile. What a kind takes of the capacity follows
//! from closed loops with and without it, and its CPU time from a regression over all loads.

use report::{Cause, LimitedBy};
use serde::{Deserialize, Serialize};
use statistics::{Estimate, Mean, Observation, Regression};

use super::{Kind, SegmentResult, Treatment};

/// A value, and the interval that holds the true one 95 times in 100.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The likeliest value.
    pub value: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// What all segments say.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Effects {
    /// Costs are of so many requests per second.
    pub unit_per_s: f64,
    /// Requests of the whole mix per second in a closed loop.
    pub capacity_per_s: Option<Figure>,
    /// What set that limit, in most of the closed loops.
    pub limited_by: Option<LimitedBy>,
    /// What each kind takes of the server.
    pub costs: Vec<Cost>,
    /// What is known at each load.
    pub levels: Vec<Level>,
    /// Comparisons that were made, and that hold together 95 times in 100.
    pub comparisons: usize,
    /// The kinds that surely make others wait, the worst first; each once, where it does most.
    pub blamed: Vec<Culprit>,
    /// What it comes to.
    pub outcome: Outcome,
    /// Segments that count, and those that do not.
    pub segments: usize,
    /// The others.
    pub void: usize,
    /// What most of those met.
    pub void_cause: Option<Cause>,
}

/// What it comes to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Too few segments count.
    #[default]
    NotJudged,
    /// No kind costs the others surely more than the rest.
    NoneSingledOut,
    /// At least one does.
    SingledOut,
}

/// What a kind takes of the server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// The share of the capacity that a unit of it takes: 0.03 for 3 %.
    pub capacity: Option<Figure>,
    /// Microseconds of the server's CPU for each, where the server tells.
    pub server_cpu_us: Option<Figure>,
}

/// What is known at one load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// The load, as a share of the capacity.
    pub load: f64,
    /// Requests of the whole mix per second.
    pub rate_per_s: f64,
    /// For each kind, what makes it wait.
    pub waits: Vec<Wait>,
    /// Segments that count.
    pub segments: usize,
    /// Those that do not.
    pub void: usize,
}

/// How long a kind waits, and because of whom.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Wait {
    /// The 99th percentile of it in the whole mix, in milliseconds: the geometric mean of the segments.
    pub p99_ms: Option<f64>,
    /// What each kind costs it, itself included; `None` where that is not known.
    pub costs: Vec<Option<WaitCost>>,
}

/// What a kind costs another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WaitCost {
    /// Milliseconds of its 99th percentile for each unit.
    pub p99_ms: Figure,
    /// The same where the kind is left out.
    pub p99_without_ms: Option<f64>,
}

/// A kind that makes another wait surely more than the same number of other requests do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Culprit {
    /// It, by number.
    pub kind: usize,
    /// Who waits most for it.
    pub waits: usize,
    /// At which load.
    pub load: f64,
    /// By how much the 99th percentile is lower without it, in milliseconds.
    pub saves_ms: f64,
}

/// An effect below this share of a percentile is none that somebody would move a kind away for.
const MATERIAL: f64 = 0.1;
/// A load is judged if at least this share of its segments counts.
const VALID_MIN: f64 = 0.5;

fn figure(estimate: Estimate, times: f64) -> Option<Figure> {
    let interval = estimate.interval(1)?;
    Some(Figure {
        value: estimate.value * times,
        low: interval.low * times,
        high: interval.high * times,
    })
}

fn mean_figure(values: &[f64]) -> Option<Figure> {
    let mean = Mean::from_values(values)?;
    let interval = mean.interval?;
    Some(Figure { value: mean.mean, low: interval.low, high: interval.high })
}

/// The geometric mean of values above 0.
fn usual(values: impl Iterator<Item = f64>) -> Option<f64> {
    let logarithms: Vec<f64> = values.map(f64::ln).collect();
    Mean::from_values(&logarithms).map(|mean| mean.mean.exp())
}

/// What a slope of logarithms comes to: by how much a percentile of `p99_ms` is lower without `rate_per_s`, for each
/// unit.
fn cost(slope: Estimate, p99_ms: f64, rate_per_s: f64, unit_per_s: f64) -> Option<Figure> {
    let interval = slope.interval(1)?;
    let saved = |slope: f64| p99_ms * (1.0 - (-slope * rate_per_s).exp()) / rate_per_s * unit_per_s;
    let [value, low, high] = [slope.value, interval.low, interval.high].map(saved);
    // A bound that is beyond all measure is none.
    low.is_finite().then_some(Figure { value, low, high })
}

impl Effects {
    /// Estimates them.
    #[must_use]
    pub fn estimate(kinds: &[Kind], loads: &[f64], segments: &[SegmentResult]) -> Self {
        let closed: Vec<&SegmentResult> =
            segments.iter().filter(|of| of.is_valid() && of.rate_per_s.is_none()).collect();
        let whole = |of: &&&SegmentResult| of.segment.treatment == Treatment::Whole;
        let rates: Vec<f64> = closed.iter().filter(whole).map(|of| of.answered_per_s).collect();
        let capacity = Mean::from_values(&rates).map(|mean| mean.mean);
        let unit_per_s = unit(capacity);
        let void: Vec<Cause> = segments.iter().filter_map(|of| of.void).collect();
        let most = void.iter().max_by_key(|cause| void.iter().filter(|of| of == cause).count());
        let mut effects = Self {
            unit_per_s,
            capacity_per_s: mean_figure(&rates).or(capacity.map(|value| Figure {
                value,
                low: value,
                high: value,
            })),
            limited_by: limit(closed.iter().filter(whole).filter_map(|of| of.limited_by)),
            comparisons: loads.len() * kinds.len() * kinds.len().saturating_sub(1),
            segments: segments.len() - void.len(),
            void: void.len(),
            void_cause: most.copied(),
            costs: (0..kinds.len())
                .map(|kind| Cost {
                    capacity: capacity_of(kind, kinds, &closed, unit_per_s),
                    server_cpu_us: None,
                })
                .collect(),
            ..Self::default()
        };
        if let Some(fit) = cpu(kinds, segments) {
            for (kind, cost) in effects.costs.iter_mut().enumerate() {
                cost.server_cpu_us = fit.slope(kind).and_then(|slope| figure(slope, 1e6));
            }
        }
        let mut found = Vec::new();
        for (number, load) in loads.iter().enumerate() {
            let of_level = segments.iter().filter(|of| of.segment.level == Some(number));
            let all: Vec<&SegmentResult> = of_level.collect();
            let Some(rate_per_s) = all.first().and_then(|of| of.rate_per_s) else { continue };
            effects.levels.push(effects.level(kinds, (*load, rate_per_s), &all, &mut found));
        }
        effects.conclude(found);
        effects
    }

    /// What is known at a load; adds the kinds that are to be blamed there.
    fn level(
        &self,
        kinds: &[Kind],
        (load, rate_per_s): (f64, f64),
        all: &[&SegmentResult],
        found: &mut Vec<Culprit>,
    ) -> Level {
        let valid: Vec<&SegmentResult> = all.iter().copied().filter(|of| of.is_valid()).collect();
        let is_judged = valid.len() as f64 >= VALID_MIN * all.len() as f64;
        let shares: Vec<f64> = kinds.iter().map(|kind| kind.share).collect();
        let mut waits = Vec::new();
        for kind in 0..kinds.len() {
            let p99_where = |treatment| {
                let of = valid.iter().filter(move |of| of.segment.treatment == treatment);
                usual(of.filter_map(|of| of.p99_ms[kind]))
            };
            let p99_ms = p99_where(Treatment::Whole);
            let seen: Vec<Observation> = valid
                .iter()
                .filter_map(|of| observation(of, of.segment.block, kinds, of.p99_ms[kind]?.ln()))
                .collect();
            let fit = Regression::from_observations(&seen);
            let cost_of = |by: usize| {
                // Of itself, no more than half was left out.
                let left_out = if by == kind { 0.5 } else { 1.0 };
                let rate = rate_per_s * shares[by] * left_out;
                let p99_ms = cost(fit.as_ref()?.slope(by)?, p99_ms?, rate, self.unit_per_s)?;
                Some(WaitCost { p99_ms, p99_without_ms: p99_where(Treatment::Without(by)) })
            };
            let costs: Vec<_> = (0..kinds.len()).map(cost_of).collect();
            waits.push(Wait { p99_ms, costs });
            let Some((fit, p99_ms)) = fit.zip(p99_ms).filter(|_| is_judged) else { continue };
            for by in (0..kinds.len()).filter(|by| *by != kind) {
                let surely = |estimate: Option<Estimate>| {
                    let interval = estimate.and_then(|of| of.interval(self.comparisons));
                    interval.is_some_and(|interval| interval.low > 0.0)
                };
                let exponent = fit.slope(by).map_or(0.0, |of| -of.value * rate_per_s * shares[by]);
                let saves_ms = p99_ms * (1.0 - exponent.exp());
                if saves_ms >= MATERIAL * p99_ms
                    && surely(fit.slope(by))
                    && surely(fit.beside_others(by, &shares))
                {
                    found.push(Culprit { kind: by, waits: kind, load, saves_ms });
                }
            }
        }
        Level { load, rate_per_s, waits, segments: valid.len(), void: all.len() - valid.len() }
    }

    fn conclude(&mut self, mut found: Vec<Culprit>) {
        found.sort_by(|a, b| b.saves_ms.total_cmp(&a.saves_ms));
        for blamed in found {
            if self.blamed.iter().all(|known| known.kind != blamed.kind) {
                self.blamed.push(blamed);
            }
        }
        let judged = self.levels.iter().any(|level| {
            let all = level.segments + level.void;
            let known = level.waits.iter().any(|wait| wait.costs.iter().any(Option::is_some));
            known && level.segments as f64 >= VALID_MIN * all as f64
        });
        self.outcome = match (judged, self.blamed.is_empty()) {
            (false, _) => Outcome::NotJudged,
            (true, true) => Outcome::NoneSingledOut,
            (true, false) => Outcome::SingledOut,
        };
    }

    /// Whether a kind is blamed for the waits of another at a load.
    #[must_use]
    pub fn is_blamed(&self, load: f64, waits: usize, kind: usize) -> bool {
        self.blamed.iter().any(|of| (of.waits, of.kind) == (waits, kind) && of.load == load)
    }

    /// The cost for which a kind is blamed.
    #[must_use]
    pub fn cost_of(&self, blamed: &Culprit) -> Option<(&Level, &Wait, &WaitCost)> {
        let level = self.levels.iter().find(|level| level.load == blamed.load)?;
        let wait = level.waits.get(blamed.waits)?;
        Some((level, wait, wait.costs.get(blamed.kind)?.as_ref()?))
    }
}

/// A segment as what is fitted: requests per second of each kind, and what came of them.
fn observation(
    of: &SegmentResult,
    group: usize,
    kinds: &[Kind],
    outcome: f64,
) -> Option<Observation> {
    let rate_per_s = of.rate_per_s?;
    let treatment = of.segment.treatment;
    let rate = |(at, kind): (usize, &Kind)| rate_per_s * kind.share * treatment.share_of(at);
    Some(Observation { group, causes: kinds.iter().enumerate().map(rate).collect(), outcome })
}

/// The server's CPU by kind, over all loads.
fn cpu(kinds: &[Kind], segments: &[SegmentResult]) -> Option<Regression> {
    let levels = segments.iter().filter_map(|of| of.segment.level).max()? + 1;
    let valid = segments.iter().filter(|of| of.is_valid());
    let seen = valid.filter_map(|of| {
        let group = of.segment.block * levels + of.segment.level?;
        observation(of, group, kinds, of.server_cores?)
    });
    Regression::from_observations(&seen.collect::<Vec<_>>())
}

/// The share of the capacity that a unit of a kind takes: from the time of a request of the whole mix, and of one of
/// the mix without it, in the closed loops of each block.
fn capacity_of(
    kind: usize,
    kinds: &[Kind],
    closed: &[&SegmentResult],
    unit_per_s: f64,
) -> Option<Figure> {
    let share = kinds[kind].share;
    let blocks = closed.iter().map(|of| of.segment.block).max()? + 1;
    let rate = |block: usize, treatment| {
        let of = closed.iter().find(|of| {
            (of.segment.block, of.segment.treatment) == (block, treatment)
                && of.answered_per_s > 0.0
        })?;
        Some(of.answered_per_s)
    };
    let of_block = |block| {
        let whole = rate(block, Treatment::Whole)?;
        let without = rate(block, Treatment::Without(kind))?;
        Some((1.0 / whole - (1.0 - share) / without) / share * unit_per_s)
    };
    mean_figure(&(0..blocks).filter_map(of_block).collect::<Vec<_>>())
}

/// Costs are of 1,000 requests per second; of fewer where a server takes few.
fn unit(capacity_per_s: Option<f64>) -> f64 {
    let units = [1_000.0, 100.0, 10.0];
    let fits = |unit: &f64| capacity_per_s.is_none_or(|capacity| *unit * 5.0 <= capacity);
    units.into_iter().find(fits).unwrap_or(1.0)
}

/// The limit that most closed loops had.
fn limit(limits: impl Iterator<Item = LimitedBy>) -> Option<LimitedBy> {
    let all: Vec<LimitedBy> = limits.collect();
    all.iter().copied().max_by_key(|limit| all.iter().filter(|of| *of == limit).count())
}

#[cfg(test)]
#[path = "effects_tests.rs"]
mod tests;
