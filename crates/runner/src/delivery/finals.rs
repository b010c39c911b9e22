//! The last message of each place, read where the senders wrote it: receivers that read over and over have all that
//! there is for them when they have read these.

use engine::Engine;
use workload::{Delivery, Message};

use super::receivers::{Receiver, Receivers};
use super::reply_strings::ReplyStrings;

/// Messages read so far: by the number of a place, its last message; `None` of one that has none.
#[derive(Debug)]
pub(super) struct Finals {
    pub(super) messages: Vec<Option<Message>>,
}

impl Finals {
    pub(super) fn new(delivery: &Delivery) -> Self {
        Self { messages: vec![None; delivery.places as usize] }
    }

    /// Takes what a place has, of which these strings were strings.
    pub(super) fn read(&mut self, place: u32, strings: &ReplyStrings) {
        let message = strings.messages().first().map(|had| had.message);
        if let Some(known) = self.messages.get_mut(place as usize) {
            *known = message;
        }
    }
}

impl<E: Engine> Receivers<'_, E> {
    /// Receivers that have not read the last message of their place, or of which that is not known; 0 where none read
    /// over and over.
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
