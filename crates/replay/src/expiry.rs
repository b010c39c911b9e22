//! Absolute times in commands: recorded, they are past when they are sent again, and would remove what they set.

use trace::Event;

/// Which argument is an absolute time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Deadline {
    pub(crate) at: usize,
    /// Nanoseconds of its unit.
    pub(crate) unit_ns: u64,
}

const SECOND_NS: u64 = 1_000_000_000;
const MS_NS: u64 = 1_000_000;
/// Lifetimes above this are times of day to memcached, in seconds.
const RELATIVE_MAX_S: u64 = workload::cache_words::LIFETIME_MAX_S;

/// The absolute time that a command sets, if it sets one.
pub(crate) fn deadline(event: &Event) -> Option<Deadline> {
    let first = event.name().first()?.to_ascii_uppercase();
    let (at, unit_ns) = match first {
        b'E' if event.is("EXPIREAT") => (2, SECOND_NS),
        b'P' if event.is("PEXPIREAT") => (2, MS_NS),
        b'H' if event.is("HEXPIREAT") => (2, SECOND_NS),
        b'H' if event.is("HPEXPIREAT") => (2, MS_NS),
        b'H' if event.is("HSETEX") || event.is("HGETEX") => option(event)?,
        b'S' | b'G' if event.is("SET") || event.is("GETEX") => option(event)?,
        b'R' if event.is("RESTORE") => {
            let is_absolute = (4..event.len()).any(|at| is_word(event, at, "ABSTTL"));
            is_absolute.then_some((2, MS_NS))?
        }
        _ => return None,
    };
    (at < event.len()).then_some(Deadline { at, unit_ns })
}

fn is_word(event: &Event, at: usize, word: &str) -> bool {
    event.bytes(at).eq_ignore_ascii_case(word.as_bytes())
}

fn option(event: &Event) -> Option<(usize, u64)> {
    let first = if event.is("SET") { 3 } else { 2 };
    // Fields may have any name.
    let mut options = (first..event.len()).take_while(|at| !is_word(event, *at, "FIELDS"));
    options.find_map(|at| match () {
        () if is_word(event, at, "EXAT") => Some((at + 1, SECOND_NS)),
        () if is_word(event, at, "PXAT") => Some((at + 1, MS_NS)),
        () => None,
    })
}

/// The number of a deadline, as late after `sent_ns` as it was after the command was recorded at `at_ns`; both are from
/// 1970. `None` if it is no number.
pub(crate) fn shifted(text: &[u8], unit_ns: u64, at_ns: u64, sent_ns: u64) -> Option<i64> {
    let recorded: i64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    let shift = (i128::from(sent_ns) - i128::from(at_ns)) / i128::from(unit_ns);
    i64::try_from(i128::from(recorded) + shift).ok()
}

/// Whether memcached takes a lifetime for a time of day.
pub(crate) fn is_time_of_day(expiry: &[u8]) -> bool {
    let seconds = std::str::from_utf8(expiry).ok().and_then(|text| text.parse::<u64>().ok());
    seconds.is_some_and(|seconds| seconds > RELATIVE_MAX_S)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[&str]) -> Option<(usize, u64)> {
        let mut event = Event::default();
        words.iter().for_each(|word| event.push(word.as_bytes()));
        deadline(&event).map(|deadline| (deadline.at, deadline.unit_ns))
    }

    #[test]
    fn absolute_times_are_found_and_relative_ones_left() {
        assert_eq!(of(&["expireat", "k", "1"]), Some((2, SECOND_NS)));
        assert_eq!(of(&["PEXPIREAT", "k", "1"]), Some((2, MS_NS)));
        assert_eq!(of(&["SET", "k", "v", "NX", "exat", "9"]), Some((5, SECOND_NS)));
        assert_eq!(of(&["SET", "k", "EXAT"]), None);
        assert_eq!(of(&["SET", "k", "v", "EX", "9"]), None);
        assert_eq!(of(&["GETEX", "k", "PXAT", "9"]), Some((3, MS_NS)));
        assert_eq!(of(&["GETEX", "k", "PXAT"]), None);
        assert_eq!(of(&["HSETEX", "h", "PXAT", "9", "FIELDS", "1", "f", "v"]), Some((3, MS_NS)));
        assert_eq!(of(&["HGETEX", "h", "FIELDS", "2", "EXAT", "7"]), None);
        assert_eq!(of(&["RESTORE", "k", "5", "x", "ABSTTL"]), Some((2, MS_NS)));
        assert_eq!(of(&["RESTORE", "k", "5", "x"]), None);
        assert_eq!(of(&[]), None);
    }

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
