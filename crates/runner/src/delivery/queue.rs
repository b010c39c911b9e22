//! Queues: lists (LPUSH or RPUSH to BLPOP, BRPOP, BLMOVE, BLMPOP or a poll), sorted sets (ZADD to BZPOPMIN,
//! BZPOPMAX or BZMPOP) and streams. Streams are XADD to XREAD, where every receiver gets each entry, or to
//! XREADGROUP, where one receiver of each group gets and acknowledges it.
//!
//! They differ in the first requests, the commands that take messages and those that follow; [`Queues`] holds
//! these for each, and one [`QueueConsumer`] carries them out.
//!
//! With BLMOVE each receiver has a list of its own. A message is moved there, and removed (LREM) when it was
//! received. A receiver that dies in between leaves it there, and moves it back when it returns.

use measure::Tally;
use wire::Reply;
use workload::{Delivery, ListPop, ListPush, Named, Queue, SortedSetPop, StreamAck};

use super::awaited::{
    Commands, PendingReply, Pipeline, append_header, append_id, append_number, append_string,
    append_strings, encoded, is_unblocked, seconds,
};
use super::kind::{
    Consumer, Dispatch, Kind, Received, Remainder, acknowledged, count_and_remove, removal,
};
use super::reply_strings::{Capture, EntryId, ReplyStrings};

/// Entries that one XAUTOCLAIM takes over.
const CLAIMED_AT_ONCE: &str = "100";
/// Reads after which a claiming consumer claims again, even if it never waits in vain.
const READS_PER_CLAIM: u32 = 100;

/// The queues of a run.
pub(super) struct Queues<'r> {
    pub(super) delivery: &'r Delivery,
    pub(super) queue: Queue,
    /// Maximum number of messages that one call takes.
    pub(super) count: u32,
    /// Nanoseconds that a call waits; 0 for no limit.
    pub(super) block_ns: u64,
}

struct QueueConsumer {
    places: Vec<u32>,
    /// First commands: they make the groups, or take back messages left in the receiver's own list.
    first: Commands,
    /// Commands that take over messages of other consumers.
    claims: Commands,
    /// The blocking command, or the polls of one list after another.
    takes: Vec<Vec<u8>>,
    polls: bool,
    /// Index of the list that is polled next.
    at: usize,
    /// The last entry of each place, for readers that name their position.
    last: Vec<EntryId>,
    /// Counts the messages that a reply should have.
    payloads: fn(&ReplyStrings) -> u32,
    removal: Removal,
    reads: u32,
    pipeline: Pipeline,
    /// A buffer for IDs.
    id: Vec<u8>,
}

/// Request of a receiver after messages have come.
enum Removal {
    None,
    /// LREM, with its words before the payload.
    Payload(Vec<u8>),
    /// XACK or XACKDEL, with the words before the IDs for each place.
    Entries {
        words: Vec<Vec<u8>>,
        del: bool,
    },
}

