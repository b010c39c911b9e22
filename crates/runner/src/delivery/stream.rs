//! Streams: XADD to XREAD, by which every receiver gets each entry, or to XREADGROUP, by which one of each group does
//! and acknowledges it.

use measure::Tally;
use wire::Reply;
use wire::resp::encode_command;
use workload::{Delivery, StreamAck, StreamTake};

use super::awaited::{
    PendingReply, Pipeline, append_header, append_number, append_string, is_unblocked,
};
use super::closing::{Remainder, append_removal};
use super::kind::{Consumer, Dispatch, Kind, Meaning, acknowledged};
use super::reply_strings::{Capture, EntryId, ReplyStrings};

/// Entries that one XAUTOCLAIM takes over.
const CLAIMED_AT_ONCE: &str = "100";
/// Reads after which a consumer that claims does so again, also where it never waits in vain.
const READS_PER_CLAIM: u32 = 100;

/// Streams that entries are read from.
pub(super) struct Streams<'r> {
    pub(super) delivery: &'r Delivery,
    pub(super) take: StreamTake,
    /// Nanoseconds that a call waits; 0 is without end.
    pub(super) block_ns: u64,
}

/// A receiver without a group: it asks for what comes after the last entry that it had of each stream.
struct Reader {
    places: Vec<u32>,
    /// What stands in front of the IDs.
    head: Vec<u8>,
    /// By its places.
    last: Vec<EntryId>,
    pipeline: Pipeline,
    id: Vec<u8>,
}

/// A consumer of a group.
struct GroupConsumer {
    places: Vec<u32>,
    ack: StreamAck,
    /// What makes the group of each stream.
    groups: Vec<u8>,
    /// What takes over what others had; empty if it takes over nothing.
    claims: Vec<u8>,
    read: Vec<u8>,
    /// By its places: the words of an acknowledgement in front of its IDs.
    acknowledgements: Vec<Vec<u8>>,
    reads: u32,
    pipeline: Pipeline,
    id: Vec<u8>,
}

impl Streams<'_> {
    /// Milliseconds that a call waits, at least one unless it waits for ever.
    fn block_ms(&self) -> String {
        match self.block_ns {
            0 => "0".to_owned(),
            ns => (ns / 1_000_000).max(1).to_string(),
        }
    }

    fn names(&self, places: &[u32]) -> Vec<String> {
        places.iter().map(|place| self.delivery.place_name(*place)).collect()
    }

    fn reader(&self, places: Vec<u32>) -> Reader {
        let (block, count) = (self.block_ms(), self.take.count.to_string());
        let mut head = Vec::new();
        append_header(b'*', 6 + 2 * places.len(), &mut head);
        for word in ["XREAD", "COUNT", &count, "BLOCK", &block, "STREAMS"] {
            append_string(word.as_bytes(), &mut head);
        }
        self.names(&places).iter().for_each(|name| append_string(name.as_bytes(), &mut head));
        let last = vec![(0, 0); places.len()];
        Reader { places, head, last, pipeline: Pipeline::default(), id: Vec::new() }
    }

    fn group_consumer(&self, receiver: u32, places: Vec<u32>) -> GroupConsumer {
        let group = group(receiver % self.take.groups);
        let consumer = format!("consumer-{}", receiver / self.take.groups);
        let (block, count) = (self.block_ms(), self.take.count.to_string());
        let names = self.names(&places);
        let (mut groups, mut claims, mut read) = (Vec::new(), Vec::new(), Vec::new());
        let mut words: Vec<&str> = vec!["XREADGROUP", "GROUP", &group, &consumer, "COUNT", &count];
        words.extend(["BLOCK", &block]);
        words.extend((self.take.ack == StreamAck::Noack).then_some("NOACK"));
        words.push("STREAMS");
        words.extend(names.iter().map(String::as_str));
        words.extend(names.iter().map(|_| ">"));
        append_words(&words, &mut read);
        let idle = (self.take.claim_ns / 1_000_000).max(1).to_string();
        let command = if self.take.ack == StreamAck::Xackdel { "XACKDEL" } else { "XACK" };
        let mut acknowledgements = Vec::new();
        for name in &names {
            append_words(&["XGROUP", "CREATE", name, &group, "0", "MKSTREAM"], &mut groups);
            if self.take.claim_ns > 0 {
                let words =
                    ["XAUTOCLAIM", name, &group, &consumer, &idle, "0-0", "COUNT", CLAIMED_AT_ONCE];
                append_words(&words, &mut claims);
            }
            let mut words = Vec::new();
            for word in [command, name, &group] {
                append_string(word.as_bytes(), &mut words);
            }
            acknowledgements.push(words);
        }
        GroupConsumer {
            places,
            ack: self.take.ack,
            groups,
            claims,
            read,
            acknowledgements,
            reads: 0,
            pipeline: Pipeline::default(),
            id: Vec::new(),
        }
    }
}

