//! Constraints of the operations of a mix and of their order.

use naming::{ORDER, PIPELINE, REPLAY, REQUESTS, text};

use super::check::refuse;
use super::{
    BudgetScope, Mix, Operation, Pick, PlanError, PlanParts, Span, StepCondition, Stop, limits,
};
use crate::RowBy;

impl PlanParts {
    /// Checks the operations of a mix, and in which order they come.
    pub(super) fn check_mix(&self) -> Result<(), PlanError> {
        if self.load.share == BudgetScope::PerConnection
            && let Stop::Requests(n) = self.load.stop
        {
            let all = n.checked_mul(self.load.concurrency.connections.into());
            refuse(all.is_some_and(|all| all <= limits::REQUESTS_MAX), || {
                text!("{REQUESTS} {n} per connection is more than a test can count")
            })?;
        }
        let Some(mix) = &self.mix else { return Ok(()) };
        let is_any_sent = mix.operations.iter().any(|operation| operation.weight > 0);
        refuse(is_any_sent, || "a mix requires an operation with a weight above 0".to_owned())?;
        mix.operations.iter().try_for_each(check_steps)?;
        self.check_walks(mix)?;
        if let Pick::Spans(spans) = &mix.pick {
            check_spans(spans, mix.operations.len())?;
        }
        if mix.pick == Pick::Row {
            self.check_rows(mix.operations.len())?;
        }
        let commands: usize = mix.operations.iter().map(Operation::commands).sum();
        refuse(commands == self.sequence.len(), || {
            let given = self.sequence.len();
            format!("the operations have {commands} commands, and {given} are given")
        })
    }

    /// Checks that every row of the dataset names one of this many operations.
    fn check_rows(&self, operations: usize) -> Result<(), PlanError> {
        let Some(dataset) = &self.data.dataset else {
            return refuse(false, || text!("{ORDER}=rows: requires {REPLAY}"));
        };
        let of = dataset.operations();
        let each = of.len() == dataset.len() && of.iter().all(|of| (*of as usize) < operations);
        let by_number = matches!(dataset.by(), RowBy::Request | RowBy::Random);
        refuse(dataset.is_description() || each && by_number, || {
            text!("{ORDER}=rows: each row of the dataset must name its operation")
        })
    }

    fn check_walks(&self, mix: &Mix) -> Result<(), PlanError> {
        let walks = || mix.operations.iter().filter(|operation| operation.walk().is_some());
        for Operation { name, steps, .. } in walks() {
            refuse(steps.len() == 2 && steps.iter().all(|step| step.commands == 1), || {
                format!("{name}: ;~ must stand between exactly one command and exactly one other")
            })?;
        }
        refuse(walks().count() < 2, || {
            "a connection keeps one cursor, so only one ;~ is possible".to_owned()
        })?;
        let depth = self.load.concurrency.pipeline_depth;
        refuse(walks().count() == 0 || depth == 1, || {
            text!(
                "{PIPELINE} {depth}: ;~ needs the cursor of the previous reply, so it works with {PIPELINE} 1 \
                 only"
            )
        })?;
        refuse(walks().count() == 0 || !self.target.is_by_key(), || {
            "a cursor belongs to one server, so ;~ works with one server only".to_owned()
        })
    }
}

/// Checks the steps of an operation.
fn check_steps(operation: &Operation) -> Result<(), PlanError> {
    let Operation { name, steps, .. } = operation;
    refuse(!steps.is_empty() && steps.iter().all(|step| step.commands > 0), || {
        format!("{name}: an operation requires a step, and a step a command")
    })?;
    refuse(steps.len() <= limits::STEPS_MAX, || {
        format!("{name}: the maximum is {} steps", limits::STEPS_MAX)
    })?;
    refuse(steps[0].when == StepCondition::Always, || {
        format!("{name}: the first step cannot depend on a miss")
    })?;
    let each = steps.iter().filter(|step| step.when == StepCondition::ForEach).count();
    refuse(each < 2, || format!("{name}: an operation can have only one list"))?;
    let mut pairs = steps.windows(2);
    let list = pairs.find(|pair| pair[1].when == StepCondition::ForEach);
    refuse(list.is_none_or(|pair| pair[0].commands == 1), || {
        format!("{name}: the step that returns a list must be a single command")
    })
}

/// Checks the order of this many operations.
fn check_spans(spans: &[Span], operations: usize) -> Result<(), PlanError> {
    let wrong =
        spans.iter().find(|span| !(span.times > 0 && (span.operation as usize) < operations));
    refuse(wrong.is_none() && !spans.is_empty(), || match wrong {
        Some(span) => text!(
            "{ORDER}: operation {} does not exist; there are {}",
            u64::from(span.operation) + 1,
            operations
        ),
        None => text!("{ORDER}: names no operation"),
    })?;
    refuse(spans.len() <= limits::SEQUENCE_MAX, || {
        format!("the order of a mix has at most {} spans", limits::SEQUENCE_MAX)
    })
}
