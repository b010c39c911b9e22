//! Judgement of the newest runs of a series against earlier ones: a step, one or two outliers, or an
//! unchanged level.
//!
//! The expectation comes from the level before alone. One run shows that it was worse, not that the next will
//! be; a step has at least [`measure::statistics::SIDE_MIN`] runs on either side. A gate fails for what is certainly
//! worse, after subtracting all that additional noise in the newest runs can have caused, and for failed
//! requests, which noise does not cause.

use measure::statistics::{Forecast, Interval, holm, steps};
use report::Metric;
use report::compare::GateState;

use crate::history::runs::{Extent, Finding, Runs, Terms, is_worse};
use crate::history::{Entry, Series};

/// Share of all requests by which failures may exceed the median of the runs before.
const FAILURES_MAX: f64 = 0.001;

/// A figure of a series, judged.
#[derive(Debug, Clone, PartialEq)]
pub struct FigureJudgement {
    /// The figure.
    pub metric: Metric,
    /// Value in the newest run that counts.
    pub newest: f64,
    /// Range in which the newest run is expected, from earlier runs of its level.
    pub expected: Option<Interval>,
    /// The smallest relative change that one more run reveals four times in five; `None` with too few runs.
    pub smallest_visible: Option<f64>,
    /// Finding about the figure.
    pub finding: Finding,
}

impl FigureJudgement {
    /// Returns whether the finding is a change for the worse; `None` if there is no change.
    pub fn is_worse(&self) -> Option<bool> {
        let ratio = match self.finding {
            Finding::LevelStep { ratio, .. } => ratio.ratio,
            Finding::Off { ratio, .. } => ratio,
            Finding::Level | Finding::TooFew => return None,
        };
        Some(is_worse(self.metric, ratio))
    }
}

/// A series, judged by its last runs.
#[derive(Debug, Clone)]
pub struct Judgement {
    /// The name of the series.
    pub name: String,
    /// The last runs of the series, including those that do not count.
    pub series: Series,
    /// Number of runs that count.
    pub counted: usize,
    /// The figures.
    pub figures: Vec<FigureJudgement>,
    /// Shares of the requests that failed in the runs before, in the middle, and in the newest, if those are more than
    /// may be.
    pub failed: Option<[f64; 2]>,
}

impl Judgement {
    /// Returns the figures that were to be judged and that no run knows.
    pub(crate) fn missing(&self, terms: Terms<'_>) -> impl Iterator<Item = Metric> {
        let is_known = |metric: &Metric| self.figures.iter().any(|of| of.metric == *metric);
        terms.metrics.iter().copied().filter(move |metric| !is_known(metric))
    }
}

/// Judges series by their last runs, each up to the last entry that `is_newest` accepts; a series without one
/// is left out.
pub fn judge(
    all: &[Series],
    is_newest: &dyn Fn(&Entry) -> bool,
    terms: Terms<'_>,
) -> Vec<Judgement> {
    let mut judged: Vec<Judgement> =
        all.iter().filter_map(|series| recent(series, is_newest, terms)).collect();
    let figures = judged.len() * terms.metrics.len();
    let mut open = Vec::new();
    for judgement in &mut judged {
        let metrics = terms.metrics.iter();
        let found = metrics.filter_map(|metric| figure(judgement, *metric, figures, terms));
        let (figures, p): (Vec<_>, Vec<_>) = found.unzip();
        (judgement.figures, open) = (figures, [open, p].concat());
    }
    decide(&mut judged, &open);
    judged
}

/// The last runs of a series up to the newest that is judged.
fn recent(
    series: &Series,
    is_newest: &dyn Fn(&Entry) -> bool,
    terms: Terms<'_>,
) -> Option<Judgement> {
    let newest = series.entries.iter().rposition(is_newest)?;
    let from = (newest + 1).saturating_sub(terms.last);
    let entries = series.entries[from..=newest].to_vec();
    let series = Series { entries, ..series.clone() };
    // A run has a throughput, and a profile has instructions.
    let each = [Metric::Throughput, Metric::Instructions];
    let counted = each.map(|metric| series.values(metric, terms.disturbed).0.len());
    let counted = counted.into_iter().max().unwrap_or(0);
    let failed = more_failed(&series.entries);
    Some(Judgement { name: series.name.clone(), series, counted, figures: Vec::new(), failed })
}

