//! Client-side caching in the modes in which a server remembers the reads of each client: a written key is
//! invalidated at the clients that hold it.
//!
//! According to <https://redis.io/docs/latest/reference/client-side-caching/>, a server says once that a key
//! has changed, and then forgets who held it. So a cache reads the key again at once. A key is a stream, of
//! which the cache reads the new entries. The first message there is the write that was to be invalidated;
//! the messages behind it came before the read, so no invalidation was due for them. However writes follow
//! one another, each is one or the other at each cache.

use std::collections::VecDeque;

use measure::Tally;
use wire::Reply;
use wire::cluster::Redirect;
use wire::resp::encode_command;
use workload::{CacheTracking, Delivery, TrackingMode};

use super::awaited::{append_header, append_number, append_string};
use super::invalidate::{append_tracking, is_flush, is_invalidation};
use super::kind::{Consumer, Dispatch, Kind, Received, Remainder, acknowledged, removal};
use super::reply_strings::{Capture, EntryId, ReplyStrings};
use crate::explain;

/// The delivery kind: invalidations of keys that clients have read.
pub(super) struct CachedReads<'r> {
    pub(super) delivery: &'r Delivery,
    pub(super) tracking: CacheTracking,
}

/// A reply that is to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PendingReply {
    /// Reply to a setting, for good or for the next command.
    Setting,
    /// Reply to the PING that shows that all keys were read.
    Pong,
    /// Reply to a read of this place, with the time of the invalidation that caused it, if one did.
    Read { place: u32, invalidated_ns: Option<u64> },
    /// Reply to a read whose data was removed meanwhile; another read follows.
    VoidRead,
}

/// A client that has a cache.
struct Cache<'r> {
    kind: &'r CachedReads<'r>,
    /// For each place, the read command up to the name of the first entry, and the last entry that the cache
    /// had.
    places: Vec<(Vec<u8>, EntryId)>,
    /// Places that the cache is to hold: all, or in a cluster those at its node.
    own: Vec<u32>,
    /// Set for each place that the cache holds.
    held: Vec<bool>,
    /// Places that are moving to another node and are read again later.
    postponed: Vec<u32>,
    awaited: VecDeque<PendingReply>,
    now_ns: u64,
    id: Vec<u8>,
    /// The server's number of the connection that gets its invalidations, if it is a separate one.
    listener: Option<u64>,
    /// Invalidations that came while their place was being read, over the other connection or because a void read had
    /// the place tracked: place and time. The next read skips what that reply already had.
    overtaking: Vec<(u32, u64)>,
}

impl Kind for CachedReads<'_> {
    fn consumer(&self, receiver: u32) -> Box<dyn Consumer + '_> {
        let place = |place| {
            let mut head = Vec::new();
            append_header(b'*', 4, &mut head);
            append_string(b"XRANGE", &mut head);
            append_string(self.delivery.place_name(place).as_bytes(), &mut head);
            (head, (0, 0))
        };
        let own: Vec<u32> = self.delivery.places_of(receiver).collect();
        let mut held = vec![false; self.delivery.places as usize];
        own.iter().for_each(|place| held[*place as usize] = true);
        Box::new(Cache {
            kind: self,
            places: (0..self.delivery.places).map(place).collect(),
            own,
            held,
            postponed: Vec::new(),
            awaited: VecDeque::new(),
            now_ns: 0,
            id: Vec::new(),
            listener: None,
            overtaking: Vec::new(),
        })
    }

    fn sharing(&self) -> Dispatch {
        Dispatch::FanOut
    }

    fn capture(&self) -> Capture {
        let place_len = Some(self.delivery.place_name(0).len());
        Capture { place_len, entry_ids: true, places: true, ..Capture::default() }
    }

    /// Every cache holds all keys.
    fn expected(&self, sending: &Tally) -> u64 {
        acknowledged(sending).saturating_mul(self.delivery.receivers_each())
    }

    fn closing(&self, place: u32, out: &mut Vec<u8>) -> Vec<Remainder> {
        vec![removal(&self.delivery.place_name(place), out)]
    }
}

