//! A sweep as a table, charts and a page.

use report::groups::unique;
use report::page::{
    Axis as Scale, Block, Chart, Column, DataPoint, Page, Section, Table, Tone, Unit, Verdict,
};
use report::slo::{Judgement, Outcome, Slo};

use super::axis::described;
use super::{FIGURES, figure_cells, figure_names, incomplete, limited, warnings};
use crate::csv::Csv;
use crate::figures::{Figures, disturbed, limited_by};
use crate::sweep::Axis;
use crate::sweep::{Sweep, SweepRow};
use crate::{Document, Findings};

/// Maximum number of tests named in a title.
const TESTS_NAMED: usize = 3;

/// Values of an axis as numbers, if they all are.
pub(super) fn numbers(axis: &Axis) -> Option<Vec<f64>> {
    axis.values.iter().map(|value| value.parse().ok()).collect()
}

/// Value of a row in a chart, with the range of its repeats.
type ChartedValue = fn(&SweepRow) -> Option<(f64, Option<(f64, f64)>)>;

impl Sweep {
    /// The table, with a row for each point and test.
    pub fn table(&self) -> Table {
        let tests = self.several_tests();
        let repeated = self.points.iter().any(|row| row.figures.len() > 1);
        let mut columns: Vec<String> = self.axes.iter().map(|axis| axis.option.clone()).collect();
        columns.extend(tests.then(|| "test".to_owned()));
        columns.extend(figure_names(self.runs().unit()));
        if repeated {
            columns.insert(columns.len() - FIGURES + 1, "from – to".to_owned());
        }
        columns.extend(self.slo.as_ref().map(|slo| slo.text.clone()));
        let mut table = Table::new(columns);
        for row in &self.points {
            let Some((run, (low, high))) = row.middle() else { continue };
            let mut cells = row.settings.clone();
            cells.extend(tests.then(|| row.test.clone()));
            let [rps, others @ ..] = figure_cells(run.throughput_rps, run);
            cells.push(rps);
            let grouped = report::grouped;
            cells.extend(repeated.then(|| format!("{} – {}", grouped(low), grouped(high))));
            cells.extend(others);
            cells.extend(row.target.as_ref().map(|target| target.outcome.word().to_owned()));
            table.row(cells);
        }
        table
    }

    /// The charts: throughput, latency and, if the size of values varies, bytes.
    pub fn charts(&self) -> Vec<Chart> {
        let mut charts: Vec<Chart> = self.rate_curve().into_iter().collect();
        let rate = Scale::linear("throughput", Unit::PerSecond);
        charts.push(self.chart(self.runs().unit().rate_title(), rate, |row| {
            let (run, span) = row.middle()?;
            Some((run.throughput_rps, (row.figures.len() > 1).then_some(span)))
        }));
        let time = Scale::log("p99", Unit::Nanoseconds);
        charts.push(self.chart("99th percentile of response time", time, |row| {
            Some((row.middle()?.0.p99_ns as f64, None))
        }));
        if self.axes.iter().any(|axis| axis.option == "-d") {
            let bytes = Scale::linear("requests and replies", Unit::BytesPerSecond);
            charts.push(
                self.chart("Bytes per second", bytes, |row| {
                    Some((row.middle()?.0.bytes_per_s, None))
                }),
            );
        }
        charts
    }

    fn chart(&self, title: &str, y: Scale, shown: ChartedValue) -> Chart {
        // The axis with the most numbers is the one to go along.
        let along = self.axes.iter().enumerate().filter(|(_, axis)| numbers(axis).is_some());
        let along = along.max_by_key(|(at, axis)| (axis.values.len(), usize::MAX - at));
        let Some((along, axis)) = along else { return self.bars(title, y, shown) };
        let (name, unit) = described(&axis.option);
        let values = numbers(axis).unwrap_or_default();
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(0.0, f64::max);
        let x = if least > 0.0 && most / least >= 8.0 {
            Scale::log(name, unit)
        } else {
            Scale::linear(name, unit)
        };
        let mut chart = Chart::lines(format!("{title} by {name}"), x, y);
        for row in &self.points {
            let (Some((value, span)), Some((run, _))) = (shown(row), row.middle()) else {
                continue;
            };
            let Ok(x) = row.settings[along].parse::<f64>() else { continue };
            let point = DataPoint::at(x, value).noted(limited(run));
            chart.add(&self.name_without(row, along), DataPoint { interval: span, ..point });
        }
        for series in &mut chart.series {
            series.points.sort_by(|a, b| a.x.total_cmp(&b.x));
        }
        chart
    }

