//! Processors: number, topology, clock speed, and virtualisation.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::tree::Tree;

/// Processors and clocks. Lists of CPUs are in the kernel's notation, `0-3,8`; [`cpu_list`] parses them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CpuFacts {
    /// The processor's own name.
    pub model: Option<String>,
    /// CPUs that are online: hardware threads.
    pub logical: Option<u32>,
    /// Number of physical cores with these.
    pub cores: Option<u32>,
    /// Sockets.
    pub sockets: Option<u32>,
    /// The CPUs that this process may run on.
    pub allowed: Option<String>,
    /// CPU quota of this process's control group in CPUs, if it has one.
    pub quota: Option<f64>,
    /// Groups of CPUs that share a last-level cache.
    pub shared_caches: Vec<String>,
    /// CPUs of each NUMA node with any.
    pub numa_nodes: Vec<String>,
    /// Frequency governors in use, without repetition; empty if the system has none.
    pub governors: Vec<String>,
    /// Set if the clock may rise above its nominal rate (turbo, boost).
    pub turbo: Option<bool>,
    /// The hypervisor's name, on a virtual machine that reports one; `unknown` if it gives no name.
    pub hypervisor: Option<String>,
    /// The kernel's clock source.
    pub clocksource: Option<String>,
}

/// Largest accepted CPU number, so that a broken file cannot fill the memory.
const CPU_MAX: usize = 65_535;

/// Parses `0-3,8`; malformed parts are ignored.
pub fn cpu_list(text: &str) -> Vec<usize> {
    let ranges = text.trim().split(',').filter_map(cpu_range);
    ranges.flat_map(|range| *range.start()..=(*range.end()).min(CPU_MAX)).collect()
}

/// Parses a part of such a list, `8` or `0-3`; `None` if it is malformed.
pub fn cpu_range(part: &str) -> Option<RangeInclusive<usize>> {
    let (first, last) = part.split_once('-').unwrap_or((part, part));
    Some(first.trim().parse().ok()?..=last.trim().parse().ok()?)
}

pub(super) fn read(tree: &Tree) -> CpuFacts {
    let info = tree.text("proc/cpuinfo").unwrap_or_default();
    let online = tree.text("sys/devices/system/cpu/online").map(|list| cpu_list(&list));
    let listed = info.lines().filter(|l| field(l).is_some_and(|(k, _)| k == "processor"));
    let listed = listed.count();
    let online = online.unwrap_or_else(|| (0..listed).collect());
    let status = tree.text("proc/self/status").unwrap_or_default();
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    CpuFacts {
        model: model(&info),
        logical: (!online.is_empty()).then_some(online.len() as u32),
        cores: groups(tree, &online, &["topology/core_cpus_list", "topology/thread_siblings_list"])
            .map(|groups| groups.len() as u32),
        sockets: groups(
            tree,
            &online,
            &["topology/package_cpus_list", "topology/core_siblings_list"],
        )
        .map(|groups| groups.len() as u32),
        allowed: allowed.map(|list| list.trim().to_owned()),
        quota: quota(tree),
        shared_caches: last_cache(tree)
            .and_then(|file| groups(tree, &online, &[&file]))
            .unwrap_or_default(),
        numa_nodes: numa_nodes(tree),
        governors: governors(tree),
        turbo: turbo(tree),
        hypervisor: hypervisor(tree, &info),
        clocksource: tree.text("sys/devices/system/clocksource/clocksource0/current_clocksource"),
    }
}

/// The name and value of a line of `/proc/cpuinfo`.
fn field(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once(':')?;
    Some((name.trim(), value.trim()))
}

fn model(info: &str) -> Option<String> {
    // arm64 has none of these unless firmware tells; Hardware is what older kernels print.
    ["model name", "cpu model", "Hardware"].iter().find_map(|name| {
        let found = info.lines().filter_map(field).find(|(n, v)| n == name && !v.is_empty());
        found.map(|(_, value)| value.to_owned())
    })
}

/// The distinct lists in one of these files over all CPUs. A CPU in a list that was read needs no reading of
/// its own, which keeps this short on large machines.
fn groups(tree: &Tree, online: &[usize], files: &[&str]) -> Option<Vec<String>> {
    let mut seen = BTreeSet::new();
    let mut groups = Vec::new();
    for cpu in online {
        if seen.contains(cpu) {
            continue;
        }
        let list = files
            .iter()
            .find_map(|file| tree.text(&format!("sys/devices/system/cpu/cpu{cpu}/{file}")))?;
        seen.extend(cpu_list(&list));
        groups.push(list);
    }
    (!groups.is_empty()).then_some(groups)
}

/// Finds the file, below a CPU, that lists the CPUs which share its last-level cache.
fn last_cache(tree: &Tree) -> Option<String> {
    let caches = tree.names("sys/devices/system/cpu/cpu0/cache");
    let caches = caches.iter().filter(|name| name.starts_with("index"));
    let last = caches.max_by_key(|name| {
        tree.value::<u32>(&format!("sys/devices/system/cpu/cpu0/cache/{name}/level"))
    })?;
    Some(format!("cache/{last}/shared_cpu_list"))
}

