//! Figures of each operation of a mix, and of its commands.
//!
//! An operation of one command has that command's figures; one of several is counted separately. All layouts
//! take them from here.

use measure::{CommandTally, Latency, OperationTally, Tally};
use serde::Serialize;
use workload::Plan;

use crate::{LatencyFigures, Lookups, escape};

/// The figures of one operation.
#[derive(Debug, Clone, Serialize)]
pub struct OperationFigures {
    /// Name of the operation, safe for a terminal.
    pub name: String,
    /// Share of the mix in the plan, 0 to 1.
    pub weight_share: f64,
    /// Number of operations that ended, including failed ones.
    pub count: u64,
    /// Operations that ended per second.
    pub rate_per_s: f64,
    /// Operations without a miss or an error, if they look up keys, otherwise 0.
    pub hits: u64,
    /// Bytes of its requests.
    pub bytes_out: u64,
    /// Bytes of their replies.
    pub bytes_in: u64,
    /// Latency from due to its last reply.
    #[serde(skip)]
    pub response: LatencyFigures,
    /// The source of the figures.
    #[serde(flatten)]
    pub tally: OperationTally,
    /// Distinct commands of the operation, if there are several.
    #[serde(skip)]
    pub commands: Vec<CommandFigures>,
}

/// The figures of one command.
#[derive(Debug, Clone)]
pub struct CommandFigures {
    /// Name of the command, safe for a terminal.
    pub name: String,
    /// Hits and misses, if the command looks up keys.
    pub lookups: Option<Lookups>,
    /// Error replies.
    pub errors: u64,
    /// Latency from due to reply.
    pub response: LatencyFigures,
}

impl CommandFigures {
    fn new(name: &str, looks_up: bool, tally: &CommandTally) -> Self {
        Self {
            name: escape(name),
            lookups: Lookups::of_command(looks_up, tally),
            errors: tally.errors,
            response: LatencyFigures::from_latency(tally.response()),
        }
    }

    /// Makes the figures of each different command of a plan.
    pub fn of_plan(plan: &Plan, total: &Tally) -> Vec<Self> {
        let different = plan.different_commands();
        let named = different.commands.iter().zip(different.looks_up);
        named
            .zip(&total.commands)
            .map(|((command, looks_up), tally)| Self::new(&command.name(), looks_up, tally))
            .collect()
    }
}

impl OperationFigures {
    /// Returns its commands, if it has several, with the operation in their names.
    pub(crate) fn named_commands(&self) -> impl Iterator<Item = CommandFigures> {
        self.commands.iter().map(|command| CommandFigures {
            name: format!("{}: {}", self.name, command.name),
            ..command.clone()
        })
    }

    /// Makes the figures of each operation of a plan's mix, in a run of `elapsed_s` seconds; empty without a
    /// mix.
    pub fn of_plan(plan: &Plan, total: &Tally, elapsed_s: f64) -> Vec<Self> {
        let Some(mix) = &plan.mix else { return Vec::new() };
        let weights: f64 = mix.operations.iter().map(|operation| f64::from(operation.weight)).sum();
        let different = plan.different_commands();
        let figures = mix.spans().enumerate().map(|(at, (operation, span))| {
            // The different commands of an operation are neighbours, and no other has them.
            let which = &different.of[span];
            let (first, last) = (which.iter().min(), which.iter().max());
            let own =
                first.map_or(0..0, |first| *first as usize..*last.unwrap_or(first) as usize + 1);
            let tallies = &total.commands[own.clone()];
            let sum = |pick: fn(&CommandTally) -> u64| {
                tallies.iter().map(pick).fold(0, u64::saturating_add)
            };
            let merged = |pick: fn(&CommandTally) -> &Latency| {
                let mut all = Latency::new(plan.recording.precision);
                tallies.iter().for_each(|tally| all.merge(pick(tally)));
                all
            };
            let tally = total.operations.get(at).cloned().unwrap_or_else(|| OperationTally {
                service: merged(|c| &c.service),
                scheduled_response: (tallies.iter().any(|c| c.scheduled_response.is_some()))
                    .then(|| merged(CommandTally::response)),
                separate_failures: None,
                ok: sum(|c| c.ok),
                missed: sum(|c| c.miss),
                failed: sum(|c| c.errors),
            });
            let count = tally.ended();
            let looks_up = &different.looks_up[own.clone()];
            let commands = different.commands[own].iter().zip(looks_up).zip(tallies);
            let commands: Vec<CommandFigures> = commands
                .map(|((c, looks_up), tally)| CommandFigures::new(&c.name(), *looks_up, tally))
                .collect();
            let looks_up = commands.iter().any(|command| command.lookups.is_some());
            Self {
                name: escape(&operation.name),
                weight_share: f64::from(operation.weight) / weights,
                count,
                rate_per_s: if elapsed_s > 0.0 { count as f64 / elapsed_s } else { 0.0 },
                hits: if looks_up { tally.ok } else { 0 },
                bytes_out: sum(|c| c.bytes_out),
                bytes_in: sum(|c| c.bytes_in),
                response: LatencyFigures::from_latency(tally.response()),
                tally,
                commands: if operation.commands() > 1 { commands } else { Vec::new() },
            }
        });
        figures.collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::{Summary, fixture};

    #[test]
    fn an_operation_of_one_command_has_the_figures_of_that() {
        let run = fixture::mix();
        let summary = Summary::from_run(&run);
        let [get, aside] = &summary.operations[..] else { panic!("{:?}", summary.operations) };
        assert_eq!((get.name.as_str(), get.count, get.tally.missed), ("get", 90, 10));
        assert_eq!((get.bytes_out, get.bytes_in, get.commands.len()), (900, 1800, 0));
        assert_eq!(
            (aside.count, aside.hits, aside.tally.missed, aside.tally.failed),
            (10, 6, 3, 1)
        );
        assert_eq!(aside.commands.len(), 2);
        assert_eq!(summary.requests, 90 + 10 + 3, "commands, one of which was refused");
        assert_eq!(summary.counted(), 100, "operations");
        let shares: Vec<f64> = summary.operations.iter().map(|o| o.weight_share).collect();
        assert_eq!(shares, [0.9, 0.1]);
    }
}
