//! A test of a saved file: all its repeats together, as one value of a series.

use std::time::{Duration, SystemTime};

use measure::Ending;
use measure::statistics::Mean;
use report::{
    Direction, Disturbance, Failures, Figures, Held, KEPT, Metric, RecordError, Run,
    ScheduleFigures, Summary, compare,
};
use serde::{Deserialize, Serialize};
use workload::Endpoint;

/// A figure over the repeats of a test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The name of its [`Metric`].
    pub metric: String,
    /// The mean over the repeats.
    pub mean: f64,
    /// The 95 % interval of the mean, extended to the better side by as much as noise can have worsened it;
    /// `None` for a single run without noise.
    pub interval: Option<(f64, f64)>,
    /// The mean without everything that noise can have added.
    pub without_noise: f64,
}

impl Figure {
    pub(crate) fn without_noise(metric: Metric, mean: f64, interval: Option<(f64, f64)>) -> Self {
        Self { metric: metric.name().to_owned(), mean, interval, without_noise: mean }
    }
}

/// A test of a saved file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The file, below the folder.
    pub file: String,
    /// The name of the test.
    pub test: String,
    /// Identity of its load: equal for equal loads, independent of the server.
    pub load: String,
    /// The load as options and their values.
    pub options: Vec<(String, String)>,
    /// Address of the server, or the program that was started.
    pub target: String,
    /// Product and version of the server.
    pub server: String,
    /// The version of keystorm.
    pub client: String,
    /// The machine that generated the load; empty if it has no name.
    pub machine: String,
    /// Processor of the machine.
    pub cpu: String,
    /// Kernel of the machine.
    pub kernel: String,
    /// Start of the first run, in milliseconds since 1970.
    pub started_ms: u64,
    /// Number of runs that the means are taken over.
    pub runs: usize,
    /// Set if all runs ended as planned.
    pub complete: bool,
    /// Reason why the client did not do its work in most runs, if so.
    pub disturbed: Option<String>,
    /// The share of time, 0 to 1, in which other programs or the hypervisor used a CPU that client or server
    /// needed.
    pub noise: f64,
    /// The share of the requests of all runs, 0 to 1, that failed.
    pub failed: f64,
    /// Limit of the last run.
    pub limited_by: String,
    /// Known figures.
    pub figures: Vec<Figure>,
}

impl Entry {
    /// A figure; `None` if it is unknown.
    pub fn figure(&self, metric: Metric) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.metric == metric.name())
    }

    /// Returns whether all runs ended as planned and, unless `disturbed` says so, the client did its work.
    pub(crate) fn counts(&self, disturbed: bool) -> bool {
        self.complete && (disturbed || self.disturbed.is_none())
    }

    /// Returns the start of the first run.
    pub fn started(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_millis(self.started_ms)
    }

    /// Returns the start of the first run as text: `2026-11-25 04:13`.
    pub fn date(&self) -> String {
        let whole = report::wall_clock_rfc3339(self.started(), 0);
        whole.replacen('T', " ", 1).chars().take(16).collect()
    }
}

/// The entries of a file, in the order of its tests.
///
/// # Errors
/// Returns an error if a plan cannot be written as JSON.
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
    let ended: Vec<&Run> = runs.iter().filter(complete).copied().collect();
    let missed: Vec<String> = ended.iter().filter_map(|run| missed_work(run)).collect();
    let spoiled = 2 * missed.len() > runs.len();
    // Repeats in which the client did its work stand for those in which it did not.
    let counted = ended.iter().filter(|run| spoiled || missed_work(run).is_none());
    let seen: Vec<NoisyFigures> = counted.map(|run| NoisyFigures::from_run(run)).collect();
    let host = first.host.as_ref();
    let text = |text: Option<&String>| text.cloned().unwrap_or_default();
    let started = first.measurement.started_at.duration_since(SystemTime::UNIX_EPOCH);
    let started_ms = started.map_or(0, |since| since.as_millis() as u64);
    let mut failures = Failures::default();
    runs.iter().for_each(|run| failures += Failures::from_measurement(&run.measurement));
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
        runs: seen.len(),
        complete: ended.len() == runs.len(),
        disturbed: missed.into_iter().next().filter(|_| spoiled),
        noise: Held::mean(seen.iter().map(|of| of.held)).share,
        failed: failures.percent() / 100.0,
        limited_by: report::class(last.verdict.limited_by, last.verdict.finding).to_owned(),
        figures: (0..KEPT.len()).filter_map(|number| figure(number, &seen)).collect(),
    })
}

/// The mean of the figure with this index in [`KEPT`], if every run has it.
fn figure(number: usize, runs: &[NoisyFigures]) -> Option<Figure> {
    let values: Option<Vec<[f64; 2]>> = runs.iter().map(|of| of.figures[number]).collect();
    let values = values?;
    let mean = Mean::from_values(&values.iter().map(|[value, _]| *value).collect::<Vec<_>>())?;
    let without = values.iter().map(|[_, without]| *without).collect::<Vec<_>>();
    let without_noise = Mean::from_values(&without)?.mean;
    let known = mean.interval.map(|interval| (interval.low.max(0.0), interval.high));
    let noisy = (without_noise != mean.mean).then_some((mean.mean, mean.mean));
    let interval =
        known.or(noisy).map(|(low, high)| (low.min(without_noise), high.max(without_noise)));
    Some(Figure {
        metric: KEPT[number].name().to_owned(),
        mean: mean.mean,
        interval,
        without_noise,
    })
}

