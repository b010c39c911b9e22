//! Gradual opening of connections, and their joining of the load during the run.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::quantity::{self, DefaultUnit};
use crate::random;

/// Schedule by which connections join the load, separately for each worker. Each is opened when it joins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinSchedule {
    /// Connections of a worker that carry load from the start.
    pub first: u32,
    /// Connections of a worker that join together, at least 1.
    pub step: u32,
    /// Nanoseconds from step to step, at least 1.
    pub every_ns: u64,
}

/// Range of the time between two connections that a worker opens before load starts, drawn anew for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spacing {
    /// Nanoseconds at least.
    pub least_ns: u64,
    /// Nanoseconds at most, not below.
    pub most_ns: u64,
}

impl Spacing {
    /// The time drawn by this random number.
    pub fn drawn_ns(self, drawn: u64) -> u64 {
        let times = self.most_ns.saturating_sub(self.least_ns).saturating_add(1);
        self.least_ns.saturating_add(random::within(drawn, times))
    }
}

impl JoinSchedule {
    /// Connections of a worker that carry load after `steps` steps.
    pub fn after(self, steps: u64) -> u32 {
        let joined = u64::from(self.step).saturating_mul(steps);
        u32::try_from(joined.saturating_add(self.first.into())).unwrap_or(u32::MAX)
    }
}

/// `FIRST+STEP/TIME`.
impl FromStr for JoinSchedule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fault = || format!("{text:?}: expected FIRST+STEP/TIME, such as 1+2/5s");
        let (counts, every) = text.split_once('/').ok_or_else(fault)?;
        let (first, step) = counts.split_once('+').ok_or_else(fault)?;
        let number = |text: &str| text.parse().ok().filter(|n| *n > 0).ok_or_else(fault);
        let (first, step) = (number(first)?, number(step)?);
        let every_ns = quantity::time_ns(every, DefaultUnit::Refused)
            .ok()
            .filter(|ns| *ns > 0)
            .ok_or_else(fault)?;
        Ok(Self { first, step, every_ns })
    }
}

impl fmt::Display for JoinSchedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{}/{}", self.first, self.step, quantity::shown(self.every_ns))
    }
}

/// A time, or `LEAST..MOST`.
impl FromStr for Spacing {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (least, most) = text.split_once("..").unwrap_or((text, text));
        let ns = |text| quantity::time_ns(text, DefaultUnit::Refused);
        let (least_ns, most_ns) = (ns(least)?, ns(most)?);
        if least_ns > most_ns {
            return Err(format!("{least} is longer than {most}; expected 5ms or 1ms..5ms"));
        }
        Ok(Self { least_ns, most_ns })
    }
}

impl fmt::Display for Spacing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (least, most) = (quantity::shown(self.least_ns), quantity::shown(self.most_ns));
        if least == most { f.write_str(&least) } else { write!(f, "{least}..{most}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_read_as_they_are_written() {
        let joining = JoinSchedule { first: 1, step: 2, every_ns: 500_000_000 };
        assert_eq!(joining.to_string(), "1+2/500ms");
        assert_eq!("1+2/0.5s".parse(), Ok(joining));
        for bad in ["1+2", "1/2s", "0+1/1s", "1+0/1s", "1+1/0s", "1+1/2"] {
            assert!(bad.parse::<JoinSchedule>().unwrap_err().contains("1+2/5s"), "{bad}");
        }
        for text in ["5ms", "10us..2ms"] {
            assert_eq!(text.parse::<Spacing>().unwrap().to_string(), text);
        }
        assert!("2ms..1ms".parse::<Spacing>().unwrap_err().contains("longer"));
        assert!("2".parse::<Spacing>().is_err());
    }

    #[test]
    fn times_are_drawn_from_the_least_to_the_most() {
        let spacing = Spacing { least_ns: 10, most_ns: 12 };
        let step = u64::MAX / 3;
        assert_eq!([0, 1, 2].map(|n| spacing.drawn_ns(n * step + n)), [10, 11, 12]);
        assert_eq!(spacing.drawn_ns(u64::MAX), 12);
        assert_eq!(Spacing { least_ns: 5, most_ns: 5 }.drawn_ns(u64::MAX), 5);
    }
}
