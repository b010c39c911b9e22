//! Messages from senders to receivers: who receives them, and how.
//!
//! A plan with a [`Delivery`] has two roles: its sequence is what the senders send, one message with each command
//! ([`Piece::Message`](crate::Piece::Message)); its receivers are described here. What a kind of delivery asks a
//! server for is the runner's business.

use serde::{Deserialize, Serialize};

use crate::KeyEvent;

/// The receivers of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// By what messages come.
    pub kind: DeliveryKind,
    /// Connections that receive.
    pub receivers: u32,
    /// Threads that these connections are shared among.
    pub threads: u16,
    /// What the names of places begin with: another one for each run, or the receivers of two would get the
    /// messages of both.
    pub prefix: String,
    /// Places that messages go through: channels, or keys. Numbered like the keys of the plan.
    pub places: u32,
    /// Places that each receiver gets messages from.
    pub places_each: u32,
    /// Nanoseconds that messages under way are waited for at the end.
    pub drain_ns: u64,
}

/// By what messages come to their receivers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeliveryKind {
    /// Channels: every subscriber gets each message.
    Pubsub {
        /// Whether receivers subscribe to patterns, of which each matches one channel.
        #[serde(default)]
        patterns: bool,
    },
    /// Keyspace events: every subscriber of an event gets each key that has it. A key is the prefix and a
    /// message.
    Notify {
        /// The event that is subscribed to.
        event: KeyEvent,
        /// The database whose keys are written.
        db: u32,
        /// Milliseconds that a key lives.
        ttl_ms: u64,
        /// Whether the server's setting may be changed for the run if it publishes no such events.
        enable: bool,
    },
}

impl DeliveryKind {
    /// Nanoseconds from when a message reaches the server until its receivers are due to get it.
    #[must_use]
    pub fn delay_ns(&self) -> u64 {
        match self {
            Self::Notify { event: KeyEvent::Expired, ttl_ms, .. } => {
                ttl_ms.saturating_mul(1_000_000)
            }
            Self::Pubsub { .. } | Self::Notify { .. } => 0,
        }
    }
}

impl Delivery {
    /// The name of a place: its number in 12 digits behind the prefix.
    #[must_use]
    pub fn place_name(&self, place: u32) -> String {
        format!("{}{place:012}", self.prefix)
    }

    /// The places of a receiver, from 0 to `places` - 1: the receivers take them in turn.
    pub fn places_of(&self, receiver: u32) -> impl Iterator<Item = u32> + use<> {
        let (each, places) = (u64::from(self.places_each), u64::from(self.places));
        let first = u64::from(receiver) * each;
        (0..each).map(move |n| ((first + n) % places) as u32)
    }

    /// How many receivers each place has.
    #[must_use]
    pub fn receivers_by_place(&self) -> Vec<u32> {
        let mut receivers = vec![0; self.places as usize];
        for place in (0..self.receivers).flat_map(|receiver| self.places_of(receiver)) {
            receivers[place as usize] += 1;
        }
        receivers
    }

    /// The thread of a receiver. Receivers of one place are on one thread if each has one place.
    #[must_use]
    pub fn thread_of(&self, receiver: u32) -> u16 {
        let first = self.places_of(receiver).next().unwrap_or(0);
        (first % u32::from(self.threads)) as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivery(receivers: u32, places: u32, places_each: u32) -> Delivery {
        let kind = DeliveryKind::Pubsub { patterns: false };
        let prefix = "keystorm:".to_owned();
        Delivery { kind, receivers, threads: 2, prefix, places, places_each, drain_ns: 0 }
    }

    #[test]
    fn receivers_take_places_in_turn() {
        assert_eq!(delivery(5, 2, 1).receivers_by_place(), [3, 2]);
        assert_eq!(delivery(2, 3, 2).receivers_by_place(), [2, 1, 1]);
        assert_eq!(delivery(2, 3, 3).receivers_by_place(), [2, 2, 2]);
        assert_eq!(delivery(2, 3, 2).places_of(1).collect::<Vec<_>>(), [2, 0]);
    }

    #[test]
    fn receivers_of_one_place_are_on_one_thread() {
        let delivery = delivery(100, 7, 1);
        for receiver in 0..100 {
            assert_eq!(delivery.thread_of(receiver), delivery.thread_of(receiver % 7));
        }
    }
}
