//! Commands and operations that a plan logs.

use serde::{Deserialize, Serialize};

use super::check::refuse;
use super::{Plan, PlanError, PlanParts};

/// A command or operation whose every end is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogSubject {
    /// A command, by its index in the sequence.
    Command(u32),
    /// An operation, by its index in a mix with multi-command operations.
    Operation(u32),
}

impl PlanParts {
    pub(super) fn check_logged(&self) -> Result<(), PlanError> {
        let operations = match (&self.mix, self.counts_operations()) {
            (Some(mix), true) => mix.operations.len(),
            _ => 0,
        };
        refuse(
            self.peer.logged.iter().all(|logged| match *logged {
                LogSubject::Command(at) => (at as usize) < self.sequence.len(),
                LogSubject::Operation(at) => (at as usize) < operations,
            }),
            || "a log is kept of commands of the sequence, and of operations that are counted",
        )
    }
}

impl Plan {
    /// Returns whether each distinct command is logged.
    pub fn logged_commands(&self) -> Vec<bool> {
        let different = self.different_commands();
        let mut is_logged = vec![false; different.commands.len()];
        for logged in &self.peer.logged {
            if let LogSubject::Command(at) = logged {
                is_logged[different.of[*at as usize] as usize] = true;
            }
        }
        is_logged
    }

    /// Returns whether each operation of a mix is logged.
    pub fn logged_operations(&self) -> Vec<bool> {
        let count = self.mix.as_ref().map_or(0, |mix| mix.operations.len()) as u32;
        (0..count).map(|at| self.peer.logged.contains(&LogSubject::Operation(at))).collect()
    }

    /// Maximum number of log entries of one request whose steps are each sent once.
    pub fn most_logged(&self) -> u64 {
        let of = |span: std::ops::Range<usize>| {
            let commands = self.peer.logged.iter().filter(|logged| match logged {
                LogSubject::Command(at) => span.contains(&(*at as usize)),
                LogSubject::Operation(_) => false,
            });
            commands.count() as u64
        };
        let Some(mix) = &self.mix else { return of(0..self.sequence.len()) };
        let each = mix.spans().enumerate().map(|(at, (_, span))| {
            of(span) + u64::from(self.peer.logged.contains(&LogSubject::Operation(at as u32)))
        });
        each.max().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::parts;
    use super::*;
    use crate::{CommandSpec, Mix, MixStep, Operation, Pick, StepCondition};

    fn mixed(logged: Vec<LogSubject>) -> Result<Plan, PlanError> {
        let mut parts = parts();
        let commands = [["GET", "a"], ["GET", "b"], ["DEL", "b"]];
        parts.sequence = commands.iter().map(|words| CommandSpec::from_words(*words)).collect();
        let operation = |name: &str, steps| Operation {
            name: name.to_owned(),
            weight: 1,
            steps: vec![MixStep { commands: 1, when: StepCondition::Always }; steps],
            keys: None,
        };
        let operations = vec![operation("read", 1), operation("take", 2)];
        parts.mix = Some(Mix { operations, pick: Pick::Drawn });
        parts.peer.logged = logged;
        parts.build()
    }

    #[test]
    fn what_is_logged_is_known_by_command_and_by_operation() {
        let all = vec![LogSubject::Command(0), LogSubject::Command(2), LogSubject::Operation(1)];
        let plan = mixed(all).unwrap();
        assert_eq!(plan.logged_commands(), [true, false, true]);
        assert_eq!(plan.logged_operations(), [false, true]);
        assert_eq!(plan.most_logged(), 2);
        assert_eq!(mixed(vec![]).unwrap().most_logged(), 0);
    }

    #[test]
    fn nothing_is_logged_that_is_not_there() {
        for logged in [LogSubject::Command(3), LogSubject::Operation(2)] {
            assert!(mixed(vec![logged]).is_err());
        }
        let mut alone = parts();
        alone.peer.logged = vec![LogSubject::Operation(0)];
        assert!(alone.build().is_err());
    }
}
