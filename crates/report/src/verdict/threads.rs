//! Use of time by a thread: busy, kept from a CPU, or idle.

/// Share of time busy, or kept from a CPU, from which a thread has none left. A loop that does nothing else
/// reads 95 to 100 %; the rest goes to the start, the end and interrupts.
pub(super) const SATURATED: f64 = 0.90;
/// Share of time kept from its CPU from which a thread is slowed down noticeably.
pub(super) const HELD: f64 = 0.10;

/// Shares of the time, 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ThreadUse {
    /// Share of time on a CPU.
    pub(super) cpu: f64,
    /// Share of time ready to run, without a CPU. Most kernels include the time stopped by a quota.
    pub(super) wait: f64,
    /// Share of the time in which its cgroup's CPU quota throttled it.
    pub(super) throttled: f64,
}

impl ThreadUse {
    pub(super) fn new(cpu: f64, wait: f64, throttled: f64) -> Self {
        let cpu = cpu.clamp(0.0, 1.0);
        let rest = |share: f64| share.clamp(0.0, 1.0 - cpu);
        Self { cpu, wait: rest(wait), throttled: rest(throttled) }
    }

    /// Kept from a CPU, for whatever reason.
    pub(super) fn held(self) -> f64 {
        self.wait.max(self.throttled)
    }

    /// Share of time busy or kept from a CPU.
    pub(super) fn taken(self) -> f64 {
        self.cpu + self.held()
    }

    /// Returns whether the thread had no time left.
    pub(super) fn full(self) -> bool {
        self.taken() >= SATURATED
    }

    /// Returns whether the thread was kept from a CPU long enough to matter, and was not full without that.
    pub(super) fn starved(self) -> bool {
        self.held() >= HELD && self.cpu < SATURATED
    }

    /// Returns whether a quota explains most of the time for which the thread was kept from a CPU.
    pub(super) fn by_quota(self) -> bool {
        self.throttled * 2.0 > self.held()
    }
}
