//! One test in a saved run: its figures, and everything that they are derived from.
//!
//! Every struct of a [`Run`] is taken apart by name, so that a field that is added and not saved
//! does not compile.

use std::time::SystemTime;

use measure::{CommandTally, Ending, Failure, FailureSource, Measurement, Tally, Timeline};
use serde::{Deserialize, Serialize};
use workload::Plan;

use super::command::CommandRecord;
use super::connection::ConnectionRecord;
use super::counts::{ErrorRecord, KeyRecord, LookupRecord};
use super::deadline::DeadlineRecord;
use super::deliveries::DeliveriesRecord;
use super::latency::LatencyRecord;
use super::lateness::LatenessRecord;
use super::node::NodeRecord;
use super::operation::OperationRecord;
use super::outages::{AbsenceRecord, OutageRecord};
use super::probe::ProbeRecord;
use super::spans::SpansRecord;
use super::timeline::{self, PointRecord};
use super::warning::{self, WarningKindRecord};
use super::worker::WorkerRecord;
use super::{Common, RecordError};
use crate::slo::{Judgement, Slo, SloResult};
use crate::{
    Clients, Clock, CpuFigures, Lookups, Mark, Repeat, Run, Summary, Verdict, WorstMoments,
};

/// One test.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct TestRecord {
    name: String,
    /// Its number among the runs of one plan, and how many were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    repeat: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    repeat_of: Option<u32>,
    requests: u64,
    errors: ErrorRecord,
    /// Those of all commands together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    keys: Option<KeyRecord>,
    /// Of all commands that look something up, together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lookups: Option<LookupRecord>,
    elapsed_s: f64,
    throughput_rps: f64,
    /// What follows from the rest is written and never read.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    client_cpu_us_per_request: Option<f64>,
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    server_cpu_us_per_request: Option<f64>,
    latency_ms: Latencies,
    commands: Vec<CommandRecord>,
    /// The operations of a mix.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    operations: Vec<OperationRecord>,
    connections: ConnectionRecord,
    /// What became of messages, where their delivery is measured; the latencies are then those of deliveries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deliveries: Option<DeliveriesRecord>,
    /// The nodes of a cluster.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    nodes: Vec<NodeRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lateness_ms: Option<LatenessRecord>,
    /// Where response times were spent, where the kernel stamped replies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    spans: Option<SpansRecord>,
    /// What came in time, where there is a deadline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deadline: Option<DeadlineRecord>,
    #[serde(default)]
    outages: Vec<OutageRecord>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    absences: Vec<AbsenceRecord>,
    /// Response times of the requests of a schedule that were due in outages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    delayed_ms: Option<LatencyRecord>,
    /// Follows from the rest, and so is written and never read.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    worst_moments: Option<WorstMoments>,
    timeline_interval_s: f64,
    timeline: Vec<PointRecord>,
    verdict: Verdict,
    #[serde(default)]
    warnings: Vec<String>,
    /// Of each warning.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    warning_kinds: Vec<WarningKindRecord>,
    /// What was watched beside the load.
    #[serde(default)]
    watched: host::WatchRecord,
    /// RFC 3339 in UTC, with nanoseconds.
    started_at: String,
    ending: EndingRecord,
    /// Why it failed, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
    /// Who says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failure_from: Option<FailureSource>,
    client: ClientRecord,
    /// Several clients that carried it out together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    clients: Option<Clients>,
    /// What a quiet client saw beside the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    probe: Option<ProbeRecord>,
    /// Moments that somebody marked while it lasted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    marks: Vec<Mark>,
    /// The clock that its times are of, where that is not the host's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    clock: Option<Clock>,
    /// What became of the target of response times, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    target: Option<TargetRecord>,
    exact: ExactTimes,
}

/// A target and what became of it; the latter follows from the rest, and so is written and never read.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct TargetRecord {
    /// As it was typed.
    slo: String,
    #[serde(flatten, skip_deserializing)]
    judgement: Option<Judgement>,
}

impl TargetRecord {
    pub(super) fn from_result(result: &SloResult) -> Self {
        Self { slo: result.slo.text.clone(), judgement: Some(result.judgement.clone()) }
    }

    fn slo(&self) -> Result<Slo, RecordError> {
        Slo::parse(&self.slo).map_err(|why| RecordError::wrong(format!("target: {why}")))
    }
}

/// Whole nanoseconds of what stands above in seconds.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct ExactTimes {
    elapsed_ns: u64,
    timeline_interval_ns: u64,
    /// From when to when all clients of a merged run ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    all_ran_ns: Option<[u64; 2]>,
}

