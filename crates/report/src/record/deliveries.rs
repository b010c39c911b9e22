//! What became of messages in a saved run.

use measure::{Deliveries, DeliveryCounts, Invalidations, KeptKeys, Latency, Polls, Tally};
use serde::{Deserialize, Serialize};

use super::RecordError;
use super::command::CommandRecord;
use super::connection::ConnectionRecord;
use super::counts::ErrorRecord;
use super::latency::LatencyRecord;
use super::lateness::LatenessRecord;
use super::slow::SlowRecord;
use super::waits::WaitsRecord;

/// Counts of messages and deliveries, and what the senders saw. What follows from others is written and never
/// read.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct DeliveriesRecord {
    #[serde(skip_deserializing)]
    messages_acknowledged: u64,
    #[serde(skip_deserializing)]
    messages_unacknowledged: u64,
    receivers: u32,
    expected: u64,
    received: u64,
    #[serde(skip_deserializing)]
    lost: u64,
    doubled: u64,
    out_of_order: u64,
    from_other_runs: u64,
    corrupt: u64,
    receivers_cut_off: u64,
    #[serde(default)]
    missed_while_away: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    least_by_receiver: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    most_by_receiver: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    first_receiver_ms: Option<LatencyRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_receiver_ms: Option<LatencyRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    waits: Option<WaitsRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    polls: Option<PollsRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    slow_subscribers: Option<SlowRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    invalidations: Option<InvalidationsRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    keys_kept: Option<KeysKeptRecord>,
    sending: SendingRecord,
}

/// Keys of the run that stay at the server.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct KeysKeptRecord {
    keys: u64,
    why: String,
}

/// Reads of receivers that read over and over.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct PollsRecord {
    overtaken: u64,
    receivers_behind: u64,
    between_reads_ms: LatencyRecord,
}

/// What clients with a cache saw.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct InvalidationsRecord {
    covered_by_later_reads: u64,
    before_acknowledged: u64,
    without_a_write: u64,
    of_all_keys: u64,
    removed_unread: u64,
    stale_ms: LatencyRecord,
}

impl InvalidationsRecord {
    fn from_invalidations(caches: &Invalidations) -> Result<Self, RecordError> {
        let Invalidations { stale, before_acknowledged, covered, unprompted, flushes, removed } =
            caches;
        Ok(Self {
            covered_by_later_reads: *covered,
            before_acknowledged: *before_acknowledged,
            without_a_write: *unprompted,
            of_all_keys: *flushes,
            removed_unread: *removed,
            stale_ms: LatencyRecord::from_latency(stale)?,
        })
    }

    fn invalidations(&self) -> Result<Box<Invalidations>, RecordError> {
        Ok(Box::new(Invalidations {
            stale: self.stale_ms.latency()?,
            before_acknowledged: self.before_acknowledged,
            covered: self.covered_by_later_reads,
            unprompted: self.without_a_write,
            flushes: self.of_all_keys,
            removed: self.removed_unread,
        }))
    }
}

/// What the senders saw.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct SendingRecord {
    #[serde(default)]
    elapsed_ns: u64,
    commands: Vec<CommandRecord>,
    errors: ErrorRecord,
    connections: ConnectionRecord,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lateness_ms: Option<LatenessRecord>,
}

