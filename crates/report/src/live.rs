//! The line that shows the progress of a run.
//!
//! Owns its wording: that of `redis-benchmark` and `valkey-benchmark`, followed by keystorm's. The caller
//! decides when and where to print it; there is no terminal and no clock here.

use workload::Plan;

use crate::{LiveLine, escape};

/// Unit that a line counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LiveUnit {
    /// Answered requests.
    #[default]
    Request,
    /// Operations that ended, some with several commands.
    Operation,
    /// Messages that a receiver got, sent at a requested `wanted_rps`.
    Message,
}

impl LiveUnit {
    /// Returns the unit of the runs of a plan.
    pub fn from_plan(plan: &Plan) -> Self {
        match plan.counts_operations() {
            true => Self::Operation,
            false if plan.has_receivers() => Self::Message,
            false => Self::Request,
        }
    }

    /// Rate of the unit: `requests/s`.
    pub fn per_second(self) -> &'static str {
        match self {
            Self::Request => "requests/s",
            Self::Operation => "operations/s",
            Self::Message => "deliveries/s",
        }
    }
}

/// Progress of a run. An unknown or infinite figure prints as 0 or not at all.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LiveProgress {
    /// The plan's name, unescaped.
    pub title: String,
    /// Unit of the rate.
    pub unit: LiveUnit,
    /// Set while measuring has yet to begin.
    pub warming_up: bool,
    /// Requests per second since the last line.
    pub interval_rps: Option<f64>,
    /// Requests per second since the start.
    pub overall_rps: Option<f64>,
    /// Mean latency in milliseconds since the last line.
    pub interval_avg_msec: Option<f64>,
    /// Mean latency in milliseconds since the start.
    pub overall_avg_msec: Option<f64>,
    /// Median of the response times since the last line, in milliseconds.
    pub interval_p50_msec: Option<f64>,
    /// 99th percentile of the interval's latencies.
    pub interval_p99_msec: Option<f64>,
    /// The longest response time since the last line, in milliseconds.
    pub interval_max_msec: Option<f64>,
    /// Error replies since the start.
    pub errors: u64,
    /// Requested rate of the schedule at present; `None` without a schedule.
    pub wanted_rps: Option<f64>,
    /// Requests that are due and unsent; `None` without a schedule.
    pub behind: Option<u64>,
    /// Set if the run is limited by time: `elapsed_s` is then shown, otherwise `requests`.
    pub timed: bool,
    /// Requests answered since the start.
    pub requests: u64,
    /// Seconds since the start.
    pub elapsed_s: f64,
    /// Number of the test, from 1.
    pub test_index: u32,
    /// Number of tests of the suite; a single one is not numbered.
    pub test_count: u32,
    /// Completed share of this test, 0 to 1.
    pub share_done: Option<f64>,
    /// Estimated seconds until this test ends.
    pub time_left_s: Option<f64>,
}

/// The line, without a line end or carriage return. Keystorm's own is shortened to the columns of the
/// terminal, since a wrapped line could not be rewritten.
pub fn progress_line(progress: &LiveProgress, kind: LiveLine, columns: Option<usize>) -> String {
    let room = columns.map_or(usize::MAX, |columns| columns - 1);
    let title = format!(
        "{}{}",
        if progress.warming_up { "Warming up " } else { "" },
        escape(&progress.title)
    );
    let means = format!(
        ": rps={:.1} (overall: {:.1}) avg_msec={:.3} (overall: {:.3})",
        figure(progress.interval_rps),
        figure(progress.overall_rps),
        figure(progress.interval_avg_msec),
        figure(progress.overall_avg_msec),
    );
    let done = if progress.timed {
        format!("{:.1} seconds", figure(Some(progress.elapsed_s)))
    } else {
        format!("{} requests", progress.requests)
    };
    let line = match kind {
        LiveLine::Means => title + &means,
        LiveLine::MeansAndDone => format!("{title}{means} {done}"),
        LiveLine::All => {
            // Figures have room to grow, so that none moves while it is read.
            let (now, most) = (now(progress), more(progress, false));
            let means = format!(
                "(overall: {:>8.0}) avg_msec={:>7} (overall: {:>7})",
                figure(progress.overall_rps),
                msec(progress.interval_avg_msec),
                msec(progress.overall_avg_msec),
            );
            let whole = format!("{title}{now} {means} {done} {most}");
            if whole.chars().count() <= room {
                return whole;
            }
            // If space is short, the figures take precedence over the full command, and the backlog over the
            // median.
            let all = format!("{now} {most}");
            let title_min = title.chars().count().min(TITLE_MIN);
            let fits = all.chars().count() + title_min <= room || progress.behind.is_none();
            let rest = if fits { all } else { format!("{now} {}", more(progress, true)) };
            let left = room.saturating_sub(rest.chars().count()).max(TITLE_MIN);
            title.chars().take(left).collect::<String>() + &rest
        }
    };
    line.chars().take(room).collect()
}

