//! Front ends: one tool's command line each, turned into the same job.
//!
//! A front end knows the words of one tool; from the job on nobody can tell which it was. It is
//! chosen by the name the program is called by, or by the first argument, and otherwise is the
//! first in [`FRONTS`]. A new one is one file (or folder) here and one row there.

mod advice;
mod calibrate;
mod captured;
mod compare;
mod completions;
mod doctor;
mod equal;
mod help;
pub(crate) mod lab;
mod man;
mod memtier;
mod merge;
mod metrics_at;
mod near;
mod outputs;
mod own;
mod pages;
mod presets;
mod quoted;
mod redis_benchmark;
mod report_page;
mod rpc_perf;
mod search;
mod show;
mod sink;
mod survey;
mod sweep;
mod topics;
mod tree;
mod workload_file;
mod ycsb;

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

use clap::Command;
use fleet::{On, OnLoss};
use host::Questions;
use report::{FORMATS, Format, FormatOptions, Persona, Run};
use runner::{FailedRequests, LiveRate, Observer, Snapshot};
use workload::Plan;

use crate::execute::End;

pub(crate) use calibrate::Calibration;
pub(crate) use compare::{
    CompareJob, DecisionLoad, DecisionSides, Inconclusive, Live as LiveSides, Sides, TermsSides,
};
pub(crate) use doctor::Checkup;
pub(crate) use merge::MergeJob;
pub(crate) use metrics_at::MetricsAt;
pub(crate) use pages::PageOptions;
pub(crate) use report_page::ReportJob;
pub(crate) use search::SearchJob;
pub(crate) use show::ShowJob;
pub(crate) use sink::SinkJob;
pub(crate) use survey::SurveyJob;
pub(crate) use sweep::SweepJob;

/// A tool whose command line we understand.
pub(crate) trait FrontEnd: Sync {
    /// The names by which it is chosen.
    fn names(&self) -> &'static [&'static str];

    /// Its options, for its man page and for completions; `None` for another tool's command line,
    /// which has a manual of its own.
    fn command(&self) -> Option<Command> {
        None
    }

    /// Turns arguments (the program's name left out) into what is to be done. `called_as` is the
    /// name that chose this front end, if one did.
    fn parse(&self, called_as: Option<&str>, args: Vec<OsString>) -> Result<Intent, UsageError>;
}

/// Every front end; the first is the default.
const FRONTS: &[&dyn FrontEnd] = &[
    &redis_benchmark::RedisBenchmark,
    &memtier::Memtier,
    &sink::SinkFront,
    &calibrate::CalibrateFront,
    &show::ShowFront,
    &merge::MergeFront,
    &doctor::DoctorFront,
    &report_page::ReportFront,
    &compare::CompareFront,
    &sweep::SweepFront,
    &search::SearchFront,
    &survey::SurveyFront,
    &presets::PresetsFront,
    &ycsb::YcsbFront,
    &rpc_perf::RpcPerf,
    &man::ManFront,
    &completions::CompletionsFront,
];

/// Makes this a client of a coordinator, which alone calls it so.
const HOLD: &str = "--hold";

/// What a command line asks for.
pub(crate) enum Intent {
    /// Load.
    Run(Box<Job>),
    /// Text on standard output: help, a version, the plans.
    Say(String),
    /// A page of the documents, in Markdown.
    Read(String),
    /// Files to be written: their names and texts, and where.
    Write(PathBuf, Vec<(String, String)>),
    /// A server to measure clients with.
    Sink(SinkJob),
    /// A saved run.
    Show(ShowJob),
    /// Saved runs, added up.
    Merge(MergeJob),
    /// Saved runs as a page.
    Report(ReportJob),
    /// The client's own ceiling.
    Calibrate(Box<Calibration>),
    /// Two servers, or two saved runs.
    Compare(Box<CompareJob>),
    /// What spoils results here.
    Doctor(Box<Checkup>),
    /// A grid of runs.
    Sweep(Box<SweepJob>),
    /// The highest rate that keeps a target.
    Search(Box<SearchJob>),
    /// How fast is Redis, here?
    Survey(Box<SurveyJob>),
    /// A client of a coordinator.
    Hold,
    /// Words, and an exit code of another tool's.
    Tell(Told),
}

