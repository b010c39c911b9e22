//! What the experiments are to do: `keystorm sweep`, `search`, `survey`, `impact`, `footprint`
//! and `suite`.

use std::path::PathBuf;
use std::time::Duration;

use lab::footprint::Item;
use lab::impact::Act;
use lab::search::Settings;
use lab::suite::Choice;
use lab::survey::SurveySpec;
use lab::{Axis, Line};
use report::Metric;
use report::slo::Slo;
use spec::values::Seconds;
use spec::{LoadSpec, Rate};
use workload::Plan;

use crate::{Job, MetricsAt, PageOptions, UsageError, VariedLoad};

/// Where the results of an experiment go.
#[derive(Debug, Clone)]
pub struct ExperimentOutput {
    /// `table`, `csv` or `json`.
    pub format: String,
    /// The file that the results are saved in, with every run in full.
    pub json: Option<PathBuf>,
    /// Where pages and pictures go.
    pub pages: PageOptions,
    /// Where the page is served while it grows.
    pub live: Option<MetricsAt>,
    /// Whether only the table is printed, without charts and notes.
    pub quiet: bool,
    /// Whether the plans are printed as JSON and nothing is run.
    pub print_plan: bool,
}

/// What `keystorm sweep` is to do.
pub struct SweepJob {
    /// What varies.
    pub axes: Vec<Axis>,
    /// The value of each axis, and the tests to run there.
    pub points: Vec<(Vec<String>, Job)>,
    /// Run the whole grid this many times; a row then shows the median run and the range of the
    /// others
    pub repeat: u32,
    /// Where results go.
    pub output: ExperimentOutput,
    /// The command line, without secrets.
    pub command_line: String,
}

/// What `keystorm search` is to do.
pub struct SearchJob {
    /// Target: p50, p95, p99, p99.9 (or any other), mean or max below a time in us, ms or s; errors
    /// below a share. Separate several with commas: 'p99<1ms,p99.9<5ms,errors<0.1%'
    pub slo: Slo,
    /// Where to begin and how close to come.
    pub settings: Settings,
    /// Whether a closed loop is to say where to begin.
    pub closed_first: bool,
    /// Seconds of a trial.
    pub seconds: f64,
    /// Whether there is to be a curve.
    pub curve: bool,
    /// Where results go.
    pub output: ExperimentOutput,
    /// The command line, without secrets.
    pub command_line: String,
    /// The load, at any rate.
    pub load: VariedLoad,
}

impl SearchJob {
    /// The most by which a trial may be longer than others, so that its percentiles mean something.
    pub const LONGER_MAX: f64 = 10.0;

    /// The closed loop that a search begins with, of a trial's length.
    ///
    /// # Errors
    /// A fault of the load.
    pub fn closed_loop(&self) -> Result<Job, UsageError> {
        // Nothing arrives at a closed loop: it sends when it has an answer.
        self.load.job(&|spec| {
            (spec.load.rate, spec.load.arrivals) = (None, None);
            lasting(spec, self.seconds);
        })
    }

    /// A trial at a rate, per second. It lasts long enough for the percentiles of the target.
    ///
    /// # Errors
    /// A fault of the load.
    pub fn trial(&self, rate_per_s: f64) -> Result<Job, UsageError> {
        let needed_s = self.slo.requests_min() as f64 / rate_per_s;
        self.load.job(&|spec| {
            spec.load.rate = Some(Rate::constant(thousandths(rate_per_s)));
            lasting(spec, needed_s.clamp(self.seconds, self.seconds * Self::LONGER_MAX));
        })
    }
}

fn lasting(spec: &mut LoadSpec, seconds: f64) {
    spec.load.requests = None;
    spec.load.duration = Some(Seconds(Duration::from_secs_f64(thousandths(seconds))));
}

/// A number with three decimals.
fn thousandths(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}

