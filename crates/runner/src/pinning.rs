//! Workers pinned to CPUs (`--cpus`).

use naming::CPUS;

/// Pins the calling thread to the next CPU in turn for this worker, if there are any.
#[cfg(target_os = "linux")]
pub(crate) fn pin(cpus: &[usize], worker: u16) -> Result<(), String> {
    let Some(&cpu) = cpus.get(usize::from(worker) % cpus.len().max(1)) else { return Ok(()) };
    let mut set = rustix::thread::CpuSet::new();
    set.set(cpu);
    rustix::thread::sched_setaffinity(None, &set)
        .map_err(|e| format!("{CPUS}: a worker cannot be pinned to CPU {cpu}: {e}"))
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn pin(cpus: &[usize], _worker: u16) -> Result<(), String> {
    match cpus {
        [] => Ok(()),
        _ => Err(format!("{CPUS}: CPU pinning is available on Linux only")),
    }
}
