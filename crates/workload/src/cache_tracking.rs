//! Client-side caching: the keys that a server tracks for its clients, and its way of reporting changes.
//!
//! As in <https://redis.io/docs/latest/reference/client-side-caching/>.

use serde::{Deserialize, Serialize};

use crate::Named;

/// Way in which a server tracks the keys of clients with a cache (`CLIENT TRACKING`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CacheTracking {
    /// Keys that are tracked.
    pub mode: TrackingMode,
    /// Set to leave out keys that a cache writes itself.
    pub noloop: bool,
    /// Set if the server reports changes on a second connection of each cache, as RESP2 requires, which has
    /// no pushes.
    #[serde(skip_serializing_if = "crate::is_default")]
    pub redirect: bool,
}

/// Keys that a server tracks for a client with a cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrackingMode {
    /// All keys with a prefix. A key is the prefix and a message.
    #[default]
    Bcast,
    /// Keys that the client has read and the server has not invalidated since. A place is one key, and its
    /// messages are the values written to it.
    Default,
    /// Keys whose tracking the client requested before reading them.
    Optin,
    /// Keys that the client has read, unless it opted out before the read.
    Optout,
}

impl Named for TrackingMode {
    const NAMES: &'static [(Self, &'static str)] = &[
        (Self::Bcast, "bcast"),
        (Self::Default, "default"),
        (Self::Optin, "optin"),
        (Self::Optout, "optout"),
    ];
}

impl TrackingMode {
    /// Returns whether the server remembers the reads of each client.
    pub fn follows_reads(self) -> bool {
        self != Self::Bcast
    }
}
