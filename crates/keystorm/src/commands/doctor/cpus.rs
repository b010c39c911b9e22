//! Choice of a core each for the client and the sink, if there are two.

use std::io;

use host::affinity;

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
        Self { cpus: affinity::two_cpus().map(|[sink, client]| Cpus { client, sink }) }
    }

    /// Pins the calling thread to the sink's CPU.
    pub(super) fn take_sinks(self) -> io::Result<()> {
        self.cpus.map_or(Ok(()), |both| affinity::pin(&[both.sink]))
    }
}
