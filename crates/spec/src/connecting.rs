//! Explicit control of when connections are opened, closed and reopened.

use clap::Args;
use naming::{
    KEEP_ALIVE, RECONNECT, RECONNECT_TIMEOUT, RECONNECT_TRIES, RECONNECT_WAIT,
    REQUESTS_PER_CONNECTION, Text, text,
};
use serde::{Deserialize, Serialize};
use workload::{Backoff, Concurrency, JoinSchedule, ReconnectLimits, Spacing};

use crate::values::{Count, Milliseconds, Positive};

/// The options of when connections are opened and closed.
#[derive(Debug, Clone, Default, Args, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct ConnectionOptions {
    /// Let connections join the load: 1+2/5s starts each thread with one connection and adds two every
    /// 5 s [default: all carry load from the start]
    #[arg(long, hide = true, value_name = "FIRST+STEP/TIME")]
    #[serde(with = "crate::text")]
    pub join: Option<JoinSchedule>,
    /// Wait this long between opening two connections of a thread, or a random time in a range, such
    /// as 1ms..5ms [default: 0]
    #[arg(long, hide = true, value_name = "TIME")]
    #[serde(with = "crate::text")]
    pub connect_spacing: Option<Spacing>,
    /// Closed loop: after its replies, each connection waits this long before it sends again, as a user who reads;
    /// without a unit, milliseconds [default: 0]
    #[arg(long, value_name = "TIME", conflicts_with_all = ["rate", "burst", "connect"])]
    pub think_time: Option<Milliseconds>,
    /// With -k 0, how many requests a connection sends before it is closed [default: one pipeline]
    #[arg(long, hide = true, value_name = "N")]
    pub requests_per_connection: Option<Positive>,
    /// Close and reopen this many connections per second, in turn, each once its replies are in
    /// [default: 0]
    #[arg(long, hide = true, value_name = "RATE")]
    pub renew: Option<Count<u32>>,
    /// Wait before a lost connection is reopened; without a unit, milliseconds. Each further wait is
    /// FACTOR times as long, up to LONGEST [default: soon, and later each time up to 1 s]
    #[arg(long, hide = true, value_name = "FIRST[,FACTOR[,LONGEST]]")]
    #[serde(with = "crate::text")]
    pub reconnect_wait: Option<Backoff>,
    /// Failed attempts to reopen a connection in a row after which the run ends [default: no limit]
    #[arg(long, hide = true, value_name = "N")]
    pub reconnect_tries: Option<Count<u32>>,
    /// Time limit for an attempt to reopen a connection, with its login; without a unit, milliseconds
    #[arg(long, hide = true, value_name = "TIME")]
    pub reconnect_timeout: Option<Milliseconds>,
}

impl ConnectionOptions {
    /// Checks that its options go with the rest of a load.
    ///
    /// # Errors
    /// Returns an error if an option has no effect.
    pub(crate) fn check(&self, keep_alive: bool, reconnect: bool) -> Result<(), Text> {
        if self.requests_per_connection.is_some() && keep_alive {
            return Err(text!("{REQUESTS_PER_CONNECTION} requires {KEEP_ALIVE} 0"));
        }
        let of_reconnect = [
            (RECONNECT_WAIT, self.reconnect_wait.is_some()),
            (RECONNECT_TRIES, self.reconnect_tries.is_some()),
            (RECONNECT_TIMEOUT, self.reconnect_timeout.is_some()),
        ];
        match of_reconnect.into_iter().find(|(_, given)| *given && !reconnect) {
            Some((option, _)) => Err(text!("{option} requires {RECONNECT} yes")),
            None => Ok(()),
        }
    }

    /// Returns `concurrency` with connections opened and closed as the options say.
    pub(crate) fn apply_to(&self, concurrency: Concurrency) -> Concurrency {
        Concurrency {
            requests_each: self.requests_per_connection.map_or(0, |Positive(each)| each),
            renewed_per_s: self.renew.map_or(0, |Count(rate)| rate),
            think_ns: self.think_time.map_or(0, Milliseconds::ns),
            joining: self.join,
            spacing: self.connect_spacing,
            ..concurrency
        }
    }

    /// Returns how long a lost connection waits before each attempt.
    pub(crate) fn backoff(&self) -> Option<Backoff> {
        self.reconnect_wait
    }

    /// Returns how long and how often opening a lost connection is tried.
    pub(crate) fn reopening(&self) -> ReconnectLimits {
        ReconnectLimits {
            within_ns: self.reconnect_timeout.map(Milliseconds::ns),
            tries: self.reconnect_tries.map(|Count(tries)| tries),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_change_nothing_is_refused() {
        let none = ConnectionOptions::default;
        assert_eq!(none().check(true, false), Ok(()));
        let several = ConnectionOptions { requests_per_connection: Some(Positive(2)), ..none() };
        assert!(several.check(true, false).unwrap_err().to_string().contains("-k 0"));
        assert_eq!(several.check(false, false), Ok(()));
        let tries = ConnectionOptions { reconnect_tries: Some(Count(2)), ..none() };
        assert!(tries.check(true, false).unwrap_err().to_string().contains("--reconnect yes"));
        assert_eq!(tries.check(true, true), Ok(()));
    }
}
