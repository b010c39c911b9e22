//! This machine's limits for one process: open files, and ports to connect from.
//!
//! Owns reading them, raising them if possible, and the words for those that cannot be raised. The caller
//! decides on the number of connections, and on the remedy for too few ports.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::ops::RangeInclusive;

use naming::{CONNECTIONS, SOCKET, SOURCE_IP};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use thiserror::Error;

/// The limit of open files is below what a run needs and cannot be raised from here.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "{connections} connections ({CONNECTIONS}) need {} open files, but the limit is {allowed}: raise it with `ulimit -n \
     {}` (as root if the shell refuses){}",
    .connections + .others, .connections + .others, fewer(*.allowed, *.others), CONNECTIONS = CONNECTIONS
)]
pub struct OpenFilesError {
    /// Requested connections.
    pub connections: u64,
    /// Further open files.
    pub others: u64,
    /// Largest number of files that this process may open.
    pub allowed: u64,
}

/// Suggests a number of connections that is possible, if there is one.
fn fewer(allowed: u64, others: u64) -> String {
    match allowed.saturating_sub(others) {
        0 => String::new(),
        most => format!(", or use at most {most}"),
    }
}

/// Ensures that `connections` sockets and `others` other files can be open at a time: raises the soft limit
/// to the hard limit if it is too low. Processes started later inherit that.
///
/// # Errors
/// Returns an error if the hard limit is too low as well.
pub fn allow_open_files(connections: u64, others: u64) -> Result<(), OpenFilesError> {
    let needed = connections.saturating_add(others);
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|soft| soft >= needed) {
        return Ok(());
    }
    let refused = |allowed| OpenFilesError { connections, others, allowed };
    if let Some(hard) = limit.maximum.filter(|hard| *hard < needed) {
        return Err(refused(hard));
    }
    let raised = Rlimit {
        // Where the hard limit is infinite the kernel still has one of its own, and takes a
        // number below that but not infinity (macOS).
        current: Some(limit.maximum.unwrap_or(needed)),
        maximum: limit.maximum,
    };
    setrlimit(Resource::Nofile, raised).map_err(|_| refused(limit.current.unwrap_or(needed)))
}

/// Describes a shortage of local ports: more connections to one address than `sources` addresses have ports to connect
/// from. `None` if they suffice, or if their number is unknown.
///
/// Ports in use by other programs, or still in `TIME_WAIT`, are not subtracted, so ports may still run out.
pub fn port_shortage(address: SocketAddr, connections: u64, sources: usize) -> Option<String> {
    let range = local_ports()?;
    let ports = u64::from(range.end() - range.start()) + 1;
    let most = ports.saturating_mul(sources.max(1) as u64);
    let each = if sources > 1 { " for each source address" } else { "" };
    (connections > most).then(|| {
        format!(
            "{CONNECTIONS} {connections}: each connection to {address} needs a local port, and this machine \
             has {ports}{each}: use at most {CONNECTIONS} {most}, connect from more local addresses \
             ({SOURCE_IP}), use a unix socket ({SOCKET}), or widen the range as root: sysctl -w \
             net.ipv4.ip_local_port_range='1024 65535'"
        )
    })
}

/// An address to connect from cannot be used.
#[derive(Debug, Error)]
#[error("{SOURCE_IP} {address}: {}", if .error.kind() == io::ErrorKind::AddrNotAvailable {
    "not an address of this machine (`ip address` lists them)".to_owned()
} else {
    .error.to_string()
}, SOURCE_IP = SOURCE_IP
)]
pub struct SourceError {
    /// The address.
    pub address: IpAddr,
    /// The kernel's error.
    pub error: io::Error,
}

/// Checks that connections can be made from each of `sources`.
///
/// # Errors
/// Returns the first that is not an address of this machine.
pub fn check_sources(sources: &[IpAddr]) -> Result<(), SourceError> {
    sources.iter().try_for_each(|address| {
        // Needs no port of those that connections take, and nobody hears of it.
        UdpSocket::bind((*address, 0))
            .map(drop)
            .map_err(|error| SourceError { address: *address, error })
    })
}

/// Local ports that this machine connects from, if known; they apply to IPv6, too, in spite of the name.
pub fn local_ports() -> Option<RangeInclusive<u16>> {
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?;
    ports_in(&range)
}

/// Parses `32768 60999`, an inclusive range.
pub(crate) fn ports_in(range: &str) -> Option<RangeInclusive<u16>> {
    let mut ends = range.split_whitespace().map(str::parse::<u16>);
    let (first, last) = (ends.next()?.ok()?, ends.next()?.ok()?);
    (first <= last).then_some(first..=last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_is_raised_as_far_as_it_goes_and_no_further() {
        let before = getrlimit(Resource::Nofile);
        // Nothing is asked for that is not there.
        assert_eq!(allow_open_files(1, 1), Ok(()));
        if let Some(hard) = before.maximum {
            assert_eq!(allow_open_files(hard - 64, 64), Ok(()));
            assert_eq!(getrlimit(Resource::Nofile).current, Some(hard));
            let error = allow_open_files(hard, 64).unwrap_err();
            assert_eq!(error.allowed, hard);
        }
    }

    #[test]
    fn too_few_files_are_reported_with_numbers_that_work() {
        let error = OpenFilesError { connections: 20_000, others: 64, allowed: 4096 };
        let text = error.to_string();
        for part in
            ["20000 connections (-c) ", "20064 open files", "`ulimit -n 20064`", "at most 4032"]
        {
            assert!(text.contains(part), "{text:?} should contain {part:?}");
        }
        let hopeless = OpenFilesError { connections: 50, others: 32, allowed: 16 }.to_string();
        assert!(hopeless.contains("`ulimit -n 82`") && !hopeless.contains("-c 0"), "{hopeless}");
    }

    #[test]
    fn ports_are_counted_with_both_ends() {
        assert_eq!(ports_in("32768\t60999\n"), Some(32_768..=60_999));
        assert_eq!(ports_in("5 4"), None);
        assert_eq!(ports_in("nonsense"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn more_connections_than_ports_are_reported() {
        let address = "127.0.0.1:6379".parse().unwrap();
        assert_eq!(port_shortage(address, 1, 0), None);
        let shortage = port_shortage(address, 100_000, 0).unwrap();
        assert!(shortage.contains("-c 100000: each connection to 127.0.0.1:6379"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn each_source_address_has_ports_of_its_own() {
        let address = "127.0.0.1:6379".parse().unwrap();
        assert_eq!(port_shortage(address, 100_000, 7), None);
        let shortage = port_shortage(address, 500_000, 2).unwrap();
        assert!(shortage.contains("for each source address") && shortage.contains("--source-ip"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_source_address_must_be_of_this_machine() {
        check_sources(&["127.0.0.1".parse().unwrap(), "127.0.0.2".parse().unwrap()]).unwrap();
        // From a range for documentation (RFC 5737), which nobody has.
        let error = check_sources(&["192.0.2.1".parse().unwrap()]).unwrap_err().to_string();
        assert!(
            error.starts_with("--source-ip 192.0.2.1: not an address of this machine"),
            "{error}"
        );
    }
}
