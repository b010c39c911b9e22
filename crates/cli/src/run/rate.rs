//! `--rps`: a rate, a ramp or steps, as [`text`] reads them.

use workload::pace::text;
use workload::{Arrivals, Pace, Schedule, Stage};

/// Reads the option. A rate of 0 is no schedule at all, as in `valkey-benchmark`.
///
/// # Errors
/// What cannot be read, and what could.
pub(super) fn pace(text: &str, arrivals: Arrivals) -> Result<Pace, String> {
    let stages = text::read(text)?;
    if let [Stage { to_per_s: 0.0, lasts_ns: None, .. }] = stages[..] {
        return Ok(Pace::Closed);
    }
    Ok(Pace::Open(Schedule { stages, arrivals }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_of_0_is_no_schedule() {
        let of = |text| pace(text, Arrivals::Constant).unwrap();
        assert_eq!(of("0"), Pace::Closed);
        assert!(of("0/1s,5").schedule().is_some() && of("5").schedule().is_some());
    }
}
