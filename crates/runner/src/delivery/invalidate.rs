//! Client-side caching in broadcast mode: a key that is written, to the clients that are to drop it from their caches.
//!
//! Receivers track keys by <https://redis.io/docs/latest/reference/client-side-caching/>: the server pushes the names
//! of all keys that begin with their prefix, whether or not they read them. An invalidation has nothing but names, so
//! a key is a prefix and a message. One push has all keys that changed in a turn of the server's loop.

use measure::Tally;
use wire::Reply;
use wire::resp::encode_command;
use workload::{CacheTracking, Delivery, TrackingMode};

use super::kind::{Consumer, Kind, Meaning, Sharing, acknowledged};
use super::reply_strings::ReplyStrings;

/// Invalidations in broadcast mode.
pub(super) struct Invalidate<'r> {
    pub(super) delivery: &'r Delivery,
    pub(super) tracking: CacheTracking,
}

/// A client that has a cache.
struct Cache<'r> {
    kind: &'r Invalidate<'r>,
}

impl Kind for Invalidate<'_> {
    fn consumer(&self, _receiver: u32) -> Box<dyn Consumer + '_> {
        Box::new(Cache { kind: self })
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
        append_tracking(self.kind.tracking, &self.kind.delivery.prefix, out);
        1
    }

    #[inline]
    fn answer(&mut self, reply: Reply<'_>, strings: &ReplyStrings, _: &mut Vec<u8>) -> Meaning {
        match reply {
            Reply::Done => Meaning::Confirmation,
            Reply::Push if !is_invalidation(strings) => Meaning::Other,
            Reply::Push if is_flush(strings) => Meaning::Flush,
            Reply::Push if strings.messages().is_empty() => Meaning::Foreign,
            Reply::Push => Meaning::Messages(strings.messages().len() as u32),
            _ => Meaning::Other,
        }
    }
}

/// Whether a push is an invalidation.
pub(super) fn is_invalidation(strings: &ReplyStrings) -> bool {
    strings.first() == b"invalidate"
}

/// Whether it has a null instead of the names of keys, as after FLUSHALL: all are to be dropped. No string begins
/// with the null of RESP2, which is that of an array.
pub(super) fn is_flush(strings: &ReplyStrings) -> bool {
    strings.has_nulls() || strings.count() == 1
}

/// Appends the command by which a client asks to have the keys tracked that it caches, or that begin with a prefix.
pub(super) fn append_tracking(tracking: CacheTracking, prefix: &str, out: &mut Vec<u8>) {
    let mut words = vec!["CLIENT", "TRACKING", "ON"];
    match tracking.mode {
        TrackingMode::Bcast => words.extend(["BCAST", "PREFIX", prefix]),
        TrackingMode::Default => {}
        TrackingMode::Optin => words.push("OPTIN"),
        TrackingMode::Optout => words.push("OPTOUT"),
    }
    if tracking.noloop {
        words.push("NOLOOP");
    }
    encode_command(&words.iter().map(|word| word.as_bytes()).collect::<Vec<_>>(), out);
}
