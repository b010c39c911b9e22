//! The seam between kinds of delivery and the receivers' loop.
//!
//! A kind defines the requests of a receiver, the meaning of replies, the next requests, and the number of
//! expected deliveries. The plan defines what senders send. A new kind is a file here and a row in
//! [`kinds`](super::kinds); it must pass the suite in `kind_tests.rs`.

use measure::Tally;
use wire::Reply;
use wire::resp::encode_command;
use workload::Message;

use super::reply_strings::{Capture, EntryId, ReplyStrings};

/// Meaning of a reply to a receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Received {
    /// Reply to a setup request.
    Confirmation,
    /// A number of payloads, each of which should end in a message.
    Messages(u32),
    /// Nothing new to the receiver.
    Unchanged,
    /// The server's notice that all cached data is void.
    Flush,
    /// New entries in a place that a cache has read, and the time of the invalidation that caused the read,
    /// if one did.
    Reread {
        /// Number of the place.
        place: u32,
        /// Time on the run's clock, in nanoseconds.
        invalidated_ns: Option<u64>,
    },
    /// A message not caused by any keystorm, where receivers get those too.
    Foreign,
    /// Timeout of the blocking command.
    TimedOut,
    /// No message; the receiver asks again after a pause.
    Empty,
    /// The server ended the wait for another reason.
    Unblocked,
    /// End of the requests beside messages, with the number of messages that were not there to be removed or
    /// acknowledged.
    Settled {
        /// Number of these messages.
        missing: u32,
    },
    /// The server's withdrawal of a confirmation.
    Withdrawal,
    /// An error that says that another cluster node has a place of a cache.
    Elsewhere {
        /// Number of the place.
        place: u32,
    },
    /// Any other reply. If it is an error, the receiver cannot go on.
    Other,
}

/// Rule for which receivers get a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dispatch {
    /// Every receiver of its place.
    FanOut,
    /// A receiver of each of this many groups; receiver n is in group n modulo that number.
    Competing {
        /// 1 of a plain queue.
        groups: u32,
    },
}

impl Dispatch {
    /// Deliveries of each message through a place with this many receivers.
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

    /// Returns the parts of replies that the loop keeps beside messages.
    fn capture(&self) -> Capture {
        Capture::default()
    }

    /// Returns whether the server promises each receiver the messages of one sender through one place in
    /// order.
    fn is_ordered(&self) -> bool {
        true
    }

    /// Timeout of the receivers' blocking command in nanoseconds, 0 for never; `None` without such a command.
    fn block_ns(&self) -> Option<u64> {
        None
    }

    /// Returns whether receivers poll, so that a later message may overtake those between two reads.
    fn is_sampled(&self) -> bool {
        false
    }

    /// Nanoseconds between two polls; `None` for kinds that block or are pushed to.
    fn pause_ns(&self) -> Option<u64> {
        None
    }

    /// Deliveries to expect of the senders' messages.
    fn expected(&self, sending: &Tally) -> u64;

    /// Further deliveries that were missed because a receiver was disconnected for a time; 0 if unknown.
    fn missed_while_away(&self, _sending: &Tally) -> u64 {
        0
    }

    /// Appends the final requests, which count and remove leftovers, and returns the meaning of each reply.
    /// By default there are none.
    fn closing(&self, _place: u32, _out: &mut Vec<u8>) -> Vec<Remainder> {
        Vec::new()
    }
}

/// Messages that a server accepted, each delivered once where receivers compete.
pub(super) fn acknowledged(sending: &Tally) -> u64 {
    sending.commands.first().map_or(0, |command| command.ok + command.miss)
}

/// Meaning of the first number of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Remainder {
    /// Messages that no receiver got.
    Left,
    /// Messages that were received and not acknowledged.
    Pending,
    /// No messages; the reply says whether a key was removed.
    Removal,
    /// Nothing of interest.
    Nothing,
}

/// Appends a command that counts the messages left in a key, and one that removes the key.
pub(super) fn count_and_remove(name: &str, count: &str, out: &mut Vec<u8>) -> Vec<Remainder> {
    encode_command(&[count.as_bytes(), name.as_bytes()], out);
    vec![Remainder::Left, removal(name, out)]
}

/// Appends a command that removes a key. Its reply counts nothing.
pub(super) fn removal(name: &str, out: &mut Vec<u8>) -> Remainder {
    encode_command(&[b"UNLINK", name.as_bytes()], out);
    Remainder::Removal
}

/// Requests of one receiver, with the state that it needs between replies.
pub(crate) trait Consumer {
    /// Appends the requests for a new or reopened connection and returns the number of confirmations to
    /// expect. A blocking command comes last, behind a PING that confirms it.
    fn ask(&mut self, out: &mut Vec<u8>) -> u32;

    /// Returns the meaning of a reply with these strings. Appends the receiver's next requests.
    fn answer(&mut self, reply: Reply<'_>, strings: &ReplyStrings, out: &mut Vec<u8>) -> Received;

    /// Has invalidations sent to the connection with this server-side number, from the next request on.
    fn redirect_to(&mut self, _listener: u64) {}

    /// Returns the meaning of an invalidation. Appends the receiver's next requests.
    fn invalidation(&mut self, _strings: &ReplyStrings, _out: &mut Vec<u8>) -> Received {
        Received::Other
    }

    /// Notes the time at which the next reply was received, for receivers that cache.
    fn heard_at(&mut self, _now_ns: u64) {}

    /// Gives up a held place and returns the last entry that it had there; `None` if it does not hold the
    /// place.
    fn release(&mut self, _place: u32) -> Option<EntryId> {
        None
    }

    /// Takes over a place whose entries it has up to this one. Appends its requests.
    fn adopt(&mut self, _place: u32, _last: EntryId, _out: &mut Vec<u8>) {}

    /// Schedules another read of a held place for when the receiver resumes.
    fn postpone(&mut self, _place: u32) {}

    /// Appends the requests that follow a pause.
    fn resume(&mut self, _out: &mut Vec<u8>) {}

    /// Returns whether only the next message is to come: all earlier ones are acknowledged.
    fn is_settled(&self) -> bool {
        true
    }

    /// Returns the last message read, if receivers poll.
    fn last(&self) -> Option<Message> {
        None
    }
}
