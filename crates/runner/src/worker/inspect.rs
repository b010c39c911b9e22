//! Inspection of replies beside their outcome and latency: their strings, missing values, and the progress of
//! their operation.

use measure::{CORRUPT, MISSING};
use wire::{Protocol, Reply};
use workload::{Plan, ReplicaWait};

use super::operations::Steps;
use super::receive::Settler;
use super::reply_rules::ReplyRules;
use super::verify::{Checker, Verifier, asked};
use crate::request::Request;
use crate::route::RouteHooks;

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
    pub(super) fn new<P: Protocol, R: RouteHooks>(
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
        let receivers = plan.delivery.as_ref().is_some_and(|d| d.kind.replies_name_receivers());
        let acknowledged = plan.recording.ledger
            || plan.delivery.as_ref().is_some_and(|d| d.kind.follows_acknowledgements());
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

impl<P: Protocol, R: RouteHooks> Settler<'_, P, R> {
    /// Returns the checker of strings for the reply to a request.
    #[inline]
    pub(super) fn checker<'s>(&'s mut self, oldest: &'s Request<R::Mark>) -> Checker<'s> {
        let (command, has_found) = (oldest.command, self.has_found());
        let asks = self.context.asks;
        if asks.keeps {
            self.steps.kept.expect(command, &mut self.incoming.partial);
        }
        Checker {
            batch: self.context.batch,
            given: oldest.given(&self.steps.kept),
            command,
            comparison: &mut self.incoming.comparison,
            verifier: self.verifier.as_mut(),
            queue: if asks.queues { self.context.reply_rules.queue(command) } else { None },
            partial: asks.keeps.then_some(&mut self.incoming.partial),
            replicas: asks.replicas,
            found: has_found.then_some(&mut self.incoming.found),
        }
    }

    /// Returns whether the presence of each part of a reply is noted.
    #[inline]
    pub(super) fn has_found(&self) -> bool {
        self.context.asks.per_position || self.context.asks.replicas.is_some()
    }

    /// Returns the meaning of a reply where senders wait for replicas: a miss if too few have acknowledged.
    pub(super) fn meant_by_replicas<'b>(&self, reply: Reply<'b>) -> Reply<'b> {
        let is_error = matches!(reply, Reply::Error(_));
        if is_error || self.incoming.found.iter().all(|found| *found) { reply } else { Reply::Miss }
    }

    /// Takes in the effect of a reply on its operation, and the values for later steps. Returns the fault of
    /// the reply, if any, as a kind of error and in words.
    pub(super) fn inspect(
        &mut self,
        oldest: &mut Request<R::Mark>,
        reply: Reply<'_>,
    ) -> Option<(&'static str, String)> {
        let wrong = self.wrong_with(oldest, reply);
        let progress = &mut oldest.progress;
        progress.failed |= wrong.is_some();
        if self.context.asks.keeps {
            self.steps.kept.keep(oldest.command, &mut self.incoming.partial, progress);
        }
        match reply {
            Reply::Miss => progress.missed = true,
            Reply::Error(_) => progress.failed = true,
            Reply::Done | Reply::Empty | Reply::Found(_) | Reply::Number(_) | Reply::Push => {}
        }
        wrong
    }

    #[inline]
    fn wrong_with(
        &mut self,
        oldest: &Request<R::Mark>,
        reply: Reply<'_>,
    ) -> Option<(&'static str, String)> {
        let (command, reply_rules) = (oldest.command, self.context.reply_rules);
        let lacks = self.context.asks.misses_fail && reply_rules.lacks(reply, command);
        let mut lacking = lacks.then_some(command);
        if self.context.asks.queues
            && let Some(queue) = reply_rules.queue(command)
        {
            let (replies, lacks) = self.incoming.comparison.queued.ended(queue);
            lacking = lacks;
            // One that failed, or was called off, answers for none.
            if !matches!(reply, Reply::Error(_) | Reply::Miss) {
                self.incoming.comparison.answered_queue(queue, command, replies);
            }
        }
        let (plan, batch, kept) = (self.context.plan, self.context.batch, &self.steps.kept);
        let asked = |command| asked::<P>(plan, batch, oldest.given(kept), command);
        if (self.context.asks.queues || self.verifier.is_some())
            && let Some(text) = self.incoming.comparison.ended(batch, command, asked)
        {
            return Some((CORRUPT, text));
        }
        lacking.map(|command| (MISSING, format!("{MISSING}: {}", asked(command))))
    }
}
