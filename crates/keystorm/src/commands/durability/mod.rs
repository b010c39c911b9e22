//! `keystorm durability`: for each setting a run without a crash, then crashes at random moments of a load.
//!
//! [`servers`] are started for each crash, [`power`] makes a loss of power, [`reader`] reads what is left.
//! `lab::durability` says what it means.

mod link;
mod options;
mod power;
mod reader;
mod servers;
mod trial;

use std::path::PathBuf;

use anyhow::{Context, Result, anyhow, bail};
use cli::console::diagnostics;
use cli::experiment::{with_load, with_those_of_a_run};
use cli::front::{Front, command};
use cli::job::{End, Intent, UsageError};
use cli::run::ParsedArgs;
use lab::durability::{CrashKind, SettingResult};
use lab::{Durability, Findings};
use measure::Ending;
use naming::OptionId;
use report::compare;
use workload::Endpoint;

use self::options::{Options, Test};
use self::trial::{Servers, Trial};
use crate::experiment::frame::{Experiment, Frame, Step};
use crate::machine::origin;
use crate::test_bed::TestBed;

/// Seconds of a run without a crash.
const CALM_S: f64 = 2.0;
/// Expected seconds of a crash, with starting and reading.
const CRASH_S: f64 = 4.0;

/// Front end of the command.
pub(crate) const FRONT: Front = Front {
    names: &["durability"],
    command: || {
        let refused: Vec<OptionId> = options::refused().collect();
        with_those_of_a_run(command::<Options>(), &refused)
    },
    parse: |args| with_load(args, intent),
};

/// Returns what the options mean.
fn intent(mut options: Options, load: ParsedArgs, shown: String) -> Result<Intent, UsageError> {
    match options::read(&mut options, &load, shown)? {
        Some(instead) => Ok(instead),
        None => Ok(Intent::carry(move || durability(&options))),
    }
}

/// Measures every setting, and prints the table.
///
/// # Errors
/// Returns an error if something cannot be measured or written; earlier results are kept.
fn durability(options: &Options) -> Result<End> {
    let frame = Frame::open(&options.tests[0].job.notes, &options.output)?;
    let (server, target, own) = look(options, &frame)?;
    announce(options, &server, own.is_some())?;
    let (kind, plan) = (options.kind(), &options.tests[0].job.plans[0]);
    let found = Durability {
        schema: lab::durability::SCHEMA.to_owned(),
        complete: false,
        origin: origin(),
        server,
        target,
        load: format!("{:x}", md5::compute(compare::load_of(plan)?)),
        options: compare::options_of(plan),
        crash: kind.phrase(),
        planned: options.crashes,
        settings: Vec::new(),
        targets: options.targets.clone(),
    };
    frame.carry_out(&mut DurabilityRun { options, kind, own, at: (0, 0), found })
}

/// Program and arguments of servers that are started.
type Started = (PathBuf, Vec<String>);

/// Looks at a first start of the server, or at the one that was given, which is crashed only with --yes. Returns its
/// name with version, and its program or address.
fn look(options: &Options, frame: &Frame<'_>) -> Result<(String, String, Option<Started>)> {
    let plan = &options.tests[0].job.plans[0];
    let (target, connections) = (&plan.target, plan.own_connections());
    let bed = TestBed::reach(target, plan.protocol, connections, None, frame.interrupted)?;
    let name = bed.server.facts.version_name();
    if let Endpoint::Spawned { args, .. } = &target.endpoint {
        let line = bed.server.command_line().unwrap_or_default();
        let program = shell_words::split(&line)?.into_iter().next();
        let program = program.context("the server has no program")?;
        let file = program.rsplit('/').next().unwrap_or_default().to_owned();
        return Ok((name, file, Some((program.into(), args.clone()))));
    }
    if options.yes {
        return Ok((name, bed.server.address.to_string(), None));
    }
    let text = format!(
        "durability runs {:?} {} times while it writes to {}, which keystorm did not start: add --yes to go ahead",
        options.crash, options.crashes, bed.server.address
    );
    Err(anyhow!(UsageError(text)))
}

/// Says beforehand what will be done.
fn announce(options: &Options, name: &str, is_own: bool) -> Result<()> {
    let settings: Vec<&str> = options.tests.iter().map(|test| test.setting.name.as_str()).collect();
    let whose = if is_own { "which keystorm starts itself" } else { "which was given" };
    Ok(diagnostics::say(format_args!(
        "note: crashes {name}, {whose}, by {}; number of crashes for each of {}: {}",
        options.kind().phrase(),
        settings.join(", "),
        options.crashes
    ))?)
}

