//! Comparison of operations of a mix, or of commands of recorded traffic, by the figures in reports.

use measure::CommandTally;
use workload::CommandSpec;

use super::rows::row;
use super::sittings::Excuse;
use super::{Row, RunDigest, Setup};
use crate::{Figures, Metric, Run, Summary, escape};

/// Figures of an operation that are compared, in the order of reports.
const COMPARED: [Metric; 5] =
    [Metric::Throughput, Metric::P50, Metric::P99, Metric::P99_9, Metric::ServerCpu];

/// Latency from which a rare recorded command is compared, as all others wait for it.
const SLOW_MS: f64 = 10.0;

/// Comparison of one operation on both sides.
#[derive(Debug, Clone)]
pub struct OperationComparison {
    /// Name of the operation, safe for a terminal.
    pub name: String,
    /// A row for each figure that both sides have.
    pub rows: Vec<Row>,
}

/// The figures of each operation of a run, by name.
pub(super) fn figures(summary: &Summary<'_>) -> Vec<(String, Figures)> {
    if summary.run.plan.recorded.is_some() {
        return of_commands(summary.run);
    }
    let operations = summary.operations.iter();
    operations.map(|of| (of.name.clone(), Figures::of_operation(of))).collect()
}

/// The figures of each recorded command, the most frequent first.
fn of_commands(run: &Run) -> Vec<(String, Figures)> {
    let mut commands: Vec<_> =
        run.plan.sequence.iter().zip(&run.measurement.total.commands).collect();
    commands.sort_by_key(|(_, tally)| std::cmp::Reverse(tally.response().count()));
    let of = |(command, tally): (&CommandSpec, &CommandTally)| {
        let name = command.name();
        let figures = Figures::of_command(tally.response(), server_cpu_us(run, &name));
        (escape(name), figures)
    };
    commands.into_iter().map(of).collect()
}

/// The server's CPU time per call of a command with all its subcommands, in microseconds.
fn server_cpu_us(run: &Run, name: &str) -> Option<f64> {
    let name = name.to_ascii_lowercase();
    let server = run.watched.servers.first()?;
    let of = server.by_command.iter().filter(|command| {
        let rest = command.name.strip_prefix(&name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('|'))
    });
    let (calls, usec) =
        of.fold((0, 0), |(calls, usec), command| (calls + command.calls, usec + command.usec));
    (calls > 0 && usec > 0).then(|| usec as f64 / calls as f64)
}

/// Compares the operations that all runs of both sides have.
pub(super) fn compared(
    setup: &Setup,
    [a, b]: [&[RunDigest]; 2],
    excuse: &Excuse,
) -> Vec<OperationComparison> {
    let names = a.first().into_iter().flat_map(|glance| &glance.operations);
    let of = |name: &str, side: &[RunDigest]| -> Option<Vec<Figures>> {
        let find = |glance: &RunDigest| {
            glance.operations.iter().find(|(known, _)| known == name).map(|(_, figures)| *figures)
        };
        side.iter().map(find).collect()
    };
    let operation = |(name, _): &(String, Figures)| {
        let sides = [of(name, a)?, of(name, b)?];
        let rows = COMPARED.into_iter();
        let rows = rows.filter_map(|metric| row(metric, setup, sides.each_ref(), excuse));
        let is_rare = setup.recorded && sides.iter().flatten().any(Figures::is_rare);
        let rows = rows.filter(|row| !is_rare || row.means.iter().any(|ms| *ms >= SLOW_MS));
        Some(OperationComparison { name: name.clone(), rows: rows.collect() })
            .filter(|of| !of.rows.is_empty())
    };
    names.filter_map(operation).collect()
}