/// Returns the reason why a run does not count in a history; `None` if it does. Noise is no reason: its
/// possible effect is part of the run's interval.
pub fn uncounted(run: &Run) -> Option<String> {
    match run.measurement.ending {
        Ending::Complete => missed_work(run),
        Ending::Interrupted | Ending::Failed(_) => Some("it did not end as planned".to_owned()),
    }
}

/// Describes how the client itself failed to do its work: it missed the schedule while nothing else delayed
/// it.
fn missed_work(run: &Run) -> Option<String> {
    let schedule = ScheduleFigures::new(&run.plan, &run.measurement)?;
    let by_client = !schedule.kept() && schedule.fault.is_some_and(|fault| fault.is_own());
    let found = Disturbance::from_run(run).filter(|_| by_client)?;
    (!found.cause.by_others()).then_some(found.text)
}

/// The figures of a run, and the possible effect of noise on them.
struct NoisyFigures {
    /// Share of time that other programs had the CPU.
    held: Held,
    /// Each figure of [`KEPT`], as measured and without everything that noise can have added.
    figures: [Option<[f64; 2]>; KEPT.len()],
}

impl NoisyFigures {
    fn from_run(run: &Run) -> Self {
        let summary = Summary::from_run(run);
        let (figures, held) = (Figures::from_summary(&summary), Held::of_run(run));
        let both = |metric: Metric| {
            let value = figures.get(metric)?;
            let below = |quantile: f64| {
                // As if the slowest had not been.
                let ns = summary.response_times.quantile_ns(quantile * (1.0 - held.delayed))?;
                Some(value.min(ns as f64 / 1e6))
            };
            let without = match metric.better() {
                Direction::Higher => value * held.factor(),
                // CPU time is counted while a thread runs, not while it waits.
                Direction::Lower => metric.quantile().and_then(below).unwrap_or(value),
            };
            Some([value, without])
        };
        Self { held, figures: KEPT.map(both) }
    }
}

/// The name of a server that stays the same when its version changes: for a program, its file name without
/// the directory.
fn target(endpoint: &Endpoint) -> String {
    match endpoint {
        Endpoint::Spawned { program: Some(program), .. } => {
            program.rsplit('/').next().unwrap_or(program).to_owned()
        }
        Endpoint::Spawned { program: None, .. } => "started for the run".to_owned(),
        endpoint => endpoint.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use report::fixture;

    use super::*;

    /// A run on schedule, in which client and server spent these shares of time on a CPU and waiting for one.
    fn run(client: (f64, f64), server: (f64, f64)) -> Run {
        let mut run = fixture::open_loop();
        fixture::use_cpu(&mut run, client, server);
        run
    }

    #[test]
    fn a_night_counts_if_its_client_did_its_work_and_noise_widens_its_interval() {
        let quiet = entries("a", &[run((0.3, 0.0), (0.3, 0.0))]).unwrap();
        let p99 = quiet[0].figure(Metric::P99).unwrap();
        assert_eq!((quiet[0].noise, p99.interval, p99.without_noise), (0.0, None, p99.mean));
        let noisy = run((0.3, 0.2), (0.5, 0.3));
        assert!(Disturbance::from_run(&noisy).is_some(), "others held the CPU");
        assert_eq!(uncounted(&noisy), None);
        let noisy = &entries("a", &[noisy]).unwrap()[0];
        assert_eq!((noisy.disturbed.as_deref(), noisy.complete), (None, true));
        assert!((0.29..0.31).contains(&noisy.noise), "{}", noisy.noise);
        let p99 = noisy.figure(Metric::P99).unwrap();
        let (low, high) = p99.interval.unwrap();
        assert!(low < p99.mean && high == p99.mean && low == p99.without_noise, "{p99:?}");
        let rate = noisy.figure(Metric::Throughput).unwrap();
        assert!(rate.without_noise > rate.mean * 1.3 && rate.interval.unwrap().0 == rate.mean);
        let cpu = noisy.figure(Metric::ServerCpu).map(|cpu| cpu.without_noise == cpu.mean);
        assert_ne!(cpu, Some(false), "a thread that waits uses no CPU");
    }

    #[test]
    fn a_client_that_was_late_by_itself_says_why_its_run_does_not_count() {
        let mut late = run((0.1, 0.0), (0.1, 0.0));
        let lateness = late.measurement.total.lateness.as_mut().unwrap();
        lateness.record_n(0, 0, 20_000_000, 1000);
        lateness.due += 1000;
        let why = uncounted(&late).unwrap();
        assert!(why.contains("sent over 10 ms late, although connections had room"), "{why}");
        let found = &entries("a", &[late.clone()]).unwrap()[0];
        assert_eq!(found.disturbed.as_ref(), Some(&why));
        // Held up by others it is noise.
        fixture::use_cpu(&mut late, (0.3, 0.2), (0.5, 0.3));
        assert_eq!(uncounted(&late), None);
        late.measurement.ending = Ending::Interrupted;
        assert_eq!(uncounted(&late).as_deref(), Some("it did not end as planned"));
    }
}
