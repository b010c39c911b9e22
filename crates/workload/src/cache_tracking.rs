//! Client-side caching: which keys a server tracks for its clients, and how it says that they changed.
//!
//! By <https://redis.io/docs/latest/reference/client-side-caching/>.

use serde::{Deserialize, Serialize};

use crate::Named;

/// Way in which a server tracks the keys of clients with a cache (`CLIENT TRACKING`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CacheTracking {
    /// Keys that are tracked.
    pub mode: TrackingMode,
    /// Without those that a cache writes itself.
    pub noloop: bool,
    /// Set if the server sends changes to a second connection of each cache, which RESP2 requires: it has no pushes.
    #[serde(skip_serializing_if = "is_false")]
    pub redirect: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// Keys that a server tracks for a client with a cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrackingMode {
    /// All that begin with a prefix. A key is the prefix and a message.
    #[default]
    Bcast,
    /// Keys that it has read since it last had to drop them. A key is a place, and holds the messages written to it.
    Default,
    /// Keys that it has read, if it asked for that before the read.
    Optin,
    /// Keys that it has read, unless it asked before the read that they be left out.
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
    /// Returns whether the server remembers what each client has read.
    #[must_use]
    pub fn follows_reads(self) -> bool {
        self != Self::Bcast
    }
}
