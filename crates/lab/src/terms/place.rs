//! Where servers and client run: on cores of their own, where there are enough.

use crate::survey::Machine;

/// The CPUs of the servers and those of the client; none for wherever the kernel likes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) servers: Vec<usize>,
    pub(super) client: Vec<usize>,
    /// Set if anybody could have been placed.
    ours: bool,
}

impl Place {
    /// So many cores for the servers, one CPU of each, and the other cores for the client.
    pub(super) fn new(machine: &Machine, cores: usize) -> Self {
        let firsts =
            |cores: &[Vec<usize>]| cores.iter().filter_map(|c| c.first().copied()).collect();
        let (servers, client): (Vec<usize>, Vec<usize>) = match machine.cores.get(cores..) {
            Some(others) if !others.is_empty() => {
                (firsts(&machine.cores[..cores]), others.concat())
            }
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

    /// Nobody is placed.
    pub(super) fn nowhere() -> Self {
        Self { servers: Vec::new(), client: Vec::new(), ours: false }
    }

    /// In a sentence.
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
