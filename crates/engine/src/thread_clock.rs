//! The kernel's figures of the calling thread: CPU time, and waiting time for a CPU.

use std::fs;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// CPU time of the calling thread.
pub fn thread_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

/// CPU time of the calling thread in its own code and in the kernel, in ticks of the kernel (10 ms each on
/// Linux), from `/proc/thread-self/stat`; see `proc_pid_stat(5)`.
pub fn thread_ticks() -> Option<[u64; 2]> {
    let text = fs::read_to_string("/proc/thread-self/stat").ok()?;
    // The name before it is in brackets, and may have some of its own.
    let (_, after) = text.rsplit_once(')')?;
    let mut fields = after.split_whitespace().skip(11);
    let mut next = || fields.next()?.parse().ok();
    Some([next()?, next()?])
}

/// Time in nanoseconds in which the calling thread was runnable and had no CPU, from the second figure of
/// `/proc/thread-self/schedstat`; see `Documentation/scheduler/sched-stats.rst` of Linux.
pub fn run_delay_ns() -> Option<u64> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().nth(1)?.parse().ok()
}
