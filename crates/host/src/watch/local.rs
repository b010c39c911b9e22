//! The kernel's figures for a server on this machine, from `/proc/PID`.
//!
//! The pid in `INFO` belongs to the server's own PID namespace, so it is trusted only if the process with
//! that pid here has the same age and CPU time. See proc(5).

use std::fs;

use rustix::time::{ClockId, clock_gettime};

use super::info::Info;
use super::quota;
use super::workers::{self, Workers};
use crate::machine::{self, TICKS_PER_S};

/// The kernel's figures on a server's main thread and process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct LocalUse {
    /// CPU time of the main thread.
    pub(super) run_ns: u64,
    /// Time in which the main thread was runnable and had no CPU.
    pub(super) wait_ns: u64,
    /// Time in which the CPU quota of its control group throttled it.
    pub(super) throttled_ns: Option<u64>,
    /// Swapped-out memory of the process.
    pub(super) swap_bytes: Option<u64>,
    /// Resident memory of the process.
    pub(super) resident_bytes: Option<u64>,
    /// CPUs that the main thread may run on.
    pub(super) cpus: Vec<usize>,
    /// The threads that serve connections, if their names identify them.
    pub(super) workers: Workers,
}

/// Largest difference, in seconds, between two reports of one process's age or CPU time.
const APART_S_MAX: f64 = 2.0;

/// The process described by `info`, if it runs here.
pub(super) fn find(info: &Info) -> Option<u32> {
    let pid = u32::try_from(info.number("process_id")?).ok()?;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let uptime = fs::read_to_string("/proc/uptime").ok()?;
    let (age_s, cpu_s) = age_and_cpu(&stat, &uptime)?;
    let old = (age_s - info.number("uptime_in_seconds")? as f64).abs() <= APART_S_MAX;
    let used = info.cpu_process_s().is_none_or(|info_s| (info_s - cpu_s).abs() <= APART_S_MAX);
    (old && used).then_some(pid)
}

/// Age of a process and its CPU time, in seconds, from `/proc/PID/stat` and `/proc/uptime`.
fn age_and_cpu(stat: &str, uptime: &str) -> Option<(f64, f64)> {
    // The name is in parentheses and may contain any character.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |field: usize| fields.get(field - 3)?.parse::<f64>().ok();
    let now_s: f64 = uptime.split_whitespace().next()?.parse().ok()?;
    Some((now_s - ticks(22)? / TICKS_PER_S, (ticks(14)? + ticks(15)?) / TICKS_PER_S))
}

/// CPU seconds that this program has used.
pub(super) fn own_cpu_s() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// Reads the process's use of resources so far.
pub(super) fn read(pid: u32) -> Option<LocalUse> {
    let schedstat = fs::read_to_string(format!("/proc/{pid}/task/{pid}/schedstat")).ok()?;
    let mut numbers = schedstat.split_whitespace().map(str::parse);
    let (run_ns, wait_ns) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let (swap_bytes, cpus) = (bytes(&status, "VmSwap:"), allowed(&status));
    let resident_bytes = bytes(&status, "VmRSS:");
    let throttled_ns = quota::throttled_ns(&pid.to_string());
    let workers = workers::named(pid, workers::NAMED);
    Some(LocalUse { run_ns, wait_ns, throttled_ns, swap_bytes, resident_bytes, cpus, workers })
}

/// CPUs that this program may run on; empty if unknown.
pub(super) fn own_cpus() -> Vec<usize> {
    allowed(&fs::read_to_string("/proc/self/status").unwrap_or_default())
}

/// `Cpus_allowed_list` of `/proc/PID/status`.
fn allowed(status: &str) -> Vec<usize> {
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    machine::cpu_list(list.unwrap_or_default().trim())
}

/// A line of `/proc` in KiB, as bytes.
pub(super) fn bytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kibibytes_are_read_as_bytes() {
        assert_eq!(bytes("VmRSS:\t  12 kB\nVmSwap:\t     3 kB\n", "VmSwap:"), Some(3072));
        assert_eq!(bytes("", "VmRSS:"), None);
        assert_eq!(bytes("VmRSS: x kB", "VmRSS:"), None);
    }

    #[test]
    fn age_and_cpu_are_read_past_any_name() {
        let stat = "42 (a) b (c) S 1 42 42 0 -1 4194560 900 0 0 0 150 50 0 0 20 0 5 0 1000 1 1";
        assert_eq!(age_and_cpu(stat, "25.00 40.00\n"), Some((15.0, 2.0)));
        assert_eq!(age_and_cpu("42 (a", "25.00 40.00\n"), None);
    }

    #[test]
    fn allowed_cpus_are_a_list() {
        assert_eq!(allowed("Cpus_allowed:\tb\nCpus_allowed_list:\t0-1,3\n"), [0, 1, 3]);
        assert!(allowed("").is_empty());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_of_another_age_is_not_the_server() {
        let pid = std::process::id();
        let ours = |uptime| Info::parse(&format!("process_id:{pid}\nuptime_in_seconds:{uptime}"));
        assert_eq!(find(&ours(100_000)), None);
        assert_eq!(find(&ours(0)), Some(pid));
        assert!(read(pid).is_some_and(|used| used.run_ns > 0));
    }
}
