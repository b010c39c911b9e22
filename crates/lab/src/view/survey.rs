//! A survey as tables, charts and a page.

use report::CountUnit;
use report::groups::unique;
use report::page::{Axis, Block, Chart, DataPoint, Page, Section, Table, Tone, Unit, Verdict};

use super::{capital, figure_cells, figure_names, incomplete, limited, plain, warnings};
use crate::figures::{Figures, disturbed};
use crate::survey::{ChapterResult, StepResult, Survey};
use crate::{Document, Findings};

/// Share of the highest rate above which the cost of a request, rather than copying its value, limits it.
const HOLDS: f64 = 0.75;

impl ChapterResult {
    /// The table of a chapter.
    pub fn table(&self) -> Table {
        let series = self.points.iter().any(|point| !point.series.is_empty());
        let first = match self.key.as_str() {
            "payload" => "bytes",
            "connections" => "connections",
            "suite" => "test",
            "messages" => "delivery",
            _ => "",
        };
        let mut columns = vec![first.to_owned()];
        columns.extend(series.then(String::new));
        columns.extend(figure_names(match self.key.as_str() {
            "messages" => CountUnit::Message,
            _ => CountUnit::Request,
        }));
        let bytes = self.key == "payload";
        if bytes {
            columns.insert(columns.len() - 4, "Gbit/s".to_owned());
        }
        let mut table = Table::new(columns);
        for point in &self.points {
            let mut cells = vec![point.label.clone()];
            cells.extend(series.then(|| point.series.clone()));
            match point.slowest() {
                Some(run) => {
                    let [rps, others @ ..] = figure_cells(point.throughput_rps(), run);
                    cells.push(rps);
                    cells.extend(bytes.then(|| format!("{:.2}", point.bytes_per_s() * 8.0 / 1e9)));
                    cells.extend(others);
                }
                None => {
                    cells.resize(table.columns.len() - 1, "–".to_owned());
                    let why = point.failure.clone().unwrap_or_default();
                    cells.push(format!("not measured: {why}"));
                }
            }
            table.row(cells);
        }
        table
    }

    /// The charts of a chapter.
    pub fn charts(&self) -> Vec<Chart> {
        if self.points.iter().all(|point| point.figures.is_empty()) {
            return Vec::new();
        }
        let rate = Axis::linear("throughput", Unit::PerSecond);
        let (rps, bytes) = (StepResult::throughput_rps, StepResult::bytes_per_s);
        let p99 = |point: &StepResult| point.slowest().map_or(0.0, |run| run.p99_ns as f64);
        match self.key.as_str() {
            "payload" => {
                let size = Axis::log("value size", Unit::Bytes);
                let bits = Axis::linear("requests and replies", Unit::BytesPerSecond);
                vec![
                    self.lines("Bytes per second", size.clone(), bits, bytes),
                    self.lines("Requests per second", size, rate, rps),
                ]
            }
            "connections" => {
                let count = Axis::log("connections", Unit::Count);
                let time = Axis::log("p99", Unit::Nanoseconds);
                vec![
                    self.lines("Requests per second", count.clone(), rate, rps),
                    self.lines("99th percentile of response time", count, time, p99),
                ]
            }
            "messages" => {
                let time = Axis::linear("p99", Unit::Nanoseconds);
                vec![self.bars("99th percentile of delivery time".to_owned(), time, p99)]
            }
            _ => {
                let title = format!("Requests per second: {}", self.title.to_lowercase());
                vec![self.bars(title, rate, rps)]
            }
        }
    }

    /// Draws a figure over an axis, which completes its title.
    fn lines(&self, what: &str, x: Axis, y: Axis, value: fn(&StepResult) -> f64) -> Chart {
        let mut chart = Chart::lines(format!("{what} by {}", x.label), x, y);
        for point in &self.points {
            let (Some(x), Some(run)) = (point.x, point.slowest()) else { continue };
            let shown = DataPoint::at(x, value(point)).noted(limited(run));
            chart.add(&point.series, shown);
        }
        chart
    }

    fn bars(&self, title: String, y: Axis, value: fn(&StepResult) -> f64) -> Chart {
        let measured = self.points.iter().filter(|point| !point.figures.is_empty());
        let labels = unique(measured.map(|point| point.label.as_str()));
        let mut chart = Chart::bars(title, labels.clone(), y);
        for point in &self.points {
            let at = labels.iter().position(|label| *label == point.label);
            let (Some(at), Some(run)) = (at, point.slowest()) else { continue };
            let shown = DataPoint::at(at as f64, value(point)).noted(limited(run));
            chart.add(&point.series, shown);
        }
        chart
    }

