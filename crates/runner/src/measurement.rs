//! Result of a run: the combined tallies of its workers, its time and its end.

use std::ops::Range;
use std::time::{Duration, SystemTime};

use measure::{
    Absence, Ending, Measurement, Outage, SuccessLine, Tally, TallyShape, Tenure, Timeline,
    UsualPauses,
};
use workload::{Pace, Plan, Stop};

use crate::collect::{Collector, Snapshot};
use crate::gate::Gate;

/// Shortest absence of the client that is reported; a busy machine may cause shorter ones.
const ABSENCE_MIN_NS: u64 = 500_000_000;

/// Returns the histograms that a tally of this plan keeps.
pub fn tally_shape(plan: &Plan) -> TallyShape {
    TallyShape {
        commands: plan.different_commands().commands.len(),
        precision: plan.recording.precision,
        scheduled: matches!(plan.load.pace, Pace::Open(_)),
        first_byte: plan.recording.first_byte,
        operations: if plan.counts_operations() { plan.operation_names().count() } else { 0 },
        separate_failures: plan.peer.separate_failures,
        places: if plan.peer.per_position { most_places(plan) } else { 0 },
        spans: plan.recording.kernel_stamps && !plan.has_receivers(),
        deadline_ns: plan.recovery.deadline_ns,
    }
}

/// Largest number of items that one command asks for, among commands whose replies have a slot for each.
fn most_places(plan: &Plan) -> usize {
    let placed = plan.sequence.iter().filter(|command| command.has_places());
    placed.filter_map(|command| Some(command.several_asked()?.1)).max().unwrap_or(0)
}

/// Builds the measurement of a plan. The engines' clocks began at `origin`, read from the wall clock at that
/// moment, so that a clock set during the run moves no start. `tenures` says which server was responsible
/// when, if that changes.
pub(crate) fn measurement(
    plan: &Plan,
    collector: Collector,
    gate: &Gate<'_>,
    origin: SystemTime,
    tenures: &[Tenure],
) -> Measurement {
    let Collector { mut total, mut timeline, workers, span, successes, delayed, nodes, .. } =
        collector;
    let absent = collector.absences.unwrap_or_default();
    let by_connection = collector.by_connection.into_iter().flatten().collect();
    let logs = collector.logs.into_iter().flatten().collect();
    timeline.merge_all();
    if let (Some(lateness), Some(planned)) = (&mut total.lateness, plan.own_requests()) {
        // The schedule goes on; what is due does not, once all requests are taken.
        lateness.due = lateness.due.min(planned);
    }
    let (from_ns, to_ns) = span.unwrap_or_default();
    let ending = match gate.failure() {
        Some(fatal) => Ending::Failed(fatal),
        None if gate.interrupted() => Ending::Interrupted,
        None => Ending::Complete,
    };
    let planned_ns = match plan.load.stop {
        Stop::AfterNs(ns) if ending == Ending::Complete => ns,
        _ => 0,
    };
    let elapsed_ns = (to_ns - from_ns).max(planned_ns);
    timeline.end_at(elapsed_ns);
    let tenures: Vec<Tenure> = tenures.iter().filter_map(|t| t.since(from_ns)).collect();
    let since = |ns: u64| ns.saturating_sub(from_ns).min(elapsed_ns);
    let absent = absent.iter().map(|span| since(span.start)..since(span.end));
    let absent: Vec<_> = absent.filter(|span| !span.is_empty()).collect();
    let outages = outages(plan, &total, &successes, elapsed_ns, &tenures, &absent);
    let absences = absent.iter().filter(|span| span.end - span.start >= ABSENCE_MIN_NS);
    Measurement {
        absences: absences.map(|span| Absence { from_ns: span.start, to_ns: span.end }).collect(),
        outages,
        delayed,
        total,
        timeline,
        started_at: origin.checked_add(Duration::from_nanos(from_ns)).unwrap_or(origin),
        elapsed_ns,
        workers,
        engine: String::new(),
        engine_note: None,
        nodes,
        by_connection,
        logs,
        lanes: Vec::new(),
        deliveries: None,
        ending,
    }
}

/// Outages of a run of this length, given the responsible servers and the client's absences.
fn outages(
    plan: &Plan,
    total: &Tally,
    successes: &SuccessLine,
    elapsed_ns: u64,
    tenures: &[Tenure],
    absent: &[Range<u64>],
) -> Vec<Outage> {
    let service_ns = total.service().quantile_ns(0.5).unwrap_or_default();
    let usual = UsualPauses { due_every_ns: plan.due_every_ns(), service_ns };
    let mut outages = successes.outages(elapsed_ns, &usual, tenures, absent);
    // A schedule may pause, and nothing can succeed while nothing is due.
    outages.retain(|o| o.failures.total() > 0 || plan.is_due_within(o.from_ns, o.to_ns));
    outages
}

impl Snapshot<'_> {
    /// Returns the measurement so far, as if the run ended now, with `timeline` up to this interval. Copies
    /// all counts; CPU times and nodes are known only at the end.
    pub fn so_far(&self, plan: &Plan, started: SystemTime, mut timeline: Timeline) -> Measurement {
        timeline.merge_all();
        timeline.end_at(self.elapsed_ns);
        Measurement {
            absences: Vec::new(),
            outages: self.successes.map_or(Vec::new(), |successes| {
                outages(plan, self.total, successes, self.elapsed_ns, &[], &[])
            }),
            delayed: None,
            total: self.total.clone(),
            timeline,
            started_at: started,
            elapsed_ns: self.elapsed_ns,
            workers: Vec::new(),
            engine: self.engine.to_owned(),
            engine_note: None,
            nodes: Vec::new(),
            by_connection: Vec::new(),
            logs: Vec::new(),
            lanes: Vec::new(),
            deliveries: None,
            ending: Ending::Complete,
        }
    }
}
