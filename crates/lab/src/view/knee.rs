//! Response time against throughput of a sweep, with the target and the knees.

use naming::{CONNECTIONS, OptionId, RATE};
use report::groups::by_key;
use report::page::{Chart, DataPoint, Guide};
use report::slo::{Outcome, Slo};

use super::limited;
use super::sweep::numbers;
use crate::sweep::{Sweep, SweepRow};

impl Sweep {
    /// Response time against throughput, if the load varies, with the target and the knee of each line.
    pub(super) fn rate_curve(&self) -> Option<Chart> {
        let of = |option: OptionId| self.axes.iter().position(|axis| axis.option == option.word());
        let along =
            of(RATE).or_else(|| of(CONNECTIONS).filter(|at| numbers(&self.axes[*at]).is_some()))?;
        let bound = self.slo.as_ref().and_then(Slo::latency);
        let name = bound.map_or("p99".to_owned(), |clause| clause.measure.to_string());
        let bounded = |row: &SweepRow| {
            let bounds = row.target.iter().flat_map(|target| &target.bounds);
            let found = bounds.into_iter().find(|of| Some(&of.clause) == bound);
            found.map_or(row.middle().map(|(run, _)| run.p99_ns as f64), |of| Some(of.value))
        };
        let mut chart = Chart::rate_curve(
            "Response time against throughput",
            Vec::new(),
            bound.map(|clause| (clause.below, clause.name())),
            None,
        );
        for row in &self.points {
            let Some((run, _)) = row.middle() else { continue };
            let point = |ns: f64| DataPoint::at(run.throughput_rps, ns).noted(limited(run));
            let others = self.name_without(row, along);
            chart.add(&format!("{others} p50"), point(run.p50_ns as f64));
            if let Some(ns) = bounded(row) {
                chart.add(&format!("{others} {name}"), point(ns));
            }
        }
        // More connections may yield less: their line follows the connections.
        if self.axes[along].option == RATE.word() {
            for series in &mut chart.series {
                series.points.sort_by(|a, b| a.x.total_cmp(&b.x));
            }
        }
        let knees = self.knees(along);
        if !knees.is_empty() && self.slo.is_none() {
            chart.note = "The knee is where throughput divided by the median response time is greatest: beyond \
                it, waiting grows faster than throughput."
                .to_owned();
        }
        chart.guides.extend(knees);
        (chart.points_shown() > 0).then_some(chart)
    }

    /// The knee of each line over at least three loads: the highest throughput that keeps the target, or else
    /// the greatest power (Kleinrock, "Power and Deterministic Rules of Thumb", ICC 1979).
    fn knees(&self, along: usize) -> Vec<Guide> {
        let rows = self.points.iter().filter(|row| row.middle().is_some());
        let lines = by_key(rows.map(|row| (self.name_without(row, along), row)));
        let knee = |(name, rows): &(String, Vec<&SweepRow>)| {
            let power = |row: &SweepRow| {
                let run = row.middle().map(|(run, _)| run)?;
                let worth = match self.slo {
                    Some(_) => run.throughput_rps,
                    None => run.throughput_rps / (run.p50_ns.max(1) as f64),
                };
                run.disturbed().is_none().then_some((worth, run.throughput_rps))
            };
            // Disturbed points say nothing of a knee.
            let counted = rows.iter().filter(|row| power(row).is_some()).count();
            let kept = rows.iter().filter(|row| match &self.slo {
                Some(_) => row.target.as_ref().is_some_and(|of| of.outcome == Outcome::Kept),
                None => true,
            });
            let judged = kept.filter_map(|row| Some((power(row)?, row)));
            let ((_, rate), row) = judged.max_by(|a, b| a.0.0.total_cmp(&b.0.0))?;
            let axis = &self.axes[along];
            let word = if self.slo.is_some() { "keeps it" } else { "knee" };
            let text = format!("{name} {word}: {} {}", axis.option, row.settings[along]);
            (counted > 2).then(|| Guide::X(rate, text.trim().to_owned()))
        };
        lines.iter().filter_map(knee).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::sweep::tests::sweep;

    #[test]
    fn the_knee_is_where_waiting_begins_to_grow_faster_than_throughput() {
        let mut sweep = sweep();
        for row in &mut sweep.points {
            row.figures[0].p50_ns = match row.settings[1].as_str() {
                "1" => 100_000,
                "10" => 120_000,
                _ => 3_000_000,
            };
        }
        let chart = &sweep.charts()[0];
        assert_eq!(chart.title, "Response time against throughput");
        let knees = |chart: &Chart| -> Vec<(f64, String)> {
            let knees = chart.guides.iter().filter_map(|guide| match guide {
                Guide::X(rate, name) => Some((*rate, name.clone())),
                Guide::Y(..) => None,
            });
            knees.collect()
        };
        let at = |engine: &str| (20_000.0, format!("--engine {engine} knee: -c 10"));
        assert_eq!(knees(chart), [at("uring"), at("epoll")]);
        // Two loads have no knee between them.
        sweep.points.retain(|row| row.settings[1] != "100");
        assert_eq!(knees(&sweep.charts()[0]), []);
    }
}
