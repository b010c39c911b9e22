//! Throughput and response times over time.

use crate::{Run, ServerLatencyFigures};
use measure::{Latency, Point};

use super::outages;
use super::words::words;
use crate::page::{Axis, Band, Chart, Guide, Series, Unit};

/// Number of points above which they are merged; a screen cannot show more.
const POINTS_MAX: u64 = 240;
/// Share of its length below which a cut last interval has no meaningful rate.
const CUT_SHORT: f64 = 0.2;

/// Sets the chart's range to the whole time of a run and shades its outages and gaps, so that charts of one
/// run share an axis.
pub(super) fn with_events(chart: Chart, run: &Run) -> Chart {
    let elapsed_s = run.measurement.elapsed_ns as f64 / 1e9;
    let extent = (elapsed_s > 0.0).then_some((0.0, elapsed_s));
    let mut chart = Chart { extent, bands: outages::bands(run), ..chart };
    let gaps = gaps_of_record(run).filter(|gap| gap.from < elapsed_s);
    chart.bands.extend(gaps.map(|gap| Band { to: gap.to.min(elapsed_s), ..gap }));
    let marks = run.marks.iter().map(|mark| Guide::X(mark.at_ns as f64 / 1e9, mark.text.clone()));
    chart.guides.extend(marks);
    let events = ServerLatencyFigures::from_run(run).map_or(Vec::new(), |found| found.events);
    let events = events.into_iter().map(|event| Guide::X(event.t_s.max(0.0), event.kind));
    chart.guides.extend(events);
    chart
}

/// A chart over the time of a run, without lines yet.
pub(super) fn over_time(title: &str, y: Axis) -> Chart {
    Chart::lines(title, Axis::linear("time", Unit::Seconds), y)
}

/// A chart of these lines over the whole time of a run; `None` without a point.
pub(super) fn over_whole_run(
    run: &Run,
    title: &str,
    y: Axis,
    lines: impl IntoIterator<Item = Series>,
) -> Option<Chart> {
    let mut chart = over_time(title, y);
    for mut line in lines {
        // Points of the warm-up are not shown.
        line.points.retain(|point| point.x >= 0.0);
        chart.series.extend((!line.points.is_empty()).then_some(line));
    }
    (chart.points_shown() > 0).then(|| with_events(chart, run))
}

/// Returns the gaps in a replayed record that its users did not notice.
fn gaps_of_record(run: &Run) -> impl Iterator<Item = Band> {
    let stalls = run.plan.recorded.iter().flat_map(|recorded| &recorded.stalls);
    stalls.map(|stall| {
        let (from, to) = (stall.from_ns as f64 / 1e9, stall.to_ns as f64 / 1e9);
        let lasted = Unit::Seconds.show_even(to - from);
        let note = format!(
            "The record has nothing for {lasted}: the recorded server stood still, and a burst follows that its users \
             did not send; or no client sent anything."
        );
        Band { from, to, name: "gap of the record".to_owned(), note }
    })
}

/// Adjacent intervals of a timeline, merged, including silent ones.
pub(super) struct Group<'r> {
    /// Middle, in seconds from the start of the measured part.
    pub(super) middle_s: f64,
    pub(super) from_s: f64,
    pub(super) to_s: f64,
    points: &'r [Point],
}

impl Group<'_> {
    fn sum(&self, count: fn(&Point) -> u64) -> u64 {
        self.points.iter().map(count).fold(0, u64::saturating_add)
    }

    /// Spreads a number evenly over the interval; `None` if that has no length.
    fn rate(&self, number: f64) -> Option<(f64, f64)> {
        let length_s = self.to_s - self.from_s;
        (length_s > 0.0).then(|| (self.middle_s, number / length_s))
    }

    /// Places a latency; without a reply there is none, and the line has a gap.
    fn latency(&self, ns: Option<u64>) -> (f64, f64) {
        (self.middle_s, ns.map_or(f64::NAN, |ns| ns.max(1) as f64))
    }

    /// All response times; `None` without a reply. Merged anew on each call, as those of all groups would
    /// take megabytes.
    pub(super) fn response(&self) -> Option<Latency> {
        let encoded = self.points.iter().filter_map(|point| point.response.as_ref());
        let decoded = encoded.filter_map(|encoded| encoded.decode().ok());
        decoded.reduce(|mut sum, one| {
            sum.merge(&one);
            sum
        })
    }
}

