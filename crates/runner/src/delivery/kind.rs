//! The seam between kinds of delivery and the loop of the receivers.
//!
//! A kind says what a receiver asks the server for, what the replies are, and how many deliveries there must be.
//! A new one is a file here and a row in [`of`]; it must pass the suite in `kind_tests.rs`.

use measure::Tally;
use wire::Reply;
use workload::{Delivery, DeliveryKind, Message};

use super::pubsub::Pubsub;
use super::reply_strings::ReplyStrings;

/// What a reply is to a receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// The answer to what it asked for when it was set up.
    Confirmation,
    /// A message.
    Message,
    /// The server takes back what was confirmed.
    Withdrawal,
    /// None of these.
    Other,
}

/// One kind of delivery.
pub(crate) trait Kind: Sync {
    /// Appends what a receiver of these places asks for when its connection is ready, and says how many
    /// confirmations follow.
    fn ask(&self, places: &mut dyn Iterator<Item = u32>, out: &mut Vec<u8>) -> u32;

    /// Appends what sends a message through a place.
    fn send(&self, place: u32, message: Message, out: &mut Vec<u8>);

    /// What a reply means of which these strings were strings.
    fn meaning(&self, reply: Reply<'_>, strings: &ReplyStrings) -> Meaning;

    /// Deliveries that there must be of what the senders sent.
    fn expected(&self, sending: &Tally) -> u64;
}

/// The kind of a plan.
pub(crate) fn of(delivery: &Delivery) -> Box<dyn Kind + '_> {
    match delivery.kind {
        DeliveryKind::Pubsub { patterns } => Box::new(Pubsub { delivery, patterns }),
    }
}

#[cfg(test)]
#[path = "kind_tests.rs"]
mod tests;
