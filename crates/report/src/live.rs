//! The line that says how a run is going.
//!
//! Owns its wording, which is that of `redis-benchmark` and `valkey-benchmark` and then ours. When
//! to print it, where, and whether anybody is watching is left to the caller: there is no terminal
//! and no clock here.

use crate::escape;

/// How far a run is. A figure that is not known, or not finite, prints as 0 or not at all.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Progress {
    /// The plan's name, unescaped.
    pub title: String,
    /// Whether measuring has yet to begin.
    pub warming_up: bool,
    /// Requests per second since the last line.
    pub interval_rps: Option<f64>,
    /// Requests per second since the start.
    pub overall_rps: Option<f64>,
    /// Mean latency in milliseconds since the last line.
    pub interval_avg_msec: Option<f64>,
    /// Mean latency in milliseconds since the start.
    pub overall_avg_msec: Option<f64>,
    /// Whether the run is planned by time: then `elapsed_s` is shown, else `requests`.
    pub timed: bool,
    /// Requests answered since the start.
    pub requests: u64,
    /// Seconds since the start.
    pub elapsed_s: f64,
    /// Number of the test, from 1.
    pub test_index: u32,
    /// Tests of the suite; a single one is not numbered.
    pub test_count: u32,
    /// Share of this test that is done, 0 to 1.
    pub share_done: Option<f64>,
    /// Seconds until this test ends, as far as one can tell.
    pub time_left_s: Option<f64>,
}

/// The line, without a line end or carriage return.
#[must_use]
pub fn progress_line(progress: &Progress) -> String {
    let figure = |value: Option<f64>| finite(value).unwrap_or_default();
    let done = if progress.timed {
        format!("{:.1} seconds", figure(Some(progress.elapsed_s)))
    } else {
        format!("{} requests", progress.requests)
    };
    format!(
        "{}{}: rps={:.1} (overall: {:.1}) avg_msec={:.3} (overall: {:.3}) {done}{}",
        if progress.warming_up { "Warming up " } else { "" },
        escape(&progress.title),
        figure(progress.interval_rps),
        figure(progress.overall_rps),
        figure(progress.interval_avg_msec),
        figure(progress.overall_avg_msec),
        outlook(progress),
    )
}

/// What blanks a line of so many characters and returns to its start: at least one space, as
/// `redis-benchmark` prints even before its first line.
#[must_use]
pub fn cleared(previous_len: usize) -> String {
    format!("{:previous_len$}\r", " ")
}

fn finite(value: Option<f64>) -> Option<f64> {
    value.filter(|v| v.is_finite())
}

/// ` [3/24, 45 %, 12 s left]`, or as much of it as is known.
fn outlook(progress: &Progress) -> String {
    let test = (progress.test_count > 1)
        .then(|| format!("{}/{}", progress.test_index, progress.test_count));
    // Rounded down: 100 % is said of nothing that still runs.
    let share = finite(progress.share_done)
        .map(|s| format!("{:.0} %", (s.clamp(0.0, 1.0) * 100.0).floor()));
    let left = finite(progress.time_left_s).map(time_left);
    let known: Vec<String> = [test, share, left].into_iter().flatten().collect();
    if known.is_empty() { String::new() } else { format!(" [{}]", known.join(", ")) }
}

/// In the unit that leaves two or three digits, rounded up.
fn time_left(seconds: f64) -> String {
    let (amount, unit) = match seconds.max(0.0) {
        s if s <= 180.0 => (s, "s"),
        s if s <= 180.0 * 60.0 => (s / 60.0, "min"),
        s => (s / 3600.0, "h"),
    };
    format!("{:.0} {unit} left", amount.ceil())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress() -> Progress {
        Progress {
            title: "SET".into(),
            interval_rps: Some(41_579.4),
            overall_rps: Some(41_579.4),
            interval_avg_msec: Some(0.791),
            overall_avg_msec: Some(0.791),
            requests: 12_345,
            elapsed_s: 1.26,
            ..Progress::default()
        }
    }

    const PEER: &str = "SET: rps=41579.4 (overall: 41579.4) avg_msec=0.791 (overall: 0.791)";

    #[test]
    fn the_line_is_that_of_the_peers() {
        assert_eq!(progress_line(&progress()), format!("{PEER} 12345 requests"));
        let timed = Progress { timed: true, warming_up: true, ..progress() };
        assert_eq!(progress_line(&timed), format!("Warming up {PEER} 1.3 seconds"));
    }

    #[test]
    fn what_is_known_of_the_rest_follows() {
        let known = Progress {
            test_index: 3,
            test_count: 24,
            share_done: Some(0.459),
            time_left_s: Some(11.2),
            ..progress()
        };
        assert!(progress_line(&known).ends_with(" requests [3/24, 45 %, 12 s left]"));
        let single = Progress { test_index: 1, test_count: 1, time_left_s: None, ..known.clone() };
        assert!(progress_line(&single).ends_with(" requests [45 %]"));
        let long = Progress { time_left_s: Some(4000.0), ..known };
        assert!(progress_line(&long).ends_with(", 67 min left]"));
    }

    #[test]
    fn no_figure_is_infinite_or_not_a_number() {
        let first = Progress {
            interval_rps: Some(f64::INFINITY),
            overall_rps: Some(f64::NAN),
            interval_avg_msec: None,
            overall_avg_msec: Some(f64::NEG_INFINITY),
            share_done: Some(f64::NAN),
            time_left_s: Some(f64::INFINITY),
            requests: 0,
            ..progress()
        };
        assert_eq!(
            progress_line(&first),
            "SET: rps=0.0 (overall: 0.0) avg_msec=0.000 (overall: 0.000) 0 requests"
        );
    }

    #[test]
    fn a_title_moves_no_cursor() {
        let hostile = Progress { title: "a\x1b[2J\r".into(), ..progress() };
        assert!(progress_line(&hostile).starts_with("a\\x1b[2J\\r: rps="));
    }

    #[test]
    fn a_line_is_blanked_to_its_length() {
        assert_eq!(cleared(0), " \r");
        assert_eq!(cleared(3), "   \r");
    }
}
