//! Keyspace events: a key that is written, to those who subscribe to what happens to keys.
//!
//! The payload of an event is the key, so a key is a prefix and a message. Every receiver subscribes to the channel of
//! the event, and gets the keys of everybody who writes to that database. A node of a cluster publishes the events of
//! its own keys only: a subscriber has a connection to each.

use measure::{DeliveryCounts, Tally};
use wire::Reply;
use wire::resp::encode_command;
use workload::{Delivery, DeliveryKind, KeyEvent};

use super::kind::{Consumer, Dispatch, Kind, Meaning};
use super::pubsub;
use super::reply_strings::ReplyStrings;

/// Keyspace events.
pub(super) struct Notify<'r> {
    pub(super) delivery: &'r Delivery,
    pub(super) event: KeyEvent,
    /// The database whose keys are written.
    pub(super) db: u32,
}

/// One subscriber.
struct Subscriber {
    channel: String,
}

impl Kind for Notify<'_> {
    fn consumer(&self, _receiver: u32) -> Box<dyn Consumer + '_> {
        Box::new(Subscriber { channel: self.event.channel(self.db) })
    }

    fn sharing(&self) -> Dispatch {
        Dispatch::FanOut
    }

    /// A server finds keys that have expired in no order.
    fn is_ordered(&self) -> bool {
        self.event != KeyEvent::Expired
    }

    /// Every receiver gets every key.
    fn expected(&self, sending: &Tally) -> u64 {
        let set: u64 = sending.commands.iter().map(|command| command.ok).sum();
        set.saturating_mul(self.delivery.receivers_each())
    }
}

/// Events that subscribers which were cut off did not get: nothing says how many a server published meanwhile.
pub(super) fn missed(kind: DeliveryKind, expected: u64, counts: &DeliveryCounts) -> u64 {
    match kind {
        DeliveryKind::Notify { .. } if counts.cut_off > 0 => {
            expected.saturating_sub(counts.received)
        }
        _ => 0,
    }
}

impl Consumer for Subscriber {
    fn ask(&mut self, out: &mut Vec<u8>) -> u32 {
        encode_command(&[b"SUBSCRIBE", self.channel.as_bytes()], out);
        1
    }

    fn answer(&mut self, reply: Reply<'_>, strings: &ReplyStrings, _: &mut Vec<u8>) -> Meaning {
        match pubsub::meaning(reply, strings) {
            Meaning::Messages(_) if strings.messages().is_empty() => Meaning::Foreign,
            meaning => meaning,
        }
    }
}
