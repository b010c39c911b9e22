//! One test in a saved run: its figures, and the measurements that they are derived from.
//!
//! Derived data, such as names and percentiles, is written for readers and never read.

use host::ServerFacts;
use measure::{
    Absence, CommandTally, ConnectionTally, DeadlineTally, Deliveries, Ending, ErrorCounts,
    KeyCounts, LaneRecord, Latency, Lateness, Measurement, NodeTally, OperationTally, Outage,
    Point, Spans, Tally, Timeline, WorkerUse,
};
use serde::{Deserialize, Serialize};
use workload::Plan;

use super::error::RecordError;
use crate::slo::{Slo, SloResult};
use crate::wall_clock::moment;
use crate::{
    Clients, Clock, CpuFigures, DeadlineFigures, Lookups, Mark, OperationFigures, Probe, Repeat,
    Run, SpanParts, Summary, Verdict, Warning, WorstMoments,
};

/// A test in written form.
#[derive(Serialize)]
pub(super) struct WrittenTest<'r> {
    name: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    repeat: Option<Repeat>,
    requests: u64,
    errors: &'r ErrorCounts,
    /// Keys of all commands together.
    #[serde(skip_serializing_if = "Option::is_none")]
    keys: Option<KeyCounts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lookups: Option<Lookups>,
    elapsed_s: f64,
    throughput_rps: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_cpu_us_per_request: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_cpu_us_per_request: Option<f64>,
    latency_ms: Latencies<'r>,
    commands: Vec<NamedCommand<'r>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    operations: &'r [OperationFigures],
    connections: &'r ConnectionTally,
    #[serde(skip_serializing_if = "Option::is_none")]
    deliveries: Option<CountedDeliveries<'r>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    nodes: &'r [NodeTally],
    #[serde(skip_serializing_if = "Option::is_none")]
    lateness_ms: Option<&'r Lateness>,
    #[serde(skip_serializing_if = "Option::is_none")]
    spans: Option<SpansWithParts<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline: Option<DeadlineFigures>,
    outages: &'r [Outage],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    lanes: &'r [LaneRecord],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    absences: &'r [Absence],
    #[serde(skip_serializing_if = "Option::is_none")]
    delayed_ms: Option<&'r Latency>,
    #[serde(skip_serializing_if = "Option::is_none")]
    worst_moments: Option<WorstMoments>,
    timeline_interval_s: f64,
    timeline: Vec<TimedPoint<'r>>,
    verdict: &'r Verdict,
    warnings: &'r [Warning],
    watched: &'r host::WatchRecord,
    /// RFC 3339 in UTC, with nanoseconds.
    started_at: String,
    ending: &'r Ending,
    client: WrittenClient<'r>,
    #[serde(skip_serializing_if = "Option::is_none")]
    clients: Option<&'r Clients>,
    #[serde(skip_serializing_if = "Option::is_none")]
    probe: Option<&'r Probe>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    marks: &'r [Mark],
    #[serde(skip_serializing_if = "Option::is_none")]
    clock: Option<&'r Clock>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<SloResult>,
    exact: ExactTimes,
}

/// Latencies of all commands together.
#[derive(Serialize)]
struct Latencies<'r> {
    service: Latency,
    response: &'r Latency,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_byte: Option<Latency>,
}

#[derive(Serialize)]
struct NamedCommand<'r> {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    lookups: Option<Lookups>,
    #[serde(flatten)]
    tally: &'r CommandTally,
}

impl<'r> NamedCommand<'r> {
    fn of_plan(plan: &Plan, total: &'r Tally, looked: &[Option<Lookups>]) -> Vec<Self> {
        let commands = plan.different_commands().commands;
        let tallied = commands.iter().zip(&total.commands).zip(looked);
        let named = tallied.map(|((command, tally), lookups)| Self {
            name: command.name(),
            lookups: *lookups,
            tally,
        });
        named.collect()
    }
}

#[derive(Serialize)]
struct CountedDeliveries<'r> {
    messages_acknowledged: u64,
    messages_unacknowledged: u64,
    lost: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    backlog_max: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    backlog_at_end: Option<u64>,
    #[serde(flatten)]
    deliveries: &'r Deliveries,
}

impl<'r> CountedDeliveries<'r> {
    fn new(deliveries: &'r Deliveries) -> Self {
        let (most, last) = deliveries.waits.as_ref().and_then(|waits| waits.backlogs()).unzip();
        Self {
            messages_acknowledged: deliveries.acknowledged(),
            messages_unacknowledged: deliveries.unacknowledged(),
            lost: deliveries.lost(),
            backlog_max: most.map(|backlog| backlog.messages),
            backlog_at_end: last.map(|backlog| backlog.messages),
            deliveries,
        }
    }
}

