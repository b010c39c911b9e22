//! Horizontal bars: one group for each category, and in it one bar for each series.

use std::fmt::Write;

use plotters::prelude::*;
use plotters::style::Color;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::draw::{self, Frame, LABEL, Mark, NARROW};
use super::scale::{Span, span};
use super::surface::{FINE, Surface, px, shortened, text_width, xml};
use super::theme::Role;
use super::{Chart, ChartError, Guide, Scale};

/// Heights in pixels.
const BAR: u32 = 18;
const GAP: u32 = 12;
const CATEGORY: u32 = 18;
const TICKS: u32 = 24;
const NAME: u32 = 20;
/// Share of the plot that the names of categories may take.
const NAMES_MAX: f64 = 0.4;

/// Draws the bars below `frame.top` and gives where they end.
pub(super) fn draw(
    chart: &Chart,
    categories: &[String],
    Frame { width, top }: Frame,
    out: &mut String,
) -> Result<u32, ChartError> {
    let narrow = width <= NARROW;
    // Guides are named above the bars.
    let top = top + if chart.guides.is_empty() { 0 } else { CATEGORY };
    let each = u32::try_from(chart.series.len().max(1)).unwrap_or(1);
    // On a phone a name stands above its bars.
    let above = if narrow { CATEGORY } else { 0 };
    let group = each * BAR + above + GAP;
    let count = u32::try_from(categories.len()).unwrap_or(1).max(1);
    let height = top + count * group + TICKS + NAME;
    let names = categories.iter().map(|name| text_width(name, LABEL)).fold(0.0, f64::max);
    let left = if narrow { 0.0 } else { names.min(f64::from(width) * NAMES_MAX).ceil() + 10.0 };
    let points = || chart.series.iter().flat_map(|s| &s.points).filter(|p| chart.shows(p));
    let value = |y: f64| text_width(&chart.y.unit.show(y), LABEL);
    let right = points().map(|p| value(p.y)).fold(20.0, f64::max).ceil() + 12.0;
    let mut values: Vec<f64> = points().map(|p| p.y).collect();
    values.extend(points().filter_map(|p| p.interval).map(|(_, high)| high));
    values.extend(
        chart.guides.iter().filter_map(|g| if let Guide::Y(y, _) = g { Some(*y) } else { None }),
    );
    let mut lengths =
        span(&chart.y, &values, if narrow { 3 } else { 5 }, true, chart.y.scale == Scale::Linear);
    let reach = (f64::from(width) - left - right) / (lengths.to - lengths.from);
    let mut free = f64::NEG_INFINITY;
    let from = lengths.from;
    lengths.ticks.retain(|(place, label)| {
        let (middle, half) = ((place - from) * reach, text_width(label, LABEL) / 2.0);
        let fits = middle - half >= free && (left > half || middle >= half);
        if fits {
            free = middle + half + 8.0;
        }
        fits
    });
    let mut marks = Vec::new();
    let mut over = String::new();
    {
        let fine = FINE.unsigned_abs();
        let root = Surface { out, size: (width, height) }.into_drawing_area();
        let failed = |e: DrawingAreaErrorKind<std::convert::Infallible>| chart.failed(e);
        let mut context = ChartBuilder::on(&root)
            .margin_top(top * fine)
            .margin_left(left as u32 * fine)
            .margin_right(right as u32 * fine)
            .margin_bottom(NAME * fine)
            .x_label_area_size(TICKS * fine)
            .build_cartesian_2d(
                lengths.clone(),
                // The first category is at the top.
                Span { from: f64::from(count), to: 0.0, ticks: Vec::new() },
            )
            .map_err(failed)?;
        let label = ("sans-serif", LABEL * f64::from(FINE)).into_font().color(&Role::Muted.rgb());
        context
            .configure_mesh()
            .light_line_style(Role::Grid.rgb().mix(0.0))
            .bold_line_style(Role::Grid.rgb().stroke_width(fine))
            .axis_style(Role::Grid.rgb().stroke_width(fine))
            .x_label_style(label.pos(Pos::new(HPos::Center, VPos::Top)))
            .set_all_tick_mark_size(4 * FINE)
            .draw()
            .map_err(failed)?;
        let area = context.plotting_area();
        for (n, series) in chart.series.iter().enumerate() {
            for point in series.points.iter().filter(|p| chart.shows(p)) {
                let category = point.x as usize;
                let Some(place) = chart.y.scale.place(point.y) else { continue };
                // On a linear scale a bar begins at zero, which is where a negative one ends.
                let zero = if chart.y.scale == Scale::Linear { 0.0 } else { lengths.from };
                let (a, y) = area.map_coordinate(&(zero, category as f64));
                let (b, _) = area.map_coordinate(&(place, category as f64));
                let (begin, end) = (a.min(b), a.max(b));
                let y = y + (above + GAP / 2 + n as u32 * BAR) as i32 * FINE;
                let middle = y + BAR as i32 * FINE / 2;
                let name = &categories[category];
                let mut title = format!("{name}\n");
                if chart.series.len() > 1 {
                    title += &format!("{}: ", series.name);
                }
                title += &chart.y.unit.show(point.y);
                let mut text_at = end;
                if let Some((low, high)) = point.interval {
                    title +=
                        &format!(" ({} to {})", chart.y.unit.show(low), chart.y.unit.show(high));
                    let ends = [low, high].map(|v| {
                        area.map_coordinate(&(
                            chart
                                .y
                                .scale
                                .place(v)
                                .unwrap_or(lengths.from)
                                .clamp(lengths.from, lengths.to),
                            0.0,
                        ))
                        .0
                    });
                    text_at = text_at.max(ends[1]);
                    let (up, down) = (px(middle - 4 * FINE), px(middle + 4 * FINE));
                    let _ = writeln!(
                        over,
                        "<path {} fill=\"none\" stroke-width=\"1.2\" d=\"M{1} {up}V{down}M{1} {2}H{3}M{3} {up}V{down}\"/>",
                        Role::Ink.stroke(),
                        px(ends[0]),
                        px(middle),
                        px(ends[1])
                    );
                }
                if !point.note.is_empty() {
                    title += &format!("\n{}", point.note);
                }
                let alone = series.points.iter().filter(|of| of.x == point.x).count() == 1;
                let label = if alone { chart.y.unit.show(point.y) } else { String::new() };
                let _ = writeln!(
                    over,
                    "<text {} x=\"{}\" y=\"{}\" font-size=\"{LABEL}\">{}</text>",
                    Role::Ink.fill(),
                    px(text_at + 5 * FINE),
                    px(middle + 4 * FINE),
                    label
                );
                let colour = Role::Series(point.colour.unwrap_or(n));
                let paint = match point.hollow {
                    // All of it answers to the pointer, as a full one does.
                    true => format!(
                        "{} fill=\"none\" stroke-width=\"1.5\" pointer-events=\"all\"",
                        colour.stroke()
                    ),
                    false => colour.fill(),
                };
                let fill = paint.replace("class=\"", "class=\"m ");
                let dot = || {
                    format!(
                        "<circle {fill} data-s=\"{n}\" cx=\"{}\" cy=\"{}\" r=\"5\"",
                        px(b),
                        px(middle)
                    )
                };
                let bar = || {
                    format!(
                        "<rect {fill} data-s=\"{n}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"1.5\"",
                        px(begin),
                        px(y + FINE),
                        px((end - begin).max(FINE)),
                        px((BAR as i32 - 2) * FINE)
                    )
                };
                // On a logarithmic axis a length says nothing.
                let shape = if chart.y.scale == Scale::Log { dot() } else { bar() };
                marks.push(Mark { shape, title });
            }
        }
        for guide in &chart.guides {
            let Guide::Y(y, text) = guide else { continue };
            let Some(place) = chart.y.scale.place(*y) else { continue };
            let (x, up) = area.map_coordinate(&(place, 0.0));
            let (_, down) = area.map_coordinate(&(place, f64::from(count)));
            let _ = writeln!(
                over,
                "<path {} fill=\"none\" stroke-width=\"1.5\" stroke-dasharray=\"5 4\" d=\"M{2} {3}V{4}\"/>\
                 <text {1} x=\"{2}\" y=\"{5}\" font-size=\"{LABEL}\" text-anchor=\"middle\">{6}</text>",
                Role::Guide.stroke(),
                Role::Guide.fill(),
                px(x),
                px(up),
                px(down),
                px(up - 5 * FINE),
                xml(text)
            );
        }
    }
    for (row, name) in categories.iter().enumerate() {
        let middle = f64::from(top) + (row as f64) * f64::from(group) + f64::from(GAP / 2);
        let (x, anchor, y, room) = match narrow {
            true => (0.0, "start", middle + 12.0, f64::from(width)),
            false => (left - 8.0, "end", middle + f64::from(each * BAR) / 2.0 + 4.0, left - 8.0),
        };
        let _ = writeln!(
            out,
            "<text {} x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{LABEL}\" text-anchor=\"{anchor}\">{}</text>",
            Role::Ink.fill(),
            xml(&shortened(name, LABEL, room))
        );
    }
    let _ = writeln!(
        out,
        "<text {} x=\"{}\" y=\"{}\" font-size=\"{LABEL}\" text-anchor=\"end\">{}</text>",
        Role::Muted.fill(),
        width - 14,
        height - 6,
        xml(&chart.y.label)
    );
    draw::marks(&marks, out);
    *out += &over;
    Ok(height)
}

