//! Checks of the network card between this machine and the server, if there is one.

use crate::machine::Interface;
use naming::{RATE, SIZE};

use super::known;
use crate::doctor::finding::{Outcome, Verdict};
use crate::doctor::{Evidence, ServerLocation};

/// The interface to the server; `Ok(None)` if its packets use no network card.
fn interface(evidence: &Evidence) -> Result<Option<&Interface>, String> {
    match &evidence.location {
        ServerLocation::Nowhere => Err("no server was asked".to_owned()),
        ServerLocation::Unix | ServerLocation::Local => Ok(None),
        ServerLocation::Remote { address, interface } => {
            let name = interface.as_deref();
            let name = name.ok_or_else(|| format!("no route to {address} was found"))?;
            let found = evidence.host.network.interfaces.iter().find(|i| i.name == name);
            found.map(Some).ok_or_else(|| format!("the interface {name} reports nothing"))
        }
    }
}

const NO_CARD: &str = "not used: the server is on this machine";

/// Bytes of Ethernet's preamble, header, checksum and gap (38), IP (20) and TCP with timestamps
/// (32), for each packet.
const PACKET_BYTES: u64 = 90;
/// Bytes of IP and TCP headers, which count against the MTU.
const HEADER_BYTES: u64 = 52;
/// Bytes of a command beside its value: name, key, and RESP lengths.
const COMMAND_BYTES: u64 = 50;

/// Bytes on the wire of a request or reply with the value.
fn wire_bytes(evidence: &Evidence, mtu: u32) -> u64 {
    let body = evidence.load.value_bytes.saturating_add(COMMAND_BYTES);
    let room = u64::from(mtu).saturating_sub(HEADER_BYTES).max(1);
    body.saturating_add(body.div_ceil(room).saturating_mul(PACKET_BYTES))
}

pub(super) fn speed(evidence: &Evidence) -> Verdict {
    let Some(card) = interface(evidence)? else { return Ok(Outcome::ok(NO_CARD)) };
    let bytes = wire_bytes(evidence, card.mtu.unwrap_or(1500));
    let asked = evidence.load.rate_per_s.map(|rate| (rate, rate * bytes as f64 * 8.0 / 1e9));
    let wanted = asked.map(|(rate, gbit)| {
        format!("{rate} requests per second of {bytes} bytes on the wire are {gbit:.2} Gbit/s")
    });
    let Some(mbit) = card.speed_mbit_per_s else {
        let wanted = wanted.map(|text| format!("; {text}")).unwrap_or_default();
        return Err(format!("{} does not report its speed{wanted}", card.name));
    };
    let limit = mbit as f64 / 1000.0;
    let seen = format!("{} {limit} Gbit/s", card.name);
    let Some((_, need)) = asked else {
        let most = limit * 1e9 / (bytes as f64 * 8.0);
        return Ok(Outcome::ok(format!(
            "{seen}: at most {most:.0} requests per second of {bytes} bytes on the wire, \
             unpipelined"
        )));
    };
    let seen = format!("{seen}; {}", wanted.unwrap_or_default());
    let why = "the network card is the limit, and not the server";
    let mend = format!("a lower {RATE} or {SIZE}, a faster card, or several client machines");
    Ok(if need > limit * 0.9 {
        Outcome::bad(seen, why, mend)
    } else if need > limit * 0.6 {
        Outcome::warn(seen, "queues grow on a link that is more than half full", mend)
    } else {
        Outcome::ok(seen)
    })
}

pub(super) fn mtu(evidence: &Evidence) -> Verdict {
    let Some(card) = interface(evidence)? else { return Ok(Outcome::ok(NO_CARD)) };
    let mtu = known(&card.mtu)?;
    let seen = format!("{} {mtu}", card.name);
    let body = evidence.load.value_bytes.saturating_add(COMMAND_BYTES);
    let packets = body.div_ceil(u64::from(mtu).saturating_sub(HEADER_BYTES).max(1));
    let raise = format!("ip link set {} mtu 9000, if every hop takes it", card.name);
    Ok(if mtu < 1500 {
        Outcome::warn(
            seen,
            "below Ethernet's 1500, as in tunnels: more packets, and some are wrapped by software",
            "ip link set DEV mtu 1500 where there is no tunnel; else measure without it",
        )
    } else if packets > 8 && mtu < 9000 {
        Outcome::warn(seen, format!("a value of -d takes {packets} packets each way"), raise)
    } else {
        Outcome::ok(seen)
    })
}

pub(super) fn queues(evidence: &Evidence) -> Verdict {
    let Some(card) = interface(evidence)? else { return Ok(Outcome::ok(NO_CARD)) };
    let cpus = evidence.host.cpu.logical.unwrap_or(1);
    let queues = card.rx_queues;
    if queues == 0 || card.irqs == 0 {
        return Err(format!("the interrupts of {} were not found", card.name));
    }
    let seen = format!("{}: {queues} queues, interrupts on CPUs {:?}", card.name, card.irq_cpus);
    let spread = card.irq_cpus.len() as u32;
    let mend = format!(
        "ethtool -L {} combined {cpus}; stop irqbalance and write a CPU for each queue to \
         /proc/irq/N/smp_affinity_list, not those of the server",
        card.name
    );
    Ok(if cpus > 1 && spread < queues.min(cpus) {
        let why = "one CPU serves several queues and becomes the limit";
        Outcome::warn(seen, why, mend)
    } else if cpus > 4 && queues == 1 && card.rps_queues == 0 {
        let why = "one CPU receives all packets and becomes the limit on a fast link";
        Outcome::warn(seen, why, mend)
    } else {
        Outcome::ok(seen)
    })
}

pub(super) fn steering(evidence: &Evidence) -> Verdict {
    let Some(card) = interface(evidence)? else { return Ok(Outcome::ok(NO_CARD)) };
    let Interface { name, rx_queues, rps_queues, rfs_queues, .. } = card;
    let cpus = evidence.host.cpu.logical.unwrap_or(1);
    let entries = evidence.host.network.rps_sock_flow_entries.unwrap_or(0);
    let seen = format!(
        "{name}: RPS on {rps_queues} and RFS on {rfs_queues} of {rx_queues} queues, {entries} flow \
         entries"
    );
    if *rx_queues == 0 {
        return Err(format!("{name} does not report its queues"));
    }
    Ok(if *rps_queues == 0 && *rx_queues < 2 && cpus > 4 {
        Outcome::warn(
            seen,
            "a card with one queue and no RPS handles all packets on one CPU",
            format!("echo ffffffff > /sys/class/net/{name}/queues/rx-0/rps_cpus"),
        )
    } else if *rfs_queues > 0 && entries == 0 {
        Outcome::warn(
            seen,
            "queues have flow tables for RFS but the common table is empty, so it does nothing",
            "sysctl -w net.core.rps_sock_flow_entries=32768",
        )
    } else {
        Outcome::ok(seen)
    })
}
