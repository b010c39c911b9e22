//! Reading of a record from first command to last, as far as commands are selected: gives the role and the
//! recorded time of each.

use std::collections::HashSet;
use std::path::PathBuf;

use super::Selection;
use super::role::{Reason, Role};
use super::transactions::{KeySlots, Transactions};
use super::translation::has_twin;
use crate::commands::keys_of;
use crate::{Clock, Event, Flags, Protocol, Reader, Source, Stalls, Stamps};

/// Part of a record that is sent, and the kind of server that gets it.
#[derive(Debug, Clone, Default)]
pub struct Replay {
    /// Files of the record.
    pub paths: Vec<PathBuf>,
    /// Format of the files, if their content does not show it.
    pub format: Option<String>,
    /// Selection of the commands that are sent.
    pub selection: Selection,
    /// Length of the part that is sent, in nanoseconds from the first command; `None` for all of the record.
    pub recorded_ns: Option<u64>,
    /// Set if the server is a memcached.
    pub to_cache: bool,
    /// Set if the target is a cluster of several servers.
    pub to_cluster: bool,
}

/// Reading of a record from its first command on.
pub(crate) struct Walk<'r> {
    replay: &'r Replay,
    reader: Box<dyn Reader>,
    /// Current command.
    pub(crate) event: Event,
    /// Positions of the command's keys.
    pub(crate) keys: Vec<usize>,
    transactions: Transactions,
    /// Clients within a transaction, where no command blocks.
    in_transaction: HashSet<u64>,
    /// Set once the record and its transactions have ended.
    has_ended: bool,
    /// Time at which the first command was recorded.
    first_ns: Option<u64>,
    /// The latest time so far, in nanoseconds from the first command.
    latest_ns: u64,
    /// Number of times that the clock was set back.
    pub(crate) steps_back: u64,
    /// Spans without any command, selected or not.
    pub(crate) stalls: Stalls,
}

/// A command of a walk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WalkStep {
    pub(crate) role: Role,
    /// Nanoseconds since the first command of the record; never less than for the command before.
    pub(crate) since_ns: u64,
    /// The slot of its keys or of its transaction's keys, in a cluster.
    pub(crate) slot: Option<u16>,
    /// Set if it is part of a transaction in a cluster.
    pub(crate) bound: bool,
    /// The client whose second connection sends it, because it may block.
    pub(crate) waits_for: Option<u64>,
}

impl<'r> Walk<'r> {
    pub(crate) fn new(replay: &'r Replay) -> Result<Self, String> {
        let reader = crate::open(&replay.paths, replay.format.as_deref())
            .map_err(|error| error.to_string())?;
        Ok(Self {
            replay,
            reader,
            event: Event::default(),
            keys: Vec::new(),
            transactions: Transactions::default(),
            in_transaction: HashSet::new(),
            has_ended: false,
            first_ns: None,
            latest_ns: 0,
            steps_back: 0,
            stalls: Stalls::default(),
        })
    }

    pub(crate) fn source(&self) -> &Source {
        self.reader.source()
    }

    pub(crate) fn reader(&self) -> &dyn Reader {
        &*self.reader
    }

    /// Returns whether times count from 1970.
    pub(crate) fn is_dated(&self) -> bool {
        let source = self.source();
        source.clock == Clock::Unix && source.stamps != Stamps::None
    }

    pub(crate) fn recorded(&self) -> Protocol {
        self.source().protocol
    }

