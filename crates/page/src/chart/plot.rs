//! Lines over two axes.

use std::fmt::Write;

use plotters::prelude::*;
use plotters::style::Color;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::draw::{self, Frame, LABEL, Mark, NARROW};
use super::heat;
use super::scale::{Span, label, span};
use super::surface::{FINE, Surface, px, shortened, text_width, xml};
use super::theme::Role;
use super::{Axis, Chart, ChartError, Guide, Kind, Scale, Series};

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

/// Projection of a place on both axes to a point in the picture.
type Projection<'a> = &'a dyn Fn(f64, f64) -> Point;

/// Draws the plot below `frame.top` and returns its lower end.
pub(super) fn draw(chart: &Chart, frame: Frame, out: &mut String) -> Result<u32, ChartError> {
    let layout = Layout::new(chart, frame);
    let mut mesh = String::new();
    let mut drawing = Drawing::new(chart, &layout);
    names(chart, frame, layout.height, out);
    {
        let fine = FINE.unsigned_abs();
        let root = Surface { out: &mut mesh, size: (frame.width, layout.height) };
        let root = root.into_drawing_area();
        let failed = |e: DrawingAreaErrorKind<std::convert::Infallible>| chart.failed(e);
        let mut context = ChartBuilder::on(&root)
            .margin_top((frame.top + HEAD) * fine)
            .margin_right(layout.right * fine)
            .margin_bottom(NAME * fine)
            .x_label_area_size(TICKS * fine)
            .y_label_area_size(layout.left * fine)
            .build_cartesian_2d(layout.x.clone(), layout.y.clone())
            .map_err(failed)?;
        let label = ("sans-serif", LABEL * f64::from(FINE)).into_font().color(&Role::Muted.rgb());
        context
            .configure_mesh()
            .light_line_style(Role::Grid.rgb().mix(0.0))
            .bold_line_style(Role::Grid.rgb().stroke_width(fine))
            .axis_style(Role::Grid.rgb().stroke_width(fine))
            .x_label_style(label.clone().pos(Pos::new(HPos::Center, VPos::Top)))
            .y_label_style(label.pos(Pos::new(HPos::Right, VPos::Center)))
            .set_all_tick_mark_size(4 * FINE)
            .draw()
            .map_err(failed)?;
        let area = context.plotting_area();
        drawing.draw(&|x: f64, y: f64| area.map_coordinate(&(x, y)));
    }
    *out += &drawing.below;
    *out += &mesh;
    *out += &drawing.shapes;
    drawing.write_lines(out);
    out.push_str(&drawing.names);
    draw::marks(&drawing.marks, out);
    Ok(layout.height)
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
        let (x, y) = spans(chart, width);
        let widest = y.ticks.iter().map(|(_, label)| text_width(label, LABEL));
        // Charts that share an extent begin and end at the same place.
        let least = if chart.extent.is_some() { SHARED_LABELS } else { 24.0 };
        let left = widest.fold(least, f64::max).ceil() as u32 + 10;
        let last = x.ticks.last().map_or(0.0, |(_, label)| text_width(label, LABEL) / 2.0);
        let least = if chart.extent.is_some() { SHARED_END } else { 12.0 };
        let right = last.max(least).ceil() as u32 + 2;
        let x = thinned(x, f64::from(width - left - right));
        Self { x, y, left, right, height: top + HEAD + PLOT + TICKS + NAME }
    }
}

/// State of drawing on the mesh and below it.
struct Drawing<'c> {
    chart: &'c Chart,
    layout: &'c Layout,
    /// The greatest weight of a point.
    weight_max: f64,
    /// The bands, below the mesh.
    below: String,
    /// Guides and whiskers.
    shapes: String,
    /// The names of guides, above the lines.
    names: String,
    /// Corners of each line, and its series.
    lines: Vec<(usize, Vec<Point>)>,
    /// Marks with tooltips.
    marks: Vec<Mark>,
}

impl<'c> Drawing<'c> {
    fn new(chart: &'c Chart, layout: &'c Layout) -> Self {
        let weights = chart.series.iter().flat_map(|series| &series.points).map(|p| p.weight);
        let weight_max = weights.fold(0.0, f64::max);
        let [below, shapes, names] = [const { String::new() }; 3];
        let (lines, marks) = (Vec::new(), Vec::new());
        Self { chart, layout, weight_max, below, shapes, names, lines, marks }
    }

    fn draw(&mut self, at: Projection<'_>) {
        let Self { chart, layout: Layout { x, y, .. }, .. } = *self;
        let corners = (at(x.from, y.to), at(x.to, y.from));
        bands(chart, corners, |place| at(place.clamp(x.from, x.to), y.from).0, &mut self.below);
        let guide = |guide: &Guide| self.layout.guide(chart, guide, at);
        guides(chart, corners, guide, (&mut self.shapes, &mut self.names));
        for (n, series) in chart.series.iter().enumerate() {
            for stretch in stretches(chart, series) {
                let mut line = Vec::new();
                for point in stretch {
                    self.draw_point((n, series), point, &mut line, at);
                }
                self.lines.push((n, line));
            }
        }
    }

