//! The evidence of the checks: plain data, gathered or recorded.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use crate::machine::{CpuTimes, Intrinsic};
use crate::{HostFacts, ServerFacts};
use workload::quantity::counted;

/// Evidence of all checks. Missing evidence is an `Err` or `None`, which its checks report.
#[derive(Debug, Clone)]
pub struct Evidence {
    /// This machine.
    pub host: HostFacts,
    /// Use of the machine's CPU time during the examination.
    pub meanwhile: Option<CpuTimes>,
    /// The planned load.
    pub load: Load,
    /// Location of the server relative to this machine.
    pub location: ServerLocation,
    /// Round trips to the server; `Err` is the reason why there are none.
    pub round_trips: Result<RoundTrips, String>,
    /// The server; `Err` is the reason why it could not be asked.
    pub server: Result<ServerEvidence, String>,
    /// Report of a memcached; `None` for other servers.
    pub memcache: Option<Result<MemcacheEvidence, String>>,
    /// Latency that this machine alone adds; `None` if it was not measured.
    pub intrinsic: Option<Intrinsic>,
}

impl Evidence {
    /// The evidence of a machine alone.
    pub fn of_host(host: HostFacts, load: Load) -> Self {
        let none = "no server was asked";
        Self {
            host,
            meanwhile: None,
            load,
            location: ServerLocation::Nowhere,
            round_trips: Err(none.to_owned()),
            server: Err(none.to_owned()),
            memcache: None,
            intrinsic: None,
        }
    }
}

impl Evidence {
    /// Returns the reason why the server could not be asked, if it could not.
    pub fn unasked(&self) -> Option<&str> {
        let why = match &self.memcache {
            Some(memcache) => memcache.as_ref().err(),
            None => self.server.as_ref().err(),
        };
        why.map(String::as_str)
    }
}

/// The planned load, as far as checks depend on it.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    /// Connections.
    pub connections: u32,
    /// Requests in flight on each.
    pub pipeline: u32,
    /// Requests per second, if a rate is requested.
    pub rate_per_s: Option<f64>,
    /// Bytes of a value.
    pub value_bytes: u64,
    /// Set if connections are kept from one request to the next.
    pub keep_alive: bool,
}

impl Default for Load {
    /// The load of redis-benchmark.
    fn default() -> Self {
        Self { connections: 50, pipeline: 1, rate_per_s: None, value_bytes: 3, keep_alive: true }
    }
}

/// Location of the server relative to this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerLocation {
    /// No server.
    Nowhere,
    /// On this machine, behind a unix socket.
    Unix,
    /// On this machine, behind TCP; its packets reach no network card.
    Local,
    /// On another machine, about which this machine's files say nothing.
    Remote {
        /// Address of the server.
        address: IpAddr,
        /// Interface of outgoing packets, if a route is known.
        interface: Option<String>,
    },
}

impl ServerLocation {
    /// Returns whether the server shares this machine.
    pub fn is_here(&self) -> bool {
        matches!(self, Self::Unix | Self::Local)
    }
}

/// Reply times of a command that does nothing (`PING`, or `version` of memcached), on an otherwise idle
/// connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundTrips {
    /// Number of replies.
    pub count: usize,
    /// The shortest.
    pub min: Duration,
    /// The median.
    pub median: Duration,
    /// The 99th percentile.
    pub p99: Duration,
    /// The longest.
    pub max: Duration,
}

impl RoundTrips {
    /// Figures of samples; `None` without any.
    pub fn from_samples(mut samples: Vec<Duration>) -> Option<Self> {
        samples.sort();
        let at = |share: f64| {
            let rank = (samples.len() as f64 * share).ceil() as usize;
            samples.get(rank.max(1) - 1).copied()
        };
        Some(Self {
            count: samples.len(),
            min: *samples.first()?,
            median: at(0.5)?,
            p99: at(0.99)?,
            max: *samples.last()?,
        })
    }
}

/// A server's report. Each `Err` is the reason why a part is missing.
#[derive(Debug, Clone)]
pub struct ServerEvidence {
    /// `INFO everything`.
    pub info: Result<Info, String>,
    /// `CONFIG GET *`.
    pub config: Result<BTreeMap<String, String>, String>,
    /// `CLIENT LIST`.
    pub clients: Result<Clients, String>,
    /// `SLOWLOG LEN`.
    pub slowlog: Result<u64, String>,
    /// Commands of `SLOWLOG GET`, the slowest first.
    pub slow_commands: Vec<SlowCommand>,
    /// `LATENCY LATEST`: event, and the longest in milliseconds.
    pub latency_events: Result<Vec<(String, u64)>, String>,
    /// Commands of the suite that it lacks (`COMMAND INFO`).
    pub missing_commands: Result<Vec<String>, String>,
    /// Commands of the suite that the user may not run (`ACL DRYRUN`).
    pub forbidden_commands: Result<Vec<String>, String>,
    /// Commands of other clients during the examination.
    pub traffic: Result<Traffic, String>,
    /// Type of the file system of its data directory.
    pub data_filesystem: Result<String, String>,
}

/// A command in a server's slow log.
#[derive(Debug, Clone, PartialEq)]
pub struct SlowCommand {
    /// Name and first argument.
    pub what: String,
    /// Execution time.
    pub ran: Duration,
    /// Time since then.
    pub ago: Duration,
}

impl ServerEvidence {
    /// Returns the reason why other clients may use the server, in words; `None` if it is empty and has no
    /// other clients.
    pub(crate) fn is_of_others(&self) -> Option<String> {
        let Ok(info) = &self.info else { return Some("it may serve others".to_owned()) };
        let keys = info.keys();
        match &self.clients {
            _ if keys > 0 => Some(format!("it holds {}", counted(keys, "key"))),
            Ok(clients) if clients.others == 0 => None,
            Ok(clients) => {
                Some(format!("it serves {}", counted(clients.others as u64, "other client")))
            }
            Err(_) => Some("it may serve others".to_owned()),
        }
    }

