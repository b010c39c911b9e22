//! Lists: LPUSH or RPUSH to BLPOP, BRPOP, BLMOVE, BLMPOP or a poll. Each message goes to one of those who wait for
//! it.
//!
//! With BLMOVE a receiver has a list of its own, which a message is moved to and which it is removed from (LREM)
//! when it was received: a receiver that dies in between leaves it there, and moves it back when it returns.

use measure::Tally;
use wire::Reply;
use wire::resp::encode_command;
use workload::{Delivery, ListPop, ListTake};

use super::awaited::{PendingReply, Pipeline, append_string, is_unblocked, seconds};
use super::closing::{Remainder, append_removal, count_and_remove};
use super::kind::{Consumer, Dispatch, Kind, Meaning, acknowledged};
use super::poll::Poller;
use super::reply_strings::{Capture, ReplyStrings};

/// Lists that messages are taken off.
pub(super) struct Lists<'r> {
    pub(super) delivery: &'r Delivery,
    pub(super) take: ListTake,
    /// Elements that one call may take.
    pub(super) count: u32,
    /// Nanoseconds that a call waits; 0 is without end.
    pub(super) block_ns: u64,
}

/// One receiver.
struct ListConsumer {
    /// What it asks for when it is set up, and from then on.
    first: Vec<u8>,
    take: Vec<u8>,
    /// With BLMOVE: what LREM of a message begins with.
    removal: Option<Vec<u8>>,
    many: bool,
    pipeline: Pipeline,
}

impl Lists<'_> {
    /// The list that BLMOVE moves messages to: another for each receiver, in the hash slot of its place.
    fn own_list(&self, place: u32, receiver: u32) -> String {
        format!("{{{}}}:taken-by:{receiver}", self.delivery.place_name(place))
    }

    fn end(&self) -> &'static [u8] {
        if self.take.from_left { b"LEFT" } else { b"RIGHT" }
    }

    /// The command that waits.
    fn waiting(&self, names: &[String], own: &str) -> Vec<u8> {
        let timeout = seconds(self.block_ns);
        let names: Vec<&[u8]> = names.iter().map(|name| name.as_bytes()).collect();
        let count = (names.len().to_string(), self.count.to_string());
        let (timeout, end) = (timeout.as_bytes(), self.end());
        let mut out = Vec::new();
        let words: Vec<&[u8]> = match self.take.by {
            ListPop::Pop => {
                let command: &[u8] = if self.take.from_left { b"BLPOP" } else { b"BRPOP" };
                [&[command][..], &names, &[timeout]].concat()
            }
            ListPop::Move => {
                let first = names.first().copied().unwrap_or_default();
                vec![b"BLMOVE", first, own.as_bytes(), end, b"LEFT", timeout]
            }
            ListPop::Poll => {
                let command: &[u8] = if self.take.from_left { b"LPOP" } else { b"RPOP" };
                vec![command, names.first().copied().unwrap_or_default()]
            }
            ListPop::MultiPop => [
                &[b"BLMPOP", timeout, count.0.as_bytes()][..],
                &names,
                &[end, b"COUNT", count.1.as_bytes()],
            ]
            .concat(),
        };
        encode_command(&words, &mut out);
        out
    }
}

