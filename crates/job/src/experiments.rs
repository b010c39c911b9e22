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

/// Places and formats for the results of an experiment.
#[derive(Debug, Clone)]
pub struct ExperimentOutput {
    /// `table`, `csv` or `json`.
    pub format: String,
    /// The file that the results are saved in, with every run in full.
    pub json: Option<PathBuf>,
    /// Option that names that file.
    pub json_option: &'static str,
    /// Places of pages and pictures.
    pub pages: PageOptions,
    /// Address at which the page is served while it grows.
    pub live: Option<MetricsAt>,
    /// Set if only the table is printed, without charts and notes.
    pub quiet: bool,
    /// Set if the plans are printed as JSON and nothing is run.
    pub print_plan: bool,
}

/// Job of `keystorm sweep`.
pub struct SweepJob {
    /// Axes that vary.
    pub axes: Vec<Axis>,
    /// The value of each axis, and the tests to run there.
    pub points: Vec<(Vec<String>, Job)>,
    /// Run the whole grid this many times; a row then shows the median run and the range of the
    /// others
    pub repeat: u32,
    /// Places and formats for results.
    pub output: ExperimentOutput,
    /// The command line, without secrets.
    pub command_line: String,
}

/// Job of `keystorm search`.
pub struct SearchJob {
    /// Target: p50, p95, p99, p99.9 (or any other), mean or max below a time in us, ms or s; errors
    /// below a share. Separate several with commas: 'p99<1ms,p99.9<5ms,errors<0.1%'
    pub slo: Slo,
    /// Settings of the search: where to begin and how close to come.
    pub settings: Settings,
    /// Set if a closed loop is to say where to begin.
    pub closed_first: bool,
    /// Seconds of a trial.
    pub seconds: f64,
    /// Set if there is to be a curve.
    pub curve: bool,
    /// Places and formats for results.
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

/// Job of `keystorm survey`.
pub struct SurveyJob {
    /// The survey as asked for; what depends on the server is filled in later.
    pub spec: SurveySpec,
    /// A job that names the server.
    pub first: Job,
    /// Directory for the page and the results.
    pub directory: PathBuf,
    /// Places for results, in that directory unless the command line says otherwise.
    pub output: ExperimentOutput,
    /// Do not remove the keys that the survey wrote to an existing server
    pub keep: bool,
    /// The command line, without secrets.
    pub command_line: String,
}

/// Job of `keystorm footprint`.
pub struct FootprintJob {
    /// Items that are stored.
    pub items: Vec<Item>,
    /// A job for each server: the one that was named, then those beside it.
    pub servers: Vec<Job>,
    /// Number of times that each item is measured, each on a fresh start of the server.
    pub starts: u32,
    /// Keys of the smallest fill; `None` for what suits each item.
    pub keys: Option<u64>,
    /// Set if the sizes are looked for at which encodings change.
    pub steps: bool,
    /// Job that is done instead, if limits of memory are named.
    pub memory: Option<MemoryJob>,
    /// Places and formats for results.
    pub output: ExperimentOutput,
    /// The command line, without secrets.
    pub command_line: String,
}

/// Job of `keystorm footprint --maxmemory`.
pub struct MemoryJob {
    /// Limits of memory, each with the workload on a server that has it.
    pub limits: Vec<(String, Job)>,
    /// Policy by which the server chooses what it evicts.
    pub policy: String,
}

/// Job of `keystorm suite`.
pub struct SuiteJob {
    /// Directories and files of specs; none for keystorm's own.
    pub paths: Vec<PathBuf>,
    /// Choice of the specs that are run.
    pub choice: Choice,
    /// Set if only a cross-section is run; `None` for what suits the directory.
    pub core: Option<bool>,
    /// Set if the specs are listed and none is run.
    pub list: bool,
    /// Seconds of each spec, if the command line says.
    pub time_s: Option<f64>,
    /// Number of times that all specs are run.
    pub rounds: u32,
    /// An earlier suite.
    pub against: Option<PathBuf>,
    /// The share by which a spec may be worse.
    pub threshold: Option<f64>,
    /// The figure by which the two are compared.
    pub metric: Metric,
    /// Directory for memtier's JSON of each spec.
    pub memtier_json: Option<PathBuf>,
    /// A job that names the server.
    pub first: Job,
    /// The words that name it.
    pub server: Line,
    /// Places and formats for results.
    pub output: ExperimentOutput,
    /// The command line, without secrets.
    pub command_line: String,
}

/// Job of `keystorm impact`.
pub struct ImpactJob {
    /// The load, one plan: it is steady beside acts; of a mix, pace and length are each segment's.
    pub job: Job,
    /// Operations that are priced.
    pub of: ImpactOf,
    /// Places and formats for results.
    pub output: ExperimentOutput,
    /// The command line, without secrets.
    pub command_line: String,
}

/// Operations that are priced.
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
    /// Set if the command line names the acts, so that acts that destroy data are meant.
    pub named: bool,
    /// Seconds of rest before each act, and after the last.
    pub rest_s: f64,
    /// Seconds after which an act is given up on.
    pub timeout_s: f64,
    /// Objective beyond which waiting is counted.
    pub slo: Option<Slo>,
    /// Set if a server that keystorm did not start may be disturbed.
    pub yes: bool,
}

/// An act, and the load that starts it, if one does.
pub struct StagedAct {
    /// Act as its file describes it.
    pub act: Act,
    /// The plan of its load.
    pub load: Option<Plan>,
}

/// The segments of a mix.
pub struct MixJob {
    /// The loads, as shares of the capacity: 0.5 for half of it.
    pub loads: Vec<f64>,
    /// Number of times that each segment is run.
    pub blocks: u32,
    /// Seconds of a segment.
    pub seconds: f64,
    /// Set if segments that the machine or the client spoiled count.
    pub count_disturbed: bool,
}
