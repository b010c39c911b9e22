//! Memory: swap, overcommit and huge pages.

use super::{bytes, known};
use crate::doctor::Evidence;
use crate::doctor::finding::{Outcome, Verdict};

/// Size below which swapped-out memory is a harmless leftover.
const SWAPPED_BAD: u64 = 256 << 20;

pub(super) fn swap(evidence: &Evidence) -> Verdict {
    let memory = &evidence.host.memory;
    let total = known(&memory.swap_total_bytes)?;
    let used = known(&memory.swap_used_bytes)?;
    if total == 0 {
        return Ok(Outcome::ok("none"));
    }
    let swappiness = memory.swappiness.map(|n| format!(", swappiness {n}")).unwrap_or_default();
    let seen = format!("{} of {} used{swappiness}", bytes(used), bytes(total));
    let why = "a page of the server that was swapped out costs a disk access when it is touched";
    Ok(if used >= SWAPPED_BAD {
        Outcome::bad(seen, why, "swapoff -a && swapon -a once there is free memory; or swapoff -a")
    } else if used > 0 || memory.swappiness.is_some_and(|n| n > 1) {
        Outcome::warn(seen, why, "sysctl -w vm.swappiness=1, or swapoff -a while measuring")
    } else {
        Outcome::ok(seen)
    })
}

pub(super) fn overcommit(evidence: &Evidence) -> Verdict {
    let mode = known(&evidence.host.memory.overcommit_memory)?;
    let mend = "sysctl -w vm.overcommit_memory=1";
    Ok(match mode {
        1 => Outcome::ok("1 (always)"),
        0 => Outcome::warn(
            "0 (guess)",
            "saving and replication fork; with over half of the memory in use, the fork may \
             fail, and a server with `save` then refuses writes",
            mend,
        ),
        n => Outcome::warn(
            format!("{n} (never)"),
            "a fork for saving needs as much free memory again as the data set, or fails",
            mend,
        ),
    })
}

pub(super) fn huge_pages(evidence: &Evidence) -> Verdict {
    let mode = known(&evidence.host.memory.transparent_huge_pages)?;
    Ok(if mode == "always" {
        Outcome::bad(
            mode,
            "after a fork the first write to each page copies 2 MB instead of 4 KB, and the \
             kernel stalls programs to make huge pages",
            "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled, and restart the server",
        )
    } else {
        Outcome::ok(mode)
    })
}
