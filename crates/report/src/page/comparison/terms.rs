//! Tables of servers of different protocols: the equal terms, and the figures of each table side by side.

use crate::Metric;
use crate::compare::{ComparedTest, Table as TermsTable, Terms, TestComparison};
use crate::groups::unique;

use super::tables::{NONE, ratio_cells};
use crate::page::{Block, Chart, Section, Series, Table};

/// A section of equal terms, and one for each table.
pub(super) fn sections(terms: &Terms, tests: &[ComparedTest]) -> Vec<Section> {
    let equal = Block::KeyValues(terms.equal.clone());
    let left_out = terms.left_out.iter().cloned().map(Block::Text);
    let blocks = std::iter::once(equal).chain(left_out);
    let mut sections = vec![Section::new("What is equal", blocks).folded()];
    for (at, table) in terms.tables.iter().enumerate() {
        let of_it = tests.iter().filter(|test| test.table() == Some(at));
        sections.push(section(table, &of_it.collect::<Vec<_>>()));
    }
    sections
}

/// Makes the section of a table: its description, its servers, their figures side by side, then each test.
fn section(table: &TermsTable, tests: &[&ComparedTest]) -> Section {
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
        section.blocks.extend(super::blocks(test));
    }
    section
}

/// Response time against throughput of both servers, a point for each rate of a load.
fn rate_curve(table: &TermsTable, tests: &[&ComparedTest]) -> Chart {
    let mut series: Vec<Series> = Vec::new();
    for (side, subject) in table.subjects.iter().enumerate() {
        let loads = tests.iter().map(|test| test.name.split(" at ").next().unwrap_or(&test.name));
        for load in unique(loads) {
            let of_it = tests.iter().filter(|test| test.name.starts_with(&format!("{load} at ")));
            let pairs = of_it.flat_map(|test| &test.pairs);
            let points = pairs.filter_map(|pair| {
                let figure = |metric| pair.row(metric).map(|row| row.means[side]);
                Some((figure(Metric::Throughput)?, figure(Metric::P99)? * 1e6))
            });
            series.push(Series::new(format!("{load}, {}", subject.name), points));
        }
    }
    Chart::rate_curve("99th percentile against throughput", series, None, None)
}

/// Makes the figures side by side: a line for each test and figure.
fn side_by_side(table: &TermsTable, tests: &[&ComparedTest]) -> Table {
    let metrics = match table.kind {
        "latency" => &[Metric::P50, Metric::P99, Metric::ServerCpu][..],
        "mget" => &[Metric::Keys, Metric::Throughput, Metric::ServerCpu],
        _ => &[Metric::Throughput, Metric::ServerCpu],
    };
    let names = table.subjects.iter().map(|subject| subject.name.as_str());
    let columns = ["test", "figure"].into_iter().chain(names);
    let mut rows = Table::new(columns.chain(["ratio", "95 % interval", "keys found"]));
    let mut add = |pair: &TestComparison| {
        for row in metrics.iter().filter_map(|metric| pair.row(*metric)) {
            let [a, b] = row.means.map(|mean| row.metric.written(mean));
            let found = match pair.sides.each_ref().map(|side| side.hit_ratio) {
                [Some(a), Some(b)] => format!("{a:.2} % and {b:.2} %"),
                _ => NONE.to_owned(),
            };
            let [ratio, interval, _] = ratio_cells(pair, row);
            let label = pair.setup.unit.label(row.metric).to_owned();
            rows.row([pair.name.clone(), label, a, b, ratio, interval, found]);
        }
    };
    tests.iter().flat_map(|test| &test.pairs).for_each(&mut add);
    rows
}