    /// Draws bars, if no varying option is a number.
    fn bars(&self, title: &str, y: Scale, shown: ChartedValue) -> Chart {
        let names = self.points.iter().map(|row| self.name_without(row, usize::MAX));
        let points = (0..).zip(&self.points).filter_map(|(at, row)| {
            let ((value, span), (run, _)) = (shown(row)?, row.middle()?);
            let point = DataPoint::at(f64::from(at), value).noted(limited(run));
            Some(DataPoint { interval: span, ..point })
        });
        Chart::bars(title, names, y).with("", points)
    }

    /// Returns the name of a row, without the setting of one axis.
    pub(super) fn name_without(&self, row: &SweepRow, along: usize) -> String {
        let others = self.axes.iter().zip(&row.settings).enumerate().filter(|(at, _)| *at != along);
        let others = others.map(|(_, (axis, value))| format!("{} {value}", axis.option));
        let test = (self.several_tests() || self.axes.len() < 2).then(|| row.test.clone());
        test.into_iter().chain(others).collect::<Vec<_>>().join(" ")
    }

    /// The tests, each once.
    fn tests(&self) -> Vec<&str> {
        unique(self.points.iter().map(|row| row.test.as_str()))
    }

    /// The fastest point of each test, in words; with a target, among the points that keep it.
    pub fn best(&self) -> Vec<Verdict> {
        self.tests().into_iter().filter_map(|test| self.best_of(test)).collect()
    }

    fn best_of(&self, test: &str) -> Option<Verdict> {
        let rows = || {
            let rows = self.points.iter().filter(|row| row.test == test);
            let rows = rows.filter_map(|row| Some((row, row.middle()?.0)));
            rows.filter(|(_, run)| run.complete())
        };
        let kept = |row: &SweepRow| {
            row.target.as_ref().is_none_or(|target| target.outcome == Outcome::Kept)
        };
        let (all, others) = (rows().count(), disturbed(rows().map(|(_, run)| run)));
        let noise =
            others.map(|(cause, count)| format!("{} in {count} of {all} points", cause.describe()));
        // Noise makes nothing faster: what keeps the target beside it counts, and without a target so does the
        // fastest point, where all had noise.
        let is_all = others.is_some_and(|(_, count)| count == all);
        let counts = |run: &Figures| self.slo.is_some() || is_all || run.disturbed().is_none();
        let best = rows().filter(|(row, run)| counts(run) && kept(row));
        let best = best.max_by(|(_, a), (_, b)| a.throughput_rps.total_cmp(&b.throughput_rps));
        let Some((row, run)) = best else {
            let (first, _) = rows().next()?;
            return Some(self.none_kept(test, rows().map(|(row, _)| row), first));
        };
        let settings = self.axes.iter().zip(&row.settings);
        let settings = settings.map(|(axis, value)| format!(" {} {value}", axis.option));
        let rps = report::grouped(run.throughput_rps);
        let unit = self.runs().unit().per_second();
        let with = if self.axes.is_empty() { "" } else { " with" };
        let least = if is_all && self.slo.is_none() { "at least " } else { "" };
        let settings = settings.collect::<String>();
        let keeps = |slo: &Slo| format!(", the most that keeps {}", slo.text);
        let keeps = self.slo.as_ref().map(keeps).unwrap_or_default();
        let headline = format!("{test}: {least}{rps} {unit}{with}{settings}{keeps}");
        let mut text = limited_by(run, "Limited by ") + ".";
        if let Some(noise) = noise {
            text += &if counts(run) && run.disturbed().is_some() {
                format!(" Points marked (disturbed) may be faster without: {noise}.")
            } else {
                format!(" Points marked (disturbed) are left out: {noise}.")
            };
        }
        Some(Verdict::new(headline, text))
    }

    /// The sentence about a test without a point that was shown to keep the target.
    fn none_kept<'r>(
        &self,
        test: &str,
        rows: impl Iterator<Item = &'r SweepRow>,
        first: &SweepRow,
    ) -> Verdict {
        let slo = self.slo.as_ref().map_or("", |slo| slo.text.as_str());
        let targets: Vec<&Judgement> = rows.filter_map(|row| row.target.as_ref()).collect();
        let missed = targets.iter().filter(|target| target.outcome == Outcome::Missed).count();
        if missed == targets.len() {
            let why = first.target.as_ref().map_or("", |target| target.why.as_str());
            return Verdict::new(format!("{test}: no point keeps {slo}"), why).toned(Tone::Bad);
        }
        let headline = format!("{test}: no point was shown to keep {slo}");
        let open = targets.iter().find(|target| target.outcome != Outcome::Missed);
        let text = format!(
            "{} of {} points are neither kept nor missed: {}.",
            targets.len() - missed,
            targets.len(),
            open.map_or("", |target| target.why.as_str())
        );
        Verdict::new(headline, text).toned(Tone::Warning)
    }

    /// The verdict of every row.
    fn limits(&self) -> Table {
        let columns: [Column<'_, (&SweepRow, &Figures)>; 2] = [
            ("point", &|(row, _)| self.name_without(row, usize::MAX)),
            ("limited by", &|(_, run)| run.verdict.clone()),
        ];
        let measured = self.points.iter().filter_map(|row| Some((row, row.middle()?.0)));
        Table::of(&columns, measured)
    }
}

