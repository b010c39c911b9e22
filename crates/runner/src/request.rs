//! Requests that were sent and are not answered yet.

use std::collections::VecDeque;

use measure::Outcome;
use wire::KeyNumber;
use workload::DueRequest;

/// Requests that were sent together on one connection and are answered in order. `M` is the route's note on
/// them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request<M> {
    /// Number in the sequence of the request that the next reply belongs to. Its bytes follow from that
    /// number.
    pub(crate) number: u64,
    /// Time at which its commands were due. In a closed loop this is the first sending, unknown before then.
    /// For a later step, the time at which the operation was due.
    pub(crate) intended_ns: u64,
    /// Time at which its commands were first handed to the kernel; 0 before. For a later step, that time of
    /// the operation's first step.
    pub(crate) sent_ns: u64,
    /// Time at which its commands were last handed to the kernel; after a retry it is later than `sent_ns`.
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
    /// Creates the request for one of a source that is due at `due_ns` on the engine's clock. One
    /// that waits for other clients is not measured.
    #[inline]
    pub(crate) fn sourced(number: u64, command: &DueRequest, due_ns: u64, mark: M) -> Self {
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

/// Progress of an operation in a plan with a mix.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OperationState {
    /// Index of the operation in the mix.
    pub(crate) operation: u32,
    /// Set if each of its replies ends an operation: those of one command in a row, of which nothing is kept and
    /// none is retried.
    pub(crate) is_run: bool,
    /// Index of the step in the operation.
    pub(crate) step: u16,
    /// Set if a reply of this step found nothing.
    pub(crate) missed: bool,
    /// Set if a reply of an earlier step found nothing.
    pub(crate) missed_before: bool,
    /// A reply was an error.
    pub(crate) failed: bool,
    /// Set if the request is to be sent again because it missed.
    pub(crate) again: bool,
    /// Number of times this step was sent again.
    pub(crate) retries: u32,
    /// Time at which the commands of a later step were first handed to the kernel; 0 before.
    pub(crate) step_ns: u64,
    /// Number of its key, if that depends on the run's inserts.
    pub(crate) key: Option<KeyNumber>,
    /// Position of its kept value plus 1; 0 for none.
    pub(crate) kept: u32,
    /// Set if a reply returned the value as a string or as missing.
    pub(crate) kept_string: bool,
    /// Offset of the next string in the kept value.
    pub(crate) at: u32,
}

impl OperationState {
    /// Creates the state of a new operation, with its key if that does not follow from its number.
    pub(crate) fn new(operation: u32, key: Option<KeyNumber>) -> Self {
        Self { operation, key, ..Self::default() }
    }

    /// Returns the state of the operation in a later step.
    pub(crate) fn then(self, step: u16) -> Self {
        let Self { operation, kept, kept_string, key, .. } = self;
        let missed_before = self.has_missed();
        Self { operation, step, missed_before, kept, kept_string, key, ..Self::default() }
    }

    /// Returns whether a part of the operation was already sent.
    #[inline]
    pub(crate) fn is_under_way(self) -> bool {
        self.step > 0 || self.retries > 0
    }

    /// Returns whether any reply so far found nothing.
    pub(crate) fn has_missed(self) -> bool {
        self.missed || self.missed_before
    }
}

/// Answered command, for the recorder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CommandReply {
    /// See [`Request::intended_ns`].
    pub(crate) intended_ns: u64,
    /// See [`Request::sent_ns`].
    pub(crate) sent_ns: u64,
    /// Time at which the first byte of the replies to the same batch was read.
    pub(crate) first_byte_ns: u64,
    /// Index of the command in the sequence.
    pub(crate) command: u32,
    /// See [`Request::measured`].
    pub(crate) measured: bool,
}

/// Reply without an error, and its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SettledReply {
    pub(crate) answered: CommandReply,
    pub(crate) outcome: Outcome,
    /// Bytes of the reply, if they are counted by command.
    pub(crate) bytes: u64,
    /// Keys that the reply found.
    pub(crate) keys: Keys,
}

/// Keys of one request and how many exist; 0 where that is not counted.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Keys {
    pub(crate) asked: u32,
    pub(crate) found: u32,
}

impl<M: Copy> Request<M> {
    /// Returns a copy of the request for a retry, with the times of the first try.
    pub(crate) fn once_more(&self) -> Self {
        let OperationState { retries, .. } = self.progress;
        let progress =
            OperationState { retries: retries + 1, again: false, failed: false, ..self.progress };
        Self { handed_ns: 0, left: 1, progress, ..*self }
    }
}

impl<M> Request<M> {
    /// Notes the hand-over to the kernel, which in a closed loop is also the due time. Returns whether this
    /// begins an operation, rather than a retry or a later step.
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
    /// Sending time of the batch that is being answered, and time at which its first reply byte was read.
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

    /// Returns the oldest request, which the next reply answers.
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

    /// Takes off the next reply's command. Returns the read time of the first byte of its batch and the rest
    /// of its request, valid until [`Self::advance`]; `None` if nothing was sent.
    ///
    /// Copies nothing: a copy of a request written just before would have to wait for memory.
    #[inline]
    pub(crate) fn settle(&mut self, now_ns: u64) -> Option<(u64, &mut Request<M>)> {
        self.settle_many(1, now_ns)
    }

    /// Number of operations at the front that each await one reply, all to the same command.
    #[inline]
    pub(crate) fn alike(&self) -> u32 {
        let command = self.queue.front().map_or(0, |oldest| oldest.command);
        let alike = self.queue.iter().take_while(|request| {
            request.command == command && (request.left == 1 || request.progress.is_run)
        });
        alike.map(|request| request.left).sum()
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

    /// Advances past `count` replies to the oldest request, in a sequence of one command.
    #[inline]
    pub(crate) fn advance_many(&mut self, count: u32) {
        match self.queue.front_mut() {
            Some(oldest) if oldest.left > 0 => {
                oldest.number = oldest.number.wrapping_add(count.into());
            }
            _ => drop(self.queue.pop_front()),
        }
    }

    /// Advances to the command that the next reply answers.
    #[inline]
    pub(crate) fn advance(&mut self, sequence_len: u32) {
        match self.queue.front_mut() {
            Some(oldest) if oldest.left > 0 && oldest.progress.is_run => {
                oldest.number = oldest.number.wrapping_add(1);
            }
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

    /// Notes that part of the next reply was read. Returns the read time of the first byte of its batch.
    #[inline]
    pub(crate) fn reply_begun(&mut self, now_ns: u64) -> Option<u64> {
        let oldest = self.queue.front()?;
        if self.first_byte.0 != oldest.handed_ns {
            self.first_byte = (oldest.handed_ns, now_ns);
        }
        Some(self.first_byte.1)
    }

    /// Returns whether neither the oldest request nor its operation is measured. Of two requests with one
    /// number, that is the second.
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

    /// Forgets all requests and counts the measured ones as lost, or as timed out if sent at `overdue_ns` or
    /// before (0: none). `withheld` replies to the oldest were held back and no longer count. `lost` says how
    /// many commands of each request to count.
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
    /// Requests that had timed out.
    pub(crate) timed_out: u64,
    /// Requests whose connection ended before they timed out.
    pub(crate) lost: u64,
}

impl LostRequests {
    /// Returns the sum of both.
    pub(crate) fn total(self) -> u64 {
        self.timed_out + self.lost
    }
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
