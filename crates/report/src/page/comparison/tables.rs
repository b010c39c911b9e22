//! Tables of a comparison, with a column for each server, for a page and a terminal.

use crate::compare::{
    self, Candidate, ComparedTest, FigureRow, Question, RatioRow, SettingDifference, TargetState,
    TestComparison, column_names, distinct_parts, finding, verdict,
};
use crate::{Metric, grouped};

use crate::page::Table;

/// Maximum number of servers beside the first in one table, for the widths of a terminal and a phone.
const OTHERS_MAX: usize = 2;
/// Maximum number of servers in one table of costs.
const SERVERS_MAX: usize = 4;
/// Cell of an unknown value.
pub(super) const NONE: &str = "–";

/// Figures of a test and of its operations, with the conclusions from their ratios to the first server.
pub(super) fn figures(test: &ComparedTest) -> Vec<Table> {
    let names: Vec<String> = test.sides().map(|side| side.name.clone()).collect();
    let names = column_names(&names);
    let parts = || std::iter::once(("", test.figures())).chain(test.operations());
    if parts().all(|(_, rows)| rows.is_empty()) {
        return Vec::new();
    }
    let others: Vec<usize> = (1..names.len()).collect();
    let tables = others.chunks(OTHERS_MAX).map(|others| {
        let is_only = names.len() == 2;
        let mut table = if is_only { columns_of_two(&names) } else { columns_of(&names, others) };
        for (operation, rows) in parts() {
            if !operation.is_empty() {
                table.row([operation]);
            }
            for row in &rows {
                if is_only { add_pair(&mut table, row) } else { add_row(&mut table, row, others) }
            }
        }
        table
    });
    tables.collect()
}

/// The servers behind the numbers of columns, where they have numbers instead of names.
pub(super) fn numbers(test: &ComparedTest) -> Option<String> {
    let names: Vec<String> = test.sides().map(|side| side.name.clone()).collect();
    let columns = column_names(&names);
    let numbers = columns.iter().zip(&names).map(|(column, name)| format!("{column}: {name}"));
    (columns != distinct_parts(&names)).then(|| numbers.collect::<Vec<_>>().join("; "))
}

/// Columns of two servers. On a phone the conclusion is visible beside the figure's name.
fn columns_of_two(names: &[String]) -> Table {
    let verdict_of = format!("{} is", names[1]);
    Table::new(["figure", &verdict_of, "ratio", "95 % interval", &names[0], &names[1]])
}

fn add_pair(table: &mut Table, row: &FigureRow<'_>) {
    let Some((pair, compared)) = row.others.first().copied().flatten() else { return };
    let [a, b] = compared.means.map(|mean| row.metric.written(mean));
    let [ratio, interval, says] = ratio_cells(pair, compared);
    table.row([label(pair, row.metric), says, ratio, interval, a, b]);
}

fn columns_of(names: &[String], others: &[usize]) -> Table {
    let others = others.iter().map(|at| names[*at].as_str());
    Table::new(["figure", &names[0]].into_iter().chain(others))
}

/// Adds a row of a figure of the first server and of these others, and below it the conclusions.
fn add_row(table: &mut Table, row: &FigureRow<'_>, others: &[usize]) {
    let Some((pair, _)) = row.others.iter().find_map(|other| *other) else { return };
    let values: Vec<_> = row.values().collect();
    let value =
        |at: usize| values[at].map_or(NONE.to_owned(), |(mean, _)| row.metric.written(mean));
    let first = [label(pair, row.metric), value(0)];
    table.row(first.into_iter().chain(others.iter().map(|at| value(*at))));
    let below = ["  ratio, 95 %".to_owned(), String::new()];
    table.row(below.into_iter().chain(others.iter().map(|at| match row.others[at - 1] {
        Some((pair, compared)) => {
            let [_, interval, says] = ratio_cells(pair, compared);
            let word = if pair.refused.is_some() { &says } else { finding(compared) };
            format!("{interval} {word}")
        }
        None => NONE.to_owned(),
    })));
}

fn label(pair: &TestComparison, metric: Metric) -> String {
    pair.setup.unit.label(metric).to_owned()
}

