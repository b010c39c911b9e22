//! Marks of a chart with their tooltips, and the frames that they are drawn in.

use std::fmt::Write;

use super::svg::xml;
use super::theme;
use crate::page::{Chart, DataPoint};

/// Widths of charts in pixels: one of two side by side, one on a phone, and a separate picture. Text has the
/// same size in all.
pub(crate) const WIDE: u32 = 560;
pub(crate) const NARROW: u32 = 360;

/// Width of a chart that fills the width of the page.
pub(crate) const BROAD: u32 = 900;
pub(super) const PICTURE: u32 = 760;

/// Dash patterns for lines of one colour: strokes and gaps in pixels, to which round ends add a line's width.
const STROKES: [&str; theme::SERIES] =
    ["", "9 5", "1 5", "14 5 1 5", "20 6", "5 5 1 5", "14 5 1 5 1 5", "1 10"];
/// Dashes of a planned line, or of one for comparison.
const PLANNED: &str = "4 7";

/// Space for a plot.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    pub(super) width: u32,
    /// Top of the plot, below title and legend.
    pub(super) top: u32,
}

/// A mark with a tooltip for each point shown.
pub(super) struct Mark {
    /// The unclosed element: a circle or a rectangle.
    pub(super) shape: String,
    /// The lines of its tooltip.
    pub(super) title: String,
}

/// The dash attribute of the line of series `n`. Colours and dashes both start again after as many series as
/// there are colours, one step apart.
pub(super) fn dashes(dashed: bool, n: usize) -> String {
    let strokes = if dashed { PLANNED } else { STROKES[(n + n / theme::SERIES) % theme::SERIES] };
    if strokes.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{strokes}\"") }
}

/// The tooltip of a point below `head`, with the name of its series if it needs one.
pub(super) fn tooltip(
    head: &str,
    series: Option<&str>,
    chart: &Chart,
    point: &DataPoint,
) -> String {
    let unit = chart.y.unit;
    let series = series.map_or(String::new(), |name| format!("{name}: "));
    let mut title = format!("{head}\n{series}{}", unit.show(point.y));
    if let Some((low, high)) = point.interval {
        title += &format!(" ({} to {})", unit.show(low), unit.show(high));
    }
    if !point.note.is_empty() {
        title += &format!("\n{}", point.note);
    }
    title
}

/// Draws the marks above everything else.
pub(super) fn marks(marks: &[Mark], out: &mut String) {
    for Mark { shape, title } in marks {
        let name = shape.split(' ').next().unwrap_or_default().trim_start_matches('<');
        let _ = writeln!(out, "{shape}><title>{}</title></{name}>", xml(title));
    }
}
