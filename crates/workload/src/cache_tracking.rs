//! Client-side caching: which keys a server tracks for its clients, and how it says that they changed.
//!
//! By <https://redis.io/docs/latest/reference/client-side-caching/>.

use serde::{Deserialize, Serialize};

use crate::Named;

/// How a server tracks the keys of clients with a cache (`CLIENT TRACKING`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CacheTracking {
    /// Which keys.
    pub mode: TrackingMode,
    /// Without those that a cache writes itself.
    pub noloop: bool,
    /// Whether the server sends them to a second connection of each cache, which RESP2 requires: it has no pushes.
    #[serde(skip_serializing_if = "is_false")]
    pub redirect: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// Which keys a server tracks for a client with a cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrackingMode {
    /// All that begin with a prefix. A key is the prefix and a message.
    #[default]
    Bcast,
    /// Those that it has read since it last had to drop them. A key is a place, and holds the messages written to it.
    Default,
    /// The same, of reads for which it asks that.
    Optin,
    /// The same, without reads for which it asks that they be left out.
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
    /// Whether the server remembers what each client has read.
    #[must_use]
    pub fn follows_reads(self) -> bool {
        self != Self::Bcast
    }
}
