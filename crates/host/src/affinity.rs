//! The CPUs that this process may use, and pinning to some.

use std::io;

use crate::machine::cpu_list;

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
    cpus.iter().filter(|cpu| **cpu < CpuSet::MAX_CPU).for_each(|cpu| set.set(*cpu));
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

/// CPUs that are threads of the same core as `cpu`; empty if the kernel does not report them.
pub fn siblings(cpu: usize) -> Vec<usize> {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
    std::fs::read_to_string(path).map(|list| cpu_list(&list)).unwrap_or_default()
}

/// Two CPUs that this process may use, on different cores if possible; `None` if it may use one only.
pub fn two_cpus() -> Option<[usize; 2]> {
    two_of(&allowed(), siblings)
}

/// The first of `allowed`, and the first that does not share its core, or else the next.
fn two_of(allowed: &[usize], siblings: impl Fn(usize) -> Vec<usize>) -> Option<[usize; 2]> {
    let (&first, others) = allowed.split_first()?;
    let same_core = siblings(first);
    let second = others.iter().find(|cpu| !same_core.contains(cpu)).or(others.first())?;
    Some([first, *second])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_do_not_share_a_core_if_they_need_not() {
        let pairs = |cpu: usize| vec![cpu & !1, cpu | 1];
        assert_eq!(two_of(&[0, 1, 2, 3], pairs), Some([0, 2]));
        assert_eq!(two_of(&[4, 5], pairs), Some([4, 5]));
        assert_eq!(two_of(&[4], pairs), None);
        assert_eq!(two_of(&[], pairs), None);
        assert_eq!(two_of(&[0, 1], |_| Vec::new()), Some([0, 1]));
    }
}
