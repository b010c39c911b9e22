//! Tables and small charts for a terminal.
//!
//! The caller decides on colours with [`colour_wanted`]. Without colours the text is the same.

mod paint;
mod plot;
mod words;

use crate::escape;
use comfy_table::{CellAlignment, ContentArrangement, presets};

use super::{Block, Chart, ChartKind, Table, Tone, Verdict};
use paint::{BOLD, SERIES, painted};
pub use words::wrapped;
use words::{WIDTH, broken};

/// Decides whether to write colours: to a terminal that supports them, unless `NO_COLOR` is set to anything
/// (<https://no-color.org>). Pass the unchanged values of the environment.
pub fn colour_wanted(
    terminal: bool,
    no_color: Option<&std::ffi::OsStr>,
    term: Option<&std::ffi::OsStr>,
) -> bool {
    terminal && no_color.is_none_or(|v| v.is_empty()) && term.is_none_or(|term| term != "dumb")
}

/// Minimum number of columns of a head before it is broken.
const HEAD: usize = 9;

/// Blocks of a document as text, in lines of 80 columns as far as possible; a chart has the given `width`.
pub fn text(blocks: &[Block], width: usize, colour: bool) -> String {
    blocks.iter().map(|found| block(found, width, colour)).collect()
}

fn block(block: &Block, width: usize, colour: bool) -> String {
    match block {
        Block::Heading(text) => format!("\n====== {} ======\n", escape(text)),
        Block::Text(text) | Block::Code(text) => wrapped(&escape(text), WIDTH, 2),
        Block::Note(Tone::Warning, text) => {
            wrapped(&format!("warning: {}", escape(text)), WIDTH, 2)
        }
        Block::Note(_, text) => wrapped(&escape(text), WIDTH, 2),
        Block::Verdict(Verdict { headline, text, .. }) => {
            [headline, text].map(|text| wrapped(&escape(text), WIDTH, 2)).concat()
        }
        Block::Table(rows) => drawn(rows, &narrow_heads(rows), colour),
        Block::Chart(found) => format!("\n{}\n", chart(found, width, colour)),
        Block::KeyValues(pairs) => pairs
            .iter()
            .map(|(name, value)| {
                wrapped(&format!("{:<12} {}", escape(name), escape(value)), WIDTH, 13)
            })
            .collect(),
    }
}

/// Heads of a table's columns, broken into lines if the table is too wide.
fn narrow_heads(table: &Table) -> Vec<String> {
    let columns = 0..table.columns.len();
    let length = |text: &str| escape(text).chars().count();
    let cells: Vec<usize> = columns
        .map(|at| (0..table.rows.len()).map(|row| length(table.cell(row, at))).max().unwrap_or(0))
        .collect();
    let all: usize =
        table.columns.iter().zip(&cells).map(|(head, cell)| length(head).max(*cell) + 2).sum();
    let heads = table.columns.iter().zip(&cells).map(|(head, cell)| match escape(head) {
        head if all > WIDTH + 2 => broken(&head, (*cell).max(HEAD)).join("\n"),
        head => head,
    });
    heads.collect()
}

/// A table with aligned columns, two spaces apart, figures to the right. Ends with a line end.
pub fn table(table: &Table, colour: bool) -> String {
    let heads: Vec<String> = table.columns.iter().map(escape).collect();
    drawn(table, &heads, colour)
}

/// A table below these heads.
fn drawn(table: &Table, heads: &[String], colour: bool) -> String {
    let mut drawn = comfy_table::Table::new();
    drawn.load_style(presets::NOTHING);
    drawn.set_content_arrangement(ContentArrangement::Disabled);
    let lines = heads.iter().map(|head| head.lines().count()).max().unwrap_or(1).max(1);
    drawn.set_header(heads.iter().map(|head| lowered(head, lines)));
    for row in 0..table.rows.len() {
        drawn.add_row((0..table.columns.len()).map(|column| escape(table.cell(row, column))));
    }
    for (n, column) in drawn.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if table.numeric(n) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut text = String::new();
    if !table.caption.is_empty() {
        text += &format!("{}\n", escape(&table.caption));
    }
    for (n, line) in drawn.lines().enumerate() {
        let line = line.trim_end();
        text += &if n < lines { painted(line, BOLD, colour) } else { line.to_owned() };
        text.push('\n');
    }
    text
}

/// A head at the bottom of this many lines.
fn lowered(head: &str, lines: usize) -> String {
    "\n".repeat(lines.saturating_sub(head.lines().count().max(1))) + head
}

/// Rows of prose in columns, the first of them a header, wrapped to `width`. Ends with a line end.
pub fn prose(rows: &[Vec<String>], width: usize) -> String {
    let mut drawn = comfy_table::Table::new();
    drawn.load_style(presets::NOTHING);
    drawn.set_content_arrangement(ContentArrangement::Dynamic);
    drawn.set_width(u16::try_from(width).unwrap_or(u16::MAX));
    let empty = |row: &Vec<String>| row.iter().all(String::is_empty);
    drawn.add_rows(rows.iter().filter(|row| !empty(row)).map(|row| row.iter().map(escape)));
    for column in drawn.column_iter_mut() {
        column.set_padding((0, 2));
    }
    drawn.lines().fold(String::new(), |text, line| text + line.trim_end() + "\n")
}

/// Bold text.
pub fn bold(text: &str, colour: bool) -> String {
    painted(text, BOLD, colour)
}

