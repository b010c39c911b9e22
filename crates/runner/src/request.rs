//! What was sent and is not answered yet.

use std::collections::VecDeque;

use measure::Outcome;
use wire::KeyNumber;

use crate::recorded::RecordedCommand;

/// Requests that were sent together on one connection and are answered in order. `M` is what the
/// route notes of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request<M> {
    /// Number of the sequence that the next reply belongs to: its bytes follow from it, so they can be
    /// made again.
    pub(crate) number: u64,
    /// Time at which its commands were due; in a closed loop when they were first sent, which is not known before. For
    /// a later step, when the operation was due.
    pub(crate) intended_ns: u64,
    /// Time at which its commands were first handed to the kernel; 0 before. For a later step, the time of its
    /// operation's first step.
    pub(crate) sent_ns: u64,
    /// Time at which they were last handed to the kernel: later than `sent_ns` if they were sent again, elsewhere.
    pub(crate) handed_ns: u64,
    /// Index in the sequence of the command that the next reply answers.
    pub(crate) command: u32,
    /// Replies still to come, at least 1.
    pub(crate) left: u32,
    /// Sent in the measured part, not in the warm-up.
    pub(crate) measured: bool,
    /// Progress of its operation.
    pub(crate) progress: OperationState,
    /// See `M`.
    pub(crate) mark: M,
}

impl<M> Request<M> {
    /// A command of a record, with when it is due on the engine's clock. One that waits for other clients is in no
    /// figure.
    #[inline]
    pub(crate) fn recorded(number: u64, command: &RecordedCommand, due_ns: u64, mark: M) -> Self {
        Self {
            number,
            intended_ns: due_ns,
            sent_ns: 0,
            handed_ns: 0,
            command: command.command,
            left: 1,
            measured: !command.blocks,
            progress: OperationState::default(),
            mark,
        }
    }
}

/// Progress of an operation, of a plan that has a mix of them.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OperationState {
    /// Index of the operation in the mix.
    pub(crate) operation: u32,
    /// Index of the step in the operation.
    pub(crate) step: u16,
    /// A reply of this step said that there was nothing.
    pub(crate) missed: bool,
    /// Set if a reply to an earlier step said so.
    pub(crate) missed_before: bool,
    /// A reply was an error.
    pub(crate) failed: bool,
    /// Set if the request is to be sent again for that reason.
    pub(crate) again: bool,
    /// Number of times this step was sent again.
    pub(crate) retries: u32,
    /// Time at which the commands of a later step were first handed to the kernel; 0 before.
    pub(crate) step_ns: u64,
    /// The number of its key, if that depends on what the run has inserted.
    pub(crate) key: Option<KeyNumber>,
    /// Place of the value that it has kept plus 1; 0 for none.
    pub(crate) kept: u32,
    /// Set if a reply brought the value as a string, or said that there is none.
    pub(crate) kept_string: bool,
    /// Offset in the kept value of the string that is next.
    pub(crate) at: u32,
}

impl OperationState {
    /// Returns the state of an operation that begins, with this key if it is not drawn from its number.
    pub(crate) fn new(operation: u32, key: Option<KeyNumber>) -> Self {
        Self { operation, key, ..Self::default() }
    }

    /// Returns the state of the operation in a later step.
    pub(crate) fn then(self, step: u16) -> Self {
        let Self { operation, kept, kept_string, key, .. } = self;
        let missed_before = self.has_missed();
        Self { operation, step, missed_before, kept, kept_string, key, ..Self::default() }
    }

    /// Returns whether something of it was sent before.
    #[inline]
    pub(crate) fn is_under_way(self) -> bool {
        self.step > 0 || self.retries > 0
    }

    /// Returns whether any reply so far said that there was nothing.
    pub(crate) fn has_missed(self) -> bool {
        self.missed || self.missed_before
    }
}

/// Answered command, as the recorder knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CommandReply {
    /// See [`Request::intended_ns`].
    pub(crate) intended_ns: u64,
    /// See [`Request::sent_ns`].
    pub(crate) sent_ns: u64,
    /// Time at which the first byte of the replies to what was sent with it was read.
    pub(crate) first_byte_ns: u64,
    /// Index of the command in the sequence.
    pub(crate) command: u32,
    /// See [`Request::measured`].
    pub(crate) measured: bool,
}

