//! Drawing of a chart as one SVG element: legend, plot, guides, and marks with tooltips.

use super::mark::{Frame, PICTURE, dashes};
use super::svg::{LABEL, label, shortened, text_width, xml};
use super::theme::{self, Role};
use super::{bars, plot};
use crate::page::{Chart, ChartKind};

/// Free space around a picture's chart.
const EDGE: u32 = 12;

/// Size of a title in pixels.
const TITLE: f64 = 16.0;
const LEGEND_LINE: u32 = 20;
const SWATCH: f64 = 18.0;
/// Length of a line's swatch: enough to show its dash pattern.
const STROKE: f64 = 44.0;

/// The element for a page, which shows title and note itself.
pub(crate) fn inline(chart: &Chart, width: u32, class: &str) -> String {
    let (body, height) = body(chart, width, 0);
    format!(
        "<svg class=\"{class}\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" role=\"img\" aria-label=\"{}\">\n{body}</svg>\n",
        xml(&chart.title)
    )
}

/// A separate picture, which adapts to light and dark.
pub fn svg(chart: &Chart) -> String {
    // Marks are emphasised under the pointer, and some are visible only there.
    let style =
        format!("<style>.q{{opacity:0}}.m:hover{{opacity:1}}{}</style>\n", theme::dark_css());
    let width = f64::from(PICTURE - 2 * EDGE);
    let top = if chart.of.is_empty() { 36 } else { 56 };
    let (body, height) = body(chart, PICTURE - 2 * EDGE, top);
    let height = height + EDGE;
    let title = shortened(&chart.title, TITLE, width);
    let of = if chart.of.is_empty() {
        String::new()
    } else {
        label(Role::Muted, EDGE, 43, "start", &shortened(&chart.of, LABEL, width))
    };
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {PICTURE} {height}\" \
         width=\"{PICTURE}\" height=\"{height}\" role=\"img\" \
         font-family=\"Ubuntu, system-ui, sans-serif\">\n<title>{0}</title>\n{style}\
         <rect {1} width=\"{PICTURE}\" height=\"{height}\"/>\n\
         <text {2} x=\"{EDGE}\" y=\"24\" font-size=\"{TITLE}\" font-weight=\"600\">{3}</text>\n{of}\
         <g transform=\"translate({EDGE} 0)\">\n{body}</g></svg>\n",
        xml(&chart.title),
        Role::Paper.fill(),
        Role::Ink.fill(),
        xml(&title),
    )
}

/// Content of the element from `top` pixels on, and its height.
fn body(chart: &Chart, width: u32, top: u32) -> (String, u32) {
    let mut out = String::new();
    let top = legend(chart, width, top, &mut out);
    if chart.points_shown() == 0 {
        let y = top + 40;
        out += &label(Role::Muted, width / 2, y, "middle", "nothing was measured");
        return (out, top + 80);
    }
    let frame = Frame { width, top };
    let height = match &chart.kind {
        ChartKind::Bars(categories) => bars::draw(chart, categories, frame, &mut out),
        ChartKind::Lines | ChartKind::HeatMap(_) => plot::draw(chart, frame, &mut out),
    };
    (out, height)
}

/// Draws the legend of colours, in as many lines as it needs, and returns its lower end. A single series is
/// named by the title.
fn legend(chart: &Chart, width: u32, top: u32, out: &mut String) -> u32 {
    let mut bands: Vec<&str> = chart.bands.iter().map(|band| band.name.as_str()).collect();
    bands.dedup();
    let series = if chart.series.len() < 2 { &[][..] } else { &chart.series[..] };
    if series.is_empty() && bands.is_empty() {
        return top;
    }
    let width = f64::from(width);
    let (mut x, mut line) = (0.0, 0);
    let boxes = matches!(chart.kind, ChartKind::Bars(_));
    let of_series = series.iter().enumerate().map(|(n, series)| {
        let planned = series.dashed;
        (Role::Series(n), series.name.as_str(), boxes, dashes(planned, n))
    });
    let of_bands = bands.into_iter().map(|name| (Role::Band, name, true, String::new()));
    for (role, name, boxed, dashes) in of_series.chain(of_bands) {
        let swatch_width = if boxed { SWATCH } else { STROKE };
        let name = shortened(name, LABEL, width - swatch_width - 30.0);
        let needed = swatch_width + 6.0 + text_width(&name, LABEL) + 18.0;
        if x > 0.0 && x + needed > width {
            (x, line) = (0.0, line + 1);
        }
        let y = f64::from(top + line * LEGEND_LINE) + 10.0;
        let swatch = if boxed {
            format!(
                "<rect {} x=\"{x:.1}\" y=\"{:.1}\" width=\"12\" height=\"12\" rx=\"2\"/>",
                role.fill(),
                y - 6.0
            )
        } else {
            format!(
                "<line {}{} stroke-width=\"2\" stroke-linecap=\"round\" x1=\"{x:.1}\" x2=\"{:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>",
                role.stroke(),
                dashes,
                x + STROKE
            )
        };
        *out += &swatch;
        let at = format!("{:.1}", x + swatch_width + 6.0);
        *out += &label(Role::Ink, at, format_args!("{:.1}", y + 4.0), "start", &name);
        x += needed;
    }
    top + (line + 1) * LEGEND_LINE + 6
}
