//! Charts of a test of a comparison: ratios with their intervals, every run of every server, and their median runs.

use crate::compare::{ComparedTest, FigureRow, TestComparison, verdict};
use crate::{Metric, Run};

use crate::page::runs::{self, outages, spectrum};
use crate::page::{Axis, Band, Block, Chart, DataPoint, Guide, Unit};

/// Factor at which a bar's end is cut off, as a longer one would leave no room for the others.
const CHARTED_MAX: f64 = 100.0;
/// Figures of which charts show every run.
const REPEATED: [Metric; 2] = [Metric::Throughput, Metric::P99];
/// Colours of better, worse and undecided, as numbers of series.
const BETTER: usize = 2;
const WORSE: usize = 1;
const UNDECIDED: usize = 6;

/// Charts before the figures.
pub(super) fn before_figures(test: &ComparedTest) -> Vec<Block> {
    let judged = test.pairs.iter().filter(|pair| pair.refused.is_none());
    let strips = repeated(test).into_iter().map(|row| strip(test, &row));
    judged.map(ratios).chain(strips).chain(timelines(test)).map(Block::Chart).collect()
}

/// Charts of the figures run by run.
pub(super) fn run_by_run(test: &ComparedTest) -> Vec<Block> {
    let charts = repeated(test).into_iter().map(|row| over_runs(test, &row));
    charts.map(Block::Chart).collect()
}

/// The figures of which every run is shown, if a server has several runs.
fn repeated(test: &ComparedTest) -> Vec<FigureRow<'_>> {
    let several = |row: &FigureRow<'_>| row.values().flatten().any(|(_, values)| values.len() > 1);
    let figures = test.figures().into_iter();
    figures.filter(|row| REPEATED.contains(&row.metric) && several(row)).collect()
}

/// Title of a figure, its axis, and the units of the axis in one of the figure.
fn described(test: &ComparedTest, metric: Metric) -> (&'static str, Axis, f64) {
    let unit = test.pairs.first().map(|pair| pair.setup.unit).unwrap_or_default();
    if metric == Metric::P99 {
        return ("99th percentile", Axis::log("response time", Unit::Nanoseconds), 1e6);
    }
    ("Throughput", Axis::log(unit.rate_title().to_lowercase(), Unit::PerSecond), 1.0)
}

/// The run of each server with median throughput, if each has one.
pub(super) fn middle_runs(test: &ComparedTest) -> Vec<(&str, &Run)> {
    let all = test.sides().map(|side| Some((side.name.as_str(), side.middle()?)));
    all.collect::<Option<Vec<_>>>().unwrap_or_default()
}

/// Charts of the servers over time, with the outages of each, and by percentile.
fn timelines(test: &ComparedTest) -> Vec<Chart> {
    let sides = middle_runs(test);
    if sides.is_empty() {
        return Vec::new();
    }
    let out = sides.iter().flat_map(|(name, run)| {
        outages::bands(run)
            .into_iter()
            .map(move |found| Band { name: format!("nothing succeeded: {name}"), ..found })
    });
    let bands: Vec<Band> = out.collect();
    let charts = runs::overlaid(&sides);
    // Runs of one or two intervals have nothing to show over time.
    let is_visible = sides.iter().all(|(_, run)| run.measurement.timeline.points.len() > 2);
    let over_time = charts.into_iter().filter(|_| is_visible);
    let mut charts: Vec<Chart> =
        over_time.map(|chart| Chart { bands: bands.clone(), ..chart }).collect();
    charts.push(spectrum("Response time by percentile", &sides));
    charts
}

/// A dot for each figure, with the interval of its ratio as a whisker.
fn ratios(pair: &TestComparison) -> Chart {
    let [first, second] = &pair.setup.names;
    let mut chart = Chart::bars(
        format!("{second} / {first} with its 95 % interval"),
        pair.rows.iter().map(|row| pair.setup.unit.label(row.metric)),
        Axis::log("ratio", Unit::Ratio),
    );
    chart.note = format!(
        "Green: {second} is better. Orange: it is worse. Grey: no difference was found, or the runs do not say."
    );
    if pair.rows.iter().any(|row| row.ratio.interval.is_none()) {
        chart.note += " A hollow dot has no interval.";
    }
    let points = (0..).zip(&pair.rows).map(|(at, row)| {
        let colour = match pair.better(row) {
            Some(true) => BETTER,
            Some(false) => WORSE,
            None => UNDECIDED,
        };
        let point = DataPoint::at(f64::from(at), row.ratio.ratio);
        let point = point.noted(verdict(row)).coloured(colour);
        let [least, most] = [row.ratio.ratio / CHARTED_MAX, row.ratio.ratio * CHARTED_MAX];
        match row.ratio.interval {
            Some(interval) => point.within(interval.low.max(least), interval.high.min(most)),
            None => point.hollow(),
        }
    });
    chart.guides.push(Guide::Y(1.0, "alike".into()));
    chart.with("ratio", points)
}

/// Every run of each server as a dot, which shows whether they overlap.
fn strip(test: &ComparedTest, row: &FigureRow<'_>) -> Chart {
    let (name, axis, factor) = described(test, row.metric);
    let names = test.sides().map(|side| side.name.as_str());
    let points = row.values().enumerate().flat_map(|(side, figure)| {
        let values = figure.map_or(&[][..], |(_, values)| values);
        (1..).zip(values).map(move |(run, value)| {
            let point = DataPoint::at(side as f64, value * factor);
            point.coloured(side).noted(format!("run {run}"))
        })
    });
    Chart::bars(format!("{name} of every run"), names, axis).with("run", points)
}

/// A figure of all servers, run by run, which shows changes during the comparison.
fn over_runs(test: &ComparedTest, row: &FigureRow<'_>) -> Chart {
    let (name, axis, factor) = described(test, row.metric);
    let axis = if row.metric == Metric::P99 { axis } else { Axis::linear(axis.label, axis.unit) };
    let runs = Axis::linear("run of its side", Unit::Count);
    let mut chart = Chart::lines(format!("{name} run by run"), runs, axis);
    for (side, figure) in test.sides().zip(row.values()) {
        let values = figure.map_or(&[][..], |(_, values)| values);
        let points = (1..).zip(values).map(|(at, value)| (f64::from(at), value * factor));
        chart = chart.with(side.name.as_str(), points);
    }
    chart
}
