//! Horizontal bars: a group for each category, with a bar for each series.

use super::axes::Axes;
use super::mark::{self, Frame, Mark, NARROW, tooltip};
use super::scale::{Span, span};
use super::svg::{
    FINE, GUIDE, LABEL, Point, WHISKER, label, px, rectangle, shortened, stroked, text_width,
};
use super::theme::Role;
use crate::page::{Chart, DataPoint, Guide, Scale};

/// Heights in pixels.
const BAR: u32 = 18;
const GAP: u32 = 12;
const CATEGORY: u32 = 18;
const TICKS: u32 = 24;
const NAME: u32 = 20;
/// Share of the plot that the names of categories may use.
const NAMES_MAX: f64 = 0.4;

/// Draws the bars below `frame.top` and returns their lower end.
pub(super) fn draw(chart: &Chart, categories: &[String], frame: Frame, out: &mut String) -> u32 {
    let layout = Layout::new(chart, categories, frame);
    let fine = |pixels: f64| pixels as i32 * FINE;
    let axes = Axes {
        x: &layout.lengths,
        y: &layout.rows,
        left: fine(layout.left),
        right: fine(f64::from(layout.width) - layout.right),
        top: fine(f64::from(layout.top)),
        bottom: fine(f64::from(layout.height - TICKS - NAME)),
    };
    axes.write(out);
    let (marks, over) = (Vec::new(), String::new());
    let mut bars = Bars { chart, categories, layout: &layout, axes, marks, over };
    bars.draw_series();
    bars.draw_guides();
    let Bars { marks, over, .. } = bars;
    layout.name_categories(categories, out);
    *out += &label(Role::Muted, layout.width - 14, layout.height - 6, "end", &chart.y.label);
    mark::marks(&marks, out);
    *out += &over;
    layout.height
}

/// Sizes and margins, in pixels, and the axis along the bars.
struct Layout {
    narrow: bool,
    width: u32,
    top: u32,
    height: u32,
    left: f64,
    right: f64,
    /// Height of a category's bars.
    each: u32,
    /// Height of a category's name above its bars on narrow pages, otherwise 0.
    above: u32,
    /// Height of a category: bars, name and gap.
    group: u32,
    /// The categories, the first at the top.
    rows: Span,
    lengths: Span,
}

impl Layout {
    fn new(chart: &Chart, categories: &[String], Frame { width, top }: Frame) -> Self {
        let narrow = width <= NARROW;
        // Guides are named above the bars.
        let top = top + if chart.guides.is_empty() { 0 } else { CATEGORY };
        let each = u32::try_from(chart.series.len().max(1)).unwrap_or(1) * BAR;
        // On a phone, the name is above its bars.
        let above = if narrow { CATEGORY } else { 0 };
        let group = each + above + GAP;
        let count = u32::try_from(categories.len()).unwrap_or(1).max(1);
        let height = top + count * group + TICKS + NAME;
        let names = categories.iter().map(|name| text_width(name, LABEL)).fold(0.0, f64::max);
        let left = if narrow { 0.0 } else { names.min(f64::from(width) * NAMES_MAX).ceil() + 10.0 };
        let value = |y: f64| text_width(&chart.y.unit.show(y), LABEL);
        let right = chart.shown().map(|p| value(p.y)).fold(20.0, f64::max).ceil() + 12.0;
        let mut lengths = lengths(chart, narrow);
        lengths.thin(f64::from(width) - left - right, left);
        let rows = Span { from: f64::from(count), to: 0.0, ticks: Vec::new() };
        Self { narrow, width, top, height, left, right, each, above, group, rows, lengths }
    }

