//! Commands that may have no reply, which the next reply reveals.
//!
//! A reply with a mark answers the command of that index in the sequence; one without a mark answers the
//! oldest command that must be answered. Commands sent before it that may keep silent have done so, and are
//! settled then, with the latency of that next reply.

use measure::Outcome;
use wire::{Protocol, Reply, Silence};
use workload::{CommandSpec, Plan, Transactions};

use super::queued::Queue;
use super::receive::Settler;
use crate::Fatal;
use crate::request::{Keys, Requests, SettledReply};
use crate::route::RouteHooks;

/// Facts about the replies to each command of a sequence.
#[derive(Debug)]
pub(super) struct ReplyRules {
    /// Meaning of silence for each command; empty if no command may keep silent.
    silences: Vec<Option<Silence>>,
    /// Number of keys that each command asks for; empty if no reply gives a count.
    keys: Vec<u32>,
    /// Set for each command for which an empty collection is a miss; empty if there is none.
    empties: Vec<bool>,
    /// Set for each command whose reply counts existing keys; empty if there is none.
    counts: Vec<bool>,
    /// Set for each command for which a miss is an error; empty if there is none.
    missing: Vec<bool>,
    /// Transactions of a plan that compares or needs what is read; `None` for other plans.
    transactions: Option<Transactions>,
}

impl ReplyRules {
    pub(super) fn for_plan<P: Protocol>(plan: &Plan) -> Self {
        let silences: Vec<_> = plan.sequence.iter().map(P::silence).collect();
        let empties: Vec<bool> = plan.sequence.iter().map(P::empty_is_miss).collect();
        let counts: Vec<bool> = plan.sequence.iter().map(P::counts_found).collect();
        let fails =
            |command: &CommandSpec| plan.data.fail_on_miss && command.looks_for(plan.protocol);
        let missing: Vec<bool> = plan.sequence.iter().map(fails).collect();
        let keys: Vec<u32> = plan.sequence.iter().map(P::keys_asked).collect();
        Self {
            silences: if silences.iter().any(Option::is_some) { silences } else { Vec::new() },
            empties: if empties.contains(&true) { empties } else { Vec::new() },
            counts: if counts.contains(&true) { counts } else { Vec::new() },
            missing: if missing.contains(&true) { missing } else { Vec::new() },
            transactions: (plan.data.verify || plan.data.fail_on_miss)
                .then(|| plan.transactions())
                .filter(Transactions::any),
            keys: if keys.iter().any(|keys| *keys > 0) { keys } else { Vec::new() },
        }
    }

    /// Returns whether any command may keep silent.
    #[inline]
    pub(super) fn may_be_missing(&self) -> bool {
        !self.silences.is_empty()
    }

    /// Number of keys that this command asks for, if its reply counts them.
    #[inline]
    pub(super) fn keys(&self, command: u32) -> u32 {
        self.keys.get(command as usize).copied().unwrap_or(0)
    }

    /// Returns the meaning of a reply to this command: an empty collection, or a number, may be a miss.
    #[inline]
    pub(super) fn meant<'b>(&self, reply: Reply<'b>, command: u32) -> Reply<'b> {
        let is = |of: &[bool]| of.get(command as usize).is_some_and(|is| *is);
        match reply {
            Reply::Empty if is(&self.empties) => Reply::Miss,
            Reply::Number(0) if is(&self.counts) => Reply::Miss,
            Reply::Number(found) if is(&self.counts) => Reply::Found(found),
            Reply::Empty | Reply::Number(_) => Reply::Done,
            others => others,
        }
    }

    /// Returns whether replies to commands queued by a transaction matter.
    #[inline]
    pub(super) fn has_queues(&self) -> bool {
        self.transactions.is_some()
    }

    /// Returns the queued commands that this one answers for, if they matter.
    #[inline]
    pub(super) fn queue(&self, command: u32) -> Option<Queue<'_>> {
        let commands = self.transactions.as_ref()?.answered_by(command as usize)?;
        Some(Queue { commands, reply_rules: self })
    }

    /// Returns whether a miss of some command is an error.
    #[inline]
    pub(super) fn misses_fail(&self) -> bool {
        !self.missing.is_empty()
    }

    /// Returns whether this reply to this command lacks a required value.
    pub(super) fn lacks(&self, reply: Reply<'_>, command: u32) -> bool {
        let missed = match reply {
            Reply::Miss => true,
            Reply::Found(found) => found < self.keys(command),
            _ => false,
        };
        missed && self.missing.get(command as usize).is_some_and(|fails| *fails)
    }

    /// Meaning of silence for this command; `None` if it must be answered.
    #[inline]
    fn silence(&self, command: u32) -> Option<Silence> {
        self.silences[command as usize]
    }
}

impl<P: Protocol, R: RouteHooks> Settler<'_, P, R> {
    /// Settles commands that kept silent before a reply with this mark.
    ///
    /// # Errors
    /// Returns an error if no command in flight has that mark.
    pub(super) fn settle_silent(
        &mut self,
        requests: &mut Requests<R::Mark>,
        mark: Option<u32>,
    ) -> Result<(), Fatal> {
        while let Some(oldest) = requests.oldest_mut() {
            let command = oldest.command;
            let silence = self.context.reply_rules.silence(command);
            let (false, Some(silence)) = (mark == Some(command), silence) else {
                return match mark {
                    Some(mark) if mark != command => Err(Fatal::new(format!(
                        "the server answered a command (opaque O{mark}) that was not asked, or was \
                         answered before"
                    ))),
                    _ => Ok(()),
                };
            };
            let outcome = match silence {
                Silence::Done => Outcome::Ok,
                Silence::Miss => Outcome::Miss,
            };
            oldest.progress.missed |= outcome == Outcome::Miss;
            let Some((first_byte_ns, request)) = requests.settle(self.now_ns) else {
                break;
            };
            let answered = request.answered(first_byte_ns);
            let keys = Keys { asked: self.context.reply_rules.keys(command), found: 0 };
            self.record(request, &SettledReply { answered, outcome, bytes: 0, keys });
            self.complete(request);
            requests.advance(self.context.sequence_len);
        }
        Ok(())
    }
}