impl Intent {
    /// Whether what it prints is keystorm's to lay out: sentences that are ours, and no text that
    /// somebody else has written or another tool would print.
    pub(crate) fn is_ours(&self) -> bool {
        match self {
            Self::Run(job) => !job.output.options.persona.is_peer(),
            Self::Say(_) | Self::Read(_) | Self::Write(..) | Self::Tell(_) => false,
            Self::Sink(_) | Self::Hold => false,
            Self::Show(_) | Self::Merge(_) | Self::Report(_) | Self::Calibrate(_) => true,
            Self::Compare(_) | Self::Doctor(_) | Self::Sweep(_) | Self::Search(_) => true,
            Self::Survey(_) => true,
        }
    }
}

/// What is said in the place of a run, and with which exit code.
#[derive(Debug)]
pub(crate) struct Told {
    /// On standard output.
    pub(crate) out: String,
    /// On standard error.
    pub(crate) err: String,
    /// The exit code.
    pub(crate) code: u8,
}

/// What is said of a fault, in the words of the tool that was called.
pub(crate) fn in_its_words(reports: Option<&Arc<dyn OwnReports>>, text: String) -> String {
    match reports {
        Some(reports) => reports.in_its_words(&text),
        None => text,
    }
}

/// Reports of a front end's own, which are more than a layout on standard output.
pub(crate) trait OwnReports: Send + Sync {
    /// Lays out the runs of a job.
    fn format(&self) -> Box<dyn Format>;

    /// What keystorm says of a fault, in the words of this tool: its options are others.
    fn in_its_words(&self, text: &str) -> String;

    /// Nobody listens where the server should be, for this reason, and that was found `tried` times
    /// before. How long to wait before the next try; `None` for no more.
    ///
    /// # Errors
    /// Nobody reads what is said.
    fn not_there(&self, _why: &str, _tried: u32) -> anyhow::Result<Option<Duration>> {
        Ok(None)
    }

    /// Goes along with run number `run`, from 1, which ends when `interrupted` is set.
    fn companion<'p>(
        &self,
        plan: &'p Plan,
        run: u32,
        interrupted: &'p AtomicBool,
    ) -> Box<dyn Companion + 'p>;
}

/// What goes along with one run.
pub(crate) trait Companion: Observer {
    /// The run is about to begin.
    ///
    /// # Errors
    /// Nobody reads what is said, or what it needs cannot be had.
    fn begin(&mut self) -> anyhow::Result<()>;

    /// It has ended. Whether all is well.
    ///
    /// # Errors
    /// As above.
    fn end(&mut self, run: &Run) -> anyhow::Result<bool>;

    /// How the job ends with a run that this, and nobody's Ctrl-C, interrupted. No other run follows.
    fn end_of_its_own(&self) -> Option<End> {
        None
    }

    /// The rate of the run, if it may change it on the way.
    fn rate(&self) -> Option<Arc<LiveRate>> {
        None
    }
}

impl Observer for Box<dyn Companion + '_> {
    fn interval(&mut self, snapshot: &Snapshot<'_>) {
        (**self).interval(snapshot);
    }

    fn failed(&mut self, failed: &FailedRequests) {
        (**self).failed(failed);
    }
}

pub(crate) use memtier::said_of as of_memtier;

/// A command line that makes no sense, in words for the person who typed it.
#[derive(Debug)]
pub(crate) struct UsageError(pub(crate) String);

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UsageError {}

