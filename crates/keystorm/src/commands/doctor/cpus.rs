//! Choice of a core each for the client and the sink, if there are two.

use std::io;

use host::affinity;
use host::machine::cpu_list;

/// The CPUs of the two; `None` if they would have to share one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CpuChoice {
    pub(super) cpus: Option<Cpus>,
}

/// Two different CPUs, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cpus {
    pub(super) client: usize,
    pub(super) sink: usize,
}

impl CpuChoice {
    /// Takes two of the CPUs that this process may use, on different cores if possible.
    pub(super) fn find() -> Self {
        Self { cpus: choose(&affinity::allowed(), siblings) }
    }

    /// Pins the calling thread to the sink's CPU.
    pub(super) fn take_sinks(self) -> io::Result<()> {
        self.cpus.map_or(Ok(()), |both| pin(both.sink))
    }
}

/// The first of `allowed` for the sink. For the client the first that does not share its core, or else the
/// next.
fn choose(allowed: &[usize], siblings: impl Fn(usize) -> Vec<usize>) -> Option<Cpus> {
    let (&sink, others) = allowed.split_first()?;
    let same_core = siblings(sink);
    let client = others.iter().find(|cpu| !same_core.contains(cpu)).or(others.first())?;
    Some(Cpus { client: *client, sink })
}

/// CPUs that are threads of the same core as `cpu`; empty if the kernel does not report them.
pub(crate) fn siblings(cpu: usize) -> Vec<usize> {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
    std::fs::read_to_string(path).map(|list| cpu_list(&list)).unwrap_or_default()
}

#[cfg(target_os = "linux")]
fn pin(cpu: usize) -> io::Result<()> {
    let mut set = rustix::thread::CpuSet::new();
    set.set(cpu);
    Ok(rustix::thread::sched_setaffinity(None, &set)?)
}

#[cfg(not(target_os = "linux"))]
fn pin(_cpu: usize) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_do_not_share_a_core_if_they_need_not() {
        let pairs = |cpu: usize| vec![cpu & !1, cpu | 1];
        assert_eq!(choose(&[0, 1, 2, 3], pairs), Some(Cpus { client: 2, sink: 0 }));
        assert_eq!(choose(&[4, 5], pairs), Some(Cpus { client: 5, sink: 4 }));
        assert_eq!(choose(&[4], pairs), None);
        assert_eq!(choose(&[], pairs), None);
        assert_eq!(choose(&[0, 1], |_| Vec::new()), Some(Cpus { client: 1, sink: 0 }));
    }
}
