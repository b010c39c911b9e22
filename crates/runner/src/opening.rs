//! Opening many connections without losing any.
//!
//! A listening socket has a finite backlog; the kernel drops connections beyond it and retries them a second
//! later. So connections are begun in small groups: only a few are in progress at once, and groups are spaced
//! so that a server that accepts at the usual rate keeps up.

use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::time::{SystemTime, UNIX_EPOCH};

use engine::ConnectOptions;
use workload::random::Stream;
use workload::{ConnectionPerRequest, Plan, PlanParts, Spacing};

/// Maximum number of connections in progress at once.
const OPENING_MAX: u32 = 128;
/// Connections begun together, and the least time between two groups: 32,000 per second, about the rate at
/// which one server thread accepts.
const GROUP: u32 = 64;
const GROUP_EVERY_NS: u64 = 2_000_000;
/// Time without progress after which a server that does not answer is given up.
const PATIENCE_NS: u64 = 10_000_000_000;

/// Random stream for the times between connections, separate from all other streams.
const STREAM: u64 = 17 << 56;

/// Decides when the next connection of a worker may be begun.
#[derive(Debug)]
pub(crate) struct Opening {
    total: u32,
    begun: u32,
    opened: u32,
    groups: Groups,
    gaps: Option<Gaps>,
    progress_ns: u64,
}

impl Opening {
    /// Creates the opening of `total` connections, spaced by `gaps` if the plan has some.
    pub(crate) fn new(total: u32, now_ns: u64, gaps: Option<Gaps>) -> Self {
        let groups = Groups::new(now_ns);
        Self { total, begun: 0, opened: 0, groups, gaps, progress_ns: now_ns }
    }

    /// Returns the next connection to begin, if one may be begun now.
    pub(crate) fn next(&mut self, now_ns: u64) -> Option<u32> {
        if self.awaits_others() {
            return None;
        }
        if let Some(gaps) = &mut self.gaps {
            gaps.admit(now_ns).then_some(())?;
            self.progress_ns = now_ns;
        }
        self.groups.admit(now_ns).then_some(())?;
        self.begun += 1;
        Some(self.begun - 1)
    }

    /// Returns whether another connection must open before the next may be begun.
    fn awaits_others(&self) -> bool {
        self.begun == self.total || self.begun - self.opened >= OPENING_MAX
    }

    /// Notes that one connection is open and ready.
    pub(crate) fn opened(&mut self, now_ns: u64) {
        self.opened += 1;
        self.progress_ns = now_ns;
    }

    /// Returns whether all connections are open.
    pub(crate) fn is_complete(&self) -> bool {
        self.opened == self.total
    }

    /// Time of the next look at the latest.
    pub(crate) fn wake_ns(&self) -> u64 {
        if self.awaits_others() {
            self.progress_ns + PATIENCE_NS
        } else {
            let gap_ns = self.gaps.as_ref().map_or(0, |gaps| gaps.next_ns);
            self.groups.next_ns().max(gap_ns)
        }
    }

    /// Returns the number of open connections if nothing has moved for too long, else `None`.
    pub(crate) fn stuck(&self, now_ns: u64) -> Option<u32> {
        let waits = self.gaps.as_ref().is_some_and(|gaps| now_ns < gaps.next_ns);
        (now_ns >= self.progress_ns + PATIENCE_NS && !waits).then_some(self.opened)
    }
}

/// The times between connections, each drawn.
#[derive(Debug)]
pub(crate) struct Gaps {
    spacing: Spacing,
    drawn: Stream,
    count: u64,
    next_ns: u64,
}

impl Gaps {
    /// Returns the gaps of worker `worker`, if its plan has some.
    pub(crate) fn from_plan(plan: &Plan, worker: u16) -> Option<Self> {
        let spacing = plan.load.concurrency.spacing?;
        let drawn = Stream::from_seed(plan.load.seed).substream(STREAM | u64::from(worker) << 40);
        Some(Self { spacing, drawn, count: 0, next_ns: 0 })
    }

    /// Returns whether one more connection may be begun now, and if so draws the time of the next.
    fn admit(&mut self, now_ns: u64) -> bool {
        if now_ns < self.next_ns {
            return false;
        }
        self.next_ns = now_ns + self.spacing.drawn_ns(self.drawn.draw(self.count));
        self.count += 1;
        true
    }
}

/// Rule that spaces connections: a group at once, then a pause.
#[derive(Debug)]
pub(crate) struct Groups {
    left: u32,
    since_ns: u64,
}

impl Groups {
    pub(crate) fn new(now_ns: u64) -> Self {
        Self { left: GROUP, since_ns: now_ns }
    }

    /// Returns whether one more connection may be begun now, and if so counts it as begun.
    pub(crate) fn admit(&mut self, now_ns: u64) -> bool {
        if now_ns >= self.next_ns() {
            (self.left, self.since_ns) = (GROUP, now_ns);
        }
        let admitted = self.left > 0;
        self.left = self.left.saturating_sub(1);
        admitted
    }

    /// Time at which the next group may be begun.
    pub(crate) fn next_ns(&self) -> u64 {
        self.since_ns + GROUP_EVERY_NS
    }

    /// Returns whether the current group has no room.
    pub(crate) fn is_full(&self) -> bool {
        self.left == 0
    }
}