/// What is to be done.
pub(crate) struct Job {
    /// The tests, in order. They share one target.
    pub(crate) plans: Vec<Plan>,
    /// One that is carried out once, after all of them.
    pub(crate) last: Option<Plan>,
    /// What to do with them.
    pub(crate) action: Action,
    /// How often each is carried out, from 1.
    pub(crate) repeats: u32,
    /// How results are laid out.
    pub(crate) output: Output,
    /// Warnings about the command line, for standard error.
    pub(crate) notes: Vec<String>,
    /// Remarks about it, for where remarks go.
    pub(crate) remarks: Vec<String>,
    /// What stands on standard output before anything is done.
    pub(crate) greeting: String,
    /// When the one test begins, if that was agreed on.
    pub(crate) start_at: Option<SystemTime>,
    /// The clients that carry it out, if they are several.
    pub(crate) several: Option<Several>,
    /// Whether times are those of the server's clock.
    pub(crate) server_clock: bool,
    /// The rate of a probe beside the load, if one is wanted.
    pub(crate) probe: Option<f64>,
}

impl Job {
    /// Every plan of it, once.
    pub(crate) fn every_plan(&self) -> impl Iterator<Item = &Plan> {
        self.plans.iter().chain(&self.last)
    }

    /// What the server is asked of itself: by a peer's name what that tool asks, unless something is
    /// wanted that the tool does not tell.
    pub(crate) fn questions(&self) -> Questions {
        match self.output.options.persona {
            _ if self.server_clock || self.probe.is_some() => Questions::All,
            _ if self.output.tells_of_servers() => Questions::All,
            Persona::Ours => Questions::All,
            Persona::Redis | Persona::Valkey => Questions::Settings,
            Persona::Memtier | Persona::Ycsb | Persona::RpcPerf => Questions::None,
        }
    }
}

/// Several clients that put on one load.
#[derive(Debug, Clone)]
pub(crate) struct Several {
    /// Where they are.
    pub(crate) on: On,
    /// What becomes of the others when one is lost.
    pub(crate) on_loss: OnLoss,
}

/// What to do with plans.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Action {
    /// Carry them out, once or for ever.
    Run { repeat: bool },
    /// Only hold the connections of the first.
    Idle,
}

/// Where it goes what limited a test and what spoiled it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum VerdictTo {
    /// The report; standard error where the layout has no room for it.
    #[default]
    Report,
    /// Standard error.
    Stderr,
    /// Nowhere.
    Nowhere,
    /// The end of this file.
    File(PathBuf),
}

/// How results are laid out.
pub(crate) struct Output {
    /// A name in [`FORMATS`].
    pub(crate) format: &'static str,
    /// What it is told.
    pub(crate) options: FormatOptions,
    /// The file that reports go to, if not to standard output.
    pub(crate) to: Option<PathBuf>,
    /// Where verdicts go.
    pub(crate) verdict: VerdictTo,
    /// The live line that is wanted, if any.
    pub(crate) live: Option<Persona>,
    /// Time between rows of progress on standard error; `None` without them.
    pub(crate) progress: Option<Duration>,
    /// Where figures are served while tests run.
    pub(crate) metrics: Option<MetricsAt>,
    /// Where results are kept.
    pub(crate) json: Option<PathBuf>,
    /// Where a page of the results goes, and its charts.
    pub(crate) pages: PageOptions,
    /// Where histograms are logged.
    pub(crate) hdr: Option<PathBuf>,
    /// Whether the server is looked at once a second while load runs.
    pub(crate) sample: bool,
    /// What the front end reports in its own way, if it does.
    pub(crate) reports: Option<Arc<dyn OwnReports>>,
}

/// How much of the distributions our own report has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Spread {
    /// A few steps by 1, 2, 5.
    #[default]
    Short,
    /// Every step.
    Full,
}

