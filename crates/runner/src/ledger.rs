//! Ledger of acknowledged writes: for each lane the numbers that a server has acknowledged, and when.
//!
//! A lane is a connection that counts its own requests. One worker writes it, so that its numbers are plain loads and
//! stores; a lock is taken only where replies are missing, and once a millisecond. What acknowledgements are good for
//! after a crash is left to `lab::durability`.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use measure::LaneRecord;
use workload::Plan;

/// Interval between two times that a lane keeps, in nanoseconds.
const STAMP_EVERY_NS: u64 = 1_000_000;

/// Acknowledged writes of all lanes, shared by the workers of a run.
#[derive(Debug)]
pub(crate) struct Ledger {
    lanes: Vec<Lane>,
    /// Number of the first lane among those of all clients.
    first: u64,
    /// Count of request numbers after which another lane's begin.
    round: u64,
    /// Index in the sequence of the command whose reply acknowledges a write.
    command: u32,
    /// Start of the measured part, on the workers' clock.
    from_ns: AtomicU64,
}

/// Numbers that the server has acknowledged on one connection.
#[derive(Debug, Default)]
struct Lane {
    /// Every number below is acknowledged, except those that are missing.
    next: AtomicU64,
    /// The last number that was refused, plus 1.
    refused: AtomicU64,
    last_ns: AtomicU64,
    stamped_ns: AtomicU64,
    record: Mutex<LaneRecord>,
}

impl Ledger {
    /// Creates the ledger of a plan whose connections count their own requests.
    pub(crate) fn new(plan: &Plan) -> Self {
        let own = plan.load.shard.part(plan.load.concurrency.connections.into());
        let lanes = own.clone().map(|_| Lane::default()).collect();
        let command = plan.sequence.len().saturating_sub(1) as u32;
        Self {
            lanes,
            first: own.start,
            round: plan.connection_round(),
            command,
            from_ns: AtomicU64::new(0),
        }
    }

    /// Notes the time at which load begins.
    pub(crate) fn begin(&self, from_ns: u64) {
        self.from_ns.store(from_ns, Ordering::Relaxed);
    }

    /// Notes that a command of request number `request` was answered without an error.
    #[inline]
    pub(crate) fn acknowledge(&self, request: u64, command: u32, now_ns: u64) {
        let number = request % self.round;
        let Some(lane) = self.lane(request) else { return };
        if command != self.command || lane.refused.load(Ordering::Relaxed) == number + 1 {
            return;
        }
        let next = lane.next.load(Ordering::Relaxed);
        if number != next {
            lane.skip(number, next);
        }
        lane.next.store(next.max(number + 1), Ordering::Relaxed);
        lane.last_ns.store(now_ns, Ordering::Relaxed);
        if now_ns >= lane.stamped_ns.load(Ordering::Relaxed) + STAMP_EVERY_NS {
            lane.stamp(now_ns.saturating_sub(self.from_ns.load(Ordering::Relaxed)));
            lane.stamped_ns.store(now_ns, Ordering::Relaxed);
        }
    }

    /// Notes that a command of request number `request` was answered with an error, or with nothing.
    #[cold]
    pub(crate) fn refuse(&self, request: u64) {
        if let Some(lane) = self.lane(request) {
            lane.refused.store(request % self.round + 1, Ordering::Relaxed);
        }
    }

    /// The lane of a request number.
    #[inline]
    fn lane(&self, request: u64) -> Option<&Lane> {
        self.lanes.get((request / self.round).checked_sub(self.first)? as usize)
    }

    /// Returns what each lane holds, once the run has ended.
    pub(crate) fn lanes(&self) -> Vec<LaneRecord> {
        let from_ns = self.from_ns.load(Ordering::Relaxed);
        let records = self.lanes.iter().map(|lane| {
            lane.stamp(lane.last_ns.load(Ordering::Relaxed).saturating_sub(from_ns));
            let mut record = lane.record.lock().unwrap_or_else(PoisonError::into_inner).clone();
            record.next = lane.next.load(Ordering::Relaxed);
            record
        });
        records.collect()
    }
}