impl Queues<'_> {
    fn names(&self, places: &[u32]) -> Vec<String> {
        places.iter().map(|place| self.delivery.place_name(*place)).collect()
    }

    /// Name of the list that BLMOVE moves messages to: one for each receiver, in the hash slot of its place.
    fn own_list(&self, place: u32, receiver: u32) -> String {
        format!("{{{}}}:taken-by:{receiver}", self.delivery.place_name(place))
    }

    /// A command that takes one message.
    fn take_one(&self, command: &str, names: &[&str]) -> Vec<u8> {
        encoded(&[&[command], names, &[&seconds(self.block_ns)]].concat())
    }

    /// A command that takes several messages from this end.
    fn take_several(&self, command: &str, names: &[&str], end: &str) -> Vec<u8> {
        let (keys, count) = (names.len().to_string(), self.count.to_string());
        let before: &[&str] = &[command, &seconds(self.block_ns), &keys];
        encoded(&[before, names, &[end, "COUNT", &count]].concat())
    }

    /// Prepares taking messages off lists, whose left end is `left`.
    fn take_lists(&self, consumer: &mut QueueConsumer, number: u32, pop: ListPop, left: bool) {
        let names = self.names(&consumer.places);
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let (source, place) = (names[0], consumer.places[0]);
        let end = if left { "LEFT" } else { "RIGHT" };
        let command = pop.name().to_uppercase();
        match pop {
            ListPop::Brpop | ListPop::Blpop => {
                consumer.takes = vec![self.take_one(&command, &names)]
            }
            ListPop::Blmpop => {
                consumer.takes = vec![self.take_several(&command, &names, end)];
                consumer.payloads = |strings| strings.count().saturating_sub(1);
            }
            ListPop::Blmove => {
                let own = self.own_list(place, number);
                let wait = seconds(self.block_ns);
                consumer.takes = vec![encoded(&[&command, source, &own, end, "LEFT", &wait])];
                consumer.first.add(&["LMOVE", &own, source, "LEFT", end]);
                let mut words = Vec::new();
                append_header(b'*', 4, &mut words);
                append_strings(&["LREM", &own, "1"], &mut words);
                consumer.removal = Removal::Payload(words);
            }
            ListPop::Lpop | ListPop::Rpop => {
                consumer.polls = true;
                consumer.takes = names.iter().map(|name| encoded(&[&command, name])).collect();
            }
        }
    }

    /// Takes messages out of sorted sets.
    fn take_sorted_sets(&self, consumer: &mut QueueConsumer, pop: SortedSetPop) {
        let names = self.names(&consumer.places);
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let command = pop.name().to_uppercase();
        if pop == SortedSetPop::Bzmpop {
            consumer.takes = vec![self.take_several(&command, &names, "MIN")];
            consumer.payloads = members;
        } else {
            consumer.takes = vec![self.take_one(&command, &names)];
        }
    }

    /// Prepares reading streams, as a consumer of a group if there are groups.
    fn read_streams(&self, consumer: &mut QueueConsumer, number: u32) {
        let Queue::Stream { groups, ack, claim_ns } = self.queue else { return };
        let names = self.names(&consumer.places);
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        // At least a millisecond, unless it waits for ever.
        let block = if self.block_ns == 0 { 0 } else { (self.block_ns / 1_000_000).max(1) };
        let (block, count) = (block.to_string(), self.count.to_string());
        consumer.payloads = |strings| strings.entries().len() as u32;
        if groups == 0 {
            let mut head = Vec::new();
            append_header(b'*', 6 + 2 * names.len(), &mut head);
            append_strings(&["XREAD", "COUNT", &count, "BLOCK", &block, "STREAMS"], &mut head);
            append_strings(&names, &mut head);
            consumer.takes = vec![head];
            consumer.last = vec![(0, 0); names.len()];
            return;
        }
        let (group, name) = (group(number % groups), format!("consumer-{}", number / groups));
        let mut words = vec!["XREADGROUP", "GROUP", &group, &name, "COUNT", &count];
        words.extend(["BLOCK", &block]);
        words.extend((ack == StreamAck::Noack).then_some("NOACK"));
        words.push("STREAMS");
        words.extend(&names);
        words.extend(names.iter().map(|_| ">"));
        consumer.takes = vec![encoded(&words)];
        let idle = (claim_ns / 1_000_000).max(1).to_string();
        let acknowledge = ack.name().to_uppercase();
        let mut acknowledgements = Vec::new();
        for stream in names {
            consumer.first.add(&["XGROUP", "CREATE", stream, &group, "0", "MKSTREAM"]);
            if claim_ns > 0 {
                let claim = ["XAUTOCLAIM", stream, &group, &name, &idle, "0-0"];
                consumer.claims.add(&[&claim[..], &["COUNT", CLAIMED_AT_ONCE]].concat());
            }
            let mut words = Vec::new();
            append_strings(&[&acknowledge, stream, &group], &mut words);
            acknowledgements.push(words);
        }
        if ack != StreamAck::Noack {
            let del = ack == StreamAck::Xackdel;
            consumer.removal = Removal::Entries { words: acknowledgements, del };
        }
    }
}

