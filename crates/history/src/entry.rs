//! One test of one saved file: all repeats of it together, as one value of a series.

use std::time::{Duration, SystemTime};

use measure::Ending;
use report::{Disturbance, Figures, Metric, RecordError, Run, Summary, compare};
use serde::{Deserialize, Serialize};
use statistics::Mean;
use workload::Endpoint;

/// The figures that a history has, in the order of its columns.
pub const METRICS: [Metric; 6] = [
    Metric::Throughput,
    Metric::P50,
    Metric::P99,
    Metric::P99_9,
    Metric::ClientCpu,
    Metric::ServerCpu,
];

/// A figure over the repeats of a test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The name of its [`Metric`].
    pub metric: String,
    /// The mean over the repeats.
    pub mean: f64,
    /// The 95 % interval of the mean; `None` of a single run.
    pub interval: Option<(f64, f64)>,
}

/// One test of one file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The file, below the folder.
    pub file: String,
    /// The name of the test.
    pub test: String,
    /// What tells its load from others: equal of equal loads, whatever the server.
    pub load: String,
    /// The load as options and their values.
    pub options: Vec<(String, String)>,
    /// Where the server was, or the program that was started.
    pub target: String,
    /// Product and version of the server.
    pub server: String,
    /// The version of keystorm.
    pub client: String,
    /// The machine that put on the load; empty where it has no name.
    pub machine: String,
    /// Its processor.
    pub cpu: String,
    /// Its kernel.
    pub kernel: String,
    /// When its first run began, in milliseconds since 1970.
    pub started_ms: u64,
    /// How many runs its means are of.
    pub runs: usize,
    /// Whether all of them ended as planned.
    pub complete: bool,
    /// What spoiled most of them, if something did.
    pub disturbed: Option<String>,
    /// What limited the last.
    pub limited_by: String,
    /// Its figures, those that are known.
    pub figures: Vec<Figure>,
}

impl Entry {
    /// A figure; `None` where it is not known.
    #[must_use]
    pub fn figure(&self, metric: Metric) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.metric == metric.name())
    }

    /// When its first run began.
    #[must_use]
    pub fn started(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_millis(self.started_ms)
    }

    /// The same as text: `2026-11-25 04:13`.
    #[must_use]
    pub fn date(&self) -> String {
        let whole = report::wall_clock_rfc3339(self.started(), 0);
        whole.replacen('T', " ", 1).chars().take(16).collect()
    }
}

/// The entries of a file, in the order of its tests.
///
/// # Errors
/// A plan has no JSON.
pub fn entries(file: &str, runs: &[Run]) -> Result<Vec<Entry>, RecordError> {
    let mut groups: Vec<(String, Vec<&Run>)> = Vec::new();
    for run in runs {
        let load = compare::load_of(&run.plan)?;
        let load = format!("{:x}", md5::compute(load));
        // The repeats of several tests may take turns.
        let same = groups.iter_mut().find(|(known, group)| {
            let before = group.last().and_then(|run| run.repeat);
            before.zip(run.repeat).is_some_and(|(a, b)| b.number > a.number) && *known == load
        });
        match same {
            Some((_, group)) => group.push(run),
            None => groups.push((load, vec![run])),
        }
    }
    Ok(groups.into_iter().filter_map(|(load, runs)| entry(file, load, &runs)).collect())
}

fn entry(file: &str, load: String, runs: &[&Run]) -> Option<Entry> {
    let (first, last) = (runs.first()?, runs.last()?);
    let complete = |run: &&&Run| run.measurement.ending == Ending::Complete;
    let figures: Vec<Figures> = runs
        .iter()
        .filter(complete)
        .map(|run| Figures::from_summary(&Summary::from_run(run)))
        .collect();
    let causes: Vec<_> = runs.iter().filter_map(|run| Disturbance::from_run(run)).collect();
    let spoiled = (2 * causes.len() > runs.len()).then(|| causes.first()).flatten();
    let host = first.host.as_ref();
    let text = |text: Option<&String>| text.cloned().unwrap_or_default();
    let started = first.measurement.started_at.duration_since(SystemTime::UNIX_EPOCH);
    let started_ms = started.map_or(0, |since| since.as_millis() as u64);
    Some(Entry {
        file: file.to_owned(),
        test: first.plan.name.clone(),
        load,
        options: compare::options_of(&first.plan),
        target: target(&first.plan.target.endpoint),
        server: first.server.name().unwrap_or_else(|| "unknown server".to_owned()),
        client: first.version.clone(),
        machine: text(host.and_then(|host| host.hostname.as_ref())),
        cpu: text(host.and_then(|host| host.cpu.model.as_ref())),
        kernel: text(host.and_then(|host| host.kernel.as_ref())),
        started_ms,
        runs: figures.len(),
        complete: figures.len() == runs.len(),
        disturbed: spoiled.map(|found| found.cause.describe().to_owned()),
        limited_by: report::class(last.verdict.limited_by, last.verdict.finding).to_owned(),
        figures: METRICS.into_iter().filter_map(|metric| figure(metric, &figures)).collect(),
    })
}

/// The mean of a figure, where every run knows it.
fn figure(metric: Metric, runs: &[Figures]) -> Option<Figure> {
    let values: Option<Vec<f64>> = runs.iter().map(|figures| figures.get(metric)).collect();
    let mean = Mean::from_values(&values?)?;
    let interval = mean.interval.map(|interval| (interval.low.max(0.0), interval.high));
    Some(Figure { metric: metric.name().to_owned(), mean: mean.mean, interval })
}

/// A server by what stays the same while its version changes: a program by its name, without its directory.
fn target(endpoint: &Endpoint) -> String {
    match endpoint {
        Endpoint::Spawned { program: Some(program), .. } => {
            program.rsplit('/').next().unwrap_or(program).to_owned()
        }
        Endpoint::Spawned { program: None, .. } => "started for the run".to_owned(),
        endpoint => endpoint.to_string(),
    }
}
