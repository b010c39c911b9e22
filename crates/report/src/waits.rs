//! Figures of receivers with a blocking command: wake-ups, late timeouts, and backlogs.

use measure::Backlog;

use crate::quantity::many;
use crate::{DeliveryFigures, LatencyFigures, grouped};

impl DeliveryFigures<'_> {
    /// Latency from sent to received of messages that met a waiting receiver, if there were any.
    pub(crate) fn wake_up(&self) -> Option<LatencyFigures> {
        let wake_up = &self.deliveries.waits.as_ref()?.wake_up;
        let precision = self.plan.recording.precision;
        (wake_up.count() > 0).then(|| {
            LatencyFigures::from_latency(wake_up).known_to_within(self.clock_bound_ns, precision)
        })
    }

    /// Lateness of timeouts without a message, if there were any.
    pub(crate) fn timeout_late(&self) -> Option<LatencyFigures> {
        let late = &self.deliveries.waits.as_ref()?.timeout_late;
        (late.count() > 0).then(|| LatencyFigures::from_latency(late))
    }

    /// Cells of a table for programs; unknown ones are empty.
    pub(crate) fn wait_cells(&self) -> [(&'static str, String); 10] {
        let waits = self.deliveries.waits.as_ref();
        let time = |figures: Option<LatencyFigures>, pick: fn(&LatencyFigures) -> u64| {
            figures.map(|of| of.msec_at_most(pick(&of))).unwrap_or_default()
        };
        let known = |count: Option<u64>| count.map(|count| count.to_string()).unwrap_or_default();
        let backlogs = waits.map(|waits| waits.backlogs().unzip());
        let backlog = |of: Option<Backlog>| of.map_or(0, |of| of.messages);
        let (wake_up, late) = (self.wake_up(), self.timeout_late());
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

    /// Lines of a report about receivers with a blocking command.
    pub(crate) fn wait_lines(&self) -> Vec<String> {
        let Some(waits) = &self.deliveries.waits else { return Vec::new() };
        let removed = if self.deliveries.kept.is_none() { " (removed)" } else { "" };
        let mut lines = Vec::new();
        let received = self.deliveries.counts.received;
        if received > 0 {
            let share = waits.wake_up.count() as f64 / received as f64;
            let percent = (share * 1000.0).floor() / 10.0;
            lines.push(format!("waiting: {percent} % of messages met a receiver that waited"));
        }
        if let Some((most, last)) = waits.backlogs() {
            let seconds = most.at_ns as f64 / 1e9;
            let (most, last) = (many(most.messages, "message"), grouped(last.messages as f64));
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
        for (what, count) in
            [("left in the keys", waits.left), ("never acknowledged", waits.pending)]
        {
            let count = count.filter(|count| *count > 0);
            lines.extend(count.map(|n| format!("{what}: {}{removed}", many(n, "message"))));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use measure::{DeliveryCounts, Waits};

    use super::*;
    use crate::deliveries::tests::delivered;

    #[test]
    fn only_what_happened_is_reported() {
        let lines = |received, waits: &Waits| {
            let counts = DeliveryCounts { received, ..DeliveryCounts::default() };
            let run = delivered(counts, 0, Some(waits.clone()));
            DeliveryFigures::new(&run.plan, &run.measurement, None).unwrap().wait_lines()
        };
        let mut waits = Waits::new(3);
        assert!(lines(0, &waits).is_empty());
        waits.wake_up.record_n(1_000, 3);
        waits.timeout_late.record_n(1_000, 1);
        (waits.unblocked, waits.left, waits.pending) = (2, Some(1), Some(0));
        waits.backlog = vec![Backlog { at_ns: 250_000_000, messages: 1_200 }];
        assert_eq!(
            lines(4, &waits),
            [
                "waiting: 75 % of messages met a receiver that waited",
                "backlog: at most 1,200 messages (at 0.25 s), 1,200 when the last was sent",
                "1 wait timed out, 2 waits ended by the server",
                "left in the keys: 1 message (removed)",
            ]
        );
    }
}
