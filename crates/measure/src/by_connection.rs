//! Figures of each connection of a worker: counts of every second, and latencies of the whole run.
//!
//! Kept beside the tally, which adds up connections, if a plan asks for it. Seconds are kept up to a bound;
//! later events count in the last second.

use crate::{Latency, Outcome, Sample, Stamps};

/// Length of the intervals that are counted separately.
const SECOND_NS: u64 = 1_000_000_000;

/// Significant digits of a connection's latencies; few, as there may be thousands of connections.
const PRECISION: u8 = 2;

/// The connections of one worker, by their numbers there. Connections beyond the plan's, opened for nodes
/// without one, are counted with the first ones.
#[derive(Debug, Clone)]
pub struct ByConnection {
    from_ns: u64,
    /// Maximum number of seconds kept for each connection and command, at least 1.
    seconds_max: u64,
    connections: Vec<Vec<ConnectionTrace>>,
    /// Bytes of each command that are prepared and not handed over yet; empty if bytes are not counted by
    /// command.
    unsent: Vec<u64>,
}

/// Figures of one connection for one of the different commands of the plan's sequence.
#[derive(Debug, Clone)]
pub struct ConnectionTrace {
    /// From sent to done.
    pub service: Latency,
    /// Counts from the first second of the measured part to the last with any traffic.
    pub seconds: Vec<ConnectionSecond>,
}

/// Counts of one second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ConnectionSecond {
    /// Replies with a value.
    pub ok: u64,
    /// Replies without a value.
    pub miss: u64,
    /// Error replies.
    pub errors: u64,
    /// Sum of the times from sent to done.
    pub service_ns: u128,
    /// Bytes sent.
    pub bytes_out: u64,
    /// Bytes received.
    pub bytes_in: u64,
    /// Requests that a cluster node redirected with `MOVED`.
    pub moved: u64,
    /// Requests that a cluster node redirected with `ASK`.
    pub asked: u64,
}

impl ConnectionSecond {
    /// Adds the same second of another command.
    pub fn add(&mut self, other: &Self) {
        let Self { ok, miss, errors, service_ns, bytes_out, bytes_in, moved, asked } = *other;
        self.ok += ok;
        self.miss += miss;
        self.errors += errors;
        self.service_ns += service_ns;
        self.bytes_out += bytes_out;
        self.bytes_in += bytes_in;
        self.moved += moved;
        self.asked += asked;
    }

    /// Replies of all kinds.
    pub fn replies(&self) -> u64 {
        self.ok + self.miss + self.errors
    }
}

impl ConnectionTrace {
    fn new() -> Self {
        Self { service: Latency::new(PRECISION), seconds: Vec::new() }
    }

    fn second(&mut self, since_ns: u64, seconds_max: u64) -> &mut ConnectionSecond {
        let second = (since_ns / SECOND_NS).min(seconds_max - 1) as usize;
        if self.seconds.len() <= second {
            self.seconds.resize(second + 1, ConnectionSecond::default());
        }
        &mut self.seconds[second]
    }
}

impl ByConnection {
    /// Makes empty traces for `connections` connections and `commands` different commands, with at most
    /// `seconds_max` seconds each. Bytes are counted `by_command`, or all for the first.
    pub fn new(connections: usize, commands: usize, by_command: bool, seconds_max: u64) -> Self {
        let connections = (0..connections)
            .map(|_| (0..commands).map(|_| ConnectionTrace::new()).collect())
            .collect();
        let unsent = vec![0; if by_command { commands } else { 0 }];
        Self { from_ns: 0, seconds_max: seconds_max.max(1), connections, unsent }
    }

    /// Approximate number of bytes that it takes at the start.
    pub fn bytes(connections: u64, commands: u64) -> u64 {
        connections.saturating_mul(commands).saturating_mul(Latency::bytes(PRECISION))
    }

