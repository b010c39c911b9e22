//! `--read-preference` and its companions, as typed: the nodes that answer reads.

use spec::Address;
use workload::typed_login::shown_address;

use crate::memtier::fault::{Fault, usage_error};
use crate::memtier::values::{small, word};

pub(crate) const PRIMARY: &str = "primary";
pub(crate) const SECONDARY: &str = "secondary";
pub(crate) const NEAREST: &str = "nearest";
const PREFERENCES: &[&str] = &[PRIMARY, SECONDARY, "secondaryPreferred", NEAREST];
pub(crate) const FALLBACKS: &[&str] = &["error", "queue", PRIMARY];

/// `--read-preference` and its companions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReadOptions {
    pub(crate) preference: &'static str,
    /// Fallback for reads that are for a replica where there is none.
    pub(crate) fallback: Option<&'static str>,
    /// Replicas outside of a cluster.
    pub(crate) servers: Vec<Address>,
    /// Connections of a thread to each replica, where that is not as many as to a primary.
    pub(crate) replica_clients: Option<u32>,
    pub(crate) replicas_per_shard: Option<u32>,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            preference: PRIMARY,
            fallback: None,
            servers: Vec::new(),
            replica_clients: None,
            replicas_per_shard: None,
        }
    }
}

impl ReadOptions {
    /// Takes one of these options.
    pub(crate) fn take(&mut self, name: &'static str, text: &str) -> Result<(), Fault> {
        match name {
            "read-preference" => self.preference = word(name, text, PREFERENCES)?,
            "read-preference-fallback" => self.fallback = Some(word(name, text, FALLBACKS)?),
            "read-server" => self.servers.push(server(text)?),
            "replica-clients" => self.replica_clients = some(small(name, text, 0)?),
            "replicas-per-shard" => self.replicas_per_shard = some(small(name, text, 0)?),
            _ => unreachable!("{name} is no option of reading"),
        }
        Ok(())
    }
}

/// 0 means not given.
fn some(number: u32) -> Option<u32> {
    Some(number).filter(|number| *number > 0)
}

fn server(text: &str) -> Result<Address, Fault> {
    text.parse().map_err(|_| {
        usage_error(format!("--read-server: expected HOST:PORT, got '{}'.", shown_address(text)))
    })
}
