//! Checks of the CPUs for client and server, and of their shared resources.

use workload::quantity::counted;

use super::known;
use crate::doctor::Evidence;
use crate::doctor::finding::{Outcome, Verdict};

pub(super) fn cpus(evidence: &Evidence) -> Verdict {
    let cpu = &evidence.host.cpu;
    let logical = known(&cpu.logical)?;
    let allowed = cpu.allowed.as_deref().map(|list| crate::machine::cpu_list(list).len() as u32);
    let ours = allowed.filter(|n| *n > 0).map_or(logical, |n| n.min(logical));
    let mut seen = match cpu.cores.zip(cpu.sockets) {
        Some((cores, sockets)) => [(logical, "CPU"), (cores, "core"), (sockets, "socket")]
            .map(|(n, what)| counted(n.into(), what))
            .join(", "),
        None => counted(logical.into(), "CPU"),
    };
    if ours < logical {
        seen += &format!(", {ours} of them ours");
    }
    if let Some(quota) = cpu.quota.filter(|quota| *quota < f64::from(logical)) {
        seen += &format!(", quota of {quota} CPUs");
        return Ok(Outcome::bad(
            seen,
            "the control group stops everything in it for the rest of each period once its quota \
             is used up, which shows as stalls of tens of milliseconds",
            "give the container whole CPUs (docker: --cpuset-cpus) instead of a quota (--cpus)",
        ));
    }
    Ok(if logical < 2 {
        Outcome::bad(
            seen,
            "client and server share one CPU: a test measures both together",
            "run the client on another machine, or on one with two CPUs",
        )
    } else if ours < 2 {
        Outcome::warn(
            seen,
            "the client may use one CPU, which is fine if the server has another; a server that \
             inherits the limit, as with --spawn, shares it",
            "see the limits of taskset and cgroups; --cpus and --server-cpus choose within them",
        )
    } else {
        Outcome::ok(seen)
    })
}

pub(super) fn numa(evidence: &Evidence) -> Verdict {
    let nodes = &evidence.host.cpu.numa_nodes;
    Ok(match nodes.len() {
        0 => return Err("not reported by this machine".to_owned()),
        1 => Outcome::ok("1 node"),
        n => Outcome::warn(
            format!("{n} nodes: {}", nodes.join(" | ")),
            "memory and network cards of another node are slower, and the kernel moves programs \
             between nodes",
            format!(
                "numactl --cpunodebind=0 --membind=0 redis-server ..., and keystorm --cpus {}",
                nodes[0]
            ),
        ),
    })
}

pub(super) fn caches(evidence: &Evidence) -> Verdict {
    let groups = &evidence.host.cpu.shared_caches;
    Ok(match groups.len() {
        0 => return Err("not reported by this machine".to_owned()),
        1 => Outcome::ok(format!("all CPUs share one ({})", groups[0])),
        n if n as u32 == evidence.host.cpu.logical.unwrap_or(0) => {
            Outcome::ok("each CPU has its own")
        }
        n => Outcome::warn(
            format!("{n} groups: {}", groups.join(" | ")),
            "client and server on CPUs that share a cache are faster than on others, so a result \
             depends on where the kernel puts them",
            format!("pin both to CPUs of one group ({}) with --server-cpus and --cpus", groups[0]),
        ),
    })
}