    /// Number of further bytes for this many seconds of all connections and commands.
    pub fn bytes_of_seconds(connections: u64, commands: u64, seconds: u64) -> u64 {
        let second = size_of::<ConnectionSecond>() as u64;
        connections.saturating_mul(commands).saturating_mul(seconds).saturating_mul(second)
    }

    /// Starts over, as the measured part begins.
    pub fn begin(&mut self, now_ns: u64) {
        self.from_ns = now_ns;
        for trace in self.connections.iter_mut().flatten() {
            trace.service.clear();
            trace.seconds.clear();
        }
    }

    /// Adds replies that were settled together.
    pub fn record(&mut self, connection: usize, sample: &Sample) {
        let Sample { command, outcome, count, bytes, sent_ns, done_ns, .. } = *sample;
        let second = self.replied(connection, command, count, bytes, sent_ns, done_ns);
        match (second, outcome) {
            (Some(second), Outcome::Ok) => second.ok += count,
            (Some(second), Outcome::Miss) => second.miss += count,
            (None, _) => {}
        }
    }

    /// Adds an error reply of this length.
    pub fn error(&mut self, connection: usize, command: usize, bytes: u64, stamps: &Stamps) {
        let Stamps { sent_ns, done_ns, .. } = *stamps;
        if let Some(second) = self.replied(connection, command, 1, bytes, sent_ns, done_ns) {
            second.errors += 1;
        }
    }

    /// Adds the times and bytes of replies of any kind. Returns the second in which they came.
    fn replied(
        &mut self,
        connection: usize,
        command: usize,
        count: u64,
        bytes: u64,
        sent_ns: u64,
        done_ns: u64,
    ) -> Option<&mut ConnectionSecond> {
        let took_ns = done_ns.saturating_sub(sent_ns);
        let since_ns = done_ns.saturating_sub(self.from_ns);
        let seconds_max = self.seconds_max;
        let trace = self.trace(connection, command)?;
        trace.service.record_n(took_ns, count);
        let second = trace.second(since_ns, seconds_max);
        second.bytes_in += bytes;
        second.service_ns += u128::from(took_ns) * u128::from(count);
        Some(second)
    }

    /// Adds a redirected request, `for_once` or for good.
    pub fn redirected(&mut self, connection: usize, command: usize, for_once: bool, now_ns: u64) {
        let since_ns = now_ns.saturating_sub(self.from_ns);
        let seconds_max = self.seconds_max;
        let Some(trace) = self.trace(connection, command) else { return };
        let second = trace.second(since_ns, seconds_max);
        *(if for_once { &mut second.asked } else { &mut second.moved }) += 1;
    }

    /// Adds bytes of a command that are about to be sent.
    pub fn put_together(&mut self, command: usize, bytes: u64) {
        if let Some(unsent) = self.unsent.get_mut(command) {
            *unsent += bytes;
        }
    }

    /// Counts `bytes` handed to a connection at `now_ns`: all bytes prepared for it.
    pub fn sent(&mut self, connection: usize, bytes: u64, now_ns: u64) {
        let since_ns = now_ns.saturating_sub(self.from_ns);
        let Self { connections, unsent, seconds_max, .. } = self;
        let Some(at) = connection.checked_rem(connections.len()) else { return };
        let traces = &mut connections[at];
        match (unsent.as_mut_slice(), traces.first_mut()) {
            ([], Some(trace)) => trace.second(since_ns, *seconds_max).bytes_out += bytes,
            (unsent, _) => {
                for (trace, bytes) in traces.iter_mut().zip(unsent).filter(|(_, bytes)| **bytes > 0)
                {
                    trace.second(since_ns, *seconds_max).bytes_out += std::mem::take(bytes);
                }
            }
        }
    }

