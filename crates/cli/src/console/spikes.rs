//! Detection of events for a permanent line while a test runs: silences, and intervals far worse than usual.
//!
//! It gets each interval, reads no clock and writes to no terminal.

use std::collections::VecDeque;

/// Number of recent intervals whose median is the usual p99.
const USUAL: usize = 40;
/// Minimum number of intervals for a usual value.
const USUAL_MIN: usize = 8;
/// Minimum ratio of a spike to the usual p99.
const TIMES_USUAL: u64 = 5;
/// Minimum excess of a spike over the usual p99.
const ABOVE_USUAL_NS: u64 = 5_000_000;
/// Length from which a silence gets a line.
const SILENCE_NS: u64 = 1_000_000_000;
/// Intervals after a spike or a silence that belong to it.
const AFTERMATH: u32 = 4;
/// Maximum number of lines of one test.
const LINES_MAX: u32 = 30;

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct IntervalFigures {
    pub(crate) span_ns: u64,
    pub(crate) replies: u64,
    /// Set if requests were in flight or due.
    pub(crate) asked: bool,
    /// The 99th percentile of its response times.
    pub(crate) p99_ns: Option<u64>,
    /// The longest.
    pub(crate) max_ns: Option<u64>,
}

/// The usual p99 of recent intervals, and the length of the present silence.
#[derive(Debug, Default)]
pub(crate) struct Spikes {
    usual: VecDeque<u64>,
    silent_ns: u64,
    silence_shown: bool,
    aftermath: u32,
    shown: u32,
}

impl Spikes {
    /// Adds an interval. Returns the message that it causes, if any.
    pub(crate) fn interval(&mut self, seen: &IntervalFigures) -> Option<String> {
        let line = self.line(seen)?;
        self.shown += 1;
        match self.shown {
            n if n < LINES_MAX => Some(line),
            LINES_MAX => Some(format!("{line}; more of them are not shown")),
            _ => None,
        }
    }

    fn line(&mut self, seen: &IntervalFigures) -> Option<String> {
        if seen.replies == 0 {
            if seen.asked {
                self.silent_ns = self.silent_ns.saturating_add(seen.span_ns);
            }
            let begins = self.silent_ns >= SILENCE_NS && !self.silence_shown;
            self.silence_shown |= begins;
            return begins.then(|| format!("nothing answered for {}", seconds(self.silent_ns)));
        }
        let silent_ns = std::mem::take(&mut self.silent_ns);
        if std::mem::take(&mut self.silence_shown) {
            self.aftermath = AFTERMATH;
            return Some(format!("answers again, after {} of silence", seconds(silent_ns)));
        }
        let p99_ns = seen.p99_ns?;
        let usual_ns = self.usual_ns();
        if self.aftermath > 0 {
            self.aftermath -= 1;
            return None;
        }
        self.usual.push_back(p99_ns);
        if self.usual.len() > USUAL {
            self.usual.pop_front();
        }
        let usual_ns = usual_ns?;
        let spike = p99_ns >= usual_ns.saturating_mul(TIMES_USUAL)
            && p99_ns >= usual_ns.saturating_add(ABOVE_USUAL_NS);
        spike.then(|| {
            self.aftermath = AFTERMATH;
            let [p99, max, usual] = [p99_ns, seen.max_ns.unwrap_or(p99_ns), usual_ns].map(ms);
            format!("spike: p99 {p99} ms, max {max} ms (p99 is usually {usual} ms)")
        })
    }

    fn usual_ns(&self) -> Option<u64> {
        let mut sorted: Vec<u64> = self.usual.iter().copied().collect();
        sorted.sort();
        (sorted.len() >= USUAL_MIN).then(|| sorted[sorted.len() / 2])
    }
}

fn seconds(ns: u64) -> String {
    format!("{:.1} s", ns as f64 / 1e9)
}

fn ms(ns: u64) -> String {
    format!("{:.1}", ns as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(ms: f64) -> IntervalFigures {
        let ns = Some((ms * 1e6) as u64);
        IntervalFigures { span_ns: 250_000_000, replies: 9, asked: true, p99_ns: ns, max_ns: ns }
    }

    fn silent(asked: bool) -> IntervalFigures {
        IntervalFigures { span_ns: 250_000_000, asked, ..IntervalFigures::default() }
    }

    fn lines_of(intervals: impl IntoIterator<Item = IntervalFigures>) -> Vec<String> {
        let mut spikes = Spikes::default();
        intervals.into_iter().filter_map(|seen| spikes.interval(&seen)).collect()
    }

    #[test]
    fn a_spike_is_reported_once_and_no_calm_run_has_one() {
        let calm = || vec![answered(0.4); 20];
        assert_eq!(lines_of(calm()), [""; 0]);
        let slow = [answered(78.2), answered(60.0), answered(50.0)];
        let text = lines_of(calm().into_iter().chain(slow).chain(calm()));
        assert_eq!(text, ["spike: p99 78.2 ms, max 78.2 ms (p99 is usually 0.4 ms)"]);
        assert_eq!(lines_of(calm().into_iter().chain([answered(4.0)])), [""; 0]);
        assert_eq!(lines_of([answered(0.4), answered(99.0)]), [""; 0], "nothing is usual yet");
    }

    #[test]
    fn a_silence_is_reported_when_it_lasts_and_when_it_ends() {
        let before = vec![answered(0.4); 20];
        let silence = vec![silent(true); 6];
        let description =
            lines_of(before.clone().into_iter().chain(silence).chain([answered(1_500.0)]));
        assert_eq!(
            description,
            ["nothing answered for 1.0 s", "answers again, after 1.5 s of silence"]
        );
        let unasked = before.into_iter().chain(vec![silent(false); 20]);
        assert_eq!(lines_of(unasked), [""; 0], "nobody asked");
    }

    #[test]
    fn no_test_fills_the_screen() {
        let storm = (0..400).map(|n| answered(if n % 10 == 9 { 90.0 } else { 0.4 }));
        let lines = lines_of(storm);
        assert_eq!(lines.len(), LINES_MAX as usize);
        assert!(lines.last().unwrap().ends_with("; more of them are not shown"));
    }
}