    /// Returns conclusions from the figures, in a sentence or two.
    pub fn remarks(&self) -> Vec<String> {
        let runs = || self.points.iter().filter_map(StepResult::slowest);
        if let Some((cause, count)) = disturbed(runs()) {
            let all = runs().count();
            return vec![format!(
                "Nothing is concluded here: {} in {count} of {all} points, marked (disturbed).",
                cause.describe()
            )];
        }
        match self.key.as_str() {
            "payload" => ["SET", "GET"].iter().filter_map(|test| self.bandwidth(test)).collect(),
            "transport" => self.ratio("unix socket", "TCP"),
            "pipeline" => self.ratio("-P 16", "-P 1"),
            "instances" => match &self.points[..] {
                [one, two] if one.throughput_rps() > 0.0 => {
                    let ratio = two.throughput_rps() / one.throughput_rps();
                    vec![format!("Two instances reach {ratio:.2} times the throughput of one.")]
                }
                _ => Vec::new(),
            },
            _ => Vec::new(),
        }
    }

    /// Describes the size from which bytes cost more than the request that carries them.
    fn bandwidth(&self, series: &str) -> Option<String> {
        let points: Vec<&StepResult> =
            self.points.iter().filter(|p| p.series == series && p.bytes_per_s() > 0.0).collect();
        let best = points.iter().map(|p| p.throughput_rps()).fold(0.0, f64::max);
        let last = points.iter().rposition(|p| p.throughput_rps() >= best * HOLDS)?;
        points.get(last + 1)?;
        let most = points.iter().map(|p| p.bytes_per_s()).fold(0.0, f64::max);
        let size = Unit::Bytes.show(points[last].x?);
        Some(format!(
            "{series}: above values of {size}, requests per second fall below three quarters of \
             the maximum: copying in the kernel and through memory then costs as much as the \
             request itself. The maximum is {:.1} Gbit/s.",
            most * 8.0 / 1e9
        ))
    }

    /// Compares one series with another, label by label.
    fn ratio(&self, of: &str, to: &str) -> Vec<String> {
        let find = |series: &str, label: &str| {
            self.points.iter().find(|p| p.series == series && p.label == label)
        };
        let ratios = self.points.iter().filter(|p| p.series == of).filter_map(|point| {
            let base = find(to, &point.label)?.throughput_rps();
            (base > 0.0).then(|| format!("{} ×{:.2}", point.label, point.throughput_rps() / base))
        });
        let ratios: Vec<String> = ratios.collect();
        let remark = format!("{of} against {to}: {}.", ratios.join(", "));
        if ratios.is_empty() { Vec::new() } else { vec![remark] }
    }
}

impl Survey {
    /// The representative run of each point.
    fn deciding(&self) -> Vec<(String, usize)> {
        let points = self.chapters.iter().flat_map(|of| of.points.iter().map(move |at| (of, at)));
        let deciding = points.filter_map(|(chapter, point)| {
            let name = [point.label.as_str(), point.series.as_str()].join(" ");
            Some((format!("{}: {}", chapter.title, name.trim()), point.slowest_test()?))
        });
        deciding.collect()
    }

    /// Returns the question of the survey about its server.
    pub fn title(&self) -> String {
        let product = self.runs().first.as_deref().map(report::page::runs::product);
        let name = product.map_or("the server".to_owned(), |product| capital(&product));
        format!("How fast is {name} on this machine?")
    }

    /// The verdict of every point.
    fn limits(&self) -> Table {
        let mut table = Table::new(["chapter", "point", "limited by"]);
        for chapter in &self.chapters {
            for point in &chapter.points {
                let Some(run) = point.slowest() else { continue };
                let name = [point.label.as_str(), point.series.as_str()].join(" ");
                table.row([chapter.title.as_str(), name.trim(), &run.verdict]);
            }
        }
        table
    }

    /// The answer in a few figures.
    pub fn verdict(&self) -> Verdict {
        let chapter = self.chapters.iter().find(|chapter| chapter.key == "pipeline");
        let figure = |series: &str, label: &str| {
            let found = chapter?.points.iter().find(|p| p.series == series && p.label == label);
            found.filter(|p| !p.figures.is_empty())
        };
        let named = [
            ("SET", "-P 1", "SET"),
            ("GET", "-P 1", "GET"),
            ("SET, pipeline of 16", "-P 16", "SET"),
            ("GET, pipeline of 16", "-P 16", "GET"),
        ];
        let figures = named.into_iter().filter_map(|(name, series, label)| {
            let rate = figure(series, label)?.throughput_rps();
            Some((name.to_owned(), Unit::PerSecond.show(rate)))
        });
        let figures: Vec<(String, String)> = figures.collect();
        let limit = figure("-P 1", "GET").and_then(StepResult::slowest);
        let text = limit.map_or("Nothing was measured yet.".to_owned(), |run| {
            let others = run.disturbed().map_or(String::new(), |cause| {
                format!(" The figure says little: {}.", cause.describe())
            });
            format!("GET without a pipeline was limited by {}.{others}", run.verdict)
        });
        let is_disturbed = limit.and_then(Figures::disturbed).is_some();
        let tone = if is_disturbed { Tone::Warning } else { Tone::Plain };
        let headline = match figures.iter().find(|(name, _)| name == "GET") {
            Some((_, rate)) => format!("{} GET without a pipeline", rate),
            None => "A survey".to_owned(),
        };
        Verdict { figures, ..Verdict::new(headline, text).toned(tone) }
    }
}

