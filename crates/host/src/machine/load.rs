//! The load of the machine: running tasks, pressure, and the use of CPU time.

use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::tree::Tree;

/// Load of the machine at the time of reading.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LoadFacts {
    /// Load averages of 1, 5 and 15 minutes.
    pub average: Option<[f64; 3]>,
    /// Stalls for want of CPU.
    pub cpu_pressure: Option<Pressure>,
    /// Stalls for want of memory.
    pub memory_pressure: Option<Pressure>,
    /// Stalls for want of disks.
    pub io_pressure: Option<Pressure>,
    /// CPU time since the start of the machine.
    pub cpu_times: Option<CpuTimes>,
    /// Mean number of runnable tasks beside this program over a short time. Unlike a load average, it
    /// excludes tasks that have ended.
    pub running_beside: Option<f64>,
}

/// Percentage of time in which at least one task was stalled for lack of the resource.
/// <https://docs.kernel.org/accounting/psi.html>
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Pressure {
    /// Average of the last 10 seconds.
    pub avg10: f64,
    /// Average of the last minute.
    pub avg60: f64,
}

/// Clock ticks per second in `/proc`, which Linux has fixed for all programs (`USER_HZ`).
pub(crate) const TICKS_PER_S: f64 = 100.0;

/// CPU time of all CPUs since boot, in ticks (hundredths of a second on common systems; only ratios are
/// used).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTimes {
    /// Time of all kinds.
    pub total: u64,
    /// Idle time, including waits for a disk.
    pub idle: u64,
    /// Time in which a CPU was ready while the hypervisor ran another machine.
    pub steal: u64,
    /// Time in which programs ran, without interrupts. Not saved.
    #[serde(skip)]
    pub work: u64,
}

impl CpuTimes {
    /// Returns the difference to an earlier reading.
    pub fn since(self, earlier: Self) -> Self {
        Self {
            total: self.total.saturating_sub(earlier.total),
            idle: self.idle.saturating_sub(earlier.idle),
            steal: self.steal.saturating_sub(earlier.steal),
            work: self.work.saturating_sub(earlier.work),
        }
    }

    /// Stolen time as a share of all, 0 to 1.
    pub fn steal_share(self) -> Option<f64> {
        (self.total > 0).then(|| self.steal as f64 / self.total as f64)
    }

    /// Seconds in which programs ran, without interrupts.
    pub fn work_s(self) -> f64 {
        self.work as f64 / TICKS_PER_S
    }
}

/// The CPU time of this machine, now.
pub fn cpu_times() -> Option<CpuTimes> {
    cpu_times_of(&std::fs::read_to_string("/proc/stat").ok()?)
}

/// Number of samples of the running tasks, and the time between them, so that chance wake-ups matter little.
const LOOKS: u32 = 10;
const APART: Duration = Duration::from_millis(2);

/// Runnable tasks beside the caller: the mean of [`LOOKS`] samples. Takes 20 ms in which the caller sleeps,
/// so that its own work is not counted. `None` if the system does not report it.
pub fn running_beside() -> Option<f64> {
    let mut others = 0;
    for _ in 0..LOOKS {
        thread::sleep(APART);
        let running = running_of(&std::fs::read_to_string("/proc/stat").ok()?)?;
        // The one that reads is running.
        others += running.saturating_sub(1);
    }
    Some(f64::from(others) / f64::from(LOOKS))
}

/// Parses the line `procs_running` of <https://docs.kernel.org/filesystems/proc.html>.
fn running_of(stat: &str) -> Option<u32> {
    stat.lines().find_map(|line| line.strip_prefix("procs_running "))?.trim().parse().ok()
}

pub(super) fn read(tree: &Tree) -> LoadFacts {
    LoadFacts {
        running_beside: tree
            .text("proc/stat")
            .and_then(|text| running_of(&text))
            .map(|running| f64::from(running.saturating_sub(1))),
        average: tree.text("proc/loadavg").and_then(|text| average(&text)),
        cpu_pressure: tree.text("proc/pressure/cpu").and_then(|text| pressure(&text)),
        memory_pressure: tree.text("proc/pressure/memory").and_then(|text| pressure(&text)),
        io_pressure: tree.text("proc/pressure/io").and_then(|text| pressure(&text)),
        cpu_times: tree.text("proc/stat").and_then(|text| cpu_times_of(&text)),
    }
}

fn average(text: &str) -> Option<[f64; 3]> {
    let mut numbers = text.split_whitespace().map(|word| word.parse().ok());
    Some([numbers.next()??, numbers.next()??, numbers.next()??])
}

fn pressure(text: &str) -> Option<Pressure> {
    let some = text.lines().find_map(|line| line.strip_prefix("some "))?;
    let value =
        |name: &str| some.split_whitespace().find_map(|word| word.strip_prefix(name)?.parse().ok());
    Some(Pressure { avg10: value("avg10=")?, avg60: value("avg60=")? })
}

/// Parses the line `cpu` of <https://docs.kernel.org/filesystems/proc.html>: user, nice, system, idle,
/// iowait, irq, softirq, steal. The guests' time after them is included in user.
fn cpu_times_of(text: &str) -> Option<CpuTimes> {
    let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Option<Vec<u64>> =
        line.split_whitespace().take(8).map(|word| word.parse().ok()).collect();
    let ticks = ticks.filter(|ticks| ticks.len() >= 5)?;
    Some(CpuTimes {
        total: ticks.iter().fold(0, |sum, n| sum.saturating_add(*n)),
        idle: ticks[3].saturating_add(ticks[4]),
        steal: ticks.get(7).copied().unwrap_or(0),
        work: ticks[..3].iter().fold(0, |sum, n| sum.saturating_add(*n)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stolen_time_is_a_share_of_the_time_between() {
        let before = cpu_times_of("cpu  100 0 100 800 0 0 0 0 0 0\ncpu0 1").unwrap();
        let after = cpu_times_of("cpu  150 0 100 820 10 0 0 20 50 0\n").unwrap();
        let between = after.since(before);
        assert_eq!(between, CpuTimes { total: 100, idle: 30, steal: 20, work: 50 });
        assert_eq!(between.steal_share(), Some(0.2));
        assert_eq!(CpuTimes::default().steal_share(), None);
    }

    #[test]
    fn running_tasks_are_counted_without_the_one_that_asks() {
        assert_eq!(running_of("cpu 1\nprocs_running 3\nprocs_blocked 0\n"), Some(3));
        assert_eq!(running_of("procs_running x"), None);
        // However busy the machine is: a count, and not what it was a minute ago.
        assert!(running_beside().is_none_or(|tasks| tasks >= 0.0));
    }

    #[test]
    fn pressure_is_that_of_some_tasks() {
        let text = "some avg10=1.50 avg60=0.25 avg300=0.10 total=5\nfull avg10=9 avg60=9";
        assert_eq!(pressure(text), Some(Pressure { avg10: 1.5, avg60: 0.25 }));
        assert_eq!(pressure("full avg10=9"), None);
    }
}
