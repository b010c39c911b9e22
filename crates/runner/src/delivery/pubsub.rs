//! Channels: PUBLISH to SUBSCRIBE or PSUBSCRIBE, SPUBLISH to SSUBSCRIBE.
//!
//! Replies by <https://redis.io/docs/latest/develop/pubsub/#format-of-pushed-messages>: arrays in RESP2, pushes in
//! RESP3, of which the first string says what they are. Each name is confirmed by an answer of its own.

use measure::Tally;
use wire::Reply;
use wire::resp::encode_command;
use workload::{Delivery, Subscription};

use super::kind::{Consumer, Dispatch, Kind, Meaning};
use super::reply_strings::ReplyStrings;

/// Names in one SUBSCRIBE: a server runs a command to its end before it serves others.
const NAMES_MAX: usize = 1_000;

/// Publish and subscribe.
pub(super) struct Pubsub<'r> {
    pub(super) delivery: &'r Delivery,
    pub(super) subscription: Subscription,
    /// Whether PUBLISH names others than the receivers of a message: those at one node of a cluster only, or also
    /// subscribers that do not read.
    pub(super) is_broadcast: bool,
}

/// One subscriber.
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

    /// PUBLISH answers how many receivers a message had. More than there are of this run are somebody else's.
    fn expected(&self, sending: &Tally) -> u64 {
        let named = sending.commands.iter().map(|command| command.receivers).sum();
        match self.to_all(sending) {
            Some(all) if self.is_broadcast => all,
            Some(all) => u64::min(named, all),
            None => named,
        }
    }

    fn away(&self, sending: &Tally) -> u64 {
        let all = self.to_all(sending);
        all.map_or(0, |all| all.saturating_sub(self.expected(sending)))
    }
}

impl Pubsub<'_> {
    /// Deliveries if no subscriber is away, where all channels have as many.
    fn to_all(&self, sending: &Tally) -> Option<u64> {
        let by_place = self.delivery.of_all_clients().receivers_by_place();
        let (least, most) = (by_place.iter().min()?, by_place.iter().max()?);
        let sent: u64 = sending.commands.iter().map(|command| command.ok).sum();
        (least == most).then(|| sent.saturating_mul(u64::from(*most)))
    }
}

impl Consumer for Subscriber<'_> {
    fn ask(&mut self, out: &mut Vec<u8>) -> u32 {
        let Pubsub { delivery, subscription, .. } = *self.kind;
        let (command, end) = match subscription {
            Subscription::Channels => ("SUBSCRIBE", ""),
            // A pattern that matches one channel: what a message costs depends on how many patterns there are.
            Subscription::Patterns => ("PSUBSCRIBE", "*"),
            Subscription::Shards => ("SSUBSCRIBE", ""),
        };
        let places = delivery.places_of(self.receiver);
        let names: Vec<String> = places.map(|place| delivery.place_name(place) + end).collect();
        for names in names.chunks(NAMES_MAX) {
            let words = std::iter::once(command).chain(names.iter().map(String::as_str));
            encode_command(&words.map(str::as_bytes).collect::<Vec<_>>(), out);
        }
        names.len() as u32
    }

    #[inline]
    fn answer(&mut self, reply: Reply<'_>, strings: &ReplyStrings, out: &mut Vec<u8>) -> Meaning {
        let meaning = meaning(reply, strings);
        if meaning == Meaning::Withdrawal {
            // The slot has left this node, which says where to when it is asked again.
            self.ask(out);
        }
        meaning
    }
}

/// What a server says to a subscriber.
pub(super) fn meaning(reply: Reply<'_>, strings: &ReplyStrings) -> Meaning {
    if !matches!(reply, Reply::Push | Reply::Found(_)) {
        return Meaning::Other;
    }
    match strings.first() {
        b"message" | b"pmessage" | b"smessage" => Meaning::Messages(1),
        b"subscribe" | b"psubscribe" | b"ssubscribe" => Meaning::Confirmation,
        b"unsubscribe" | b"punsubscribe" | b"sunsubscribe" => Meaning::Withdrawal,
        _ => Meaning::Other,
    }
}
