//! Waits of senders for replicas or disks after each acknowledged message (WAIT, WAITAOF).

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::{
    CommandSpec, Mix, MixStep, Operation, Pick, Plan, PlanError, PlanParts, StepCondition,
};

/// The command that a sender sends after each acknowledged message, and whose reply it waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplicaWait {
    /// Number of local servers, 0 or 1, that must have the message on disk beside the replicas. With a number
    /// the command is WAITAOF; `None` is WAIT, with which replicas need it in memory only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local: Option<u32>,
    /// Number of replicas that must have it.
    pub replicas: u32,
    /// Milliseconds after which the server answers with the numbers reached by then; 0 for never.
    pub timeout_ms: u64,
}

impl ReplicaWait {
    /// Index in the senders' sequence of the command after that of a message.
    pub const COMMAND: u32 = 1;

    /// Numbers that the reply must reach, in order.
    pub fn wanted(&self) -> [Option<u32>; 2] {
        match self.local {
            Some(local) => [Some(local), Some(self.replicas)],
            None => [Some(self.replicas), None],
        }
    }

    /// Name of the command with its numbers, such as `WAITAOF 1 2`.
    pub fn name(&self) -> String {
        match self.local {
            Some(local) => format!("WAITAOF {local} {}", self.replicas),
            None => format!("WAIT {}", self.replicas),
        }
    }

    fn command(&self) -> CommandSpec {
        let line = format!("{} {}", self.name(), self.timeout_ms);
        CommandSpec::from_words(line.split(' '))
    }
}

impl PlanParts {
    /// Wait of senders after each message, if there is one.
    pub fn replica_wait(&self) -> Option<ReplicaWait> {
        self.delivery.as_ref().and_then(|delivery| delivery.wait)
    }
}

impl Plan {
    /// The plan for senders: with the wait after each message as a step of its own, which reports do not
    /// show.
    ///
    /// # Errors
    /// Returns an error if the addition exceeds the limits of plans.
    pub fn of_senders(&self) -> Result<Cow<'_, Self>, PlanError> {
        let Some(wait) = self.replica_wait().filter(|_| self.mix.is_none()) else {
            return Ok(Cow::Borrowed(self));
        };
        let step = MixStep { commands: 1, when: StepCondition::Always };
        let operation =
            Operation { name: self.name.clone(), weight: 1, steps: vec![step; 2], keys: None };
        let of_senders = self.with(|parts| {
            parts.sequence.push(wait.command());
            parts.mix = Some(Mix { operations: vec![operation], pick: Pick::InOrder });
            // Unacknowledged writes must not count among the latencies of acknowledged ones.
            parts.peer.separate_failures = true;
        });
        of_senders.map(Cow::Owned)
    }
}
