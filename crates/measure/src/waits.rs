//! Figures of waiting receivers of queues and streams: wake-ups, late timeouts, and backlogs.

use serde::{Deserialize, Serialize};

use crate::Latency;

/// Figures of waits, of the measured part.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Waits {
    /// Latency from sent to received, of messages that were sent while their receiver waited and so woke it.
    #[serde(rename = "wake_up_ms")]
    pub wake_up: Latency,
    /// Lateness of timeouts without a message.
    #[serde(rename = "timeout_late_ms")]
    pub timeout_late: Latency,
    /// Waits that the server ended for another reason (UNBLOCKED).
    #[serde(rename = "ended_by_server")]
    pub unblocked: u64,
    /// Messages that no longer existed when they were to be acknowledged.
    #[serde(rename = "acknowledged_in_vain")]
    pub unsettled: u64,
    /// Number of messages in flight, over time.
    pub backlog: Vec<Backlog>,
    /// Messages in the keys at the end, which were then removed; `None` if not counted.
    #[serde(rename = "left_in_keys", skip_serializing_if = "Option::is_none")]
    pub left: Option<u64>,
    /// Messages that were received and never acknowledged; `None` if not counted.
    #[serde(rename = "never_acknowledged", skip_serializing_if = "Option::is_none")]
    pub pending: Option<u64>,
}

/// Messages in flight at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backlog {
    /// Nanoseconds since the start of the measured part.
    #[serde(rename = "at_s", with = "crate::units::seconds")]
    pub at_ns: u64,
    /// Deliveries still to come.
    pub messages: u64,
}

impl Waits {
    /// Creates empty figures; `precision` is for latencies.
    pub fn new(precision: u8) -> Self {
        Self {
            wake_up: Latency::new(precision),
            timeout_late: Latency::new(precision),
            unblocked: 0,
            unsettled: 0,
            backlog: Vec::new(),
            left: None,
            pending: None,
        }
    }

    /// Adds the figures of another thread of receivers.
    pub fn merge(&mut self, other: &Self) {
        self.wake_up.merge(&other.wake_up);
        self.timeout_late.merge(&other.timeout_late);
        self.unblocked = self.unblocked.saturating_add(other.unblocked);
        self.unsettled = self.unsettled.saturating_add(other.unsettled);
    }

    /// Adds the receivers' figures of another client, whose backlogs use the same clock.
    pub fn merge_client(&mut self, other: &Self) {
        self.merge(other);
        self.backlog = sum_of(&self.backlog, &other.backlog);
        let sum = |ours: Option<u64>, theirs: Option<u64>| Some(ours?.saturating_add(theirs?));
        self.left = sum(self.left, other.left);
        self.pending = sum(self.pending, other.pending);
    }

    /// The greatest backlog, and the one when the senders were done; `None` for a run without either.
    pub fn backlogs(&self) -> Option<(Backlog, Backlog)> {
        let last = self.backlog.last()?;
        let first_greatest = self.backlog.iter().rev().max_by_key(|backlog| backlog.messages)?;
        Some((*first_greatest, *last))
    }
}

/// Maximum number of points of a sum of backlogs.
const POINTS_MAX: usize = 1_000;

/// Adds two backlogs: at each time of either, the last known values of both. Long series are reduced to the
/// maxima of adjacent points.
fn sum_of(ours: &[Backlog], theirs: &[Backlog]) -> Vec<Backlog> {
    let mut times: Vec<u64> = ours.iter().chain(theirs).map(|backlog| backlog.at_ns).collect();
    times.sort_unstable();
    times.dedup();
    let known = |backlogs: &[Backlog], at_ns: u64| {
        let before = backlogs.partition_point(|backlog| backlog.at_ns <= at_ns);
        before.checked_sub(1).map_or(0, |last| backlogs[last].messages)
    };
    let backlogs = times.into_iter().map(|at_ns: u64| {
        let messages = known(ours, at_ns).saturating_add(known(theirs, at_ns));
        Backlog { at_ns, messages }
    });
    let all: Vec<Backlog> = backlogs.collect();
    let Some((end, before)) = all.split_last() else { return all };
    let together = before.len().div_ceil(POINTS_MAX).max(1);
    let greatest = |points: &[Backlog]| points.iter().copied().max_by_key(|b| b.messages);
    before.chunks(together).filter_map(greatest).chain([*end]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backlogs_of_two_clients_add_up_at_each_time_of_either() {
        let backlogs = |points: &[(u64, u64)]| -> Vec<Backlog> {
            points
                .iter()
                .map(|(at_ns, messages)| Backlog { at_ns: *at_ns, messages: *messages })
                .collect()
        };
        let (ours, theirs) = (backlogs(&[(1, 5), (3, 0)]), backlogs(&[(2, 7), (3, 1), (9, 4)]));
        assert_eq!(sum_of(&ours, &theirs), backlogs(&[(1, 5), (2, 12), (3, 1), (9, 4)]));
        assert_eq!(sum_of(&ours, &[]), ours);
        let many: Vec<(u64, u64)> = (0..5_000).map(|n| (n, n % 70)).collect();
        let sum = sum_of(&backlogs(&many), &ours);
        assert!(sum.len() <= POINTS_MAX + 1 && sum.iter().any(|b| b.messages == 69));
    }

    #[test]
    fn the_greatest_backlog_is_the_first_of_its_size() {
        let mut waits = Waits::new(3);
        assert_eq!(waits.backlogs(), None);
        let backlog = |(at_ns, messages)| Backlog { at_ns, messages };
        waits.backlog = [(1, 3), (2, 9), (3, 9), (4, 1)].map(backlog).to_vec();
        assert_eq!(waits.backlogs(), Some((backlog((2, 9)), backlog((4, 1)))));
    }
}
