//! Records of replies beside their outcome: times of acknowledgements for receivers, and a ledger of writes.

use wire::Reply;

use super::Acknowledgements;
use crate::ledger::Ledger;
use crate::request::Request;

/// Records of acknowledgements that a run keeps, if any.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AckLog<'r> {
    pub(crate) times: Option<&'r Acknowledgements>,
    pub(crate) ledger: Option<&'r Ledger>,
}

impl AckLog<'_> {
    /// Returns whether a reply says that no replica has acknowledged a write.
    #[inline]
    pub(crate) fn is_refusal(self, reply: Reply<'_>) -> bool {
        self.ledger.is_some() && reply == Reply::Number(0)
    }

    /// Notes a reply, which may be `wrong`.
    #[inline]
    pub(crate) fn note<M>(self, request: &Request<M>, reply: Reply<'_>, wrong: bool, now_ns: u64) {
        let is_error = wrong || matches!(reply, Reply::Error(_));
        if let Some(times) = self.times.filter(|_| request.measured && !is_error) {
            times.note(request.number, now_ns);
        }
        match self.ledger {
            None => {}
            Some(ledger) if is_error || reply == Reply::Miss => ledger.refuse(request.number),
            Some(ledger) => ledger.acknowledge(request.number, request.command, now_ns),
        }
    }
}
