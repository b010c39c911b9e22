//! Operations of a mix, drawn one at a time, and their steps.
//!
//! A plan without a [`Mix`] is one operation of one step: its sequence, sent whole. With one, the commands of
//! the sequence belong to operations, in order, and every request number is one operation. The seed and the
//! number determine the operation and its content.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{Pick, Plan, PlanParts};
use crate::{CommandSpec, KeySpace};

/// Operations that divide the commands of a sequence.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mix {
    /// At least one.
    pub operations: Vec<Operation>,
    /// Rule for the next operation.
    #[serde(default)]
    pub pick: Pick,
}

/// Operation of a mix: a request in the view of a server's user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// Name in reports.
    pub name: String,
    /// Weight relative to the others; one of 0 is never sent.
    pub weight: u32,
    /// Steps, of which the first is always sent.
    pub steps: Vec<MixStep>,
    /// Key space of its own; `None` for the plan's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<KeySpace>,
}

/// Commands that are sent together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MixStep {
    /// Number of commands of the sequence in this step, after those of the previous step; at least 1.
    pub commands: u32,
    /// Condition for sending the step.
    #[serde(default)]
    pub when: StepCondition,
}

/// Condition for sending a step, once the replies to the previous one are in without an error.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepCondition {
    /// Whatever the replies are.
    #[default]
    Always,
    /// If one of them is a miss. If not, the condition of the next step is checked.
    OnMiss,
    /// Once for each string of the list that the only command before it returned, in order.
    ForEach,
    /// Instead of the only step before it, by the next request of its operation on the same connection, if
    /// the reply had a cursor other than `0`. Each page of a scan counts as one request towards `-n`.
    OnCursor {
        /// Maximum number of repetitions in a row; `None` for no end.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        most: Option<u32>,
    },
}

/// Rule by which connections share requests.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BudgetScope {
    /// A common budget, from which each connection takes requests when it has room.
    #[default]
    OneBudget,
    /// Each connection sends the plan's number of requests, numbered separately, as in `memtier_benchmark`.
    PerConnection,
}

/// Rule for the part of a reply that is kept for later steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaptureRule {
    /// Nothing.
    Nothing,
    /// The first string.
    First,
    /// Every string.
    Each,
}

impl Operation {
    /// Returns the index of the command whose reply is the list that a step is sent for, if there is one.
    fn list(&self) -> Option<usize> {
        let each = self.steps.iter().position(|step| step.when == StepCondition::ForEach)?;
        let before: usize = self.steps[..each].iter().map(|step| step.commands as usize).sum();
        before.checked_sub(1)
    }

    /// Returns the limit on repetitions of its second step in place of its first, if it repeats.
    pub fn walk(&self) -> Option<Option<u32>> {
        self.steps.iter().find_map(|step| match step.when {
            StepCondition::OnCursor { most } => Some(most),
            _ => None,
        })
    }

    /// Returns the number of commands in all steps.
    pub fn commands(&self) -> usize {
        self.steps.iter().map(|step| step.commands as usize).sum()
    }
}

impl Mix {
    /// Each operation, and its range of commands of the sequence.
    pub fn spans(&self) -> impl Iterator<Item = (&Operation, Range<usize>)> {
        let mut end = 0;
        self.operations.iter().map(move |operation| {
            let start = end;
            end += operation.commands();
            (operation, start..end)
        })
    }
}

impl PlanParts {
    /// Each operation's commands in the sequence, and its keys; without a mix, one entry for all.
    pub fn key_spaces(&self) -> impl Iterator<Item = (Range<usize>, &KeySpace)> {
        let all = self.mix.is_none().then_some((0..self.sequence.len(), &self.data.keys));
        let spans = self.mix.iter().flat_map(Mix::spans);
        let own = spans
            .map(|(operation, span)| (span, operation.keys.as_ref().unwrap_or(&self.data.keys)));
        all.into_iter().chain(own)
    }

    /// Returns how many requests a request number counts as in `-n` and in a rate: the commands of the
    /// sequence, or one operation.
    pub fn requests_per_number(&self) -> usize {
        if self.mix.is_some() || self.has_source() { 1 } else { self.sequence.len() }
    }

    /// Returns the least number of replies to each request number of a budget: more than one if every
    /// operation sends equally many commands together.
    pub fn requests_in_number(&self) -> u64 {
        let operations = self.mix.as_ref().map_or(&[][..], |mix| &mix.operations);
        let mut all = operations.iter().map(|operation| match &operation.steps[..] {
            [step] => u64::from(step.commands),
            _ => 1,
        });
        let first = all.next().unwrap_or(1);
        if all.all(|other| other == first) { first } else { 1 }
    }

