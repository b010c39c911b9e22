//! The last message of each place, read at the server that the senders wrote to. Polling receivers are done
//! when they have read these.

use engine::Engine;
use workload::{Delivery, Message};

use super::receivers::{Receiver, Receivers};
use super::reply_strings::ReplyStrings;

/// The last message of each place read so far, by place number; `None` for a place without one.
#[derive(Debug)]
pub(super) struct Finals {
    pub(super) messages: Vec<Option<Message>>,
}

impl Finals {
    pub(super) fn new(delivery: &Delivery) -> Self {
        Self { messages: vec![None; delivery.places as usize] }
    }

    /// Takes the reply with the content of a place.
    pub(super) fn read(&mut self, place: u32, strings: &ReplyStrings) {
        let message = strings.messages().first().map(|had| had.message);
        if let Some(known) = self.messages.get_mut(place as usize) {
            *known = message;
        }
    }
}

impl<E: Engine> Receivers<'_, E> {
    /// Number of receivers that are not known to have read the last message of their place; 0 without polling
    /// receivers.
    pub(super) fn behind(&self) -> u64 {
        if self.gap.is_none() {
            return 0;
        }
        let Some(finals) = self.context.roles.finals.get() else {
            return self.receivers.len() as u64;
        };
        let is_behind = |receiver: &&Receiver<'_>| {
            let last = finals.get(receiver.first_place as usize).copied().flatten();
            last.is_some() && receiver.consumer.last() != last
        };
        self.receivers.iter().filter(is_behind).count() as u64
    }
}
