//! A page of two servers compared: the ratios with their intervals first, then what they rest on.
//!
//! Ratios and what follows from them are [`report::compare`]'s; none is computed here.

use report::compare::{
    self, Comparison, GateState, Row, Subject, TestComparison, describe_limits, limited, verdict,
    warning,
};
use report::{Metric, Run, Summary};

use crate::replayed;
use crate::runs::{self, moments, outages, spectrum};
use crate::{Axis, Band, Block, Chart, DataPoint, Guide, Page, Section, Series, Table, Tone, Unit};
use crate::{Verdict, sentence};

/// The page; `again` is the command line that compares anew.
#[must_use]
pub fn page(comparison: &Comparison, command_line: &str) -> Page {
    let [a, b] = &comparison.subjects;
    let mut page = Page {
        title: format!("{} compared with {}", b.name, a.name),
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
        let text = "The run ended before them; the figures cover what was compared until then.";
        page.lede.push(Verdict {
            tone: Tone::Warning,
            ..Verdict::new("Some tests were not compared", text)
        });
    }
    page.lede.extend(gate(std::slice::from_ref(comparison)));
    page.lede.extend(comparison.tests.iter().map(|test| lede(test, comparison)));
    page.lede.extend(runs::noise(comparison));
    page.lede.extend(differing(comparison));
    match &comparison.terms {
        None => {
            let alone = comparison.tests.iter().map(|test| Section::new(&test.name, blocks(test)));
            page.sections.extend(alone);
        }
        Some(terms) => {
            let equal = Block::KeyValues(terms.equal.clone());
            let left_out = terms.left_out.iter().cloned().map(Block::Text);
            let blocks = std::iter::once(equal).chain(left_out);
            page.sections.push(Section::new("What is equal", blocks).folded());
            for (at, table) in terms.tables.iter().enumerate() {
                let of_it = comparison.tests.iter().filter(|test| test.table == Some(at));
                page.sections.push(table_section(table, &of_it.collect::<Vec<_>>()));
            }
        }
    }
    page.sections.extend(replayed::section(comparison));
    page.sections.extend(warnings(notes(comparison)));
    page.sections.push(Section::new("The servers", subjects(&comparison.subjects)).folded());
    if let Some(run) = first {
        page.sections.push(runs::about(std::slice::from_ref(&**run)).1.folded());
    }
    page.sections.push(Section::new("Compare again", [Block::Code(command_line.to_owned())]));
    page
}

/// Returns the settings in which the servers differ, if they do.
fn differing(comparison: &Comparison) -> Option<Verdict> {
    const TOLD: usize = 8;
    let differences = comparison.differing_settings();
    let named = differences
        .iter()
        .take(TOLD)
        .map(|difference| format!("{}: {}", difference.name, difference.shown().join(" and ")));
    let named = named.collect::<Vec<_>>().join("; ");
    let [first, second] = comparison.names();
    let more = match differences.len() {
        0 => return None,
        n if n > TOLD => format!("; and {} more, below", n - TOLD),
        _ => String::new(),
    };
    let text = format!("{named}{more} (on {first} and {second}).");
    Some(Verdict::new("The servers differ in their settings", text))
}

/// Returns the result of the gate, for the top of the page.
pub(crate) fn gate(comparisons: &[Comparison]) -> Option<Verdict> {
    let state = compare::joint_gate(comparisons)?;
    let notes = compare::joint_notes(comparisons);
    let (headline, tone) = match state {
        GateState::Passed => ("Gate passed", Tone::Good),
        GateState::Failed => ("Gate failed", Tone::Bad),
        GateState::Undecided => ("Gate undecided", Tone::Warning),
    };
    let text = notes.iter().map(|line| {
        sentence(line.strip_prefix(headline).map_or(line, |rest| rest.trim_start_matches(": ")))
    });
    Some(Verdict { tone, ..Verdict::new(headline, text.collect::<Vec<_>>().join(" ")) })
}

/// A bar that goes further from its dot, as a factor, is cut off: it would leave no room for the others.
const CHARTED_MAX: f64 = 100.0;

