//! The seam between kinds of delivery and the loop of the receivers.
//!
//! A kind says what a receiver asks the server for, what the replies mean and what it asks for next, and how many
//! deliveries there must be. What the senders send is the plan's. A new kind is a file here and a row in
//! [`from_delivery`]; it must pass the suite in `kind_tests.rs`.

use measure::Tally;
use wire::Reply;
use workload::{Delivery, DeliveryKind, Message, Subscription};

use super::cached_reads::CachedReads;
use super::closing::Remainder;
use super::invalidate::Invalidate;
use super::pubsub::Pubsub;
use super::queue::Queues;
use super::replica::Replica;
use super::reply_strings::{Capture, EntryId, ReplyStrings};

/// Meaning of a reply to a receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// The answer to what it asked for when it was set up.
    Confirmation,
    /// So many payloads, each of which should end in a message.
    Messages(u32),
    /// Nothing that the receiver did not have.
    Unchanged,
    /// The server says that all that the receiver caches is void.
    Flush,
    /// News in a place that a cache has read, and when the invalidation came that made it read, if one did.
    Reread {
        /// By its number.
        place: u32,
        /// In nanoseconds of the run's clock.
        invalidated_ns: Option<u64>,
    },
    /// Message that somebody else than a keystorm has caused, where receivers get that, too.
    Foreign,
    /// The time of the command that waited was up.
    TimedOut,
    /// There is nothing: the receiver asks again after a pause.
    Empty,
    /// The server ended the wait for another reason.
    Unblocked,
    /// End of what was asked for beside messages. So many messages were not there to be removed or acknowledged.
    Settled {
        /// Number of these messages.
        missing: u32,
    },
    /// The server takes back what was confirmed.
    Withdrawal,
    /// Another node of the cluster has a place that a cache holds, as an error says.
    Elsewhere {
        /// By its number.
        place: u32,
    },
    /// None of these. If it is an error, the receiver cannot go on.
    Other,
}

/// Rule for who gets a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dispatch {
    /// Every receiver of its place.
    FanOut,
    /// Each of so many groups, by one receiver of the place in it; receiver n is in group n modulo that number.
    Competing {
        /// 1 of a plain queue.
        groups: u32,
    },
}

impl Dispatch {
    /// Deliveries of each message through a place with so many receivers.
    pub(crate) fn copies(self, receivers: u32) -> u32 {
        match self {
            Self::FanOut => receivers,
            Self::Competing { groups } => groups.min(receivers),
        }
    }
}

/// Kind of delivery.
pub(crate) trait Kind: Sync {
    /// The receiver of this number in the run.
    fn consumer(&self, receiver: u32) -> Box<dyn Consumer + '_>;

    /// Returns who gets a message.
    fn sharing(&self) -> Dispatch;

    /// Returns what the loop keeps of replies beside the messages in them.
    fn capture(&self) -> Capture {
        Capture::default()
    }

    /// Returns whether the server promises each receiver the messages of one sender through one place in their order.
    fn is_ordered(&self) -> bool {
        true
    }

    /// Nanoseconds after which a command of the receivers that waits is answered without a message, 0 for never;
    /// `None` if they have no such command.
    fn block_ns(&self) -> Option<u64> {
        None
    }

    /// Returns whether receivers read over and over, so that messages between two reads are overtaken.
    fn is_sampled(&self) -> bool {
        false
    }

    /// Nanoseconds between two looks of receivers that do not wait with a command; `None` if they do, or get messages
    /// unasked.
    fn pause_ns(&self) -> Option<u64> {
        None
    }

    /// Deliveries to expect of the senders' messages.
    fn expected(&self, sending: &Tally) -> u64;

    /// Further deliveries that were missed because a receiver was away for a time; 0 if unknown.
    fn away(&self, _sending: &Tally) -> u64 {
        0
    }

    /// Appends what is asked when all is over, to find out what is left and to remove it, and says what each reply
    /// counts. By default nothing is left.
    fn closing(&self, _place: u32, _out: &mut Vec<u8>) -> Vec<Remainder> {
        Vec::new()
    }
}

/// Messages that a server took: each is delivered once where receivers compete.
pub(super) fn acknowledged(sending: &Tally) -> u64 {
    sending.commands.first().map_or(0, |command| command.ok + command.miss)
}

/// Requests of one receiver. It remembers what it must know between replies.
pub(crate) trait Consumer {
    /// Appends what it asks for when a connection is ready, also one that was opened again, and says how many
    /// confirmations follow. A command that waits stands last, behind a PING that confirms it.
    fn ask(&mut self, out: &mut Vec<u8>) -> u32;

    /// Returns what a reply means of which these strings were strings. Appends what the receiver asks for next.
    fn answer(&mut self, reply: Reply<'_>, strings: &ReplyStrings, out: &mut Vec<u8>) -> Meaning;

    /// Has invalidations sent to this connection, by the server's number of it, from when it asks next.
    fn redirect_to(&mut self, _listener: u64) {}

    /// Returns what an invalidation means. Appends what the receiver asks for next.
    fn invalidation(&mut self, _strings: &ReplyStrings, _out: &mut Vec<u8>) -> Meaning {
        Meaning::Other
    }

    /// Notes when what it answers next was received, where it is one that caches.
    fn heard_at(&mut self, _now_ns: u64) {}

    /// Gives up a place that it holds, and says which entry it had last there; `None` if it does not hold it.
    fn release(&mut self, _place: u32) -> Option<EntryId> {
        None
    }

    /// Holds a place from now on, of which it has all up to this entry. Appends what it asks for.
    fn adopt(&mut self, _place: u32, _last: EntryId, _out: &mut Vec<u8>) {}

    /// Reads a place that it holds again when it resumes.
    fn postpone(&mut self, _place: u32) {}

    /// Appends what it asks for after a pause.
    fn resume(&mut self, _out: &mut Vec<u8>) {}

    /// Returns whether nothing is to come but the next message: what came before is acknowledged.
    fn is_settled(&self) -> bool {
        true
    }

    /// The message that it read last, where it reads over and over.
    fn last(&self) -> Option<Message> {
        None
    }
}

/// The kind of a plan, for one server or for the nodes of a cluster.
pub(crate) fn from_delivery(delivery: &Delivery, in_cluster: bool) -> Box<dyn Kind + '_> {
    match delivery.kind {
        DeliveryKind::Pubsub { subscription, slow } => {
            let is_broadcast = slow > 0 || in_cluster && subscription != Subscription::Shards;
            Box::new(Pubsub { delivery, subscription, is_broadcast, event: None })
        }
        DeliveryKind::Invalidate { tracking } if tracking.mode.follows_reads() => {
            Box::new(CachedReads { delivery, tracking })
        }
        DeliveryKind::Invalidate { tracking } => Box::new(Invalidate { delivery, tracking }),
        DeliveryKind::Replica => Box::new(Replica { delivery }),
        DeliveryKind::Notify { event, db, .. } => Box::new(Pubsub {
            delivery,
            subscription: Subscription::Channels,
            is_broadcast: false,
            event: Some((event, db)),
        }),
        DeliveryKind::Queue { queue, count, block_ns } => {
            Box::new(Queues { delivery, queue, count, block_ns })
        }
    }
}

#[cfg(test)]
#[path = "kind_tests.rs"]
mod tests;
