//! Channels: PUBLISH to SUBSCRIBE, or to PSUBSCRIBE.
//!
//! Replies by <https://redis.io/docs/latest/develop/pubsub/#format-of-pushed-messages>: arrays in RESP2, pushes in
//! RESP3, of which the first string says what they are. Each name is confirmed by an answer of its own.

use measure::Tally;
use wire::Reply;
use wire::resp::encode_command;
use workload::Delivery;

use super::kind::{Consumer, Kind, Meaning, Sharing};
use super::reply_strings::ReplyStrings;

/// Names in one SUBSCRIBE: a server runs a command to its end before it serves others.
const NAMES_MAX: usize = 1_000;

/// Publish and subscribe.
pub(super) struct Pubsub<'r> {
    pub(super) delivery: &'r Delivery,
    /// Whether receivers subscribe to patterns.
    pub(super) patterns: bool,
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

    fn sharing(&self) -> Sharing {
        Sharing::FanOut
    }

    /// PUBLISH answers how many receivers a message had. More than there are of this run are somebody else's.
    fn expected(&self, sending: &Tally) -> u64 {
        let named = sending.commands.iter().map(|command| command.receivers).sum();
        let by_place = self.delivery.receivers_by_place();
        match (by_place.iter().min(), by_place.iter().max()) {
            (Some(least), Some(most)) if least == most => {
                let sent: u64 = sending.commands.iter().map(|command| command.ok).sum();
                u64::min(named, sent.saturating_mul(u64::from(*most)))
            }
            _ => named,
        }
    }
}

impl Consumer for Subscriber<'_> {
    fn ask(&mut self, out: &mut Vec<u8>) -> u32 {
        let Pubsub { delivery, patterns } = *self.kind;
        let command = if patterns { "PSUBSCRIBE" } else { "SUBSCRIBE" };
        // A pattern that matches one channel: what a message costs depends on how many patterns there are.
        let end = if patterns { "*" } else { "" };
        let places = delivery.places_of(self.receiver);
        let names: Vec<String> = places.map(|place| delivery.place_name(place) + end).collect();
        for names in names.chunks(NAMES_MAX) {
            let words = std::iter::once(command).chain(names.iter().map(String::as_str));
            encode_command(&words.map(str::as_bytes).collect::<Vec<_>>(), out);
        }
        names.len() as u32
    }

    #[inline]
    fn answer(&mut self, reply: Reply<'_>, strings: &ReplyStrings, _: &mut Vec<u8>) -> Meaning {
        meaning(reply, strings)
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
