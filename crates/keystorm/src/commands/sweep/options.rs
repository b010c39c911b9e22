//! The command line of `keystorm sweep`: a run's, with lists.

use std::time::Duration;

use clap::Parser;
use cli::experiment::{ExperimentOptions, GridPoint as LoadPoint, one_seed};
use cli::job::{End, Intent, Job, UsageError};
use lab::Axis;
use naming::{FILL, SIZE};
use spec::values::{Seconds, count_in};

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
/// Length of each run unless the command line says.
const LENGTH: Duration = Duration::from_secs(1);

/// The tests of each point.
fn jobs(points: &[LoadPoint]) -> Result<Vec<GridPoint>, UsageError> {
    let job = |(settings, load): &LoadPoint| Ok((settings.clone(), load.job(|_| ())?));
    points.iter().map(job).collect()
}

/// Returns what the options mean.
pub(super) fn intent(
    mut options: Options,
    axes: Vec<Axis>,
    mut loads: Vec<LoadPoint>,
    shown: String,
    carry_out: fn(&Options) -> anyhow::Result<End>,
) -> Result<Intent, UsageError> {
    options.output.resolve(shown)?;
    for (_, load) in &mut loads {
        load.default_tests(TESTS);
        load.default_length(|load| load.end_after(None, Some(Seconds(LENGTH))));
    }
    one_seed(loads.iter_mut().map(|(_, load)| load));
    options.points = jobs(&loads)?;
    // A sweep of value sizes must read values of each size.
    if axes.iter().any(|axis| axis.option == SIZE.word())
        && !loads.iter().all(|(_, load)| load.has(FILL))
    {
        loads.iter_mut().for_each(|(_, load)| load.complete(|spec| spec.data.fill = true));
        one_seed(loads.iter_mut().map(|(_, load)| load));
        // Tests that read nothing that can be written so are as they were.
        if let Ok(filled) = jobs(&loads) {
            options.points = filled;
        }
    }
    if options.output.print_plan {
        return Intent::plans(options.points.iter().flat_map(|(_, job)| &job.plans));
    }
    options.axes = axes;
    Ok(Intent::carry(move || carry_out(&options)))
}