/// Latencies of all commands together.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Latencies {
    service: LatencyRecord,
    response: LatencyRecord,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    first_byte: Option<LatencyRecord>,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum EndingRecord {
    Complete,
    Interrupted,
    Failed,
}

/// What of us carried out the test.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct ClientRecord {
    engine: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    engine_note: Option<String>,
    workers: Vec<WorkerRecord>,
}

impl TestRecord {
    pub(super) fn from_run(run: &Run) -> Result<Self, RecordError> {
        // What all tests have in common stands in the document.
        let Run {
            plan,
            repeat,
            slo: _,
            measurement,
            clients,
            probe,
            marks,
            clock,
            watched,
            verdict,
            warnings,
            ..
        } = run;
        let Run { host: _, other_hosts: _, server: _, version: _, .. } = run;
        let Measurement {
            total,
            timeline,
            outages,
            absences,
            delayed,
            started_at,
            elapsed_ns,
            workers,
            engine,
            engine_note,
            nodes,
            // Files of its own have it.
            by_connection: _,
            logs: _,
            deliveries,
            ending,
        } = measurement;
        let Tally { commands, operations: _, errors, connections, lateness, spans, deadline } =
            total;
        let Timeline { interval_ns, all_ran, .. } = timeline;
        let summary = Summary::from_run(run);
        let cpu = CpuFigures::from_summary(&summary);
        let looked = Lookups::of_commands(plan, total);
        let different = plan.different_commands().commands;
        let named = different.iter().map(|command| command.name());
        let (ending, failure) = match ending {
            Ending::Complete => (EndingRecord::Complete, None),
            Ending::Interrupted => (EndingRecord::Interrupted, None),
            Ending::Failed(failure) => (EndingRecord::Failed, Some(failure)),
        };
        let first_byte =
            plan.recording.first_byte.then(|| LatencyRecord::from_latency(&total.first_byte()));
        Ok(Self {
            name: plan.name.clone(),
            repeat: repeat.map(|repeat| repeat.number),
            repeat_of: repeat.map(|repeat| repeat.of),
            requests: summary.requests,
            errors: ErrorRecord::from_errors(errors),
            keys: KeyRecord::from_keys(&total.keys()),
            lookups: looked
                .iter()
                .any(Option::is_some)
                .then(|| LookupRecord::from_lookups(summary.lookups)),
            elapsed_s: summary.elapsed_s,
            throughput_rps: summary.throughput_rps,
            client_cpu_us_per_request: cpu.client_us,
            server_cpu_us_per_request: cpu.server_us,
            latency_ms: Latencies {
                service: LatencyRecord::from_latency(&total.service())?,
                response: LatencyRecord::from_latency(&summary.response_times)?,
                first_byte: first_byte.transpose()?,
            },
            commands: named
                .zip(commands)
                .zip(&looked)
                .map(|((name, tally), lookups)| {
                    let lookups = lookups.map(LookupRecord::from_lookups);
                    Ok(CommandRecord::new(name, tally)?.with_lookups(lookups))
                })
                .collect::<Result<_, RecordError>>()?,
            operations: OperationRecord::of_plan(plan, total, &summary.operations)?,
            connections: ConnectionRecord::from_tally(connections)?,
            deliveries: deliveries.as_deref().map(DeliveriesRecord::from_deliveries).transpose()?,
            nodes: nodes.iter().map(NodeRecord::from_tally).collect::<Result<_, _>>()?,
            lateness_ms: lateness.as_ref().map(LatenessRecord::from_lateness).transpose()?,
            spans: spans
                .as_deref()
                .map(|of| SpansRecord::new(of, summary.spans.as_ref()))
                .transpose()?,
            deadline: deadline.map(|tally| DeadlineRecord::new(tally, summary.deadline.as_ref())),
            outages: outages.iter().map(OutageRecord::from_outage).collect(),
            absences: absences.iter().map(AbsenceRecord::from_absence).collect(),
            delayed_ms: delayed.as_ref().map(LatencyRecord::from_latency).transpose()?,
            worst_moments: WorstMoments::from_run(run),
            timeline_interval_s: *interval_ns as f64 / 1e9,
            timeline: timeline::record(timeline),
            verdict: verdict.clone(),
            warnings: warnings.iter().map(|warning| warning.text.clone()).collect(),
            warning_kinds: warnings.iter().map(WarningKindRecord::from_warning).collect(),
            watched: watched.clone(),
            started_at: written(*started_at),
            ending,
            failure: failure.map(|failure| failure.text.clone()),
            failure_from: failure.map(|failure| failure.from),
            client: ClientRecord {
                engine: engine.clone(),
                engine_note: engine_note.clone(),
                workers: workers.iter().map(WorkerRecord::from_worker).collect(),
            },
            clients: clients.clone(),
            probe: probe.as_ref().map(ProbeRecord::from_probe).transpose()?,
            marks: marks.clone(),
            clock: clock.clone(),
            target: summary.target.as_ref().map(TargetRecord::from_result),
            exact: ExactTimes {
                elapsed_ns: *elapsed_ns,
                timeline_interval_ns: *interval_ns,
                all_ran_ns: all_ran.as_ref().map(|span| [span.start, span.end]),
            },
        })
    }