impl Kind for Queues<'_> {
    fn consumer(&self, receiver: u32) -> Box<dyn Consumer + '_> {
        let mut consumer = QueueConsumer {
            places: self.delivery.places_of(receiver).collect(),
            first: Commands::default(),
            claims: Commands::default(),
            takes: Vec::new(),
            polls: false,
            at: 0,
            last: Vec::new(),
            payloads: |_| 1,
            removal: Removal::None,
            reads: 0,
            pipeline: Pipeline::default(),
            id: Vec::new(),
        };
        let number = self.delivery.number_among_all(receiver);
        match self.queue {
            Queue::List { push, pop } => {
                self.take_lists(&mut consumer, number, pop, pop.takes_left(push));
            }
            Queue::SortedSet { pop, .. } => self.take_sorted_sets(&mut consumer, pop),
            Queue::Stream { .. } => self.read_streams(&mut consumer, number),
        }
        Box::new(consumer)
    }

    fn sharing(&self) -> Dispatch {
        match self.queue.groups() {
            0 => Dispatch::FanOut,
            groups => Dispatch::Competing { groups },
        }
    }

    fn capture(&self) -> Capture {
        let name = self.delivery.place_name(0).len();
        Capture {
            place_len: (self.delivery.places_each > 1).then_some(name),
            payload: matches!(self.queue, Queue::List { pop: ListPop::Blmove, .. }),
            entry_ids: matches!(self.queue, Queue::Stream { .. }),
            ..Capture::default()
        }
    }

    fn is_ordered(&self) -> bool {
        match self.queue {
            // Messages enter at one end and leave at the other. A reply to LPOP does not name its list.
            Queue::List { push, pop } => {
                let names_list = !pop.polls() || self.delivery.places_each == 1;
                pop.takes_left(push) != (push == ListPush::Lpush) && names_list
            }
            // Members of one score are in the order of their bytes, which is that of a sender's numbers where all
            // else is alike.
            Queue::SortedSet { pop, mixed } => pop != SortedSetPop::Bzpopmax && !mixed,
            // Claimed entries arrive after later ones.
            Queue::Stream { claim_ns, .. } => claim_ns == 0,
        }
    }

    fn pause_ns(&self) -> Option<u64> {
        let polls = matches!(self.queue, Queue::List { pop, .. } if pop.polls());
        polls.then_some(self.block_ns)
    }

    fn block_ns(&self) -> Option<u64> {
        Some(self.block_ns)
    }

    fn expected(&self, sending: &Tally) -> u64 {
        let receivers = self.delivery.of_all_clients().receivers_by_place()[0];
        let copies = self.sharing().copies(receivers);
        acknowledged(sending).saturating_mul(copies.into())
    }

    fn closing(&self, place: u32, out: &mut Vec<u8>) -> Vec<Remainder> {
        let name = self.delivery.place_name(place);
        match self.queue {
            Queue::List { pop, .. } => {
                let mut replies = count_and_remove(&name, "LLEN", out);
                if pop == ListPop::Blmove {
                    // Each has one place, which receivers take in turn.
                    let all = self.delivery.of_all_clients().receivers;
                    let receivers = (place..all).step_by(self.delivery.places as usize);
                    replies.extend(receivers.map(|n| removal(&self.own_list(place, n), out)));
                }
                replies
            }
            Queue::SortedSet { .. } => count_and_remove(&name, "ZCARD", out),
            Queue::Stream { groups, .. } => {
                (0..groups).for_each(|n| out.extend(encoded(&["XPENDING", &name, &group(n)])));
                let mut replies = vec![Remainder::Pending; groups as usize];
                replies.push(removal(&name, out));
                replies
            }
        }
    }
}

fn group(number: u32) -> String {
    format!("group-{number}")
}

/// Number of members in a reply to BZMPOP. Each has its score: a string in RESP2, a number in RESP3.
fn members(strings: &ReplyStrings) -> u32 {
    let behind_key = strings.count().saturating_sub(1);
    if strings.has_numbers() { behind_key } else { behind_key / 2 }
}

impl Consumer for QueueConsumer {
    fn is_settled(&self) -> bool {
        self.pipeline.is_settled()
    }

    fn ask(&mut self, out: &mut Vec<u8>) -> u32 {
        self.pipeline.clear();
        self.pipeline.ask(&self.first, PendingReply::Preparation, out);
        self.pipeline.ping(out);
        self.pipeline.ask(&self.claims, PendingReply::Claim, out);
        self.resume(out);
        1
    }

    fn answer(&mut self, reply: Reply<'_>, strings: &ReplyStrings, out: &mut Vec<u8>) -> Received {
        if reply == Reply::Push {
            return Received::Other;
        }
        if let Reply::Error(text) = reply {
            return self.refused(text, out);
        }
        match self.pipeline.next() {
            Some(PendingReply::Pong) => Received::Confirmation,
            Some(PendingReply::Preparation) => Received::Settled { missing: 0 },
            Some(PendingReply::Removal { of }) => {
                let missing = match reply {
                    Reply::Number(removed) => of.saturating_sub(removed),
                    _ => strings.negatives(),
                };
                Received::Settled { missing }
            }
            Some(PendingReply::Claim) => {
                let messages = strings.messages();
                let claimed = messages.iter().filter_map(|had| Some((had.place, had.entry?)));
                self.acknowledge(claimed, out);
                Received::Messages(messages.len() as u32)
            }
            Some(PendingReply::Message) if self.polls => self.looked(reply, out),
            Some(PendingReply::Message) => self.taken(reply, strings, out),
            None => Received::Other,
        }
    }