    /// Writes the name of each category beside its bars, or above them on narrow pages.
    fn name_categories(&self, categories: &[String], out: &mut String) {
        for (row, name) in categories.iter().enumerate() {
            let middle =
                f64::from(self.top) + (row as f64) * f64::from(self.group) + f64::from(GAP / 2);
            let (x, anchor, y, room) = if self.narrow {
                (0.0, "start", middle + 12.0, f64::from(self.width))
            } else {
                let y = middle + f64::from(self.each) / 2.0 + 4.0;
                (self.left - 8.0, "end", y, self.left - 8.0)
            };
            let name = shortened(name, LABEL, room);
            let (x, y) = (format!("{x:.1}"), format!("{y:.1}"));
            *out += &label(Role::Ink, x, y, anchor, &name);
        }
    }
}

/// The axis along the bars, over all values, upper ends of intervals, and guides.
fn lengths(chart: &Chart, narrow: bool) -> Span {
    let mut values: Vec<f64> = chart.shown().map(|p| p.y).collect();
    let intervals = || chart.shown().filter_map(|p| p.interval);
    values.extend(intervals().map(|(_, high)| high));
    if chart.y.scale == Scale::Log {
        // It does not begin at 0, where every whisker has room.
        values.extend(intervals().map(|(low, _)| low).filter(|low| *low > 0.0));
    }
    values.extend(
        chart.guides.iter().filter_map(|g| if let Guide::Y(y, _) = g { Some(*y) } else { None }),
    );
    span(&chart.y, &values, if narrow { 3 } else { 5 }, true, chart.y.scale == Scale::Linear)
}

/// The bars of a chart being drawn.
struct Bars<'c> {
    chart: &'c Chart,
    categories: &'c [String],
    layout: &'c Layout,
    axes: Axes<'c>,
    /// The bars themselves.
    marks: Vec<Mark>,
    /// Elements above the bars: whiskers, values and guides.
    over: String,
}

impl Bars<'_> {
    fn draw_series(&mut self) {
        for (n, series) in self.chart.series.iter().enumerate() {
            for point in series.points.iter().filter(|p| self.chart.shows(p)) {
                let alone = series.points.iter().filter(|of| of.x == point.x).count() == 1;
                self.draw_bar(n, point, alone);
            }
        }
    }

    /// Draws the bar of a point of series `n`, with its value if it is `alone` in its category.
    fn draw_bar(&mut self, n: usize, point: &DataPoint, alone: bool) {
        let Layout { above, lengths, .. } = self.layout;
        let axis = &self.chart.y;
        let Some(place) = axis.scale.place(point.y) else { return };
        let category = point.x as usize as f64;
        // On a linear scale a bar begins at zero, which is where a negative one ends.
        let zero = if axis.scale == Scale::Linear { 0.0 } else { lengths.from };
        let (zero, y) = self.axes.at(zero, category);
        let (tip, _) = self.axes.at(place, category);
        let y = y + (above + GAP / 2 + n as u32 * BAR) as i32 * FINE;
        let middle = y + BAR as i32 * FINE / 2;
        let mut text_at = zero.max(tip);
        if let Some((low, high)) = point.interval {
            text_at = text_at.max(self.draw_whisker(low, high, middle));
        }
        let value = if alone { axis.unit.show(point.y) } else { String::new() };
        let (x, y_text) = (px(text_at + 5 * FINE), px(middle + 4 * FINE));
        self.over += &label(Role::Ink, x, y_text, "start", &value);
        // On a logarithmic axis a length says nothing.
        let shape = match axis.scale {
            Scale::Log => dot(n, point, (tip, middle)),
            _ => bar(n, point, zero.min(tip), zero.max(tip), y),
        };
        let series = &self.chart.series;
        let name = (series.len() > 1).then_some(series[n].name.as_str());
        let title = tooltip(&self.categories[point.x as usize], name, self.chart, point);
        self.marks.push(Mark { shape, title });
    }

    /// Draws the interval of a value across its bar, and returns its right end.
    fn draw_whisker(&mut self, low: f64, high: f64, middle: i32) -> i32 {
        let Span { from, to, .. } = self.layout.lengths;
        let [left, right] = [low, high].map(|v| {
            self.axes.at(self.chart.y.scale.place(v).unwrap_or(from).clamp(from, to), 0.0).0
        });
        let (up, down) = (px(middle - 4 * FINE), px(middle + 4 * FINE));
        let (begin, end, middle) = (px(left), px(right), px(middle));
        let path = format!("M{begin} {up}V{down}M{begin} {middle}H{end}M{end} {up}V{down}");
        self.over += &stroked(Role::Ink, WHISKER, &path);
        right
    }

    fn draw_guides(&mut self) {
        for guide in &self.chart.guides {
            let Guide::Y(y, text) = guide else { continue };
            let Some(place) = self.chart.y.scale.place(*y) else { continue };
            let (x, up) = self.axes.at(place, 0.0);
            let path = format!("M{} {}V{}", px(x), px(up), px(self.axes.bottom));
            self.over += &stroked(Role::Guide, GUIDE, &path);
            self.over += &label(Role::Guide, px(x), px(up - 5 * FINE), "middle", text);
        }
    }
}

