//! Shifting of absolute times in commands. Recorded deadlines lie in the past when they are sent again, and
//! would remove the keys they are set on.

/// Lifetimes in seconds above this number are times of day to memcached.
const RELATIVE_MAX_S: u64 = workload::cache_words::LIFETIME_MAX_S;

/// A deadline, shifted to lie as far after `sent_ns` as it lay after the time of recording, `at_ns`; both
/// count from 1970. `None` if the text is no number.
pub(crate) fn shifted(text: &[u8], unit_ns: u64, at_ns: u64, sent_ns: u64) -> Option<i64> {
    let recorded: i64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    let shift = (i128::from(sent_ns) - i128::from(at_ns)) / i128::from(unit_ns);
    i64::try_from(i128::from(recorded) + shift).ok()
}

/// Returns whether memcached takes a lifetime for a time of day.
pub(crate) fn is_time_of_day(expiry: &[u8]) -> bool {
    let seconds = std::str::from_utf8(expiry).ok().and_then(|text| text.parse::<u64>().ok());
    seconds.is_some_and(|seconds| seconds > RELATIVE_MAX_S)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;
    const MS_NS: u64 = 1_000_000;

    #[test]
    fn a_deadline_is_as_far_ahead_as_it_was() {
        let hour = 3600 * SECOND_NS;
        assert_eq!(
            shifted(b"1000", SECOND_NS, 990 * SECOND_NS, 990 * SECOND_NS + hour),
            Some(4600)
        );
        assert_eq!(shifted(b"1000000", MS_NS, 990 * SECOND_NS, 0), Some(10_000));
        assert_eq!(shifted(b"x", MS_NS, 0, 0), None);
        assert!(shifted(b"9223372036854775807", MS_NS, 0, hour).is_none());
    }
}