#[cfg(test)]
mod tests {
    use super::super::{Axis, DataPoint, Series, Unit};
    use super::*;

    #[test]
    fn on_a_logarithmic_axis_values_are_dots() {
        let mut chart = Chart::bars("Ratios", ["p50"], Axis::log("ratio", Unit::Ratio));
        let points =
            [DataPoint::at(0.0, 1.2).within(0.9, 1.6).coloured(2), DataPoint::at(0.0, 3.0)];
        chart.series.push(Series::of("ratio", points));
        let svg = chart.svg().unwrap();
        assert_eq!(
            (svg.matches("<circle class=\"m ").count(), svg.matches("<rect class=\"m ").count()),
            (2, 0)
        );
        assert!(svg.contains("m s-c3") || svg.contains("m f-c3") || svg.contains("c3"), "{svg}");
    }

    #[test]
    fn what_is_not_sure_is_an_outline() {
        let mut chart = Chart::bars("Ratios", ["p50", "p99"], Axis::linear("B / A", Unit::Ratio));
        let points = [DataPoint::at(0.0, 1.2), DataPoint::at(1.0, 3.0).hollow()];
        chart.series.push(Series::of("B / A", points));
        let svg = chart.svg().unwrap();
        let bars: Vec<&str> =
            svg.split('<').filter(|of| of.starts_with("rect class=\"m ")).collect();
        let hollow: Vec<bool> = bars.iter().map(|bar| bar.contains("fill=\"none\"")).collect();
        assert_eq!(hollow, [false, true], "{bars:?}");
    }
}
