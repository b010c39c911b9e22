//! `--reconnect-on-error` before the first connection: tries again until a server listens.

use std::fmt;
use std::time::{Duration, Instant};

use super::options::Options;

/// No wait is longer, as there.
const LONGEST: Duration = Duration::from_secs(60);

/// Number, pace and end of the tries.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ReconnectOptions {
    /// Unlimited by default.
    attempts: Option<u32>,
    /// Factor by which each wait grows; `None` for equal waits.
    factor: Option<f64>,
    /// Longest time that a run may last.
    limit: Option<Duration>,
    since: Instant,
}

impl ReconnectOptions {
    /// Returns what these options ask for, if a lost connection is opened again.
    pub(super) fn from_options(options: &Options) -> Option<Self> {
        options.reconnect_on_error.then(|| Self {
            attempts: options.reconnect_attempts,
            factor: options.reconnect_backoff_factor,
            limit: options.test_time.map(Duration::from_secs),
            since: Instant::now(),
        })
    }

    /// Returns the wait after `tried` failed attempts, and its log line.
    pub(super) fn after(&self, tried: u32) -> Result<(Duration, String), String> {
        let given_up = |attempts: u32| {
            format!("Maximum reconnection attempts ({attempts}) exceeded for Connection error.\n")
        };
        if let Some(attempts) = self.attempts.filter(|attempts| tried >= *attempts) {
            return Err(given_up(attempts));
        }
        let times = self.factor.map_or(1.0, |factor| factor.powi(tried as i32 + 1));
        let delay = LONGEST.mul_f64((times / LONGEST.as_secs_f64()).min(1.0));
        let left = self.limit.map(|limit| limit.saturating_sub(self.since.elapsed()));
        if left.is_some_and(|left| left.is_zero()) {
            return Err(String::new());
        }
        let next = tried + 1;
        let of: &dyn fmt::Display = match &self.attempts {
            Some(attempts) => &format!("/{attempts}"),
            None => &" (unlimited)",
        };
        let text = format!(
            "Connection error, attempting reconnection {next}{of} in {:.2} seconds...\n",
            delay.as_secs_f64()
        );
        Ok((left.map_or(delay, |left| left.min(delay)), text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(attempts: Option<u32>, factor: Option<f64>, limit: Option<u64>) -> ReconnectOptions {
        let limit = limit.map(Duration::from_secs);
        ReconnectOptions { attempts, factor, limit, since: Instant::now() }
    }

    #[test]
    fn waits_grow_up_to_a_minute_and_end_with_the_attempts() {
        let seconds =
            |waiting: &ReconnectOptions, tried| waiting.after(tried).unwrap().0.as_secs_f64();
        let growing = waiting(None, Some(4.0), None);
        assert_eq!([0, 1, 9].map(|tried| seconds(&growing, tried)), [4.0, 16.0, 60.0]);
        assert!(growing.after(0).unwrap().1.contains("reconnection 1 (unlimited) in 4.00 seconds"));
        let few = waiting(Some(2), None, None);
        assert_eq!(seconds(&few, 1), 1.0);
        assert!(few.after(1).unwrap().1.contains("reconnection 2/2 in 1.00 seconds"));
        assert!(few.after(2).unwrap_err().contains("attempts (2) exceeded"));
    }

    #[test]
    fn no_wait_is_longer_than_the_run() {
        let (wait, text) = waiting(None, Some(9.0), Some(5)).after(0).unwrap();
        assert!(wait <= Duration::from_secs(5) && text.contains("in 9.00 seconds"), "{text}");
        assert!(waiting(None, None, Some(0)).after(0).is_err());
    }
}