    /// Polls the first list.
    fn resume(&mut self, out: &mut Vec<u8>) {
        self.at = 0;
        self.take(out);
    }
}

impl QueueConsumer {
    #[inline]
    fn take(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.takes[self.at]);
        self.last.iter().for_each(|last| append_id(*last, &mut self.id, out));
        self.pipeline.push(PendingReply::Message);
    }

    /// Takes the reply to the blocking command.
    #[inline]
    fn taken(&mut self, reply: Reply<'_>, strings: &ReplyStrings, out: &mut Vec<u8>) -> Received {
        let is_miss = reply == Reply::Miss;
        match &self.removal {
            Removal::Payload(words) if !is_miss => {
                out.extend_from_slice(words);
                append_string(strings.payload(), out);
                self.pipeline.push(PendingReply::Removal { of: 1 });
            }
            _ => self.acknowledge(strings.entries().iter().copied(), out),
        }
        if !self.last.is_empty() {
            for (place, entry) in strings.entries() {
                let at = self.position(*place);
                self.last[at] = *entry;
            }
        }
        self.reads += 1;
        if is_miss || self.reads.is_multiple_of(READS_PER_CLAIM) {
            self.pipeline.ask(&self.claims, PendingReply::Claim, out);
        }
        self.take(out);
        if is_miss { Received::TimedOut } else { Received::Messages((self.payloads)(strings)) }
    }

    /// Takes the reply to a poll: polls the next list, or pauses after the last.
    fn looked(&mut self, reply: Reply<'_>, out: &mut Vec<u8>) -> Received {
        if reply != Reply::Miss {
            self.resume(out);
            return Received::Messages(1);
        }
        if self.at + 1 == self.takes.len() {
            return Received::Empty;
        }
        self.at += 1;
        self.take(out);
        Received::Settled { missing: 0 }
    }

    /// Returns the meaning of an error reply: an existing group is no error, and a missing one is made again.
    fn refused(&mut self, text: &[u8], out: &mut Vec<u8>) -> Received {
        let meaning = match self.pipeline.peek() {
            Some(PendingReply::Preparation) if text.starts_with(b"BUSYGROUP") => {
                Received::Settled { missing: 0 }
            }
            Some(PendingReply::Claim) if text.starts_with(b"NOGROUP") => {
                Received::Settled { missing: 0 }
            }
            Some(PendingReply::Message) if is_unblocked(text) || text.starts_with(b"NOGROUP") => {
                Received::Unblocked
            }
            _ => return Received::Other,
        };
        self.pipeline.next();
        if meaning == Received::Unblocked {
            self.pipeline.ask(&self.first, PendingReply::Preparation, out);
            self.take(out);
        }
        meaning
    }

    /// Returns the index of a place among the receiver's own; 0 if a reply names none.
    #[inline]
    fn position(&self, place: Option<u32>) -> usize {
        place.and_then(|place| self.places.iter().position(|own| *own == place)).unwrap_or(0)
    }

    /// Acknowledges these entries, with one command for adjacent entries of one stream.
    fn acknowledge(
        &mut self,
        entries: impl Iterator<Item = (Option<u32>, EntryId)> + Clone,
        out: &mut Vec<u8>,
    ) {
        let Removal::Entries { words, del } = &self.removal else { return };
        let mut entries = entries.peekable();
        while let Some((place, _)) = entries.peek().copied() {
            let together = entries.clone().take_while(|(other, _)| *other == place).count();
            append_header(b'*', 3 + together + if *del { 3 } else { 0 }, out);
            out.extend_from_slice(&words[self.position(place)]);
            if *del {
                // An entry goes when all groups have acknowledged it.
                append_string(b"ACKED", out);
                append_string(b"IDS", out);
                self.id.clear();
                append_number(together as u64, &mut self.id);
                append_string(&self.id, out);
            }
            for (_, entry) in entries.by_ref().take(together) {
                append_id(entry, &mut self.id, out);
            }
            self.pipeline.push(PendingReply::Removal { of: together as u32 });
        }
    }
}
