//! Rows of a report, and the commands of a plan that each covers.

use workload::Plan;

use super::Style;

/// Requests of its own, in the order of their rows.
const BUILT_IN: [&str; 3] = ["SET", "GET", "WAIT"];

/// The rows of a plan.
#[derive(Debug, Clone)]
pub(crate) struct Rows {
    /// Names of the rows in upper case.
    pub(crate) names: Vec<String>,
    /// Index of the row of each different command of the plan.
    pub(crate) of: Vec<usize>,
    /// Set if the rows are [`BUILT_IN`].
    pub(crate) built_in: bool,
    /// Set if other rows have hits and misses.
    pub(crate) lookups: bool,
}

impl Rows {
    /// Returns the rows of a plan.
    pub(crate) fn from_plan(plan: &Plan, style: &Style) -> Self {
        let mut names: Vec<String> =
            if style.built_in { BUILT_IN.map(str::to_owned).to_vec() } else { Vec::new() };
        let different = plan.different_commands();
        let mut of = vec![usize::MAX; different.commands.len()];
        let called = called(plan);
        let commands = different.of.iter().map(|at| *at as usize);
        for (command, name) in commands.zip(called) {
            if of[command] != usize::MAX {
                continue;
            }
            let known = names.iter().position(|known| *known == name);
            of[command] = known.filter(|_| style.merged || style.built_in).unwrap_or(names.len());
            if of[command] == names.len() {
                names.push(name);
            }
        }
        Self { names, of, built_in: style.built_in, lookups: style.lookups }
    }
}

/// Returns the name of each command of the sequence: that of its operation, if the operation has no other command.
fn called(plan: &Plan) -> Vec<String> {
    let mut called: Vec<String> = plan.sequence.iter().map(workload::CommandSpec::name).collect();
    for (operation, span) in plan.mix.iter().flat_map(workload::Mix::spans) {
        let name = operation.name.to_uppercase();
        if span.len() == 1 {
            called[span.start] = name;
        } else if operation.walk().is_some() {
            called[span.start] = format!("{name} 0");
            called[span.end - 1] = format!("{name} <cursor>");
        }
    }
    called.iter().map(report::escape).collect()
}