/// Returns the SVG attributes that paint a bar or dot of series `n`.
fn paint(n: usize, point: &DataPoint) -> String {
    let colour = Role::Series(point.colour.unwrap_or(n));
    let paint = if point.hollow {
        // The whole shape responds to the pointer, as a filled one does.
        format!("{} fill=\"none\" stroke-width=\"1.5\" pointer-events=\"all\"", colour.stroke())
    } else {
        colour.fill()
    };
    paint.replace("class=\"", "class=\"m ")
}

fn dot(n: usize, point: &DataPoint, (x, y): Point) -> String {
    let paint = paint(n, point);
    format!("<circle {paint} data-s=\"{n}\" cx=\"{}\" cy=\"{}\" r=\"5\"", px(x), px(y))
}

fn bar(n: usize, point: &DataPoint, begin: i32, end: i32, y: i32) -> String {
    let (width, height) = ((end - begin).max(FINE), (BAR as i32 - 2) * FINE);
    let place = rectangle([begin, y + FINE, width, height]);
    format!("<rect {} data-s=\"{n}\" {place} rx=\"1.5\"", paint(n, point))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::{Axis, Series, Unit, svg};

    #[test]
    fn on_a_logarithmic_axis_values_are_dots() {
        let mut chart = Chart::bars("Ratios", ["p50"], Axis::log("ratio", Unit::Ratio));
        let points =
            [DataPoint::at(0.0, 1.2).within(0.9, 1.6).coloured(2), DataPoint::at(0.0, 3.0)];
        chart.series.push(Series::new("ratio", points));
        let svg = svg(&chart);
        assert_eq!(
            (svg.matches("<circle class=\"m ").count(), svg.matches("<rect class=\"m ").count()),
            (2, 0)
        );
        assert!(svg.contains("m s-c3") || svg.contains("m f-c3") || svg.contains("c3"), "{svg}");
    }

    #[test]
    fn whiskers_end_where_their_interval_does() {
        let mut chart = Chart::bars("Ratios", ["p99"], Axis::log("ratio", Unit::Ratio));
        chart.series.push(Series::new("ratio", [DataPoint::at(0.0, 1.1).within(0.1, 2.0)]));
        let lengths = lengths(&chart, false);
        let low = chart.y.scale.place(0.1).unwrap();
        assert!(lengths.from <= low && lengths.to >= chart.y.scale.place(2.0).unwrap());
    }

    #[test]
    fn what_is_not_sure_is_an_outline() {
        let mut chart = Chart::bars("Ratios", ["p50", "p99"], Axis::linear("B / A", Unit::Ratio));
        let points = [DataPoint::at(0.0, 1.2), DataPoint::at(1.0, 3.0).hollow()];
        chart.series.push(Series::new("B / A", points));
        let svg = svg(&chart);
        let bars: Vec<&str> =
            svg.split('<').filter(|of| of.starts_with("rect class=\"m ")).collect();
        let hollow: Vec<bool> = bars.iter().map(|bar| bar.contains("fill=\"none\"")).collect();
        assert_eq!(hollow, [false, true], "{bars:?}");
    }
}
