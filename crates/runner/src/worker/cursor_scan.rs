//! Scans: each request continues where the last one on its connection ended, as with `SCAN`.
//!
//! A reply brings the cursor, which stays with the connection until the next request of the operation takes
//! it. If that request is lost or fails, its cursor is lost too, and the next one begins anew. The other
//! arguments are drawn once per scan, by a number of the scan.

use workload::{BudgetScope, Operations, ScanOperation};

use super::captures::Captures;
use crate::request::{OperationState, Request};

/// State of the walk of a connection.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct CursorScan {
    /// Index of the kept cursor plus 1; 0 before a scan and at its end.
    kept: u32,
    /// Requests since the first.
    times: u32,
    /// Number that its requests are made from; before a scan, that of the last one.
    number: Option<u64>,
}

impl CursorScan {
    /// Gives the cursor to a request of the scanning operation, if there is one.
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

    /// Keeps the cursor of a reply to that operation for the next request, if there is more.
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
