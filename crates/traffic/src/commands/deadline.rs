//! Absolute times in commands.

use crate::Event;

/// Position and unit of an argument that is an absolute time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline {
    /// Position of the argument.
    pub at: usize,
    /// Length of its unit in nanoseconds.
    pub unit_ns: u64,
}

const SECOND_NS: u64 = 1_000_000_000;
const MS_NS: u64 = 1_000_000;

/// The absolute time that a command sets, if it sets one.
pub fn deadline(event: &Event) -> Option<Deadline> {
    let first = event.name().first()?.to_ascii_uppercase();
    let (at, unit_ns) = match first {
        b'E' if event.is("EXPIREAT") => (2, SECOND_NS),
        b'P' if event.is("PEXPIREAT") => (2, MS_NS),
        b'H' if event.is("HEXPIREAT") => (2, SECOND_NS),
        b'H' if event.is("HPEXPIREAT") => (2, MS_NS),
        b'H' if event.is("HSETEX") || event.is("HGETEX") => option(event)?,
        b'S' | b'G' if event.is("SET") || event.is("GETEX") => option(event)?,
        b'R' if event.is("RESTORE") => {
            let is_absolute = (4..event.len()).any(|at| event.is_one_of(at, &["ABSTTL"]));
            is_absolute.then_some((2, MS_NS))?
        }
        _ => return None,
    };
    (at < event.len()).then_some(Deadline { at, unit_ns })
}

fn option(event: &Event) -> Option<(usize, u64)> {
    let first = if event.is("SET") { 3 } else { 2 };
    // Fields may have any name.
    let mut options = (first..event.len()).take_while(|at| !event.is_one_of(*at, &["FIELDS"]));
    options.find_map(|at| match () {
        () if event.is_one_of(at, &["EXAT"]) => Some((at + 1, SECOND_NS)),
        () if event.is_one_of(at, &["PXAT"]) => Some((at + 1, MS_NS)),
        () => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deadline_in(words: &[&str]) -> Option<(usize, u64)> {
        let mut event = Event::default();
        words.iter().for_each(|word| event.push(word.as_bytes()));
        deadline(&event).map(|deadline| (deadline.at, deadline.unit_ns))
    }

    #[test]
    fn absolute_times_are_found_and_relative_ones_left() {
        assert_eq!(deadline_in(&["expireat", "k", "1"]), Some((2, SECOND_NS)));
        assert_eq!(deadline_in(&["PEXPIREAT", "k", "1"]), Some((2, MS_NS)));
        assert_eq!(deadline_in(&["SET", "k", "v", "NX", "exat", "9"]), Some((5, SECOND_NS)));
        assert_eq!(deadline_in(&["SET", "k", "EXAT"]), None);
        assert_eq!(deadline_in(&["SET", "k", "v", "EX", "9"]), None);
        assert_eq!(deadline_in(&["GETEX", "k", "PXAT", "9"]), Some((3, MS_NS)));
        assert_eq!(deadline_in(&["GETEX", "k", "PXAT"]), None);
        assert_eq!(
            deadline_in(&["HSETEX", "h", "PXAT", "9", "FIELDS", "1", "f", "v"]),
            Some((3, MS_NS))
        );
        assert_eq!(deadline_in(&["HGETEX", "h", "FIELDS", "2", "EXAT", "7"]), None);
        assert_eq!(deadline_in(&["RESTORE", "k", "5", "x", "ABSTTL"]), Some((2, MS_NS)));
        assert_eq!(deadline_in(&["RESTORE", "k", "5", "x"]), None);
        assert_eq!(deadline_in(&[]), None);
    }
}
