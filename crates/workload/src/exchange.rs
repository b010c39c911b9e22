//! Messages that go between the clients of a run: senders and receivers are in different processes.

use serde::{Deserialize, Serialize};

use crate::{Delivery, Plan, Shard};

/// Run that a client belongs to, and place of its receivers among those of all clients.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchange {
    /// The number of the run, by which all clients know its messages; 0 until the plan is shared out.
    pub run: u32,
    /// Receivers of the clients before this one.
    pub receivers_before: u32,
    /// Receivers of all clients; 0 until the plan is shared out.
    pub receivers_total: u32,
}

impl Exchange {
    /// Returns the exchange of a share of a plan with `receivers` receivers.
    #[must_use]
    pub fn of_share(self, shard: Shard, receivers: u32) -> Self {
        let before = shard.part(u64::from(receivers)).start;
        Self { receivers_before: before as u32, receivers_total: receivers, ..self }
    }
}

impl Delivery {
    /// The receivers of all clients, of a share whose messages go between them.
    #[must_use]
    pub fn of_all_clients(&self) -> Self {
        let receivers = self.exchange.map_or(0, |exchange| exchange.receivers_total);
        let (receivers, exchange) = (receivers.max(self.receivers), None);
        Self { receivers, exchange, ..self.clone() }
    }

    /// The number of a receiver of this share among those of all clients, where messages go between them.
    #[must_use]
    pub fn number_among_all(&self, receiver: u32) -> u32 {
        self.exchange.map_or(0, |exchange| exchange.receivers_before) + receiver
    }

    /// Returns whether each message between clients goes to one receiver, whichever client has it, so that no client
    /// knows alone what has come.
    #[must_use]
    pub fn competes_between_clients(&self) -> bool {
        self.exchange.is_some() && self.kind.keeps_messages() && !self.kind.fans_out_unseen()
    }
}

/// The numbers of messages, which are those of the requests that send them, from 0 on. Where messages go between
/// clients, these take the numbers in turn, so that none has two messages.
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
    /// The number of the message that this request sends.
    #[inline]
    #[must_use]
    pub fn of_request(self, number: u64) -> u64 {
        number.wrapping_sub(self.first).wrapping_mul(self.clients).wrapping_add(self.own)
    }
}

impl Plan {
    /// Exchange of messages between clients, if this is the share of one client of several and there is such an
    /// exchange.
    #[must_use]
    pub fn exchange(&self) -> Option<Exchange> {
        let delivery = self.delivery.as_ref().filter(|_| !self.load.shard.is_whole());
        delivery.and_then(|delivery| delivery.exchange)
    }

    /// The numbers of its messages.
    #[must_use]
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
