//! A page of two servers compared: the ratios with their intervals first, then what they rest on.
//!
//! Ratios and what follows from them are [`report::compare`]'s; none is computed here.

use report::compare::{
    self, Comparison, Conclusion, Row, TestComparison, limited, verdict, warning,
};
use report::{Metric, Run};

use crate::runs::{self, latency_over_time, spectrum, throughput_over_time};
use crate::{Axis, Block, Chart, DataPoint, Guide, Page, Section, Series, Table, Tone, Unit};
use crate::{Verdict, sentence};

/// The page; `again` is the command line that compares anew.
#[must_use]
pub fn page(comparison: &Comparison, again: &str) -> Page {
    let [a, b] = &comparison.subjects;
    let mut page = Page {
        title: format!("{} compared with {}", b.server, a.server),
        byline: vec![comparison.how.clone()],
        ..Page::default()
    };
    let first = comparison.tests.iter().flat_map(|test| test.middle.iter().flatten()).next();
    if let Some(run) = first {
        page.byline.extend(runs::about(std::slice::from_ref(&**run)).0);
        page.versions = [&a.server, &b.server].map(Clone::clone).to_vec();
        page.versions.push(format!("keystorm {}", run.version));
        page.versions.dedup();
    }
    if !comparison.complete {
        let text = "This shows what was compared before it ended.";
        page.lede.push(Verdict {
            tone: Tone::Warning,
            ..Verdict::new("Some tests were not compared", text)
        });
    }
    page.lede.extend(comparison.tests.iter().map(|test| lede(test, comparison)));
    page.sections.push(Section::new("A and B", subjects(comparison)));
    match &comparison.terms {
        None => {
            let alone = comparison.tests.iter().map(|test| Section::new(&test.name, blocks(test)));
            page.sections.extend(alone);
        }
        Some(terms) => {
            let equal = Block::KeyValues(terms.equal.clone());
            let left_out = terms.left_out.iter().cloned().map(Block::Text);
            let blocks = std::iter::once(equal).chain(left_out);
            page.sections.push(Section::new("What is equal", blocks));
            for (at, table) in terms.tables.iter().enumerate() {
                let of_it = comparison.tests.iter().filter(|test| test.table == Some(at));
                page.sections.push(table_section(table, &of_it.collect::<Vec<_>>()));
            }
        }
    }
    if let Some(run) = first {
        page.sections.push(runs::about(std::slice::from_ref(&**run)).1);
    }
    page.sections.push(Section::new("Compare again", [Block::Code(again.to_owned())]));
    page
}

/// What there is to know of a test if nothing else.
fn lede(test: &TestComparison, comparison: &Comparison) -> Verdict {
    let name = comparison.name_of(test);
    if let Some(why) = &test.refused {
        let headline = format!("{name}: no ratio");
        return Verdict { tone: Tone::Warning, ..Verdict::new(headline, sentence(&why.text)) };
    }
    let tables = comparison.terms.as_ref().map(|terms| &terms.tables);
    let table = tables.zip(test.table).and_then(|(tables, at)| tables.get(at));
    let [a, b] = table.map_or(&comparison.subjects, |table| &table.subjects);
    // Where a schedule sets the throughput, how long requests take is what there is to know; where a get
    // may be several requests, how many keys.
    let (first, called) = match table.map(|table| table.kind) {
        Some("latency") => (Metric::P99, "p99"),
        Some("mget") => (Metric::Keys, "number of keys per second"),
        _ => (Metric::Throughput, "throughput"),
    };
    let told = |metric: Metric, name: &str| {
        let row = test.row(metric)?;
        let interval = match (row.interval(), row.ratio.interval) {
            (Some(_), _) => row.interval_told(),
            (None, Some(_)) => "interval too wide".to_owned(),
            (None, None) => "no interval".to_owned(),
        };
        Some((format!("{name}, B / A ({interval})"), format!("{:.3}", row.ratio.ratio)))
    };
    let figures =
        [(Metric::Keys, "keys/s"), (Metric::Throughput, "requests/s"), (Metric::P99, "p99")];
    let figures: Vec<_> = figures.iter().filter_map(|(m, name)| told(*m, name)).collect();
    let headline = match test.row(first) {
        Some(row) => format!("{name}: B's {called} {}", in_words(row)),
        None => name,
    };
    let [limits_a, limits_b] = test.limits.each_ref().map(limited);
    let text = format!(
        "A is {}, B is {}. A was limited by {limits_a}; B by {limits_b}.",
        a.line(),
        b.line()
    );
    let tone = if test.warnings.is_empty() { Tone::Plain } else { Tone::Warning };
    Verdict { headline, text, tone, figures, ..Verdict::default() }
}

