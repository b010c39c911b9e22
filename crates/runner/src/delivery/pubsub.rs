//! Channels: PUBLISH to SUBSCRIBE, or to PSUBSCRIBE.
//!
//! Replies by <https://redis.io/docs/latest/develop/pubsub/#format-of-pushed-messages>: arrays in RESP2, pushes in
//! RESP3, of which the first string says what they are. Each name is confirmed by an answer of its own.

use measure::Tally;
use wire::Reply;
use wire::resp::encode_command;
use workload::{Delivery, Message};

use super::kind::{Kind, Meaning};
use super::reply_strings::ReplyStrings;

/// Names in one SUBSCRIBE: a server runs a command to its end before it serves others.
const NAMES_MAX: usize = 1_000;

/// Publish and subscribe.
pub(super) struct Pubsub<'r> {
    pub(super) delivery: &'r Delivery,
    /// Whether receivers subscribe to patterns.
    pub(super) patterns: bool,
}

impl Kind for Pubsub<'_> {
    fn ask(&self, places: &mut dyn Iterator<Item = u32>, out: &mut Vec<u8>) -> u32 {
        let command = if self.patterns { "PSUBSCRIBE" } else { "SUBSCRIBE" };
        // A pattern that matches one channel: what a message costs depends on how many patterns there are.
        let end = if self.patterns { "*" } else { "" };
        let names: Vec<String> =
            places.map(|place| self.delivery.place_name(place) + end).collect();
        for names in names.chunks(NAMES_MAX) {
            let words = std::iter::once(command).chain(names.iter().map(String::as_str));
            encode_command(&words.map(str::as_bytes).collect::<Vec<_>>(), out);
        }
        names.len() as u32
    }

    fn send(&self, place: u32, message: Message, out: &mut Vec<u8>) {
        let channel = self.delivery.place_name(place);
        encode_command(&[b"PUBLISH", channel.as_bytes(), &message.to_bytes()], out);
    }

    fn meaning(&self, reply: Reply<'_>, strings: &ReplyStrings) -> Meaning {
        if !matches!(reply, Reply::Push | Reply::Found(_)) {
            return Meaning::Other;
        }
        match strings.first() {
            b"message" | b"pmessage" | b"smessage" => Meaning::Message,
            b"subscribe" | b"psubscribe" | b"ssubscribe" => Meaning::Confirmation,
            b"unsubscribe" | b"punsubscribe" | b"sunsubscribe" => Meaning::Withdrawal,
            _ => Meaning::Other,
        }
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
