//! The command line of `keystorm durability`: the crash, the settings and the load.

use std::collections::BTreeSet;
use std::path::Path;

use clap::Parser;
use cli::experiment::{ExperimentOptions, LOAD_OPTIONS};
use cli::job::{Intent, Job, UsageError};
use cli::run::ParsedArgs;
use cli::suggestions;
use lab::durability::{CrashKind, LANE, SETTINGS, Setting, SettingsFile, Target};
use naming::{ARRIVALS, CONNECTIONS, CONTENT, CPUS, ON, OptionId, PIPELINE, RATE, SIZE, WINDOW};
use spec::KeyRange;
use spec::values::{Count, OnErrorArg, YesNo, count_in};
use workload::{DrawnBy, Endpoint};

use crate::experiment::table_file;

/// Measures what a crash costs. Appends numbered values to a list, crashes the server at a random moment, brings it
/// back, reads everything, and prints how many acknowledged writes are missing, how old the oldest of them was (RPO),
/// how long nobody could write (RTO), and what was doubled, out of order, or read before it was lost. Each setting is
/// also run without a crash: its rate and p99 show what safety costs.
///
/// Each crash gets servers of its own, which --spawn names; a given server (-h, -p, -u) is crashed by a command
/// of yours, such as a failover of a managed service.
///
/// Takes the options of a run that say how much is written, and by whom: -c -P -d --rps --arrivals --threads --on (see
/// keystorm --help).
#[derive(Parser)]
#[command(
    name = "keystorm durability",
    override_usage = "keystorm durability [OPTIONS] [OPTIONS OF A RUN]",
    after_help = EXAMPLE,
)]
pub(super) struct Options {
    /// Crash: kill (kill -9 and restart), power (loss of power: what was not synchronised is gone; requires strace),
    /// failover (kill -9, and a replica takes over), stop (a replica takes over while the server stands still), cut (a
    /// replica takes over that the server no longer reaches), or a command that sh runs
    #[arg(long, value_name = "KIND", help_heading = "Crashes", default_value = "kill")]
    pub(super) crash: String,
    /// Number of crashes of each setting
    #[arg(long, value_name = "TIMES", help_heading = "Crashes", default_value = "5",
          value_parser = count_in(1..=1000))]
    pub(super) crashes: u32,
    /// Settings to compare: none, everysec, always, wait1, waitaof, min-replicas, or a file of your own, such as
    /// mine.toml [default: those that matter for the crash]
    #[arg(long, value_name = "LIST", help_heading = "Crashes", value_delimiter = ',')]
    settings: Vec<String>,
    /// Gate: exit with code 3 if a crash misses one of these, such as 'lost<1,rpo<100ms,rto<5s'
    #[arg(long, value_name = "TARGETS", help_heading = "Crashes")]
    slo: Option<String>,
    /// Go ahead with a server that keystorm did not start
    #[arg(long, help_heading = "Crashes")]
    pub(super) yes: bool,
    #[command(flatten)]
    pub(super) output: ExperimentOptions,
    #[arg(skip)]
    pub(super) targets: Vec<Target>,
    /// Settings with their loads.
    #[arg(skip)]
    pub(super) tests: Vec<Test>,
}

/// A setting, and the writes under it.
pub(super) struct Test {
    pub(super) setting: Setting,
    pub(super) job: Job,
}

/// Text below the options.
const EXAMPLE: &str = include_str!("../../../help/durability.txt").trim_ascii_end();

/// The list to which values are appended.
pub(super) const KEY: &str = "keystorm:durability";
/// Options of a load that it has.
const TAKEN: [OptionId; 9] =
    [CONNECTIONS, PIPELINE, SIZE, CONTENT, RATE, ARRIVALS, WINDOW, CPUS, ON];

/// Options of a load that it decides itself.
pub(super) fn refused() -> impl Iterator<Item = OptionId> {
    LOAD_OPTIONS.into_iter().filter(|option| !TAKEN.contains(option))
}

