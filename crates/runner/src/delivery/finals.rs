//! The last message of each place, read where the senders wrote it: receivers that read over and over have all that
//! there is for them when they have read these.

use wire::resp::RespDecoder;
use wire::{Decode, Reply};
use workload::{Delivery, Message};

use super::replica::append_get;
use super::reply_strings::ReplyStrings;
use crate::Fatal;
use crate::handshake::Handshake;

/// Places that are read at once.
const AT_ONCE: u32 = 1_000;

/// What was read so far.
#[derive(Debug, Default)]
pub(super) struct Finals {
    strings: ReplyStrings,
    /// Replies that are still to come.
    awaited: u32,
    messages: Vec<Option<Message>>,
}

impl Finals {
    /// Appends commands that read the next places; none if all were.
    pub(super) fn append(&mut self, delivery: &Delivery, out: &mut Vec<u8>) {
        let next = self.messages.len() as u32;
        let end = delivery.places.min(next + AT_ONCE);
        (next..end).for_each(|place| append_get(delivery, place, out));
        self.awaited = end - next;
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
        while self.awaited > 0 {
            let decoded = decoder.decode_shown(&inbox[consumed..], &mut self.strings);
            let decoded = decoded.map_err(|error| Fatal::new(error.to_string()))?;
            consumed += decoded.consumed;
            match decoded.reply {
                None => break,
                Some(Reply::Error(text)) => return Err(handshake.fatal(text)),
                Some(Reply::Push) => {}
                Some(_) => {
                    self.messages.push(self.strings.messages().first().map(|had| had.message));
                    self.awaited -= 1;
                }
            }
            self.strings.clear();
        }
        Ok((consumed, self.awaited > 0))
    }

    /// The last message of each place; `None` of one that has none.
    pub(super) fn messages(self) -> Vec<Option<Message>> {
        self.messages
    }
}
