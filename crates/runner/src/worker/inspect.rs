//! Inspection of replies beside their outcome and latency: their strings, missing values, and the progress of
//! their operation.

use measure::{CORRUPT, MISSING};
use wire::{Protocol, Reply};

use super::receive::Settler;
use super::verify::{Checker, asked};
use crate::request::Request;
use crate::route::Route;

impl<P: Protocol, R: Route> Settler<'_, P, R> {
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
