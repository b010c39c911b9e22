//! Whether the newest runs of a series are like those before: a step, one run that is off, or the level as before.
//!
//! One run that is off may be a bad day of the machine, so it fails nothing: a step has at least
//! [`statistics::SIDE_MIN`] runs on either side.

use report::{Direction, Metric};
use statistics::{ERROR_RATE, Forecast, Interval, Ratio, Step, holm, steps};

use crate::{Entry, Series};

/// The figures that are judged: those that a gate of a comparison watches.
const JUDGED: [Metric; 2] = report::compare::WATCHED;

/// Under which terms runs are judged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Terms {
    /// How many runs of a series count, the newest included.
    pub last: usize,
    /// The per cent by which a figure may have become worse.
    pub percent: Option<f64>,
    /// Whether runs count that other programs or the client spoiled.
    pub disturbed: bool,
}

/// What the newest runs show of a figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Finding {
    /// The level changed for good.
    Step {
        /// The number, in the series, of the first run of the new level.
        at: usize,
        /// The numbers between which it lies 95 times in 100.
        range: (usize, usize),
        /// The new level over the one before.
        ratio: Ratio,
        /// How many runs the levels before and after have.
        runs: [usize; 2],
        /// Whether the new level is surely worse by more than the terms allow.
        is_beyond: bool,
    },
    /// Only the newest run is off, which may be a bad day: its value over the level.
    Off(f64),
    /// The newest run is like those before.
    Level,
    /// There are not enough runs before it to judge by.
    TooFew,
}

/// One figure of a series, judged.
#[derive(Debug, Clone, PartialEq)]
pub struct FigureJudgement {
    /// Which one.
    pub metric: Metric,
    /// Its value in the newest run that counts.
    pub newest: f64,
    /// What the newest run is expected to lie in, by the runs of its level before it.
    pub expected: Option<Interval>,
    /// The smallest change, as a share, that one more run shows four times in five; `None` of too few.
    pub smallest_visible: Option<f64>,
    /// What was found.
    pub finding: Finding,
}

impl FigureJudgement {
    /// Whether what was found is for the worse; `None` where nothing was.
    #[must_use]
    pub fn is_worse(&self) -> Option<bool> {
        let ratio = match self.finding {
            Finding::Step { ratio, .. } => ratio.ratio,
            Finding::Off(ratio) => ratio,
            Finding::Level | Finding::TooFew => return None,
        };
        Some(is_worse(self.metric, ratio))
    }
}

fn is_worse(metric: Metric, ratio: f64) -> bool {
    match metric.better() {
        Direction::Higher => ratio < 1.0,
        Direction::Lower => ratio > 1.0,
    }
}

/// A series, judged by its last runs.
#[derive(Debug, Clone)]
pub struct Judgement {
    /// The name of the series.
    pub name: String,
    /// The last runs of it, those included that do not count.
    pub series: Series,
    /// How many of them count.
    pub counted: usize,
    /// The figures.
    pub figures: Vec<FigureJudgement>,
}

/// What becomes of a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gate {
    /// Nothing became worse by more than allowed.
    Passed,
    /// The runs do not say.
    Undecided,
    /// A level became worse by more than allowed.
    Failed,
}

/// Judges series by their last runs, each up to the last entry for which `is_newest` holds; a series without one
/// is left out.
#[must_use]
pub fn judge(all: &[Series], is_newest: &dyn Fn(&Entry) -> bool, terms: Terms) -> Vec<Judgement> {
    let mut judged: Vec<Judgement> =
        all.iter().filter_map(|series| recent(series, is_newest, terms)).collect();
    let figures = judged.len() * JUDGED.len();
    for judgement in &mut judged {
        judgement.figures = JUDGED
            .into_iter()
            .filter_map(|metric| figure(judgement, metric, figures, terms))
            .collect();
    }
    decide(&mut judged, terms);
    judged
}

/// The last runs of a series up to the newest that is to be judged.
fn recent(series: &Series, is_newest: &dyn Fn(&Entry) -> bool, terms: Terms) -> Option<Judgement> {
    let newest = series.entries.iter().rposition(is_newest)?;
    let from = (newest + 1).saturating_sub(terms.last);
    let entries = series.entries[from..=newest].to_vec();
    let series = Series { entries, ..series.clone() };
    let counted = series.values(JUDGED[0], terms.disturbed).0.len();
    Some(Judgement { name: series.name.clone(), series, counted, figures: Vec::new() })
}

/// What one figure shows; whether a step is beyond what is allowed is left to [`decide`].
fn figure(
    judgement: &Judgement,
    metric: Metric,
    figures: usize,
    terms: Terms,
) -> Option<FigureJudgement> {
    let (places, values) = judgement.series.values(metric, terms.disturbed);
    let newest = *values.last()?;
    let found = steps(&values, figures).last().copied();
    let level = found.map_or(0, |step| step.at);
    let forecast = Forecast::from_values(&values[level..values.len() - 1]);
    let finding = match (found, forecast) {
        (Some(step), _) => of_step(step, &places),
        (None, Some(forecast)) => match off(&forecast, newest) < ERROR_RATE / figures as f64 {
            true => Finding::Off(newest / forecast.level),
            false => Finding::Level,
        },
        (None, None) => Finding::TooFew,
    };
    Some(FigureJudgement {
        metric,
        newest,
        expected: forecast.map(|forecast| forecast.interval),
        smallest_visible: forecast.map(|forecast| forecast.smallest_visible),
        finding,
    })
}

fn of_step(step: Step, places: &[usize]) -> Finding {
    Finding::Step {
        at: places[step.at],
        range: (places[step.range.0], places[step.range.1.min(places.len() - 1)]),
        ratio: step.ratio,
        runs: [step.at, places.len() - step.at],
        is_beyond: false,
    }
}

