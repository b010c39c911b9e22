//! Destinations of commands in a cluster: the node that owns the slot of the keys. All commands of a
//! transaction go to one node.
//!
//! `MULTI` has no key; the commands after it decide the node. So a transaction is held until it ends and is
//! then sent as a whole, with the time of its end. MONITOR shows its commands at that time anyway.

use std::collections::{HashMap, VecDeque};

use wire::cluster::slot_of;

use super::role::Reason;
use crate::Event;

/// Maximum number of bytes of transactions that are held; beyond that, held transactions are left out.
const HELD_BYTES_MAX: usize = 64 << 20;

/// Slots of a command's keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeySlots {
    /// No keys: any node can execute the command.
    Anywhere,
    /// All in this slot.
    Slot(u16),
    /// Keys in several slots: no node can execute the command.
    Several,
}

impl KeySlots {
    /// Returns the slots of an event with keys at these positions.
    pub(crate) fn for_event(event: &Event, keys: &[usize]) -> Self {
        let slots = keys.iter().map(|at| Self::Slot(slot_of(event.bytes(*at))));
        slots.fold(Self::Anywhere, Self::with)
    }

    /// Returns the slots of two commands together.
    fn with(self, other: Self) -> Self {
        match (self, other) {
            (slots, Self::Anywhere) | (Self::Anywhere, slots) => slots,
            (Self::Slot(a), Self::Slot(b)) if a == b => self,
            _ => Self::Several,
        }
    }

    /// The slot, if there is exactly one.
    pub(crate) fn slot(self) -> Option<u16> {
        match self {
            Self::Slot(slot) => Some(slot),
            Self::Anywhere | Self::Several => None,
        }
    }
}

/// A command of a transaction that has ended: its destination, or the reason why it is left out.
#[derive(Debug, Default)]
pub(crate) struct TransactionCommand {
    pub(crate) event: Event,
    pub(crate) slot: Option<u16>,
    pub(crate) left_out: Option<Reason>,
}

/// Transactions that have begun and not ended.
#[derive(Debug, Default)]
pub(crate) struct Transactions {
    open: HashMap<u64, OpenTransaction>,
    /// Bytes of the transactions.
    held: usize,
    ended: VecDeque<TransactionCommand>,
}

/// The commands of a client since its `MULTI`.
#[derive(Debug)]
struct OpenTransaction {
    events: Vec<Event>,
    slots: KeySlots,
}

impl Transactions {
    /// Takes a command if it is part of a transaction. `slots` are those of its keys.
    pub(crate) fn takes(&mut self, event: &Event, slots: KeySlots) -> bool {
        if event.is("MULTI") && !self.open.contains_key(&event.client) {
            self.open.insert(
                event.client,
                OpenTransaction { events: Vec::new(), slots: KeySlots::Anywhere },
            );
        }
        let Some(open) = self.open.get_mut(&event.client) else { return false };
        self.held += event.bytes_held();
        open.events.push(event.clone());
        open.slots = open.slots.with(slots);
        if event.is("EXEC") || event.is("DISCARD") {
            let left_out = (open.slots == KeySlots::Several).then_some(Reason::CrossSlot);
            self.end(event.client, left_out);
        } else if self.held > HELD_BYTES_MAX {
            self.end_all();
        }
        true
    }

    /// Leaves out all open transactions, at the end of the record.
    pub(crate) fn end_all(&mut self) {
        let clients: Vec<u64> = self.open.keys().copied().collect();
        clients.into_iter().for_each(|client| self.end(client, Some(Reason::Unfinished)));
    }

    fn end(&mut self, client: u64, left_out: Option<Reason>) {
        let Some(OpenTransaction { events, slots }) = self.open.remove(&client) else { return };
        let slot = slots.slot();
        for event in events {
            self.held = self.held.saturating_sub(event.bytes_held());
            self.ended.push_back(TransactionCommand { event, slot, left_out });
        }
    }

    /// The next command of the transactions that have ended.
    pub(crate) fn next_ended(&mut self) -> Option<TransactionCommand> {
        self.ended.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(client: u64, words: &str) -> Event {
        let mut event = Event::default();
        event.client = client;
        words.split(' ').for_each(|word| event.push(word.as_bytes()));
        event
    }

    fn slots(event: &Event) -> KeySlots {
        let mut keys = Vec::new();
        crate::commands::keys_of(crate::Protocol::Resp, event, &mut keys);
        KeySlots::for_event(event, &keys)
    }

    #[test]
    fn the_keys_of_a_command_decide_where_it_goes() {
        let of = |words: &str| slots(&event(1, words));
        assert_eq!(of("GET a"), KeySlots::Slot(15495));
        assert_eq!(of("MGET {a}1 {a}2"), KeySlots::Slot(15495));
        assert_eq!((of("MGET a b"), of("PING")), (KeySlots::Several, KeySlots::Anywhere));
        assert_eq!((of("MGET a b").slot(), of("DEL a a").slot()), (None, Some(15495)));
    }

    #[test]
    fn a_transaction_goes_to_one_node_whole_or_is_left_out() {
        let mut transactions = Transactions::default();
        let mut take = |client, words: &str| {
            let event = event(client, words);
            let slots = slots(&event);
            transactions.takes(&event, slots)
        };
        assert!(!take(1, "GET a") && take(1, "MULTI") && take(1, "SET a 1") && take(2, "MULTI"));
        assert!(take(2, "SET a 1") && take(2, "SET b 1") && take(3, "MULTI") && take(1, "PING"));
        assert!(take(2, "EXEC") && take(1, "EXEC") && !take(1, "GET a") && !take(1, "EXEC"));
        transactions.end_all();
        let ended: Vec<(u64, Option<u16>, Option<Reason>)> =
            std::iter::from_fn(|| transactions.next_ended())
                .map(|ended| (ended.event.client, ended.slot, ended.left_out))
                .collect();
        let expected = [
            [(2, None, Some(Reason::CrossSlot)); 4].to_vec(),
            [(1, Some(15495), None); 4].to_vec(),
            vec![(3, None, Some(Reason::Unfinished))],
        ];
        assert_eq!(ended, expected.concat());
        assert_eq!(transactions.held, 0);
    }

    #[test]
    fn what_is_held_is_bounded() {
        let mut transactions = Transactions::default();
        let big = "x".repeat(1 << 20);
        for number in 0..70 {
            let event =
                event(7, &if number == 0 { "MULTI".into() } else { format!("SET a {big}") });
            let _ = transactions.takes(&event, slots(&event));
        }
        assert!(transactions.held < HELD_BYTES_MAX && transactions.ended.len() > 60);
    }
}