/// The end of a sentence about a figure of B.
fn in_words(row: &Row) -> String {
    match row.ratio.conclusion() {
        Conclusion::Alike => "is like A's".to_owned(),
        Conclusion::TooWide => {
            "cannot be distinguished from A's: the interval is too wide".to_owned()
        }
        Conclusion::Single => "is not judged: one run per side has no interval".to_owned(),
        Conclusion::Differ => format!("is {}", verdict(row)),
    }
}

fn subjects(comparison: &Comparison) -> Vec<Block> {
    let pairs = ["A", "B"].iter().zip(&comparison.subjects);
    let pairs = pairs.map(|(name, subject)| ((*name).to_owned(), subject.line())).collect();
    let spoiled = comparison.spoiled();
    let spoiled = spoiled.iter().map(|spoiled| warning(spoiled, comparison.runs()));
    let notes = comparison.warnings.iter().cloned().chain(spoiled);
    let notes = notes.map(|text| Block::Note(Tone::Warning, sentence(&text)));
    let regressions = compare::notes(comparison).into_iter();
    let regressions = regressions.map(|text| Block::Note(Tone::Plain, text));
    std::iter::once(Block::KeyValues(pairs)).chain(notes).chain(regressions).collect()
}

/// One of several tables: what it is, who its A and B are, its figures side by side, then each test.
fn table_section(table: &compare::Table, tests: &[&TestComparison]) -> Section {
    let mut section = Section::new(&table.title, [Block::Text(table.text.clone())]);
    for (name, subject) in ["A", "B"].into_iter().zip(&table.subjects) {
        section.blocks.push(Block::KeyValues(vec![(name.to_owned(), subject.line())]));
        section.blocks.extend(subject.command_line.clone().map(Block::Code));
        if !subject.settings.is_empty() {
            section.blocks.push(Block::KeyValues(subject.settings.clone()));
        }
    }
    if !tests.is_empty() {
        section.blocks.push(Block::Table(side_by_side(table, tests)));
    }
    for test in tests {
        section.blocks.push(Block::Heading(test.name.clone()));
        section.blocks.extend(blocks(test));
    }
    section
}

/// What the table is about, a line for each test and figure.
fn side_by_side(table: &compare::Table, tests: &[&TestComparison]) -> Table {
    let metrics = match table.kind {
        "latency" => &[Metric::P50, Metric::P99, Metric::ServerCpu][..],
        "mget" => &[Metric::Keys, Metric::Throughput, Metric::ServerCpu],
        _ => &[Metric::Throughput, Metric::ServerCpu],
    };
    let mut rows = Table::new(["test", "figure", "A", "B", "B / A", "95 % interval", "keys found"]);
    for test in tests {
        for row in metrics.iter().filter_map(|metric| test.row(*metric)) {
            let [a, b] = row.means.map(|mean| row.metric.written(mean));
            let found = match test.hit_ratios {
                [Some(a), Some(b)] => format!("{a:.2} % and {b:.2} %"),
                _ => "–".to_owned(),
            };
            let [ratio, interval] = ratio_cells(test, row);
            let label = row.metric.label().to_owned();
            rows.row([test.name.clone(), label, a, b, ratio, interval, found]);
        }
    }
    rows
}

/// The ratio and its interval, where they may be told.
fn ratio_cells(test: &TestComparison, row: &Row) -> [String; 2] {
    if test.refused.is_some() {
        return ["–".to_owned(), "–".to_owned()];
    }
    [format!("{:.3}", row.ratio.ratio), row.interval_told()]
}

