//! Busy-waiting just before a request is due.
//!
//! On a virtual machine a sleeping thread wakes up some 50 µs late, and in one case of a hundred a
//! millisecond late. That exceeds the interval between two requests at 10,000 per second. The pacer knows
//! when the next request is due; the engine does the work meanwhile.

/// Time before a request is due in which no worker sleeps. At 10,000 per second and thread, workers never
/// sleep.
pub(crate) const SPIN_NS: u64 = 100_000;

/// Longest turn without work that counts as busy-waiting. Such a turn takes a microsecond or two; in a longer
/// one the thread had no CPU for a while, which is not CPU time to subtract.
const TURN_MAX_NS: u64 = 50_000;

/// A worker's policy for waiting until something is due.
#[derive(Debug)]
pub(crate) struct Spin {
    allowed: bool,
    /// Set if the current turn does not sleep.
    spins: bool,
    /// Time since which there was nothing to do.
    quiet_since_ns: Option<u64>,
    spun_ns: u64,
}

impl Spin {
    /// Creates a policy. `allowed` is set where the thread has a CPU to itself; elsewhere it would take the
    /// server's.
    pub(crate) fn new(allowed: bool) -> Self {
        Self { allowed, spins: false, quiet_since_ns: None, spun_ns: 0 }
    }

    /// Returns the time until which the engine may wait, given the next wake-up and the next due request.
    #[inline]
    pub(crate) fn until_ns(&mut self, now_ns: u64, wake_ns: u64, due_ns: u64) -> u64 {
        self.spins = false;
        if !self.allowed || due_ns > wake_ns || due_ns <= now_ns {
            return wake_ns;
        }
        let sleep_until_ns = due_ns.saturating_sub(SPIN_NS);
        if sleep_until_ns > now_ns {
            return sleep_until_ns;
        }
        self.spins = true;
        // Nothing is earlier: the engine only looks.
        0
    }

    /// Notes the end of a turn. `quiet` says that there was nothing to do.
    #[inline]
    pub(crate) fn turned(&mut self, now_ns: u64, quiet: bool) {
        if !self.spins || !quiet {
            self.quiet_since_ns = None;
            return;
        }
        if let Some(since_ns) = self.quiet_since_ns.replace(now_ns) {
            let took_ns = now_ns.saturating_sub(since_ns);
            self.spun_ns += if took_ns <= TURN_MAX_NS { took_ns } else { 0 };
        }
    }

    /// CPU time of busy-waiting, which no load has cost.
    pub(crate) fn spun_ns(&self) -> u64 {
        self.spun_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_sleeps_until_shortly_before_and_then_asks() {
        let mut spin = Spin::new(true);
        assert_eq!(spin.until_ns(0, 1_000_000, 1_000_000), 900_000);
        spin.turned(900_000, true);
        assert_eq!(spin.until_ns(900_000, 1_000_000, 1_000_000), 0);
        spin.turned(900_500, true);
        assert_eq!(spin.until_ns(900_500, 1_000_000, 1_000_000), 0);
        spin.turned(901_500, true);
        assert_eq!(spin.spun_ns(), 1_000, "of the first turn it is not known what it began with");
        assert_eq!(spin.until_ns(901_500, 1_000_000, 1_000_000), 0);
        spin.turned(950_000, false);
        assert_eq!(spin.until_ns(950_000, 1_000_000, 1_000_000), 0);
        spin.turned(960_000, true);
        assert_eq!(spin.spun_ns(), 1_000, "a turn with work is work");
    }

    #[test]
    fn time_without_a_cpu_is_not_taken_off_cpu_time() {
        let mut spin = Spin::new(true);
        for now_ns in [1_000, 2_000, 4_002_000, 4_003_000] {
            assert_eq!(spin.until_ns(now_ns, 9_000_000, now_ns + 500), 0);
            spin.turned(now_ns, true);
        }
        assert_eq!(spin.spun_ns(), 2_000, "something else had the CPU for 4 ms");
    }

    #[test]
    fn it_does_not_ask_for_what_is_not_next_or_where_it_may_not() {
        let mut spin = Spin::new(true);
        assert_eq!(spin.until_ns(0, 50_000, u64::MAX), 50_000);
        assert_eq!(spin.until_ns(0, 50_000, 60_000), 50_000);
        assert_eq!(spin.until_ns(70_000, 60_000, 60_000), 60_000, "overdue");
        assert_eq!(Spin::new(false).until_ns(0, 50_000, 50_000), 50_000);
    }
}
