//! Figures of receivers with a blocking command: wake-ups, late timeouts, and backlogs.

use measure::{Backlog, Waits};

use crate::{LatencyFigures, grouped};

/// Figures of waits.
#[derive(Debug, Clone, Copy)]
pub struct WaitFigures<'r> {
    /// Counts and latencies of the waits.
    pub waits: &'r Waits,
    /// Latency from sent to received, for messages that met a waiting receiver; `None` if none did.
    pub wake_up: Option<LatencyFigures>,
    /// Lateness of timeouts without a message; `None` if there were none.
    pub timeout_late: Option<LatencyFigures>,
    /// Share of the received messages that met a waiting receiver, 0 to 1; `None` without messages.
    pub woken_share: Option<f64>,
}

impl<'r> WaitFigures<'r> {
    /// Makes the figures of a run in which `received` messages were received.
    pub fn new(waits: &'r Waits, received: u64) -> Self {
        let some = |latency: &measure::Latency| {
            (latency.count() > 0).then(|| LatencyFigures::from_latency(latency))
        };
        let woken = waits.wake_up.count() as f64;
        Self {
            waits,
            wake_up: some(&waits.wake_up),
            timeout_late: some(&waits.timeout_late),
            woken_share: (received > 0).then(|| woken / received as f64),
        }
    }

    /// Returns the figures for clocks of senders and receivers that are known to this precision.
    pub(crate) fn known_to_within(mut self, bound_ns: Option<f64>, precision: u8) -> Self {
        self.wake_up = self.wake_up.map(|of| of.known_to_within(bound_ns, precision));
        self
    }

    /// Cells of a table for programs; unknown ones are empty.
    pub(crate) fn csv_cells(of: Option<&Self>) -> [(&'static str, String); 10] {
        let waits = of.map(|of| of.waits);
        let time = |figures: Option<LatencyFigures>, pick: fn(&LatencyFigures) -> u64| {
            figures.map(|of| of.msec_at_most(pick(&of))).unwrap_or_default()
        };
        let known = |count: Option<u64>| count.map(|count| count.to_string()).unwrap_or_default();
        let backlogs = waits.map(|waits| waits.backlogs().unzip());
        let backlog = |of: Option<Backlog>| of.map_or(0, |of| of.messages);
        let (wake_up, late) = (of.and_then(|of| of.wake_up), of.and_then(|of| of.timeout_late));
        [
            ("met_a_waiting_receiver", known(waits.map(|waits| waits.wake_up.count()))),
            ("wake_up_p50_ms", time(wake_up, |of| of.p50_ns)),
            ("wake_up_p99_ms", time(wake_up, |of| of.p99_ns)),
            ("waits_timed_out", known(waits.map(|waits| waits.timeout_late.count()))),
            ("timeout_late_p99_ms", time(late, |of| of.p99_ns)),
            ("waits_ended_by_server", known(waits.map(|waits| waits.unblocked))),
            ("backlog_max", known(backlogs.map(|(most, _)| backlog(most)))),
            ("backlog_at_end", known(backlogs.map(|(_, last)| backlog(last)))),
            ("left_in_keys", known(waits.and_then(|waits| waits.left))),
            ("never_acknowledged", known(waits.and_then(|waits| waits.pending))),
        ]
    }

    /// Returns the lines of a report for a run whose keys were removed or not.
    pub fn lines(&self, removed: bool) -> Vec<String> {
        let waits = self.waits;
        let removed = if removed { " (removed)" } else { "" };
        let mut lines = Vec::new();
        if let Some(share) = self.woken_share {
            let percent = (share * 1000.0).floor() / 10.0;
            lines.push(format!("waiting: {percent} % of messages met a receiver that waited"));
        }
        if let Some((most, last)) = waits.backlogs() {
            let seconds = most.at_ns as f64 / 1e9;
            let (most, last) = (messages(most.messages), grouped(last.messages as f64));
            lines.push(format!(
                "backlog: at most {most} (at {seconds:.2} s), {last} when the last was sent"
            ));
        }
        let events = [
            (waits.timeout_late.count(), "wait timed out", "waits timed out"),
            (waits.unblocked, "wait ended by the server", "waits ended by the server"),
            (waits.unsettled, "acknowledgement in vain", "acknowledgements in vain"),
        ];
        let events = events.iter().filter(|(count, ..)| *count > 0);
        let events = events.map(|(count, one, many)| {
            format!("{} {}", grouped(*count as f64), if *count == 1 { one } else { many })
        });
        let events: Vec<String> = events.collect();
        if !events.is_empty() {
            lines.push(events.join(", "));
        }
        if let Some(left) = waits.left.filter(|left| *left > 0) {
            lines.push(format!("left in the keys: {}{removed}", messages(left)));
        }
        if let Some(pending) = waits.pending.filter(|pending| *pending > 0) {
            lines.push(format!("never acknowledged: {}{removed}", messages(pending)));
        }
        lines
    }
}

fn messages(count: u64) -> String {
    format!("{} {}", grouped(count as f64), if count == 1 { "message" } else { "messages" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_happened_is_reported() {
        let mut waits = Waits::new(3);
        assert!(WaitFigures::new(&waits, 0).lines(true).is_empty());
        waits.wake_up.record_n(1_000, 3);
        waits.timeout_late.record_n(1_000, 1);
        (waits.unblocked, waits.left, waits.pending) = (2, Some(1), Some(0));
        waits.backlog = vec![Backlog { at_ns: 250_000_000, messages: 1_200 }];
        assert_eq!(
            WaitFigures::new(&waits, 4).lines(true),
            [
                "waiting: 75 % of messages met a receiver that waited",
                "backlog: at most 1,200 messages (at 0.25 s), 1,200 when the last was sent",
                "1 wait timed out, 2 waits ended by the server",
                "left in the keys: 1 message (removed)",
            ]
        );
    }
}
