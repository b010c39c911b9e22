//! A connection to a server of either protocol, beside the load.

use anyhow::Result;
use host::memcache::MemcacheClient;
use host::{Client, Transport};
use workload::Target;

use crate::server::Server;

/// A connection to either kind of server.
pub(crate) enum Speaker {
    Resp(Box<Client<Transport>>),
    Memcache(Box<MemcacheClient>),
}

impl Speaker {
    /// Connects and logs in.
    ///
    /// # Errors
    /// Returns an error if the server cannot be reached, or refuses.
    pub(crate) fn open(server: &Server, target: &Target) -> Result<Self> {
        Ok(if server.protocol().is_memcache() {
            Self::Memcache(Box::new(server.memcache_client(target)?))
        } else {
            Self::Resp(Box::new(server.client(target)?))
        })
    }
}