impl Findings for Sweep {
    fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// Notes that every point has been measured, if all ended well.
    fn set_complete(&mut self) {
        self.run.set_complete();
        self.complete = self.points.iter().flat_map(|row| &row.figures).all(Figures::complete);
    }

    /// CSV with a line for each run.
    fn to_csv(&self) -> String {
        let axes = self.axes.iter().map(|axis| axis.option.as_str());
        let mut table = Csv::for_runs(axes.chain(["test", "repeat"]));
        for row in &self.points {
            for (repeat, run) in (1..).zip(&row.figures) {
                let settings = row.settings.iter().cloned();
                table.row(settings.chain([row.test.clone(), repeat.to_string()]), run);
            }
        }
        table.text()
    }

    fn shown(&self, quiet: bool) -> Vec<Block> {
        let mut blocks = vec![Block::Table(self.table())];
        if !quiet {
            let chart = self.charts().into_iter().next().filter(|_| !self.axes.is_empty());
            blocks.extend(chart.map(Block::Chart));
            blocks.extend(self.best().into_iter().map(Block::Verdict));
            blocks.extend(warnings(self.warnings()));
        }
        blocks
    }

    fn remarks(&self) -> Vec<String> {
        let runs = self.points.iter().flat_map(|row| row.figures.iter().map(move |run| (row, run)));
        runs.filter_map(|(row, run)| Some(format!("{}: {}", row.test, run.shortfall.as_ref()?)))
            .collect()
    }

