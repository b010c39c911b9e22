//! Scales: conversion from values to distances, ranges, and the labelled values of an axis.

use super::svg::{LABEL, text_width};
use crate::page::{Axis, Scale, Unit};

/// A prepared axis: its range in distances and its ticks.
#[derive(Debug, Clone)]
pub(super) struct Span {
    pub(super) from: f64,
    pub(super) to: f64,
    /// Distances and their labels, in order.
    pub(super) ticks: Vec<(f64, String)>,
}

impl Span {
    /// The position of a distance between two ends in the picture.
    pub(super) fn map(&self, place: f64, begin: i32, end: i32) -> i32 {
        let share = (place - self.from) / (self.to - self.from);
        begin + (f64::from(end - begin) * share).round() as i32
    }

    /// Leaves out labels that would overlap the previous one, or begin left of the picture, on an axis of
    /// this `width` with that `margin` on its left, in pixels.
    pub(super) fn thin(&mut self, width: f64, margin: f64) {
        let mut free = -margin;
        let (from, scale) = (self.from, width / (self.to - self.from));
        self.ticks.retain(|(place, label)| {
            let (middle, half) = ((place - from) * scale, text_width(label, LABEL) / 2.0);
            let fits = middle - half >= free;
            if fits {
                free = middle + half + BETWEEN;
            }
            fits
        });
    }
}

/// Least distance of two labels, in pixels.
const BETWEEN: f64 = 8.0;

/// The range that holds all values, with about `wanted` ticks. `from_zero` begins a linear range at zero;
/// `fitted` ends it at the greatest value instead of a tick.
pub(super) fn span(
    axis: &Axis,
    values: &[f64],
    wanted: usize,
    from_zero: bool,
    fitted: bool,
) -> Span {
    let places: Vec<f64> = values.iter().filter_map(|v| axis.scale.place(*v)).collect();
    let low = places.iter().copied().fold(f64::INFINITY, f64::min);
    let high = places.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if places.is_empty() {
        return Span { from: 0.0, to: 1.0, ticks: vec![] };
    }
    match axis.scale {
        Scale::Linear => linear(axis, low, high, wanted, from_zero, fitted),
        Scale::Log => log(axis, values, low, high, wanted, fitted),
        Scale::Nines => nines(high),
    }
}

fn linear(axis: &Axis, low: f64, high: f64, wanted: usize, from_zero: bool, fitted: bool) -> Span {
    let near_zero = low >= 0.0 && (from_zero || low <= high * 0.25);
    let low = if near_zero { 0.0 } else { low };
    let high = if from_zero { high.max(0.0) } else { high };
    let (low, high) = match high - low {
        width if width > 0.0 && width.is_finite() => (low, high),
        _ if high > 0.0 => (0.0, high),
        _ if low < 0.0 && from_zero => (low, 0.0),
        _ => (low, low + 1.0),
    };
    let mut step = nice_step((high - low) / wanted as f64);
    if axis.unit == Unit::Count {
        step = step.max(1.0);
    }
    let from = if fitted { low } else { (low / step).floor() * step };
    // A last step that is hardly used is not begun.
    // Values that are just short of a tick are of it.
    let near = (high / step).ceil() * step;
    let to = match fitted {
        true if near - high <= (high - low) * NEAR => near,
        true => high,
        false => ((high / step) - 0.02).ceil().max(1.0) * step,
    };
    let to = to.max(high);
    let first = (from / step).ceil() as i64;
    let last = ((to / step) + 1e-9).floor() as i64;
    let ticks: Vec<f64> = (first..=last.min(first + 100)).map(|k| k as f64 * step).collect();
    let labels = axis.unit.ticks(&ticks);
    Span { from, to, ticks: ticks.into_iter().zip(labels).collect() }
}

/// Distance beyond the greatest value, as a share of the range, up to which a tick is on the axis.
const NEAR: f64 = 0.02;

/// 1, 2 or 5 times a power of ten, at least this much.
fn nice_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().find(|m| m * power >= least * 0.999);
    step.unwrap_or(10.0) * power
}

fn log(axis: &Axis, values: &[f64], low: f64, high: f64, wanted: usize, fitted: bool) -> Span {
    let named = |value: f64| (value.log10(), axis.unit.show(value));
    if fitted {
        // An axis of a varied option names just its values.
        let mut given: Vec<f64> =
            values.iter().copied().filter(|v| *v > 0.0 && v.is_finite()).collect();
        given.sort_by(f64::total_cmp);
        given.dedup();
        // Ticks with the same name are named once.
        given.dedup_by(|a, b| axis.unit.show(*a) == axis.unit.show(*b));
        let pad = if high > low { (high - low) * 0.03 } else { 0.5 };
        if given.len() <= 16 {
            let ticks = given.into_iter().map(named).collect();
            return Span { from: low - pad, to: high + pad, ticks };
        }
    }
    let each: &[f64] = match (high - low) / wanted as f64 {
        decades if decades > 0.6 => &[1.0],
        decades if decades > 0.3 => &[1.0, 3.0],
        _ => &[1.0, 2.0, 5.0],
    };
    let fine = |place: f64| {
        let decade = place.floor() as i32;
        let all = (decade - 1..=decade + 1)
            .flat_map(|d| each.iter().map(move |m| (m * 10f64.powi(d)).log10()));
        all.collect::<Vec<f64>>()
    };
    let from = fine(low).into_iter().filter(|p| *p <= low + 1e-9).fold(low - 1.0, f64::max);
    let to = fine(high).into_iter().filter(|p| *p >= high - 1e-9).fold(high + 1.0, f64::min);
    let to = if to - from < 0.2 { from + 1.0 } else { to };
    let decades = from.floor() as i32..=to.ceil() as i32;
    let skip = (((to - from) / wanted as f64).floor() as i32).max(1);
    let ticks = decades
        .filter(|d| each.len() > 1 || d.rem_euclid(skip) == 0)
        .flat_map(|d| each.iter().map(move |m| m * 10f64.powi(d)));
    let ticks = ticks.filter(|v| (from - 1e-9..=to + 1e-9).contains(&v.log10()));
    Span { from, to, ticks: ticks.map(named).collect() }
}