/// The probability of a value as far off in either direction.
fn off(forecast: &Forecast, value: f64) -> f64 {
    let sides = [forecast.p_below(value, 1.0), forecast.p_above(value, 1.0)];
    let least = sides.into_iter().flatten().fold(1.0, f64::min);
    (2.0 * least).min(1.0)
}

/// Decides which steps are surely worse by more than allowed, over all figures together.
fn decide(judged: &mut [Judgement], terms: Terms) {
    let allowed = terms.percent.unwrap_or(0.0) / 100.0;
    let mut open: Vec<(&mut bool, f64)> = Vec::new();
    for figure in judged.iter_mut().flat_map(|judgement| &mut judgement.figures) {
        let metric = figure.metric;
        let Finding::Step { ratio, is_beyond, .. } = &mut figure.finding else { continue };
        let p = match metric.better() {
            Direction::Higher => ratio.p_below(1.0 - allowed),
            Direction::Lower => ratio.p_above(1.0 + allowed),
        };
        open.extend(p.map(|p| (is_beyond, (2.0 * p).min(1.0))));
    }
    let small = holm(&open.iter().map(|(_, p)| *p).collect::<Vec<_>>(), 1);
    for ((is_beyond, _), small) in open.into_iter().zip(small) {
        *is_beyond = small;
    }
}

/// What the judgements come to.
#[must_use]
pub fn gate(judged: &[Judgement], terms: Terms) -> Gate {
    let allowed = terms.percent.map(|percent| percent / 100.0);
    let of = |figure: &FigureJudgement| match figure.finding {
        Finding::Step { is_beyond: true, .. } => Gate::Failed,
        Finding::Off(_) if figure.is_worse() == Some(true) => Gate::Undecided,
        Finding::TooFew => Gate::Undecided,
        // What could not be found must not look like what is not there.
        _ if allowed.zip(figure.smallest_visible).is_some_and(|(of, seen)| seen > of) => {
            Gate::Undecided
        }
        Finding::Step { .. } | Finding::Off(_) | Finding::Level => Gate::Passed,
    };
    let figures = judged.iter().flat_map(|judgement| &judgement.figures);
    // A series of which no run counts shows nothing.
    let is_empty = judged.is_empty() || judged.iter().any(|judgement| judgement.figures.is_empty());
    figures.map(of).chain(is_empty.then_some(Gate::Undecided)).max().unwrap_or(Gate::Undecided)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::tests::entry;
    use crate::{Grouping, series};
    use statistics::Noise;

    const TERMS: Terms = Terms { last: 60, percent: None, disturbed: false };

    fn judged(rates: &[f64], terms: Terms) -> (Finding, Gate) {
        let entries: Vec<Entry> = rates.iter().zip(1..).map(|(rate, n)| entry(n, *rate)).collect();
        let judged = judge(&series(&entries, Grouping::Machine), &|_| true, terms);
        (judged[0].figures[0].finding, gate(&judged, terms))
    }

    fn rates(count: usize) -> Vec<f64> {
        let mut noise = Noise::new(77_000);
        (0..count).map(|_| 1e5 * (0.005 * noise.normal()).exp()).collect()
    }

    #[test]
    fn a_step_fails_and_one_bad_run_does_not() {
        let level = rates(30);
        assert_eq!(judged(&level, TERMS), (Finding::Level, Gate::Passed));
        let mut bad = level.clone();
        bad[29] *= 0.9;
        let (finding, gate) = judged(&bad, TERMS);
        assert!(
            matches!(finding, Finding::Off(ratio) if (0.88..0.92).contains(&ratio)),
            "{finding:?}"
        );
        assert_eq!(gate, Gate::Undecided);
        let mut step = level.clone();
        step[25..].iter_mut().for_each(|rate| *rate *= 0.97);
        let (finding, gate) = judged(&step, TERMS);
        assert!(matches!(finding, Finding::Step { at: 25, is_beyond: true, .. }), "{finding:?}");
        assert_eq!(gate, Gate::Failed);
        // One that is allowed, one for the better, and one that is older than the last runs.
        assert_eq!(judged(&step, Terms { percent: Some(5.0), ..TERMS }).1, Gate::Passed);
        let better: Vec<f64> = step.iter().map(|rate| 1e10 / rate).collect();
        assert_eq!(judged(&better, TERMS).1, Gate::Passed);
        step.extend(rates(20).iter().map(|rate| rate * 0.97));
        assert_eq!(judged(&step, Terms { last: 20, ..TERMS }).1, Gate::Passed);
        assert_eq!(judged(&step, TERMS).1, Gate::Failed);
    }

    #[test]
    fn what_cannot_be_seen_is_not_passed() {
        assert_eq!(judged(&rates(3), TERMS), (Finding::TooFew, Gate::Undecided));
        assert_eq!(judged(&rates(30), Terms { percent: Some(0.1), ..TERMS }).1, Gate::Undecided);
        assert_eq!(judged(&rates(30), Terms { percent: Some(5.0), ..TERMS }).1, Gate::Passed);
        assert_eq!(gate(&[], TERMS), Gate::Undecided);
    }

    #[test]
    fn only_series_with_a_new_run_are_judged_up_to_it() {
        let entries: Vec<Entry> =
            rates(10).iter().zip(1..).map(|(rate, n)| entry(n, *rate)).collect();
        let all = series(&entries, Grouping::Machine);
        assert!(judge(&all, &|_| false, TERMS).is_empty());
        let of = judge(&all, &|entry| entry.started_ms == 7, TERMS);
        assert_eq!((of[0].series.entries.len(), of[0].counted), (7, 7));
    }
}