/// What `keystorm survey` is to do.
pub struct SurveyJob {
    /// The survey as asked for; what depends on the server is filled in later.
    pub spec: SurveySpec,
    /// A job that names the server.
    pub first: Job,
    /// Where the page and the results go.
    pub directory: PathBuf,
    /// Where pictures of the charts go.
    pub pages: PageOptions,
    /// Where the page is served while it grows.
    pub live: Option<MetricsAt>,
    /// Do not remove the keys that the survey wrote to an existing server
    pub keep: bool,
    /// The command line, without secrets.
    pub command_line: String,
}

/// What `keystorm footprint` is to do.
pub struct FootprintJob {
    /// What is stored.
    pub items: Vec<Item>,
    /// A job for each server: the one that was named, then those beside it.
    pub servers: Vec<Job>,
    /// How often each item is measured, each time on a fresh start of the server.
    pub starts: u32,
    /// Keys of the smallest fill; `None` for what suits each item.
    pub keys: Option<u64>,
    /// Whether it is found where encodings change.
    pub steps: bool,
    /// What is done instead, if limits of memory are named.
    pub memory: Option<MemoryJob>,
    /// Where results go.
    pub output: ExperimentOutput,
    /// The command line, without secrets.
    pub command_line: String,
}

/// What `keystorm footprint --maxmemory` is to do.
pub struct MemoryJob {
    /// Limits of memory, each with the workload on a server that has it.
    pub limits: Vec<(String, Job)>,
    /// How the server chooses what it evicts.
    pub policy: String,
}

/// What `keystorm suite` is to do.
pub struct SuiteJob {
    /// Directories and files of specs; none for keystorm's own.
    pub paths: Vec<PathBuf>,
    /// Which of them are run.
    pub choice: Choice,
    /// Whether only a cross-section is run; `None` for what suits the directory.
    pub core: Option<bool>,
    /// Whether the specs are listed and none is run.
    pub list: bool,
    /// Seconds of each spec, if the command line says.
    pub time_s: Option<f64>,
    /// How often all specs are run.
    pub rounds: u32,
    /// An earlier suite.
    pub against: Option<PathBuf>,
    /// The share by which a spec may be worse.
    pub threshold: Option<f64>,
    /// The figure by which the two are compared.
    pub metric: Metric,
    /// Where memtier's JSON of each spec goes.
    pub memtier_json: Option<PathBuf>,
    /// A job that names the server.
    pub first: Job,
    /// The words that name it.
    pub server: Line,
    /// Where results go.
    pub output: ExperimentOutput,
    /// The command line, without secrets.
    pub command_line: String,
}

/// What `keystorm impact` is to do.
pub struct ImpactJob {
    /// The load, one plan: it is steady beside acts; of a mix, pace and length are each segment's.
    pub job: Job,
    /// What is priced.
    pub of: ImpactOf,
    /// Where results go.
    pub output: ExperimentOutput,
    /// The command line, without secrets.
    pub command_line: String,
}

/// What is priced.
pub enum ImpactOf {
    /// Acts beside the load.
    Acts(ActsJob),
    /// The kinds of the load itself.
    Mix(MixJob),
}

/// Acts, and how they are played.
pub struct ActsJob {
    /// The acts, in their order.
    pub acts: Vec<StagedAct>,
    /// Whether the command line names them, so that those that destroy data are meant.
    pub named: bool,
    /// Seconds of rest before each act, and after the last.
    pub rest_s: f64,
    /// Seconds after which an act is given up on.
    pub timeout_s: f64,
    /// What waiting is counted beyond.
    pub slo: Option<Slo>,
    /// Whether a server that keystorm did not start may be disturbed.
    pub yes: bool,
}

/// An act, and the load that starts it, if one does.
pub struct StagedAct {
    /// What a file says of it.
    pub act: Act,
    /// The plan of its load.
    pub load: Option<Plan>,
}

/// The segments of a mix.
pub struct MixJob {
    /// The loads, as shares of the capacity: 0.5 for half of it.
    pub loads: Vec<f64>,
    /// How often each segment is run.
    pub blocks: u32,
    /// Seconds of a segment.
    pub seconds: f64,
    /// Whether segments that the machine or the client spoiled count.
    pub count_disturbed: bool,
}