impl Kind for Streams<'_> {
    fn consumer(&self, receiver: u32) -> Box<dyn Consumer + '_> {
        let places: Vec<u32> = self.delivery.places_of(receiver).collect();
        match self.take.groups {
            0 => Box::new(self.reader(places)),
            _ => Box::new(self.group_consumer(self.delivery.number_among_all(receiver), places)),
        }
    }

    fn sharing(&self) -> Dispatch {
        match self.take.groups {
            0 => Dispatch::FanOut,
            groups => Dispatch::Competing { groups },
        }
    }

    fn capture(&self) -> Capture {
        let name = self.delivery.place_name(0).len();
        Capture {
            place_len: (self.delivery.places_each > 1).then_some(name),
            entry_ids: true,
            ..Capture::default()
        }
    }

    /// What is claimed comes behind later entries.
    fn is_ordered(&self) -> bool {
        self.take.claim_ns == 0
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
        let mut replies = Vec::new();
        for number in 0..self.take.groups {
            append_words(&["XPENDING", &name, &group(number)], out);
            replies.push(Remainder::Pending);
        }
        append_removal(&name, &mut replies, out);
        replies
    }
}

fn group(number: u32) -> String {
    format!("group-{number}")
}

fn append_words(words: &[&str], out: &mut Vec<u8>) {
    let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
    encode_command(&words, out);
}

/// Appends the ID of an entry as a string; `text` is a buffer to write in.
#[inline]
fn append_id((ms, number): EntryId, text: &mut Vec<u8>, out: &mut Vec<u8>) {
    text.clear();
    append_number(ms, text);
    text.push(b'-');
    append_number(number, text);
    append_string(text, out);
}

impl Consumer for Reader {
    fn is_settled(&self) -> bool {
        self.pipeline.is_settled()
    }

    fn ask(&mut self, out: &mut Vec<u8>) -> u32 {
        self.pipeline.clear();
        self.pipeline.ping(out);
        self.read(out);
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
                self.read(out);
                return Meaning::Unblocked;
            }
            return Meaning::Other;
        }
        self.pipeline.next();
        match awaited {
            Some(PendingReply::Pong) => Meaning::Confirmation,
            Some(PendingReply::Message) => {
                for (place, entry) in strings.entries() {
                    let at =
                        place.and_then(|place| self.places.iter().position(|own| *own == place));
                    self.last[at.unwrap_or(0)] = *entry;
                }
                self.read(out);
                match reply {
                    Reply::Miss => Meaning::TimedOut,
                    _ => Meaning::Messages(strings.entries().len() as u32),
                }
            }
            _ => Meaning::Other,
        }
    }
}

impl Reader {
    fn read(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.head);
        self.last.iter().for_each(|last| append_id(*last, &mut self.id, out));
        self.pipeline.push(PendingReply::Message);
    }
}

impl Consumer for GroupConsumer {
    fn is_settled(&self) -> bool {
        self.pipeline.is_settled()
    }

