//! Replication: a key is written at the primary and read at replicas.
//!
//! A receiver polls its key. A value that it has not read before is a delivery; values overwritten between
//! two reads are overtaken, which is no loss. To know the last value of a key, it is read at the primary when
//! the senders are done.

use measure::Tally;
use wire::Reply;
use wire::resp::encode_command;
use workload::{Delivery, Message};

use super::kind::{Consumer, Dispatch, Kind, Received, Remainder, acknowledged, removal};
use super::reply_strings::ReplyStrings;

/// Reads at replicas.
pub(super) struct Replica<'r> {
    pub(super) delivery: &'r Delivery,
}

/// Connection that reads a key.
struct Reader {
    /// The command that reads it.
    get: Vec<u8>,
    /// Set if the connection must send READONLY, because a cluster replica otherwise refers it to the master.
    in_cluster: bool,
    is_readonly: bool,
    is_ready: bool,
    last: Option<Message>,
}

impl Kind for Replica<'_> {
    fn consumer(&self, receiver: u32) -> Box<dyn Consumer + '_> {
        let mut get = Vec::new();
        for place in self.delivery.places_of(receiver) {
            append_get(self.delivery, place, &mut get);
        }
        let in_cluster = !self.delivery.node_receivers.is_empty();
        Box::new(Reader { get, in_cluster, is_readonly: false, is_ready: false, last: None })
    }

    fn sharing(&self) -> Dispatch {
        Dispatch::FanOut
    }

    fn is_sampled(&self) -> bool {
        true
    }

    fn closing(&self, place: u32, out: &mut Vec<u8>) -> Vec<Remainder> {
        vec![removal(&self.delivery.place_name(place), out)]
    }

    /// Every value can be read at every replica.
    fn expected(&self, sending: &Tally) -> u64 {
        acknowledged(sending).saturating_mul(self.delivery.receivers_each())
    }
}

/// Appends the command that reads the key of a place.
pub(super) fn append_get(delivery: &Delivery, place: u32, out: &mut Vec<u8>) {
    encode_command(&[b"GET", delivery.place_name(place).as_bytes()], out);
}

impl Consumer for Reader {
    fn ask(&mut self, out: &mut Vec<u8>) -> u32 {
        (self.is_ready, self.is_readonly) = (false, !self.in_cluster);
        if self.in_cluster {
            encode_command(&[b"READONLY"], out);
        }
        out.extend_from_slice(&self.get);
        1 + u32::from(self.in_cluster)
    }

    #[inline]
    fn answer(&mut self, reply: Reply<'_>, strings: &ReplyStrings, out: &mut Vec<u8>) -> Received {
        if matches!(reply, Reply::Error(_) | Reply::Push) {
            return Received::Other;
        }
        if !std::mem::replace(&mut self.is_readonly, true) {
            return Received::Confirmation;
        }
        out.extend_from_slice(&self.get);
        if !std::mem::replace(&mut self.is_ready, true) {
            return Received::Confirmation;
        }
        match strings.messages() {
            [] if reply == Reply::Miss => Received::Unchanged,
            [had] if Some(had.message) == self.last => Received::Unchanged,
            had => {
                self.last = had.first().map(|had| had.message);
                Received::Messages(1)
            }
        }
    }

    fn last(&self) -> Option<Message> {
        self.last
    }
}
