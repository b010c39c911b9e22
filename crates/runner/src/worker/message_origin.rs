//! Which run and which of its senders a message is from, and where it is noted when it was sent.

use engine::ConnId;
use workload::{Message, Purpose};

use super::WorkerContext;
use crate::delivery::SentTimes;

/// Whose messages a connection sends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MessageOrigin<'r> {
    run: u32,
    sender: u32,
    sent_times: Option<&'r SentTimes>,
}

impl<'r> WorkerContext<'r> {
    /// That of a connection's messages, if it sends any.
    #[inline]
    pub(crate) fn message_origin(&self, conn: ConnId) -> Option<MessageOrigin<'r>> {
        let (sender, sent_times) = (self.first_sender + conn.0, self.sent_times);
        self.run_id.map(|run| MessageOrigin { run, sender, sent_times })
    }
}

impl MessageOrigin<'_> {
    /// The message of this number, which was due and is sent at these times.
    #[inline]
    pub(crate) fn message(
        &self,
        measured: bool,
        number: u64,
        (due_ns, sent_ns): (u64, u64),
    ) -> Message {
        let purpose = Purpose::of_measured(measured);
        let Self { run, sender, sent_times } = *self;
        let message = Message { purpose, run, sender, number, due_ns, sent_ns };
        sent_times.inspect(|times| times.note(&message));
        message
    }
}