impl Findings for Survey {
    fn is_empty(&self) -> bool {
        self.chapters.is_empty()
    }

    /// Notes that every chapter has been measured, if all went well.
    fn set_complete(&mut self) {
        self.run.set_complete();
        let points = || self.chapters.iter().flat_map(|chapter| &chapter.points);
        self.complete = points().all(|p| p.failure.is_none())
            && points().flat_map(|p| &p.figures).all(Figures::complete);
    }

    /// Returns nothing, as a survey is read as a page.
    fn to_csv(&self) -> String {
        String::new()
    }

    /// Returns warnings only, as each chapter was shown when it had been measured.
    fn shown(&self, _quiet: bool) -> Vec<Block> {
        warnings(self.warnings()).collect()
    }

    fn page(&self, command_line: &str) -> Page {
        let mut lede = incomplete(self.complete());
        lede.push(self.verdict());
        let sections = self.chapters.iter().map(|answer| {
            let mut blocks = vec![Block::Text(answer.text.clone())];
            blocks.extend(plain(answer.remarks()));
            blocks.extend(answer.charts().into_iter().map(Block::Chart));
            blocks.extend(answer.table().filled().map(Block::Table));
            blocks.extend(plain(answer.left_out.clone()));
            Section::new(answer.title.clone(), blocks)
        });
        let mut sections: Vec<Section> = sections.collect();
        sections.push(Section::new("What limited each point", [Block::Table(self.limits())]));
        sections.extend(super::incidents(self.runs(), &self.deciding()));
        super::page(&self.title(), self.runs(), lede, sections, command_line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::tests::figures;

    fn point(label: &str, series: &str, x: Option<f64>, rps: f64, bytes_per_s: f64) -> StepResult {
        StepResult {
            label: label.into(),
            series: series.into(),
            x,
            test: "SET".into(),
            tests: vec![0],
            figures: vec![Figures { bytes_per_s, ..figures(rps, 1_000_000) }],
            failure: None,
        }
    }

    fn answer(key: &str, points: Vec<StepResult>) -> ChapterResult {
        let text = String::new;
        ChapterResult {
            key: key.into(),
            title: "A title".into(),
            text: text(),
            points,
            left_out: vec![],
        }
    }

    #[test]
    fn where_bytes_stop_growing_copying_costs() {
        let sizes = [(10.0, 1e6), (100.0, 9e6), (1e3, 8e7), (1e4, 5e8), (1e5, 8e8)];
        let points = sizes.map(|(size, bytes)| point("x", "SET", Some(size), bytes / size, bytes));
        let payload = answer("payload", points.to_vec());
        let remarks = payload.remarks();
        assert_eq!(remarks.len(), 1);
        assert!(remarks[0].contains("above values of 1 kB"), "{remarks:?}");
        assert!(remarks[0].contains("6.4 Gbit/s"), "{remarks:?}");
        assert_eq!(payload.table().columns[3], "Gbit/s");
        assert_eq!(payload.table().rows[4][3], "6.40");
        assert_eq!(payload.charts()[0].points_shown(), 5);
        let growing = answer("payload", points[..3].to_vec());
        assert!(growing.remarks().is_empty());
    }

    #[test]
    fn chapters_of_names_are_bars_and_say_by_how_much() {
        let transport = answer(
            "transport",
            vec![
                point("SET -P 1", "TCP", None, 100_000.0, 1.0),
                point("SET -P 1", "unix socket", None, 250_000.0, 1.0),
            ],
        );
        assert_eq!(transport.remarks(), ["unix socket against TCP: SET -P 1 ×2.50."]);
        let chart = &transport.charts()[0];
        assert!(matches!(&chart.kind, report::page::ChartKind::Bars(names) if names.len() == 1));
        assert_eq!(chart.points_shown(), 2);
        assert!(report::page::svg(chart).contains("limited by: server: busy"));
    }

    #[test]
    fn what_was_not_measured_is_a_row_that_says_why() {
        let mut missed = point("x", "", None, 1.0, 1.0);
        (missed.figures, missed.failure) = (vec![], Some("no such server".into()));
        let chapter = answer("placement", vec![missed]);
        let table = chapter.table();
        assert_eq!(table.rows[0].len(), table.columns.len());
        assert!(table.rows[0].last().unwrap().contains("no such server"));
        assert!(chapter.charts().is_empty());
        let mut survey = Survey::new(true, 1.0);
        survey.chapters.push(chapter);
        assert!(report::page::html(&survey.page("again")).contains("no such server"));
    }
}