impl Cache<'_> {
    /// Reads the new entries of a place, and has the place tracked.
    fn read(&mut self, place: u32, invalidated_ns: Option<u64>, out: &mut Vec<u8>) {
        let Some((head, (ms, number))) = self.places.get(place as usize) else { return };
        if self.kind.tracking.mode == TrackingMode::Optin {
            encode_command(&[b"CLIENT", b"CACHING", b"YES"], out);
            self.awaited.push_back(PendingReply::Setting);
        }
        out.extend_from_slice(head);
        // The next ID instead of `(ID`, which servers before 6.2 do not know.
        self.id.clear();
        append_number(*ms, &mut self.id);
        self.id.push(b'-');
        append_number(number.saturating_add(1), &mut self.id);
        append_string(&self.id, out);
        append_string(b"+", out);
        self.awaited.push_back(PendingReply::Read { place, invalidated_ns });
    }

    fn holds(&self, place: u32) -> bool {
        self.held.get(place as usize).is_some_and(|held| *held)
    }

    /// Returns the meaning of an error reply: for a read, another node may have the place.
    fn turned_away(&mut self, text: &[u8]) -> Received {
        let is_redirect = Redirect::parse(&explain::text(text)).is_some();
        match self.awaited.front() {
            Some(PendingReply::Read { place, .. }) if is_redirect => {
                let place = *place;
                self.awaited.pop_front();
                Received::Elsewhere { place }
            }
            Some(PendingReply::VoidRead) if is_redirect => {
                self.awaited.pop_front();
                Received::Unchanged
            }
            _ => Received::Other,
        }
    }

    /// Reads everything from the beginning, after all data was removed.
    fn read_anew(&mut self, out: &mut Vec<u8>) {
        self.overtaking.clear();
        for awaited in &mut self.awaited {
            if matches!(awaited, PendingReply::Read { .. }) {
                *awaited = PendingReply::VoidRead;
            }
        }
        for number in 0..self.own.len() {
            let place = self.own[number];
            self.places[place as usize].1 = (0, 0);
            self.read(place, None, out);
        }
    }
}

impl Consumer for Cache<'_> {
    fn ask(&mut self, out: &mut Vec<u8>) -> u32 {
        self.awaited.clear();
        self.overtaking.clear();
        append_tracking(self.kind.tracking, &[], self.listener, out);
        self.awaited.push_back(PendingReply::Setting);
        (0..self.own.len()).for_each(|number| self.read(self.own[number], None, out));
        encode_command(&[b"PING"], out);
        self.awaited.push_back(PendingReply::Pong);
        1
    }

    fn heard_at(&mut self, now_ns: u64) {
        self.now_ns = now_ns;
    }

    fn redirect_to(&mut self, listener: u64) {
        self.listener = Some(listener);
    }

    fn release(&mut self, place: u32) -> Option<EntryId> {
        let at = self.own.iter().position(|own| *own == place)?;
        self.own.swap_remove(at);
        self.held[place as usize] = false;
        self.overtaking.retain(|(of, _)| *of != place);
        self.places.get(place as usize).map(|(_, last)| *last)
    }

    fn adopt(&mut self, place: u32, last: EntryId, out: &mut Vec<u8>) {
        if self.holds(place) {
            return;
        }
        self.own.push(place);
        self.held[place as usize] = true;
        self.places[place as usize].1 = last;
        self.read(place, None, out);
    }

    fn postpone(&mut self, place: u32) {
        if !self.postponed.contains(&place) {
            self.postponed.push(place);
        }
    }

    fn resume(&mut self, out: &mut Vec<u8>) {
        for place in std::mem::take(&mut self.postponed) {
            if self.holds(place) {
                self.read(place, None, out);
            }
        }
    }

    fn invalidation(&mut self, strings: &ReplyStrings, out: &mut Vec<u8>) -> Received {
        if is_flush(strings) {
            self.read_anew(out);
            return Received::Flush;
        }
        for place in strings.places() {
            // A node that gives away a slot removes its keys.
            if !self.holds(*place) {
                continue;
            }
            let is_its = |awaited: &PendingReply| matches!(awaited, PendingReply::Read { place: p, .. } if p == place);
            if self.awaited.iter().any(is_its) {
                self.overtaking.push((*place, self.now_ns))
            } else {
                self.read(*place, Some(self.now_ns), out)
            }
        }
        Received::Unchanged
    }

    fn answer(&mut self, reply: Reply<'_>, strings: &ReplyStrings, out: &mut Vec<u8>) -> Received {
        match reply {
            Reply::Push if is_invalidation(strings) => return self.invalidation(strings, out),
            Reply::Error(text) => return self.turned_away(text),
            Reply::Push => return Received::Other,
            _ => {}
        }
        match self.awaited.pop_front() {
            Some(PendingReply::Setting) => Received::Settled { missing: 0 },
            Some(PendingReply::VoidRead) => Received::Unchanged,
            Some(PendingReply::Pong) => Received::Confirmation,
            Some(PendingReply::Read { place, invalidated_ns }) => {
                if let Some((_, last)) = strings.entries().last() {
                    self.places[place as usize].1 = *last;
                }
                if let Some(at) = self.overtaking.iter().position(|(of, _)| *of == place) {
                    let (_, at_ns) = self.overtaking.swap_remove(at);
                    self.read(place, Some(at_ns), out);
                }
                Received::Reread { place, invalidated_ns }
            }
            None => Received::Other,
        }
    }
}