/// Reads what the options mean. Returns a text to print instead, if the options ask for one.
pub(super) fn read(
    options: &mut Options,
    load: &ParsedArgs,
    shown: String,
) -> Result<Option<Intent>, UsageError> {
    options.output.resolve(shown)?;
    if let Some(option) = refused().find(|option| load.has(*option)) {
        return Err(UsageError(format!(
            "{option}: durability writes numbered values until the crash"
        )));
    }
    if let Some(word) = load.first_word() {
        return Err(UsageError(format!("unexpected word {word:?}: durability appends to a list")));
    }
    let targets = options.slo.as_deref().map(Target::parse).transpose();
    options.targets =
        targets.map_err(|why| UsageError(format!("--slo: {why}")))?.unwrap_or_default();
    let crash = options.kind();
    if options.settings.is_empty() {
        options.settings = crash.usual_settings().iter().map(|name| (*name).to_owned()).collect();
    }
    let settings = settings(&options.settings)?;
    let test = |setting| Ok(Test { job: job(load, &setting)?, setting });
    options.tests = settings.into_iter().map(test).collect::<Result<_, UsageError>>()?;
    let plan = &options.tests[0].job.plans[0];
    if plan.protocol.is_memcache() {
        let text = "memcached keeps nothing on disk: every crash loses every write\n";
        return Ok(Some(Intent::Say(text.to_owned())));
    }
    let is_own = matches!(plan.target.endpoint, Endpoint::Spawned { .. });
    let is_command = matches!(crash, CrashKind::Command(_));
    if is_own == is_command {
        let word = &options.crash;
        return Err(UsageError(if is_own {
            format!("--crash {word:?}: servers of --spawn know kill, power, failover, stop and cut")
        } else {
            format!(
                "--crash {word}: keystorm crashes only servers that it starts; add --spawn, or name a command"
            )
        }));
    }
    if is_own && crash.promotes() && options.tests[0].job.several.is_some() {
        return Err(UsageError(format!(
            "{ON}: clients elsewhere follow no server of --spawn; crash it by kill or power, or name a cluster or a Sentinel"
        )));
    }
    if !is_own && options.tests.len() > 1 {
        let text = "--settings: a given server has its own; name one of none, wait1 and waitaof, or add --spawn";
        return Err(UsageError(text.to_owned()));
    }
    let plans = || options.tests.iter().flat_map(|test| &test.job.plans);
    options.output.print_plan.then(|| Intent::plans(plans())).transpose()
}

impl Options {
    /// Returns the kind of crash.
    pub(super) fn kind(&self) -> CrashKind {
        CrashKind::parse(&self.crash)
    }
}

/// The settings of a list of names and files.
fn settings(list: &[String]) -> Result<Vec<Setting>, UsageError> {
    let SettingsFile { setting: known } = table_file::parse("settings", SETTINGS)?;
    let mut settings: Vec<Setting> = Vec::new();
    for word in list {
        let path = Path::new(word);
        if path.extension().is_some() {
            settings.extend(table_file::read::<SettingsFile>("--settings", path)?.setting);
        } else if let Some(setting) = known.iter().find(|setting| setting.name == *word) {
            settings.push(setting.clone());
        } else {
            let known: Vec<&str> = known.iter().map(|setting| setting.name.as_str()).collect();
            return Err(UsageError(suggestions::one_of("setting", word, &known)));
        }
    }
    if settings.is_empty() {
        return Err(UsageError(format!("--settings {}: it has no [[setting]]", list.join(","))));
    }
    let mut names = BTreeSet::new();
    match settings.iter().find(|setting| !names.insert(&setting.name)) {
        Some(twice) => {
            Err(UsageError(format!("--settings: two settings are called {}", twice.name)))
        }
        None => Ok(settings),
    }
}

/// The writes under a setting: values with numbers that each connection counts for itself, until they are stopped.
fn job(load: &ParsedArgs, setting: &Setting) -> Result<Job, UsageError> {
    let connections = u64::from(load.job(|_| ())?.plans[0].own_connections());
    load.job(|spec| {
        let mut words = vec!["RPUSH", KEY, "__key__:__data__"];
        if !setting.wait.is_empty() {
            words.push(";");
            words.extend(setting.wait.split_whitespace());
        }
        let commands = if setting.wait.is_empty() { 1 } else { 2 };
        spec.command = words.into_iter().map(Into::into).collect();
        spec.load.requests = Some(Count(LANE * commands));
        spec.load.per_connection = true;
        spec.load.reconnect = Some(YesNo::Yes);
        spec.recording.on_error = Some(OnErrorArg::Count);
        spec.data.key_range = Some(KeyRange(LANE * connections));
        spec.data.sequential = true;
        (spec.data.keys.unpadded, spec.data.keys.keys_by) = (true, Some(DrawnBy::Slice));
    })
}
