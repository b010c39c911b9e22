//! Figures of messages and their deliveries.

use measure::{CommandTally, Deliveries, DeliveryCounts, Invalidations, KeptKeys, Measurement};
use workload::quantity::counted;
use workload::{Plan, ReplicaWait};

use crate::csv::CsvRow;
use crate::{LatencyFigures, grouped, msec, msec_at_most};

/// Figures of a run whose messages have receivers. Its other latencies are for deliveries.
#[derive(Debug, Clone, Copy)]
pub struct DeliveryFigures<'r> {
    pub(crate) plan: &'r Plan,
    /// Counts and latencies.
    pub deliveries: &'r Deliveries,
    /// Acknowledged messages per second while they were sent; 0 for a run that took no time.
    pub sent_rps: f64,
    /// Precision in nanoseconds of the offset between the clocks of senders and receivers, if messages go
    /// between clients. A latency below it is only known to be below it.
    pub(crate) clock_bound_ns: Option<f64>,
}

/// Minimum share of the sent messages that counts as a backlog.
const BACKLOG_SHARE: f64 = 0.02;
/// Minimum number of messages for each receiver that counts as a backlog.
const BACKLOG_EACH: u64 = 2;

/// Messages in flight when the last was sent, and number sent; `None` if receivers kept up or were about to
/// catch up.
pub(crate) fn backlog(deliveries: &Deliveries) -> Option<(u64, u64)> {
    let (greatest, last) = deliveries.waits.as_ref()?.backlogs()?;
    let (waiting, sent) = (last.messages, deliveries.acknowledged());
    let many = waiting as f64 > BACKLOG_SHARE * sent as f64
        && waiting > BACKLOG_EACH * u64::from(deliveries.receivers);
    let grows = waiting.saturating_mul(2) >= greatest.messages;
    (many && grows).then_some((waiting, sent))
}

/// Number of commands that senders sent and that were answered, with those of the probes; without receivers, of
/// requests.
pub(crate) fn answered(plan: &Plan, measurement: &Measurement) -> u64 {
    match (measurement.deliveries.as_deref(), &plan.delivery) {
        (Some(of), Some(plan)) => {
            let answered = of.acknowledged().saturating_add(of.refused());
            answered.saturating_add(2 * u64::from(plan.places))
        }
        _ => measurement.total.requests(),
    }
}

/// Warns about keys of messages that could not be removed after the run.
pub(crate) fn keys_kept(plan: &Plan, measurement: &Measurement) -> Option<String> {
    let KeptKeys { keys, why } = measurement.deliveries.as_ref()?.kept.as_ref()?;
    let prefix = &plan.delivery.as_ref()?.prefix;
    let (keys, stay) = (counted(*keys, "key"), if *keys == 1 { "stays" } else { "stay" });
    Some(format!(
        "{keys} of the run could not be removed ({why}) and {stay} at the server; remove what begins with {prefix}"
    ))
}

impl<'r> DeliveryFigures<'r> {
    /// Makes the figures of a run; `None` if nobody received. Messages were sent during all of it unless the
    /// deliveries say otherwise.
    pub fn new(
        plan: &'r Plan,
        measurement: &'r Measurement,
        clock_bound_ns: Option<f64>,
    ) -> Option<Self> {
        let deliveries = measurement.deliveries.as_deref()?;
        let sending_s = match deliveries.sending_ns {
            0 => measurement.elapsed_ns as f64 / 1e9,
            ns => ns as f64 / 1e9,
        };
        let sent = deliveries.acknowledged() as f64;
        let sent_rps = if sending_s > 0.0 { sent / sending_s } else { 0.0 };
        Some(Self { plan, deliveries, sent_rps, clock_bound_ns })
    }

    /// Time from the acknowledgement of a write until a cache dropped the key, if receivers cache.
    pub(crate) fn stale(&self) -> Option<LatencyFigures> {
        let caches = self.deliveries.invalidations.as_ref();
        caches.map(|caches| LatencyFigures::from_latency(&caches.stale))
    }

    /// Returns the condition of senders that waited until replicas had acknowledged each message, and their
    /// waits: those that reached the required number, that ended with too few, and that were refused.
    pub(crate) fn replica_waits(&self) -> Option<(ReplicaWait, &'r CommandTally)> {
        let wait = self.plan.delivery.as_ref().and_then(|delivery| delivery.wait);
        wait.zip(self.deliveries.replica_waits())
    }

