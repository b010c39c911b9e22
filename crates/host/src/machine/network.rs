//! Network interfaces, their queues, and the settings of TCP.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::cpu::cpu_list;
use super::tree::Tree;

/// Interfaces and settings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NetworkFacts {
    /// Every interface, the loopback too.
    pub interfaces: Vec<Interface>,
    /// `net.ipv4.tcp_congestion_control`.
    pub congestion_control: Option<String>,
    /// `net.core.somaxconn`: the longest queue of connections waiting to be accepted.
    pub somaxconn: Option<u64>,
    /// `net.ipv4.tcp_tw_reuse`: 0 never, 1 always, 2 on the loopback only.
    pub tcp_tw_reuse: Option<u32>,
    /// `net.ipv4.ip_local_port_range`: the first and the last local port.
    pub local_ports: Option<(u16, u16)>,
    /// Ports in `TIME_WAIT` after a connection was closed.
    pub time_wait: Option<u64>,
    /// `net.core.rps_sock_flow_entries`: the size of the table of RFS, 0 for none.
    pub rps_sock_flow_entries: Option<u64>,
}

/// A network interface.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Interface {
    /// Name, such as `eth0`.
    pub name: String,
    /// Set if the interface is up, including the loopback, which reports `unknown`.
    pub up: bool,
    /// Speed of the link in Mbit/s; virtual interfaces report none.
    pub speed_mbit_per_s: Option<u64>,
    /// Longest packet in bytes.
    pub mtu: Option<u32>,
    /// Queues for receiving.
    pub rx_queues: u32,
    /// CPUs for its interrupts.
    pub irq_cpus: Vec<usize>,
    /// Number of interrupts identified as its own.
    pub irqs: u32,
    /// Receive queues whose packets software spreads over CPUs (RPS).
    pub rps_queues: u32,
    /// Receive queues that steer packets to the CPU of the program (RFS).
    pub rfs_queues: u32,
}

pub(super) fn read(tree: &Tree) -> NetworkFacts {
    let interrupts = tree.text("proc/interrupts").unwrap_or_default();
    let names = tree.names("sys/class/net");
    NetworkFacts {
        interfaces: names.into_iter().map(|name| interface(tree, name, &interrupts)).collect(),
        congestion_control: tree.text("proc/sys/net/ipv4/tcp_congestion_control"),
        somaxconn: tree.value("proc/sys/net/core/somaxconn"),
        tcp_tw_reuse: tree.value("proc/sys/net/ipv4/tcp_tw_reuse"),
        local_ports: tree
            .text("proc/sys/net/ipv4/ip_local_port_range")
            .and_then(|text| crate::limits::ports_in(&text))
            .map(|range| (*range.start(), *range.end())),
        time_wait: time_wait(tree),
        rps_sock_flow_entries: tree.value("proc/sys/net/core/rps_sock_flow_entries"),
    }
}

/// Parses the number after `tw` in the line of TCP, which counts both families.
fn time_wait(tree: &Tree) -> Option<u64> {
    let text = tree.text("proc/net/sockstat")?;
    let line = text.lines().find_map(|line| line.strip_prefix("TCP:"))?;
    line.split_whitespace().skip_while(|word| *word != "tw").nth(1)?.parse().ok()
}

fn interface(tree: &Tree, name: String, interrupts: &str) -> Interface {
    let base = format!("sys/class/net/{name}");
    let queues = tree.names(&format!("{base}/queues"));
    let receiving: Vec<&String> = queues.iter().filter(|q| q.starts_with("rx-")).collect();
    let set = |file: &str, on: fn(&str) -> bool| {
        let text = |queue: &&String| tree.text(&format!("{base}/queues/{queue}/{file}"));
        receiving.iter().filter(|q| text(q).is_some_and(|text| on(&text))).count() as u32
    };
    let irqs = irqs(tree, &name, interrupts);
    let cpus: BTreeSet<_> = irqs.iter().flat_map(|irq| irq_cpus(tree, *irq)).collect();
    let state = tree.text(&format!("{base}/operstate")).unwrap_or_default();
    Interface {
        up: matches!(state.as_str(), "up" | "unknown"),
        // -1 and 0 are how drivers say that they do not know.
        speed_mbit_per_s: tree
            .value::<i64>(&format!("{base}/speed"))
            .and_then(|speed| u64::try_from(speed).ok())
            .filter(|speed| *speed > 0),
        mtu: tree.value(&format!("{base}/mtu")),
        rx_queues: receiving.len() as u32,
        irq_cpus: cpus.into_iter().collect(),
        irqs: irqs.len() as u32,
        // A mask of CPUs in hexadecimal, with commas.
        rps_queues: set("rps_cpus", |mask| mask.chars().any(|c| !matches!(c, '0' | ','))),
        rfs_queues: set("rps_flow_cnt", |count| count != "0"),
        name,
    }
}

/// Interrupts of an interface, named after it or after its device.
fn irqs(tree: &Tree, name: &str, interrupts: &str) -> BTreeSet<u32> {
    let msi = tree.names(&format!("sys/class/net/{name}/device/msi_irqs"));
    let mut irqs: BTreeSet<u32> = msi.iter().filter_map(|irq| irq.parse().ok()).collect();
    let device = tree.link_name(&format!("sys/class/net/{name}/device"));
    for line in interrupts.lines() {
        let Some((number, rest)) = line.split_once(':') else { continue };
        let Ok(number) = number.trim().parse() else { continue };
        let last = rest.split_whitespace().next_back().unwrap_or_default();
        // virtio-input.3, eth0-TxRx-3; a device's `-config` carries no packets.
        let owner = last.split_once('-').map_or(last, |(owner, _)| owner);
        let ours = owner == name || device.as_deref() == Some(owner);
        if ours && !last.ends_with("-config") {
            irqs.insert(number);
        }
    }
    irqs
}

fn irq_cpus(tree: &Tree, irq: u32) -> Vec<usize> {
    // Where the kernel tells, the CPU that was chosen among those allowed.
    let list = tree
        .text(&format!("proc/irq/{irq}/effective_affinity_list"))
        .or_else(|| tree.text(&format!("proc/irq/{irq}/smp_affinity_list")));
    list.map(|list| cpu_list(&list)).unwrap_or_default()
}