impl Kind for Lists<'_> {
    fn consumer(&self, receiver: u32) -> Box<dyn Consumer + '_> {
        let names: Vec<String> = self
            .delivery
            .places_of(receiver)
            .map(|place| self.delivery.place_name(place))
            .collect();
        let source = names.first().cloned().unwrap_or_default();
        let place = self.delivery.places_of(receiver).next().unwrap_or(0);
        let own = self.own_list(place, self.delivery.number_among_all(receiver));
        if self.take.by == ListPop::Poll {
            let take = |name: &String| self.waiting(std::slice::from_ref(name), "");
            return Box::new(Poller::new(names.iter().map(take).collect()));
        }
        let take = self.waiting(&names, &own);
        let (mut first, mut removal) = (Vec::new(), None);
        if self.take.by == ListPop::Move {
            let words = [&b"LMOVE"[..], own.as_bytes(), source.as_bytes(), b"LEFT", self.end()];
            encode_command(&words, &mut first);
            let mut begin = format!("*4\r\n$4\r\nLREM\r\n${}\r\n{own}\r\n", own.len()).into_bytes();
            begin.extend_from_slice(b"$1\r\n1\r\n");
            removal = Some(begin);
        }
        Box::new(ListConsumer {
            first,
            take,
            removal,
            many: self.take.by == ListPop::MultiPop,
            pipeline: Pipeline::default(),
        })
    }

    fn sharing(&self) -> Dispatch {
        Dispatch::Competing { groups: 1 }
    }

    fn capture(&self) -> Capture {
        let name = self.delivery.place_name(0).len();
        Capture {
            place_len: (self.delivery.places_each > 1).then_some(name),
            payload: self.take.by == ListPop::Move,
            ..Capture::default()
        }
    }

    /// What comes in at one end and is taken off the other keeps its order. A reply to LPOP does not name its list.
    fn is_ordered(&self) -> bool {
        let names_list = self.take.by != ListPop::Poll || self.delivery.places_each == 1;
        self.take.from_left != self.take.pushed_left && names_list
    }

    fn pause_ns(&self) -> Option<u64> {
        (self.take.by == ListPop::Poll).then_some(self.block_ns)
    }

    fn block_ns(&self) -> Option<u64> {
        Some(self.block_ns)
    }

    fn expected(&self, sending: &Tally) -> u64 {
        acknowledged(sending)
    }

    fn closing(&self, place: u32, out: &mut Vec<u8>) -> Vec<Remainder> {
        let mut replies = count_and_remove(&self.delivery.place_name(place), "LLEN", out);
        if self.take.by == ListPop::Move {
            // Each has one place, which receivers take in turn.
            let all = self.delivery.of_all_clients().receivers;
            let receivers = (place..all).step_by(self.delivery.places as usize);
            receivers.for_each(|n| append_removal(&self.own_list(place, n), &mut replies, out));
        }
        replies
    }
}

impl Consumer for ListConsumer {
    fn is_settled(&self) -> bool {
        self.pipeline.is_settled()
    }

    fn ask(&mut self, out: &mut Vec<u8>) -> u32 {
        self.pipeline.clear();
        if !self.first.is_empty() {
            out.extend_from_slice(&self.first);
            self.pipeline.push(PendingReply::Preparation);
        }
        self.pipeline.ping(out);
        self.take(out);
        1
    }

    fn answer(&mut self, reply: Reply<'_>, strings: &ReplyStrings, out: &mut Vec<u8>) -> Meaning {
        if reply == Reply::Push {
            return Meaning::Other;
        }
        if let Reply::Error(text) = reply {
            if self.pipeline.peek() == Some(PendingReply::Message) && is_unblocked(text) {
                self.pipeline.next();
                self.take(out);
                return Meaning::Unblocked;
            }
            return Meaning::Other;
        }
        match self.pipeline.next() {
            Some(PendingReply::Pong) => Meaning::Confirmation,
            Some(PendingReply::Preparation) => Meaning::Settled { missing: 0 },
            Some(PendingReply::Removal { of }) => {
                let removed = if let Reply::Number(removed) = reply { removed } else { 0 };
                Meaning::Settled { missing: of.saturating_sub(removed) }
            }
            Some(PendingReply::Message) if reply == Reply::Miss => {
                self.take(out);
                Meaning::TimedOut
            }
            Some(PendingReply::Message) => {
                if let Some(removal) = &self.removal {
                    out.extend_from_slice(removal);
                    append_string(strings.payload(), out);
                    self.pipeline.push(PendingReply::Removal { of: 1 });
                }
                self.take(out);
                Meaning::Messages(if self.many { strings.count().saturating_sub(1) } else { 1 })
            }
            _ => Meaning::Other,
        }
    }
}

impl ListConsumer {
    fn take(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.take);
        self.pipeline.push(PendingReply::Message);
    }
}
