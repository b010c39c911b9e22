//! How a thread spent its time: at work, kept from a CPU, or idle.

/// A thread that is busy, or is kept from a CPU, for this share of the time has none left. A loop
/// that does nothing else reads 95 to 100 %; the rest goes to the start, the end and interrupts.
pub(super) const SATURATED: f64 = 0.90;
/// A thread that is kept from its CPU for this long is slowed down by something that matters.
pub(super) const HELD: f64 = 0.10;

/// Shares of the time, 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ThreadUse {
    /// On a CPU.
    pub(super) cpu: f64,
    /// Ready to run, and without a CPU. Most kernels count what a quota stops as that, too.
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

    /// At work or kept from it.
    pub(super) fn taken(self) -> f64 {
        self.cpu + self.held()
    }

    /// Returns whether the thread had no time left.
    pub(super) fn full(self) -> bool {
        self.taken() >= SATURATED
    }

    /// Returns whether the thread was kept from a CPU for long enough to matter, and was not full without that.
    pub(super) fn starved(self) -> bool {
        self.held() >= HELD && self.cpu < SATURATED
    }

    /// Returns whether a quota explains most of the time for which the thread was kept from a CPU.
    pub(super) fn by_quota(self) -> bool {
        self.throttled * 2.0 > self.held()
    }
}