    /// Returns the row of a test with this name in a table for programs.
    pub(crate) fn csv_row(&self, test: &str) -> CsvRow {
        let Deliveries { expected, counts, .. } = self.deliveries;
        let DeliveryCounts { received, doubled, out_of_order, foreign, corrupt, cut_off } = *counts;
        let counts = [
            ("messages_acknowledged", self.deliveries.acknowledged()),
            ("messages_refused", self.deliveries.refused()),
            ("messages_without_reply", self.deliveries.unacknowledged()),
            ("deliveries_expected", *expected),
            ("deliveries_received", received),
            ("lost", self.deliveries.lost()),
            ("doubled", doubled),
            ("out_of_order", out_of_order),
            ("from_other_runs", foreign),
            ("corrupt", corrupt),
            ("receivers_cut_off", cut_off),
        ];
        let known = |count: Option<u64>| count.map(|count| count.to_string()).unwrap_or_default();
        let mut row = vec![
            ("test", test.to_owned()),
            ("messages_sent_per_second", format!("{:.2}", self.sent_rps)),
        ];
        row.extend(counts.map(|(name, count)| (name, count.to_string())));
        row.push(("overtaken", known(self.deliveries.polls.as_ref().map(|polls| polls.overtaken))));
        row.extend(self.wait_cells());
        row.push(("too_few_replicas", known(self.replica_waits().map(|(_, waits)| waits.miss))));
        row
    }

    /// Returns the row of caches of a test with this name; `None` if receivers do not cache.
    pub(crate) fn cache_csv_row(&self, test: &str) -> Option<CsvRow> {
        let (caches, stale) = (self.deliveries.invalidations.as_ref()?, self.stale()?);
        let Invalidations { before_acknowledged, covered, unprompted, flushes, removed, .. } =
            **caches;
        let mut row = vec![
            ("test", test.to_owned()),
            ("stale_avg_ms", msec(stale.mean_ns)),
            ("stale_p50_ms", msec_at_most(stale.p50_ns)),
            ("stale_p99_ms", msec_at_most(stale.p99_ns)),
            ("stale_max_ms", msec_at_most(stale.max_ns)),
        ];
        let counts = [
            ("before_acknowledged", before_acknowledged),
            ("covered_by_later_reads", covered),
            ("without_a_write", unprompted),
            ("of_all_keys", flushes),
            ("removed_unread", removed),
        ];
        row.extend(counts.map(|(name, count)| (name, count.to_string())));
        Some(row)
    }

