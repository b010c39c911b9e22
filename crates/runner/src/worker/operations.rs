//! Operations of a mix: from a request number to requests, and from a step to the next.
//!
//! What is sent of them is put together here; on which connection is the route's business.

use engine::{ConnId, Engine};
use wire::{Batch, Protocol};
use workload::Operations;

use super::Worker;
use crate::recorder::Recorder;
use crate::request::{Progress, Request};
use crate::route::Route;

impl<M: Copy> Request<M> {
    /// The first step of operation number `number` of a mix, not sent yet. `mark` is what the route
    /// notes of commands, of which it gets the first and how many.
    #[inline]
    pub(crate) fn of_operation(
        operations: &Operations,
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
            progress: Progress::of(operation),
            mark: mark(commands.start, left),
        }
    }
}

/// The step that follows one whose last reply has come, not sent yet; `None` if its operation has
/// ended.
#[inline]
pub(super) fn next_step<M: Copy>(
    operations: &Operations,
    ended: &Request<M>,
) -> Option<Request<M>> {
    let progress = ended.progress;
    if progress.failed {
        return None;
    }
    let (step, commands) =
        operations.next_step(progress.operation, progress.step, progress.missed)?;
    Some(Request {
        handed_ns: 0,
        command: commands.start,
        left: commands.end - commands.start,
        progress: progress.then(step),
        ..*ended
    })
}

/// Writes the commands of a request of a mix, and counts their bytes.
#[inline]
pub(crate) fn append<M>(
    request: &Request<M>,
    batch: &Batch,
    recorder: &mut Recorder,
    out: &mut Vec<u8>,
) {
    for command in request.command..request.command + request.left {
        let before = out.len();
        let at = command as usize;
        batch.append(request.number, at..at + 1, out);
        recorder.sent_bytes(command, out.len() - before, request.measured);
    }
}

impl<E: Engine, P: Protocol, R: Route> Worker<'_, E, P, R> {
    /// Notes that the last `count` requests of a connection were handed to it, in `bytes` bytes, at
    /// `sent_ns`; they were due at times of their own if there is a schedule.
    #[inline]
    pub(crate) fn note_handed(
        &mut self,
        conn: ConnId,
        (count, bytes): (usize, usize),
        (room_ns, sent_ns): (u64, u64),
    ) {
        let closed_loop = self.pacer.is_none();
        let mut measured = false;
        for request in self.connections[conn.0 as usize].requests.newest_mut(count) {
            measured |= request.measured;
            if request.handed(sent_ns, closed_loop) && !closed_loop && request.measured {
                self.recorder.sent(request.intended_ns, room_ns, sent_ns, 1);
            }
        }
        self.count_sent(conn, bytes, measured);
    }
}
