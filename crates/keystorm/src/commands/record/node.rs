//! A server that is recorded: its feed, and a second connection that watches the effect of the recording.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Result, anyhow};
use cli::console::diagnostics;
use host::memcache::MemcacheClient;
use host::{Client, Transport};
use wire::resp::Value;

use super::feed::{self, Feed};
use super::options::Options;
use crate::server::{Server, login};
use crate::server_clock::{self, ServerClock};

/// The second connection.
enum Watcher {
    Resp(Client<Transport>),
    Memcache(MemcacheClient),
}

/// A server, or a primary of a cluster.
pub(super) struct Node {
    /// Address as it is shown to users.
    pub(super) name: String,
    address: host::Address,
    watcher: Watcher,
    /// Lead of the server's clock over the local clock, if several servers are recorded.
    pub(super) ahead_ns: i64,
    /// End of the recording by the server's clock; later events are not recorded.
    pub(super) end_ns: Arc<AtomicU64>,
    /// Clients of keystorm, by their numbers in MONITOR.
    pub(super) own_clients: Vec<u64>,
    /// The recording connection, by its `CLIENT ID`.
    feed_id: Option<String>,
    /// Set if the note that deletions look like reads has been printed.
    has_warned: bool,
    /// Set if the server is a memcached that logs no deletions.
    pub(super) lacks_deletions: bool,
}

/// The first memcached that logs deletions.
const DELETIONS_SINCE: [u32; 3] = [1, 6, 19];

/// The nodes that are recorded: the primaries of a cluster, or the server.
pub(super) fn nodes(server: &Server, job: &Options) -> Result<Vec<Node>> {
    if job.server.protocol.is_memcache() {
        let mut client = server.memcache_client(&job.server.target)?;
        let stats = client.stats(None).unwrap_or_default();
        let version = stats.iter().find(|(name, _)| name == "version");
        let lacks_deletions = version.is_some_and(|(_, version)| {
            let parts: Vec<u32> = version.split('.').filter_map(|part| part.parse().ok()).collect();
            parts[..] < DELETIONS_SINCE[..]
        });
        let node = Node::new(server.address.clone(), Watcher::Memcache(client));
        return Ok(vec![Node { lacks_deletions, ..node }]);
    }
    let Some(clients) = server.master_clients(&job.server.target)? else {
        let client = server.client(&job.server.target)?;
        return Ok(vec![Node::new(server.address.clone(), Watcher::Resp(client))]);
    };
    let mut nodes = Vec::new();
    for mut client in clients {
        let ahead_ns = ServerClock::ask(&mut client)?.ahead_ns();
        let node = Node::new(client.address().clone(), Watcher::Resp(client));
        nodes.push(Node { ahead_ns, ..node });
    }
    Ok(nodes)
}

impl Node {
    fn new(address: host::Address, watcher: Watcher) -> Self {
        let mut node = Self {
            name: address.to_string(),
            address,
            watcher,
            ahead_ns: 0,
            end_ns: Arc::new(AtomicU64::new(u64::MAX)),
            own_clients: Vec::new(),
            feed_id: None,
            has_warned: false,
            lacks_deletions: false,
        };
        if let Watcher::Resp(client) = &mut node.watcher {
            node.own_clients.extend(client_number(client).map(|(_, number)| number));
        }
        node
    }

