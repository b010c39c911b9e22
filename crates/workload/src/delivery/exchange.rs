//! Messages between the clients of a run: senders and receivers are in different processes.

use serde::{Deserialize, Serialize};

use super::Delivery;
use crate::{Plan, PlanParts, Shard};

/// A client's run, and its position among the receivers of all clients.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchange {
    /// Number of the run, which marks its messages for all clients; 0 until the plan is divided.
    pub run: u32,
    /// Receivers of the clients before this one.
    pub receivers_before: u32,
    /// Receivers of all clients; 0 until the plan is divided.
    pub receivers_total: u32,
}

impl Exchange {
    /// Returns the exchange of a share of a plan with `receivers` receivers.
    pub fn of_share(self, shard: Shard, receivers: u32) -> Self {
        let before = shard.part(u64::from(receivers)).start;
        Self { receivers_before: before as u32, receivers_total: receivers, ..self }
    }
}

impl Delivery {
    /// Returns the receivers of all clients, for a share with messages between clients.
    pub fn of_all_clients(&self) -> Self {
        let receivers = self.exchange.map_or(0, |exchange| exchange.receivers_total);
        let (receivers, exchange) = (receivers.max(self.receivers), None);
        Self { receivers, exchange, ..self.clone() }
    }

    /// Number of a receiver of this share among those of all clients, if messages go between clients.
    pub fn number_among_all(&self, receiver: u32) -> u32 {
        self.exchange.map_or(0, |exchange| exchange.receivers_before) + receiver
    }

    /// Returns whether each message between clients goes to one receiver of any client, so that no client
    /// alone knows which messages have come.
    pub fn competes_between_clients(&self) -> bool {
        self.exchange.is_some() && self.kind.keeps_messages() && !self.kind.fans_out_unseen()
    }
}

/// Numbers of messages, which follow those of their requests, from 0 on. If messages go between clients, the
/// clients take the numbers in turn, so that none is used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageNumbers {
    /// The first request of this client.
    first: u64,
    own: u64,
    clients: u64,
}

impl Default for MessageNumbers {
    fn default() -> Self {
        Self { first: 0, own: 0, clients: 1 }
    }
}

impl MessageNumbers {
    /// Number of the message of this request.
    #[inline]
    pub fn of_request(self, number: u64) -> u64 {
        number.wrapping_sub(self.first).wrapping_mul(self.clients).wrapping_add(self.own)
    }
}

impl PlanParts {
    /// Returns whether receivers get the messages of all clients.
    pub fn exchanges_messages(&self) -> bool {
        self.delivery.as_ref().is_some_and(|delivery| delivery.exchange.is_some())
    }

    /// Marks the messages between clients, if there are some, as those of the run with this number.
    pub fn number_exchange(&mut self, run: u32) {
        let exchange = self.delivery.as_mut().and_then(|delivery| delivery.exchange.as_mut());
        exchange.into_iter().for_each(|exchange| exchange.run = run);
    }
}

impl Plan {
    /// Exchange of messages between clients, if there is one and this is one of several shares.
    pub fn exchange(&self) -> Option<Exchange> {
        self.delivery.as_ref().filter(|_| !self.load.shard.is_whole())?.exchange
    }

    /// The numbers of its messages.
    pub fn message_numbers(&self) -> MessageNumbers {
        let Shard { index, of } = self.load.shard;
        let (own, clients) = match self.exchange() {
            Some(_) => (u64::from(index - 1), u64::from(of)),
            None => (0, 1),
        };
        MessageNumbers { first: self.budget().first(), own, clients }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_clients_have_numbers_of_their_own() {
        let numbers = |own| MessageNumbers { first: 100, own, clients: 3 };
        let of = |own: u64| [100, 101, 107].map(|request| numbers(own).of_request(request));
        assert_eq!([of(0), of(1), of(2)], [[0, 3, 21], [1, 4, 22], [2, 5, 23]]);
        assert_eq!(MessageNumbers::default().of_request(7), 7);
    }
}
