//! Records for plans that send recorded traffic: found by the plan's description, and never sent to a server
//! that may be the recorded one.

use std::net::ToSocketAddrs;
use std::sync::Arc;

use anyhow::{Result, bail};
use cli::job::UsageError;
use host::Address;
use wire::resp::Value;
use workload::{Plan, RecordedTraffic, RequestSource, Target};

use crate::server::Server;

/// Records by their description in plans, and the plan that first writes the data that they read.
#[derive(Default)]
pub(crate) struct Records {
    all: Vec<(RecordedTraffic, Arc<dyn RequestSource + Send + Sync>)>,
    pub(crate) prefill: Option<Plan>,
}

impl Records {
    /// Adds the record that a plan sends.
    pub(crate) fn add(&mut self, plan: &Plan, record: Arc<dyn RequestSource + Send + Sync>) {
        if let Some(recorded) = &plan.recorded {
            self.all.retain(|(known, _)| known != recorded);
            self.all.push((recorded.clone(), record));
        }
    }

    /// Sets the plan that writes the data for others, and its record.
    pub(crate) fn add_prefill(&mut self, plan: Plan, record: Arc<dyn RequestSource + Send + Sync>) {
        self.add(&plan, record);
        self.prefill = Some(plan);
    }

    /// Returns the record that a plan sends, if it has one.
    pub(crate) fn for_plan(&self, plan: &Plan) -> Option<&dyn RequestSource> {
        let recorded = plan.recorded.as_ref()?;
        let found = self.all.iter().find(|(known, _)| known == recorded);
        found.map(|(_, record)| &**record as &dyn RequestSource)
    }
}

/// Precaution: a check of a server before a record is sent to it.
#[derive(Clone)]
pub(crate) struct Precaution {
    /// The record's files, in the user's text.
    pub(crate) source: String,
    /// The recorded servers, as `host:port`.
    pub(crate) servers: Vec<String>,
    /// Set if the record writes anything.
    pub(crate) writes: bool,
    /// Set if the user has allowed writing.
    pub(crate) confirmed: bool,
    /// The highest database used.
    pub(crate) db_max: u32,
}

impl Precaution {
    /// Refuses a server that may be the recorded one, or has too few databases.
    ///
    /// # Errors
    /// Returns the reason and the remedy.
    pub(crate) fn check(&self, server: &Server, target: &Target) -> Result<()> {
        if self.db_max > 0 && target.cluster.is_some() {
            bail!(UsageError(format!(
                "{}: it uses database {}, and what goes to a cluster goes to database 0; add --only-db 0",
                self.source, self.db_max
            )));
        }
        if self.writes && !self.confirmed && !server.is_own() {
            self.check_writes(server, target)?;
        }
        if self.db_max > 0 && !server.protocol().is_memcache() {
            let db = self.db_max.to_string();
            let reply = server.client(target)?.ask(&[b"SELECT", db.as_bytes()])?;
            if let Value::Error(text) = reply {
                let text = String::from_utf8_lossy(&text).into_owned();
                bail!(UsageError(format!(
                    "{}: it uses database {db}, and {} answers SELECT {db} with: {text}; raise \
                     `databases` there, or choose databases with --only-db",
                    self.source, server.address
                )));
            }
        }
        Ok(())
    }

    fn check_writes(&self, server: &Server, target: &Target) -> Result<()> {
        let Self { source, servers, .. } = self;
        let nodes = server.addresses();
        let recorded = nodes.iter().find(|address| servers.iter().any(|one| is_same(one, address)));
        if let Some(address) = recorded {
            bail!(UsageError(format!(
                "{source}: it was recorded on {address}, whose data it would change; name another \
                 server, or add --yes"
            )));
        }
        let (address, keys) = (&server.address, keys_of(server, target)?);
        if servers.is_empty() && keys > 0 {
            bail!(UsageError(format!(
                "{source}: it contains writes, and does not say which server it was recorded on; {address} \
                 holds {keys} keys. Name an empty server, or add --yes if this is not the one that was recorded"
            )));
        }
        Ok(())
    }
}

/// Returns whether a recorded server is at this address.
fn is_same(recorded: &str, address: &Address) -> bool {
    match address {
        Address::Tcp(address) => {
            let mut found = recorded.to_socket_addrs().into_iter().flatten();
            recorded == address.to_string() || found.any(|one| one == *address)
        }
        Address::Unix(path) => recorded == path.to_string_lossy(),
    }
}

/// Returns the number of keys in all databases of a server.
fn keys_of(server: &Server, target: &Target) -> Result<u64> {
    if server.protocol().is_memcache() {
        let stats = server.memcache_client(target)?.stats(None).map_err(anyhow::Error::msg)?;
        let items = stats.into_iter().find(|(name, _)| name == "curr_items");
        return Ok(items.and_then(|(_, count)| count.parse().ok()).unwrap_or(0));
    }
    let mut keys = 0;
    for mut client in server.key_clients(target)? {
        let reply = client.ask(&[b"INFO", b"keyspace"])?;
        let text = reply.text().unwrap_or_default();
        let counts = text
            .lines()
            .filter_map(|line| line.split_once("keys=")?.1.split(',').next()?.parse::<u64>().ok());
        keys += counts.sum::<u64>();
    }
    Ok(keys)
}
