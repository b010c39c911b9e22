//! Time limits of requests, and options that a deadline excludes.

use naming::{DEADLINE, SLO, TIMEOUT, text};

use super::check::refuse;
use super::{Operation, PlanError, PlanParts, limits};
use crate::CommandSpec;

impl PlanParts {
    pub(super) fn check_timeouts(&self) -> Result<(), PlanError> {
        let limits = limits::TIMEOUT_NS_MIN..=limits::TIMEOUT_NS_MAX;
        let given = [(TIMEOUT, self.recovery.timeout_ns), (DEADLINE, self.recovery.deadline_ns)];
        for (option, ns) in given.into_iter().filter_map(|(option, ns)| Some((option, ns?))) {
            let given_ms = ns as f64 / 1e6;
            refuse(limits.contains(&ns), || {
                text!("{option} {given_ms}: must be between 1 millisecond and 1 hour")
            })?;
        }
        if self.recovery.deadline_ns.is_some() { self.check_deadline() } else { Ok(()) }
    }

    fn check_deadline(&self) -> Result<(), PlanError> {
        refuse(!self.has_receivers(), || {
            text!(
                "{DEADLINE}: a message that is never sent would be missed by its receivers; bound the \
             latency of deliveries with {SLO}"
            )
        })?;
        let mut first = 0;
        for operation in self.mix.iter().flat_map(|mix| &mix.operations) {
            let commands = &self.sequence[first..first + operation.commands()];
            first += operation.commands();
            refuse(!leaves_open(operation, commands), || {
                text!(
                    "{DEADLINE}: {} cannot be given up between its steps, where it has keys watched or a \
                     transaction open; send those commands together (;)",
                    operation.name
                )
            })?;
        }
        Ok(())
    }
}

/// Returns whether a step of an operation ends while its connection holds state for a later one.
fn leaves_open(operation: &Operation, commands: &[CommandSpec]) -> bool {
    let (mut open, mut at) = (false, 0);
    operation.steps.iter().any(|step| {
        let was_open = open;
        for command in &commands[at..at + step.commands as usize] {
            match command.name().as_str() {
                "MULTI" | "WATCH" => open = true,
                "EXEC" | "DISCARD" | "UNWATCH" | "RESET" => open = false,
                _ => {}
            }
        }
        at += step.commands as usize;
        was_open
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::parts;
    use super::*;
    use crate::{Mix, MixStep, Pick, StepCondition};

    #[test]
    fn an_operation_is_given_up_only_where_its_connection_remembers_nothing() {
        let built = |steps: &[&[&str]]| {
            let mut parts = parts();
            parts.recovery.deadline_ns = Some(5_000_000);
            let words = |line: &&str| CommandSpec::parse(line.split(' '));
            parts.sequence = steps.iter().flat_map(|step| step.iter().map(words)).collect();
            let steps = steps
                .iter()
                .map(|step| MixStep { commands: step.len() as u32, when: StepCondition::Always })
                .collect();
            let operation = Operation { name: "buy".into(), weight: 1, steps, keys: None };
            parts.mix = Some(Mix { operations: vec![operation], pick: Pick::Drawn });
            parts.build().map(|_| ()).map_err(|error| error.to_string())
        };
        assert_eq!(built(&[&["get a"], &["multi", "incr a", "exec"], &["get b"]]), Ok(()));
        for open in [
            &[&["watch a", "get a"][..], &["multi", "incr a", "exec"]][..],
            &[&["multi"], &["incr a"], &["exec"]],
        ] {
            assert!(
                built(open).unwrap_err().to_string().contains("buy cannot be given up"),
                "{open:?}"
            );
        }
    }
}
