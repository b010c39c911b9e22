//! Run and sender of a message, and the record of its sending time.

use engine::ConnId;
use workload::{Message, MessageNumbers, Purpose};

use super::WorkerContext;
use crate::messages::SentTimes;

/// Origin of a connection's messages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MessageOrigin<'r> {
    run: u32,
    sender: u32,
    numbers: MessageNumbers,
    sent_times: Option<&'r SentTimes>,
    /// Start of the times in its messages, on this process's clock.
    epoch_ns: u64,
}

impl<'r> WorkerContext<'r> {
    /// Returns the origin of a connection's messages, if it sends any.
    #[inline]
    pub(crate) fn message_origin(&self, conn: ConnId) -> Option<MessageOrigin<'r>> {
        let (run, numbers) = self.messages?;
        let (sender, sent_times) = (self.first_sender + conn.0, self.sent_times);
        // Processes that exchange messages share one epoch: the agreed start.
        let epoch_ns = self.plan.exchange().map_or(0, |_| self.gate.agreed_ns());
        Some(MessageOrigin { run, sender, numbers, sent_times, epoch_ns })
    }
}

impl MessageOrigin<'_> {
    /// Returns the message of the request with this number and these due and sending times.
    #[inline]
    pub(crate) fn message(&self, counts: bool, number: u64, due_ns: u64, sent_ns: u64) -> Message {
        let purpose = if counts { Purpose::Measured } else { Purpose::Warmup };
        let Self { run, sender, numbers, sent_times, epoch_ns } = *self;
        let number = numbers.of_request(number);
        let (due_ns, sent_ns) = (due_ns.saturating_sub(epoch_ns), sent_ns.saturating_sub(epoch_ns));
        let message = Message { purpose, run, sender, number, due_ns, sent_ns };
        sent_times.inspect(|times| times.note(&message));
        message
    }
}