#[derive(Serialize)]
struct SpansWithParts<'r> {
    #[serde(flatten)]
    spans: &'r Spans,
    parts_ms: &'r [SpanParts],
}

#[derive(Serialize)]
struct TimedPoint<'r> {
    /// Beginning of the interval, in seconds from the start of the measured part.
    t_s: f64,
    #[serde(flatten)]
    point: &'r Point,
}

/// Parts of keystorm that carried out the test.
#[derive(Serialize)]
struct WrittenClient<'r> {
    engine: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    engine_note: Option<&'r str>,
    workers: Vec<BusyWorker>,
}

/// CPU time of a worker thread. `busy` is the share of a core.
#[derive(Debug, Clone, Serialize)]
pub(super) struct BusyWorker {
    busy: f64,
    #[serde(flatten)]
    used: WorkerUse,
}

impl BusyWorker {
    pub(super) fn new(used: &WorkerUse) -> Self {
        Self { busy: used.busy(), used: *used }
    }
}

/// Times in whole nanoseconds, which are elsewhere in seconds.
#[derive(Serialize, Deserialize)]
struct ExactTimes {
    elapsed_ns: u64,
    timeline_interval_ns: u64,
    /// Span in which all clients of a merged run ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    all_ran_ns: Option<[u64; 2]>,
}

impl<'r> WrittenTest<'r> {
    pub(super) fn new(summary: &'r Summary<'_>) -> Self {
        let run = summary.run;
        let (plan, measured) = (&run.plan, &run.measurement);
        let total = &measured.total;
        let cpu = CpuFigures::from_summary(summary);
        let looked = Lookups::of_commands(plan, total);
        let interval_ns = measured.timeline.interval_ns;
        let interval_s = interval_ns as f64 / 1e9;
        let spans = total.spans.as_deref().zip(summary.spans.as_ref());
        Self {
            name: &plan.name,
            repeat: run.repeat,
            requests: summary.requests,
            errors: &total.errors,
            keys: Some(total.keys()).filter(|keys| keys.asked > 0),
            lookups: looked.iter().any(Option::is_some).then_some(summary.lookups),
            elapsed_s: summary.elapsed_s,
            throughput_rps: summary.throughput_rps,
            client_cpu_us_per_request: cpu.client_us,
            server_cpu_us_per_request: cpu.server_us,
            latency_ms: Latencies {
                service: total.service(),
                response: &summary.response_times,
                first_byte: plan.recording.first_byte.then(|| total.first_byte()),
            },
            commands: NamedCommand::of_plan(plan, total, &looked),
            operations: &summary.operations,
            connections: &total.connections,
            deliveries: measured.deliveries.as_deref().map(CountedDeliveries::new),
            nodes: &measured.nodes,
            lateness_ms: total.lateness.as_ref(),
            spans: spans.map(|(spans, figures)| SpansWithParts { spans, parts_ms: &figures.parts }),
            deadline: summary.deadline,
            outages: &measured.outages,
            lanes: &measured.lanes,
            absences: &measured.absences,
            delayed_ms: measured.delayed.as_ref(),
            worst_moments: WorstMoments::from_run(run),
            timeline_interval_s: interval_s,
            timeline: (measured.timeline.points.iter())
                .map(|point| TimedPoint { t_s: f64::from(point.index) * interval_s, point })
                .collect(),
            verdict: &run.verdict,
            warnings: &run.warnings,
            watched: &run.watched,
            started_at: humantime::format_rfc3339_nanos(moment(measured.started_at, 0)).to_string(),
            ending: &measured.ending,
            client: WrittenClient {
                engine: &measured.engine,
                engine_note: measured.engine_note.as_deref(),
                workers: measured.workers.iter().map(BusyWorker::new).collect(),
            },
            clients: run.clients.as_ref(),
            probe: run.probe.as_ref(),
            marks: &run.marks,
            clock: run.clock.as_ref(),
            target: summary.target(),
            exact: ExactTimes {
                elapsed_ns: measured.elapsed_ns,
                timeline_interval_ns: interval_ns,
                all_ran_ns: (measured.timeline.all_ran.as_ref()).map(|span| [span.start, span.end]),
            },
        }
    }
}