impl DeliveriesRecord {
    pub(super) fn from_deliveries(deliveries: &Deliveries) -> Result<Self, RecordError> {
        let Deliveries {
            sending,
            sending_ns,
            expected,
            away,
            counts,
            first,
            last,
            polls,
            by_receiver,
            receivers,
            waits,
            slow,
            invalidations,
            kept,
        } = deliveries;
        let DeliveryCounts { received, doubled, out_of_order, foreign, corrupt, cut_off } = *counts;
        let Tally { commands, operations: _, errors, connections, lateness, spans: _, deadline: _ } =
            sending;
        let latency = |l: &Option<Latency>| l.as_ref().map(LatencyRecord::from_latency).transpose();
        let names = ["send", "replica-wait"].into_iter();
        let command = |(name, tally): (&str, _)| CommandRecord::new(name.to_owned(), tally);
        Ok(Self {
            messages_acknowledged: deliveries.acknowledged(),
            messages_unacknowledged: deliveries.unacknowledged(),
            receivers: *receivers,
            expected: *expected,
            received,
            lost: deliveries.lost(),
            doubled,
            out_of_order,
            from_other_runs: foreign,
            corrupt,
            receivers_cut_off: cut_off,
            missed_while_away: *away,
            least_by_receiver: by_receiver.map(|(least, _)| least),
            most_by_receiver: by_receiver.map(|(_, most)| most),
            first_receiver_ms: latency(first)?,
            last_receiver_ms: latency(last)?,
            waits: waits.as_ref().map(WaitsRecord::from_waits).transpose()?,
            polls: polls
                .as_ref()
                .map(|polls| {
                    Ok::<_, RecordError>(PollsRecord {
                        overtaken: polls.overtaken,
                        receivers_behind: polls.behind,
                        between_reads_ms: LatencyRecord::from_latency(&polls.gap)?,
                    })
                })
                .transpose()?,
            slow_subscribers: slow.as_deref().map(SlowRecord::from_slow),
            invalidations: (invalidations.as_deref())
                .map(InvalidationsRecord::from_invalidations)
                .transpose()?,
            keys_kept: kept
                .as_ref()
                .map(|KeptKeys { keys, why }| KeysKeptRecord { keys: *keys, why: why.clone() }),
            sending: SendingRecord {
                elapsed_ns: *sending_ns,
                commands: names.zip(commands).map(command).collect::<Result<_, _>>()?,
                errors: ErrorRecord::from_errors(errors),
                connections: ConnectionRecord::from_tally(connections)?,
                lateness_ms: lateness.as_ref().map(LatenessRecord::from_lateness).transpose()?,
            },
        })
    }

    pub(super) fn deliveries(self) -> Result<Box<Deliveries>, RecordError> {
        let SendingRecord { elapsed_ns, commands, errors, connections, lateness_ms } = self.sending;
        let latency =
            |l: &Option<LatencyRecord>| l.as_ref().map(LatencyRecord::latency).transpose();
        let sending = Tally {
            commands: commands.iter().map(CommandRecord::tally).collect::<Result<_, _>>()?,
            operations: Vec::new(),
            errors: errors.counts(),
            connections: connections.tally()?,
            lateness: lateness_ms.as_ref().map(LatenessRecord::lateness).transpose()?,
            spans: None,
            deadline: None,
        };
        Ok(Box::new(Deliveries {
            sending,
            sending_ns: elapsed_ns,
            expected: self.expected,
            away: self.missed_while_away,
            counts: DeliveryCounts {
                received: self.received,
                doubled: self.doubled,
                out_of_order: self.out_of_order,
                foreign: self.from_other_runs,
                corrupt: self.corrupt,
                cut_off: self.receivers_cut_off,
            },
            first: latency(&self.first_receiver_ms)?,
            last: latency(&self.last_receiver_ms)?,
            polls: self
                .polls
                .map(|polls| {
                    Ok::<_, RecordError>(Box::new(Polls {
                        gap: polls.between_reads_ms.latency()?,
                        overtaken: polls.overtaken,
                        behind: polls.receivers_behind,
                    }))
                })
                .transpose()?,
            by_receiver: self.least_by_receiver.zip(self.most_by_receiver),
            receivers: self.receivers,
            waits: self.waits.map(WaitsRecord::waits).transpose()?,
            slow: self.slow_subscribers.map(|slow| Box::new(slow.slow())),
            invalidations: (self.invalidations.as_ref())
                .map(InvalidationsRecord::invalidations)
                .transpose()?,
            kept: self.keys_kept.map(|KeysKeptRecord { keys, why }| KeptKeys { keys, why }),
        }))
    }
}
