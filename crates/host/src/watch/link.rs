//! The link that leads to a server: its device, its speed, and what it carried.
//!
//! Counts of the device hold headers and other traffic too, which is what fills a link.

use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::Address;

/// What a link carried in a span of time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkUse {
    /// The device, such as `eth0`.
    pub device: String,
    /// Its speed in each direction; `None` where the device does not say, as virtual ones do not.
    pub bits_per_s: Option<u64>,
    /// Bytes that this machine sent over it.
    pub sent_bytes: u64,
    /// Bytes that this machine received over it.
    pub received_bytes: u64,
    /// The span in seconds.
    pub span_s: f64,
}

impl LinkUse {
    /// How full the fuller direction was, 0 to 1.
    #[must_use]
    pub fn share(&self) -> Option<f64> {
        let bits = self.sent_bytes.max(self.received_bytes) as f64 * 8.0;
        let carried = self.bits_per_s? as f64 * self.span_s;
        (carried > 0.0).then(|| (bits / carried).min(1.0))
    }
}

/// A link and what it had carried at a moment.
#[derive(Debug)]
pub(super) struct Link {
    device: String,
    at: Instant,
    sent_bytes: u64,
    received_bytes: u64,
}

impl Link {
    /// The link to an address, now. `None` for unix sockets, loopback, and where the kernel does
    /// not tell (only Linux does).
    pub(super) fn to(address: &Address) -> Option<Self> {
        let Address::Tcp(to) = address else { return None };
        let IpAddr::V4(ip) = to.ip() else { return None };
        if ip.is_loopback() {
            return None;
        }
        let device = device_to(ip, &fs::read_to_string("/proc/net/route").ok()?)?;
        Self::read(device)
    }

    fn read(device: String) -> Option<Self> {
        let count = |name: &str| number(&device, &format!("statistics/{name}_bytes"));
        let (sent_bytes, received_bytes) = (count("tx")?, count("rx")?);
        Some(Self { device, at: Instant::now(), sent_bytes, received_bytes })
    }

    /// What it has carried since.
    pub(super) fn used(self) -> Option<LinkUse> {
        let Self { device, at, sent_bytes, received_bytes } = self;
        let now = Self::read(device)?;
        Some(LinkUse {
            bits_per_s: number(&now.device, "speed").map(|megabits| megabits * 1_000_000),
            sent_bytes: now.sent_bytes.saturating_sub(sent_bytes),
            received_bytes: now.received_bytes.saturating_sub(received_bytes),
            span_s: at.elapsed().as_secs_f64(),
            device: now.device,
        })
    }
}

/// A number that sysfs has of a device. An unknown speed is -1, which is none.
fn number(device: &str, name: &str) -> Option<u64> {
    fs::read_to_string(format!("/sys/class/net/{device}/{name}")).ok()?.trim().parse().ok()
}

/// The device of the most specific route to `ip` in a text of `/proc/net/route`, whose addresses
/// are hexadecimal in the order of bytes of this machine.
fn device_to(ip: Ipv4Addr, routes: &str) -> Option<String> {
    let ip = u32::from_ne_bytes(ip.octets());
    let mut best: Option<(u32, &str)> = None;
    for line in routes.lines().skip(1) {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let hex = |at: usize| u32::from_str_radix(fields.get(at).copied().unwrap_or(""), 16).ok();
        let (Some(device), Some(network), Some(mask)) = (fields.first(), hex(1), hex(7)) else {
            continue;
        };
        let longer = best.is_none_or(|(ones, _)| mask.count_ones() > ones);
        if ip & mask == network && longer {
            best = Some((mask.count_ones(), device));
        }
    }
    best.map(|(_, device)| device.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_endian = "little")]
    #[test]
    fn the_most_specific_route_wins() {
        let routes = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\n\
                      eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\n\
                      eth1\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\n";
        assert_eq!(device_to(Ipv4Addr::new(192, 0, 2, 7), routes).as_deref(), Some("eth1"));
        assert_eq!(device_to(Ipv4Addr::new(10, 1, 1, 1), routes).as_deref(), Some("eth0"));
        assert_eq!(device_to(Ipv4Addr::new(10, 1, 1, 1), "Iface\n"), None);
    }

    #[test]
    fn the_fuller_direction_counts() {
        let link = LinkUse {
            device: "eth0".into(),
            bits_per_s: Some(1_000_000_000),
            sent_bytes: 10_000_000,
            received_bytes: 112_500_000,
            span_s: 1.0,
        };
        assert_eq!(link.share(), Some(0.9));
        assert_eq!(LinkUse { bits_per_s: None, ..link.clone() }.share(), None);
        assert_eq!(LinkUse { span_s: 0.0, ..link }.share(), None);
    }

    #[test]
    fn there_is_no_link_to_oneself() {
        assert!(Link::to(&Address::Unix("/s".into())).is_none());
        assert!(Link::to(&Address::Tcp(([127, 0, 0, 1], 6379).into())).is_none());
    }
}
