//! Walks: requests that go on where the last one on their connection came to, as those of `SCAN` do.
//!
//! A reply brings the cursor; it waits on the connection until the next request of the operation takes
//! it. A request that is lost, or met an error, takes its cursor along: the next one begins anew.

use workload::{Operations, Walked};

use super::kept::Kept;
use crate::request::{Progress, Request};

/// How far the walk of a connection has come.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Walk {
    /// One more than the place of the cursor that is kept; 0 before a walk and at its end.
    kept: u32,
    /// Requests since the first.
    times: u32,
}

impl Walk {
    /// A request of the operation that walks takes the cursor, if there is one.
    #[inline]
    pub(crate) fn go_on<M>(&mut self, operations: &Operations, request: &mut Request<M>) {
        let Some(walked) = operations.walk(request.progress.operation) else { return };
        if self.kept == 0 {
            self.times = 0;
            return;
        }
        request.command = walked.command;
        request.progress.kept = std::mem::take(&mut self.kept);
        self.times += 1;
    }

    /// A request of that operation has its reply: the cursor is for the next one, if there is more.
    #[inline]
    pub(super) fn replied(&mut self, walked: Walked, kept: &mut Kept, progress: Progress) {
        let more = kept.value(&progress).is_some_and(|cursor| cursor != b"0");
        if more && !progress.failed && self.times < walked.most {
            self.kept = progress.kept;
        } else {
            kept.release(progress);
        }
    }
}