fn numa_nodes(tree: &Tree) -> Vec<String> {
    let folder = "sys/devices/system/node";
    let nodes = tree
        .names(folder)
        .into_iter()
        .filter(|name| name.strip_prefix("node").is_some_and(|n| n.parse::<u32>().is_ok()));
    nodes.filter_map(|node| tree.text(&format!("{folder}/{node}/cpulist"))).collect()
}

fn governors(tree: &Tree) -> Vec<String> {
    let folder = "sys/devices/system/cpu/cpufreq";
    let policies = tree.names(folder).into_iter().filter(|name| name.starts_with("policy"));
    let governors: BTreeSet<String> = policies
        .filter_map(|policy| tree.text(&format!("{folder}/{policy}/scaling_governor")))
        .collect();
    governors.into_iter().collect()
}

/// Reads the turbo state: <https://docs.kernel.org/admin-guide/pm/intel_pstate.html> and
/// <https://docs.kernel.org/admin-guide/pm/cpufreq.html>
fn turbo(tree: &Tree) -> Option<bool> {
    let off: Option<u32> = tree.value("sys/devices/system/cpu/intel_pstate/no_turbo");
    let on = || {
        tree.value::<u32>("sys/devices/system/cpu/cpufreq/boost")
            .or_else(|| tree.value("sys/devices/system/cpu/cpufreq/policy0/boost"))
    };
    off.map(|off| off == 0).or_else(|| on().map(|on| on != 0))
}

/// Names in the firmware's tables, or of the kernel's clocks, with their vendors.
const HYPERVISORS: [(&str, &str); 10] = [
    ("vmware", "VMware"),
    ("virtualbox", "VirtualBox"),
    ("innotek", "VirtualBox"),
    ("xen", "Xen"),
    ("microsoft", "Hyper-V"),
    ("hyperv", "Hyper-V"),
    ("amazon ec2", "KVM (Amazon EC2)"),
    ("google compute", "KVM (Google Compute Engine)"),
    ("qemu", "KVM or QEMU"),
    ("kvm", "KVM"),
];

fn hypervisor(tree: &Tree, cpuinfo: &str) -> Option<String> {
    let flags = cpuinfo.lines().filter_map(field).find(|(name, _)| *name == "flags");
    let flagged = flags.map(|(_, flags)| flags.split(' ').any(|flag| flag == "hypervisor"));
    // Only x86 has the flag; elsewhere the firmware's names must do.
    if flagged == Some(false) {
        return None;
    }
    let read = |file: &str| tree.text(file).map(|text| text.to_lowercase());
    let mut quotas: Vec<String> =
        ["sys/hypervisor/type", "sys/class/dmi/id/sys_vendor", "sys/class/dmi/id/product_name"]
            .into_iter()
            .filter_map(read)
            .collect();
    if flagged == Some(true) {
        quotas.extend(read("sys/devices/system/clocksource/clocksource0/available_clocksource"));
    }
    let named = quotas.iter().find_map(|text| {
        HYPERVISORS.iter().find(|(word, _)| text.contains(word) && !text.contains(".metal"))
    });
    match (named, flagged) {
        (Some((_, name)), _) if flagged == Some(true) || !name.starts_with("Hyper-V") => {
            Some((*name).to_owned())
        }
        (_, Some(true)) => Some("unknown".to_owned()),
        _ => None,
    }
}

/// Quota of control groups, version 2 or 1, in CPUs.
/// <https://docs.kernel.org/admin-guide/cgroup-v2.html#cpu-interface-files>
fn quota(tree: &Tree) -> Option<f64> {
    let groups = tree.text("proc/self/cgroup").unwrap_or_default();
    let group = |controllers: &str| {
        groups.lines().find_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            let named = parts.next()?;
            let found = if controllers.is_empty() {
                named.is_empty()
            } else {
                named.split(',').any(|name| name == controllers)
            };
            found.then(|| parts.next().unwrap_or("/").trim_matches('/').to_owned())
        })
    };
    // In a container the group's own folder is the root of what is mounted.
    let at = |base: &str, group: Option<String>, file: &str| {
        let own = group.map(|group| format!("{base}/{group}/{file}"));
        own.and_then(|path| tree.text(&path)).or_else(|| tree.text(&format!("{base}/{file}")))
    };
    if let Some(text) = at("sys/fs/cgroup", group(""), "cpu.max") {
        let mut numbers = text.split_whitespace().map(str::parse::<f64>);
        let (quota, period) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
        return (period > 0.0).then_some(quota / period);
    }
    let number = |file| at("sys/fs/cgroup/cpu", group("cpu"), file)?.parse::<f64>().ok();
    let (quota, period) = (number("cpu.cfs_quota_us")?, number("cpu.cfs_period_us")?);
    (quota > 0.0 && period > 0.0).then_some(quota / period)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_are_numbers_and_ranges() {
        assert_eq!(cpu_list("0-2,8\n"), [0, 1, 2, 8]);
        assert_eq!(cpu_list(""), [0; 0]);
        assert_eq!(cpu_list("x,3-1,4"), [4]);
    }
}
