//! The checks, and the table that registers them.

mod busy;
mod cpu;
mod intrinsic;
mod limits;
mod link;
mod memcache;
mod memory;
mod server_build;
mod server_commands;
mod server_disk;
mod server_memory;
mod server_work;
mod topology;
mod trip;

use crate::doctor::finding::{Area, Finding, Outcome, Verdict};
use crate::doctor::{Evidence, ServerEvidence, ServerLocation};

/// A check.
#[derive(Debug)]
pub struct Check {
    /// Name in every output.
    pub name: &'static str,
    /// Area of the check.
    pub area: Area,
    /// Set if the check needs only current facts of this machine: an average of the last seconds may show the
    /// run before.
    pub cheap: bool,
    /// Servers that the check is about.
    of: Subject,
    look: fn(&Evidence) -> Verdict,
}

/// The servers that a check is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subject {
    Any,
    /// Servers with RESP.
    Redis,
    Memcached,
    /// None: the machine, if its own delays were measured.
    Delays,
}

impl Check {
    /// Returns whether the check applies to the evidence.
    pub fn is_for(&self, evidence: &Evidence) -> bool {
        match self.of {
            Subject::Any => true,
            Subject::Redis => evidence.memcache.is_none(),
            Subject::Memcached => evidence.memcache.is_some(),
            Subject::Delays => evidence.intrinsic.is_some(),
        }
    }

    /// Runs the check.
    pub fn finding(&self, evidence: &Evidence) -> Finding {
        let outcome = (self.look)(evidence).unwrap_or_else(Outcome::unknown);
        let Outcome { level, seen, why, mend } = outcome;
        Finding { area: self.area, name: self.name.to_owned(), level, seen, why, mend }
    }
}

const fn host(name: &'static str, look: fn(&Evidence) -> Verdict) -> Check {
    Check { name, area: Area::Host, cheap: true, of: Subject::Any, look }
}

const fn network(name: &'static str, look: fn(&Evidence) -> Verdict) -> Check {
    Check { name, area: Area::Network, cheap: false, of: Subject::Any, look }
}

const fn server(name: &'static str, look: fn(&Evidence) -> Verdict) -> Check {
    Check { name, area: Area::Server, cheap: false, of: Subject::Redis, look }
}

const fn memcached(name: &'static str, look: fn(&Evidence) -> Verdict) -> Check {
    Check { of: Subject::Memcached, ..server(name, look) }
}

/// All checks, in the order in which findings are printed.
pub const CHECKS: &[Check] = &[
    host("cpu governor", cpu::governor),
    host("turbo", cpu::turbo),
    host("virtual machine", cpu::virtual_machine),
    host("clock source", cpu::clock_source),
    Check { cheap: false, ..host("steal time", busy::steal) },
    host("load", busy::load),
    Check { cheap: false, ..host("cpu pressure", busy::cpu_pressure) },
    Check { cheap: false, ..host("memory pressure", busy::memory_pressure) },
    Check { cheap: false, ..host("io pressure", busy::io_pressure) },
    Check { of: Subject::Delays, cheap: false, ..host("busy thread", intrinsic::busy) },
    Check { of: Subject::Delays, cheap: false, ..host("timers", intrinsic::timers) },
    host("cpus", topology::cpus),
    host("numa", topology::numa),
    host("shared caches", topology::caches),
    host("swap", memory::swap),
    host("overcommit memory", memory::overcommit),
    host("huge pages", memory::huge_pages),
    host("file limit", limits::files),
    host("port range", limits::ports),
    host("tcp_tw_reuse", limits::tw_reuse),
    network("link speed", link::speed),
    network("mtu", link::mtu),
    network("queue affinity", link::queues),
    network("rps and rfs", link::steering),
    network("round trip", trip::round_trip),
    network("jitter", trip::jitter),
    Check { of: Subject::Redis, ..network("accept queue", limits::backlog) },
    Check { of: Subject::Memcached, ..network("accept queue", memcache::backlog) },
    server("version", server_build::version),
    server("architecture", server_build::bits),
    server("allocator", server_build::allocator),
    server("log level", server_work::log_level),
    server("save", server_disk::save),
    server("appendonly", server_disk::appendonly),
    server("data directory", server_disk::directory),
    server("maxmemory", server_memory::limit),
    server("maxmemory policy", server_memory::policy),
    server("fragmentation", server_memory::fragmentation),
    server("io-threads", server_work::io_threads),
    server("maxclients", server_work::maxclients),
    server("monitors", server_work::monitors),
    server("other traffic", server_work::traffic),
    server("slowlog", server_work::slowlog),
    server("latency monitor", server_work::latency),
    server("commands", server_commands::missing),
    server("permissions", server_commands::forbidden),
    memcached("version", memcache::version),
    memcached("requests at a time", memcache::requests_at_a_time),
    memcached("cut pipelines", memcache::yields),
    memcached("threads", memcache::threads),
    memcached("connection limit", memcache::connection_limit),
    memcached("connections turned away", memcache::turned_away),
    memcached("memory", memcache::memory),
    memcached("evictions", memcache::evictions),
    memcached("when full", memcache::when_full),
    memcached("item size", memcache::item_size),
    memcached("hash table", memcache::hash_table),
    memcached("other traffic", memcache::traffic),
];

/// The server, or the reason why it could not be asked.
fn asked(evidence: &Evidence) -> Result<&ServerEvidence, String> {
    evidence.server.as_ref().map_err(Clone::clone)
}

/// Gives this advice only for a private server, as the change loses data or refuses requests of other
/// clients.
fn for_private(server: &ServerEvidence, mend: &str) -> String {
    server.is_of_others().map_or_else(
        || mend.to_owned(),
        |why| {
            format!(
                "{why}: leave that, and measure a private server, as keystorm --spawn starts it"
            )
        },
    )
}

/// Checks that the files of this machine describe the server's.
fn here(evidence: &Evidence) -> Result<(), String> {
    match &evidence.location {
        ServerLocation::Unix | ServerLocation::Local => Ok(()),
        ServerLocation::Nowhere => Err("no server was asked".to_owned()),
        ServerLocation::Remote { address, .. } => {
            Err(format!("the server is on another machine ({address}); run keystorm doctor there"))
        }
    }
}

/// A fact of this machine, or an error in words if it is unknown.
fn known<T: Clone>(fact: &Option<T>) -> Result<T, String> {
    fact.clone().ok_or_else(|| "not reported by this machine".to_owned())
}

/// Formats a number of bytes for people.
fn bytes(count: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    let mut shown = (count as f64, "bytes");
    for unit in UNITS {
        if shown.0 < 1024.0 {
            break;
        }
        shown = (shown.0 / 1024.0, unit);
    }
    if shown.1 == "bytes" {
        format!("{count} bytes")
    } else {
        format!("{:.1} {}", shown.0, shown.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_cheap_ones_are_of_the_host() {
        for (at, check) in CHECKS.iter().enumerate() {
            let differs = |other: &Check| other.name != check.name || other.of != check.of;
            assert!(CHECKS[..at].iter().all(differs), "{}", check.name);
            assert!(!check.cheap || check.area == Area::Host, "{}", check.name);
        }
    }

    #[test]
    fn bytes_are_read_by_people() {
        assert_eq!(bytes(3), "3 bytes");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes(u64::MAX), "16777216.0 TiB");
    }
}
