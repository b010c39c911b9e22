//! Messages that go between the clients of a run: senders and receivers are in different processes.

use serde::{Deserialize, Serialize};

use crate::Shard;

/// Which run a client belongs to, and where its receivers stand among those of all clients.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchange {
    /// The number of the run, by which all clients know its messages; 0 until the plan is shared out.
    pub run: u32,
    /// Receivers of the clients before this one.
    pub receivers_before: u32,
    /// Receivers of all clients; 0 until the plan is shared out.
    pub receivers_total: u32,
}

impl Exchange {
    /// That of a share of a plan with so many receivers.
    #[must_use]
    pub fn of_share(self, shard: Shard, receivers: u32) -> Self {
        let before = shard.part(u64::from(receivers)).start;
        Self { receivers_before: before as u32, receivers_total: receivers, ..self }
    }
}
