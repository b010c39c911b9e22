//! Walks: requests that go on where the last one on their connection came to, as those of `SCAN` do.
//!
//! A reply brings the cursor; it waits on the connection until the next request of the operation takes
//! it. A request that is lost, or met an error, takes its cursor along: the next one begins anew. What
//! else a command is made of is drawn once for all requests of a walk, by a number of the walk.

use workload::{BudgetScope, Operations, ScanOperation};

use super::captures::Captures;
use crate::request::{OperationState, Request};

/// State of the walk of a connection.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct CursorScan {
    /// Place of the cursor that is kept plus 1; 0 before a walk and at its end.
    kept: u32,
    /// Requests since the first.
    times: u32,
    /// Number that its requests are made from; before there is one, that of the last walk.
    number: Option<u64>,
}

impl CursorScan {
    /// A request of the operation that walks takes the cursor, if there is one.
    #[inline]
    pub(crate) fn go_on<M>(
        &mut self,
        operations: &Operations,
        share: BudgetScope,
        request: &mut Request<M>,
    ) {
        let Some(walked) = operations.walk(request.progress.operation) else { return };
        if self.kept == 0 {
            self.times = 0;
            // A connection that numbers its requests for itself numbers its walks so too.
            let next = self.number.filter(|_| share == BudgetScope::PerConnection);
            self.number = Some(next.map_or(request.number, |last| last.wrapping_add(1)));
        }
        request.number = self.number.unwrap_or(request.number);
        if self.kept == 0 {
            return;
        }
        request.command = walked.command;
        request.progress.kept = std::mem::take(&mut self.kept);
        self.times += 1;
    }

    /// A request of that operation has its reply: the cursor is for the next one, if there is more.
    #[inline]
    pub(super) fn replied(
        &mut self,
        walked: ScanOperation,
        kept: &mut Captures,
        progress: OperationState,
    ) {
        let more = kept.value(&progress).is_some_and(|cursor| cursor != b"0");
        if more && !progress.failed && self.times < walked.most {
            self.kept = progress.kept;
        } else {
            kept.release(progress);
        }
    }
}
