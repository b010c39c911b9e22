//! Lists that receivers look into from time to time: LPOP or RPOP of one after another, and a pause when all are empty.

use engine::Engine;
use wire::Reply;

use super::awaited::{PendingReply, Pipeline};
use super::kind::{Consumer, Meaning};
use super::receivers::{Receivers, State};
use super::reply_strings::ReplyStrings;

/// A receiver that looks into lists.
pub(super) struct Poller {
    /// What takes a message off each list.
    takes: Vec<Vec<u8>>,
    /// The list that it looks into.
    at: usize,
    pipeline: Pipeline,
}

impl Poller {
    pub(super) fn new(takes: Vec<Vec<u8>>) -> Self {
        Self { takes, at: 0, pipeline: Pipeline::default() }
    }

    fn take(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.takes[self.at]);
        self.pipeline.push(PendingReply::Message);
    }
}

impl<E: Engine> Receivers<'_, E> {
    /// Lets those ask again whose pause is over.
    pub(super) fn resume(&mut self) {
        while let Some((due_ns, conn)) = self.pauses.front().copied() {
            if due_ns > self.engine.now_ns() {
                return;
            }
            self.pauses.pop_front();
            let receiver = &mut self.receivers[conn.0 as usize];
            // A cache may meet a place that is on its way before it is ready.
            if matches!(receiver.state, State::Ready | State::Asking { .. }) {
                self.out.clear();
                receiver.consumer.resume(&mut self.out);
                if self.out.is_empty() {
                    continue;
                }
                receiver.asked_ns = self.engine.send(conn, &self.out);
            }
        }
    }
}

impl Consumer for Poller {
    fn ask(&mut self, out: &mut Vec<u8>) -> u32 {
        self.pipeline.clear();
        self.pipeline.ping(out);
        self.resume(out);
        1
    }

    fn answer(&mut self, reply: Reply<'_>, _: &ReplyStrings, out: &mut Vec<u8>) -> Meaning {
        if matches!(reply, Reply::Push | Reply::Error(_)) {
            return Meaning::Other;
        }
        match (self.pipeline.next(), reply) {
            (Some(PendingReply::Pong), _) => Meaning::Confirmation,
            (Some(PendingReply::Message), Reply::Miss) if self.at + 1 < self.takes.len() => {
                self.at += 1;
                self.take(out);
                Meaning::Settled { missing: 0 }
            }
            (Some(PendingReply::Message), Reply::Miss) => Meaning::Empty,
            (Some(PendingReply::Message), _) => {
                self.resume(out);
                Meaning::Messages(1)
            }
            _ => Meaning::Other,
        }
    }

    /// The first list is looked into first.
    fn resume(&mut self, out: &mut Vec<u8>) {
        self.at = 0;
        self.take(out);
    }
}
