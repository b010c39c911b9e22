//! Requested and existing keys; one request may ask for many.

use serde::{Deserialize, Serialize};

use crate::total::total;

/// Counts of keys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyCounts {
    /// Requests for keys whose replies say how many exist.
    pub requests: u64,
    /// Keys that they asked for.
    pub asked: u64,
    /// Keys that existed.
    pub found: u64,
}

impl KeyCounts {
    /// Adds the keys of a request.
    #[inline]
    pub fn add(&mut self, asked: u64, found: u64) {
        self.requests = self.requests.saturating_add(1);
        self.asked = self.asked.saturating_add(asked);
        self.found = self.found.saturating_add(found);
    }
}

total!(KeyCounts { requests, asked, found });
