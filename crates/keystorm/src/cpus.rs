//! Lists of CPUs, as options name them, those that may be used, and going there.

use anyhow::Result;

/// Reads `0,2-3`, as the value of `option`.
pub(crate) fn cpu_list(option: &str, list: Option<&str>) -> Result<Vec<usize>, String> {
    const CPU_MAX: usize = 1023;
    let Some(list) = list else { return Ok(Vec::new()) };
    let fault = || format!("{option} {list}: CPUs are numbers and ranges such as 0,2-3");
    let mut cpus = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let first: usize = first.trim().parse().map_err(|_| fault())?;
        let last: usize = last.trim().parse().map_err(|_| fault())?;
        if first > last || last > CPU_MAX {
            return Err(fault());
        }
        cpus.extend(first..=last);
    }
    Ok(cpus)
}

/// Keeps the calling thread, and what it starts from now on, on these CPUs; anywhere if there are
/// none.
///
/// # Errors
/// None of them is there, or this process may not use them.
#[cfg(target_os = "linux")]
pub(crate) fn pin(cpus: &[usize]) -> Result<()> {
    use rustix::thread::{CpuSet, sched_setaffinity};
    if cpus.is_empty() {
        return Ok(());
    }
    let mut set = CpuSet::new();
    cpus.iter().for_each(|cpu| set.set(*cpu));
    Ok(sched_setaffinity(None, &set)?)
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn pin(cpus: &[usize]) -> Result<()> {
    anyhow::ensure!(cpus.is_empty(), "CPU pinning is available on Linux only");
    Ok(())
}

/// The CPUs that this process may use; none where that is not known.
#[cfg(target_os = "linux")]
pub(crate) fn allowed() -> Vec<usize> {
    use rustix::thread::{CpuSet, sched_getaffinity};
    let Ok(set) = sched_getaffinity(None) else { return Vec::new() };
    (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect()
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn allowed() -> Vec<usize> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::cpu_list;

    #[test]
    fn cpu_lists_are_numbers_and_ranges() {
        let read = |list| cpu_list("--cpus", Some(list));
        assert_eq!(read("0,2-4").unwrap(), [0, 2, 3, 4]);
        assert_eq!(cpu_list("--cpus", None).unwrap(), [0; 0]);
        for bad in ["", "a", "3-1", "1,,2", "99999"] {
            assert!(read(bad).unwrap_err().contains("--cpus"), "{bad}");
        }
    }
}