/// Returns the shares of requests that failed in the entry in the middle of those before the last, and in the last, if
/// that is more than may be.
fn more_failed(entries: &[Entry]) -> Option<[f64; 2]> {
    let (newest, before) = entries.split_last()?;
    let mut before: Vec<f64> = before.iter().map(|entry| entry.failed).collect();
    before.sort_by(f64::total_cmp);
    let middle = *before.get(before.len() / 2)?;
    (newest.failed > middle + FAILURES_MAX).then_some([middle, newest.failed])
}

/// Judges a figure, and computes the probability that a step within the allowed change looks like this one.
/// [`decide`] compares that probability with its limit.
fn figure(
    judgement: &Judgement,
    metric: Metric,
    figures: usize,
    terms: Terms<'_>,
) -> Option<(FigureJudgement, Option<f64>)> {
    let (places, values) = judgement.series.values(metric, terms.disturbed);
    let newest = *values.last()?;
    let runs = Runs { series: &judgement.series, metric, places, values, terms };
    let found = steps(&runs.values, figures);
    let level = found.last().map_or(0, |step| step.at);
    // A step for the worse stays one whatever the newest run is beside the level that it led to.
    let is_step_worse = found.last().is_some_and(|step| is_worse(metric, step.ratio.ratio));
    let off = runs.off(level, figures).filter(|_| !is_step_worse);
    let mut p_beyond = None;
    let (forecast, finding) = match (found.last(), off) {
        (Some(step), None) => {
            let from = found.iter().rev().nth(1).map_or(0, |before| before.at);
            p_beyond = is_step_worse.then(|| runs.p_beyond(from, step.at));
            let forecast = Forecast::from_values(&runs.values[from..step.at], figures);
            (forecast, runs.step(*step, from))
        }
        (_, Some((forecast, off))) => (Some(forecast), off),
        (None, None) => {
            let before = &runs.values[..runs.values.len() - 1];
            let forecast = Forecast::from_values(before, figures);
            (forecast, forecast.map_or(Finding::TooFew, |_| Finding::Level))
        }
    };
    let judged = FigureJudgement {
        metric,
        newest,
        expected: forecast.map(|forecast| forecast.interval),
        smallest_visible: forecast.map(|forecast| forecast.smallest_visible),
        finding,
    };
    Some((judged, p_beyond))
}

/// Decides which steps are certainly worse by more than allowed, over all figures together.
fn decide(judged: &mut [Judgement], p_beyond: &[Option<f64>]) {
    let figures = judged.iter_mut().flat_map(|judgement| &mut judgement.figures);
    let open = figures.zip(p_beyond).filter_map(|(figure, p)| {
        let Finding::LevelStep { extent, .. } = &mut figure.finding else { return None };
        Some((extent, (2.0 * (*p)?).min(1.0)))
    });
    let open: Vec<(&mut Extent, f64)> = open.collect();
    let small = holm(&open.iter().map(|(_, p)| *p).collect::<Vec<_>>(), 1);
    for ((extent, _), small) in open.into_iter().zip(small) {
        if small {
            *extent = Extent::Beyond;
        }
    }
}

/// Decides the gate from the judgements.
pub fn gate(judged: &[Judgement], terms: Terms<'_>) -> GateState {
    let allowed = terms.percent.map(|percent| percent / 100.0);
    let of = |figure: &FigureJudgement| match figure.finding {
        Finding::LevelStep { extent, .. } | Finding::Off { extent, .. }
            if figure.is_worse() == Some(true) && extent != Extent::Within =>
        {
            match extent {
                Extent::Beyond => GateState::Failed,
                Extent::Unsure | Extent::Within => GateState::Undecided,
            }
        }
        Finding::TooFew => GateState::Undecided,
        // What could not be found must not look like what is not there.
        _ if allowed.zip(figure.smallest_visible).is_some_and(|(of, seen)| seen > of) => {
            GateState::Undecided
        }
        Finding::LevelStep { .. } | Finding::Off { .. } | Finding::Level => GateState::Passed,
    };
    let figures = judged.iter().flat_map(|judgement| &judgement.figures);
    // A run that does not count shows nothing, and those before it are not what was asked about.
    let lacks = |of: &Judgement| {
        !of.series.newest().counts(terms.disturbed) || of.missing(terms).next().is_some()
    };
    let lacks = judged.is_empty() || judged.iter().any(lacks);
    let fails = judged.iter().any(|judgement| judgement.failed.is_some());
    let others = [lacks.then_some(GateState::Undecided), fails.then_some(GateState::Failed)];
    figures.map(of).chain(others.into_iter().flatten()).max().unwrap_or(GateState::Undecided)
}

#[cfg(test)]
#[path = "judgement_tests.rs"]
mod tests;
