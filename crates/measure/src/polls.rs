//! What is known of receivers that read over and over, where no server pushes to them.

use serde::{Deserialize, Serialize};

use crate::Latency;
use crate::total::total;

/// Reads of receivers, and what they missed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Polls {
    /// From one reply to the next, as often as it has microseconds: what a message that comes at any moment finds. It
    /// may have been there so much earlier than it was read.
    #[serde(rename = "between_reads_ms")]
    pub gap: Latency,
    /// Messages that were overwritten before a receiver read them; each counts once for each receiver.
    pub overtaken: u64,
    /// Receivers that had not read the last message when the wait for it ended.
    #[serde(rename = "receivers_behind")]
    pub behind: u64,
}

total!(Polls { gap, overtaken, behind });
