//! A connection for each request: `--connect` and its options.

use std::fmt;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use workload::{Arrivals, ConnectionPerRequest, Pace, Schedule};

use crate::text::as_text;
use crate::values::{Count, Seconds, written};

/// The options of connections that are opened for a request.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct PerRequest {
    /// Open a connection for each request when it is due, at most -c at a time [default: 50; with --rps or
    /// --burst 1000, or as many as are needed]
    #[arg(long)]
    pub connect: bool,
    /// With --connect, keep each connection open for this long after its reply, or until the end of the run
    /// (`end`) [default: 0]
    #[arg(long, value_name = "TIME", requires = "connect")]
    pub open_for: Option<OpenFor>,
    /// With --connect, how keystorm closes: fin, as clients do, or reset, which frees the local port at
    /// once [default: fin]
    #[arg(long, value_name = "HOW", requires = "connect", hide_possible_values = true)]
    pub close: Option<Close>,
    /// Send this many requests at once, when the first of them is due; without --rps, one burst a second
    #[arg(long, value_name = "NUM", conflicts_with = "arrivals")]
    pub burst: Option<Count<u32>>,
}

/// Time that a connection stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenFor {
    /// For this long after its reply.
    Time(Seconds),
    /// Until the run ends.
    End,
}

impl FromStr for OpenFor {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "end" => Ok(Self::End),
            time => time.parse().map(Self::Time).map_err(|why| format!("{why}, or `end`")),
        }
    }
}

written! {
    OpenFor open => match open {
        Self::Time(time) => time.to_string(),
        Self::End => "end".to_owned(),
    };
}

/// Way in which a connection is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Close {
    /// By FIN, as clients do.
    Fin,
    /// By a reset.
    Reset,
}

/// Default of -c in a closed loop.
const CLOSED_DEFAULT: u32 = 50;
/// Default of -c with --connect and a rate, in addition to the connections that --open-for holds.
const OPEN_DEFAULT: u32 = 1000;
/// Maximum number of held connections that the default allows for: more have to be asked for with -c.
const CHOSEN_MAX: f64 = 20_000.0;

impl PerRequest {
    /// Returns how long each connection is held and how it is closed; `None` without --connect.
    pub(crate) fn plan(&self) -> Option<ConnectionPerRequest> {
        self.connect.then(|| ConnectionPerRequest {
            hold_ns: match self.open_for {
                None => Some(0),
                Some(OpenFor::Time(time)) => Some(time.ns()),
                Some(OpenFor::End) => None,
            },
            reset: self.close == Some(Close::Reset),
        })
    }

    /// The pace with bursts, if they are asked for.
    pub(crate) fn pace(&self, pace: Pace) -> Pace {
        let Some(Count(size @ 1..)) = self.burst else { return pace };
        let schedule = match pace {
            Pace::Open(schedule) => schedule,
            Pace::Closed => Schedule::constant(f64::from(size)),
        };
        Pace::Open(Schedule { arrivals: Arrivals::Bursts(size), ..schedule })
    }

    /// The default of -c, for a run of `requests` or of `length_s` seconds at this pace.
    pub(crate) fn connections(&self, pace: &Pace, requests: Option<u64>, length_s: f64) -> u32 {
        let (true, Some(schedule)) = (self.connect, pace.schedule()) else {
            return CLOSED_DEFAULT;
        };
        let held_s = match self.open_for {
            None => 0.0,
            Some(OpenFor::Time(Seconds(time))) => time.as_secs_f64(),
            Some(OpenFor::End) => f64::INFINITY,
        };
        let held = schedule.peak_per_s() * held_s.min(length_s);
        let held = requests.map_or(held, |requests| held.min(requests as f64));
        let under_way = self.burst.map_or(0, |Count(size)| size).max(OPEN_DEFAULT);
        (f64::from(under_way) + held.min(CHOSEN_MAX)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_without_a_rate_comes_once_a_second() {
        let burst = PerRequest { burst: Some(Count(500)), ..PerRequest::default() };
        let Pace::Open(schedule) = burst.pace(Pace::Closed) else { panic!("an open loop") };
        assert_eq!(schedule.rate_per_s(), Some(500.0));
        assert_eq!(schedule.arrivals, Arrivals::Bursts(500));
        let Pace::Open(schedule) = burst.pace(Pace::constant(100.0)) else { panic!("open") };
        assert_eq!(schedule.rate_per_s(), Some(100.0));
    }

    #[test]
    fn there_are_as_many_connections_as_are_held() {
        let held = |open_for| PerRequest { connect: true, open_for, ..PerRequest::default() };
        let pace = Pace::constant(2000.0);
        assert_eq!(held(None).connections(&Pace::Closed, None, 10.0), 50);
        assert_eq!(held(None).connections(&pace, None, 10.0), 1000);
        let second = Some(OpenFor::Time("1s".parse().unwrap()));
        assert_eq!(held(second).connections(&pace, None, 10.0), 3000);
        assert_eq!(held(Some(OpenFor::End)).connections(&pace, Some(300), 1.0), 1300);
        assert_eq!(held(Some(OpenFor::End)).connections(&pace, None, 1e6), 21_000);
    }
}
