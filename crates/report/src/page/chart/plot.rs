//! Lines over two axes.

use super::axes::Axes;
use super::heat;
use super::mark::{self, Frame, Mark, NARROW, tooltip};
use super::scale::{Span, label, span};
use super::svg::{
    self, FINE, GUIDE, LABEL, Point, WHISKER, px, rectangle, shortened, stroked, text_width, xml,
};
use super::theme::Role;
use crate::page::{Axis, Chart, ChartKind, DataPoint, Guide, Scale, Series};

/// Heights in pixels: of the plot, of the axis's labels, and of the axis's title.
const PLOT: u32 = 240;
const TICKS: u32 = 24;
const NAME: u32 = 20;
/// Height of the line with the title of the y axis, into which its topmost label reaches.
const HEAD: u32 = 26;
/// Room for labels beside charts that are below each other with a common x axis: for the y axis, and half of
/// the last label of the x axis.
const SHARED_LABELS: f64 = 58.0;
const SHARED_END: f64 = 20.0;
/// Minimum width of a band, so that a short one is visible.
const BAND_MIN: i32 = 2 * FINE;
/// Number of points above which a series shows a line only, with points on hover.
const POINTS_SEEN: usize = 40;

/// Draws the plot below `frame.top` and returns its lower end.
pub(super) fn draw(chart: &Chart, frame: Frame, out: &mut String) -> u32 {
    let layout = Layout::new(chart, frame);
    let axes = layout.axes(frame);
    let mut drawing = Drawing::new(chart, &axes);
    names(chart, frame, layout.height, out);
    drawing.draw();
    *out += &drawing.below;
    axes.write(out);
    *out += &drawing.shapes;
    *out += &drawing.lines;
    *out += &drawing.names;
    mark::marks(&drawing.marks, out);
    layout.height
}

/// Both axes, their margins, and the lower end of the plot, in pixels.
struct Layout {
    x: Span,
    y: Span,
    left: u32,
    right: u32,
    height: u32,
}

impl Layout {
    fn new(chart: &Chart, Frame { width, top }: Frame) -> Self {
        let (mut x, y) = spans(chart, width);
        let widest = y.ticks.iter().map(|(_, label)| text_width(label, LABEL));
        // Charts that share an extent begin and end at the same place.
        let least = if chart.extent.is_some() { SHARED_LABELS } else { 24.0 };
        let left = widest.fold(least, f64::max).ceil() as u32 + 10;
        let last = x.ticks.last().map_or(0.0, |(_, label)| text_width(label, LABEL) / 2.0);
        let least = if chart.extent.is_some() { SHARED_END } else { 12.0 };
        let right = last.max(least).ceil() as u32 + 2;
        x.thin(f64::from(width - left - right), f64::from(left));
        Self { x, y, left, right, height: top + HEAD + PLOT + TICKS + NAME }
    }

    fn axes(&self, Frame { width, top }: Frame) -> Axes<'_> {
        let fine = |pixels: u32| pixels.cast_signed() * FINE;
        Axes {
            x: &self.x,
            y: &self.y,
            left: fine(self.left),
            right: fine(width - self.right),
            top: fine(top + HEAD),
            bottom: fine(top + HEAD + PLOT),
        }
    }
}

/// State of drawing on the mesh and below it.
struct Drawing<'c> {
    chart: &'c Chart,
    axes: &'c Axes<'c>,
    /// The greatest weight of a point.
    weight_max: f64,
    /// The bands, below the mesh.
    below: String,
    /// Guides and whiskers.
    shapes: String,
    /// The names of guides, above the lines.
    names: String,
    /// The lines of the series.
    lines: String,
    /// Marks with tooltips.
    marks: Vec<Mark>,
}

impl<'c> Drawing<'c> {
    fn new(chart: &'c Chart, axes: &'c Axes<'c>) -> Self {
        let weights = chart.series.iter().flat_map(|series| &series.points).map(|p| p.weight);
        let weight_max = weights.fold(0.0, f64::max);
        let [below, shapes, names, lines] = [const { String::new() }; 4];
        Self { chart, axes, weight_max, below, shapes, names, lines, marks: Vec::new() }
    }

