//! `--reconnect-on-error` before the first connection: tries again until a server listens.

use std::time::{Duration, Instant};

use super::options::Options;

/// No wait is longer, as there.
const LONGEST: Duration = Duration::from_secs(60);

/// Returns the wait after `tried` failed attempts since a time, and its log line.
pub(super) fn after(
    options: &Options,
    since: Instant,
    tried: u32,
) -> Result<(Duration, String), String> {
    let most = options.reconnect_attempts;
    if let Some(attempts) = most.filter(|attempts| tried >= *attempts) {
        return Err(format!(
            "Maximum reconnection attempts ({attempts}) exceeded for Connection error.\n"
        ));
    }
    let times =
        options.reconnect_backoff_factor.map_or(1.0, |factor| factor.powi(tried as i32 + 1));
    let delay = LONGEST.mul_f64((times / LONGEST.as_secs_f64()).min(1.0));
    let limit = options.test_time.map(Duration::from_secs);
    let left = limit.map(|limit| limit.saturating_sub(since.elapsed()));
    if left.is_some_and(|left| left.is_zero()) {
        return Err(String::new());
    }
    let (next, seconds) = (tried + 1, delay.as_secs_f64());
    let of = most.map_or(" (unlimited)".to_owned(), |attempts| format!("/{attempts}"));
    let text = format!(
        "Connection error, attempting reconnection {next}{of} in {seconds:.2} seconds...\n"
    );
    Ok((left.map_or(delay, |left| left.min(delay)), text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(attempts: Option<u32>, factor: Option<f64>, limit: Option<u64>) -> Options {
        Options {
            reconnect_attempts: attempts,
            reconnect_backoff_factor: factor,
            test_time: limit,
            ..Options::new()
        }
    }

    fn after(options: &Options, tried: u32) -> Result<(Duration, String), String> {
        super::after(options, Instant::now(), tried)
    }

    #[test]
    fn waits_grow_up_to_a_minute_and_end_with_the_attempts() {
        let seconds = |waiting: &Options, tried| after(waiting, tried).unwrap().0.as_secs_f64();
        let growing = waiting(None, Some(4.0), None);
        assert_eq!([0, 1, 9].map(|tried| seconds(&growing, tried)), [4.0, 16.0, 60.0]);
        assert!(
            after(&growing, 0).unwrap().1.contains("reconnection 1 (unlimited) in 4.00 seconds")
        );
        let few = waiting(Some(2), None, None);
        assert_eq!(seconds(&few, 1), 1.0);
        assert!(after(&few, 1).unwrap().1.contains("reconnection 2/2 in 1.00 seconds"));
        assert!(after(&few, 2).unwrap_err().contains("attempts (2) exceeded"));
    }

    #[test]
    fn no_wait_is_longer_than_the_run() {
        let (wait, text) = after(&waiting(None, Some(9.0), Some(5)), 0).unwrap();
        assert!(wait <= Duration::from_secs(5) && text.contains("in 9.00 seconds"), "{text}");
        assert!(after(&waiting(None, None, Some(0)), 0).is_err());
    }
}
