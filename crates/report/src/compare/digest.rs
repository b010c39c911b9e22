//! The part of a run that a comparison needs.

use std::sync::Arc;

use measure::{Ending, Latency};

use crate::{Failures, Figures, Finding, Held, LimitedBy, Metric, Run, Summary, escape};

/// Figures compared, in the order of reports.
pub const COMPARED: [Metric; 9] = {
    use Metric::{ClientCpu, Keys, P50, P90, P95, P99, P99_9, ServerCpu, Throughput};
    [Throughput, Keys, P50, P90, P95, P99, P99_9, ClientCpu, ServerCpu]
};

/// Figures of a run that a comparison needs.
#[derive(Debug, Clone)]
pub struct RunDigest {
    pub(super) figures: Figures,
    /// Figures of each operation of a mix, by name.
    pub(super) operations: Vec<(String, Figures)>,
    pub(super) failures: Failures,
    pub(super) limited_by: LimitedBy,
    pub(super) held: Held,
    pub(super) kept: bool,
    pub(super) run: Arc<Run>,
}

impl RunDigest {
    /// Makes the digest of a run that ended as planned; `None` for any other.
    pub fn from_run(run: &Run) -> Option<Self> {
        let complete = run.measurement.ending == Ending::Complete;
        complete.then(|| {
            let summary = Summary::from_run(run);
            Self {
                figures: figures(&summary),
                operations: operation_figures(&summary),
                failures: Failures::from_measurement(&run.measurement),
                limited_by: run.verdict.limited_by,
                held: Held::of_run(run),
                kept: run.verdict.finding == Some(Finding::ScheduleKept),
                run: Arc::new(run.clone()),
            }
        })
    }

    /// Value of a metric; `None` if it was not measured.
    pub fn figure(&self, metric: Metric) -> Option<f64> {
        self.figures.get(metric)
    }

    /// Returns whether nothing was answered in the run.
    pub(super) fn is_empty(&self) -> bool {
        self.figures.get(Metric::Mean).is_none()
    }

    /// The run.
    pub fn run(&self) -> &Run {
        &self.run
    }
}

/// Returns the figures of a run. A run without a reply had a rate below one per its length.
fn figures(summary: &Summary<'_>) -> Figures {
    let figures = Figures::from_summary(summary);
    let at_most = (summary.elapsed_s > 0.0).then(|| 1.0 / summary.elapsed_s);
    let is_empty = figures.get(Metric::Throughput).is_none();
    if is_empty { figures.with(Metric::Throughput, at_most) } else { figures }
}

/// The figures of each operation of a run, by name.
fn operation_figures(summary: &Summary<'_>) -> Vec<(String, Figures)> {
    if summary.run.plan.has_source() {
        return of_commands(summary.run);
    }
    let operations = summary.operations.iter();
    operations.map(|of| (of.name.clone(), Figures::of_operation(of))).collect()
}

/// The figures of each command, the most frequent first.
fn of_commands(run: &Run) -> Vec<(String, Figures)> {
    let mut commands: Vec<_> =
        run.plan.sequence.iter().zip(&run.measurement.total.commands).collect();
    commands.sort_by_key(|(_, tally)| std::cmp::Reverse(tally.response().count()));
    let rows = commands.into_iter().map(|(command, tally)| {
        let name = command.name();
        let figures = Figures::of_command(tally.response(), server_cpu_us(run, &name));
        (escape(name), figures)
    });
    rows.collect()
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

/// Response times of all requests of these runs; `None` without runs.
pub(crate) fn response_times<'r>(runs: impl Iterator<Item = &'r Run>) -> Option<Latency> {
    let mut all = runs.map(|run| Summary::from_run(run).response_times);
    let mut times = all.next()?;
    all.for_each(|more| times.merge(&more));
    Some(times)
}