/// Requests per second over time, with the scheduled rate and with errors, if there were any.
pub fn throughput_over_time(title: &str, run: &Run) -> Chart {
    let groups = groups(run);
    let rates = |count: fn(&Point) -> u64| {
        groups.iter().filter_map(move |group| group.rate(group.sum(count) as f64))
    };
    let y = Axis::linear(format!("{} per second", words(run).counted), Unit::PerSecond);
    let mut chart =
        over_time(title, y).noted(note(&groups)).with(words(run).answered, rates(Point::counted));
    if groups.iter().any(|g| g.sum(|point| point.errors) > 0) {
        chart = chart.with("errors", rates(|point| point.errors));
    }
    // Messages are requested, and each is as many deliveries as it has receivers.
    let schedule = run.plan.load.pace.schedule().filter(|_| !run.plan.has_receivers());
    if let Some(schedule) = schedule.filter(|schedule| schedule.is_limited()) {
        // Of a share of a plan, what was its own.
        let due = |s: f64| run.plan.own_rate_per_s(schedule.due_by((s * 1e9) as u64));
        let asked = groups.iter().filter_map(|g| g.rate(due(g.to_s) - due(g.from_s)));
        chart.series.push(Series { dashed: true, ..Series::new("requested", asked) });
    }
    chart
}

/// Median, 99th percentile and maximum of response times over time.
pub fn latency_over_time(title: &str, run: &Run) -> Chart {
    let groups = groups(run);
    let y = Axis::log(words(run).response, Unit::Nanoseconds);
    let mut chart = over_time(title, y).noted(note(&groups));
    let figures = groups.iter().map(|group| {
        group
            .response()
            .map_or([None; 3], |of| [of.quantile_ns(0.5), of.quantile_ns(0.99), of.max_ns()])
    });
    let figures: Vec<[Option<u64>; 3]> = figures.collect();
    for (at, name) in ["median", "99th percentile", "max"].into_iter().enumerate() {
        let points = groups.iter().zip(&figures).map(|(group, of)| group.latency(of[at]));
        chart = chart.with(name, points);
    }
    chart
}

/// Throughput and 99th percentile of several runs over time, each from its own start, a line for each run.
pub(crate) fn overlaid(runs: &[(&str, &Run)]) -> [Chart; 2] {
    let time = || Axis::linear("time from the start of each", Unit::Seconds);
    let noun = runs.first().map_or("requests", |(_, run)| words(run).counted);
    let rate = Axis::linear(format!("{noun} per second"), Unit::PerSecond);
    let mut charts = [
        Chart::lines("Throughput over time", time(), rate),
        Chart::lines(
            "99th percentile over time",
            time(),
            Axis::log("response time", Unit::Nanoseconds),
        ),
    ];
    for (name, run) in runs {
        let groups = groups(run);
        if charts[0].series.is_empty() {
            charts.iter_mut().for_each(|chart| chart.note = note(&groups));
        }
        let rates = groups.iter().filter_map(|group| group.rate(group.sum(Point::counted) as f64));
        charts[0].series.push(Series::new(*name, rates));
        let points = groups.iter().map(|group| {
            group.latency(group.response().and_then(|response| response.quantile_ns(0.99)))
        });
        charts[1].series.push(Series::new(*name, points));
    }
    charts
}

fn note(groups: &[Group<'_>]) -> String {
    match groups.first() {
        Some(first) if groups.len() > 1 => {
            format!("One point every {}.", Unit::Seconds.show(first.to_s - first.from_s))
        }
        Some(_) => "The test was over within one interval.".to_owned(),
        None => String::new(),
    }
}

fn groups(run: &Run) -> Vec<Group<'_>> {
    groups_at_most(run, POINTS_MAX)
}

/// Groups of equally many intervals, at most `most`.
pub(super) fn groups_at_most(run: &Run, most: u64) -> Vec<Group<'_>> {
    let timeline = &run.measurement.timeline;
    let (interval_ns, elapsed_ns) = (timeline.interval_ns, run.measurement.elapsed_ns);
    let Some(last) = timeline.points.last() else { return Vec::new() };
    let intervals = u64::from(last.index) + 1;
    let each = intervals.div_ceil(most).max(1);
    let seconds = |index: u64| (index.saturating_mul(interval_ns)) as f64 / 1e9;
    let mut left = &timeline.points[..];
    let mut groups = Vec::new();
    for number in 0..intervals.div_ceil(each) {
        let (from, to) = (number * each, (number + 1) * each);
        let count = left.iter().take_while(|point| u64::from(point.index) < to).count();
        let (points, others) = left.split_at(count);
        left = others;
        let (from_s, to_s) = (seconds(from), seconds(to).min(elapsed_ns as f64 / 1e9));
        let group = Group { middle_s: (from_s + to_s) / 2.0, from_s, to_s, points };
        let full = to_s - from_s >= CUT_SHORT * (seconds(to) - seconds(from));
        if full || groups.is_empty() {
            groups.push(group);
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_laid_over_each_other_from_their_own_starts() {
        let run = crate::fixture::complete();
        let later = Run { measurement: run.measurement.clone(), ..run.clone() };
        let charts = overlaid(&[("a", &run), ("b", &later)]);
        for chart in &charts {
            let names: Vec<&str> = chart.series.iter().map(|series| series.name.as_str()).collect();
            assert_eq!(names, ["a", "b"]);
            let [first, second] = chart.points_by_series()[..] else { panic!("{names:?}") };
            assert_eq!(first, second, "{}", chart.title);
            assert!(crate::page::svg(chart).contains("<svg"), "{}", chart.title);
        }
    }
}