impl Output {
    /// Results that are printed and nothing else.
    pub(crate) fn printed(format: &'static str, options: FormatOptions) -> Self {
        Self {
            format,
            options,
            to: None,
            verdict: VerdictTo::default(),
            live: None,
            progress: None,
            metrics: None,
            json: None,
            pages: PageOptions::default(),
            hdr: None,
            sample: false,
            reports: None,
        }
    }

    /// Whether there is more to tell than a peer's layout has room for.
    fn tells_of_servers(&self) -> bool {
        let format = self.reports.is_none()
            && !matches!(self.format, "redis" | "quiet" | "csv" | "memtier" | "ycsb");
        format
            || self.verdict != VerdictTo::Nowhere
            || self.json.is_some()
            || self.pages.any()
            || self.metrics.is_some()
            || self.sample
    }

    /// The format, ready to write.
    pub(crate) fn format(&self) -> Box<dyn Format> {
        if let Some(reports) = &self.reports {
            return reports.format();
        }
        let found = FORMATS.iter().find(|(name, _)| *name == self.format);
        found.expect("the name of a registered format").1(self.options)
    }
}

/// Front ends of other tools, whose output keeps the lines of that tool.
const IMITATIONS: [&dyn FrontEnd; 4] =
    [&redis_benchmark::RedisBenchmark, &memtier::Memtier, &ycsb::YcsbFront, &rpc_perf::RpcPerf];

/// Whether a command line is in keystorm's own words, so that an error in it may be laid out as suits the
/// terminal.
pub(crate) fn is_own(called_as: &OsStr, args: &[OsString]) -> bool {
    let imitated = |name: Option<&OsStr>| {
        let name = name.and_then(OsStr::to_str).unwrap_or_default();
        IMITATIONS.iter().any(|front| front.names().contains(&name))
    };
    let is_as =
        |word: &OsString| word.to_str().is_some_and(|w| w == "--as" || w.starts_with("--as="));
    let first = args.first().map(OsString::as_os_str);
    !imitated(Path::new(called_as).file_stem()) && !imitated(first) && !args.iter().any(is_as)
}

/// Chooses the front end and lets it read the arguments.
pub(crate) fn parse(called_as: &OsStr, mut args: Vec<OsString>) -> Result<Intent, UsageError> {
    let program = Path::new(called_as).file_stem().and_then(OsStr::to_str).unwrap_or_default();
    if let Some((front, name)) = front_named(program) {
        return front.parse(Some(name), args);
    }
    let first = args.first().and_then(|a| a.to_str()).unwrap_or_default().to_owned();
    if let Some((front, name)) = front_named(&first) {
        return front.parse(Some(name), args.split_off(1));
    }
    if first == HOLD {
        return match args.len() {
            1 => Ok(Intent::Hold),
            _ => Err(UsageError(format!("{HOLD} takes no arguments; see docs/fleet.md"))),
        };
    }
    if first == "help" {
        return help::of(&args[1..]);
    }
    if let Some(told) = near::subcommand(&first, subcommands()) {
        return Err(UsageError(told));
    }
    FRONTS[0].parse(None, args)
}

/// The names of all but the first, by which nobody calls it on a command line.
fn subcommands() -> impl Iterator<Item = &'static str> {
    FRONTS[1..].iter().flat_map(|front| front.names()).copied().chain(["help"])
}

fn front_named(name: &str) -> Option<(&'static dyn FrontEnd, &'static str)> {
    FRONTS.iter().find_map(|front| {
        let known = front.names().iter().find(|known| **known == name)?;
        Some((*front, *known))
    })
}

/// Reads the options of a subcommand; text to say instead where that was asked for.
fn options<O: clap::Parser>(args: Vec<OsString>) -> Result<Result<O, Intent>, UsageError> {
    match O::try_parse_from(std::iter::once(OsString::from("keystorm")).chain(args)) {
        Ok(options) => Ok(Ok(options)),
        Err(said) if !said.use_stderr() => Ok(Err(Intent::Say(said.render().to_string()))),
        Err(error) => Err(near::explained(error, &O::command())),
    }
}