    /// Counts of messages and deliveries, and what is known of receivers, one line each.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![
            format!("messages: {}", self.messages()),
            format!("deliveries: {}", self.received()),
        ];
        lines.extend(self.replica_line());
        lines.extend(self.clocks());
        lines.extend(self.fairness());
        lines.extend(self.cache_lines());
        lines.extend(self.wait_lines());
        lines
    }

    /// Describes the waits for replicas: `WAIT 1: reached for all 2,000 messages`.
    fn replica_line(&self) -> Option<String> {
        let (wait, waits) = self.replica_waits()?;
        let (name, reached, fewer, refused) =
            (wait.name(), waits.service.count(), waits.miss, waits.errors);
        let ended = format!("{} messages", grouped((reached + fewer + refused) as f64));
        if fewer + refused == 0 {
            return Some(format!("{name}: reached for all {ended}"));
        }
        let mut text = format!("{name}: reached for {} of {ended}", grouped(reached as f64));
        if fewer > 0 {
            let timeout = format!("{} ms", grouped(wait.timeout_ms as f64));
            text += &format!(", {} had too few after {timeout}", grouped(fewer as f64));
        }
        if refused > 0 {
            text += &format!(", {} refused", grouped(refused as f64));
        }
        Some(text)
    }

    /// Describes the sent messages: `20,000 sent, all acknowledged`.
    fn messages(&self) -> String {
        let acknowledged = self.deliveries.acknowledged();
        let refused = self.deliveries.refused();
        let unknown = self.deliveries.unacknowledged();
        let sent = grouped((acknowledged + refused + unknown) as f64);
        if refused + unknown == 0 {
            return format!("{sent} sent, all acknowledged");
        }
        let mut text = format!("{sent} sent, {} acknowledged", grouped(acknowledged as f64));
        if refused > 0 {
            text += &format!(", {} refused", grouped(refused as f64));
        }
        if unknown > 0 {
            let unknown = grouped(unknown as f64);
            text += &format!(", {unknown} without a reply (some may have been delivered)");
        }
        text
    }

    /// Describes the deliveries: `40,000 of 40,000 received; none lost, doubled or out of order`.
    pub fn received(&self) -> String {
        let DeliveryCounts { received, doubled, out_of_order, foreign, corrupt, cut_off } =
            self.deliveries.counts;
        let Deliveries { expected, missed_while_away: away, .. } = *self.deliveries;
        let lost = self.deliveries.lost();
        let mut text =
            format!("{} of {} received", grouped(received as f64), grouped(expected as f64));
        if lost + doubled + out_of_order == 0 {
            text += "; none lost, doubled or out of order";
        } else {
            text += &format!(
                "; {} lost, {} doubled, {} out of order",
                grouped(lost as f64),
                grouped(doubled as f64),
                grouped(out_of_order as f64)
            );
        }
        if foreign > 0 {
            let others = self.plan.delivery.as_ref().map(|plan| plan.kind.others());
            let others = others.unwrap_or("other runs");
            text += &format!(", {} from {others}", grouped(foreign as f64));
        }
        if corrupt > 0 {
            text += &format!(", {} that are not messages", grouped(corrupt as f64));
        }
        if let Some(polls) = &self.deliveries.polls {
            text += &format!(", {} overtaken between two reads", grouped(polls.overtaken as f64));
            if polls.behind > 0 {
                text += &format!(
                    "; {} did not read the last message",
                    counted(polls.behind, "receiver")
                );
            }
        }
        if let Some(covered) = self.covered() {
            text += &format!(", {} covered by later reads", grouped(covered as f64));
        }
        if cut_off > 0 {
            text += &format!("; receivers were cut off {}", counted(cut_off, "time"));
            if away > 0 {
                text += &format!(" and missed {} meanwhile", counted(away, "message"));
            }
        } else if away > 0 {
            // As during a failover, when subscribers stay connected.
            text += &format!("; the server named no receiver for {} more", grouped(away as f64));
        }
        text
    }

    /// Number of writes that caches saw in later reads; `None` if caches do not read.
    pub fn covered(&self) -> Option<u64> {
        self.deliveries.invalidations.as_ref().map(|caches| caches.covered).filter(|n| *n > 0)
    }

    /// Describes the caches beside their deliveries, one line each; empty if receivers do not cache.
    fn cache_lines(&self) -> Vec<String> {
        let Some(caches) = &self.deliveries.invalidations else { return Vec::new() };
        let early = caches.before_acknowledged;
        let of = grouped(caches.stale.count() as f64);
        let mut lines = vec![match early {
            0 => {
                format!("stale window: none of {of} invalidations came before its acknowledgement")
            }
            _ => format!(
                "stale window: {} of {of} invalidations came before their acknowledgement, so that nothing was stale",
                grouped(early as f64)
            ),
        }];
        if caches.unprompted > 0 {
            lines.push(format!(
                "invalidations without a write: {} (the server forgot who held a key, or another client changed it)",
                grouped(caches.unprompted as f64)
            ));
        }
        if caches.flushes > 0 {
            let mut line =
                format!("invalidations of all keys (FLUSHALL): {}", grouped(caches.flushes as f64));
            if caches.removed > 0 {
                let removed = counted(caches.removed, "write");
                line += &format!("; {removed} removed before a cache had read them");
            }
            lines.push(line);
        }
        lines
    }

    /// Describes the precision of the clocks at both ends of latencies.
    fn clocks(&self) -> Option<String> {
        let bound = msec(self.clock_bound_ns?);
        Some(format!(
            "clocks: those of the clients are known to within {bound} ms; a shorter time is only known to be below that"
        ))
    }

    /// Describes the distribution of messages over receivers, if their numbers differ.
    fn fairness(&self) -> Option<String> {
        let (least, most) = self.deliveries.by_receiver.filter(|(least, most)| least < most)?;
        let mean = self.deliveries.counts.received as f64 / f64::from(self.deliveries.receivers);
        Some(format!(
            "by receiver: {} to {}, {} on average",
            grouped(least as f64),
            grouped(most as f64),
            grouped(mean)
        ))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use measure::Waits;

    use super::*;
    use crate::{Run, fixture};

    /// A run in which all of these messages were received.
    pub(crate) fn delivered(
        counts: DeliveryCounts,
        missed_while_away: u64,
        waits: Option<Waits>,
    ) -> Run {
        let mut run = fixture::complete();
        let deliveries = Deliveries {
            sending: run.measurement.total.clone(),
            sending_ns: 0,
            expected: counts.received,
            missed_while_away,
            counts,
            first: None,
            last: None,
            polls: None,
            by_receiver: None,
            receivers: 24,
            waits,
            invalidations: None,
            kept: None,
        };
        run.measurement.deliveries = Some(Box::new(deliveries));
        run
    }

    #[test]
    fn what_found_no_receiver_is_said_whether_one_was_cut_off_or_not() {
        let text = |missed_while_away, cut_off| {
            let counts = DeliveryCounts { received: 2_376, cut_off, ..DeliveryCounts::default() };
            let run = delivered(counts, missed_while_away, None);
            DeliveryFigures::new(&run.plan, &run.measurement, None).unwrap().received()
        };
        let all = "2,376 of 2,376 received; none lost, doubled or out of order";
        assert_eq!(text(0, 0), all);
        assert_eq!(text(20, 0), format!("{all}; the server named no receiver for 20 more"));
        let missed = "; receivers were cut off 3 times and missed 20 messages meanwhile";
        assert_eq!(text(20, 3), format!("{all}{missed}"));
    }
}
