//! How many clients there are, how much the busiest send, and how many commands come in pipelines.

use super::sketch::{Distinct, Item, Top};
use crate::{Event, Flags};

/// Clients whose last command is remembered; of more, some are forgotten.
const SLOTS: usize = 1 << 16;
/// Commands of a client that are closer than this came in one pipeline: no reply can have been awaited between them.
const PIPELINE_NS: u64 = 30_000;
const TOP: usize = 256;

#[derive(Debug)]
pub(super) struct Clients {
    distinct: Distinct,
    top: Top,
    last: Vec<(u64, u64)>,
    pub(super) events: u64,
    pub(super) pipelined: u64,
    pub(super) is_shared: bool,
    in_pipeline: bool,
}

impl Default for Clients {
    fn default() -> Self {
        Self {
            distinct: Distinct::default(),
            top: Top::new(TOP),
            last: vec![(u64::MAX, 0); SLOTS],
            events: 0,
            pipelined: 0,
            is_shared: false,
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
        let (client, last_ns) = std::mem::replace(slot, (event.client, event.at_ns));
        let is_close = client == event.client && event.at_ns.saturating_sub(last_ns) < PIPELINE_NS;
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
