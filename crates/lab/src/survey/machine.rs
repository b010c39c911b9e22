//! Facts of the machine for a survey: placements of client and server, and the limit on connections.

use host::HostFacts;
use host::machine::cpu_list;

/// Files and ports that a survey leaves to others.
const SPARE: u64 = 200;

/// The CPUs and limits of the machine of a survey.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Machine {
    /// The CPUs that this process may use.
    pub cpus: Vec<usize>,
    /// Groups of CPUs that are threads of one core.
    pub cores: Vec<Vec<usize>>,
    /// Groups of CPUs that share a last-level cache.
    pub caches: Vec<Vec<usize>>,
    /// Groups of CPUs with their own memory: sockets.
    pub nodes: Vec<Vec<usize>>,
    /// Files that this process may open.
    pub files: u64,
    /// Local ports to connect from.
    pub ports: u64,
}

/// CPUs of the server and of the client, which may be equal.
pub(super) type Pair = (usize, usize);

impl Machine {
    /// Takes the facts of the machine. `siblings` returns the CPUs that are threads of one core with a CPU.
    pub fn new(host: &HostFacts, siblings: impl Fn(usize) -> Vec<usize>) -> Self {
        let allowed = host.cpu.allowed.as_deref().map(cpu_list);
        let cpus: Vec<usize> = allowed
            .filter(|cpus| !cpus.is_empty())
            .unwrap_or_else(|| (0..host.cpu.logical.unwrap_or(1) as usize).collect());
        let within = |group: Vec<usize>| -> Option<Vec<usize>> {
            let group: Vec<usize> = group.into_iter().filter(|cpu| cpus.contains(cpu)).collect();
            (!group.is_empty()).then_some(group)
        };
        let groups =
            |lists: &[String]| lists.iter().map(|l| cpu_list(l)).filter_map(within).collect();
        let mut cores: Vec<Vec<usize>> = Vec::new();
        for cpu in &cpus {
            if !cores.iter().any(|core| core.contains(cpu)) {
                cores.push(within(siblings(*cpu)).unwrap_or_else(|| vec![*cpu]));
            }
        }
        Self {
            cores,
            caches: groups(&host.cpu.shared_caches),
            nodes: groups(&host.cpu.numa_nodes),
            files: host.open_files_hard.or(host.open_files_soft).unwrap_or(1024),
            ports: host
                .network
                .local_ports
                .map_or(28_000, |(first, last)| u64::from(last.saturating_sub(first)) + 1),
            cpus,
        }
    }

    /// Maximum number of connections to one address, given the server's limit `clients_max`.
    pub(super) fn connections_max(&self, unix: bool, clients_max: Option<u64>) -> u64 {
        let ports = if unix { u64::MAX } else { self.ports };
        self.files.min(ports).min(clients_max.unwrap_or(u64::MAX)).saturating_sub(SPARE).max(1)
    }

    /// A single CPU for both.
    pub(super) fn same(&self) -> Option<Pair> {
        self.cpus.first().map(|cpu| (*cpu, *cpu))
    }

    /// Two threads of one core.
    pub(super) fn one_core(&self) -> Option<Pair> {
        let core = self.cores.iter().find(|core| core.len() > 1)?;
        Some((core[0], core[1]))
    }

    /// Two cores that share a cache; if the kernel does not report caches, two cores of one socket.
    pub(super) fn one_cache(&self) -> Option<Pair> {
        let groups = if self.caches.is_empty() { &self.nodes } else { &self.caches };
        groups.iter().find_map(|group| self.two_cores(group, group))
    }

    /// Two cores of one socket that share no last-level cache.
    pub(super) fn two_caches(&self) -> Option<Pair> {
        let pairs = self
            .caches
            .iter()
            .enumerate()
            .flat_map(|(at, one)| self.caches[at + 1..].iter().map(move |other| (one, other)));
        let one_node = |a: usize, b: usize| {
            self.nodes.is_empty() || self.nodes.iter().any(|n| n.contains(&a) && n.contains(&b))
        };
        let mut found = pairs.filter_map(|(one, other)| self.two_cores(one, other));
        found.find(|(a, b)| one_node(*a, *b))
    }

    /// Two sockets.
    pub(super) fn two_nodes(&self) -> Option<Pair> {
        let [one, other, ..] = &self.nodes[..] else { return None };
        self.two_cores(one, other)
    }

    /// A CPU of each group, on different cores.
    fn two_cores(&self, one: &[usize], other: &[usize]) -> Option<Pair> {
        let first = *one.first()?;
        let second = other.iter().copied().find(|cpu| {
            *cpu != first
                && !self.cores.iter().any(|core| core.contains(&first) && core.contains(&*cpu))
        })?;
        Some((first, second))
    }

    /// CPUs for two servers and two clients, a core each; `None` if there are fewer cores.
    pub(super) fn four_cores(&self) -> Option<[usize; 4]> {
        let firsts: Vec<usize> =
            self.cores.iter().filter_map(|core| core.first().copied()).collect();
        let [a, b, c, d, ..] = firsts[..] else { return None };
        Some([a, b, c, d])
    }
}
