//! Lines over two axes, drawn in characters of eight dots (Braille).

use crate::escape;

use super::paint::{BOLD, SERIES, painted};
use crate::document::{Chart, DataPoint, Scale};

/// Lines of text in the plot.
const HEIGHT: usize = 8;
/// Marks for the points of a series, in every font.
const MARKS: [char; 8] = ['o', 'x', '+', '*', '#', '@', '%', '&'];

/// A chart with its title, axes and, for several series, their names. `width` is in columns.
pub(super) fn plot(chart: &Chart, width: usize, colour: bool) -> String {
    let title = painted(&escape(&chart.title), BOLD, colour);
    let Some(bounds) = Bounds::new(chart) else {
        return format!("{title}\nnothing was measured\n");
    };
    let labels = Labels::new(chart);
    let columns = width.saturating_sub(labels.margin + 2).clamp(16, 200);
    let several = chart.series.len() > 1;
    let mut grid = Grid::new(columns, bounds);
    for (n, series) in chart.series.iter().enumerate() {
        let points: Vec<Spot> = series.points.iter().filter_map(|p| spot(chart, p)).collect();
        grid.draw_line(n, &points);
    }
    // Over all lines, so that each is known by its marks where there are no colours.
    for (n, series) in chart.series.iter().enumerate().filter(|_| several) {
        series.points.iter().filter_map(|p| spot(chart, p)).for_each(|p| grid.mark(n, p));
    }
    let mut text = format!("{title}\n");
    for n in 0..HEIGHT {
        text += format!("{} ┤{}", labels.of_row(n), grid.row(n, colour)).trim_end();
        text.push('\n');
    }
    text += &x_axis(chart, labels.margin, columns);
    if several {
        text += &legend(chart, labels.margin, colour);
    }
    text
}

/// A position on both axes, in equal distances.
#[derive(Clone, Copy)]
struct Spot {
    x: f64,
    y: f64,
}

/// Returns the position of a point, if both axes can show it.
fn spot(chart: &Chart, point: &DataPoint) -> Option<Spot> {
    Some(Spot { x: chart.x.scale.place(point.x)?, y: chart.y.scale.place(point.y)? })
}

fn least(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(f64::INFINITY, f64::min)
}

fn greatest(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(f64::NEG_INFINITY, f64::max)
}

/// The places at the edges of the plot.
struct Bounds {
    x: (f64, f64),
    y: (f64, f64),
}

impl Bounds {
    /// The plot area of all points; `None` without points. A linear y axis begins at zero.
    fn new(chart: &Chart) -> Option<Self> {
        let points = chart.series.iter().flat_map(|s| &s.points);
        let all: Vec<Spot> = points.filter_map(|p| spot(chart, p)).collect();
        if all.is_empty() {
            return None;
        }
        let zero = (chart.y.scale == Scale::Linear).then_some(0.0);
        let x = ends(all.iter().map(|p| p.x).collect());
        Some(Self { x, y: ends(all.iter().map(|p| p.y).chain(zero).collect()) })
    }
}

/// The least and the greatest value, separated even if they are equal.
fn ends(values: Vec<f64>) -> (f64, f64) {
    let (low, high) = (least(values.iter().copied()), greatest(values.into_iter()));
    if high > low { (low, high) } else { (low - 1.0, low + 1.0) }
}

/// The labels of the y axis.
struct Labels {
    high: String,
    low: String,
    /// Columns of the labels, and one between them and the axis.
    margin: usize,
}

impl Labels {
    fn new(chart: &Chart) -> Self {
        let low = least(chart.shown().map(|p| p.y));
        let low = if chart.y.scale == Scale::Linear { low.min(0.0) } else { low };
        let high = chart.y.unit.show(greatest(chart.shown().map(|p| p.y)));
        let low = chart.y.unit.show(low);
        let margin = high.chars().count().max(low.chars().count()) + 1;
        Self { high, low, margin }
    }