/// Characters of a title shown on a terminal of any width.
const TITLE_MIN: usize = 8;

/// `: rps= 9998 of 10000`: achieved and requested rate.
fn now(progress: &LiveProgress) -> String {
    let rate = figure(progress.interval_rps);
    let wanted = finite(progress.wanted_rps);
    let (name, sent) = match progress.unit {
        LiveUnit::Request => ("rps", ""),
        unit @ LiveUnit::Operation => (unit.per_second(), ""),
        unit @ LiveUnit::Message => (unit.per_second(), " messages"),
    };
    let of = wanted.map_or(String::new(), |rps| format!(" of {rps:.0}{sent}"));
    format!(": {name}={rate:>8.0}{of}")
}

/// `p50=  0.391 p99=   1.203 msec behind=0 errors=0 [3/24, 45 %, 12 s left]`; where there is no room, without the
/// median and the remaining time.
fn more(progress: &LiveProgress, is_narrow: bool) -> String {
    let p50 = format!("p50={:>7} ", msec(progress.interval_p50_msec));
    let p50 = if is_narrow { "" } else { &p50 };
    let behind = progress.behind.map_or(String::new(), |count| format!(" behind={count}"));
    format!(
        "{p50}p99={:>8} msec{behind} errors={}{}",
        msec(progress.interval_p99_msec),
        progress.errors,
        outlook(progress, is_narrow),
    )
}

/// A line for a log: the same figures with the time.
pub fn progress_row(progress: &LiveProgress, at: &str) -> String {
    let warming = if progress.warming_up { " (warming up)" } else { "" };
    let behind = progress.behind.map_or(String::new(), |count| format!(", behind {count}"));
    let (wanted, noun) = match (finite(progress.wanted_rps), progress.unit) {
        (None, unit) => (String::new(), unit.per_second()),
        (Some(rps), LiveUnit::Message) => (format!(" deliveries/s of {rps:.0}"), "messages/s"),
        (Some(rps), unit) => (format!(" of {rps:.0}"), unit.per_second()),
    };
    // Rows may come several times a second.
    let elapsed = format!("{:.1}", figure(Some(progress.elapsed_s)));
    format!(
        "{at} {}{warming}: {} s, {:.0}{wanted} {noun}, p50 {} ms, p99 {} ms, max {} ms, \
         errors {}{behind}",
        escape(&progress.title),
        elapsed.trim_end_matches(".0"),
        figure(progress.interval_rps),
        msec(progress.interval_p50_msec),
        msec(progress.interval_p99_msec),
        msec(progress.interval_max_msec),
        progress.errors,
    )
}

fn figure(value: Option<f64>) -> f64 {
    finite(value).unwrap_or_default()
}

/// A latency, if there was a reply.
fn msec(value: Option<f64>) -> String {
    finite(value).map_or("-".to_owned(), |msec| format!("{msec:.3}"))
}

/// Returns the text that blanks a line of this many characters and returns to its start: at least one space, as
/// `redis-benchmark` prints even before its first line.
pub fn cleared(previous_len: usize) -> String {
    format!("{:previous_len$}\r", " ")
}

fn finite(value: Option<f64>) -> Option<f64> {
    value.filter(|v| v.is_finite())
}

