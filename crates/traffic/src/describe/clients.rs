//! Number of clients, share of the busiest, and share of pipelined commands.

use super::sketch::{DistinctCounter, Item, Top};
use crate::commands::{Command, Property};
use crate::{Event, Flags};

/// Maximum number of clients whose last command is remembered; further ones displace others.
const SLOTS: usize = 1 << 16;
/// Distance of commands of a client below which they were pipelined, as no reply can have been awaited
/// between them.
const PIPELINE_NS: u64 = 30_000;
const TOP: usize = 256;

#[derive(Debug)]
pub(super) struct Clients {
    distinct: DistinctCounter,
    top: Top<TOP>,
    last: Vec<Last>,
    pub(super) events: u64,
    pub(super) pipelined: u64,
    pub(super) is_shared: bool,
    /// Clients that introduced themselves on an address that had sent commands before.
    pub(super) on_used_addresses: u64,
    in_pipeline: bool,
}

/// Last command of a client.
#[derive(Debug, Clone, Copy)]
struct Last {
    client: u64,
    at_ns: u64,
    /// Set if the client has sent more than the commands with which a new connection begins.
    is_at_work: bool,
}

impl Default for Clients {
    fn default() -> Self {
        Self {
            distinct: DistinctCounter::default(),
            top: Top::default(),
            last: vec![Last { client: u64::MAX, at_ns: 0, is_at_work: false }; SLOTS],
            events: 0,
            pipelined: 0,
            is_shared: false,
            on_used_addresses: 0,
            in_pipeline: false,
        }
    }
}

impl Clients {
    pub(super) fn add(&mut self, event: &Event, hash: u64) {
        if event.flags.has(Flags::NO_CLIENT) || event.flags.has(Flags::SCRIPT_EFFECT) {
            return;
        }
        self.events += 1;
        self.is_shared |= event.flags.has(Flags::SHARED_CLIENT);
        self.distinct.add(hash);
        self.top.add(&event.client.to_le_bytes());
        let slot = &mut self.last[hash as usize % SLOTS];
        let is_same = slot.client == event.client;
        let is_close = is_same && event.at_ns.saturating_sub(slot.at_ns) < PIPELINE_NS;
        let was_at_work = is_same && slot.is_at_work;
        let is_new = was_at_work && introduces(event) && !event.flags.has(Flags::SHARED_CLIENT);
        self.on_used_addresses += u64::from(is_new);
        let is_at_work =
            was_at_work && !is_new || !Command::for_event(event).has(Property::OfConnection);
        *slot = Last { client: event.client, at_ns: event.at_ns, is_at_work };
        let is_flagged = event.flags.has(Flags::PIPELINED);
        self.pipelined += u64::from(is_flagged || self.in_pipeline || is_close);
        self.in_pipeline = is_flagged;
    }

    pub(super) fn count(&self) -> u64 {
        self.distinct.count()
    }

    pub(super) fn busiest(&self) -> Option<Item> {
        self.top.sorted().into_iter().next()
    }
}

/// Returns whether a client introduces itself, as libraries do once for each connection. `AUTH` is no sign of
/// it, because clients with expiring passwords repeat it.
fn introduces(event: &Event) -> bool {
    event.is("HELLO") || event.is("CLIENT") && event.bytes(1).eq_ignore_ascii_case(b"SETINFO")
}