impl Lane {
    /// Notes numbers that were passed over, or one of them that is acknowledged after all.
    #[cold]
    fn skip(&self, number: u64, next: u64) {
        let missing = &mut self.record.lock().unwrap_or_else(PoisonError::into_inner).missing;
        if number > next {
            missing.push(next..number);
        } else if let Some(at) = missing.iter().position(|range| range.contains(&number)) {
            let Range { start, end } = missing[at].clone();
            let parts = [start..number, number + 1..end];
            missing.splice(at..=at, parts.into_iter().filter(|part| !part.is_empty()));
        }
    }

    /// Keeps the time of the last acknowledgement.
    #[cold]
    fn stamp(&self, at_ns: u64) {
        let next = self.next.load(Ordering::Relaxed);
        let times = &mut self.record.lock().unwrap_or_else(PoisonError::into_inner).times;
        if times.last().is_none_or(|(known, _)| *known < next) {
            times.push((next, at_ns));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use workload::random::draw;

    use super::*;

    fn ledger(lanes: usize) -> Ledger {
        let lanes = (0..lanes).map(|_| Lane::default()).collect();
        Ledger { lanes, first: 0, round: 1 << 30, command: 0, from_ns: AtomicU64::new(0) }
    }

    /// Whatever order replies come in, and whichever are missing, the ledger holds what a full log holds.
    #[test]
    fn a_ledger_holds_what_a_full_log_holds() {
        for seed in 0..200 {
            let (ledger, mut index) = (ledger(3), 0);
            let mut below = |bound: u64| {
                index += 1;
                draw(seed, index) % bound
            };
            let mut log: [BTreeMap<u64, u64>; 3] = Default::default();
            let mut waiting: Vec<(u64, u64)> = (0..600).map(|n| (n % 3, n / 3)).collect();
            let mut now_ns = 0;
            while !waiting.is_empty() {
                now_ns += below(700_000);
                // Mostly the oldest, as on a connection; at times one of the next, as in a cluster.
                let at = if below(10) == 0 { below(waiting.len().min(9) as u64) } else { 0 };
                let (lane, number) = waiting.remove(at as usize);
                let request = (lane << 30) + number;
                match below(20) {
                    0 => {}
                    1 => {
                        ledger.refuse(request);
                        ledger.acknowledge(request, 0, now_ns);
                    }
                    _ => {
                        ledger.acknowledge(request, 0, now_ns);
                        log[lane as usize].insert(number, now_ns);
                    }
                }
            }
            for (record, log) in ledger.lanes().iter().zip(&log) {
                assert_eq!(record.count(), log.len() as u64, "seed {seed}");
                for number in 0..210 {
                    let known = log.contains_key(&number);
                    assert_eq!(record.contains(number), known, "seed {seed}, number {number}");
                }
            }
        }
    }

    #[test]
    fn times_are_a_millisecond_late_at_most() {
        let ledger = ledger(1);
        (0..1000).for_each(|number| ledger.acknowledge(number, 0, 10_000_000 + number * 300_000));
        let record = &ledger.lanes()[0];
        for number in 0..1000 {
            let late_ns =
                record.at_ns(number).unwrap() as i64 - (10_000_000 + number as i64 * 300_000);
            assert!((0..=1_200_000).contains(&late_ns), "{number}: {late_ns}");
        }
        assert!(record.times.len() < 300 && record.at_ns(1000).is_none());
    }

    #[test]
    fn the_last_command_of_a_sequence_acknowledges() {
        let mut ledger = ledger(1);
        ledger.command = 1;
        ledger.acknowledge(0, 0, 5);
        assert_eq!(ledger.lanes()[0].count(), 0);
        ledger.acknowledge(0, 1, 6);
        ledger.refuse(1);
        ledger.acknowledge(1, 1, 7);
        assert_eq!(ledger.lanes()[0].count(), 1);
    }
}