    /// Draws a point of a series and adds it to its line; for a heat map, a cell.
    fn draw_point(
        &mut self,
        (n, series): (usize, &Series),
        point: &super::DataPoint,
        line: &mut Vec<Point>,
        at: Projection<'_>,
    ) {
        let Self { chart, layout: Layout { x: x_span, y: y_span, .. }, .. } = *self;
        let (Some(x), Some(y)) = (chart.x.scale.place(point.x), chart.y.scale.place(point.y))
        else {
            return;
        };
        let place = |y| chart.y.scale.place(y);
        let here = at(x, y);
        if let (Kind::HeatMap(width), Some((low, high))) = (&chart.kind, point.interval) {
            let corner =
                |x: f64, y| at(x.clamp(x_span.from, x_span.to), place(y).unwrap_or(y_span.from));
            let (from, to) = (point.x - width / 2.0, point.x + width / 2.0);
            let corners = (corner(from, high), corner(to, low));
            self.marks.push(heat::cell(chart, (n, point, self.weight_max), corners));
            return;
        }
        if chart.kind == Kind::Steps
            && let Some((_, before)) = line.last()
        {
            line.push((here.0, *before));
        }
        line.push(here);
        if let Some((low, high)) = point.interval {
            let low = at(x, place(low).unwrap_or(y_span.from).max(y_span.from));
            let high = at(x, place(high).unwrap_or(y).min(y_span.to));
            self.shapes += &whisker(n, low, high);
        }
        self.marks.push(mark(chart, n, series, point, here));
    }

    fn write_lines(&self, out: &mut String) {
        if matches!(self.chart.kind, Kind::Scatter | Kind::HeatMap(_)) {
            return;
        }
        for (n, line) in &self.lines {
            let points: Vec<String> =
                line.iter().map(|(x, y)| format!("{},{}", px(*x), px(*y))).collect();
            let _ = writeln!(
                out,
                "<polyline {}{} fill=\"none\" stroke-width=\"2\" stroke-linejoin=\"round\" \
                 stroke-linecap=\"round\" points=\"{}\"/>",
                Role::Series(*n).stroke(),
                draw::dashes(self.chart.series[*n].dashed, *n),
                points.join(" ")
            );
        }
    }
}

impl Layout {
    /// Returns the start of a guide; `None` if it is outside of the plot.
    fn guide(&self, chart: &Chart, guide: &Guide, at: Projection<'_>) -> Option<Point> {
        let within = |span: &Span, place: &f64| (span.from..=span.to).contains(place);
        match guide {
            Guide::X(x, _) => {
                let place = chart.x.scale.place(*x).filter(|x| within(&self.x, x));
                place.map(|x| at(x, self.y.from))
            }
            Guide::Y(_, _) if matches!(chart.kind, Kind::Bars(_)) => None,
            Guide::Y(y, _) => {
                let place = chart.y.scale.place(*y).filter(|y| within(&self.y, y));
                place.map(|y| at(self.x.from, y))
            }
        }
    }
}

/// Ranges of both axes. The y axis includes guides across it, so that they are visible.
fn spans(chart: &Chart, width: u32) -> (Span, Span) {
    let shown = || chart.series.iter().flat_map(|s| &s.points).filter(|p| chart.shows(p));
    let xs: Vec<f64> = match chart.extent {
        Some((from, to)) => vec![from, to],
        None => shown().map(|p| p.x).collect(),
    };
    let mut ys: Vec<f64> = shown().map(|p| p.y).collect();
    ys.extend(shown().filter_map(|p| p.interval).flat_map(|(low, high)| [low, high]));
    ys.extend(chart.guides.iter().filter_map(|guide| match guide {
        Guide::Y(y, _) => Some(*y),
        Guide::X(..) => None,
    }));
    let wanted = if width <= NARROW { 4 } else { 8 };
    (span(&chart.x, &xs, wanted, false, true), span(&chart.y, &ys, 5, true, false))
}

/// Leaves out labels that would overlap.
fn thinned(mut span: Span, width: f64) -> Span {
    let mut free = f64::NEG_INFINITY;
    let (from, scale) = (span.from, width / (span.to - span.from));
    span.ticks.retain(|(place, label)| {
        let (middle, half) = ((place - from) * scale, text_width(label, LABEL) / 2.0);
        let fits = middle - half >= free;
        if fits {
            free = middle + half + 10.0;
        }
        fits
    });
    span
}

