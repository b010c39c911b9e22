//! Time to think: in a closed loop, a connection that has its replies waits before it sends again, as a user who reads.
//!
//! A connection that thinks has no room, on whichever route it is. The first requests are spread over a time to think,
//! so that users who begin together do not stay together.

use std::collections::VecDeque;

use engine::ConnId;
use workload::Plan;

/// Connections that think.
#[derive(Debug)]
pub(super) struct Thinking {
    think_ns: u64,
    /// Connections that think, in the order in which they end.
    ends: VecDeque<(u64, ConnId)>,
    /// Set for each connection that thinks; empty in a plan without a time for that.
    thinks: Vec<bool>,
}

impl Thinking {
    pub(super) fn new(plan: &Plan, connections: usize) -> Self {
        let think_ns = plan.load.concurrency.think_ns;
        let all = if think_ns > 0 { connections } else { 0 };
        Self { think_ns, ends: VecDeque::with_capacity(all), thinks: vec![false; all] }
    }

    /// Load begins: all think, each a little longer than the one before.
    pub(super) fn start(&mut self, start_ns: u64) {
        let all = self.thinks.len() as u64;
        for number in 0..all {
            let part = u128::from(self.think_ns) * u128::from(number) / u128::from(all);
            self.begin(ConnId(number as u32), start_ns + part as u64);
        }
    }

    fn begin(&mut self, conn: ConnId, until_ns: u64) {
        if !std::mem::replace(&mut self.thinks[conn.0 as usize], true) {
            self.ends.push_back((until_ns, conn));
        }
    }

    /// Returns whether a connection with replies does not send yet. One that waits for nothing begins to think.
    #[inline]
    pub(super) fn pauses(&mut self, conn: ConnId, is_idle: bool, now_ns: impl Fn() -> u64) -> bool {
        if self.think_ns > 0 && is_idle {
            self.begin(conn, now_ns().saturating_add(self.think_ns));
        }
        self.think_ns > 0
    }

    /// Returns whether a connection thinks.
    #[inline]
    pub(super) fn has(&self, conn: ConnId) -> bool {
        self.thinks.get(conn.0 as usize).is_some_and(|thinks| *thinks)
    }

    /// Time at which the next one ends; `u64::MAX` for never.
    #[inline]
    pub(super) fn next_ns(&self) -> u64 {
        self.ends.front().map_or(u64::MAX, |(until_ns, _)| *until_ns)
    }

    /// Takes out a connection that has thought.
    #[inline]
    pub(super) fn take(&mut self, now_ns: u64) -> Option<ConnId> {
        self.ends.front().filter(|(until_ns, _)| *until_ns <= now_ns)?;
        let (_, conn) = self.ends.pop_front()?;
        self.thinks[conn.0 as usize] = false;
        Some(conn)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use measure::Ending;
    use workload::Stop;

    use crate::replay::server::Server;
    use crate::replay::{MS, SECOND, parts, replay};

    #[test]
    fn each_connection_thinks_after_its_replies() {
        for (connections, depth, think_ns) in
            [(1, 1, SECOND), (4, 1, 20 * MS), (3, 4, 10 * MS), (50, 1, 7 * SECOND)]
        {
            let mut plan = parts(connections, depth, Stop::AfterNs(30 * SECOND));
            plan.load.concurrency.think_ns = think_ns;
            let (got, log) = replay(plan, Server::taking(MS / 10));
            assert_eq!(
                (got.ending, got.total.requests()),
                (Ending::Complete, log.requests.len() as u64)
            );
            assert!(got.outages.is_empty(), "{:?}", got.outages);
            let mut sent: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
            log.reads
                .iter()
                .for_each(|(at_ns, conn, _)| sent.entry(conn.0).or_default().push(*at_ns));
            assert_eq!(sent.len(), connections as usize);
            for (conn, sent) in sent {
                assert!(sent.len() as u64 >= 30 * SECOND / (think_ns + MS) - 1, "{conn}: {sent:?}");
                let reply_ns = u64::from(depth) * MS / 10;
                let paused = |pair: &[u64]| pair[1] - pair[0] >= think_ns + reply_ns;
                assert!(sent.windows(2).all(paused), "{conn}: {sent:?}");
            }
        }
    }

    #[test]
    fn a_number_of_requests_is_sent_to_the_last() {
        let mut plan = parts(3, 1, Stop::Requests(10));
        plan.load.concurrency.think_ns = SECOND;
        let (got, log) = replay(plan, Server::taking(MS));
        assert_eq!((got.total.requests(), log.requests.len()), (10, 10));
    }
}
