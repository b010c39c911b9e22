//! Text form of a schedule's stages.
//!
//! `10k` is constant; `10k..100k/30s` rises (or falls) steadily in 30 seconds; `10k,20k,40k/10s` are steps of
//! 10 seconds each: a rate without its own time takes the next one. So `1k/60s,1k..5k/10s,5k` is constant,
//! rises and is constant again. Every rate may have k, M or G for thousands, millions and thousands of
//! millions; a time is in seconds unless it has ms, s, m or h.

use std::fmt::Write;

use super::Stage;
use crate::quantity::{self, DefaultUnit};

/// Parses stages, at least one.
///
/// # Errors
/// Returns an error with examples for malformed text.
pub fn read(text: &str) -> Result<Vec<Stage>, String> {
    let mut stages: Vec<Stage> = Vec::new();
    // Those that wait for a time.
    let mut open = 0;
    for part in text.split(',') {
        let (rates, time) = match part.split_once('/') {
            Some((rates, time)) => (rates, Some(duration(time)?)),
            None => (part, None),
        };
        stages.push(match rates.split_once("..") {
            Some((from, to)) => Stage::ramp(rate(from)?, rate(to)?, None),
            None => Stage::steady(rate(rates)?, None),
        });
        open += 1;
        if time.is_some() {
            let from = stages.len() - open;
            stages[from..].iter_mut().for_each(|stage| stage.lasts_ns = time);
            open = 0;
        }
    }
    let last = stages.last().filter(|stage| stage.lasts_ns.is_none());
    if open > 1 || last.is_some_and(|stage| stage.from_per_s != stage.to_per_s) {
        return Err("ramps and steps require a time: 10k..100k/30s, or 10k,20k,40k/10s".into());
    }
    Ok(stages)
}

fn rate(text: &str) -> Result<f64, String> {
    let text = text.trim();
    match quantity::number(text) {
        Some(rate) => Ok(rate),
        None if text.starts_with('-') => Err(format!("{text:?}: a rate cannot be negative")),
        None => Err(format!(
            "{text:?} is not a rate; expected a rate such as 10k, a ramp 10k..100k/30s, or steps \
             10k,20k/10s"
        )),
    }
}

/// Nanoseconds of a time above 0.
fn duration(text: &str) -> Result<u64, String> {
    let fault = |why: &str| format!("{text:?} is not a valid time for a ramp or step: {why}");
    match quantity::time_ns(text, DefaultUnit::Seconds).map_err(|why| fault(&why))? {
        0 => Err(fault("it must be longer than 0 seconds")),
        ns => Ok(ns),
    }
}

/// Shortest text of stages.
pub fn written(stages: &[Stage]) -> String {
    let mut text = String::new();
    for (at, stage) in stages.iter().enumerate() {
        let comma = if at > 0 { "," } else { "" };
        let _ = write!(text, "{comma}{}", stage.from_per_s);
        if stage.from_per_s != stage.to_per_s {
            let _ = write!(text, "..{}", stage.to_per_s);
        }
        let next = stages.get(at + 1).and_then(|next| next.lasts_ns);
        if let Some(ns) = stage.lasts_ns.filter(|_| stage.lasts_ns != next) {
            let _ = write!(text, "/{}", quantity::shown(ns));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn stages_of(text: &str) -> Vec<(f64, f64, Option<u64>)> {
        read(text).unwrap().iter().map(|s| (s.from_per_s, s.to_per_s, s.lasts_ns)).collect()
    }

    #[test]
    fn a_rate_a_ramp_and_steps() {
        assert_eq!(stages_of("10k"), [(1e4, 1e4, None)]);
        assert_eq!(stages_of("0.5"), [(0.5, 0.5, None)]);
        assert_eq!(stages_of("10k..0.1M/30s"), [(1e4, 1e5, Some(30 * S))]);
        assert_eq!(stages_of("0..100/500ms"), [(0.0, 100.0, Some(S / 2))]);
        let step = |rate| (rate, rate, Some(120 * S));
        assert_eq!(stages_of("1k,2k,4k/2m"), [step(1e3), step(2e3), step(4e3)]);
        let rise = (1e3, 5e3, Some(10 * S));
        let stages = [(1e3, 1e3, Some(60 * S)), rise, (5e3, 5e3, None)];
        assert_eq!(stages_of("1k/60,1k..5k/10,5k"), stages);
    }

    #[test]
    fn stages_are_written_as_they_are_read() {
        for text in ["10000", "0..100/500ms", "1,2,4/2s", "1/2s,2,3/1s,4..5/1500ms", "1/1s,2"] {
            assert_eq!(written(&read(text).unwrap()), text);
        }
    }

    #[test]
    fn what_makes_no_sense_says_what_would() {
        for bad in [
            "",
            "x",
            "-1",
            "1e999",
            "10..20",
            "1,2",
            "1..2/",
            "1..2/0s",
            "1..2/x",
            "nan",
            "1/1s,2,3",
            "1/1s,2..3",
            "1,/1s",
        ] {
            let error = read(bad).unwrap_err();
            assert!(error.contains("rate") || error.contains("time"), "{bad:?}: {error}");
        }
    }
}