/// Ticks 0, 50, 90, 99, 99.9 and so on, up to the greatest value.
fn nines(high: f64) -> Span {
    let to = high.max(1.0) * 1.01;
    let half = Scale::Nines.place(0.5).unwrap_or_default();
    let ticks = [(0.0, "0".to_owned()), (half, "50".to_owned())].into_iter();
    let more = (1..=(to.floor() as usize).min(18)).map(|n| (n as f64, percentile(n)));
    Span { from: 0.0, to, ticks: ticks.chain(more).collect() }
}

/// `90`, `99`, `99.9` and so on, of this many nines.
fn percentile(nines: usize) -> String {
    match nines {
        0 => "0".to_owned(),
        1 => "90".to_owned(),
        2 => "99".to_owned(),
        more => format!("99.{}", "9".repeat(more - 2)),
    }
}

/// A value of an axis in words, for a tooltip.
pub(super) fn label(axis: &Axis, value: f64) -> String {
    if axis.scale != Scale::Nines {
        return format!("{} {}", axis.label, axis.unit.show(value)).trim().to_owned();
    }
    let left = 1.0 - value;
    let decimals = if left > 0.0 { (-left.log10()).floor().clamp(0.0, 12.0) as usize } else { 0 };
    let text = format!("{:.*}", decimals, value * 100.0);
    let text =
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("percentile {text}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: Axis, values: &[f64], fitted: bool) -> Vec<String> {
        span(&axis, values, 5, true, fitted).ticks.into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn ticks_are_round_and_hold_the_values() {
        let rate = Axis::linear("", Unit::PerSecond);
        assert_eq!(
            labels(rate.clone(), &[21_000.0, 98_000.0], false).join(" "),
            "0/s 20k/s 40k/s 60k/s 80k/s 100k/s"
        );
        assert_eq!(labels(rate, &[], false).len(), 0);
        let latency = Axis::log("", Unit::Nanoseconds);
        assert_eq!(
            labels(latency.clone(), &[90e3, 800e6], false).join(" "),
            "100 µs 1 ms 10 ms 100 ms 1 s".replace("100 µs", "10 µs 100 µs").trim()
        );
        assert_eq!(labels(latency, &[250e3, 300e3], false).join(" "), "200 µs 500 µs");
        let swept = Axis::log("connections", Unit::Count);
        assert_eq!(labels(swept, &[1.0, 7.0, 50.0, 1000.0], true).join(" "), "1 7 50 1000");
        assert_eq!(labels(Axis::nines(), &[0.5, 0.999], false).join(" "), "0 50 90 99 99.9");
    }

    #[test]
    fn no_two_ticks_have_one_name() {
        let rate = Axis::linear("", Unit::PerSecond);
        let near: Vec<String> = span(&rate, &[19_997.0, 20_003.0], 5, false, true)
            .ticks
            .into_iter()
            .map(|(_, label)| label)
            .collect();
        assert_eq!(near.join(" "), "19.998k/s 20k/s 20.002k/s");
        let rates = [19_990.0, 39_980.0, 59_900.0];
        assert_eq!(labels(rate.clone(), &rates, true).join(" "), "0/s 20k/s 40k/s 60k/s");
        let swept = Axis { scale: Scale::Log, ..rate };
        assert_eq!(labels(swept, &[19_997.0, 19_999.0, 20_003.0], true).join(" "), "20k/s");
    }

    #[test]
    fn every_value_lies_within_its_span() {
        for scale in [Scale::Linear, Scale::Log] {
            for values in [[1e-3, 5.0], [3.0, 3.0], [1e9, 7e11], [0.5, 0.500_001], [1.0, 1e15]] {
                let axis = Axis { scale, ..Axis::linear("", Unit::Plain) };
                for (zero, fitted) in [(true, false), (false, true), (false, false)] {
                    let span = span(&axis, &values, 6, zero, fitted);
                    assert!(span.from < span.to && span.ticks.len() < 40);
                    for value in values {
                        let place = scale.place(value).unwrap();
                        assert!(
                            span.from <= place + 1e-9 && place <= span.to + 1e-9,
                            "{values:?} {span:?}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn percentiles_are_reported_with_their_nines() {
        let axis = Axis::nines();
        assert_eq!(label(&axis, 0.999), "percentile 99.9");
        assert_eq!(label(&axis, 0.5), "percentile 50");
        assert_eq!(label(&axis, 0.875), "percentile 88");
    }
}
