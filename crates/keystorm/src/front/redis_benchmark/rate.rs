//! `--rps`: a rate, a ramp or steps.
//!
//! `10k` holds; `10k..100k/30s` rises (or falls) steadily in 30 seconds; `10k,20k,40k/10s` are steps
//! of 10 seconds each. Every rate may have k, M or G for thousands, millions and thousands of
//! millions; a time is in seconds unless it says ms, s, m or h.

use workload::quantity::{self, Plain};
use workload::{Arrivals, Pace, Schedule, Stage};

/// Reads the option. A rate of 0 is no schedule at all, as in `valkey-benchmark`.
///
/// # Errors
/// What cannot be read, and what could.
pub(super) fn pace(text: &str, arrivals: Arrivals) -> Result<Pace, String> {
    let stages = match text.split_once('/') {
        None => vec![lasting(rate(text)?)],
        Some((rates, time)) => stages(rates, duration(time)?)?,
    };
    if let [Stage { to_per_s: 0.0, lasts_ns: None, .. }] = stages[..] {
        return Ok(Pace::Closed);
    }
    Ok(Pace::Open(Schedule { stages, arrivals }))
}

fn lasting(rate: f64) -> Stage {
    Stage::steady(rate, None)
}

fn stages(rates: &str, lasts_ns: u64) -> Result<Vec<Stage>, String> {
    let lasts_ns = Some(lasts_ns);
    if let Some((from, to)) = rates.split_once("..") {
        return Ok(vec![Stage::ramp(rate(from)?, rate(to)?, lasts_ns)]);
    }
    rates.split(',').map(|step| Ok(Stage { lasts_ns, ..lasting(rate(step)?) })).collect()
}

fn rate(text: &str) -> Result<f64, String> {
    let text = text.trim();
    if text.contains("..") || text.contains(',') {
        return Err("ramps and steps require a time: 10k..100k/30s, or 10k,20k,40k/10s".into());
    }
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
    let time = quantity::time(text, Plain::Seconds).map_err(|why| fault(&why))?;
    match u64::try_from(time.as_nanos()) {
        Ok(ns) if ns > 0 => Ok(ns),
        _ => Err(fault("it must be longer than 0 seconds")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stages_of(text: &str) -> Vec<(f64, f64, Option<u64>)> {
        let pace = pace(text, Arrivals::Constant).unwrap();
        let stages = &pace.schedule().unwrap().stages;
        stages.iter().map(|s| (s.from_per_s, s.to_per_s, s.lasts_ns)).collect()
    }

    #[test]
    fn a_rate_a_ramp_and_steps() {
        const S: u64 = 1_000_000_000;
        assert_eq!(stages_of("10k"), [(1e4, 1e4, None)]);
        assert_eq!(stages_of("0.5"), [(0.5, 0.5, None)]);
        assert_eq!(stages_of("10k..0.1M/30s"), [(1e4, 1e5, Some(30 * S))]);
        assert_eq!(stages_of("0..100/500ms"), [(0.0, 100.0, Some(S / 2))]);
        let step = |rate| (rate, rate, Some(120 * S));
        assert_eq!(stages_of("1k,2k,4k/2m"), [step(1e3), step(2e3), step(4e3)]);
        assert_eq!(pace("0", Arrivals::Constant).unwrap(), Pace::Closed);
    }

    #[test]
    fn what_makes_no_sense_says_what_would() {
        for bad in ["", "x", "-1", "1e999", "10..20", "1,2", "1..2/", "1..2/0s", "1..2/x", "nan"] {
            let error = pace(bad, Arrivals::Constant).unwrap_err();
            assert!(error.contains("rate") || error.contains("time"), "{bad:?}: {error}");
        }
    }
}
