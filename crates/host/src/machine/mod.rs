//! Facts about this machine, which every result carries and the doctor judges.
//!
//! Owns parsing Linux's `/proc` and `/sys` into plain data; `doctor` judges it. On other systems, and where a
//! file is missing or forbidden, a fact is `None`.

mod cpu;
mod intrinsic;
mod load;
mod memory;
mod network;
mod route;
mod tree;

use std::path::Path;

use serde::{Deserialize, Serialize};

pub use cpu::{CpuFacts, cpu_list, cpu_range};
pub use intrinsic::{Delays, Intrinsic};
pub(crate) use load::TICKS_PER_S;
pub use load::{CpuTimes, LoadFacts, Pressure, cpu_times, running_beside};
pub use memory::MemoryFacts;
pub use network::{Interface, NetworkFacts};
pub use route::interface_to;
use tree::Tree;

/// Facts about this machine, and its load at the time of reading. Fields added later have defaults, so that
/// older results can be read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostFacts {
    /// Name on the network.
    pub hostname: Option<String>,
    /// The system, such as `Debian GNU/Linux 12 (bookworm)`.
    pub os: Option<String>,
    /// The kernel's release, such as `6.1.0-18-amd64`.
    pub kernel: Option<String>,
    /// Processors and clocks.
    pub cpu: CpuFacts,
    /// Memory and its policies.
    pub memory: MemoryFacts,
    /// Network interfaces and settings.
    pub network: NetworkFacts,
    /// Load of the machine.
    pub load: LoadFacts,
    /// Soft limit on files that this process may open.
    pub open_files_soft: Option<u64>,
    /// Hard limit on files that this process may open; also `None` if there is none.
    pub open_files_hard: Option<u64>,
}

impl HostFacts {
    /// Reads the facts of this machine. Takes a few milliseconds without waiting.
    pub fn read() -> Self {
        let mut facts = Self::read_from(Path::new("/"));
        let name = rustix::system::uname();
        let text = |c: &std::ffi::CStr| Some(c.to_string_lossy().into_owned());
        facts.hostname = facts.hostname.or_else(|| text(name.nodename()));
        facts.os = facts.os.or_else(|| text(name.sysname()));
        facts.kernel = facts.kernel.or_else(|| text(name.release()));
        let alive = std::thread::available_parallelism().ok();
        facts.cpu.logical = facts.cpu.logical.or(alive.map(|n| n.get() as u32));
        facts
    }

    /// Reads the facts from the files under `root`, which replaces `/`.
    pub fn read_from(root: &Path) -> Self {
        let tree = Tree::new(root);
        let (open_files_soft, open_files_hard) = open_files(&tree);
        Self {
            hostname: tree.text("proc/sys/kernel/hostname"),
            os: os(&tree),
            kernel: tree.text("proc/sys/kernel/osrelease"),
            cpu: cpu::read(&tree),
            memory: memory::read(&tree),
            network: network::read(&tree),
            load: load::read(&tree),
            open_files_soft,
            open_files_hard,
        }
    }
}

/// Parses `PRETTY_NAME` of <https://www.freedesktop.org/software/systemd/man/os-release.html>.
fn os(tree: &Tree) -> Option<String> {
    let text = tree.text("etc/os-release").or_else(|| tree.text("usr/lib/os-release"))?;
    let name = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(name.trim().trim_matches(['"', '\'']).to_owned())
}

/// The soft and the hard limit of open files of this process.
fn open_files(tree: &Tree) -> (Option<u64>, Option<u64>) {
    let text = tree.text("proc/self/limits").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("Max open files"));
    let mut limits = line.unwrap_or_default().split_whitespace().map(|w| w.parse().ok());
    (limits.next().flatten(), limits.next().flatten())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_tree_has_no_facts() {
        let nothing = tempfile::tempdir().unwrap();
        assert_eq!(HostFacts::read_from(nothing.path()), HostFacts::default());
    }

    #[test]
    fn garbage_is_no_fact_and_no_panic() {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("proc/cpuinfo", ":\n\nprocessor\nmodel name"),
            ("proc/meminfo", "MemTotal: many kB\nSwapTotal:"),
            ("proc/stat", "cpu x y\ncpu"),
            ("proc/loadavg", "\u{1}"),
            ("proc/self/limits", "Max open files"),
            ("proc/sys/net/ipv4/ip_local_port_range", "9 1"),
            ("proc/interrupts", "12"),
            ("sys/devices/system/cpu/online", "5-2,x,-,99999999999"),
            ("sys/class/net/e/speed", "-1"),
        ] {
            let file = dir.path().join(path);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        }
        let facts = HostFacts::read_from(dir.path());
        assert_eq!(facts.memory, MemoryFacts::default());
        assert_eq!(facts.network.interfaces[0].speed_mbit_per_s, None);
    }

    #[test]
    fn facts_survive_being_written_and_read() {
        let facts = HostFacts::read();
        assert!(facts.hostname.is_some() && facts.kernel.is_some());
        assert!(facts.cpu.logical.is_some_and(|n| n > 0));
        let text = serde_json::to_string(&facts).unwrap();
        let again: HostFacts = serde_json::from_str(&text).unwrap();
        assert_eq!(again.cpu, facts.cpu);
        assert_eq!(serde_json::from_str::<HostFacts>("{}").unwrap(), HostFacts::default());
    }
}