/// Returns the main finding of a test.
fn lede(test: &TestComparison, comparison: &Comparison) -> Verdict {
    let name = comparison.name_of(test);
    if let Some(why) = &test.refused {
        let headline = format!("{name}: no ratio");
        return Verdict { tone: Tone::Warning, ..Verdict::new(headline, sentence(&why.text)) };
    }
    let describe = |metric: Metric, name: &str| {
        let row = test.row(metric)?;
        let interval = match row.ratio.interval {
            Some(_) => row.describe_interval(),
            None => "no interval".to_owned(),
        };
        Some((format!("{name}, ratio ({interval})"), format!("{:.3}", row.ratio.ratio)))
    };
    let rate = test.setup.unit.per_second();
    let figures = [(Metric::Keys, "keys/s"), (Metric::Throughput, rate), (Metric::P99, "p99")];
    let mut figures: Vec<_> = figures.iter().filter_map(|(m, name)| describe(*m, name)).collect();
    if test.setup.open_loop {
        // The latency is what was asked for.
        figures.reverse();
    }
    let limits = test.setup.names.iter().zip(&test.limits);
    let known = limits.filter(|(_, of)| !of.is_empty());
    let limits: Vec<String> = known.map(|(name, of)| describe_limits(name, of)).collect();
    let limits = format!("{}.", limits.join("; "));
    let text = match test.resolution(comparison.threshold) {
        Some(resolution) => format!("{} {limits}", sentence(&resolution)),
        None => limits,
    };
    let tone = if test.warnings.is_empty() { Tone::Plain } else { Tone::Warning };
    Verdict { tone, figures, ..Verdict::new(format!("{name}: {}", test.headline()), text) }
}

/// The servers, the settings in which they differ, and how they were started.
pub(crate) fn subjects(subjects: &[Subject]) -> Vec<Block> {
    let names: Vec<String> = subjects.iter().map(|subject| subject.name.clone()).collect();
    let lines = subjects.iter().map(|subject| (subject.name.clone(), subject.line()));
    let differing = differences(&names, &compare::differing_settings(subjects));
    let started = subjects.iter().filter_map(|subject| subject.command_line.clone());
    let servers = std::iter::once(Block::KeyValues(lines.collect()));
    servers.chain(differing).chain(started.map(Block::Code)).collect()
}

/// Returns warnings: of what spoils the runs, and of differences beside the servers.
fn notes(comparison: &Comparison) -> Vec<String> {
    let spoiled = comparison.spoiled();
    let spoiled =
        spoiled.iter().map(|spoiled| warning(spoiled, &comparison.names(), comparison.runs()));
    comparison.warnings.iter().cloned().chain(spoiled).collect()
}

/// A section of warnings, which is never folded; `None` without any.
pub(crate) fn warnings(notes: Vec<String>) -> Option<Section> {
    let blocks = notes.iter().map(|text| Block::Note(Tone::Warning, sentence(text)));
    (!notes.is_empty()).then(|| Section::new("Warnings", blocks))
}

/// The settings in which the servers differ.
fn differences(names: &[String], differences: &[compare::SettingDifference]) -> Option<Block> {
    let columns = std::iter::once("setting that differs").chain(names.iter().map(String::as_str));
    let mut table = Table::new(columns);
    for difference in differences {
        table.row(std::iter::once(difference.name.clone()).chain(difference.shown()));
    }
    (!differences.is_empty()).then_some(Block::Table(table))
}

/// Makes the section of a table: its description, its A and B, their figures side by side, then each test.
fn table_section(table: &compare::Table, tests: &[&TestComparison]) -> Section {
    let mut section = Section::new(&table.title, [Block::Text(table.text.clone())]);
    if table.kind == "latency" && tests.len() > 1 {
        section.blocks.push(Block::Chart(rate_curve(table, tests)));
    }
    if !tests.is_empty() {
        section.blocks.push(Block::Table(side_by_side(table, tests)));
    }
    for subject in &table.subjects {
        section.blocks.push(Block::KeyValues(vec![(subject.name.clone(), subject.line())]));
        section.blocks.extend(subject.command_line.clone().map(Block::Code));
        if !subject.settings.is_empty() {
            section.blocks.push(Block::KeyValues(subject.settings.clone()));
        }
    }
    for test in tests {
        section.blocks.push(Block::Heading(test.name.clone()));
        section.blocks.extend(blocks(test));
    }
    section
}

/// Response time against throughput of both servers, a point for each rate of a load.
fn rate_curve(table: &compare::Table, tests: &[&TestComparison]) -> Chart {
    let mut series: Vec<Series> = Vec::new();
    for (side, subject) in table.subjects.iter().enumerate() {
        let mut loads: Vec<&str> = Vec::new();
        for test in tests {
            let load = test.name.split(" at ").next().unwrap_or(&test.name);
            if !loads.contains(&load) {
                loads.push(load);
            }
        }
        for load in loads {
            let of_it = tests.iter().filter(|test| test.name.starts_with(&format!("{load} at ")));
            let points = of_it.filter_map(|test| {
                let figure = |metric| test.row(metric).map(|row| row.means[side]);
                Some((figure(Metric::Throughput)?, figure(Metric::P99)? * 1e6))
            });
            series.push(Series::new(format!("{load}, {}", subject.name), points));
        }
    }
    Chart::rate_curve("99th percentile against throughput", series, None, None)
}