    /// Returns the text before the axis in a line.
    fn of_row(&self, n: usize) -> String {
        let label = match n {
            0 => &self.high,
            n if n == HEIGHT - 1 => &self.low,
            _ => "",
        };
        " ".repeat(self.margin - label.chars().count()) + label
    }
}

/// A character of the plot.
#[derive(Clone, Copy, Default)]
struct Cell {
    /// Dots of a Braille character, as bits in U+2800.
    dots: u8,
    /// Series that drew it last.
    series: usize,
    /// Set if the cell has the mark of the series instead of dots.
    is_mark: bool,
}

struct Grid {
    columns: usize,
    bounds: Bounds,
    cells: Vec<Vec<Cell>>,
}

impl Grid {
    fn new(columns: usize, bounds: Bounds) -> Self {
        Self { columns, bounds, cells: vec![vec![Cell::default(); columns]; HEIGHT] }
    }

    /// The dot at a position: two in each column, four in each line.
    fn dot(&self, Spot { x, y }: Spot) -> (usize, usize) {
        let Bounds { x: (left, right), y: (bottom, top) } = self.bounds;
        let (columns, lines) = (self.columns * 2 - 1, HEIGHT * 4 - 1);
        let x = ((x - left) / (right - left) * columns as f64).round() as usize;
        let y = ((top - y) / (top - bottom) * lines as f64).round() as usize;
        (x.min(columns), y.min(lines))
    }

    fn set(&mut self, series: usize, at: Spot) {
        // The bits of U+2800, <https://www.unicode.org/charts/PDF/U2800.pdf>.
        const BITS: [[u8; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];
        let (x, y) = self.dot(at);
        let cell = &mut self.cells[y / 4][x / 2];
        *cell = Cell { dots: cell.dots | BITS[x % 2][y % 4], series, is_mark: false };
    }

    /// Sets the points of a series and the line between them.
    fn draw_line(&mut self, series: usize, points: &[Spot]) {
        let fine = self.columns * 4;
        points.iter().for_each(|point| self.set(series, *point));
        for pair in points.windows(2) {
            let [from, to] = [pair[0], pair[1]];
            let between =
                |t: f64| Spot { x: from.x + (to.x - from.x) * t, y: from.y + (to.y - from.y) * t };
            (0..fine).map(|k| k as f64 / fine as f64).for_each(|t| self.set(series, between(t)));
        }
    }

    fn mark(&mut self, series: usize, at: Spot) {
        let (x, y) = self.dot(at);
        self.cells[y / 4][x / 2] = Cell { dots: u8::MAX, series, is_mark: true };
    }

    fn row(&self, n: usize, colour: bool) -> String {
        let cells = self.cells[n].iter().map(|cell| {
            let character = if cell.is_mark {
                MARKS[cell.series % MARKS.len()]
            } else {
                char::from_u32(0x2800 + u32::from(cell.dots)).unwrap_or(' ')
            };
            match cell.dots {
                0 => " ".to_owned(),
                _ => painted(&character.to_string(), SERIES[cell.series % SERIES.len()], colour),
            }
        });
        cells.collect()
    }
}

/// The line below the plot, with the ends of the x axis and its title.
fn x_axis(chart: &Chart, margin: usize, columns: usize) -> String {
    let first = chart.x.unit.show(least(chart.shown().map(|p| p.x)));
    let last = chart.x.unit.show(greatest(chart.shown().map(|p| p.x)));
    let gap = columns.saturating_sub(first.chars().count() + last.chars().count()).max(1);
    let (margin, gap) = (" ".repeat(margin), " ".repeat(gap));
    format!("{margin}  {first}{gap}{last}  {}\n", escape(&chart.x.label))
}

/// The mark and name of each series.
fn legend(chart: &Chart, margin: usize, colour: bool) -> String {
    let names = chart.series.iter().enumerate().map(|(n, series)| {
        let name = format!("{} {}", MARKS[n % MARKS.len()], escape(&series.name));
        painted(&name, SERIES[n % SERIES.len()], colour)
    });
    format!("{}  {}\n", " ".repeat(margin), names.collect::<Vec<_>>().join("  "))
}
