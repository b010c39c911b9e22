//! Speed at which the recorded time passes.

use workload::pace::text;
use workload::{Arrivals, Curve, Schedule};

/// Highest speed-up: a record of a year in half a minute.
const FACTOR_MAX: f64 = 1e6;

/// Speed at which recorded time passes, and the run's position on its curve.
#[derive(Debug, Clone)]
pub struct Speed {
    /// Recorded seconds per second; `None` for as fast as replies allow.
    curve: Option<Curve>,
    written: String,
    /// Position on the curve of the last query, which speeds up the next.
    hint: usize,
}

impl Speed {
    /// Parses a speed: `2`, `max`, or one that changes, such as `1..4/60s` or `1,2,4/10s`.
    ///
    /// # Errors
    /// Returns an error that says what is wrong with the text and lists valid forms.
    pub fn parse(written: &str) -> Result<Self, String> {
        if written == "max" {
            return Ok(Self { curve: None, written: written.to_owned(), hint: 0 });
        }
        let fault = |why: &str| {
            format!(
                "{why}; expected a factor such as 2 or 0.5, a ramp 1..4/60s, steps 1,2,4/10s, or max"
            )
        };
        let factor = written.strip_suffix('x').unwrap_or(written);
        let stages = text::read(factor).map_err(|_| fault(&format!("{written:?} is no speed")))?;
        let schedule = Schedule { stages, arrivals: Arrivals::Constant };
        let factors = schedule.stages.iter().flat_map(|stage| [stage.from_per_s, stage.to_per_s]);
        let possible = factors.into_iter().all(|factor| (0.0..=FACTOR_MAX).contains(&factor));
        if !possible || schedule.last_per_s() <= 0.0 {
            return Err(fault(&format!("{written}: a speed is above 0 and at most {FACTOR_MAX}")));
        }
        Ok(Self { curve: Some(Curve::new(&schedule, 1.0, 0)), written: factor.to_owned(), hint: 0 })
    }

    /// The recorded times.
    pub fn recorded() -> Self {
        Self::times(1.0)
    }

    /// A constant factor above 0.
    pub fn times(factor: f64) -> Self {
        let curve = Curve::new(&Schedule::constant(factor), 1.0, 0);
        Self { curve: Some(curve), written: factor.to_string(), hint: 0 }
    }

    /// Returns whether requests are sent as soon as replies allow, regardless of recorded times.
    pub fn is_max(&self) -> bool {
        self.curve.is_none()
    }

    /// Text of the speed, as typed.
    pub fn written(&self) -> &str {
        &self.written
    }

    /// Time from the start of the run at which an event is due that was recorded `recorded_ns` after the
    /// beginning of the record. Calls must be in the order of time.
    pub fn due_ns(&mut self, recorded_ns: u64) -> u64 {
        match &self.curve {
            Some(curve) => curve.due_ns(recorded_ns as f64 / 1e9, &mut self.hint),
            None => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    #[test]
    fn time_passes_as_fast_as_is_asked() {
        for (written, at_s, due_s) in [
            ("1", 3.0, 3.0),
            ("2", 3.0, 1.5),
            ("0.5x", 3.0, 6.0),
            ("max", 3.0, 0.0),
            ("1/2s,4", 2.0, 2.0),
            ("1/2s,4", 6.0, 3.0),
            // From 0 to 4 in 4 s: 8 s of the record in all, a quarter of them in the first half.
            ("0..4/4s,4", 2.0, 2.0),
            ("0..4/4s,4", 12.0, 5.0),
        ] {
            let due_ns = Speed::parse(written).unwrap().due_ns((at_s * 1e9) as u64);
            let off = due_ns.abs_diff((due_s * 1e9) as u64);
            assert!(off < S / 1_000_000, "{written} at {at_s}: {due_ns}");
        }
    }

    #[test]
    fn what_is_no_speed_is_refused() {
        for written in ["", "0", "-1", "fast", "1..4", "1e9", "nan", "2,0/3s"] {
            assert!(Speed::parse(written).is_err(), "{written}");
        }
    }
}