    pub(crate) fn setting(&self, name: &str) -> Result<&str, String> {
        let config = self.config.as_ref().map_err(Clone::clone)?;
        let found = config.get(name).map(String::as_str);
        found.ok_or_else(|| format!("the server has no setting {name}"))
    }

    /// Numeric value of a setting.
    pub(crate) fn number(&self, name: &str) -> Result<i64, String> {
        let text = self.setting(name)?;
        text.parse().map_err(|_| format!("the setting {name} is not a number: {text}"))
    }
}

/// The report of a memcached.
#[derive(Debug, Clone)]
pub struct MemcacheEvidence {
    /// `stats`.
    pub stats: BTreeMap<String, String>,
    /// `stats settings`; `Err` is the reason why it was refused.
    pub settings: Result<BTreeMap<String, String>, String>,
    /// Changes during the examination; `Err` is the reason why they are unknown.
    pub grown: Result<MemcachedCounts, String>,
    /// Number of its listening sockets, if it reports them: `curr_connections` counts all of these except
    /// one.
    pub listening: Option<u64>,
}

/// The counts of memcached while we looked.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct MemcachedCounts {
    /// Keys requested, stored, changed and deleted.
    pub commands: u64,
    /// Items evicted.
    pub evictions: u64,
    /// Length of the examination in seconds.
    pub seconds: f64,
}

impl MemcacheEvidence {
    /// Connections other than this program's own.
    pub(crate) fn others(&self) -> Result<u64, String> {
        let known = self.number("curr_connections")?;
        Ok(known.saturating_sub(self.listening.unwrap_or(1)))
    }

    pub(crate) fn text(&self, name: &str) -> Result<&str, String> {
        let found = self.stats.get(name).map(String::as_str);
        found.ok_or_else(|| format!("the server's stats have no {name}"))
    }

    /// A figure of `stats`.
    pub(crate) fn number(&self, name: &str) -> Result<u64, String> {
        let text = self.text(name)?;
        text.parse().map_err(|_| format!("{name} in the server's stats is not a number: {text}"))
    }

    pub(crate) fn setting_text(&self, name: &str) -> Result<&str, String> {
        let settings = self.settings.as_ref().map_err(Clone::clone)?;
        let found = settings.get(name).map(String::as_str);
        found.ok_or_else(|| format!("the server has no setting {name}"))
    }

    /// Numeric value of a setting.
    pub(crate) fn setting(&self, name: &str) -> Result<u64, String> {
        let text = self.setting_text(name)?;
        text.parse().map_err(|_| format!("the setting {name} is not a number: {text}"))
    }
}

/// The server's work for other clients during the examination.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Traffic {
    /// Commands of other clients.
    pub commands: u64,
    /// Seconds in which they came.
    pub seconds: f64,
}

/// The fields of `INFO`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Info {
    fields: BTreeMap<String, String>,
    /// Product and version.
    pub facts: ServerFacts,
}

impl Info {
    /// Reads a text of `INFO`.
    pub fn parse(text: &str) -> Self {
        let fields = text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
            let (name, value) = line.split_once(':')?;
            Some((name.trim().to_owned(), value.trim().to_owned()))
        });
        Self { fields: fields.collect(), facts: ServerFacts::default().with_info(text) }
    }

    /// The value of a field.
    ///
    /// # Errors
    /// Returns an error in words if the server does not report it.
    pub fn get(&self, name: &str) -> Result<&str, String> {
        let found = self.fields.get(name).map(String::as_str);
        found.ok_or_else(|| format!("the server's INFO has no {name}"))
    }

    /// Keys in all databases.
    fn keys(&self) -> u64 {
        let keys = self.fields.iter().filter_map(|(name, value)| {
            name.strip_prefix("db")?.parse::<u32>().ok()?;
            value.strip_prefix("keys=")?.split(',').next()?.parse::<u64>().ok()
        });
        keys.sum()
    }

    /// Numeric value of a field.
    ///
    /// # Errors
    /// Returns an error in words if the server does not report it.
    pub fn number(&self, name: &str) -> Result<f64, String> {
        let text = self.get(name)?;
        text.parse().map_err(|_| format!("{name} in the server's INFO is not a number: {text}"))
    }
}

/// The clients of a server, ourselves left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Clients {
    /// All other clients.
    pub others: usize,
    /// Clients that run `MONITOR`.
    pub monitors: usize,
    /// Replicas.
    pub replicas: usize,
    /// Clients that did something in the last second.
    pub active: usize,
}

impl Clients {
    /// Counts the lines of `CLIENT LIST`. `own` is this client's `id`. `None` if no line is a client's: such
    /// a text is not the list, which always includes the client that asks.
    /// <https://redis.io/docs/latest/commands/client-list/> documents the flags.
    pub fn parse(text: &str, own: Option<&str>) -> Option<Self> {
        let mut clients = Self::default();
        let mut listed = false;
        for line in text.lines() {
            let field = |name: &str| {
                line.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
            };
            let Some(id) = field("id") else { continue };
            listed = true;
            if Some(id) == own {
                continue;
            }
            let flags = field("flags").unwrap_or_default();
            clients.others += 1;
            clients.monitors += usize::from(flags.contains('O'));
            clients.replicas += usize::from(flags.contains('S') && !flags.contains('O'));
            clients.active += usize::from(field("idle") == Some("0"));
        }
        listed.then_some(clients)
    }
}
