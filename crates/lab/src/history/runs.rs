//! The runs of a series that count, and the comparison of the newest with earlier ones, for one figure.
//!
//! Conclusions over all figures and series are in [`judgement`](crate::history::judge).

use measure::statistics::{ERROR_RATE, Forecast, LevelStep, Ratio, p_higher};
use report::{Direction, Metric};

use crate::history::Series;

/// The conditions for judging runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Terms<'m> {
    /// The figures that are judged.
    pub metrics: &'m [Metric],
    /// Number of runs of a series that count, the newest included.
    pub last: usize,
    /// The per cent by which a figure may become worse.
    pub percent: Option<f64>,
    /// Counts runs in which the client did not do its work.
    pub disturbed: bool,
}

/// The finding about a figure of the newest runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Finding {
    /// The level changed for good.
    LevelStep {
        /// The number, in the series, of the first run of the new level.
        at: usize,
        /// The numbers of the runs between which the step lies 95 times in 100.
        range: (usize, usize),
        /// Ratio of the new level to the one before.
        ratio: Ratio,
        /// Numbers of runs on the levels before and after.
        runs: [usize; 2],
        /// Size of the change relative to the allowed one.
        extent: Extent,
    },
    /// The newest run or the newest two are off; it is unknown whether that will last.
    Off {
        /// The last value over the level.
        ratio: f64,
        /// Number of runs that are off.
        runs: usize,
        /// Size of the change relative to the allowed one.
        extent: Extent,
        /// The share of time that others had the CPU in these runs, if it is higher than in any earlier run.
        noise: Option<f64>,
    },
    /// The newest run is like the earlier ones.
    Level,
    /// There are too few earlier runs for a judgement.
    TooFew,
}

/// The size of a change relative to the allowed one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// The figure is certainly worse by more than allowed.
    Beyond,
    /// The figure may be worse by more than allowed.
    Unsure,
    /// The figure is certainly not worse by more than allowed.
    Within,
}

/// Returns whether a ratio of new to old values is a change for the worse.
pub(crate) fn is_worse(metric: Metric, ratio: f64) -> bool {
    (ratio - 1.0) * sign(metric) > 0.0
}

/// Returns 1 for a figure of which more is worse, and -1 where less is.
pub(crate) fn sign(metric: Metric) -> f64 {
    if metric.better() == Direction::Lower { 1.0 } else { -1.0 }
}

/// The runs of a series that count, for one figure.
pub(crate) struct Runs<'s> {
    pub(crate) series: &'s Series,
    pub(crate) metric: Metric,
    /// Indices of the runs in the series.
    pub(crate) places: Vec<usize>,
    pub(crate) values: Vec<f64>,
    pub(crate) terms: Terms<'s>,
}

impl Runs<'_> {
    fn noise(&self, at: usize) -> f64 {
        self.series.entries[self.places[at]].noise
    }

    /// The values from `at` on, without everything that noise can have added beyond the noise of the runs
    /// from `from` to `at`.
    fn excused(&self, from: usize, at: usize) -> Vec<f64> {
        let known = (from..at).map(|before| self.noise(before)).fold(0.0, f64::max);
        (at..self.values.len())
            .map(|at: usize| {
                let (value, noise) = (self.values[at], self.noise(at));
                let figure = self.series.entries[self.places[at]].figure(self.metric);
                let without = figure.map_or(value, |figure| figure.without_noise);
                let more = if noise > known { (noise - known) / noise } else { 0.0 };
                value * (without / value).powf(more)
            })
            .collect()
    }

    /// Returns the factor by which the earlier level may become worse.
    fn allowed(&self) -> f64 {
        1.0 + sign(self.metric) * self.terms.percent.unwrap_or(0.0) / 100.0
    }

    /// Probability that the runs from `at` on are this bad, compared with those from `from` to `at`, if they
    /// are not worse by more than allowed.
    pub(crate) fn p_beyond(&self, from: usize, at: usize) -> f64 {
        self.p(&self.values[from..at], &self.excused(from, at), sign(self.metric))
    }

    /// Probability that some are by chance as far beyond others that are worse by as much as is allowed.
    fn p(&self, before: &[f64], after: &[f64], sign: f64) -> f64 {
        let times = |values: &[f64], by: f64| values.iter().map(|v| v * by).collect::<Vec<f64>>();
        p_higher(&times(before, self.allowed() * sign), &times(after, sign))
    }

    /// Judges a step, whose earlier level begins at `from`.
    pub(crate) fn step(&self, step: LevelStep, from: usize) -> Finding {
        let places = &self.places;
        let p_within =
            self.p(&self.values[from..step.at], &self.values[step.at..], -sign(self.metric));
        let is_within = !is_worse(self.metric, step.ratio.ratio) || 2.0 * p_within <= ERROR_RATE;
        Finding::LevelStep {
            at: places[step.at],
            range: (places[step.range.0], places[step.range.1.min(places.len() - 1)]),
            ratio: step.ratio,
            runs: [step.at - from, places.len() - step.at],
            extent: if is_within { Extent::Within } else { Extent::Unsure },
        }
    }

    /// The newest two runs, or the newest one, if they lie outside the forecast of the level that begins at
    /// `level`, on the same side.
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

    /// Compares the outliers from `at` on with the allowed change. They are certainly beyond it if that is
    /// improbable by the spread of the level, and if they exceed its worst run by more than half of the
    /// distance between its worst and its best: bad days come in all sizes.
    fn extent(&self, forecast: &Forecast, level: usize, at: usize, figures: usize) -> Extent {
        let sign = sign(self.metric);
        let least_and_most = |values: &[f64]| {
            let badness = values.iter().map(|value| sign * value.ln());
            badness.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), of| (a.min(of), b.max(of)))
        };
        let (least, most) = least_and_most(&self.values[level..at]);
        let (mildest, _) = least_and_most(&self.excused(level, at));
        let value = (sign * mildest).exp();
        let p = forecast.p_beyond(value, self.allowed(), sign);
        let is_seldom = p.is_some_and(|p| 2.0 * p * figures as f64 <= ERROR_RATE);
        let is_allowed = !is_worse(self.metric, value / forecast.level / self.allowed());
        match () {
            () if is_seldom && mildest - most > (most - least) / 2.0 => Extent::Beyond,
            () if is_allowed && self.terms.percent.is_some() => Extent::Within,
            () => Extent::Unsure,
        }
    }
}