    /// The format of the feed, by its name in crate `traffic`.
    pub(super) fn format(&self) -> &'static str {
        match self.watcher {
            Watcher::Resp(_) => "monitor",
            Watcher::Memcache(_) => "watch",
        }
    }

    /// Begins to record.
    ///
    /// # Errors
    /// Returns an error if the server cannot be reached, or refuses.
    pub(super) fn feed(
        &mut self,
        server: &Server,
        job: &Options,
        stop: &Arc<AtomicBool>,
    ) -> Result<Feed> {
        self.end_ns.store(u64::MAX, Ordering::Relaxed);
        match self.watcher {
            Watcher::Resp(_) => {
                let login = login(&job.server.target, server.tls.as_ref());
                let mut client = host::log_in(&self.address, login)?;
                if let Some((id, number)) = client_number(&mut client) {
                    self.feed_id = Some(id);
                    self.own_clients.push(number);
                }
                feed::monitor(client, stop)
            }
            Watcher::Memcache(_) => {
                let client = server.memcache_client(&job.server.target)?;
                let feed = feed::watch(client.into_stream(), &self.name, stop)?;
                if feed.lacks_deletions && !std::mem::replace(&mut self.has_warned, true) {
                    diagnostics::say(format_args!(
                        "note: {}: this version of memcached logs no deletions: they look like reads in the record",
                        self.name
                    ))?;
                }
                Ok(feed)
            }
        }
    }

    /// The round trip of a command that does nothing.
    ///
    /// # Errors
    /// Returns an error if the server does not answer.
    pub(super) fn round_trip(&mut self) -> Result<Duration> {
        let begin = Instant::now();
        match &mut self.watcher {
            Watcher::Resp(client) => {
                client.ask(&[b"PING"])?;
            }
            Watcher::Memcache(client) => client.nothing().map_err(|why| anyhow!(why))?,
        }
        Ok(begin.elapsed())
    }

    /// Returns the number of log entries that memcached has dropped since the recording began, because the
    /// buffer of a thread was full. It does not notify watchers of these.
    pub(super) fn dropped(&mut self) -> u64 {
        let Watcher::Memcache(client) = &mut self.watcher else { return 0 };
        let stats = client.stats(None).unwrap_or_default();
        let dropped = stats.iter().find(|(name, _)| name == "log_worker_dropped");
        dropped.and_then(|(_, count)| count.parse().ok()).unwrap_or(0)
    }

    /// Ends the recording: events after the server's present time are not recorded.
    pub(super) fn end(&mut self) {
        let now = match &mut self.watcher {
            Watcher::Resp(client) => {
                client.ask(&[b"TIME"]).ok().and_then(|answer| server_clock::unix_ns(&answer))
            }
            Watcher::Memcache(client) => {
                let stats = client.stats(None).unwrap_or_default();
                let time = stats.iter().find(|(name, _)| name == "time");
                let server_s = time.and_then(|(_, seconds)| seconds.parse().ok());
                let here = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                server_s.map(|server_s| memcache_now_ns(here, server_s))
            }
        };
        self.end_ns.store(now.unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Returns the number of bytes in the server's output buffer for the recorder; `None` if the server does
    /// not report it.
    pub(super) fn behind_bytes(&mut self) -> Option<u64> {
        let Watcher::Resp(client) = &mut self.watcher else { return None };
        let id = self.feed_id.as_ref()?;
        let one = client.ask(&[b"CLIENT", b"LIST", b"ID", id.as_bytes()]).ok()?;
        let list = match one {
            // Before Redis 6.2.
            Value::Error(_) => client.ask(&[b"CLIENT", b"LIST"]).ok()?,
            list => list,
        };
        let own = format!("id={id} ");
        let list = list.text()?;
        let line = list.lines().find(|line| line.starts_with(&own))?;
        field(line, "omem=")?.parse().ok()
    }
}

/// The time of memcached's clock, which reports whole seconds, up to two seconds late: the local time, unless the two
/// are further apart.
fn memcache_now_ns(here: Duration, server_s: u64) -> u64 {
    let here_ns = here.as_nanos() as u64;
    let ahead_s = i128::from(server_s) - i128::from(here.as_secs());
    if ahead_s.abs() <= 2 {
        return here_ns;
    }
    u64::try_from(i128::from(here_ns) + ahead_s * 1_000_000_000).unwrap_or(u64::MAX)
}

/// The value of a field in a line of `CLIENT LIST`.
fn field<'t>(line: &'t str, name: &str) -> Option<&'t str> {
    line.split(' ').find_map(|part| part.strip_prefix(name))
}

/// A connection's `CLIENT ID`, and the number that the reader of MONITOR gives its address: `u64::MAX` on a unix
/// socket, where all connections have the same address.
fn client_number(client: &mut Client<Transport>) -> Option<(String, u64)> {
    let Value::Integer(id) = client.ask(&[b"CLIENT", b"ID"]).ok()? else { return None };
    let list = client.ask(&[b"CLIENT", b"LIST"]).ok()?.text()?;
    let own = format!("id={id} ");
    let line = list.lines().find(|line| line.starts_with(&own))?;
    let address = field(line, "addr=")?;
    let bytes = address.as_bytes();
    let number = if bytes.starts_with(b"/") { u64::MAX } else { traffic::client_number(bytes) };
    Some((id.to_string(), number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_of_memcached_is_ours_unless_it_is_far_from_it() {
        let here = Duration::from_millis(1_700_000_000_900);
        let ms = |server_s| memcache_now_ns(here, server_s) / 1_000_000;
        assert_eq!([1_699_999_999, 1_700_000_002].map(ms), [1_700_000_000_900; 2]);
        assert_eq!([1_600_000_000, 1_700_000_010].map(ms), [1_600_000_000_900, 1_700_000_010_900]);
    }
}
