//! Cells of a heat map.

use super::mark::Mark;
use super::scale::label;
use super::svg::{Point, rectangle};
use super::theme::{HEATS, Role};
use crate::grouped;
use crate::page::{Chart, DataPoint};

/// The cell of a point of series `n` between its upper left and its lower right corner; `most` is the
/// greatest weight.
pub(super) fn cell(
    chart: &Chart,
    n: usize,
    point: &DataPoint,
    most: f64,
    [(left, top), (right, bottom)]: [Point; 2],
) -> Mark {
    let fill = Role::Heat(step(point.weight, most)).fill().replace("class=\"", "class=\"m ");
    let unit = chart.y.unit;
    let mut title = label(&chart.x, point.x);
    if let Some((low, high)) = point.interval {
        title += &format!("\n{} to {}: {}", unit.show(low), unit.show(high), grouped(point.weight));
    }
    let place = rectangle([left, top, (right - left).max(1), (bottom - top).max(1)]);
    Mark { shape: format!("<rect {fill} data-s=\"{n}\" data-cell=\"\" {place}"), title }
}

/// Returns the shade for a weight, by its logarithm, so that a single reply among many still shows.
fn step(weight: f64, most: f64) -> usize {
    let share = (1.0 + weight).ln() / (1.0 + most).ln();
    if !share.is_finite() {
        return 0;
    }
    ((share * HEATS as f64).ceil() as usize).clamp(1, HEATS) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_is_darker_and_one_is_seen() {
        assert_eq!((step(1.0, 1e6), step(1e6, 1e6), step(0.0, 0.0)), (0, HEATS - 1, 0));
        let steps: Vec<usize> = (0..=6).map(|n| step(10f64.powi(n), 1e6)).collect();
        assert!(steps.is_sorted(), "{steps:?}");
    }
}