/// Writes the titles of the axes: the y axis's above it, the x axis's at its end.
fn names(chart: &Chart, Frame { width, top }: Frame, height: u32, out: &mut String) {
    for (axis, x, y, anchor) in
        [(&chart.y, 0, top + 12, "start"), (&chart.x, width - 14, height - 6, "end")]
    {
        let _ = writeln!(
            out,
            "<text {} x=\"{x}\" y=\"{y}\" font-size=\"{LABEL}\" text-anchor=\"{anchor}\">{}</text>",
            Role::Muted.fill(),
            xml(&shortened(&name(axis), LABEL, f64::from(width) * 0.9)),
        );
    }
}

fn name(axis: &Axis) -> String {
    match axis.scale {
        Scale::Log => format!("{} (log)", axis.label),
        _ => axis.label.clone(),
    }
}

/// Runs of a series' points between those that cannot be shown.
fn stretches<'c>(chart: &Chart, series: &'c Series) -> Vec<Vec<&'c super::DataPoint>> {
    series
        .points
        .split(|point| !chart.shows(point))
        .filter(|stretch| !stretch.is_empty())
        .map(|stretch| stretch.iter().collect())
        .collect()
}

fn mark(
    chart: &Chart,
    n: usize,
    series: &Series,
    point: &super::DataPoint,
    at: (i32, i32),
) -> Mark {
    let seen = series.points.len() <= POINTS_SEEN || chart.kind == Kind::Scatter;
    let fill = Role::Series(n)
        .fill()
        .replace("class=\"", if seen { "class=\"m " } else { "class=\"m q " });
    let radius = if seen { "3" } else { "3.5" };
    let mut title = format!("{}\n", label(&chart.x, point.x));
    if chart.series.len() > 1 || series.name != chart.title {
        title += &format!("{}: ", series.name);
    }
    title += &chart.y.unit.show(point.y);
    if let Some((low, high)) = point.interval {
        title += &format!(" ({} to {})", chart.y.unit.show(low), chart.y.unit.show(high));
    }
    if !point.note.is_empty() {
        title += &format!("\n{}", point.note);
    }
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

fn whisker(n: usize, (x, low): (i32, i32), (_, high): (i32, i32)) -> String {
    let (left, right) = (px(x - 4 * FINE), px(x + 4 * FINE));
    let (x, low, high) = (px(x), px(low), px(high));
    format!(
        "<path {} fill=\"none\" stroke-width=\"1.2\" d=\"M{left} {low}H{right}M{x} {low}V{high}M{left} {high}H{right}\"/>\n",
        Role::Series(n).stroke()
    )
}

type Point = (i32, i32);

/// Shades the bands, below everything else.
fn bands(
    chart: &Chart,
    ((left, top), (right, bottom)): (Point, Point),
    at: impl Fn(f64) -> i32,
    out: &mut String,
) {
    for band in &chart.bands {
        let (Some(from), Some(to)) = (chart.x.scale.place(band.from), chart.x.scale.place(band.to))
        else {
            continue;
        };
        let from = at(from).clamp(left, right);
        let to = at(to).clamp(from, right).max(from + BAND_MIN);
        let _ = writeln!(
            out,
            "<rect {} data-band=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"><title>{}</title></rect>",
            Role::Band.fill(),
            xml(&band.name),
            px(from),
            px(top),
            px(to - from),
            px(bottom - top),
            xml(&band.note),
        );
    }
}

/// Draws the guides, and above all lines their names, each below the previous one so that none overlap.
fn guides(
    chart: &Chart,
    ((left, top), (right, bottom)): (Point, Point),
    at: impl Fn(&Guide) -> Option<Point>,
    (out, names): (&mut String, &mut String),
) {
    let mut down = top + 14 * FINE;
    // Rows of labels that those of other guides stand in.
    let across = chart.guides.iter().filter(|guide| matches!(guide, Guide::Y(..)));
    let taken: Vec<i32> = across.filter_map(|guide| Some(at(guide)?.1 - 5 * FINE)).collect();
    for guide in &chart.guides {
        let Some((x, y)) = at(guide) else { continue };
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
        let _ = writeln!(
            out,
            "<path {} fill=\"none\" stroke-width=\"1.5\" stroke-dasharray=\"5 4\" d=\"{path}\"/>",
            Role::Guide.stroke(),
        );
        let text = shortened(text, LABEL, room);
        let width = (text_width(&text, LABEL) * f64::from(FINE)).ceil() as i32;
        let _ = writeln!(
            names,
            "<rect {} x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n\
             <text {} x=\"{}\" y=\"{}\" font-size=\"{LABEL}\" text-anchor=\"{}\">{}</text>",
            Role::Paper.fill(),
            px(if end { x - width } else { x } - FINE),
            px(y - 11 * FINE),
            px(width + 2 * FINE),
            px(14 * FINE),
            Role::Guide.fill(),
            px(x),
            px(y),
            if end { "end" } else { "start" },
            xml(&text),
        );
    }
}
