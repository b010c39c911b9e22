//! Figures of polling receivers, to which no server pushes.

use serde::{Deserialize, Serialize};

use crate::Latency;
use crate::total::total;

/// Reads of receivers, and what they missed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Polls {
    /// Time from one reply to the next, weighted by its length, as a message at a random time finds it. A
    /// message may have been there for that long before it was read.
    #[serde(rename = "between_reads_ms")]
    pub gap: Latency,
    /// Messages overwritten before a receiver read them, counted once for each receiver.
    pub overtaken: u64,
    /// Receivers that had not read the last message when the wait for it ended.
    #[serde(rename = "receivers_behind")]
    pub behind: u64,
}

total!(Polls { gap, overtaken, behind });
