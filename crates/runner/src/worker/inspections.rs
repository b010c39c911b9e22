//! Inspections of replies that a plan asks for, beside their outcome and latency.

use wire::Protocol;
use workload::{Plan, ReplicaWait};

use super::operations::Steps;
use super::reply_rules::ReplyRules;
use super::verify::Verifier;
use crate::route::Route;

/// Inspections that a plan asks for. Known before load runs, so that an unused inspection costs a branch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Inspections {
    /// Set if any of the inspections below is used.
    pub(super) any: bool,
    /// Set if only receivers are counted, in a sequence of one command that is always answered: equal bytes
    /// then mean equal replies, which are settled together.
    pub(super) nothing: bool,
    /// Set if only the progress of operations is inspected: replies with equal bytes then mean the same to
    /// the same command.
    pub(super) alike: bool,
    /// Set if, beside that, each operation is one request of which nothing is kept and that is not retried: its
    /// reply has no consequence.
    pub(super) single: bool,
    /// Inspects the progress of operations; bytes are then counted by command.
    pub(super) operations: bool,
    /// Inspects strings of replies, for any of the next four.
    pub(super) strings: bool,
    /// Keeps strings that later steps contain.
    pub(super) keeps: bool,
    /// Counts hits for each position of a command.
    pub(super) per_position: bool,
    /// Inspects replies to commands queued by a transaction.
    pub(super) queues: bool,
    /// Makes a read that finds nothing an error.
    pub(super) misses_fail: bool,
    /// Replies name how many receivers a message had.
    pub(super) receivers: bool,
    /// Number of replicas that must have acknowledged earlier writes.
    pub(super) replicas: Option<ReplicaWait>,
}

impl Inspections {
    pub(super) fn new<P: Protocol, R: Route>(
        plan: &Plan,
        steps: &Steps<R::Mark>,
        verifier: Option<&Verifier>,
        reply_rules: &ReplyRules,
    ) -> Self {
        let operations = steps.operations.is_some();
        let keeps = P::SHOWS && steps.kept.is_used();
        let per_position = P::SHOWS && plan.peer.per_position;
        let (queues, misses_fail) = (reply_rules.has_queues(), reply_rules.misses_fail());
        let replicas = plan.replica_wait().filter(|_| P::SHOWS);
        let strings = verifier.is_some() || keeps || per_position || queues || replicas.is_some();
        let inspects = strings || misses_fail;
        let any = operations || inspects;
        let receivers = plan.own_receivers().is_some_and(|of| of.kind.replies_name_receivers());
        let acknowledged = plan.recording.ledger
            || plan.own_receivers().is_some_and(|of| of.kind.follows_acknowledgements());
        let repeats = R::COUNTS_ALL && !acknowledged && !reply_rules.may_be_missing();
        let nothing = repeats && !any && plan.sequence.len() == 1;
        let alike = repeats && operations && !inspects && !receivers;
        let single = alike
            && !plan.counts_operations()
            && steps.growing.is_unused()
            && plan.recovery.retry.is_none();
        Self {
            any,
            nothing,
            alike,
            single,
            operations,
            strings,
            keeps,
            per_position,
            queues,
            misses_fail,
            receivers,
            replicas,
        }
    }
}