    fn page(&self, command_line: &str) -> Page {
        let mut lede = incomplete(self.complete());
        lede.extend(self.best().into_iter().take(4));
        let options: Vec<&str> = self.axes.iter().map(|axis| described(&axis.option).0).collect();
        let tests = match self.tests().as_slice() {
            tests if tests.len() <= TESTS_NAMED => tests.join(", "),
            tests => format!("{} tests", tests.len()),
        };
        let by = if options.is_empty() { "" } else { " by " };
        let title = format!("{tests}: throughput and response time{by}{}", options.join(" and "));
        let charts = self.charts().into_iter().map(Block::Chart);
        let mut table = vec![Block::Table(self.table())];
        if self.points.iter().any(|row| row.figures.len() > 1) {
            let text = "Each row is the median run of its repeats, by throughput.";
            table.insert(0, Block::Text(text.to_owned()));
        }
        let mut sections = vec![
            Section::new("Charts", charts.collect::<Vec<_>>()),
            Section::new("Every point", table),
            Section::new("What limited each point", [Block::Table(self.limits())]),
        ];
        let deciding =
            |row: &SweepRow| Some((self.name_without(row, usize::MAX), row.middle_test()?));
        let deciding: Vec<_> = self.points.iter().filter_map(deciding).collect();
        sections.extend(super::incidents(self.runs(), &deciding));
        super::page(&title, self.runs(), lede, sections, command_line)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use report::LimitedBy;

    use super::*;
    use crate::figures::tests::figures;

    pub(in crate::view) fn sweep() -> Sweep {
        let axis = |option: &str, values: &[&str]| Axis {
            option: option.into(),
            values: values.iter().map(|v| (*v).to_owned()).collect(),
        };
        let mut sweep = Sweep::new(vec![
            axis("--engine", &["uring", "epoll"]),
            axis("-c", &["1", "10", "100"]),
        ]);
        for engine in ["uring", "epoll"] {
            for (n, c) in [(1, "1"), (2, "10"), (3, "100")] {
                sweep.points.push(SweepRow {
                    settings: vec![engine.into(), c.into()],
                    test: "SET".into(),
                    tests: vec![0],
                    figures: vec![figures(f64::from(n) * 10_000.0, 1_000_000)],
                    target: None,
                });
            }
        }
        sweep
    }

    #[test]
    fn the_table_has_a_row_for_each_point() {
        let table = sweep().table();
        assert_eq!(table.columns[..3], ["--engine", "-c", "requests/s"]);
        assert_eq!(table.rows.len(), 6);
        assert_eq!(table.rows[5][..5], ["epoll", "100", "30,000", "0.500", "1.000"]);
        assert_eq!(table.rows[5][6], "server");
    }

    #[test]
    fn charts_go_along_the_axis_of_numbers() {
        let charts = sweep().charts();
        assert_eq!(charts.len(), 3);
        for chart in &charts[1..] {
            assert_eq!(chart.x.label, "connections");
            assert_eq!(chart.points_shown(), 6, "{}", chart.title);
            let names: Vec<&str> = chart.series.iter().map(|s| s.name.as_str()).collect();
            assert_eq!(names, ["--engine uring", "--engine epoll"]);
            assert!(report::page::svg(chart).contains("limited by: server: busy"));
        }
        let mut names_only = sweep();
        names_only.axes.truncate(1);
        names_only.points.iter_mut().for_each(|row| row.settings.truncate(1));
        assert!(matches!(names_only.charts()[0].kind, report::page::ChartKind::Bars(_)));
    }

    #[test]
    fn the_page_says_the_best_first_and_all_of_it() {
        let page = sweep().page("keystorm sweep -c 1..100");
        assert_eq!(page.lede[0].headline, "Incomplete");
        assert!(
            page.lede[1].headline.contains("30,000 requests/s with --engine uring -c 100")
                || page.lede[1].headline.contains("30,000 requests/s with --engine epoll -c 100")
        );
        assert!(report::page::html(&page).contains("keystorm sweep -c 1..100"));
        assert_eq!(page.title, "SET: throughput and response time by --engine and connections");
        assert!(
            report::page::pictures(&page).iter().all(|(_, chart)| chart.of.starts_with("SET: "))
        );
        let mut unknown = sweep();
        let runs = unknown.points.iter_mut().flat_map(|row| &mut row.figures);
        runs.for_each(|run| {
            (run.limited_by, run.statement) = (LimitedBy::Unknown, "too short".to_owned());
        });
        assert_eq!(unknown.best()[0].text, "What limited it is unknown: too short.");
    }

    #[test]
    fn what_others_disturbed_is_marked_and_in_no_conclusion() {
        use report::{Cause, Disturbance};
        let disturb = |row: &mut SweepRow| {
            let text = "the server waited for a CPU".to_owned();
            let evidence = Vec::new();
            row.figures[0].disturbance =
                Some(Disturbance { cause: Cause::CpuHeld, evidence, text });
        };
        let mut sweep = sweep();
        sweep.points.iter_mut().filter(|row| row.settings[1] == "100").for_each(disturb);
        assert_eq!(sweep.table().rows[5][6], "server (disturbed)");
        let best = &sweep.best()[0];
        assert!(best.headline.contains("20,000 requests/s"), "{best:?}");
        assert!(best.text.contains("other programs held the CPU in 2 of 6 points"), "{best:?}");
        sweep.points.iter_mut().for_each(disturb);
        let best = &sweep.best()[0];
        let headline = "SET: at least 30,000 requests/s with --engine epoll -c 100";
        assert_eq!(best.headline, headline);
        assert!(best.text.contains("in 6 of 6 points"), "{best:?}");
    }

    #[test]
    fn what_keeps_a_target_beside_others_counts_and_what_is_open_is_not_called_missed() {
        let target = |sweep: &mut Sweep, outcome: Outcome, count: usize| {
            for row in sweep.points.iter_mut().take(count) {
                let (why, bounds) = ("p99 1.4 ms".to_owned(), Vec::new());
                let kept = outcome == Outcome::Kept;
                let mut judgement = report::slo::Slo::parse("p99<1ms").unwrap().judge(&[]);
                (judgement.outcome, judgement.kept, judgement.why) = (outcome, kept, why);
                row.target = Some(Judgement { bounds, ..judgement });
            }
        };
        let mut sweep = sweep();
        sweep.slo = Some(report::slo::Slo::parse("p99<1ms").unwrap());
        target(&mut sweep, Outcome::Missed, 6);
        let best = &sweep.best()[0];
        assert_eq!(best.headline, "SET: no point keeps p99<1ms");
        target(&mut sweep, Outcome::Undecided, 2);
        let best = &sweep.best()[0];
        assert_eq!(best.headline, "SET: no point was shown to keep p99<1ms");
        assert!(
            best.text.starts_with("2 of 6 points are neither kept nor missed: p99"),
            "{best:?}"
        );
        // Whatever else ran while it did.
        target(&mut sweep, Outcome::Kept, 1);
        sweep.points[0].figures[0].disturbance = Some(report::Disturbance {
            cause: report::Cause::CpuHeld,
            evidence: Vec::new(),
            text: String::new(),
        });
        let best = &sweep.best()[0];
        assert!(best.headline.ends_with(" -c 1, the most that keeps p99<1ms"), "{best:?}");
    }
}
