//! The runs of a series that count: how the newest of them lie beside those before, for one figure.
//!
//! What a series comes to, over all of its figures and beside others, is [`judgement`](crate::judge)'s.

use report::{Direction, Metric};
use statistics::{ERROR_RATE, Forecast, Step, p_higher, p_lower};

use crate::judgement::is_worse;
use crate::{Extent, Finding, Series, Terms};

/// The runs of a series that count, for one figure.
pub(crate) struct Runs<'s> {
    pub(crate) series: &'s Series,
    pub(crate) metric: Metric,
    /// Their numbers in the series.
    pub(crate) places: Vec<usize>,
    pub(crate) values: Vec<f64>,
    pub(crate) terms: Terms,
}

impl Runs<'_> {
    fn noise(&self, at: usize) -> f64 {
        self.series.entries[self.places[at]].noise
    }

    /// The values from `at` on with everything taken off that can have been made worse by noise that the runs
    /// between `from` and `at` did not have.
    fn excused(&self, from: usize, at: usize) -> Vec<f64> {
        let known = (from..at).map(|before| self.noise(before)).fold(0.0, f64::max);
        let of = |at: usize| {
            let (value, noise) = (self.values[at], self.noise(at));
            let figure = self.series.entries[self.places[at]].figure(self.metric);
            let without = figure.map_or(value, |figure| figure.without_noise);
            let more = if noise > known { (noise - known) / noise } else { 0.0 };
            value * (without / value).powf(more)
        };
        (at..self.values.len()).map(of).collect()
    }

    /// Returns the factor by which the level before may become worse.
    fn allowed(&self) -> f64 {
        let allowed = self.terms.percent.unwrap_or(0.0) / 100.0;
        match self.metric.better() {
            Direction::Higher => (1.0 - allowed).max(0.0),
            Direction::Lower => 1.0 + allowed,
        }
    }

    /// Probability that the runs from `at` on are as bad beside those between `from` and `at` if they are not worse by
    /// more than allowed.
    pub(crate) fn p_beyond(&self, from: usize, at: usize) -> f64 {
        let before = self.times_allowed(&self.values[from..at]);
        match self.metric.better() {
            Direction::Higher => p_lower(&before, &self.excused(from, at)),
            Direction::Lower => p_higher(&before, &self.excused(from, at)),
        }
    }

    fn times_allowed(&self, values: &[f64]) -> Vec<f64> {
        values.iter().map(|value| value * self.allowed()).collect()
    }

    /// Judges a step, whose level before begins at `from`.
    pub(crate) fn step(&self, step: Step, from: usize) -> Finding {
        let places = &self.places;
        let before = self.times_allowed(&self.values[from..step.at]);
        let after = &self.values[step.at..];
        let p_within = match self.metric.better() {
            Direction::Higher => p_higher(&before, after),
            Direction::Lower => p_lower(&before, after),
        };
        let is_within = !is_worse(self.metric, step.ratio.ratio) || 2.0 * p_within <= ERROR_RATE;
        Finding::Step {
            at: places[step.at],
            range: (places[step.range.0], places[step.range.1.min(places.len() - 1)]),
            ratio: step.ratio,
            runs: [step.at - from, places.len() - step.at],
            extent: if is_within { Extent::Within } else { Extent::Unsure },
        }
    }

    /// The newest two runs, or the newest, if they are outside of what the level that begins at `level` lets
    /// expect, to the same side.
    pub(crate) fn off(&self, level: usize, figures: usize) -> Option<(Forecast, Finding)> {
        let count = self.values.len();
        for runs in [2, 1] {
            let at = count.checked_sub(runs).filter(|at| *at >= level)?;
            let Some(forecast) = Forecast::from_values(&self.values[level..at], figures) else {
                continue;
            };
            let newest = &self.values[at..];
            let is_below = newest.iter().all(|value| *value < forecast.interval.low);
            let is_above = newest.iter().all(|value| *value > forecast.interval.high);
            if is_below || is_above {
                let known = (level..at).map(|before| self.noise(before)).fold(0.0, f64::max);
                let noise = (at..count).map(|at| self.noise(at)).fold(0.0, f64::max);
                let finding = Finding::Off {
                    ratio: newest[runs - 1] / forecast.level,
                    runs,
                    extent: self.extent(&forecast, level, at, figures),
                    noise: Some(noise).filter(|noise| *noise > known),
                };
                return Some((forecast, finding));
            }
        }
        None
    }

    /// Compares the runs from `at` on, which are off, with what is allowed. Surely beyond is what is improbable by the
    /// spread of the level, and beyond its worst run by more than half of the distance between its worst and its best:
    /// bad days come in all sizes.
    fn extent(&self, forecast: &Forecast, level: usize, at: usize, figures: usize) -> Extent {
        let logarithms = |values: &[f64]| {
            let logarithms = values.iter().map(|value| value.ln()).collect::<Vec<f64>>();
            let least = logarithms.iter().copied().fold(f64::INFINITY, f64::min);
            (least, logarithms.into_iter().fold(f64::NEG_INFINITY, f64::max))
        };
        let (least, most) = logarithms(&self.values[level..at]);
        let (least_new, most_new) = logarithms(&self.excused(level, at));
        let (p, beyond, value) = match self.metric.better() {
            Direction::Higher => {
                let value = most_new.exp();
                (forecast.p_below(value, self.allowed()), least - most_new, value)
            }
            Direction::Lower => {
                let value = least_new.exp();
                (forecast.p_above(value, self.allowed()), least_new - most, value)
            }
        };
        let is_seldom = p.is_some_and(|p| 2.0 * p * figures as f64 <= ERROR_RATE);
        let is_allowed = !is_worse(self.metric, value / forecast.level / self.allowed());
        match () {
            () if is_seldom && beyond > (most - least) / 2.0 => Extent::Beyond,
            () if is_allowed && self.terms.percent.is_some() => Extent::Within,
            () => Extent::Unsure,
        }
    }
}
