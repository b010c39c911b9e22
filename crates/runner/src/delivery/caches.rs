//! Observations of caching clients beside deliveries: how long they served stale data, messages already read,
//! and invalidations that no write of the run caused.

use engine::{ConnId, Engine};
use measure::{DeliveryCounts, Invalidations};
use workload::{DeliveryKind, Purpose};

use super::Roles;
use super::order::Arrival;
use super::receivers::Receivers;
use super::reply_strings::DeliveredMessage;
use crate::ledger::Ledger;
use crate::messages::{AckLog, AckState, Acknowledgements, SentTimes};

impl Roles<'_> {
    /// Returns the acknowledgement times that senders note, if receivers need them.
    fn acknowledgements(&self) -> Option<&Acknowledgements> {
        self.acknowledgements.as_ref()
    }

    /// Creates the records of acknowledgements of a run with these roles, if it has messages.
    pub(crate) fn ack_log<'r>(roles: Option<&'r Self>, ledger: Option<&'r Ledger>) -> AckLog<'r> {
        AckLog { times: roles.and_then(Self::acknowledgements), ledger }
    }

    /// Returns the due and sending times that senders note, if messages do not carry them.
    pub(crate) fn sent_times(&self) -> Option<&SentTimes> {
        self.sent_times.as_ref()
    }
}

/// Returns the number of invalidations that were missed by caches that were disconnected, if missing ones
/// have a cause other than loss.
pub(super) fn missed(
    kind: DeliveryKind,
    caches: &mut Invalidations,
    removable: u64,
    expected: u64,
    counts: &DeliveryCounts,
) -> u64 {
    let missing = expected.saturating_sub(counts.received + caches.covered);
    if matches!(kind, DeliveryKind::Invalidate { tracking } if tracking.mode.follows_reads()) {
        // A returning cache has read the writes made until then.
        caches.removed = missing.min(removable);
        return 0;
    }
    // One that is not connected gets none, and must drop everything.
    if counts.cut_off > 0 { missing } else { 0 }
}

impl<E: Engine> Receivers<'_, E> {
    /// Takes the messages that a cache found when it read a place again. The first is the write whose
    /// invalidation it got `at_ns`, if it got one; the others had come by then.
    pub(super) fn take_read(&mut self, conn: ConnId, place: u32, at_ns: Option<u64>, now_ns: u64) {
        let strings = &self.receivers[conn.0 as usize].strings;
        let (count, entries) = (strings.messages().len(), strings.entries().len());
        self.counts.corrupt += entries.saturating_sub(count) as u64;
        let first_sent_ns = strings.messages().first().map(|had| had.message.sent_ns);
        // One that came before anything was sent has another cause.
        let caused_ns = at_ns.filter(|at| first_sent_ns.is_some_and(|sent| sent <= *at));
        if at_ns.is_some() && caused_ns.is_none() && self.recorder.measuring(now_ns) {
            self.invalidations.iter_mut().for_each(|caches| caches.unprompted += 1);
        }
        for n in 0..count {
            let had = self.receivers[conn.0 as usize].strings.messages()[n];
            let delivered = DeliveredMessage { place: Some(place), ..had };
            match caused_ns.filter(|_| n == 0) {
                Some(invalidated_ns) => {
                    self.take(conn, delivered, invalidated_ns);
                    // A message of another time is another sample.
                    self.recorder.read_ended(now_ns, 0);
                }
                None => self.cover(conn, delivered),
            }
        }
    }

    /// Takes a message that a cache had already read, so that no separate invalidation was due.
    fn cover(&mut self, conn: ConnId, delivered: DeliveredMessage) {
        let Some(message) = self.of_this_run(conn, delivered.message) else { return };
        if message.purpose != Purpose::Measured {
            return;
        }
        match self.rank(conn, &delivered) {
            Arrival::Doubled => self.counts.doubled += 1,
            place => {
                self.counts.out_of_order += u64::from(place == Arrival::OutOfOrder);
                self.invalidations.iter_mut().for_each(|caches| caches.covered += 1);
                self.receivers[conn.0 as usize].cache.covered += 1;
            }
        }
    }

    /// Notes that a cache got the invalidation of this message.
    #[inline]
    pub(super) fn invalidated(&mut self, number: u64, now_ns: u64) {
        let Some(caches) = &mut self.invalidations else { return };
        let Some(acknowledgements) = self.context.roles.acknowledgements() else { return };
        match acknowledgements.state(number) {
            AckState::At(at_ns) if at_ns <= now_ns => caches.stale.record_n(now_ns - at_ns, 1),
            AckState::At(_) | AckState::NotYet => {
                caches.before_acknowledged += 1;
                caches.stale.record_n(0, 1);
            }
            AckState::LongAgo => {}
        }
    }

    /// Notes when something came to a receiver.
    #[inline]
    pub(super) fn heard_at(&mut self, conn: ConnId, now_ns: u64) {
        self.recorder.measuring(now_ns);
        self.recorder.of_read(conn, self.engine.arrived_ns());
        if self.invalidations.is_some() {
            self.receivers[conn.0 as usize].consumer.heard_at(now_ns);
        }
    }

    /// Notes that a cache is to drop everything: earlier messages that it did not have are removed.
    pub(super) fn flushed(&mut self, conn: ConnId) {
        let Some(caches) = &mut self.invalidations else { return };
        caches.flushes += 1;
        let acknowledged = self.context.roles.acknowledgements().map_or(0, |all| all.count());
        let load = &self.context.plan.load.concurrency;
        // The server has executed these, too, or may have.
        let on_their_way = u64::from(load.connections) * u64::from(load.pipeline_depth);
        let receiver = &mut self.receivers[conn.0 as usize];
        let had = receiver.received + receiver.cache.covered;
        receiver.cache.removable = (acknowledged + on_their_way).saturating_sub(had);
    }

    /// Number of deliveries that this thread no longer waits for: received, or covered by a read.
    pub(super) fn settled(&self) -> u64 {
        self.counts.received + self.invalidations.as_ref().map_or(0, |caches| caches.covered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::{CacheTracking, TrackingMode};

    #[test]
    fn no_more_is_removed_than_there_was_at_the_last_flush() {
        let lost = |mode, flushes, removable, cut_off| {
            let tracking = CacheTracking { mode, ..CacheTracking::default() };
            let kind = DeliveryKind::Invalidate { tracking };
            let mut caches = Invalidations { covered: 10, flushes, ..Invalidations::new(3) };
            let counts = DeliveryCounts { received: 80, cut_off, ..DeliveryCounts::default() };
            let away = missed(kind, &mut caches, removable, 100, &counts);
            (caches.removed, away)
        };
        assert_eq!(lost(TrackingMode::Default, 0, 0, 0), (0, 0), "ten are lost");
        assert_eq!(lost(TrackingMode::Default, 1, 4, 0), (4, 0), "six are lost");
        assert_eq!(lost(TrackingMode::Default, 2, 500, 1), (10, 0));
        assert_eq!(lost(TrackingMode::Bcast, 1, 500, 0), (0, 0));
        assert_eq!(lost(TrackingMode::Bcast, 0, 0, 1), (0, 10), "a cache was away");
    }
}