/// The ratio, its interval and the conclusion, or dashes if the comparison was refused.
pub(super) fn ratio_cells(pair: &TestComparison, row: &RatioRow) -> [String; 3] {
    if pair.refused.is_some() {
        return [NONE.to_owned(), NONE.to_owned(), "none".to_owned()];
    }
    [format!("{:.3}", row.ratio.ratio), row.describe_interval(), verdict(row)]
}

/// Costs of the servers on a load, and the state of the target.
pub(super) fn costs(question: &Question) -> Vec<Table> {
    let all: Vec<String> = question.candidates.iter().map(|of| of.name.clone()).collect();
    let all = distinct_parts(&all);
    let unit = question.unit;
    let dash = || NONE.to_owned();
    let percent = |share: Option<f64>| share.map_or_else(dash, |s| format!("{:.0} %", s * 100.0));
    let servers = question.candidates.chunks(SERVERS_MAX).zip(all.chunks(SERVERS_MAX));
    let tables = servers.map(|(candidates, names)| {
        let mut table = Table::new(std::iter::once("").chain(names.iter().map(String::as_str)));
        let mut row = |label: &str, cell: &dyn Fn(&Candidate) -> String| {
            table.row(std::iter::once(label.to_owned()).chain(candidates.iter().map(cell)));
        };
        row("target kept", &|of| kept(of.kept).to_owned());
        for metric in [Metric::Throughput, Metric::P99, Metric::ServerCpu] {
            row(unit.label(metric), &|of| figure(of, metric));
        }
        row("of one core", &|of| percent(of.cores()));
        row(unit.label(Metric::ClientCpu), &|of| figure(of, Metric::ClientCpu));
        row("memory (MB)", &|of| {
            of.memory_bytes.map_or_else(dash, |bytes: u64| format!("{:.1}", bytes as f64 / 1e6))
        });
        let limit = format!("limit ({})", unit.per_second());
        row(&limit, &|of| of.limit.map_or_else(dash, |(limit, _)| grouped(limit)));
        row("of it used", &|of| percent(of.share_of_limit()));
        row("limited by", &|of| of.limit.map_or_else(dash, |(_, by)| by.name().to_owned()));
        table
    });
    tables.collect()
}

/// A figure of a server on a load.
pub(super) fn figure(of: &Candidate, metric: Metric) -> String {
    of.figures.get(metric).map_or(NONE.to_owned(), |value| match metric {
        Metric::Throughput => grouped(value),
        Metric::ServerCpu | Metric::ClientCpu => format!("{value:.1}"),
        _ => metric.written(value),
    })
}

/// Result of a target in a word.
pub(super) fn kept(state: Option<TargetState>) -> &'static str {
    match state {
        None => NONE,
        Some(TargetState::Yes) => "yes",
        Some(TargetState::No) => "NO",
        Some(TargetState::Undecided) => "unsure",
        Some(TargetState::Void) => "void",
    }
}

/// The settings in which the servers differ, at most the first `most`.
pub(super) fn differences(
    names: &[String],
    differences: &[SettingDifference],
    most: Option<usize>,
) -> Option<Table> {
    let names = compare::shortened(names, VALUE_MAX);
    let columns = std::iter::once("Settings that differ:").chain(names.iter().map(String::as_str));
    let mut table = Table::new(columns);
    for difference in differences.iter().take(most.unwrap_or(usize::MAX)) {
        let values = without_alike_start(&difference.shown());
        table.row(std::iter::once(difference.name.clone()).chain(values));
    }
    (!table.rows.is_empty()).then_some(table)
}

/// Maximum number of characters of a setting's value that are shown.
const VALUE_MAX: usize = 25;

/// Values of at most this many characters; those with a common beginning start shortly before they differ.
fn without_alike_start(values: &[String]) -> Vec<String> {
    let letters: Vec<Vec<char>> = values.iter().map(|value| value.chars().collect()).collect();
    let Some((first, others)) = letters.split_first() else { return Vec::new() };
    let alike = |other: &Vec<char>| first.iter().zip(other).take_while(|(a, b)| a == b).count();
    let alike = others.iter().map(alike).min().unwrap_or(0);
    let from = if alike < VALUE_MAX - 1 { 0 } else { alike - VALUE_MAX / 3 };
    let names = letters.iter().map(|value| {
        let start = if from > 0 { "…" } else { "" };
        let rest: String = start.chars().chain(value[from..].iter().copied()).collect();
        compare::shortened(&[rest], VALUE_MAX).concat()
    });
    names.collect()
}