/// All of a test.
fn blocks(test: &TestComparison) -> Vec<Block> {
    let refused = test.refused.iter().map(|refused| refused.text.clone());
    let notes = refused.chain(test.warnings.iter().map(ToString::to_string));
    let mut blocks: Vec<Block> =
        notes.map(|text| Block::Note(Tone::Warning, sentence(&text))).collect();
    if test.refused.is_none() {
        blocks.push(Block::Chart(ratios(test)));
    }
    blocks.push(Block::Table(table(test, "figure", &test.rows)));
    let operations = test.operations.iter();
    blocks.extend(operations.map(|of| Block::Table(table(test, &of.name, &of.rows))));
    let limits = ["A was limited by", "B was limited by"].into_iter().zip(&test.limits);
    let limits = limits.map(|(name, limits)| (name.to_owned(), limited(limits)));
    blocks.push(Block::KeyValues(limits.collect()));
    let by_run = [
        (Metric::Throughput, Axis::linear("requests per second", Unit::PerSecond), 1.0),
        (Metric::P99, Axis::log("response time", Unit::Nanoseconds), 1e6),
    ];
    for (metric, axis, factor) in by_run {
        let row = test.row(metric).filter(|row| row.values.iter().any(|side| side.len() > 1));
        blocks.extend(row.map(|row| Block::Chart(over_runs(row, axis, factor))));
    }
    if let [Some(a), Some(b)] = &test.middle {
        let sides: [(&str, &Run); 2] = [("A", a), ("B", b)];
        let charts = [
            overlaid(
                "Throughput over time",
                "answered",
                sides.map(|(name, run)| (name, throughput_over_time("", run))),
            ),
            overlaid(
                "99th percentile over time",
                "99th percentile",
                sides.map(|(name, run)| (name, latency_over_time("", run))),
            ),
        ];
        // Of runs that were over within an interval or two there is no course to be seen.
        let course = sides.iter().all(|(_, run)| run.measurement.timeline.points.len() > 2);
        blocks.extend(charts.into_iter().filter(|_| course).map(Block::Chart));
        blocks.push(Block::Chart(spectrum("Response time by percentile", &sides)));
        let text = "Over time and by percentile: the median run of each side, by throughput.";
        blocks.push(Block::Text(text.to_owned()));
    }
    blocks
}

/// A bar for each figure, with the interval of its ratio.
fn ratios(test: &TestComparison) -> Chart {
    let mut chart = Chart::bars(
        "B / A with its 95 % interval",
        test.rows.iter().map(|row| row.metric.label()),
        Axis::linear("B / A", Unit::Ratio),
    );
    let point = |(at, row): (u32, &Row)| {
        let point = DataPoint::at(f64::from(at), row.ratio.ratio).noted(verdict(row));
        match row.interval() {
            Some(interval) => point.within(interval.low, interval.high),
            None => point.hollow(),
        }
    };
    if test.rows.iter().any(|row| row.interval().is_none()) {
        chart.note =
            "A hollow bar has no interval, or one too wide to show: its distance from 1 means \
             nothing."
                .to_owned();
    }
    chart.series.push(Series::of("B / A", (0..).zip(&test.rows).map(point)));
    chart.guides.push(Guide::Y(1.0, "alike".into()));
    chart
}

/// `rows` of a test, under that name.
fn table(test: &TestComparison, name: &str, rows: &[Row]) -> Table {
    let mut table = Table::new([name, "A", "B", "B / A", "95 % interval", "B is"]);
    for row in rows {
        let [a, b] = row.means.map(|mean| row.metric.written(mean));
        let [ratio, interval] = ratio_cells(test, row);
        let told = if test.refused.is_some() { "not available".to_owned() } else { verdict(row) };
        table.row([row.metric.label().to_owned(), a, b, ratio, interval, told]);
    }
    table
}

/// A figure of both sides, run by run: what changed while the comparison went on.
fn over_runs(row: &Row, y: Axis, factor: f64) -> Chart {
    let title = match row.metric {
        Metric::Throughput => "Throughput run by run",
        _ => "99th percentile run by run",
    };
    let mut chart = Chart::lines(title, Axis::linear("run of its side", Unit::Count), y);
    for (name, values) in ["A", "B"].into_iter().zip(&row.values) {
        let points = (1..).zip(values).map(|(at, value)| (f64::from(at), value * factor));
        chart.series.push(Series::new(name, points));
    }
    chart
}

/// One line of each side's chart.
fn overlaid(title: &str, line: &str, sides: [(&str, Chart); 2]) -> Chart {
    let [(_, first), _] = &sides;
    let mut chart = Chart { title: title.to_owned(), series: Vec::new(), ..first.clone() };
    for (name, side) in sides {
        let found = side.series.into_iter().find(|series| series.name == line);
        chart.series.extend(found.map(|series| Series { name: name.to_owned(), ..series }));
    }
    chart
}
