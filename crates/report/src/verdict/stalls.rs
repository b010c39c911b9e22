//! What servers recorded of standing still during a run: slow commands and forks, each with the place in the run
//! where the client saw it.
//!
//! `SLOWLOG` tells the second in which a command ended. Where in that second it was is known from the responses that
//! had to wait for it. Its times are of the clock on the wall, and hold the server's own waits for a CPU.

use host::{JournalEntry, JournalKind};

use super::noise::SpanResponses;
use crate::journal_entries::at_unix_s;
use crate::{Run, machine_course};

/// Something for which a server stood still.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stall<'r> {
    /// Entry that the server recorded.
    pub(crate) entry: &'r JournalEntry,
    /// Earliest beginning, in nanoseconds from the start of the measured part.
    pub(crate) from_ns: f64,
    /// Latest end, in nanoseconds from the start of the measured part.
    pub(crate) to_ns: f64,
    /// For how long it lasted.
    pub(crate) length_ns: f64,
}

/// A response that waited for all of it is as long as this part of it at least: clocks and histograms differ a little.
const SEEN: f64 = 0.9;
/// The client of a command within a script.
const SCRIPT: &str = "?:0";
/// Clocks of two programs agree to some milliseconds.
const CLOCKS_NS: f64 = 1e7;

/// Returns the entries that the servers recorded of a run, each once: a command within a script or transaction of the
/// same client is a part of that.
pub(crate) fn stalls(run: &Run) -> Vec<Stall<'_>> {
    let elapsed_ns = run.measurement.elapsed_ns as f64;
    let mut all = Vec::new();
    for journal in run.watched.servers.iter().filter_map(|server| server.journal.as_ref()) {
        let start_s = at_unix_s(run, journal, 0);
        let stops = |entry: &&JournalEntry| {
            matches!(entry.kind, JournalKind::SlowCommand | JournalKind::Fork)
        };
        let of_journal = journal.entries.iter().filter(stops).filter_map(|entry| {
            Some(Stall {
                entry,
                from_ns: (entry.from_s - start_s) * 1e9,
                to_ns: (entry.to_s - start_s) * 1e9,
                length_ns: entry.usec? as f64 * 1e3,
            })
        });
        let of_journal: Vec<Stall<'_>> =
            of_journal.filter(|stall| stall.to_ns > 0.0 && stall.from_ns < elapsed_ns).collect();
        let is_within = |inner: &Stall<'_>| {
            of_journal.iter().any(|outer| {
                holds_others(outer.entry)
                    && !holds_others(inner.entry)
                    && [outer.entry.client.as_str(), SCRIPT].contains(&&*inner.entry.client)
                    && inner.length_ns <= outer.length_ns
                    // It may have ended in the second before.
                    && inner.to_ns <= outer.to_ns
                    && inner.to_ns > outer.from_ns
            })
        };
        all.extend(of_journal.iter().filter(|stall| !is_within(stall)));
    }
    all
}

/// Returns whether other commands run within this one.
fn holds_others(entry: &JournalEntry) -> bool {
    let name = entry.what.split(' ').next().unwrap_or_default();
    ["EVAL", "FCALL", "EXEC"].iter().any(|outer| name.starts_with(outer))
}

impl Stall<'_> {
    /// The command, or `fork`.
    pub(crate) fn name(&self) -> String {
        match self.entry.kind {
            JournalKind::Fork => "fork".to_owned(),
            _ => self.entry.what.split(' ').next().unwrap_or_default().to_owned(),
        }
    }

    /// The spans in which the client had responses that may have waited for all of it: they came after its end.
    fn seen_in<'s>(&self, spans: &'s [SpanResponses]) -> impl Iterator<Item = usize> + 's {
        let (to_ns, length_ns) = (self.to_ns, self.length_ns);
        let ended_ns = self.from_ns + length_ns;
        let sees = move |span: &SpanResponses| {
            (span.from_ns as f64) < to_ns + CLOCKS_NS
                && span.to_ns as f64 > ended_ns - CLOCKS_NS
                && span.max_ns() as f64 >= SEEN * length_ns
        };
        spans.iter().enumerate().filter(move |(_, span)| sees(span)).map(|(at, _)| at)
    }

    /// The one among them whose longest response is nearest to it.
    pub(crate) fn place(&self, spans: &[SpanResponses]) -> Option<usize> {
        let apart = |at: &usize| spans[*at].max_ns().abs_diff(self.length_ns as u64);
        self.seen_in(spans).min_by_key(apart)
    }
}

/// Part that counts of what a server recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counted {
    /// Certain part: with the most that it can have waited for a CPU taken off, and without the queue behind it.
    Certain,
    /// Likely part.
    Likely,
}

/// Returns the number of responses of each span that waited `below_ns` or longer for what the servers recorded, with
/// their own waits for a CPU taken off: no more than there were. `due` returns the requests that fall due in a number
/// of nanoseconds.
pub(super) fn beyond_by_record(
    run: &Run,
    spans: &[SpanResponses],
    below_ns: f64,
    counted: Counted,
    due: impl Fn(f64) -> f64,
) -> Vec<u64> {
    let mut counts = vec![0.0; spans.len()];
    let machine = machine_course(run);
    let waited_ns = |from_ns: f64, to_ns: f64| {
        let within = machine.iter().filter(|point| {
            point.t_s * 1e9 < to_ns && (point.t_s + point.lasted_s) * 1e9 > from_ns
        });
        let waited = within.map(|p| p.server_waited.unwrap_or(0.0) * p.lasted_s * 1e9);
        waited.sum::<f64>()
    };
    for stall in stalls(run) {
        let Some(at) = stall.place(spans) else { continue };
        let all_ns = |at: usize| {
            let (from_ns, to_ns) = (spans[at].from_ns as f64, spans[at].to_ns as f64);
            (waited_ns(from_ns - stall.length_ns, to_ns), stall.length_ns + to_ns - from_ns)
        };
        let waited_ns = match counted {
            // Wherever in its second it was.
            Counted::Certain => stall.seen_in(spans).map(|at| all_ns(at).0).fold(0.0, f64::max),
            Counted::Likely => all_ns(at).0 * stall.length_ns / all_ns(at).1,
        };
        let over_ns = stall.length_ns - waited_ns - below_ns;
        if over_ns > 0.0 {
            counts[at] += due(over_ns);
        }
    }
    // What has no room in its span came in the next.
    let mut over = 0.0;
    let bounded = |(count, span): (f64, &SpanResponses)| {
        let count = count + over;
        let within = count.min(span.beyond(below_ns) as f64);
        over = count - within;
        within as u64
    };
    counts.into_iter().zip(spans).map(bounded).collect()
}