/// A command that was answered without an error, and with what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) answered: CommandReply,
    pub(crate) outcome: Outcome,
    /// Bytes of the reply, where they are counted by command.
    pub(crate) bytes: u64,
    /// Place in the reply that tells how many keys were there.
    pub(crate) keys: Keys,
}

/// Keys of one request: 0 where nobody asks how many.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Keys {
    pub(crate) asked: u32,
    pub(crate) found: u32,
}

impl<M: Copy> Request<M> {
    /// Returns the request for the same command, to be sent once more. Its times stay those of the first try.
    pub(crate) fn once_more(&self) -> Self {
        let OperationState { retries, .. } = self.progress;
        let progress =
            OperationState { retries: retries + 1, again: false, failed: false, ..self.progress };
        Self { handed_ns: 0, left: 1, progress, ..*self }
    }
}

impl<M> Request<M> {
    /// Notes when the request was handed to the kernel; in a closed loop it is due at that time. Returns whether its
    /// operation was handed over for the first time: neither a retry nor a later step.
    #[inline]
    pub(crate) fn handed(&mut self, sent_ns: u64, closed_loop: bool) -> bool {
        self.handed_ns = sent_ns;
        if self.progress.retries > 0 {
            return false;
        }
        if self.progress.step > 0 {
            self.progress.step_ns = sent_ns;
            return false;
        }
        self.sent_ns = sent_ns;
        if closed_loop {
            self.intended_ns = sent_ns;
        }
        true
    }

    /// Time at which its commands were first handed to the kernel; 0 before.
    #[inline]
    pub(crate) fn first_handed_ns(&self) -> u64 {
        if self.progress.step == 0 { self.sent_ns } else { self.progress.step_ns }
    }

    /// The command that the next reply answers.
    #[inline]
    pub(crate) fn answered(&self, first_byte_ns: u64) -> CommandReply {
        // A later step is due when it can be sent.
        let sent_ns = self.first_handed_ns();
        let intended_ns = if self.progress.step == 0 { self.intended_ns } else { sent_ns };
        CommandReply {
            intended_ns,
            sent_ns,
            first_byte_ns,
            command: self.command,
            measured: self.measured,
        }
    }
}

/// The requests of one connection, oldest first.
#[derive(Debug)]
pub(crate) struct Requests<M> {
    queue: VecDeque<Request<M>>,
    commands: u32,
    /// Time of the last sending of what is being answered, and time at which its first byte was read.
    first_byte: (u64, u64),
}

impl<M> Default for Requests<M> {
    fn default() -> Self {
        Self { queue: VecDeque::new(), commands: 0, first_byte: (u64::MAX, 0) }
    }
}

impl<M: Copy> Requests<M> {
    /// Adds requests that were just sent.
    #[inline]
    pub(crate) fn push(&mut self, request: Request<M>) {
        debug_assert!(request.left > 0, "nothing was sent");
        self.commands += request.left;
        self.queue.push_back(request);
    }

    /// The oldest, which the next reply answers.
    #[inline]
    pub(crate) fn oldest_mut(&mut self) -> Option<&mut Request<M>> {
        self.queue.front_mut()
    }

    /// Returns the `count` requests that were added last.
    #[inline]
    pub(crate) fn newest_mut(&mut self, count: usize) -> impl Iterator<Item = &mut Request<M>> {
        let older = self.queue.len().saturating_sub(count);
        self.queue.range_mut(older..)
    }

    /// Takes the next reply's command off. When the first byte was read of what it answers, and its
    /// request with what is left of it, until [`Self::advance`]; `None` if nothing was asked.
    ///
    /// Nothing is copied here: what was just written of a request would have to reach memory first.
    #[inline]
    pub(crate) fn settle(&mut self, now_ns: u64) -> Option<(u64, &mut Request<M>)> {
        self.settle_many(1, now_ns)
    }