/// ` [3/24, 45 %, 12 s left]`, or its known parts.
fn outlook(progress: &LiveProgress, is_narrow: bool) -> String {
    let test = (progress.test_count > 1)
        .then(|| format!("{}/{}", progress.test_index, progress.test_count));
    // Rounded down: nothing that still runs is at 100 %.
    let share = finite(progress.share_done)
        .map(|s| format!("{:.0} %", (s.clamp(0.0, 1.0) * 100.0).floor()));
    let left = finite(progress.time_left_s).filter(|_| !is_narrow).map(time_left);
    let known: Vec<String> = [test, share, left].into_iter().flatten().collect();
    if known.is_empty() { String::new() } else { format!(" [{}]", known.join(", ")) }
}

/// Time in the unit that gives two or three digits, rounded up.
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

    fn progress() -> LiveProgress {
        LiveProgress {
            title: "SET".into(),
            interval_rps: Some(41_579.4),
            overall_rps: Some(41_579.4),
            interval_avg_msec: Some(0.791),
            overall_avg_msec: Some(0.791),
            interval_p50_msec: Some(0.7),
            interval_p99_msec: Some(1.2034),
            requests: 12_345,
            elapsed_s: 1.26,
            ..LiveProgress::default()
        }
    }

    const PEER: &str = "SET: rps=41579.4 (overall: 41579.4) avg_msec=0.791 (overall: 0.791)";

    const OURS: &str = "SET: rps=   41579 (overall:    41579) avg_msec=  0.791 (overall:   0.791)";

    const MORE: &str = "p50=  0.700 p99=   1.203 msec errors=0";

    fn ours(progress: &LiveProgress) -> String {
        progress_line(progress, LiveLine::All, None)
    }

    #[test]
    fn deliveries_are_called_so() {
        let of = LiveProgress { unit: LiveUnit::Message, wanted_rps: Some(5_000.0), ..progress() };
        let line = ours(&of);
        assert!(line.starts_with("SET: deliveries/s=   41579 of 5000 messages "), "{line}");
        let row = progress_row(&of, "14:03:22");
        assert!(row.contains(" s, 41579 deliveries/s of 5000 messages/s, p50 "), "{row}");
        let row = progress_row(&LiveProgress { wanted_rps: None, ..of }, "14:03:22");
        assert!(row.contains(" s, 41579 deliveries/s, p50 "), "{row}");
    }

    #[test]
    fn the_line_of_a_peer_is_its_own() {
        let of = |progress: &LiveProgress, whose| progress_line(progress, whose, None);
        assert_eq!(of(&progress(), crate::REDIS_BENCHMARK.live), PEER);
        assert_eq!(of(&progress(), crate::VALKEY_BENCHMARK.live), format!("{PEER} 12345 requests"));
        let timed = LiveProgress { timed: true, warming_up: true, ..progress() };
        assert_eq!(
            of(&timed, crate::VALKEY_BENCHMARK.live),
            format!("Warming up {PEER} 1.3 seconds")
        );
        assert_eq!(
            progress_line(&timed, crate::REDIS_BENCHMARK.live, Some(21)),
            "Warming up SET: rps="
        );
    }

    #[test]
    fn ours_has_more_to_say() {
        assert_eq!(ours(&progress()), format!("{OURS} 12345 requests {MORE}"));
        let timed = LiveProgress { timed: true, errors: 7, ..progress() };
        assert_eq!(ours(&timed), format!("{OURS} 1.3 seconds {}7", MORE.trim_end_matches('0')));
    }

    #[test]
    fn without_a_reply_there_is_no_latency() {
        let silent = LiveProgress {
            interval_rps: Some(0.0),
            interval_avg_msec: None,
            interval_p50_msec: None,
            interval_p99_msec: None,
            interval_max_msec: None,
            ..progress()
        };
        let row = "12:00:00 SET: 1.3 s, 0 requests/s, p50 - ms, p99 - ms, max - ms, errors 0";
        assert_eq!(progress_row(&silent, "12:00:00"), row);
        let line = ours(&silent);
        assert!(line.contains(" p50=      - p99=       - msec "), "{line}");
        assert!(!line.contains("0.000"), "{line}");
        let whole = LiveProgress { elapsed_s: 2.0, ..silent };
        assert!(progress_row(&whole, "12:00:00").contains(": 2 s, 0 "));
    }

    #[test]
    fn what_is_known_of_the_rest_follows() {
        let known = LiveProgress {
            test_index: 3,
            test_count: 24,
            share_done: Some(0.459),
            time_left_s: Some(11.2),
            ..progress()
        };
        assert!(ours(&known).ends_with(" errors=0 [3/24, 45 %, 12 s left]"));
        let single =
            LiveProgress { test_index: 1, test_count: 1, time_left_s: None, ..known.clone() };
        assert!(ours(&single).ends_with(" errors=0 [45 %]"));
        let long = LiveProgress { time_left_s: Some(4000.0), ..known };
        assert!(ours(&long).ends_with(", 67 min left]"));
    }

    #[test]
    fn what_is_wanted_and_what_is_behind_stand_beside_what_is_achieved() {
        let open = LiveProgress { wanted_rps: Some(50_000.0), behind: Some(8_421), ..progress() };
        let line = progress_line(&open, LiveLine::All, Some(80));
        assert_eq!(
            line,
            "SET: rps=   41579 of 50000 p50=  0.700 p99=   1.203 msec behind=8421 errors=0"
        );
        let share_done = Some(0.5);
        let narrow = LiveProgress { share_done, time_left_s: Some(9.0), ..open.clone() };
        let line = progress_line(&narrow, LiveLine::All, Some(80));
        let text = "SET: rps=   41579 of 50000 p99=   1.203 msec behind=8421 errors=0 [50 %]";
        assert_eq!(line, text);
        let row = progress_row(&LiveProgress { interval_max_msec: Some(9.5), ..open }, "14:03:22");
        let text = "14:03:22 SET: 1.3 s, 41579 of 50000 requests/s, p50 0.700 ms, p99 1.203 ms, max \
            9.500 ms, errors 0, behind 8421";
        assert_eq!(row, text);
    }

    #[test]
    fn ours_keeps_its_width_while_figures_grow() {
        let width = |rps: f64, ms: f64| {
            let grown = LiveProgress {
                interval_rps: Some(rps),
                overall_rps: Some(rps),
                interval_avg_msec: Some(ms),
                interval_p50_msec: Some(ms),
                interval_p99_msec: Some(ms),
                ..progress()
            };
            ours(&grown).chars().count()
        };
        assert_eq!(width(9.0, 0.1), width(9_999_999.0, 999.0));
    }

    #[test]
    fn a_narrow_terminal_gets_the_figures() {
        let share_done = Some(0.5);
        let title = "set user:__rand_int__ ".repeat(9);
        let long = LiveProgress { title, share_done, ..progress() };
        let line = progress_line(&long, LiveLine::All, Some(80));
        assert_eq!(line.chars().count(), 79, "{line}");
        assert!(line.starts_with("set user:__rand_int: "), "{line}");
        assert!(line.ends_with(&format!(": rps=   41579 {MORE} [50 %]")), "{line}");
        let short = progress_line(&progress(), LiveLine::All, Some(80));
        assert_eq!(short, format!("SET: rps=   41579 {MORE}"));
        assert_eq!(progress_line(&long, LiveLine::All, Some(12)), "set user: r");
    }

    #[test]
    fn no_figure_is_infinite_or_not_a_number() {
        let first = LiveProgress {
            interval_rps: Some(f64::INFINITY),
            overall_rps: Some(f64::NAN),
            interval_avg_msec: None,
            overall_avg_msec: Some(f64::NEG_INFINITY),
            interval_p50_msec: None,
            interval_p99_msec: Some(f64::NAN),
            share_done: Some(f64::NAN),
            time_left_s: Some(f64::INFINITY),
            requests: 0,
            ..progress()
        };
        assert_eq!(
            ours(&first),
            "SET: rps=       0 (overall:        0) avg_msec=      - (overall:       -) 0 requests \
             p50=      - p99=       - msec errors=0"
        );
    }

    #[test]
    fn a_title_moves_no_cursor() {
        let hostile = LiveProgress { title: "a\x1b[2J\r".into(), ..progress() };
        assert!(ours(&hostile).starts_with("a\\x1b[2J\\r: rps="));
    }

    #[test]
    fn a_line_is_blanked_to_its_length() {
        assert_eq!(cleared(0), " \r");
        assert_eq!(cleared(3), "   \r");
    }
}
