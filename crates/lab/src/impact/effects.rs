//! Joint result of the segments: the cost of each kind to each other, and whether one surely costs more than
//! the rest.
//!
//! At each load, the 99th percentile of a kind is modelled as a level of each block, multiplied by a factor
//! for every request per second of each kind: a regression of logarithms, since noise multiplies waiting, and
//! a stall of the machine is many times the usual delay. Costs are its slopes, as milliseconds of the usual
//! percentile. The capacity that a kind takes follows from closed loops with and without it, and its CPU time
//! from a regression over all loads.

use measure::statistics::{Estimate, Mean, Observation, Regression};
use report::{Cause, LimitedBy};
use serde::{Deserialize, Serialize};
use workload::Plan;

use super::{Price, RequestKind, SegmentResult, Treatment, design};

/// A mix, its segments so far, and their joint result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MixRecord {
    /// The test's title.
    pub test: String,
    /// Each kind of the mix.
    pub kinds: Vec<RequestKind>,
    /// The loads, as shares of the capacity: 0.5 for half of it.
    pub loads: Vec<f64>,
    /// Joint results of the segments, beside the prices.
    pub effects: Effects,
    /// Every segment, in the order of execution.
    pub segments: Vec<SegmentResult>,
}

impl MixRecord {
    /// The mix of a plan, without segments.
    pub fn new(plan: &Plan, loads: Vec<f64>) -> Self {
        let kinds = plan.mix.as_ref().map_or_else(Vec::new, |mix| {
            let named = mix.operations.iter().zip(design::shares(mix));
            named.map(|(of, share)| RequestKind { name: report::escape(&of.name), share }).collect()
        });
        let (test, effects) = (plan.name.clone(), Effects::default());
        Self { test, kinds, loads, effects, segments: Vec::new() }
    }
}

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

/// Results of all segments together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Effects {
    /// Number of requests per second that costs are given for.
    pub unit_per_s: f64,
    /// Requests of the whole mix per second in a closed loop.
    pub capacity_per_s: Option<Figure>,
    /// Limit of that capacity, in most of the closed loops.
    pub limited_by: Option<LimitedBy>,
    /// Cost of each kind to the server.
    pub costs: Vec<Cost>,
    /// Number of comparisons, which hold together 95 times in 100.
    pub comparisons: usize,
    /// Judgement of the mix.
    pub judgement: Judgement,
    /// Number of counting segments.
    pub segments: usize,
    /// Number of void segments.
    pub void: usize,
    /// Cause of most of the void segments.
    pub void_cause: Option<Cause>,
}

/// Judgement of the segments of a mix.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Judgement {
    /// Too few segments count.
    #[default]
    NotJudged,
    /// No kind surely costs the others more than the rest.
    NoneSingledOut,
    /// At least one does.
    SingledOut,
}

/// Cost of a kind to the server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Share of the capacity that a unit of the kind takes: 0.03 for 3 %.
    pub capacity: Option<Figure>,
    /// Microseconds of the server's CPU for a request of the kind, if the server reports it.
    pub server_cpu_us: Option<Figure>,
}

/// Share of a percentile below which an effect is immaterial.
const MATERIAL: f64 = 0.1;
/// Minimum share of counting segments for judging a load.
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

/// Turns a slope of logarithms into a figure: the reduction of a percentile of `p99_ms` without `rate_per_s`,
/// for each unit.
fn cost(slope: Estimate, p99_ms: f64, rate_per_s: f64, unit_per_s: f64) -> Option<Figure> {
    let interval = slope.interval(1)?;
    let [value, low, high] = [slope.value, interval.low, interval.high]
        .map(|slope: f64| p99_ms * (1.0 - (-slope * rate_per_s).exp()) / rate_per_s * unit_per_s);
    // A bound that is beyond all measure is none.
    low.is_finite().then_some(Figure { value, low, high })
}

impl Effects {
    /// Estimates the effects, and the cost of each kind to each other at each load.
    pub fn estimate(
        kinds: &[RequestKind],
        loads: &[f64],
        segments: &[SegmentResult],
    ) -> (Self, Vec<Price>) {
        let closed: Vec<&SegmentResult> =
            segments.iter().filter(|of| of.is_valid() && of.rate_per_s.is_none()).collect();
        let whole = |of: &&&SegmentResult| of.segment.treatment == Treatment::Whole;
        let rates: Vec<f64> = closed.iter().filter(whole).map(|of| of.answered_per_s).collect();
        let capacity = Mean::from_values(&rates).map(|mean| mean.mean);
        let unit_per_s = unit(capacity);
        let void: Vec<Cause> = segments.iter().filter_map(|of| of.void).collect();
        let one = capacity.map(|value| Figure { value, low: value, high: value });
        let fit = cpu(kinds, segments);
        let costs = (0..kinds.len()).map(|kind| Cost {
            capacity: capacity_of(kind, kinds, &closed, unit_per_s),
            server_cpu_us: fit.as_ref().and_then(|fit| figure(fit.slope(kind)?, 1e6)),
        });
        let mut effects = Self {
            unit_per_s,
            capacity_per_s: mean_figure(&rates).or(one),
            limited_by: most(closed.iter().filter(whole).filter_map(|of| of.limited_by)),
            comparisons: loads.len() * kinds.len() * kinds.len().saturating_sub(1),
            segments: segments.len() - void.len(),
            void: void.len(),
            void_cause: most(void.iter().copied()),
            costs: costs.collect(),
            judgement: Judgement::NotJudged,
        };
        let (mut prices, mut is_judged) = (Vec::new(), false);
        for (number, load) in loads.iter().enumerate() {
            let of_level = segments.iter().filter(|of| of.segment.level == Some(number));
            let all: Vec<&SegmentResult> = of_level.collect();
            let Some(rate_per_s) = all.first().and_then(|of| of.rate_per_s) else { continue };
            let valid: Vec<&SegmentResult> =
                all.iter().copied().filter(|of| of.is_valid()).collect();
            let counts = valid.len() as f64 >= VALID_MIN * all.len() as f64;
            let level = Level { load: *load, rate_per_s, segments: &valid };
            let found = effects.prices(kinds, &level, counts);
            is_judged |= counts && found.iter().any(|price| price.cost_ms.is_some());
            prices.extend(found);
        }
        effects.judgement = match (is_judged, prices.iter().any(|price| price.surely)) {
            (false, _) => Judgement::NotJudged,
            (true, false) => Judgement::NoneSingledOut,
            (true, true) => Judgement::SingledOut,
        };
        (effects, prices)
    }