    /// Number of oldest requests in a row that wait for one reply each, to this command.
    #[inline]
    pub(crate) fn alike(&self, command: u32) -> u32 {
        let is_alike = |request: &&Request<M>| request.command == command && request.left == 1;
        self.queue.iter().take_while(is_alike).count() as u32
    }

    /// Takes the commands of the next `count` replies off, all of the oldest request.
    #[inline]
    pub(crate) fn settle_many(
        &mut self,
        count: u32,
        now_ns: u64,
    ) -> Option<(u64, &mut Request<M>)> {
        let first_byte_ns = self.reply_begun(now_ns)?;
        let oldest = self.queue.front_mut()?;
        self.commands -= count;
        oldest.left -= count;
        Some((first_byte_ns, oldest))
    }

    /// Goes on behind `count` replies to the oldest request, in a sequence of one command.
    #[inline]
    pub(crate) fn advance_many(&mut self, count: u32) {
        match self.queue.front_mut() {
            Some(oldest) if oldest.left > 0 => {
                oldest.number = oldest.number.wrapping_add(count.into());
            }
            _ => drop(self.queue.pop_front()),
        }
    }

    /// Goes on to what the next reply answers.
    #[inline]
    pub(crate) fn advance(&mut self, sequence_len: u32) {
        match self.queue.front_mut() {
            Some(oldest) if oldest.left > 0 => {
                oldest.command += 1;
                if oldest.command == sequence_len {
                    oldest.command = 0;
                    oldest.number = oldest.number.wrapping_add(1);
                }
            }
            _ => drop(self.queue.pop_front()),
        }
    }

    /// Notes that part of the next reply was read, and says when the first byte was of all that
    /// was sent with it.
    #[inline]
    pub(crate) fn reply_begun(&mut self, now_ns: u64) -> Option<u64> {
        let oldest = self.queue.front()?;
        if self.first_byte.0 != oldest.handed_ns {
            self.first_byte = (oldest.handed_ns, now_ns);
        }
        Some(self.first_byte.1)
    }

    /// Returns whether the oldest is in no figure, nor what it was sent for: of two with one number that is the second.
    pub(crate) fn oldest_is_unmeasured(&self) -> bool {
        let mut oldest = self.queue.iter();
        match (oldest.next(), oldest.next()) {
            (Some(first), Some(second)) if first.number == second.number => !second.measured,
            (Some(first), _) => !first.measured,
            (None, _) => false,
        }
    }

    /// Number of requests.
    #[inline]
    pub(crate) fn len(&self) -> u32 {
        self.queue.len() as u32
    }

    /// Commands without a reply.
    #[inline]
    pub(crate) fn commands(&self) -> u32 {
        self.commands
    }

    /// Time at which the oldest was last sent.
    #[inline]
    pub(crate) fn oldest_ns(&self) -> Option<u64> {
        self.queue.front().map(|request| request.handed_ns)
    }

    /// Forgets all and counts those that were measured. What was sent at `overdue_ns` or before
    /// has timed out; 0 is for none. Of the oldest, `withheld` replies came that count for nothing
    /// now. `lost` tells how many commands of each are to be counted.
    pub(crate) fn abandon(
        &mut self,
        overdue_ns: u64,
        withheld: u64,
        mut lost: impl FnMut(&Request<M>) -> u64,
    ) -> LostRequests {
        self.commands = 0;
        self.first_byte = (u64::MAX, 0);
        let mut abandoned = LostRequests::default();
        let mut withheld = withheld;
        for request in self.queue.drain(..) {
            let commands = lost(&request) + std::mem::take(&mut withheld);
            if !request.measured {
                continue;
            }
            if overdue_ns > 0 && request.handed_ns <= overdue_ns {
                abandoned.timed_out += commands;
            } else {
                abandoned.lost += commands;
            }
        }
        abandoned
    }
}

/// Measured requests that will have no reply.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LostRequests {
    /// Requests whose time was over.
    pub(crate) timed_out: u64,
    /// Requests whose connection ended before their time was over.
    pub(crate) lost: u64,
}

impl LostRequests {
    /// All of them.
    pub(crate) fn total(self) -> u64 {
        self.timed_out + self.lost
    }
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
