//! When connections are opened, closed and opened again, where that is not left to keystorm.

use std::time::Duration;

use clap::Args;
use workload::{Backoff, Concurrency, JoinSchedule, ReconnectLimits, Spacing};

use super::values::{count_in, milliseconds, nanoseconds, small_count};

/// The options of when connections are opened and closed.
#[derive(Debug, Default, Args)]
pub(super) struct ConnectionOptions {
    /// Let connections join the load: 1+2/5s starts each thread with one connection and adds two every
    /// 5 s [default: all carry load from the start]
    #[arg(long, hide = true, value_name = "FIRST+STEP/TIME")]
    join: Option<JoinSchedule>,
    /// Wait this long between opening two connections of a thread, or a random time in a range, such
    /// as 1ms..5ms [default: 0]
    #[arg(long, hide = true, value_name = "TIME")]
    connect_spacing: Option<Spacing>,
    /// With -k 0, how many requests a connection sends before it is closed [default: one pipeline]
    #[arg(long, hide = true, value_name = "N", value_parser = count_in(1..=u32::MAX))]
    requests_per_connection: Option<u32>,
    /// Close and reopen this many connections per second, in turn, each once its replies are in
    /// [default: 0]
    #[arg(long, hide = true, value_name = "RATE", value_parser = small_count)]
    renew: Option<u32>,
    /// Wait before a lost connection is reopened; without a unit, milliseconds. Each further wait is
    /// FACTOR times as long, up to LONGEST [default: soon, and later each time up to 1 s]
    #[arg(long, hide = true, value_name = "FIRST[,FACTOR[,LONGEST]]")]
    reconnect_wait: Option<Backoff>,
    /// Failed attempts to reopen a connection in a row after which the run ends [default: no limit]
    #[arg(long, hide = true, value_name = "N", value_parser = small_count)]
    reconnect_tries: Option<u32>,
    /// Time limit for an attempt to reopen a connection, with its login; without a unit, milliseconds
    #[arg(long, hide = true, value_name = "TIME", value_parser = milliseconds)]
    reconnect_timeout: Option<Duration>,
}

impl ConnectionOptions {
    /// What does not go with the rest of a load.
    ///
    /// # Errors
    /// An option that changes nothing.
    pub(super) fn check(&self, keep_alive: bool, reconnect: bool) -> Result<(), String> {
        if self.requests_per_connection.is_some() && keep_alive {
            return Err("--set requests-per-connection requires -k 0".to_owned());
        }
        let of_reconnect = [
            ("reconnect-wait", self.reconnect_wait.is_some()),
            ("reconnect-tries", self.reconnect_tries.is_some()),
            ("reconnect-timeout", self.reconnect_timeout.is_some()),
        ];
        match of_reconnect.into_iter().find(|(_, given)| *given && !reconnect) {
            Some((name, _)) => Err(format!("--set {name} requires --reconnect yes")),
            None => Ok(()),
        }
    }

    /// The same connections, opened and closed as it says.
    pub(super) fn of(&self, concurrency: Concurrency) -> Concurrency {
        Concurrency {
            requests_each: self.requests_per_connection.unwrap_or(0),
            renewed_per_s: self.renew.unwrap_or(0),
            joining: self.join,
            spacing: self.connect_spacing,
            ..concurrency
        }
    }

    /// How long a lost connection waits before each attempt.
    pub(super) fn backoff(&self) -> Option<Backoff> {
        self.reconnect_wait
    }

    /// How long and how often opening it is tried.
    pub(super) fn reopening(&self) -> ReconnectLimits {
        ReconnectLimits {
            within_ns: self.reconnect_timeout.map(nanoseconds),
            tries: self.reconnect_tries,
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
        let several = ConnectionOptions { requests_per_connection: Some(2), ..none() };
        assert!(several.check(true, false).unwrap_err().contains("-k 0"));
        assert_eq!(several.check(false, false), Ok(()));
        let tries = ConnectionOptions { reconnect_tries: Some(2), ..none() };
        assert!(tries.check(true, false).unwrap_err().contains("--reconnect yes"));
        assert_eq!(tries.check(true, true), Ok(()));
    }
}