    fn draw(&mut self) {
        let Self { chart, axes, .. } = *self;
        bands(chart, axes, &mut self.below);
        guides(chart, axes, &mut self.shapes, &mut self.names);
        for (n, series) in chart.series.iter().enumerate() {
            for stretch in stretches(chart, series) {
                let mut line = Vec::new();
                for point in stretch {
                    self.draw_point(n, series, point, &mut line);
                }
                if !matches!(chart.kind, ChartKind::HeatMap(_)) {
                    self.lines += &polyline(n, series, &line);
                }
            }
        }
    }

    /// Draws a point of a series and adds it to its line; for a heat map, a cell.
    fn draw_point(&mut self, n: usize, series: &Series, point: &DataPoint, line: &mut Vec<Point>) {
        let Self { chart, axes, .. } = *self;
        let (x_span, y_span) = (axes.x, axes.y);
        let (Some(x), Some(y)) = (chart.x.scale.place(point.x), chart.y.scale.place(point.y))
        else {
            return;
        };
        let place = |y| chart.y.scale.place(y);
        let here = axes.at(x, y);
        if let (ChartKind::HeatMap(width), Some((low, high))) = (&chart.kind, point.interval) {
            let corner = |x: f64, y| {
                axes.at(x.clamp(x_span.from, x_span.to), place(y).unwrap_or(y_span.from))
            };
            let (from, to) = (point.x - width / 2.0, point.x + width / 2.0);
            let corners = [corner(from, high), corner(to, low)];
            self.marks.push(heat::cell(chart, n, point, self.weight_max, corners));
            return;
        }
        line.push(here);
        if let Some((low, high)) = point.interval {
            let low = axes.at(x, place(low).unwrap_or(y_span.from).max(y_span.from));
            let high = axes.at(x, place(high).unwrap_or(y).min(y_span.to));
            self.shapes += &whisker(n, low, high);
        }
        self.marks.push(mark(chart, n, series, point, here));
    }
}

/// Returns the start of a guide; `None` if it is outside of the plot.
fn start_of(guide: &Guide, chart: &Chart, axes: &Axes<'_>) -> Option<Point> {
    let within = |span: &Span, place: &f64| (span.from..=span.to).contains(place);
    match guide {
        Guide::X(x, _) => {
            let place = chart.x.scale.place(*x).filter(|x| within(axes.x, x));
            place.map(|x| axes.at(x, axes.y.from))
        }
        Guide::Y(y, _) => {
            let place = chart.y.scale.place(*y).filter(|y| within(axes.y, y));
            place.map(|y| axes.at(axes.x.from, y))
        }
    }
}

/// Ranges of both axes. The y axis includes guides across it, so that they are visible.
fn spans(chart: &Chart, width: u32) -> (Span, Span) {
    let xs: Vec<f64> = match chart.extent {
        Some((from, to)) => vec![from, to],
        None => chart.shown().map(|p| p.x).collect(),
    };
    let mut ys: Vec<f64> = chart.shown().map(|p| p.y).collect();
    ys.extend(chart.shown().filter_map(|p| p.interval).flat_map(|(low, high)| [low, high]));
    ys.extend(chart.guides.iter().filter_map(|guide| match guide {
        Guide::Y(y, _) => Some(*y),
        Guide::X(..) => None,
    }));
    let wanted = if width <= NARROW { 4 } else { 8 };
    (span(&chart.x, &xs, wanted, false, true), span(&chart.y, &ys, 5, true, false))
}

/// Writes the titles of the axes: the y axis's above it, the x axis's at its end.
fn names(chart: &Chart, Frame { width, top }: Frame, height: u32, out: &mut String) {
    for (axis, x, y, anchor) in
        [(&chart.y, 0, top + 12, "start"), (&chart.x, width - 14, height - 6, "end")]
    {
        let name = shortened(&name(axis), LABEL, f64::from(width) * 0.9);
        *out += &svg::label(Role::Muted, x, y, anchor, &name);
    }
}

fn name(axis: &Axis) -> String {
    match axis.scale {
        Scale::Log => format!("{} (log)", axis.label),
        _ => axis.label.clone(),
    }
}

/// Runs of a series' points between those that cannot be shown.
fn stretches<'c>(chart: &Chart, series: &'c Series) -> Vec<Vec<&'c DataPoint>> {
    series
        .points
        .split(|point| !chart.shows(point))
        .filter(|stretch| !stretch.is_empty())
        .map(|stretch| stretch.iter().collect())
        .collect()
}

