//! Replies that the commands of a sequence may have: silence, counts of keys, misses that are errors.

use std::ops::Range;

use wire::{Protocol, Reply, Silence};
use workload::{CommandSpec, Plan, Transactions};

/// The commands queued by a transaction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Queue<'r> {
    pub(super) commands: &'r Range<u32>,
    pub(super) reply_rules: &'r ReplyRules,
}

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
    pub(super) fn silence(&self, command: u32) -> Option<Silence> {
        self.silences[command as usize]
    }
}
