//! Deliveries of messages from senders to receivers.
//!
//! A measurement's tally holds their latencies; this file has the other counts.

use serde::{Deserialize, Serialize};

use crate::total::{Total, total};
use crate::{CommandTally, Invalidations, Latency, Polls, Tally, Waits};

/// Counts of messages and their deliveries.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Deliveries {
    /// Figures of the senders: requests, replies, lateness.
    pub sending: Tally,
    /// Time from the start of the measured part until the senders were done.
    pub sending_ns: u64,
    /// Expected deliveries of the acknowledged messages, according to the replies to their senders.
    pub expected: u64,
    /// Further deliveries that receivers missed because they were disconnected when a message was sent.
    pub missed_while_away: u64,
    /// Counts of the receivers.
    #[serde(flatten)]
    pub counts: DeliveryCounts,
    /// From due to the first receiver of each message, if messages have several.
    #[serde(rename = "first_receiver_ms", skip_serializing_if = "Option::is_none")]
    pub first: Option<Latency>,
    /// From due to the last receiver, for each message that reached all of them.
    #[serde(rename = "last_receiver_ms", skip_serializing_if = "Option::is_none")]
    pub last: Option<Latency>,
    /// Figures of receivers that poll.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub polls: Option<Box<Polls>>,
    /// Fewest and most deliveries of a receiver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_receiver: Option<(u64, u64)>,
    /// Receivers.
    pub receivers: u32,
    /// Figures of receivers with a blocking command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits: Option<Waits>,
    /// Figures of clients with a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub invalidations: Option<Box<Invalidations>>,
    /// Keys of the run that remain at the server.
    #[serde(rename = "keys_kept", skip_serializing_if = "Option::is_none")]
    pub kept: Option<KeptKeys>,
}

/// Keys that could not be removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptKeys {
    /// Maximum number of keys that may remain; some may never have been written.
    pub keys: u64,
    /// Reason why the first key could not be removed.
    pub why: String,
}

impl KeptKeys {
    /// Adds keys of another thread or process.
    pub fn merge(&mut self, other: &Self) {
        self.keys = self.keys.saturating_add(other.keys);
    }
}

/// Counts of the receivers, of the measured part.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryCounts {
    /// Messages received, each once for each receiver.
    pub received: u64,
    /// Duplicates of messages that the receiver had.
    pub doubled: u64,
    /// Messages that came after a later one of the same sender; they count as received.
    pub out_of_order: u64,
    /// Messages of other runs.
    #[serde(rename = "from_other_runs")]
    pub foreign: u64,
    /// Payloads that are not messages.
    pub corrupt: u64,
    /// Connections of receivers that were lost.
    #[serde(rename = "receivers_cut_off")]
    pub cut_off: u64,
}

total!(DeliveryCounts { received, doubled, out_of_order, foreign, corrupt, cut_off });

impl Deliveries {
    /// Returns the state of a run after `elapsed_ns`: the senders' figures, and the `expected` and `received`
    /// deliveries.
    pub fn so_far(sending: Tally, elapsed_ns: u64, expected: u64, received: u64) -> Self {
        Self {
            sending,
            sending_ns: elapsed_ns,
            expected,
            missed_while_away: 0,
            counts: DeliveryCounts { received, ..DeliveryCounts::default() },
            first: None,
            last: None,
            polls: None,
            by_receiver: None,
            receivers: 0,
            waits: None,
            invalidations: None,
            kept: None,
        }
    }

    /// Returns the figures of the command that carries a message; `None` if the run never began.
    pub fn messages(&self) -> Option<&CommandTally> {
        self.sending.commands.first()
    }

    /// Returns the figures of the command with which senders wait for replicas. A miss is a wait that too few
    /// replicas acknowledged in time. `None` if senders do not wait.
    pub fn replica_waits(&self) -> Option<&CommandTally> {
        self.sending.commands.get(1)
    }

    /// Adds the deliveries of another client, whose backlogs use the same clock.
    pub fn merge(&mut self, other: &Self) {
        let Self {
            sending,
            sending_ns,
            expected,
            missed_while_away,
            counts,
            first,
            last,
            polls,
            by_receiver,
            receivers,
            waits,
            invalidations,
            kept,
        } = other;
        self.sending.merge(sending);
        self.sending_ns = self.sending_ns.max(*sending_ns);
        self.expected.merge(expected);
        self.missed_while_away.merge(missed_while_away);
        self.counts.merge(counts);
        self.first.merge(first);
        self.last.merge(last);
        self.polls.merge(polls);
        self.invalidations.merge(invalidations);
        self.receivers = self.receivers.saturating_add(*receivers);
        merge_optional(&mut self.by_receiver, by_receiver.as_ref(), |ours, (least, most)| {
            *ours = (ours.0.min(*least), ours.1.max(*most));
        });
        merge_optional(&mut self.waits, waits.as_ref(), Waits::merge_client);
        merge_optional(&mut self.kept, kept.as_ref(), KeptKeys::merge);
    }

    /// Number of acknowledged messages.
    pub fn acknowledged(&self) -> u64 {
        self.messages().map_or(0, |messages| messages.ok + messages.miss)
    }

    /// Number of refused messages.
    pub fn refused(&self) -> u64 {
        self.sending.errors.total() - self.replica_waits().map_or(0, |waits| waits.errors)
    }

    /// Number of messages that were sent and may or may not have reached the server.
    pub fn unacknowledged(&self) -> u64 {
        let connections = &self.sending.connections;
        let lost = connections.lost + connections.timed_out + connections.unanswered;
        // Behind each message that was acknowledged one waited, unless it was the last of its connection.
        let of_waits = self.replica_waits().map_or(0, |waits| {
            self.acknowledged().saturating_sub(waits.ok + waits.miss + waits.errors)
        });
        lost.saturating_sub(of_waits)
    }

    /// Number of messages that were overwritten before a polling receiver read them.
    pub fn overtaken(&self) -> u64 {
        self.polls.as_ref().map_or(0, |polls| polls.overtaken)
    }

    /// Expected deliveries that were not needed: their content was overwritten, or already read.
    pub fn needless(&self) -> u64 {
        let caches = self.invalidations.as_ref();
        self.overtaken() + caches.map_or(0, |caches| caches.covered.saturating_add(caches.removed))
    }

    /// Expected deliveries that did not come. With [`unacknowledged`](Self::unacknowledged) messages this is
    /// a lower bound, as some of those may have come.
    pub fn lost(&self) -> u64 {
        self.expected.saturating_sub(self.counts.received.saturating_add(self.needless()))
    }

    /// Returns whether deliveries are missing, duplicate, out of order or corrupt.
    pub fn is_faulty(&self) -> bool {
        let DeliveryCounts { doubled, out_of_order, corrupt, .. } = self.counts;
        self.lost() + doubled + out_of_order + corrupt > 0
    }
}

/// Adds two optional totals; if only `from` has one, takes it.
fn merge_optional<T: Clone>(into: &mut Option<T>, from: Option<&T>, add: impl FnOnce(&mut T, &T)) {
    match (into, from) {
        (Some(into), Some(from)) => add(into, from),
        (into @ None, Some(from)) => *into = Some(from.clone()),
        (_, None) => {}
    }
}
