//! Carrying out a grid.

mod options;

use std::thread;
use std::time::Duration;

use anyhow::Result;
use cli::console::diagnostics;
use cli::experiment::{with_grid, with_those_of_a_run};
use cli::front::{Front, command};
use cli::job::End;
use lab::{Findings, Sweep};
use measure::Ending;
use report::slo::Slo;
use workload::{Plan, Target};

use self::options::{Options, intent};
use crate::commands::run::ONE_START_NOTE;
use crate::experiment::frame::{Experiment, Frame, Step};
use crate::experiment::progress::planned_s;
use crate::test_bed::TestBed;

/// Number of failed runs in a row after which a grid is given up, since the server is gone.
const FAILURES_MAX: u32 = 3;
/// Pause after a failed run: a server takes a while to notice that its clients are gone, and would reject the
/// next ones.
const RECOVERY: Duration = Duration::from_secs(1);

/// Front end of the command.
pub(crate) const FRONT: Front = Front {
    names: &["sweep"],
    command: || with_those_of_a_run(command::<Options>(), &[]),
    parse: |args| {
        with_grid(args, |options, axes, points, shown| intent(options, axes, points, shown, sweep))
    },
};

/// Measures every point and prints the table.
///
/// # Errors
/// Returns an error if something cannot be measured or written; earlier results are printed.
fn sweep(job: &Options) -> Result<End> {
    let jobs = || job.points.iter().map(|(_, job)| job);
    let plans = || jobs().flat_map(|job| &job.plans);
    let Some((first, widest)) =
        jobs().next().zip(plans().max_by_key(|plan| plan.own_connections()))
    else {
        return Ok(End::Complete);
    };
    let mut notes: Vec<&String> = jobs().flat_map(|job| &job.notes).collect();
    notes.dedup();
    let frame = Frame::open(notes, &job.output)?;
    let mut bed = frame.reach(first, widest, widest.own_connections())?;
    bed.settings.journal = true;
    bed.settings.sample = jobs().any(|job| job.output.sample);
    if job.repeat > 1 && !bed.server.is_own() {
        diagnostics::say(ONE_START_NOTE)?;
    }
    let mut sweep = Sweep::new(job.axes.clone());
    sweep.slo.clone_from(&first.slo);
    let points = (1..).zip(&job.points);
    let runs = points.flat_map(|(number, (settings, point))| {
        point.plans.iter().map(move |plan| PointRun { number, settings, slo: &point.slo, plan })
    });
    let runs: Vec<PointRun<'_>> = runs.collect();
    let left_s = plans().map(planned_s).sum::<f64>() * f64::from(job.repeat);
    let (target, done, failures) = (&widest.target, 0, Failures::default());
    frame.carry_out(&mut GridRun { job, target, runs, bed, sweep, left_s, done, failures })
}

/// Run of a point of the grid.
struct PointRun<'j> {
    /// Number of the point, from 1.
    number: usize,
    settings: &'j [String],
    slo: &'j Option<Slo>,
    plan: &'j Plan,
}

/// A running grid: one run per step, round by round. Each round has a new start of the server, if keystorm
/// starts it.
struct GridRun<'j> {
    job: &'j Options,
    target: &'j Target,
    /// Runs of a round.
    runs: Vec<PointRun<'j>>,
    bed: TestBed<'static>,
    sweep: Sweep,
    /// Planned seconds that are left.
    left_s: f64,
    /// Number of runs so far, in all rounds.
    done: usize,
    failures: Failures,
}

/// Failed runs: the number since the last success, and whether any failed.
#[derive(Default)]
struct Failures {
    in_a_row: u32,
    any: bool,
}

impl Experiment for GridRun<'_> {
    fn planned_s(&self) -> f64 {
        self.left_s
    }

    fn step(&mut self, frame: &mut Frame<'_>) -> Result<Step> {
        let (round, at) = (self.done / self.runs.len(), self.done % self.runs.len());
        if round == self.job.repeat as usize {
            return Ok(Step::Last(if self.failures.any { End::Failed } else { End::Complete }));
        }
        if at == 0 && round > 0 {
            self.bed.restart(self.target)?;
        }
        if self.failures.in_a_row > 0 {
            thread::sleep(RECOVERY);
        }
        self.done += 1;
        let PointRun { settings, slo, plan, .. } = self.runs[at];
        self.left_s = (self.left_s - planned_s(plan)).max(0.0);
        let run = frame.run(&self.bed, plan, self.title(round, &self.runs[at]), self.left_s)?;
        let run = run.failed_if_refused().held_against(slo.clone());
        self.sweep.add(settings, &run)?;
        match run.measurement.ending {
            Ending::Complete => self.failures.in_a_row = 0,
            Ending::Interrupted => return Ok(Step::Last(End::Interrupted)),
            Ending::Failed(_) => {
                self.failures = Failures { in_a_row: self.failures.in_a_row + 1, any: true };
            }
        }
        let gives_up = self.failures.in_a_row == FAILURES_MAX;
        Ok(if gives_up { Step::Last(End::Failed) } else { Step::Next })
    }

    fn findings(&mut self) -> &mut impl Findings {
        &mut self.sweep
    }
}

impl GridRun<'_> {
    /// Formats the progress of the sweep and the current run: `round 1 of 2, point 3 of 8: -c 10 SET`.
    fn title(&self, round: usize, run: &PointRun<'_>) -> String {
        let round = match self.job.repeat {
            1 => String::new(),
            rounds => format!("round {} of {rounds}, ", round + 1),
        };
        let settings = self.job.axes.iter().zip(run.settings);
        let settings = settings.map(|(axis, value)| format!("{} {value} ", axis.option));
        let settings = settings.collect::<String>();
        let title = format!("{round}point {} of {}: ", run.number, self.job.points.len());
        title + &report::escape(settings + &run.plan.name)
    }
}
