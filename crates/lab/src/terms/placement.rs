//! Placement of servers and client on separate cores, if there are enough.

use crate::survey::Machine;

/// CPUs of the servers and of the client; empty for the kernel's choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CpuPlacement {
    pub(super) servers: Vec<usize>,
    pub(super) client: Vec<usize>,
    /// Set if placement was possible.
    ours: bool,
}

impl CpuPlacement {
    /// Places servers on this many cores, one CPU of each, and the client on the other cores.
    pub(super) fn new(machine: &Machine, cores: usize) -> Self {
        let (servers, client): (Vec<usize>, Vec<usize>) = match machine.cores.get(cores..) {
            Some(others) if !others.is_empty() => (
                machine.cores[..cores].iter().filter_map(|c| c.first().copied()).collect(),
                others.concat(),
            ),
            // Too few cores: two threads of one are better than one of them.
            _ => match machine.cpus.get(cores..) {
                Some(others) if !others.is_empty() => {
                    (machine.cpus[..cores].to_vec(), others.to_vec())
                }
                _ => (Vec::new(), Vec::new()),
            },
        };
        Self { servers, client, ours: true }
    }

    /// Returns the placement that leaves servers and client to the kernel.
    pub(super) fn nowhere() -> Self {
        Self { servers: Vec::new(), client: Vec::new(), ours: false }
    }

    /// Describes it in a sentence.
    pub(super) fn describe(&self) -> String {
        let list = |cpus: &[usize]| {
            let cpus: Vec<String> = cpus.iter().map(usize::to_string).collect();
            format!("CPU{} {}", if cpus.len() == 1 { "" } else { "s" }, cpus.join(", "))
        };
        match (self.ours, self.servers.is_empty()) {
            (true, false) => format!(
                "Servers run on {}, the client on {}.",
                list(&self.servers),
                list(&self.client)
            ),
            (true, true) => {
                "There are too few CPUs for servers and client to have their own: they share \
                 them."
                    .to_owned()
            }
            (false, _) => String::new(),
        }
    }
}