/// Makes the figures side by side: a line for each test and figure.
fn side_by_side(table: &compare::Table, tests: &[&TestComparison]) -> Table {
    let metrics = match table.kind {
        "latency" => &[Metric::P50, Metric::P99, Metric::ServerCpu][..],
        "mget" => &[Metric::Keys, Metric::Throughput, Metric::ServerCpu],
        _ => &[Metric::Throughput, Metric::ServerCpu],
    };
    let [a, b] = table.subjects.each_ref().map(|subject| subject.name.clone());
    let columns = ["test", "figure", &a, &b, "ratio", "95 % interval", "keys found"];
    let mut rows = Table::new(columns);
    for test in tests {
        for row in metrics.iter().filter_map(|metric| test.row(*metric)) {
            let [a, b] = row.means.map(|mean| row.metric.written(mean));
            let found = match test.hit_ratios {
                [Some(a), Some(b)] => format!("{a:.2} % and {b:.2} %"),
                _ => "–".to_owned(),
            };
            let [ratio, interval] = ratio_cells(test, row);
            let label = test.setup.unit.label(row.metric).to_owned();
            rows.row([test.name.clone(), label, a, b, ratio, interval, found]);
        }
    }
    rows
}

/// The ratio and its interval, or dashes if the comparison was refused.
fn ratio_cells(test: &TestComparison, row: &Row) -> [String; 2] {
    if test.refused.is_some() {
        return ["–".to_owned(), "–".to_owned()];
    }
    [format!("{:.3}", row.ratio.ratio), row.describe_interval()]
}

/// All of a test.
pub(crate) fn blocks(test: &TestComparison) -> Vec<Block> {
    let refused = test.refused.iter().map(|refused| refused.text.clone());
    let notes = refused.chain(test.cautions()).chain(test.describe_void());
    let mut blocks: Vec<Block> =
        notes.map(|text| Block::Note(Tone::Warning, sentence(&text))).collect();
    if test.refused.is_none() {
        blocks.push(Block::Chart(ratios(test)));
    }
    let rate = test.setup.unit.rate_title().to_lowercase();
    let strips = [
        (Metric::Throughput, "Throughput of every run", Axis::log(&rate, Unit::PerSecond), 1.0),
        (
            Metric::P99,
            "99th percentile of every run",
            Axis::log("response time", Unit::Nanoseconds),
            1e6,
        ),
    ];
    for (metric, title, axis, factor) in strips {
        let row = test.row(metric).filter(|row| row.values.iter().any(|side| side.len() > 1));
        blocks.extend(row.map(|row| Block::Chart(strip(test, row, title, axis, factor))));
    }
    blocks.extend(courses(test).into_iter().map(Block::Chart));
    if !test.rows.is_empty() {
        blocks.push(Block::Table(table(test, "figure", &test.rows)));
    }
    let operations = test.operations.iter();
    blocks.extend(operations.map(|of| Block::Table(table(test, &of.name, &of.rows))));
    let limits = test.setup.names.iter().zip(&test.limits).filter(|(_, limits)| !limits.is_empty());
    let limits = limits.map(|(name, limits)| (format!("Limits of {name}"), limited(limits)));
    let limits: Vec<(String, String)> = limits.collect();
    if !limits.is_empty() {
        blocks.push(Block::KeyValues(limits));
    }
    let by_run = [
        (Metric::Throughput, Axis::linear(&rate, Unit::PerSecond), 1.0),
        (Metric::P99, Axis::log("response time", Unit::Nanoseconds), 1e6),
    ];
    for (metric, axis, factor) in by_run {
        let row = test.row(metric).filter(|row| row.values.iter().any(|side| side.len() > 1));
        blocks.extend(row.map(|row| Block::Chart(over_runs(test, row, axis, factor))));
    }
    for (name, run) in middle_runs(test).into_iter().flatten() {
        let summary = Summary::from_run(run);
        blocks.extend(outages::table(&summary, Some(name)));
        blocks.extend(moments::blocks(&summary, Some(name)));
    }
    if test.middle.iter().all(Option::is_some) {
        let text = "Over time and by percentile, outages and worst moments: the median run of each \
            side, by throughput.";
        blocks.push(Block::Text(text.to_owned()));
    }
    blocks
}