    /// Returns the cost of each kind to each other at a load; it is judged only with enough counting
    /// segments.
    fn prices(&self, kinds: &[RequestKind], level: &Level<'_>, is_judged: bool) -> Vec<Price> {
        let Level { load, rate_per_s, segments } = level;
        let shares: Vec<f64> = kinds.iter().map(|kind| kind.share).collect();
        let mut prices = Vec::new();
        for (kind, waits) in kinds.iter().enumerate() {
            let p99_where = |treatment| {
                let of = segments.iter().filter(move |of| of.segment.treatment == treatment);
                usual(of.filter_map(|of| of.p99_ms[kind]))
            };
            let with_ms = p99_where(Treatment::Whole);
            let seen = segments
                .iter()
                .filter_map(|of| observation(of, of.segment.block, kinds, of.p99_ms[kind]?.ln()));
            let fit = Regression::from_observations(&seen.collect::<Vec<_>>());
            let surely = |estimate: Option<Estimate>| {
                let interval = estimate.and_then(|of| of.interval(self.comparisons));
                interval.is_some_and(|interval| interval.low > 0.0)
            };
            for (by, cause) in kinds.iter().enumerate().filter(|(by, _)| *by != kind) {
                let slope = fit.as_ref().and_then(|fit| fit.slope(by));
                let rate = rate_per_s * shares[by];
                let known = slope.zip(with_ms);
                let saves_ms = known.map(|(of, p99_ms)| p99_ms * (1.0 - (-of.value * rate).exp()));
                let is_material = saves_ms >= with_ms.map(|p99_ms| MATERIAL * p99_ms);
                let beside = fit.as_ref().and_then(|fit| fit.beside_others(by, &shares));
                prices.push(Price {
                    operation: cause.name.clone(),
                    waits: waits.name.clone(),
                    load: Some(*load),
                    without_ms: p99_where(Treatment::Without(by)),
                    with_ms,
                    cost_ms: known.and_then(|(of, p99)| cost(of, p99, rate, self.unit_per_s)),
                    saves_ms,
                    surely: is_judged
                        && saves_ms.is_some()
                        && is_material
                        && surely(slope)
                        && surely(beside),
                    ..Price::default()
                });
            }
        }
        prices
    }
}

/// Counting segments of a load.
struct Level<'s> {
    load: f64,
    rate_per_s: f64,
    segments: &'s [&'s SegmentResult],
}

/// A segment as an observation: requests per second of each kind, and the outcome.
fn observation(
    of: &SegmentResult,
    group: usize,
    kinds: &[RequestKind],
    outcome: f64,
) -> Option<Observation> {
    let rate_per_s = of.rate_per_s?;
    let treatment = of.segment.treatment;
    let rates =
        kinds.iter().enumerate().map(|(at, kind)| rate_per_s * kind.share * treatment.share_of(at));
    Some(Observation { group, causes: rates.collect(), outcome })
}

/// The server's CPU time by kind, over all loads.
fn cpu(kinds: &[RequestKind], segments: &[SegmentResult]) -> Option<Regression> {
    let levels = segments.iter().filter_map(|of| of.segment.level).max()? + 1;
    let valid = segments.iter().filter(|of| of.is_valid());
    let seen = valid.filter_map(|of| {
        let group = of.segment.block * levels + of.segment.level?;
        observation(of, group, kinds, of.server_cores?)
    });
    Regression::from_observations(&seen.collect::<Vec<_>>())
}

/// Share of the capacity that a unit of a kind takes, from the time per request with and without it, in the
/// closed loops of each block.
fn capacity_of(
    kind: usize,
    kinds: &[RequestKind],
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
    let figures = (0..blocks).filter_map(|block| {
        let whole = rate(block, Treatment::Whole)?;
        let without = rate(block, Treatment::Without(kind))?;
        Some((1.0 / whole - (1.0 - share) / without) / share * unit_per_s)
    });
    mean_figure(&figures.collect::<Vec<_>>())
}

/// Unit of costs: 1,000 requests per second, or fewer for a slow server.
fn unit(capacity_per_s: Option<f64>) -> f64 {
    let units = [1_000.0, 100.0, 10.0];
    let fits = |unit: &f64| capacity_per_s.is_none_or(|capacity| *unit * 5.0 <= capacity);
    units.into_iter().find(fits).unwrap_or(1.0)
}

/// The most frequent value.
fn most<T: Copy + PartialEq>(values: impl Iterator<Item = T>) -> Option<T> {
    let all: Vec<T> = values.collect();
    all.iter().copied().max_by_key(|value| all.iter().filter(|of| *of == value).count())
}

#[cfg(test)]
#[path = "effects_tests.rs"]
mod tests;
