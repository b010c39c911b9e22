//! The CPUs that this process may use, and pinning to some.

use std::io;

/// Pins the calling thread, and everything that it starts later, to these CPUs; no restriction if empty.
///
/// # Errors
/// Returns an error if none of them exists, or this process may not use them.
#[cfg(target_os = "linux")]
pub fn pin(cpus: &[usize]) -> io::Result<()> {
    use rustix::thread::{CpuSet, sched_setaffinity};
    if cpus.is_empty() {
        return Ok(());
    }
    let mut set = CpuSet::new();
    cpus.iter().for_each(|cpu| set.set(*cpu));
    Ok(sched_setaffinity(None, &set)?)
}

#[cfg(not(target_os = "linux"))]
pub fn pin(cpus: &[usize]) -> io::Result<()> {
    match cpus {
        [] => Ok(()),
        _ => Err(io::Error::other("CPU pinning is available on Linux only")),
    }
}

/// CPUs that this process may use; empty if unknown.
#[cfg(target_os = "linux")]
pub fn allowed() -> Vec<usize> {
    use rustix::thread::{CpuSet, sched_getaffinity};
    let Ok(set) = sched_getaffinity(None) else { return Vec::new() };
    (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect()
}

#[cfg(not(target_os = "linux"))]
pub fn allowed() -> Vec<usize> {
    Vec::new()
}
