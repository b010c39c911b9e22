//! Axes of a plot: the position of values between them, and their grid, ticks and labels.

use std::fmt::Write;

use super::scale::Span;
use super::svg::{FINE, Point, label, px, stroked};
use super::theme::Role;

/// Length of a tick.
const TICK: i32 = 4 * FINE;
/// Distance from the lower axis to the base line of its labels.
const BELOW: i32 = 182;
/// Distance from the left axis to the end of its labels.
const BESIDE: i32 = 8 * FINE;
/// Distance from the middle of a label down to its base line.
const MIDDLE: i32 = 43;

/// The rectangle of a plot, and the axes along its lower and its left edge.
pub(super) struct Axes<'s> {
    pub(super) x: &'s Span,
    /// The y axis; one without ticks is not drawn.
    pub(super) y: &'s Span,
    pub(super) left: i32,
    pub(super) right: i32,
    pub(super) top: i32,
    pub(super) bottom: i32,
}

impl Axes<'_> {
    /// The point at these distances.
    pub(super) fn at(&self, x: f64, y: f64) -> Point {
        (self.x.map(x, self.left, self.right), self.y.map(y, self.bottom, self.top))
    }

    /// Writes a line across the plot for each tick, both axes, and the labels.
    pub(super) fn write(&self, out: &mut String) {
        let [left, right, top, bottom] = [self.left, self.right, self.top, self.bottom].map(px);
        let (mut lines, mut labels) = (format!("M{left} {bottom}H{right}"), String::new());
        if !self.y.ticks.is_empty() {
            let _ = write!(lines, "M{left} {top}V{bottom}");
        }
        for (place, text) in &self.x.ticks {
            let (x, _) = self.at(*place, self.y.from);
            let _ = write!(lines, "M{} {top}V{}", px(x), px(self.bottom + TICK));
            labels += &label(Role::Muted, px(x), px(self.bottom + BELOW), "middle", text);
        }
        for (place, text) in &self.y.ticks {
            let (_, y) = self.at(self.x.from, *place);
            let _ = write!(lines, "M{} {}H{right}", px(self.left - TICK), px(y));
            let (x, y) = (px(self.left - BESIDE), px(y + MIDDLE));
            labels += &label(Role::Muted, x, y, "end", text);
        }
        *out += &stroked(Role::Grid, "", &lines);
        *out += &labels;
    }
}
