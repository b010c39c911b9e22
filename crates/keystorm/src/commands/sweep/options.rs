//! The command line of `keystorm sweep`: a run's, with lists.

use clap::Parser;
use cli::experiment::{ExperimentOptions, job, names_length, names_test, one_seed};
use cli::job::{End, Intent, Job, UsageError};
use lab::words::{TypedLine, TypedOption};
use lab::{Axis, Grid};
use naming::{DURATION, FILL};
use spec::values::count_in;

/// Runs the same tests at every combination of listed option values. Prints a table, a chart, and
/// what limited each point. Takes every option of a run (see keystorm --help); these accept lists
/// and ranges: -c -P -d -r -n -k --threads --duration --warmup --rps --engine --window --arrivals
/// --precision.
///
/// 1,10,100 is a list. 1..100 is a range in steps of 1, 2 and 5: 1, 2, 5, 10, 20, 50, 100. Both ends
/// are always included: 3..16 is 3, 5, 10, 16. 1..64/4 is four values at equal ratios: 1, 4, 16, 64.
/// Where -d varies, what a test reads is written first in that size (as with --fill). -t names the tests, each
/// with its own rows. By default, the tests are set and get, and each run lasts one second.
#[derive(Parser)]
#[command(
    name = "keystorm sweep",
    override_usage = "keystorm sweep [OPTIONS] [OPTIONS OF A RUN] [--] [COMMAND ARGS...]",
    after_help = EXAMPLE,
)]
pub(super) struct Options {
    /// Run the whole grid this often; each row then shows the median run, with minimum and maximum
    #[arg(long, value_name = "TIMES", help_heading = "Load", default_value = "1",
          value_parser = count_in(1..=1000))]
    pub(super) repeat: u32,
    #[command(flatten)]
    pub(super) output: ExperimentOptions,
    /// Axes that vary.
    #[arg(skip)]
    pub(super) axes: Vec<Axis>,
    #[arg(skip)]
    pub(super) points: Vec<GridPoint>,
}

/// A point of the grid: the value of each axis, and the tests to run there.
type GridPoint = (Vec<String>, Job);

/// Text below the options.
const EXAMPLE: &str = include_str!("../../../help/sweep.txt").trim_ascii_end();

/// Tests that are measured unless the command line says.
const TESTS: &str = "set,get";
/// Seconds of each run unless the command line says.
const SECONDS: &str = "1";

/// The points of a grid with their tests.
fn jobs(grid: &Grid) -> Result<Vec<GridPoint>, UsageError> {
    let point = |point: lab::Point| Ok((point.settings, job("keystorm sweep", point.args)?));
    grid.points().into_iter().map(point).collect()
}

/// Returns what the options mean.
pub(super) fn intent(
    mut options: Options,
    mut line: TypedLine,
    shown: String,
    carry_out: fn(&Options) -> anyhow::Result<End>,
) -> Result<Intent, UsageError> {
    options.output.resolve(shown)?;
    if !names_test(&line) {
        line.options.push(TypedOption::new(naming::TESTS, TESTS));
    }
    if !names_length(&line) {
        line.options.push(TypedOption::new(DURATION, SECONDS));
    }
    one_seed(&mut line);
    let grid = Grid::from_line(line.clone()).map_err(UsageError)?;
    let mut points = jobs(&grid)?;
    // A sweep of value sizes must read values of each size.
    if grid.axes.iter().any(|axis| axis.option == "-d") && !line.has(FILL) {
        line.options.push(TypedOption::flag(FILL));
        one_seed(&mut line);
        // Tests that read nothing that can be written so are as they were.
        if let Ok(filled) = jobs(&Grid::from_line(line).map_err(UsageError)?) {
            points = filled;
        }
    }
    if options.output.print_plan {
        return Intent::plans(points.iter().flat_map(|(_, job)| &job.plans));
    }
    (options.axes, options.points) = (grid.axes, points);
    Ok(Intent::carry(move || carry_out(&options)))
}
