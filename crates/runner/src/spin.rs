//! The last moments before a request is due are spent asking, not sleeping.
//!
//! A thread that sleeps is woken some 50 µs late on a virtual machine, and a millisecond late in one
//! case of a hundred, which is more than the time between two requests at 10,000 per second. When
//! the next request is due is left to the pacer, and what happens meanwhile to the engine.

/// Time before a request is due in which no worker sleeps. At 10,000 per second and thread that is always.
pub(crate) const SPIN_NS: u64 = 100_000;

/// A turn without anything to do takes a microsecond or two. In one that takes longer than this the thread
/// had no CPU for a while, and what it did not have is no CPU time to be taken off.
const TURN_MAX_NS: u64 = 50_000;

/// Policy of one worker for waiting until something is due.
#[derive(Debug)]
pub(crate) struct Spin {
    allowed: bool,
    /// Set if the turn that began last does not sleep.
    spins: bool,
    /// Time since which nothing has happened.
    quiet_since_ns: Option<u64>,
    spun_ns: u64,
}

impl Spin {
    /// `allowed` where the thread has a CPU of its own: elsewhere it would take the server's.
    pub(crate) fn new(allowed: bool) -> Self {
        Self { allowed, spins: false, quiet_since_ns: None, spun_ns: 0 }
    }

    /// Time until which the engine may wait, if something is to be done at `wake_ns` at the latest and a request is due
    /// at `due_ns`.
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

    /// Notes how a turn ended: with nothing to be done, or otherwise.
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

    /// CPU time spent on nothing but asking, which no load has cost.
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
