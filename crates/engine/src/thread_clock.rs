//! What the kernel knows of the calling thread: how long it ran, and how long it waited for a CPU.

use std::fs;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// CPU time of the calling thread.
#[must_use]
pub fn thread_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

/// Nanoseconds in which the calling thread could have run and had no CPU, from the second figure of
/// `/proc/thread-self/schedstat`; see `Documentation/scheduler/sched-stats.rst` of Linux.
#[must_use]
pub fn run_delay_ns() -> Option<u64> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().nth(1)?.parse().ok()
}