/// The median run of each side, by throughput.
fn middle_runs(test: &TestComparison) -> Option<[(&str, &Run); 2]> {
    let [Some(a), Some(b)] = &test.middle else { return None };
    let [first, second] = &test.setup.names;
    Some([(first, a), (second, b)])
}

/// Both over time, with the outages of each, and by percentile.
fn courses(test: &TestComparison) -> Vec<Chart> {
    let Some(sides) = middle_runs(test) else { return Vec::new() };
    let band = |name: &str, band: Band| Band { name: format!("nothing succeeded: {name}"), ..band };
    let out = sides.iter().flat_map(|(name, run)| {
        outages::bands(run).into_iter().map(move |found| band(name, found))
    });
    let bands: Vec<Band> = out.collect();
    let charts = runs::overlaid(&sides);
    // Of runs that were over within an interval or two there is no course to be seen.
    let course = sides.iter().all(|(_, run)| run.measurement.timeline.points.len() > 2);
    let over_time = charts.into_iter().filter(|_| course);
    let mut charts: Vec<Chart> =
        over_time.map(|chart| Chart { bands: bands.clone(), ..chart }).collect();
    charts.push(spectrum("Response time by percentile", &sides));
    charts
}

/// Colours of what is better, worse and undecided, by the numbers of series.
const BETTER: usize = 2;
const WORSE: usize = 1;
const UNDECIDED: usize = 6;

/// A dot for each figure, with the interval of its ratio as a whisker.
fn ratios(test: &TestComparison) -> Chart {
    let [first, second] = &test.setup.names;
    let mut chart = Chart::bars(
        format!("{second} / {first} with its 95 % interval"),
        test.rows.iter().map(|row| test.setup.unit.label(row.metric)),
        Axis::log("ratio", Unit::Ratio),
    );
    let point = |(at, row): (u32, &Row)| {
        let colour = match test.better(row) {
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
    };
    chart.note = format!(
        "Green: {second} is better. Orange: it is worse. Grey: no difference was found, or the runs do not say."
    );
    if test.rows.iter().any(|row| row.ratio.interval.is_none()) {
        chart.note += " A hollow dot has no interval.";
    }
    chart.series.push(Series::from_points("ratio", (0..).zip(&test.rows).map(point)));
    chart.guides.push(Guide::Y(1.0, "alike".into()));
    chart
}

/// Every run of each side as a dot: whether they overlap can be seen.
fn strip(test: &TestComparison, row: &Row, title: &str, y: Axis, factor: f64) -> Chart {
    let mut chart = Chart::bars(title, test.setup.names.iter().map(String::as_str), y);
    let points = row.values.iter().enumerate().flat_map(|(side, values)| {
        let run = (1..).zip(values);
        run.map(move |(run, value)| {
            let point = DataPoint::at(side as f64, value * factor);
            point.coloured(side).noted(format!("run {run}"))
        })
    });
    chart.series.push(Series::from_points("run", points));
    chart
}

/// `rows` of a test, under that name.
fn table(test: &TestComparison, name: &str, rows: &[Row]) -> Table {
    let [a, b] = &test.setup.names;
    let verdict_of = format!("{b} is");
    // On a phone the conclusion is what is seen beside the figure's name.
    let mut table = Table::new([name, &verdict_of, "ratio", "95 % interval", a, b]);
    for row in rows {
        let [a, b] = row.means.map(|mean| row.metric.written(mean));
        let [ratio, interval] = ratio_cells(test, row);
        let text = if test.refused.is_some() { "not available".to_owned() } else { verdict(row) };
        let label = test.setup.unit.label(row.metric).to_owned();
        table.row([label, text, ratio, interval, a, b]);
    }
    table
}

/// A figure of both sides, run by run: what changed while the comparison went on.
fn over_runs(test: &TestComparison, row: &Row, y: Axis, factor: f64) -> Chart {
    let title = match row.metric {
        Metric::Throughput => "Throughput run by run",
        _ => "99th percentile run by run",
    };
    let mut chart = Chart::lines(title, Axis::linear("run of its side", Unit::Count), y);
    for (name, values) in test.setup.names.iter().zip(&row.values) {
        let points = (1..).zip(values).map(|(at, value)| (f64::from(at), value * factor));
        chart.series.push(Series::new(name, points));
    }
    chart
}