    /// The run, with what all tests of a file have in common.
    pub(super) fn run(self, plan: Plan, common: &Common) -> Result<Run, RecordError> {
        let different = plan.different_commands();
        // In older files repeats of a command stand for themselves.
        let repeats = self.commands.len() == different.of.len();
        if !repeats && self.commands.len() != different.commands.len() {
            return Err(RecordError::wrong(format!(
                "the test {} has {} commands and its plan {}",
                self.name,
                self.commands.len(),
                different.commands.len()
            )));
        }
        let mut commands: Vec<CommandTally> = Vec::with_capacity(different.commands.len());
        for (at, record) in self.commands.iter().enumerate() {
            let tally = record.tally()?;
            let which = if repeats { different.of[at] as usize } else { at };
            match commands.get_mut(which) {
                Some(known) => known.merge(&tally),
                None => commands.push(tally),
            }
        }
        let total = Tally {
            commands,
            operations: OperationRecord::tallies(&self.operations, &plan)?,
            errors: self.errors.counts(),
            connections: self.connections.tally()?,
            lateness: self.lateness_ms.as_ref().map(LatenessRecord::lateness).transpose()?,
            spans: self.spans.as_ref().map(SpansRecord::spans).transpose()?,
            deadline: self.deadline.as_ref().map(DeadlineRecord::tally),
        };
        let started_at = humantime::parse_rfc3339(&self.started_at)
            .map_err(|e| RecordError::wrong(format!("started_at is {:?}: {e}", self.started_at)))?;
        let mut timeline = (common.timeline)(self.exact.timeline_interval_ns, &self.timeline)?;
        timeline.all_ran = self.exact.all_ran_ns.map(|[from_ns, to_ns]| from_ns..to_ns);
        let measurement = Measurement {
            total,
            outages: self.outages.iter().map(OutageRecord::outage).collect::<Result<_, _>>()?,
            absences: self.absences.iter().map(AbsenceRecord::absence).collect::<Result<_, _>>()?,
            delayed: self.delayed_ms.as_ref().map(LatencyRecord::latency).transpose()?,
            timeline,
            started_at,
            elapsed_ns: self.exact.elapsed_ns,
            workers: self.client.workers.iter().map(|w| w.worker()).collect(),
            engine: self.client.engine,
            engine_note: self.client.engine_note,
            nodes: self.nodes.iter().map(NodeRecord::tally).collect::<Result<_, _>>()?,
            by_connection: Vec::new(),
            logs: Vec::new(),
            deliveries: self.deliveries.map(DeliveriesRecord::deliveries).transpose()?,
            ending: match self.ending {
                EndingRecord::Complete => Ending::Complete,
                EndingRecord::Interrupted => Ending::Interrupted,
                EndingRecord::Failed => Ending::Failed(Failure {
                    from: self.failure_from.unwrap_or(FailureSource::Client),
                    text: self.failure.unwrap_or_default(),
                }),
            },
        };
        Ok(Run {
            plan,
            repeat: self.repeat.zip(self.repeat_of).map(|(number, of)| Repeat { number, of }),
            slo: self.target.as_ref().map(TargetRecord::slo).transpose()?,
            measurement,
            host: common.host.clone(),
            other_hosts: common.other_hosts.clone(),
            clients: self.clients,
            probe: self.probe.as_ref().map(ProbeRecord::probe).transpose()?,
            marks: self.marks,
            clock: self.clock,
            server: common.server.clone(),
            version: common.version.clone(),
            watched: self.watched,
            verdict: self.verdict,
            warnings: warning::loaded(self.warnings, self.warning_kinds),
        })
    }

    /// Whether the test was carried out as planned.
    pub(super) fn complete(&self) -> bool {
        matches!(self.ending, EndingRecord::Complete)
    }

    /// What moved its bytes, and with which threads.
    pub(super) fn client(&self) -> (&str, &[WorkerRecord]) {
        (&self.client.engine, &self.client.workers)
    }
}

/// Years that RFC 3339 has no digits for are those of a broken clock.
fn written(time: SystemTime) -> String {
    const YEAR_9999_S: u64 = 253_402_300_799;
    let last = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(YEAR_9999_S);
    humantime::format_rfc3339_nanos(time.clamp(SystemTime::UNIX_EPOCH, last)).to_string()
}