/// A running measurement: one calm run or one crash per step.
struct DurabilityRun<'o> {
    options: &'o Options,
    kind: CrashKind,
    /// Servers, if they are started.
    own: Option<Started>,
    /// Index of the setting, and number of its steps so far.
    at: (usize, u32),
    found: Durability,
}

impl Experiment for DurabilityRun<'_> {
    fn planned_s(&self) -> f64 {
        let each_s = CALM_S + CRASH_S * f64::from(self.options.crashes);
        let (setting, steps) = self.at;
        let done_s = if steps == 0 { 0.0 } else { CALM_S + CRASH_S * f64::from(steps - 1) };
        ((self.options.tests.len() - setting) as f64 * each_s - done_s).max(0.0)
    }

    fn step(&mut self, frame: &mut Frame<'_>) -> Result<Step> {
        let (setting, steps) = self.at;
        let Some(test) = self.options.tests.get(setting) else {
            return Ok(Step::Last(self.end()));
        };
        let title = match steps {
            0 => format!("{}: without a crash", test.setting.name),
            crash => format!("{}: crash {crash} of {}", test.setting.name, self.options.crashes),
        };
        let after_s = self.planned_s();
        frame.progress.begin(title, if steps == 0 { CALM_S } else { CRASH_S }, after_s);
        let measured = self.measure(test, steps, frame);
        frame.progress.end();
        let is_last = match measured {
            Ok(()) => steps == self.options.crashes,
            Err(error) if frame.is_interrupted() => return Err(error),
            Err(error) => {
                self.result(test).failure = Some(format!("{error:#}"));
                true
            }
        };
        self.at = if is_last { (setting + 1, 0) } else { (setting, steps + 1) };
        Ok(Step::Next)
    }

    fn findings(&mut self) -> &mut impl Findings {
        &mut self.found
    }
}

impl DurabilityRun<'_> {
    fn end(&mut self) -> End {
        let has_failed = self.found.settings.iter().any(|setting| setting.failure.is_some());
        if !self.found.missed().is_empty() {
            self.found.complete = !has_failed;
            End::Regressed
        } else if has_failed {
            End::Failed
        } else {
            End::Complete
        }
    }

    /// Results of the setting that is measured.
    fn result(&mut self, test: &Test) -> &mut SettingResult {
        let settings = &mut self.found.settings;
        let known = settings.iter().position(|result| result.name == test.setting.name);
        let at = known.unwrap_or_else(|| {
            let (name, about) = (test.setting.name.clone(), test.setting.about());
            settings.push(SettingResult { name, about, ..SettingResult::default() });
            settings.len() - 1
        });
        &mut settings[at]
    }

    fn measure(&mut self, test: &Test, steps: u32, frame: &Frame<'_>) -> Result<()> {
        let servers = match &self.own {
            Some((program, args)) => {
                let crash = (steps > 0).then_some(&self.kind);
                let has_replica = test.setting.has_replica || self.kind.promotes();
                Servers::start(&test.setting, program, args, crash, has_replica)?
            }
            None => Servers::default(),
        };
        let trial =
            Trial { kind: &self.kind, servers, job: &test.job, interrupted: frame.interrupted };
        if steps == 0 {
            let (throughput_rps, p99_ms) = calm(&trial)?;
            let result = self.result(test);
            (result.throughput_rps, result.p99_ms) = (throughput_rps, p99_ms);
        } else if let Some(crash) = trial.crash(steps)? {
            self.result(test).crashes.push(crash);
        }
        Ok(())
    }
}

/// Acknowledged writes per second and their p99 in milliseconds, in a run without a crash.
fn calm(trial: &Trial<'_>) -> Result<(Option<f64>, Option<f64>)> {
    let measurement = trial.calm(CALM_S)?;
    if let Ending::Failed(failure) = &measurement.ending {
        bail!("{}", failure.at(&trial.plan().name));
    }
    let acknowledging = measurement.total.commands.last();
    let acknowledging = acknowledging.context("a plan without a command")?;
    if let (0, Some(error)) = (acknowledging.ok, measurement.total.errors.examples().first()) {
        bail!("the server refuses it: {}", report::escape(error));
    }
    let seconds = measurement.elapsed_ns as f64 / 1e9;
    let rate_per_s = (seconds > 0.0).then(|| acknowledging.ok as f64 / seconds);
    let latency = acknowledging.scheduled_response.as_ref().unwrap_or(&acknowledging.service);
    Ok((rate_per_s, latency.quantile_ns(0.99).map(|ns| ns as f64 / 1e6)))
}
