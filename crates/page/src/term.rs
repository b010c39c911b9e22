//! Tables and small charts for a terminal.
//!
//! Whether there are colours is the caller's to say: [`colour_wanted`] decides it from what he
//! knows. The text without colours is the same text.

use comfy_table::{CellAlignment, ContentArrangement, presets};
use report::escape;

use crate::{Chart, Kind, Table};

/// Whether to write colours: to a terminal that understands them, unless `NO_COLOR` is set to
/// anything (<https://no-color.org>). Pass the values of the environment as they are.
#[must_use]
pub fn colour_wanted(
    terminal: bool,
    no_color: Option<&std::ffi::OsStr>,
    term: Option<&std::ffi::OsStr>,
) -> bool {
    terminal && no_color.is_none_or(|v| v.is_empty()) && term.is_none_or(|term| term != "dumb")
}

/// A table with aligned columns, two spaces apart, figures to the right. Ends with a line end.
#[must_use]
pub fn table(table: &Table, colour: bool) -> String {
    let mut drawn = comfy_table::Table::new();
    drawn.load_style(presets::NOTHING);
    drawn.set_content_arrangement(ContentArrangement::Disabled);
    drawn.set_header(table.columns.iter().map(escape));
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
        text += &if n == 0 { painted(line, BOLD, colour) } else { line.to_owned() };
        text.push('\n');
    }
    text
}

const BOLD: &str = "1";
/// Blue, yellow, green, magenta, cyan, red: as terminals have them.
const SERIES: [&str; 6] = ["34", "33", "32", "35", "36", "31"];
/// What stands at the points of a series, in every font.
const MARKS: [char; 8] = ['o', 'x', '+', '*', '#', '@', '%', '&'];

fn painted(text: &str, code: &str, colour: bool) -> String {
    if colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
}

/// Rows of prose in columns, the first of them a header, wrapped where they are wider than `width`.
/// Ends with a line end.
#[must_use]
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

/// Text that stands out.
#[must_use]
pub fn bold(text: &str, colour: bool) -> String {
    painted(text, BOLD, colour)
}

