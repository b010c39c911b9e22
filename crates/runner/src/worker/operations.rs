//! Operations of a mix: from a request number to requests, and from one step to the next.
//!
//! Prepares the bytes of operations; the route chooses the connection.

use std::sync::Arc;

use wire::{Batch, RequestInputs};
use workload::{Inserts, Operations, Plan, StepReplies};

use super::captures::Captures;
use super::cursor_scan::CursorScan;
use super::growing::KeySource;
use crate::recorder::Recorder;
use crate::request::{OperationState, Request};
use crate::route::Completion;

impl<M: Copy> Request<M> {
    /// Returns the unsent first step of operation `number` of a mix. `mark` makes the route's note from the
    /// first command and the number of commands.
    #[inline]
    pub(crate) fn of_operation(
        operations: &Operations,
        growing: &mut KeySource,
        number: u64,
        intended_ns: u64,
        measured: bool,
        mark: impl FnOnce(u32, u32) -> M,
    ) -> Self {
        let operation = operations.pick(number);
        let commands = operations.first_step(operation);
        let left = commands.end - commands.start;
        Self {
            number,
            intended_ns,
            sent_ns: 0,
            handed_ns: 0,
            command: commands.start,
            left,
            measured,
            progress: OperationState::new(operation, growing.key(operation, number)),
            mark: mark(commands.start, left),
        }
    }
}

impl<M> Request<M> {
    /// Returns the inputs that determine its bytes.
    #[inline]
    pub(crate) fn given<'k>(&self, kept: &'k Captures) -> RequestInputs<'k> {
        let Self { number, progress, .. } = self;
        RequestInputs { number: *number, key: progress.key, replied: kept.of_operation(progress) }
    }
}

/// The operations of a mix, if there is one, and their later steps that are to be sent.
#[derive(Debug)]
pub(crate) struct Steps<M> {
    /// Operations to send, unless the whole sequence is always sent.
    pub(crate) operations: Option<Operations>,
    /// Steps that the replies of one read have made due.
    pub(crate) due: Vec<Request<M>>,
    /// Requests that failed in one read and are to be retried.
    pub(crate) failed: Vec<Request<M>>,
    /// Values kept by operations under way.
    pub(crate) kept: Captures,
    /// Keys that depend on the run's inserts.
    pub(crate) growing: KeySource,
}

impl<M: Copy> Steps<M> {
    pub(super) fn new(plan: &Plan, inserts: Option<Arc<Inserts>>) -> Self {
        let kept = Captures::from_commands(plan.replies_kept());
        let growing = KeySource::new(plan, inserts);
        Self { operations: plan.operations(), due: Vec::new(), failed: Vec::new(), kept, growing }
    }

    /// Ends an operation whose connection is lost or whose deadline has passed.
    pub(crate) fn forget(&mut self, progress: OperationState) {
        self.kept.release(progress);
        self.growing.lost(progress);
    }

    /// Handles a request that has all its replies.
    #[inline]
    pub(super) fn completed(
        &mut self,
        completed: Completion,
        request: &Request<M>,
        scan: &mut CursorScan,
        recorder: &mut Recorder,
        now_ns: u64,
    ) {
        match completed {
            Completion::Whole => self.ended(request, scan, recorder, now_ns),
            Completion::Partly => {}
            Completion::Lost => self.forget(request.progress),
        }
    }

    /// Handles the last reply of a step: its operation continues or has ended.
    #[inline]
    fn ended(
        &mut self,
        request: &Request<M>,
        scan: &mut CursorScan,
        recorder: &mut Recorder,
        now_ns: u64,
    ) {
        if request.progress.again {
            return self.failed.push(request.once_more());
        }
        let Some(operations) = &self.operations else { return };
        let OperationState { operation, step, missed, failed, .. } = request.progress;
        let next = if failed || operations.is_one_step(operation) {
            None
        } else if let Some(commands) = operations.each(operation, step)
            && let Some(at) = self.kept.after(&request.progress)
        {
            Some((step, commands, at))
        } else {
            let strings = self.kept.value(&request.progress).is_some();
            let next = operations.next_step(operation, step, StepReplies { missed, strings });
            next.map(|(step, commands)| (step, commands, 0))
        };
        let Some((step, commands, at)) = next else {
            match operations.walk(operation) {
                Some(walked) => scan.replied(walked, &mut self.kept, request.progress),
                None => self.kept.release(request.progress),
            }
            self.growing.ended(request.progress);
            return recorder.operation(request, now_ns);
        };
        self.due.push(Request {
            handed_ns: 0,
            command: commands.start,
            left: commands.end - commands.start,
            progress: OperationState { at, ..request.progress.then(step) },
            ..*request
        });
    }
}

/// Appends the commands of a request of a mix, and counts their bytes.
#[inline]
pub(crate) fn append<M>(
    request: &Request<M>,
    batch: &Batch,
    kept: &Captures,
    recorder: &mut Recorder,
    out: &mut Vec<u8>,
) {
    for command in request.command..request.command + request.left {
        let before = out.len();
        let at = command as usize;
        batch.append_of(request.given(kept), at..at + 1, out);
        recorder.sent_bytes(command, out.len() - before, request.measured);
    }
}
