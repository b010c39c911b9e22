//! The link to a server: its device, speed, and traffic.
//!
//! Counts of the device include headers and other traffic, which also fill a link.

use std::fs;
use std::path::Path;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::{Address, machine};

/// The traffic of a link in a span of time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkUse {
    /// The device, such as `eth0`.
    pub device: String,
    /// Speed in each direction; `None` if unknown, as for virtual devices.
    pub bits_per_s: Option<u64>,
    /// Bytes that this machine sent over it.
    pub sent_bytes: u64,
    /// Bytes that this machine received over it.
    pub received_bytes: u64,
    /// The span in seconds.
    pub span_s: f64,
}

impl LinkUse {
    /// Returns how full the fuller direction was, 0 to 1.
    pub fn share(&self) -> Option<f64> {
        let bits = self.sent_bytes.max(self.received_bytes) as f64 * 8.0;
        let carried = self.bits_per_s? as f64 * self.span_s;
        (carried > 0.0).then(|| (bits / carried).min(1.0))
    }
}

/// A link and its traffic up to a moment.
#[derive(Debug)]
pub(super) struct Link {
    device: String,
    at: Instant,
    sent_bytes: u64,
    received_bytes: u64,
}

impl Link {
    /// The link to an address, now. `None` for unix sockets, loopback, and systems other than Linux.
    pub(super) fn to(address: &Address) -> Option<Self> {
        let Address::Tcp(to) = address else { return None };
        let device = machine::interface_to(Path::new("/"), to.ip())?;
        (device != "lo").then(|| Self::read(device))?
    }

    fn read(device: String) -> Option<Self> {
        let count = |name: &str| number(&device, &format!("statistics/{name}_bytes"));
        let (sent_bytes, received_bytes) = (count("tx")?, count("rx")?);
        Some(Self { device, at: Instant::now(), sent_bytes, received_bytes })
    }

    /// Returns the traffic since this reading.
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

/// Reads a number of a device from sysfs. An unknown speed is -1, which gives `None`.
fn number(device: &str, name: &str) -> Option<u64> {
    fs::read_to_string(format!("/sys/class/net/{device}/{name}")).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

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
