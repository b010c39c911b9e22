//! Client-side caching in broadcast mode: a written key is invalidated at clients that should drop it.
//!
//! Receivers track keys as in <https://redis.io/docs/latest/reference/client-side-caching/>: the server
//! pushes the names of all keys with their prefix, whether or not they read them. An invalidation holds only
//! names, so a key is a prefix and a message. One push has all keys that changed in a turn of the server's
//! loop.

use measure::Tally;
use wire::Reply;
use wire::resp::encode_command;
use workload::{CacheTracking, Delivery, TrackingMode};

use super::kind::{Consumer, Dispatch, Kind, Received, acknowledged};
use super::reply_strings::{Capture, ReplyStrings};

/// Invalidations in broadcast mode.
pub(super) struct Invalidate<'r> {
    pub(super) delivery: &'r Delivery,
    pub(super) tracking: CacheTracking,
}

/// A client that has a cache.
struct Cache<'r> {
    kind: &'r Invalidate<'r>,
    receiver: u32,
    /// The server's number of the connection that gets its invalidations, if it is a separate one.
    listener: Option<u64>,
}

impl Kind for Invalidate<'_> {
    fn consumer(&self, receiver: u32) -> Box<dyn Consumer + '_> {
        Box::new(Cache { kind: self, receiver, listener: None })
    }

    /// Parses keys: the name of a place, if there are several, and a message.
    fn capture(&self) -> Capture {
        Capture { in_place: self.delivery.names_places(), ..Capture::default() }
    }

    fn sharing(&self) -> Dispatch {
        Dispatch::FanOut
    }

    /// Expects every cache to drop every key with its prefix.
    fn expected(&self, sending: &Tally) -> u64 {
        acknowledged(sending).saturating_mul(self.delivery.receivers_each())
    }
}

impl Consumer for Cache<'_> {
    fn ask(&mut self, out: &mut Vec<u8>) -> u32 {
        let Invalidate { delivery, tracking } = self.kind;
        // At each node of a cluster those of all nodes, as a slot may move.
        let places = delivery.places_at_all_nodes(self.receiver);
        let is_whole =
            !delivery.node_receivers.is_empty() && places.len() == delivery.places as usize;
        let prefixes: Vec<String> = if delivery.places == 1 || is_whole {
            vec![delivery.prefix.clone()]
        } else {
            places.into_iter().map(|place| delivery.place_name(place)).collect()
        };
        append_tracking(*tracking, &prefixes, self.listener, out);
        1
    }

    #[inline]
    fn answer(&mut self, reply: Reply<'_>, strings: &ReplyStrings, out: &mut Vec<u8>) -> Received {
        match reply {
            Reply::Done => Received::Confirmation,
            Reply::Push if is_invalidation(strings) => self.invalidation(strings, out),
            _ => Received::Other,
        }
    }

    fn redirect_to(&mut self, listener: u64) {
        self.listener = Some(listener);
    }

    #[inline]
    fn invalidation(&mut self, strings: &ReplyStrings, _: &mut Vec<u8>) -> Received {
        match strings.messages().len() as u32 {
            _ if is_flush(strings) => Received::Flush,
            0 => Received::Foreign,
            messages => Received::Messages(messages),
        }
    }
}

/// Returns whether a push is an invalidation.
pub(super) fn is_invalidation(strings: &ReplyStrings) -> bool {
    strings.first() == b"invalidate"
}

/// Returns whether an invalidation has a null instead of names, as after FLUSHALL: all keys are to be
/// dropped.
pub(super) fn is_flush(strings: &ReplyStrings) -> bool {
    // The null of an array is no string; a message of RESP2 has the name of its channel, too.
    let names = if is_invalidation(strings) { 1 } else { 2 };
    strings.has_nulls() || strings.count() == names
}

/// Appends the command with which a client has its cached keys, or keys with a prefix, tracked.
pub(super) fn append_tracking(
    tracking: CacheTracking,
    prefixes: &[String],
    listener: Option<u64>,
    out: &mut Vec<u8>,
) {
    let mut words = vec!["CLIENT", "TRACKING", "ON"];
    let listener = listener.map(|id| id.to_string());
    words.extend(listener.iter().flat_map(|id| ["REDIRECT", id.as_str()]));
    match tracking.mode {
        TrackingMode::Bcast => {
            words.push("BCAST");
            words.extend(prefixes.iter().flat_map(|prefix| ["PREFIX", prefix.as_str()]));
        }
        TrackingMode::Default => {}
        TrackingMode::Optin => words.push("OPTIN"),
        TrackingMode::Optout => words.push("OPTOUT"),
    }
    if tracking.noloop {
        words.push("NOLOOP");
    }
    encode_command(&words.iter().map(|word| word.as_bytes()).collect::<Vec<_>>(), out);
}
