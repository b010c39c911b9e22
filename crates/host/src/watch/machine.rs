//! This machine's CPU time, as a whole: how much of it a hypervisor gave to others.

use std::fs;

/// CPU time of all CPUs at a moment, in ticks. See proc(5), `/proc/stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Machine {
    all: u64,
    stolen: u64,
}

impl Machine {
    /// Now; `None` where the kernel does not say (only Linux does).
    pub(super) fn now() -> Option<Self> {
        Self::parse(&fs::read_to_string("/proc/stat").ok()?)
    }

    /// The share that was stolen since, 0 to 1.
    pub(super) fn stolen(self) -> Option<f64> {
        Self::now().and_then(|now| now.stolen_since(self))
    }

    fn parse(text: &str) -> Option<Self> {
        let line = text.lines().next()?.strip_prefix("cpu ")?;
        // user nice system idle iowait irq softirq steal; what follows is part of user and nice.
        let ticks: Option<Vec<u64>> =
            line.split_whitespace().take(8).map(|field| field.parse().ok()).collect();
        let ticks = ticks?;
        Some(Self { all: ticks.iter().sum(), stolen: *ticks.get(7)? })
    }

    fn stolen_since(self, before: Self) -> Option<f64> {
        let all = self.all.checked_sub(before.all).filter(|all| *all > 0)?;
        Some(self.stolen.saturating_sub(before.stolen) as f64 / all as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stolen_time_is_a_share_of_all() {
        let before = Machine::parse("cpu  10 0 10 80 0 0 0 0 0 0\ncpu0 1 2 3\n").unwrap();
        let after = Machine::parse("cpu  40 0 20 100 0 0 0 40 7 0\n").unwrap();
        assert_eq!(after.stolen_since(before), Some(0.4));
        assert_eq!(before.stolen_since(before), None);
        assert_eq!(Machine::parse("intr 5"), None);
        assert_eq!(Machine::parse("cpu  1 2 3"), None);
    }
}