    /// Counts a read of this length that ended at `now_ns`.
    pub fn received(&mut self, connection: usize, bytes: u64, now_ns: u64) {
        let since_ns = now_ns.saturating_sub(self.from_ns);
        let seconds_max = self.seconds_max;
        if self.unsent.is_empty()
            && let Some(trace) = self.trace(connection, 0)
        {
            trace.second(since_ns, seconds_max).bytes_in += bytes;
        }
    }

    /// Returns a trace for each command of each connection.
    pub fn connections(&self) -> &[Vec<ConnectionTrace>] {
        &self.connections
    }

    fn trace(&mut self, connection: usize, command: usize) -> Option<&mut ConnectionTrace> {
        let at = connection.checked_rem(self.connections.len())?;
        self.connections[at].get_mut(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn seconds_and_latencies_are_of_one_connection_and_one_command() {
        let mut by = ByConnection::new(2, 2, true, 60);
        by.begin(500 * MS);
        by.put_together(0, 40);
        by.sent(1, 44, 600 * MS);
        let sample = Sample {
            command: 0,
            outcome: Outcome::Ok,
            count: 2,
            bytes: 10,
            intended_ns: 0,
            sent_ns: 600 * MS,
            first_byte_ns: 0,
            arrived_ns: None,
            done_ns: 603 * MS,
        };
        by.record(1, &sample);
        let late = Sample { done_ns: 2600 * MS, outcome: Outcome::Miss, count: 1, ..sample };
        by.record(1, &late);
        by.error(1, 0, 7, &Stamps { intended_ns: 0, sent_ns: 2600 * MS, done_ns: 2601 * MS });

        let [none, some] = by.connections() else { panic!("two connections") };
        assert!(none.iter().chain(&some[1..]).all(|trace| trace.seconds.is_empty()));
        let first = ConnectionSecond {
            ok: 2,
            service_ns: u128::from(6 * MS),
            bytes_out: 40,
            bytes_in: 10,
            ..ConnectionSecond::default()
        };
        let third = ConnectionSecond {
            miss: 1,
            errors: 1,
            service_ns: u128::from(2001 * MS),
            bytes_in: 17,
            ..ConnectionSecond::default()
        };
        assert_eq!(some[0].seconds, [first, ConnectionSecond::default(), third]);
        assert_eq!(some[0].service.count(), 4);
        assert_eq!(third.replies(), 2);

        by.begin(3000 * MS);
        assert!(by.connections().iter().flatten().all(|trace| trace.seconds.is_empty()));
    }

    #[test]
    fn redirects_are_counted_and_connections_beyond_the_planned_ones_go_with_the_first() {
        let mut by = ByConnection::new(2, 1, true, 60);
        by.redirected(1, 0, true, 10 * MS);
        by.redirected(3, 0, false, 1001 * MS);
        by.put_together(0, 9);
        by.sent(2, 9, MS);
        let [first, second] = by.connections() else { panic!("two connections") };
        assert_eq!(first[0].seconds[0].bytes_out, 9);
        let of = |second: &ConnectionSecond| (second.moved, second.asked);
        assert_eq!(second[0].seconds.iter().map(of).collect::<Vec<_>>(), [(0, 1), (1, 0)]);
    }

    #[test]
    fn what_comes_after_the_last_second_that_is_kept_counts_in_it() {
        let mut by = ByConnection::new(1, 1, false, 2);
        for second in 0..100_000 {
            by.received(0, 1, second * SECOND_NS);
        }
        let seconds = &by.connections()[0][0].seconds;
        assert_eq!(seconds.iter().map(|s| s.bytes_in).collect::<Vec<_>>(), [1, 99_999]);
    }

    #[test]
    fn bytes_that_are_not_counted_by_command_are_the_first_commands() {
        let mut by = ByConnection::new(1, 1, false, 60);
        by.put_together(0, 5);
        by.sent(0, 44, MS);
        by.received(0, 10, 1001 * MS);
        let seconds = &by.connections()[0][0].seconds;
        assert_eq!([seconds[0].bytes_out, seconds[1].bytes_in], [44, 10]);
    }
}
