//! Timing of requests: `--rps`, and `--start-at`.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use workload::pace::text;
use workload::{Schedule, Stage};

use crate::text::as_text;
use crate::values::{seconds, written};

/// `--rps`: the stages of a schedule. A rate of 0 alone is no schedule at all, as in `valkey-benchmark`.
#[derive(Debug, Clone, PartialEq)]
pub struct Rate(
    /// Stages, one after another.
    pub Vec<Stage>,
);

impl Rate {
    /// Constant rate in requests per second.
    pub fn constant(per_s: f64) -> Self {
        Self(Schedule::constant(per_s).stages)
    }

    /// Returns whether the rate is no limit.
    pub fn is_none(&self) -> bool {
        matches!(self.0[..], [Stage { to_per_s: 0.0, lasts_ns: None, .. }])
    }

    /// Returns whether a stage of the rate has a length.
    pub fn is_schedule(&self) -> bool {
        self.0.iter().any(|stage| stage.lasts_ns.is_some())
    }
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text::read(text).map(Self)
    }
}

/// An instant to come: RFC 3339, Unix seconds, or `+` and a time from now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartAt(
    /// The instant.
    pub SystemTime,
);

impl FromStr for StartAt {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let now = SystemTime::now();
        let instant = match text.strip_prefix('+') {
            Some(rest) => seconds(rest).ok().and_then(|s| now.checked_add(s)),
            None => match text.parse().ok().map(Duration::try_from_secs_f64) {
                Some(since_1970) => since_1970.ok().and_then(|s| UNIX_EPOCH.checked_add(s)),
                None => humantime::parse_rfc3339_weak(text).ok(),
            },
        };
        let instant = instant.ok_or(
            "expected a time such as 2026-05-01T12:00:00Z, seconds since 1970, or +5s for five \
             seconds from now",
        )?;
        match now.duration_since(instant) {
            Ok(passed) if !passed.is_zero() => Err(format!(
                "that was {} ago; name a time in the future, or +5s for five seconds from now",
                roughly(passed)
            )),
            _ => Ok(Self(instant)),
        }
    }
}

/// A time in its largest unit alone: `25 years`, `3 s`.
fn roughly(time: Duration) -> String {
    let text = humantime::format_duration(Duration::from_secs(time.as_secs())).to_string();
    let largest = text.split(' ').next().unwrap_or_default();
    let (number, unit) =
        largest.split_at(largest.find(|c: char| c.is_alphabetic()).unwrap_or(largest.len()));
    format!("{number} {}", if unit == "m" { "min" } else { unit })
}

written! {
    Rate Self(stages) => text::written(stages);
    StartAt Self(at) => humantime::format_rfc3339(*at).to_string();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_of_0_is_no_schedule() {
        let rate = |text: &str| text.parse::<Rate>().unwrap();
        assert!(rate("0").is_none() && !rate("0/1s,5").is_none() && !rate("5").is_none());
        assert!(rate("1k..5k/10s").is_schedule() && !rate("5").is_schedule());
    }
}