/// Horizontal bars, a line each: the name, a bar as long as its value is large, the value as
/// `shown`. No line is wider than `width` columns, unless names and values alone are.
#[must_use]
pub fn bars<'b>(
    rows: impl IntoIterator<Item = (&'b str, f64, String)>,
    width: usize,
    colour: bool,
) -> String {
    let rows: Vec<(String, f64, String)> =
        rows.into_iter().map(|(name, value, shown)| (escape(name), value, escape(shown))).collect();
    let length = |text: &str| text.chars().count();
    let names = rows.iter().map(|r| length(&r.0)).max().unwrap_or(0);
    let values = rows.iter().map(|r| length(&r.2)).max().unwrap_or(0);
    let room = width.saturating_sub(names + values + 4).max(8);
    let most = rows.iter().map(|r| r.1).filter(|v| v.is_finite()).fold(0.0, f64::max);
    let mut text = String::new();
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

/// A bar of eighths of a block.
fn bar(share: f64, room: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = if share.is_finite() {
        (share.clamp(0.0, 1.0) * room as f64 * 8.0).round() as usize
    } else {
        0
    };
    // What is there is seen.
    let eighths = if share > 0.0 { eighths.max(1) } else { eighths };
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

/// A chart in a few lines, such as of a sweep: for each series a curve of dots in characters of
/// eight dots (Braille), one below the other on the same axes. `width` is in columns.
#[must_use]
pub fn chart(chart: &Chart, width: usize, colour: bool) -> String {
    const HEIGHT: usize = 8;
    if let Kind::Bars(categories) = &chart.kind {
        let named = |n: f64| categories.get(n as usize).cloned().unwrap_or_default();
        let rows: Vec<(String, f64, String)> = chart
            .series
            .iter()
            .flat_map(|series| {
                series.points.iter().filter(|p| chart.shows(p)).map(move |p| (series, p))
            })
            .map(|(series, p)| {
                let name = if chart.series.len() > 1 {
                    format!("{} {}", named(p.x), series.name)
                } else {
                    named(p.x)
                };
                (name, p.y, chart.y.unit.show(p.y))
            })
            .collect();
        let rows = rows.iter().map(|(name, y, shown)| (name.as_str(), *y, shown.clone()));
        return format!("{}\n{}", escape(&chart.title), bars(rows, width, colour));
    }
    let place = |p: &crate::DataPoint| Some((chart.x.scale.place(p.x)?, chart.y.scale.place(p.y)?));
    let all: Vec<(f64, f64)> =
        chart.series.iter().flat_map(|s| &s.points).filter_map(place).collect();
    let title = painted(&escape(&chart.title), BOLD, colour);
    if all.is_empty() {
        return format!("{title}\nnothing was measured\n");
    }
    let ends = |values: Vec<f64>| {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if high > low { (low, high) } else { (low - 1.0, low + 1.0) }
    };
    let (left, right) = ends(all.iter().map(|p| p.0).collect());
    let (bottom, top) = match chart.y.scale {
        crate::Scale::Linear => ends(all.iter().map(|p| p.1).chain([0.0]).collect()),
        _ => ends(all.iter().map(|p| p.1).collect()),
    };
    let shown = |f: fn(&crate::DataPoint) -> f64, greatest: bool| {
        let values = chart.series.iter().flat_map(|s| &s.points).filter(|p| chart.shows(p)).map(f);
        if greatest {
            values.fold(f64::NEG_INFINITY, f64::max)
        } else {
            values.fold(f64::INFINITY, f64::min)
        }
    };
    let high_label = chart.y.unit.show(shown(|p| p.y, true));
    let low = if chart.y.scale == crate::Scale::Linear {
        shown(|p| p.y, false).min(0.0)
    } else {
        shown(|p| p.y, false)
    };
    let low_label = chart.y.unit.show(low);
    let margin = high_label.chars().count().max(low_label.chars().count()) + 1;
    let columns = width.saturating_sub(margin + 2).clamp(16, 200);
    let mut grid = vec![vec![(0u8, 0usize, false); columns]; HEIGHT];
    let several = chart.series.len() > 1;
    let dot = |x: f64, y: f64| {
        let x = ((x - left) / (right - left) * (columns * 2 - 1) as f64).round() as usize;
        let y = ((top - y) / (top - bottom) * (HEIGHT * 4 - 1) as f64).round() as usize;
        (x.min(columns * 2 - 1), y.min(HEIGHT * 4 - 1))
    };
    for (n, series) in chart.series.iter().enumerate() {
        let points: Vec<(f64, f64)> = series.points.iter().filter_map(place).collect();
        let fine = columns * 4;
        let mut set = |(x, y): (f64, f64)| {
            // The bits of U+2800, <https://www.unicode.org/charts/PDF/U2800.pdf>.
            const BITS: [[u8; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];
            let (x, y) = dot(x, y);
            let cell = &mut grid[y / 4][x / 2];
            *cell = (cell.0 | BITS[x % 2][y % 4], n, false);
        };
        points.iter().copied().for_each(&mut set);
        let pairs = points.windows(2).filter(|_| chart.kind != Kind::Scatter);
        for pair in pairs {
            let [(x0, y0), (x1, y1)] = [pair[0], pair[1]];
            (0..fine)
                .map(|k| k as f64 / fine as f64)
                .for_each(|t| set((x0 + (x1 - x0) * t, y0 + (y1 - y0) * t)));
        }
    }
    // Over all lines, so that each is known by its marks where there are no colours.
    for (n, series) in chart.series.iter().enumerate().filter(|_| several) {
        for (x, y) in series.points.iter().filter_map(place) {
            let (x, y) = dot(x, y);
            grid[y / 4][x / 2] = (u8::MAX, n, true);
        }
    }
    let mut text = format!("{title}\n");
    for (n, row) in grid.iter().enumerate() {
        let label = match n {
            0 => &high_label,
            n if n == HEIGHT - 1 => &low_label,
            _ => "",
        };
        let gap = " ".repeat(margin - label.chars().count());
        let mut line = format!("{gap}{label} ┤");
        for (bits, series, mark) in row {
            let c = match mark {
                true => MARKS[series % MARKS.len()],
                false => char::from_u32(0x2800 + u32::from(*bits)).unwrap_or(' '),
            };
            let c = if *bits == 0 { " ".to_owned() } else { c.to_string() };
            line +=
                &if *bits == 0 { c } else { painted(&c, SERIES[series % SERIES.len()], colour) };
        }
        text += line.trim_end();
        text.push('\n');
    }
    let (first, last) =
        (chart.x.unit.show(shown(|p| p.x, false)), chart.x.unit.show(shown(|p| p.x, true)));
    let gap = columns.saturating_sub(first.chars().count() + last.chars().count()).max(1);
    text += &format!(
        "{}  {first}{}{last}  {}\n",
        " ".repeat(margin),
        " ".repeat(gap),
        escape(&chart.x.label)
    );
    if several {
        let names = chart.series.iter().enumerate().map(|(n, s)| {
            painted(
                &format!("{} {}", MARKS[n % MARKS.len()], escape(&s.name)),
                SERIES[n % SERIES.len()],
                colour,
            )
        });
        text += &format!("{}  {}\n", " ".repeat(margin), names.collect::<Vec<_>>().join("  "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Axis, Series, Unit};

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
        let text = bars(
            [("a", 100.0, "100".into()), ("bb", 50.0, "50".into()), ("c", 0.0, "0".into())],
            25,
            false,
        );
        let blocks: Vec<usize> = text.lines().map(|l| l.matches('█').count()).collect();
        assert_eq!(blocks, [16, 8, 0]);
        assert!(text.lines().all(|l| l.chars().count() == 25), "{text}");
        assert!(bars([], 20, true).is_empty());
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