    /// Returns whether some operation has several commands, so that operations and commands are counted
    /// separately.
    pub fn counts_operations(&self) -> bool {
        self.mix.as_ref().is_some_and(|mix| mix.operations.iter().any(|o| o.commands() > 1))
    }

    /// The names of the operations; empty without a mix.
    pub fn operation_names(&self) -> impl Iterator<Item = &str> {
        self.mix.iter().flat_map(|mix| &mix.operations).map(|operation| operation.name.as_str())
    }
}

impl Plan {
    /// Returns whether each request of an operation continues where the last one ended.
    pub fn walks(&self, operation: usize) -> bool {
        let operations = self.mix.as_ref().map_or(&[][..], |mix| &mix.operations);
        operations.get(operation).is_some_and(|operation| operation.walk().is_some())
    }

    /// For each command of the sequence, the part of its reply that a later step contains. Empty if none
    /// does.
    pub fn replies_kept(&self) -> Vec<CaptureRule> {
        if !self.sequence.iter().any(CommandSpec::names_reply) {
            return Vec::new();
        }
        let mut kept = vec![CaptureRule::Nothing; self.sequence.len()];
        for (operation, span) in self.mix.iter().flat_map(Mix::spans) {
            if let Some(list) = operation.list() {
                kept[span.start + list] = CaptureRule::Each;
                continue;
            }
            if operation.walk().is_some() {
                kept[span].fill(CaptureRule::First);
                continue;
            }
            let last = span.clone().rev().find(|at| self.sequence[*at].names_reply());
            kept[span.start..last.unwrap_or(span.start)].fill(CaptureRule::First);
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::parts;
    use super::*;
    use crate::{CommandSpec, Piece, ScanOperation, StepReplies, Stop};

    fn operation(name: &str, weight: u32, steps: &[(u32, StepCondition)]) -> Operation {
        let steps =
            steps.iter().map(|(commands, when)| MixStep { commands: *commands, when: *when });
        Operation { name: name.into(), weight, steps: steps.collect(), keys: None }
    }

    fn plan(operations: Vec<Operation>, pick: Pick) -> PlanParts {
        let commands = operations.iter().map(Operation::commands).sum();
        PlanParts {
            sequence: vec![CommandSpec::from_words(["PING"]); commands],
            mix: Some(Mix { operations, pick }),
            ..parts()
        }
    }

    const ONE: &[(u32, StepCondition)] = &[(1, StepCondition::Always)];

    #[test]
    fn picks_follow_the_weights() {
        let many = (1..40).map(|weight| operation("o", weight, ONE)).collect();
        for operations in [vec![operation("get", 9, ONE), operation("set", 1, ONE)], many] {
            let table =
                plan(operations.clone(), Pick::Drawn).build().unwrap().operations().unwrap();
            let mut counts = vec![0u32; operations.len()];
            let draws = 400_000;
            (0..draws).for_each(|number| counts[table.pick(number) as usize] += 1);
            let total: u32 = operations.iter().map(|o| o.weight).sum();
            let chi_square: f64 = operations
                .iter()
                .zip(&counts)
                .map(|(o, count)| {
                    let expected = draws as f64 * f64::from(o.weight) / f64::from(total);
                    (f64::from(*count) - expected).powi(2) / expected
                })
                .sum();
            // The 99.9th percentile for 38 degrees of freedom is 70.7, for 1 it is 10.8.
            let most = if counts.len() == 2 { 10.8 } else { 70.7 };
            assert!(chi_square < most, "{chi_square} of {counts:?}");
        }
    }

    #[test]
    fn in_order_each_comes_as_often_in_a_row_as_it_weighs() {
        let operations = vec![operation("set", 1, ONE), operation("get", 3, ONE)];
        let mut plan = plan(operations, Pick::InOrder);
        let picked = |plan: PlanParts| -> Vec<u32> {
            let table = plan.build().unwrap().operations().unwrap();
            (0..8).map(|number| table.pick(number)).collect()
        };
        assert_eq!(picked(plan.clone()), [0, 1, 1, 1, 0, 1, 1, 1]);
        (plan.load.share, plan.load.stop) = (BudgetScope::PerConnection, Stop::Requests(3));
        assert_eq!(picked(plan), [0, 1, 1, 0, 1, 1, 0, 1], "each connection begins anew");
    }

    #[test]
    fn steps_follow_each_other_and_misses_decide() {
        let look_aside =
            [(1, StepCondition::Always), (1, StepCondition::OnMiss), (2, StepCondition::Always)];
        let operations = vec![operation("ping", 1, ONE), operation("get", 1, &look_aside)];
        let plan = plan(operations, Pick::Drawn).build().unwrap();
        let table = plan.operations().unwrap();
        assert_eq!(table.first_step(0), 0..1);
        let next = |operation, step, missed| {
            table.next_step(operation, step, StepReplies { missed, strings: false })
        };
        assert_eq!(next(0, 0, true), None);
        assert_eq!(table.first_step(1), 1..2);
        assert_eq!(next(1, 0, true), Some((1, 2..3)));
        assert_eq!(next(1, 0, false), Some((2, 3..5)));
        assert_eq!(next(1, 1, false), Some((2, 3..5)));
        assert_eq!(next(1, 2, true), None);
        assert!(plan.counts_operations());
        assert_eq!((plan.requests_per_number(), plan.own_requests()), (1, Some(1000)));
    }

    #[test]
    fn a_step_may_be_sent_for_each_string_of_a_list() {
        let scan =
            [(1, StepCondition::Always), (1, StepCondition::ForEach), (1, StepCondition::Always)];
        let mut parts =
            plan(vec![operation("ping", 1, ONE), operation("scan", 1, &scan)], Pick::Drawn);
        parts.sequence[2].args.push(crate::Arg { pieces: vec![Piece::Reply { or: Vec::new() }] });
        let plan = parts.build().unwrap();
        let table = plan.operations().unwrap();
        let came = |strings| StepReplies { missed: false, strings };
        assert_eq!(table.next_step(1, 0, came(true)), Some((1, 2..3)));
        assert_eq!(table.next_step(1, 0, came(false)), Some((2, 3..4)));
        assert_eq!(
            (table.each(1, 1), table.each(1, 0), table.each(1, 2)),
            (Some(2..3), None, None)
        );
        use CaptureRule::{Each, Nothing};
        assert_eq!(plan.replies_kept(), [Nothing, Each, Nothing, Nothing]);
    }

    #[test]
    fn a_walk_is_one_step_or_the_other() {
        let walk = [(1, StepCondition::Always), (1, StepCondition::OnCursor { most: Some(3) })];
        let mut parts =
            plan(vec![operation("ping", 1, ONE), operation("scan", 1, &walk)], Pick::Drawn);
        parts.load.concurrency.pipeline_depth = 1;
        let plan = parts.clone().build().unwrap();
        let table = plan.operations().unwrap();
        assert_eq!((table.walk(0), table.first_step(1)), (None, 1..2));
        assert_eq!(table.walk(1), Some(ScanOperation { operation: 1, command: 2, most: 3 }));
        assert_eq!(table.next_step(1, 0, StepReplies { missed: true, strings: true }), None);
        parts.load.concurrency.pipeline_depth = 2;
        assert!(parts.clone().build().unwrap_err().to_string().contains("-P 2"));
        parts.load.concurrency.pipeline_depth = 1;
        let Some(mix) = &mut parts.mix else { panic!() };
        mix.operations[0] = mix.operations[1].clone();
        parts.sequence.push(CommandSpec::from_words(["PING"]));
        assert!(parts.build().unwrap_err().to_string().contains("only one"));
    }

    #[test]
    fn what_is_no_mix_is_refused() {
        let twice =
            [(1, StepCondition::Always), (1, StepCondition::ForEach), (1, StepCondition::ForEach)];
        let walk = StepCondition::OnCursor { most: None };
        let more = [(1, StepCondition::Always), (1, walk), (1, StepCondition::Always)];
        let cases: [(Vec<Operation>, &str); 7] = [
            (vec![operation("scan", 1, &more)], "between exactly one command"),
            (
                vec![operation(
                    "get",
                    1,
                    &[(2, StepCondition::Always), (1, StepCondition::ForEach)],
                )],
                "single command",
            ),
            (vec![operation("get", 1, &twice)], "one list"),
            (vec![], "requires an operation with a weight"),
            (vec![operation("get", 0, ONE)], "weight"),
            (vec![operation("get", 1, &[])], "get: an operation requires a step"),
            (vec![operation("get", 1, &[(1, StepCondition::OnMiss)])], "first step"),
        ];
        for (operations, expected) in cases {
            let mut parts = plan(operations, Pick::Drawn);
            parts.sequence.resize(1, CommandSpec::from_words(["PING"]));
            let error = parts.build().unwrap_err().to_string();
            assert!(error.contains(expected), "{error:?} should contain {expected:?}");
        }
    }
}