    fn ask(&mut self, out: &mut Vec<u8>) -> u32 {
        self.pipeline.clear();
        self.make_groups(out);
        self.pipeline.ping(out);
        self.claim(out);
        self.read(out);
        1
    }

    fn answer(&mut self, reply: Reply<'_>, strings: &ReplyStrings, out: &mut Vec<u8>) -> Meaning {
        let awaited = self.pipeline.peek();
        if reply == Reply::Push {
            return Meaning::Other;
        }
        if let Reply::Error(text) = reply {
            return self.refused(awaited, text, out);
        }
        self.pipeline.next();
        match awaited {
            Some(PendingReply::Pong) => Meaning::Confirmation,
            Some(PendingReply::Preparation) => Meaning::Settled { missing: 0 },
            Some(PendingReply::Removal { of }) => {
                let missing = match reply {
                    Reply::Number(removed) => of.saturating_sub(removed),
                    _ => strings.negatives(),
                };
                Meaning::Settled { missing }
            }
            Some(PendingReply::Claim) => {
                let messages = strings.messages();
                let claimed = messages.iter().filter_map(|had| Some((had.place, had.entry?)));
                self.acknowledge(claimed, out);
                Meaning::Messages(messages.len() as u32)
            }
            Some(PendingReply::Message) => {
                self.acknowledge(strings.entries().iter().copied(), out);
                self.reads += 1;
                if reply == Reply::Miss || self.reads.is_multiple_of(READS_PER_CLAIM) {
                    self.claim(out);
                }
                self.read(out);
                match reply {
                    Reply::Miss => Meaning::TimedOut,
                    _ => Meaning::Messages(strings.entries().len() as u32),
                }
            }
            None => Meaning::Other,
        }
    }
}

impl GroupConsumer {
    /// What becomes of an error: a group that is there already is none, and one that is gone is made again.
    fn refused(
        &mut self,
        awaited: Option<PendingReply>,
        text: &[u8],
        out: &mut Vec<u8>,
    ) -> Meaning {
        match awaited {
            Some(PendingReply::Preparation) if text.starts_with(b"BUSYGROUP") => {
                self.pipeline.next();
                Meaning::Settled { missing: 0 }
            }
            Some(PendingReply::Claim) if text.starts_with(b"NOGROUP") => {
                self.pipeline.next();
                Meaning::Settled { missing: 0 }
            }
            Some(PendingReply::Message) if is_unblocked(text) || text.starts_with(b"NOGROUP") => {
                self.pipeline.next();
                self.make_groups(out);
                self.read(out);
                Meaning::Unblocked
            }
            _ => Meaning::Other,
        }
    }

    fn make_groups(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.groups);
        self.places.iter().for_each(|_| self.pipeline.push(PendingReply::Preparation));
    }

    fn claim(&mut self, out: &mut Vec<u8>) {
        if !self.claims.is_empty() {
            out.extend_from_slice(&self.claims);
            self.places.iter().for_each(|_| self.pipeline.push(PendingReply::Claim));
        }
    }

    fn read(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.read);
        self.pipeline.push(PendingReply::Message);
    }

    /// Acknowledges these entries, with one command for those of one stream that stand together.
    fn acknowledge(
        &mut self,
        entries: impl Iterator<Item = (Option<u32>, EntryId)> + Clone,
        out: &mut Vec<u8>,
    ) {
        if self.ack == StreamAck::Noack {
            return;
        }
        let mut entries = entries.peekable();
        while let Some((place, _)) = entries.peek().copied() {
            let together = entries.clone().take_while(|(other, _)| *other == place).count();
            let at = place.and_then(|place| self.places.iter().position(|own| *own == place));
            let words = &self.acknowledgements[at.unwrap_or(0)];
            let del = self.ack == StreamAck::Xackdel;
            append_header(b'*', 3 + together + if del { 3 } else { 0 }, out);
            out.extend_from_slice(words);
            if del {
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