/// A bar of eighths of a block.
pub(crate) fn bar(share: f64, room: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = if share.is_finite() {
        (share.clamp(0.0, 1.0) * room as f64 * 8.0).round() as usize
    } else {
        0
    };
    // A value above 0 is visible.
    let eighths = if share > 0.0 { eighths.max(1) } else { eighths };
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

/// A small chart, such as for a sweep: for each series a curve in Braille characters of eight dots each, one
/// below the other on the same axes. `width` is in columns.
pub fn chart(chart: &Chart, width: usize, colour: bool) -> String {
    match &chart.kind {
        ChartKind::Bars(categories) => bar_chart(chart, categories, width, colour),
        _ => plot::plot(chart, width, colour),
    }
}

/// Horizontal bars, one line each: the name, a bar with the length of its value, and the value. Lines have at
/// most `width` columns, unless names and values alone need more.
fn bar_chart(chart: &Chart, categories: &[String], width: usize, colour: bool) -> String {
    let several = chart.series.len() > 1;
    let rows = chart.series.iter().flat_map(|series| {
        series.points.iter().filter(|point| chart.shows(point)).map(move |point| {
            let name = categories.get(point.x as usize).map_or("", String::as_str);
            let name = if several { format!("{name} {}", series.name) } else { name.to_owned() };
            (escape(name), point.y, escape(chart.y.unit.show(point.y)))
        })
    });
    let rows: Vec<(String, f64, String)> = rows.collect();
    let length = |text: &str| text.chars().count();
    let names = rows.iter().map(|r| length(&r.0)).max().unwrap_or(0);
    let values = rows.iter().map(|r| length(&r.2)).max().unwrap_or(0);
    let room = width.saturating_sub(names + values + 4).max(8);
    let most = rows.iter().map(|r| r.1).filter(|v| v.is_finite()).fold(0.0, f64::max);
    let mut text = format!("{}\n", escape(&chart.title));
    for (name, value, shown) in &rows {
        let pad = " ".repeat(names - length(name));
        let bar = bar(if most > 0.0 { value / most } else { 0.0 }, room);
        let gap = " ".repeat(room - length(&bar));
        let right = " ".repeat(values - length(shown));
        text +=
            &format!("{name}{pad}  {}{gap}  {right}{shown}\n", painted(&bar, SERIES[0], colour));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Axis, Series, Unit};

    fn sweep() -> Chart {
        let mut sweep = Chart::lines(
            "Rate by connections",
            Axis::log("connections", Unit::Count),
            Axis::linear("rate", Unit::PerSecond),
        );
        sweep.series.push(Series::new("-P 1", [(1.0, 20e3), (10.0, 90e3), (100.0, 110e3)]));
        sweep.series.push(Series::new("-P 16", [(1.0, 200e3), (10.0, 700e3), (100.0, 690e3)]));
        sweep
    }

    #[test]
    fn a_table_is_aligned_and_safe() {
        let mut rows = Table::new(["test", "requests/s", "p99"]);
        rows.row(["SET", "98,765", "1.2 ms"]).row(["a\x1b[31mb", "5", "–"]);
        let text = table(&rows, false);
        assert_eq!(
            text,
            "test        requests/s     p99\nSET             98,765  1.2 ms\na\\x1b[31mb           5       –\n"
        );
        assert!(table(&rows, true).starts_with("\x1b[1mtest"));
    }

    #[test]
    fn bars_are_as_long_as_their_values() {
        let bars = |values: &[f64]| {
            let axis = Axis::linear("number", Unit::Plain);
            let points = (0..).zip(values).map(|(at, value)| (f64::from(at), *value));
            chart(&Chart::bars("Bars", ["a", "bb", "c"], axis).with("", points), 25, false)
        };
        let text = bars(&[100.0, 50.0, 0.0]);
        let blocks: Vec<usize> = text.lines().skip(1).map(|l| l.matches('█').count()).collect();
        assert_eq!(blocks, [16, 8, 0]);
        assert!(text.lines().skip(1).all(|l| l.chars().count() == 25), "{text}");
        assert_eq!(bars(&[]), "Bars\n");
    }

    #[test]
    fn a_chart_rises_where_its_values_do() {
        let text = chart(&sweep(), 60, false);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 1 + 8 + 2, "{text}");
        assert!(lines[1].trim_start().starts_with("700k/s") && lines[8].contains("0/s"), "{text}");
        assert!(lines[9].contains('1') && lines[9].ends_with("100  connections"), "{text}");
        assert!(!text.contains('\x1b') && chart(&sweep(), 60, true).contains("\x1b[33m"));
        let uncoloured = chart(&sweep(), 60, true).replace("\x1b[0m", "");
        let strip =
            ["\x1b[1m", "\x1b[33m", "\x1b[34m"].iter().fold(uncoloured, |t, c| t.replace(c, ""));
        assert_eq!(strip, text);
        assert!(lines.iter().all(|l| l.chars().count() <= 75));
        // Without colours, marks tell which line is which.
        assert!(lines[10].contains("o -P 1  x -P 16"), "{text}");
        let plot = lines[1..9].concat();
        assert_eq!((plot.matches('o').count(), plot.matches('x').count()), (3, 3), "{text}");
    }

    #[test]
    fn colours_are_for_terminals_that_want_them() {
        let some = |text: &'static str| Some(std::ffi::OsStr::new(text));
        assert!(colour_wanted(true, None, some("xterm")) && colour_wanted(true, some(""), None));
        assert!(!colour_wanted(true, some("1"), None) && !colour_wanted(false, None, None));
        assert!(!colour_wanted(true, None, some("dumb")));
    }
}