    /// Reads to the next selected command.
    pub(crate) fn next(&mut self) -> Result<Option<WalkStep>, String> {
        loop {
            let next = match self.next_of_transactions() {
                Some(next) => next,
                None => match self.next_read()? {
                    Some(next) => next,
                    None if self.has_ended || !self.replay.to_cluster => return Ok(None),
                    None => {
                        self.has_ended = true;
                        self.transactions.end_all();
                        continue;
                    }
                },
            };
            if next.bound || !self.replay.to_cluster || matches!(next.role, Role::LeftOut(_)) {
                return Ok(Some(next));
            }
            let slots = KeySlots::for_event(&self.event, &self.keys);
            if self.transactions.takes(&self.event, slots) {
                continue;
            }
            let role = match slots {
                KeySlots::Several => Role::LeftOut(Reason::CrossSlot),
                _ => next.role,
            };
            return Ok(Some(WalkStep { role, slot: slots.slot(), ..next }));
        }
    }

    /// A command on its own, at the present time.
    fn step(&self, role: Role) -> WalkStep {
        WalkStep { role, since_ns: self.latest_ns, slot: None, bound: false, waits_for: None }
    }

    /// The next command of a transaction that has ended, in a cluster.
    fn next_of_transactions(&mut self) -> Option<WalkStep> {
        let ended = self.transactions.next_ended()?;
        self.event = ended.event;
        keys_of(self.reader.source().protocol, &self.event, &mut self.keys);
        // What would block does not in a transaction.
        let role = ended.left_out.map_or(Role::Sent, Role::LeftOut);
        Some(WalkStep { slot: ended.slot, bound: true, ..self.step(role) })
    }

    /// The next selected command, as recorded.
    fn next_read(&mut self) -> Result<Option<WalkStep>, String> {
        loop {
            if self.has_ended
                || !self.reader.next(&mut self.event).map_err(|error| error.to_string())?
            {
                return Ok(None);
            }
            let event = &self.event;
            if event.is_empty() {
                continue;
            }
            let first_ns = *self.first_ns.get_or_insert(event.at_ns);
            let since_ns = event.at_ns.saturating_sub(first_ns);
            if event.at_ns < first_ns.saturating_add(self.latest_ns) {
                self.steps_back += 1;
            }
            // The order of a record is the truth, and its clock may be set back.
            self.latest_ns = self.latest_ns.max(since_ns);
            if self.replay.recorded_ns.is_some_and(|length_ns| self.latest_ns >= length_ns) {
                return Ok(None);
            }
            let mut role = Role::for_event(event);
            // The commands of a script run within the time of its call.
            if role != Role::LeftOut(Reason::ScriptEffect) {
                self.stalls.add(self.latest_ns);
            }
            if role == Role::Select {
                continue;
            }
            keys_of(self.reader.source().protocol, event, &mut self.keys);
            if !self.replay.selection.takes(event, &self.keys) {
                return Ok(Some(self.step(Role::LeftOut(Reason::Unselected))));
            }
            if matches!(role, Role::Sent | Role::Blocks)
                && !has_twin(event, self.recorded(), self.replay.to_cache)
            {
                role = Role::LeftOut(Reason::NoTwin);
            }
            let client = event.client;
            if event.is("MULTI") {
                self.in_transaction.insert(client);
            } else if event.is("EXEC") || event.is("DISCARD") {
                self.in_transaction.remove(&client);
            }
            if role == Role::Blocks && self.in_transaction.contains(&client) {
                role = Role::Sent;
            }
            let mut waits_for = None;
            if role == Role::Blocks && !self.keys.is_empty() {
                let is_shared = self.event.flags.has(Flags::SHARED_CLIENT);
                waits_for = (!is_shared).then_some(client);
                self.event.client = if is_shared {
                    client_that_waits(&self.event, &self.keys)
                } else {
                    client ^ crate::client_number(b"waits")
                };
            }
            return Ok(Some(WalkStep { waits_for, ..self.step(role) }));
        }
    }
}

/// Returns a made-up client for a blocking command of indistinguishable clients: one for each first
/// key, so that the command that ends the waiting does not wait itself.
fn client_that_waits(event: &Event, keys: &[usize]) -> u64 {
    let key = keys.first().map_or(&b""[..], |at| event.bytes(*at));
    event.client ^ crate::client_number(key)
}