fn mark(chart: &Chart, n: usize, series: &Series, point: &DataPoint, at: Point) -> Mark {
    let seen = series.points.len() <= POINTS_SEEN;
    let fill = Role::Series(n)
        .fill()
        .replace("class=\"", if seen { "class=\"m " } else { "class=\"m q " });
    let radius = if seen { "3" } else { "3.5" };
    let is_named = chart.series.len() > 1 || series.name != chart.title;
    let name = is_named.then_some(series.name.as_str());
    let title = tooltip(&label(&chart.x, point.x), name, chart, point);
    let (x, y) = at;
    Mark {
        shape: format!(
            "<circle {fill} data-s=\"{n}\" cx=\"{}\" cy=\"{}\" r=\"{radius}\"",
            px(x),
            px(y)
        ),
        title,
    }
}

/// The line of series `n` through these corners.
fn polyline(n: usize, series: &Series, line: &[Point]) -> String {
    let points: Vec<String> = line.iter().map(|(x, y)| format!("{},{}", px(*x), px(*y))).collect();
    format!(
        "<polyline {}{} fill=\"none\" stroke-width=\"2\" stroke-linejoin=\"round\" \
         stroke-linecap=\"round\" points=\"{}\"/>\n",
        Role::Series(n).stroke(),
        mark::dashes(series.dashed, n),
        points.join(" ")
    )
}

fn whisker(n: usize, (x, low): Point, (_, high): Point) -> String {
    let (left, right) = (px(x - 4 * FINE), px(x + 4 * FINE));
    let (x, low, high) = (px(x), px(low), px(high));
    let path = format!("M{left} {low}H{right}M{x} {low}V{high}M{left} {high}H{right}");
    stroked(Role::Series(n), WHISKER, &path)
}

/// Shades the bands, below everything else.
fn bands(chart: &Chart, axes: &Axes<'_>, out: &mut String) {
    let at = |place: f64| axes.x.map(place, axes.left, axes.right);
    for band in &chart.bands {
        let (Some(from), Some(to)) = (chart.x.scale.place(band.from), chart.x.scale.place(band.to))
        else {
            continue;
        };
        let from = at(from).clamp(axes.left, axes.right);
        let to = at(to).clamp(from, axes.right).max(from + BAND_MIN);
        let place = rectangle([from, axes.top, to - from, axes.bottom - axes.top]);
        let fill = Role::Band.fill();
        let (name, note) = (xml(&band.name), xml(&band.note));
        *out +=
            &format!("<rect {fill} data-band=\"{name}\" {place}><title>{note}</title></rect>\n");
    }
}

/// Draws the guides, and above all lines their names, each below the previous one so that none overlap.
fn guides(chart: &Chart, axes: &Axes<'_>, out: &mut String, names: &mut String) {
    let Axes { left, right, top, bottom, .. } = *axes;
    let mut down = top + 14 * FINE;
    // Rows that labels of other guides occupy.
    let across = chart.guides.iter().filter(|guide| matches!(guide, Guide::Y(..)));
    let taken = across.filter_map(|guide| Some(start_of(guide, chart, axes)?.1 - 5 * FINE));
    let taken: Vec<i32> = taken.collect();
    for guide in &chart.guides {
        let Some((x, y)) = start_of(guide, chart, axes) else { continue };
        let (path, text, x, y, end) = match guide {
            Guide::X(_, text) => {
                let path = format!("M{} {}V{}", px(x), px(top), px(bottom));
                let end = x > (left + right) / 2;
                let beside = if end { x - 6 * FINE } else { x + 6 * FINE };
                while taken.iter().any(|row| (row - down).abs() < 14 * FINE) {
                    down += 14 * FINE;
                }
                let row = down;
                down += 16 * FINE;
                (path, text, beside, row, end)
            }
            Guide::Y(_, text) => {
                let path = format!("M{} {}H{}", px(left), px(y), px(right));
                (path, text, left + 6 * FINE, y - 5 * FINE, false)
            }
        };
        let room = f64::from(if end { x - left } else { right - x }) / f64::from(FINE);
        *out += &stroked(Role::Guide, GUIDE, &path);
        let text = shortened(text, LABEL, room);
        let width = (text_width(&text, LABEL) * f64::from(FINE)).ceil() as i32;
        let begin = if end { x - width } else { x } - FINE;
        let place = rectangle([begin, y - 11 * FINE, width + 2 * FINE, 14 * FINE]);
        *names += &format!("<rect {} {place}/>\n", Role::Paper.fill());
        let anchor = if end { "end" } else { "start" };
        *names += &svg::label(Role::Guide, px(x), px(y), anchor, &text);
    }
}
