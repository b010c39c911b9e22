//! Channels: PUBLISH to SUBSCRIBE or PSUBSCRIBE, and SPUBLISH to SSUBSCRIBE. Also keyspace events, which the
//! server itself publishes when a key is written. The payload of an event is the key, so a key is a prefix
//! and a message. Subscribers of an event get the keys of every client that writes to that database. A
//! cluster node publishes only the events of its own keys, so a subscriber has a connection to each.
//!
//! Replies as in <https://redis.io/docs/latest/develop/pubsub/#format-of-pushed-messages>: arrays in RESP2,
//! pushes in RESP3, whose first string names their type. Each name is confirmed by a reply of its own.

use measure::{DeliveryCounts, Tally};
use wire::Reply;
use wire::resp::encode_command;
use workload::{Delivery, DeliveryKind, KeyEvent, Subscription};

use super::kind::{Consumer, Dispatch, Kind, Received};
use super::reply_strings::ReplyStrings;

/// Maximum number of names in one SUBSCRIBE: a server runs a command to its end before it serves others.
const NAMES_MAX: usize = 1_000;

/// Publish and subscribe.
pub(super) struct Pubsub<'r> {
    pub(super) delivery: &'r Delivery,
    pub(super) subscription: Subscription,
    /// Set if the reply to PUBLISH counts only the subscribers at one cluster node, and not all receivers
    /// of a message.
    pub(super) is_broadcast: bool,
    /// The event that the server publishes for keys in this database, instead of the senders' own messages.
    pub(super) event: Option<(KeyEvent, u32)>,
}

struct Subscriber<'r> {
    kind: &'r Pubsub<'r>,
    receiver: u32,
}

impl Kind for Pubsub<'_> {
    fn consumer(&self, receiver: u32) -> Box<dyn Consumer + '_> {
        Box::new(Subscriber { kind: self, receiver })
    }

    fn sharing(&self) -> Dispatch {
        Dispatch::FanOut
    }

    /// Returns false for expired keys, which a server finds in no order.
    fn is_ordered(&self) -> bool {
        self.event.is_none_or(|(event, _)| event != KeyEvent::Expired)
    }

    /// Expects every key at every subscriber of an event. For channels, PUBLISH replies with the number of
    /// receivers; any beyond this run's belong to others.
    fn expected(&self, sending: &Tally) -> u64 {
        if self.event.is_some() {
            return sent(sending).saturating_mul(self.delivery.receivers_each());
        }
        let named = sending.commands.iter().map(|command| command.receivers).sum();
        match self.to_all(sending) {
            Some(all) if self.is_broadcast => all,
            Some(all) => u64::min(named, all),
            None => named,
        }
    }

    fn missed_while_away(&self, sending: &Tally) -> u64 {
        let all = self.to_all(sending).filter(|_| self.event.is_none());
        all.map_or(0, |all| all.saturating_sub(self.expected(sending)))
    }
}

/// Messages that were sent.
fn sent(sending: &Tally) -> u64 {
    sending.commands.iter().map(|command| command.ok).sum()
}

impl Pubsub<'_> {
    /// Deliveries if no subscriber is disconnected, where all channels have equally many.
    fn to_all(&self, sending: &Tally) -> Option<u64> {
        let by_place = self.delivery.of_all_clients().receivers_by_place();
        let (least, most) = (by_place.iter().min()?, by_place.iter().max()?);
        (least == most).then(|| sent(sending).saturating_mul(u64::from(*most)))
    }
}

/// Events missed by subscribers that were disconnected. Nothing says how many a server published meanwhile.
pub(super) fn missed(kind: DeliveryKind, expected: u64, counts: &DeliveryCounts) -> u64 {
    match kind {
        DeliveryKind::Notify { .. } if counts.cut_off > 0 => {
            expected.saturating_sub(counts.received)
        }
        _ => 0,
    }
}

impl Consumer for Subscriber<'_> {
    fn ask(&mut self, out: &mut Vec<u8>) -> u32 {
        let Pubsub { delivery, subscription, event, .. } = *self.kind;
        let (command, end) = match subscription {
            Subscription::Channels => ("SUBSCRIBE", ""),
            // A pattern that matches one channel: what a message costs depends on how many patterns there are.
            Subscription::Patterns => ("PSUBSCRIBE", "*"),
            Subscription::Shards => ("SSUBSCRIBE", ""),
        };
        let names: Vec<String> = if let Some((event, db)) = event {
            vec![event.channel(db)]
        } else {
            let places = delivery.places_of(self.receiver);
            places.map(|place| delivery.place_name(place) + end).collect()
        };
        for names in names.chunks(NAMES_MAX) {
            let words = std::iter::once(command).chain(names.iter().map(String::as_str));
            encode_command(&words.map(str::as_bytes).collect::<Vec<_>>(), out);
        }
        names.len() as u32
    }

    #[inline]
    fn answer(&mut self, reply: Reply<'_>, strings: &ReplyStrings, out: &mut Vec<u8>) -> Received {
        let meaning = meaning(reply, strings);
        match meaning {
            // The slot has left this node, which says where to when it is asked again.
            Received::Withdrawal => drop(self.ask(out)),
            // A key of another program.
            Received::Messages(_) if self.kind.event.is_some() && strings.messages().is_empty() => {
                return Received::Foreign;
            }
            _ => {}
        }
        meaning
    }
}

/// Returns the meaning of a server's message to a subscriber.
pub(super) fn meaning(reply: Reply<'_>, strings: &ReplyStrings) -> Received {
    if !matches!(reply, Reply::Push | Reply::Found(_)) {
        return Received::Other;
    }
    match strings.first() {
        b"message" | b"pmessage" | b"smessage" => Received::Messages(1),
        b"subscribe" | b"psubscribe" | b"ssubscribe" => Received::Confirmation,
        b"unsubscribe" | b"punsubscribe" | b"sunsubscribe" => Received::Withdrawal,
        _ => Received::Other,
    }
}
