//! Memory, and the kernel's policies for it.

use serde::{Deserialize, Serialize};

use super::tree::Tree;

/// Memory in bytes, and settings that often harm databases.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MemoryFacts {
    /// Memory in all.
    pub total_bytes: Option<u64>,
    /// Memory available to programs without swapping.
    pub available_bytes: Option<u64>,
    /// Swap space.
    pub swap_total_bytes: Option<u64>,
    /// Swap space in use.
    pub swap_used_bytes: Option<u64>,
    /// `vm.swappiness`, 0 to 200.
    pub swappiness: Option<u32>,
    /// `vm.overcommit_memory`: 0 for heuristic, 1 for always, 2 for never.
    pub overcommit_memory: Option<u32>,
    /// Transparent huge pages: `always`, `madvise` or `never`.
    pub transparent_huge_pages: Option<String>,
    /// Defragmentation for huge pages: `always`, `defer`, `defer+madvise`, `madvise` or `never`.
    pub transparent_huge_pages_defrag: Option<String>,
}

pub(super) fn read(tree: &Tree) -> MemoryFacts {
    let info = tree.text("proc/meminfo").unwrap_or_default();
    let bytes = |name: &str| -> Option<u64> {
        let value = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        value.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
    };
    let swap_total_bytes = bytes("SwapTotal");
    MemoryFacts {
        total_bytes: bytes("MemTotal"),
        available_bytes: bytes("MemAvailable"),
        swap_total_bytes,
        swap_used_bytes: swap_total_bytes
            .zip(bytes("SwapFree"))
            .map(|(total, free)| total.saturating_sub(free)),
        swappiness: tree.value("proc/sys/vm/swappiness"),
        overcommit_memory: tree.value("proc/sys/vm/overcommit_memory"),
        transparent_huge_pages: tree.chosen("sys/kernel/mm/transparent_hugepage/enabled"),
        transparent_huge_pages_defrag: tree.chosen("sys/kernel/mm/transparent_hugepage/defrag"),
    }
}