/// Number of connections to one address above which keystorm chooses local ports itself.
const PORTS_FROM: u32 = 4096;

/// Local address and port of each connection of a run.
#[derive(Debug, Clone)]
pub(crate) struct Origins {
    mptcp: bool,
    kernel_stamps: bool,
    per_request: Option<ConnectionPerRequest>,
    sources: Vec<IpAddr>,
    ports: Option<RangeInclusive<u16>>,
    /// Start in the range of ports; it differs between consecutive runs.
    first: u64,
}

impl Origins {
    /// Creates the origins of `connections` connections of a plan, from this machine's local ports.
    pub(crate) fn new(
        plan: &PlanParts,
        connections: u32,
        ports: Option<RangeInclusive<u16>>,
    ) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let per_request = plan.load.concurrency.per_request;
        // A place that is taken over and over would find its port still waiting.
        let is_kept = per_request.is_none_or(|of| of.hold_ns.is_none());
        Self {
            mptcp: plan.target.mptcp,
            // Where messages are received, nothing is measured by replies to those who send them.
            kernel_stamps: plan.recording.kernel_stamps && !plan.has_receivers(),
            per_request,
            sources: plan.target.sources.clone(),
            ports: ports.filter(|ports| connections > PORTS_FROM && is_kept && !ports.is_empty()),
            first: now.as_nanos() as u64 / 1000,
        }
    }

    /// Returns the origins of message receivers, which have kernel stamps that senders do not need.
    pub(crate) fn of_receivers(&self, plan: &PlanParts) -> Self {
        Self { kernel_stamps: plan.recording.kernel_stamps, ..self.clone() }
    }

    /// Returns the options of connection number `number`. Source addresses and ports are taken in turn.
    pub(crate) fn options(&self, number: u32) -> ConnectOptions {
        let number = u64::from(number);
        let (turn, source) = match self.sources.len() as u64 {
            0 => (number, None),
            n => (number / n, Some(self.sources[(number % n) as usize])),
        };
        let port = self.ports.as_ref().map(|ports| {
            let count = u64::from(ports.end() - ports.start()) + 1;
            ports.start() + (self.first.wrapping_add(turn) % count) as u16
        });
        ConnectOptions {
            mptcp: self.mptcp,
            source,
            port,
            reset: self.per_request.is_some_and(|of| of.reset),
            no_wait: self.per_request.is_some(),
            kernel_stamps: self.kernel_stamps,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_spaced_and_bounded() {
        let mut opening = Opening::new(1000, 0, None);
        assert_eq!(std::iter::from_fn(|| opening.next(0)).count() as u32, GROUP);
        assert_eq!(std::iter::from_fn(|| opening.next(GROUP_EVERY_NS)).count() as u32, GROUP);
        assert_eq!(opening.next(2 * GROUP_EVERY_NS), None, "128 are on their way");
        assert_eq!(opening.wake_ns(), PATIENCE_NS, "there is nothing to do before one opens");
        opening.opened(2 * GROUP_EVERY_NS);
        assert_eq!(opening.next(2 * GROUP_EVERY_NS), Some(128));
    }

    #[test]
    fn a_server_that_never_answers_is_noticed() {
        let mut opening = Opening::new(1, 0, None);
        opening.next(0);
        assert_eq!(opening.stuck(PATIENCE_NS - 1), None);
        assert_eq!(opening.stuck(opening.wake_ns()), Some(0));
    }

    #[test]
    fn gaps_that_are_asked_for_are_kept_and_are_no_silence() {
        let ns = 20_000_000_000;
        let spacing = Spacing { least_ns: ns, most_ns: ns };
        let gaps = Gaps { spacing, drawn: Stream::from_seed(1), count: 0, next_ns: 0 };
        let mut opening = Opening::new(2, 0, Some(gaps));
        assert_eq!((opening.next(0), opening.next(0)), (Some(0), None));
        opening.opened(1);
        assert_eq!((opening.wake_ns(), opening.stuck(ns - 1)), (ns, None));
        assert_eq!((opening.next(ns - 1), opening.next(ns)), (None, Some(1)));
        assert_eq!(opening.stuck(ns + PATIENCE_NS - 1), None);
        assert_eq!(opening.stuck(ns + ns), Some(1), "the last is waited for like any other");
    }

    #[test]
    fn sources_and_ports_are_taken_in_turn() {
        let mut plan = PlanParts::default();
        plan.target.sources = vec!["127.0.0.2".parse().unwrap(), "127.0.0.3".parse().unwrap()];
        let origins = Origins { first: 2, ..Origins::new(&plan, 5000, Some(100..=102)) };
        let ports: Vec<_> = (0..4).map(|n| origins.options(n).port.unwrap()).collect();
        assert_eq!(ports, [102, 102, 100, 100]);
        assert_eq!(origins.options(3).source, Some(plan.target.sources[1]));
        assert_eq!(Origins::new(&plan, 50, Some(100..=102)).options(0).port, None);
        for (hold_ns, port) in [(Some(0), None), (None, Some(102))] {
            let reset = true;
            plan.load.concurrency.per_request = Some(ConnectionPerRequest { hold_ns, reset });
            let origins = Origins { first: 2, ..Origins::new(&plan, 5000, Some(100..=102)) };
            let options = origins.options(0);
            assert_eq!((options.port, options.reset, options.no_wait), (port, true, true));
        }
    }
}
