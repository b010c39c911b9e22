//! Sorted sets: ZADD to BZPOPMIN, BZPOPMAX or BZMPOP. Each message goes to one of those who wait for it.

use measure::Tally;
use wire::Reply;
use wire::resp::encode_command;
use workload::{Delivery, SortedSetTake};

use super::awaited::{PendingReply, Pipeline, is_unblocked, seconds};
use super::closing::{Remainder, count_and_remove};
use super::kind::{Consumer, Dispatch, Kind, Meaning, acknowledged};
use super::reply_strings::{Capture, ReplyStrings};

/// Sorted sets that messages are taken out of.
pub(super) struct SortedSets<'r> {
    pub(super) delivery: &'r Delivery,
    pub(super) take: SortedSetTake,
    /// Members that one call may take.
    pub(super) count: u32,
    /// Nanoseconds that a call waits; 0 is without end.
    pub(super) block_ns: u64,
}

/// One receiver.
struct SortedSetConsumer {
    take: Vec<u8>,
    many: bool,
    pipeline: Pipeline,
}

impl Kind for SortedSets<'_> {
    fn consumer(&self, receiver: u32) -> Box<dyn Consumer + '_> {
        let delivery = self.delivery;
        let names: Vec<String> =
            delivery.places_of(receiver).map(|place| delivery.place_name(place)).collect();
        let names: Vec<&[u8]> = names.iter().map(|name| name.as_bytes()).collect();
        let (timeout, count) = (seconds(self.block_ns), self.count.to_string());
        let keys = names.len().to_string();
        let end: &[u8] = if self.take.max { b"MAX" } else { b"MIN" };
        let words = match (self.take.multi, self.take.max) {
            (false, false) => [&[&b"BZPOPMIN"[..]], &names[..], &[timeout.as_bytes()]].concat(),
            (false, true) => [&[&b"BZPOPMAX"[..]], &names[..], &[timeout.as_bytes()]].concat(),
            (true, _) => [
                &[b"BZMPOP", timeout.as_bytes(), keys.as_bytes()][..],
                &names,
                &[end, b"COUNT", count.as_bytes()],
            ]
            .concat(),
        };
        let mut take = Vec::new();
        encode_command(&words, &mut take);
        let many = self.take.multi;
        Box::new(SortedSetConsumer { take, many, pipeline: Pipeline::default() })
    }

    fn sharing(&self) -> Dispatch {
        Dispatch::Competing { groups: 1 }
    }

    fn capture(&self) -> Capture {
        let name = self.delivery.place_name(0).len();
        Capture { place_len: (self.delivery.places_each > 1).then_some(name), ..Capture::default() }
    }

    /// Members of one score are in the order of their bytes, which is that of a sender's numbers where all else is
    /// alike.
    fn is_ordered(&self) -> bool {
        !self.take.max && !self.take.mixed
    }

    fn block_ns(&self) -> Option<u64> {
        Some(self.block_ns)
    }

    fn expected(&self, sending: &Tally) -> u64 {
        acknowledged(sending)
    }

    fn closing(&self, place: u32, out: &mut Vec<u8>) -> Vec<Remainder> {
        count_and_remove(&self.delivery.place_name(place), "ZCARD", out)
    }
}

impl Consumer for SortedSetConsumer {
    fn is_settled(&self) -> bool {
        self.pipeline.is_settled()
    }

    fn ask(&mut self, out: &mut Vec<u8>) -> u32 {
        self.pipeline.clear();
        self.pipeline.ping(out);
        self.take(out);
        1
    }

    fn answer(&mut self, reply: Reply<'_>, strings: &ReplyStrings, out: &mut Vec<u8>) -> Meaning {
        let awaited = self.pipeline.peek();
        if reply == Reply::Push {
            return Meaning::Other;
        }
        if let Reply::Error(text) = reply {
            if awaited == Some(PendingReply::Message) && is_unblocked(text) {
                self.pipeline.next();
                self.take(out);
                return Meaning::Unblocked;
            }
            return Meaning::Other;
        }
        self.pipeline.next();
        match awaited {
            Some(PendingReply::Pong) => Meaning::Confirmation,
            Some(PendingReply::Message) => {
                self.take(out);
                match reply {
                    Reply::Miss => Meaning::TimedOut,
                    _ if self.many => Meaning::Messages(members(strings)),
                    _ => Meaning::Messages(1),
                }
            }
            _ => Meaning::Other,
        }
    }
}

impl SortedSetConsumer {
    fn take(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.take);
        self.pipeline.push(PendingReply::Message);
    }
}

/// Members in a reply to BZMPOP, each with its score: a string in RESP2, a number in RESP3.
fn members(strings: &ReplyStrings) -> u32 {
    let behind_key = strings.count().saturating_sub(1);
    if strings.has_numbers() { behind_key } else { behind_key / 2 }
}
