//! The interface for packets to an address.
//!
//! Reads the main routing table. Policy routing (`ip rule`) is not followed.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

use super::tree::Tree;

/// Finds the interface for packets to this address, by the tables under `root`, which replaces `/`. `None` if
/// no route is known. An address of this machine itself gives its interface, although such packets never
/// reach it.
pub fn interface_to(root: &Path, address: IpAddr) -> Option<String> {
    let tree = Tree::new(root);
    match address {
        IpAddr::V4(address) if address.is_loopback() => Some("lo".to_owned()),
        IpAddr::V4(address) => v4(&tree.text("proc/net/route")?, address),
        IpAddr::V6(address) => match address.to_ipv4_mapped() {
            Some(mapped) => interface_to(root, mapped.into()),
            None => v6(&tree.text("proc/net/ipv6_route")?, address),
        },
    }
}

/// Parses the IPv4 table: interface, destination, gateway, flags, refs, use, metric, mask; addresses are
/// hexadecimal in the machine's byte order. The longest mask wins, then the lowest metric.
fn v4(table: &str, address: Ipv4Addr) -> Option<String> {
    let wanted = u32::from_ne_bytes(address.octets());
    let routes = table.lines().skip(1).filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let hex = |at: usize| u32::from_str_radix(words.get(at)?, 16).ok();
        let (to, mask) = (hex(1)?, hex(7)?);
        let metric: u32 = words[6].parse().ok()?;
        (wanted & mask == to).then(|| ((mask.count_ones(), u32::MAX - metric), words[0].to_owned()))
    });
    routes.max_by_key(|(rank, _)| *rank).map(|(_, name)| name)
}

/// Parses the IPv6 table: destination, its prefix length in hexadecimal, source, its prefix, next hop,
/// metric, refs, use, flags, interface.
fn v6(table: &str, address: Ipv6Addr) -> Option<String> {
    let wanted = u128::from(address);
    let routes = table.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let to = u128::from_str_radix(words.first()?, 16).ok()?;
        let prefix = u32::from_str_radix(words.get(1)?, 16).ok()?;
        let metric = u32::from_str_radix(words.get(5)?, 16).ok()?;
        let mask = if prefix == 0 { 0 } else { u128::MAX.checked_shl(128 - prefix)? };
        let name = (*words.last()?).to_owned();
        (wanted & mask == to & mask).then_some(((prefix, u32::MAX - metric), name))
    });
    routes.max_by_key(|(rank, _)| *rank).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const V4: &str = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\n\
        eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\n\
        eth1\t00000000\t010200C0\t0003\t0\t0\t9\t00000000\t0\n\
        wg0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\n";
    const V6: &str = "\
        fd000000000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000001 00000000 00000001 eth1\n\
        00000000000000000000000000000000 00 00000000000000000000000000000000 00 fd000000000000000000000000000001 00000400 00000002 00000000 00000003 eth0\n";

    #[test]
    #[cfg(target_endian = "little")]
    fn the_longest_prefix_wins_and_then_the_lowest_metric() {
        assert_eq!(v4(V4, Ipv4Addr::new(192, 0, 2, 7)).as_deref(), Some("wg0"));
        assert_eq!(v4(V4, Ipv4Addr::new(10, 0, 2, 7)).as_deref(), Some("eth0"));
        assert_eq!(v4("nonsense\nmore nonsense", Ipv4Addr::new(10, 0, 2, 7)), None);
    }

    #[test]
    fn the_longest_prefix_wins_for_ipv6() {
        assert_eq!(v6(V6, "fd00::9".parse().unwrap()).as_deref(), Some("eth1"));
        assert_eq!(v6(V6, "2001:db8::1".parse().unwrap()).as_deref(), Some("eth0"));
    }
}
