//! Client-side caching: a key that is written, to the clients that are to drop it from their caches.
//!
//! Receivers track keys in broadcast mode, by <https://redis.io/docs/latest/reference/client-side-caching/>: the server
//! pushes the names of all keys that begin with their prefix, whether or not they read them. An invalidation has
//! nothing but names, so a key is a prefix and a message. One push has all keys that changed in a turn of the
//! server's loop.

use measure::Tally;
use wire::Reply;
use wire::resp::encode_command;
use workload::Delivery;

use super::kind::{Consumer, Kind, Meaning, Sharing, acknowledged};
use super::reply_strings::ReplyStrings;

/// Invalidations in broadcast mode.
pub(super) struct Invalidate<'r> {
    pub(super) delivery: &'r Delivery,
}

/// A client that has a cache.
struct Cache<'r> {
    prefix: &'r str,
}

impl Kind for Invalidate<'_> {
    fn consumer(&self, _receiver: u32) -> Box<dyn Consumer + '_> {
        Box::new(Cache { prefix: &self.delivery.prefix })
    }

    fn sharing(&self) -> Sharing {
        Sharing::FanOut
    }

    /// Every cache is to drop every key.
    fn expected(&self, sending: &Tally) -> u64 {
        acknowledged(sending).saturating_mul(self.delivery.receivers.into())
    }
}

impl Consumer for Cache<'_> {
    fn ask(&mut self, out: &mut Vec<u8>) -> u32 {
        let tracking: [&[u8]; 6] =
            [b"CLIENT", b"TRACKING", b"ON", b"BCAST", b"PREFIX", self.prefix.as_bytes()];
        encode_command(&tracking, out);
        1
    }

    #[inline]
    fn answer(&mut self, reply: Reply<'_>, strings: &ReplyStrings, _: &mut Vec<u8>) -> Meaning {
        match (reply, strings.first()) {
            (Reply::Done, _) => Meaning::Confirmation,
            (Reply::Push, b"invalidate") => match strings.messages().len() {
                // FLUSHALL has a null instead of keys: all are to be dropped.
                0 => Meaning::Foreign,
                keys => Meaning::Messages(keys as u32),
            },
            _ => Meaning::Other,
        }
    }
}
