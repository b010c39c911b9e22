//! The last message of each place, read where the senders wrote it: receivers that read over and over have all that
//! there is for them when they have read these.

use std::collections::VecDeque;

use engine::Engine;
use wire::cluster::Redirect;
use wire::resp::RespDecoder;
use wire::{Decode, Reply};
use workload::{Delivery, Message};

use super::receivers::{Receiver, Receivers};
use super::replica::append_get;
use super::reply_strings::ReplyStrings;
use crate::handshake::Handshake;
use crate::{Fatal, explain};

/// What was read so far.
#[derive(Debug, Default)]
pub(super) struct Finals {
    strings: ReplyStrings,
    /// The places whose replies are still to come.
    awaited: VecDeque<u32>,
    /// By the number of their place.
    messages: Vec<Option<Message>>,
    /// Places that another server has, as this one says in these errors.
    elsewhere: Vec<(u32, String)>,
}

impl Finals {
    /// Appends commands that read these places.
    pub(super) fn append(&mut self, delivery: &Delivery, places: Vec<u32>, out: &mut Vec<u8>) {
        self.messages.resize(delivery.places as usize, None);
        places.iter().for_each(|place| append_get(delivery, *place, out));
        self.awaited = places.into();
    }

    /// Takes what was received, and says how much of that it has read, and whether it awaits more.
    ///
    /// # Errors
    /// The server refuses to be read.
    pub(super) fn hear(
        &mut self,
        decoder: &mut RespDecoder,
        handshake: &Handshake,
        inbox: &[u8],
    ) -> Result<(usize, bool), Fatal> {
        let mut consumed = 0;
        while let Some(place) = self.awaited.front() {
            let decoded = decoder.decode_shown(&inbox[consumed..], &mut self.strings);
            let decoded = decoded.map_err(|error| Fatal::new(error.to_string()))?;
            consumed += decoded.consumed;
            match decoded.reply {
                None => break,
                Some(Reply::Error(text)) => {
                    let error = explain::text(text);
                    if Redirect::parse(&error).is_none() {
                        return Err(handshake.fatal(text));
                    }
                    self.elsewhere.push((*place, error));
                    self.awaited.pop_front();
                }
                Some(Reply::Push) => {}
                Some(_) => {
                    let message = self.strings.messages().first().map(|had| had.message);
                    if let Some(known) = self.messages.get_mut(*place as usize) {
                        *known = message;
                    }
                    self.awaited.pop_front();
                }
            }
            self.strings.clear();
        }
        Ok((consumed, !self.awaited.is_empty()))
    }

    /// Places that were not read, and what their server said of them.
    pub(super) fn take_elsewhere(&mut self) -> Vec<(u32, String)> {
        std::mem::take(&mut self.elsewhere)
    }

    /// The last message of each place; `None` of one that has none.
    pub(super) fn messages(self) -> Vec<Option<Message>> {
        self.messages
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
