//! Moments of a run as UTC wall-clock times, for a reader of a server's log.

use std::time::{Duration, SystemTime};

/// The last second whose year has four digits.
const YEAR_9999_S: u64 = 253_402_300_799;

/// UTC time of day of a moment `after_ns` nanoseconds after `start`, to the millisecond: `14:03:22.150`.
pub fn wall_clock(start: SystemTime, after_ns: u64) -> String {
    let written = wall_clock_rfc3339(start, after_ns);
    let time = written.split_once('T').map_or(written.as_str(), |(_, time)| time);
    time.trim_end_matches('Z').to_owned()
}

/// Returns the time to the second: `14:03:22`.
pub fn wall_clock_s(start: SystemTime, after_ns: u64) -> String {
    let time = wall_clock(start, after_ns);
    time.split_once('.').map_or(time.clone(), |(whole, _)| whole.to_owned())
}

/// Date and time: `2026-11-23T14:03:22.150Z`.
pub fn wall_clock_rfc3339(start: SystemTime, after_ns: u64) -> String {
    humantime::format_rfc3339_millis(moment(start, after_ns)).to_string()
}

/// A moment of a run. Times that no calendar has, from a broken clock or a hand-written file, are clamped.
pub(crate) fn moment(start: SystemTime, after_ns: u64) -> SystemTime {
    let since = start.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let since = since.saturating_add(Duration::from_nanos(after_ns));
    SystemTime::UNIX_EPOCH + since.min(Duration::from_secs(YEAR_9999_S))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_reported_by_the_clock_on_the_wall() {
        let start = SystemTime::UNIX_EPOCH + Duration::from_millis(86_399_500);
        assert_eq!(wall_clock(start, 150_000_000), "23:59:59.650");
        assert_eq!(wall_clock(start, 1_500_000_000), "00:00:01.000");
        assert_eq!(wall_clock_s(start, 499_999_999), "23:59:59");
        assert_eq!(wall_clock_s(SystemTime::UNIX_EPOCH, u64::MAX).len(), 8);
        let far = SystemTime::UNIX_EPOCH + Duration::from_secs(YEAR_9999_S);
        assert_eq!(wall_clock_s(far, u64::MAX), "23:59:59");
    }
}