/// A test in the form in which it is read.
#[derive(Deserialize)]
pub(super) struct SavedTest {
    repeat: Option<Repeat>,
    errors: ErrorCounts,
    commands: Vec<CommandTally>,
    #[serde(default)]
    operations: Vec<OperationTally>,
    connections: ConnectionTally,
    deliveries: Option<Box<Deliveries>>,
    #[serde(default)]
    nodes: Vec<NodeTally>,
    lateness_ms: Option<Lateness>,
    spans: Option<Box<Spans>>,
    deadline: Option<DeadlineTally>,
    outages: Vec<Outage>,
    #[serde(default)]
    lanes: Vec<LaneRecord>,
    #[serde(default)]
    absences: Vec<Absence>,
    delayed_ms: Option<Latency>,
    timeline: Vec<Point>,
    verdict: Verdict,
    warnings: Vec<Warning>,
    watched: host::WatchRecord,
    started_at: String,
    ending: Ending,
    client: SavedClient,
    clients: Option<Clients>,
    probe: Option<Probe>,
    #[serde(default)]
    marks: Vec<Mark>,
    clock: Option<Clock>,
    target: Option<SavedTarget>,
    exact: ExactTimes,
}

#[derive(Deserialize)]
struct SavedClient {
    engine: String,
    engine_note: Option<String>,
    workers: Vec<WorkerUse>,
}

#[derive(Deserialize)]
struct SavedTarget {
    slo: String,
}

impl SavedTarget {
    fn slo(&self) -> Result<Slo, RecordError> {
        Slo::parse(&self.slo).map_err(|why| RecordError::wrong(format!("target: {why}")))
    }
}

impl SavedTest {
    /// Restores the run, without what all tests of a record have in common.
    pub(super) fn run(self, plan: Plan) -> Result<Run, RecordError> {
        let total = Tally {
            commands: self.commands,
            operations: if plan.counts_operations() { self.operations } else { Vec::new() },
            errors: self.errors,
            connections: self.connections,
            lateness: self.lateness_ms,
            spans: self.spans,
            deadline: self.deadline,
        };
        let wanted = plan.different_commands().commands.len();
        if total.commands.len() != wanted {
            let found = total.commands.len();
            return Err(RecordError::wrong(format!("{found} commands of a plan with {wanted}")));
        }
        let wanted = plan.operation_names().count();
        if plan.counts_operations() && total.operations.len() != wanted {
            let found = total.operations.len();
            return Err(RecordError::wrong(format!("{found} operations of a plan with {wanted}")));
        }
        let spans = self.outages.iter().map(|outage| ("an outage", outage.from_ns, outage.to_ns));
        let absences = self.absences.iter().map(|of| ("an absence", of.from_ns, of.to_ns));
        if let Some((what, from, to)) = spans.chain(absences).find(|(_, from, to)| from > to) {
            return Err(RecordError::wrong(format!(
                "{what} from {from} ns to {to} is not possible"
            )));
        }
        let started_at = humantime::parse_rfc3339(&self.started_at)
            .map_err(|e| RecordError::wrong(format!("started_at is {:?}: {e}", self.started_at)))?;
        let mut timeline = timeline(self.exact.timeline_interval_ns, self.timeline)?;
        timeline.all_ran = self.exact.all_ran_ns.map(|[from_ns, to_ns]| from_ns..to_ns);
        let measurement = Measurement {
            total,
            timeline,
            outages: self.outages,
            absences: self.absences,
            delayed: self.delayed_ms,
            started_at,
            elapsed_ns: self.exact.elapsed_ns,
            workers: self.client.workers,
            engine: self.client.engine,
            engine_note: self.client.engine_note,
            nodes: self.nodes,
            // Files of their own have them.
            by_connection: Vec::new(),
            logs: Vec::new(),
            lanes: self.lanes,
            deliveries: self.deliveries,
            ending: self.ending,
        };
        Ok(Run {
            plan,
            repeat: self.repeat,
            slo: self.target.as_ref().map(SavedTarget::slo).transpose()?,
            measurement,
            host: None,
            other_hosts: Vec::new(),
            clients: self.clients,
            probe: self.probe,
            marks: self.marks,
            clock: self.clock,
            server: ServerFacts::default(),
            version: String::new(),
            watched: self.watched,
            verdict: self.verdict,
            warnings: self.warnings,
        })
    }
}

/// Shortest accepted interval; nothing writes more than a thousand a second.
const INTERVAL_NS_MIN: u64 = 1_000_000;

fn timeline(interval_ns: u64, points: Vec<Point>) -> Result<Timeline, RecordError> {
    let wrong = |what: &str| Err(RecordError::wrong(format!("the timeline {what}")));
    if interval_ns < INTERVAL_NS_MIN && !points.is_empty() {
        return wrong("has an interval below 1 ms");
    }
    if points.len() > Timeline::POINTS_MAX {
        return wrong(&format!("has more than {} points", Timeline::POINTS_MAX));
    }
    if !points.is_sorted_by(|before, after| before.index < after.index) {
        return wrong("has points that are out of order");
    }
    let histograms = points.iter().filter_map(|point| point.response.as_ref());
    histograms.map(|response| response.decode()).try_for_each(|decoded| decoded.map(|_| ()))?;
    Ok(Timeline::from_points(interval_ns, points))
}
