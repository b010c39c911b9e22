//! What a client has seen since its last report: small enough to be sent once a second.
//!
//! The same structs as in a saved run, without what follows from the plan. What is read may come from
//! anywhere: nothing in it is believed before it is checked.

use measure::{Deliveries, Point, Tally, Timeline};
use serde::{Deserialize, Serialize};
use workload::Plan;

use super::RecordError;
use super::command::CommandRecord;
use super::connection::ConnectionRecord;
use super::counts::ErrorRecord;
use super::deadline::DeadlineRecord;
use super::deliveries::DeliveriesRecord;
use super::lateness::LatenessRecord;
use super::operation::OperationRecord;
use super::spans::SpansRecord;
use super::timeline::{self, PointRecord};
use crate::OperationFigures;

/// Counts, histograms and points of the timeline since the last report.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TallyDelta {
    commands: Vec<CommandRecord>,
    /// Where operations have several commands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    operations: Vec<OperationRecord>,
    errors: ErrorRecord,
    connections: ConnectionRecord,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lateness_ms: Option<LatenessRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    spans: Option<SpansRecord>,
    /// What came in time, where there is a deadline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deadline: Option<DeadlineRecord>,
    interval_ns: u64,
    timeline: Vec<PointRecord>,
    /// What became of messages since the start, not since the last report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deliveries: Option<DeliveriesRecord>,
}

impl TallyDelta {
    /// Of what a tally of this plan and these points hold.
    ///
    /// # Errors
    /// A count is too large to be written.
    pub fn new(
        plan: &Plan,
        tally: &Tally,
        interval_ns: u64,
        points: Vec<Point>,
    ) -> Result<Self, RecordError> {
        let Tally { commands, operations: _, errors, connections, lateness, spans, deadline } =
            tally;
        let figures = plan.counts_operations().then(|| OperationFigures::of_plan(plan, tally, 0.0));
        let different = plan.different_commands().commands;
        let named = different.iter().map(|command| command.name()).zip(commands);
        Ok(Self {
            commands: named.map(|(n, t)| CommandRecord::new(n, t)).collect::<Result<_, _>>()?,
            operations: OperationRecord::of_plan(plan, tally, &figures.unwrap_or_default())?,
            errors: ErrorRecord::from_errors(errors),
            connections: ConnectionRecord::from_tally(connections)?,
            lateness_ms: lateness.as_ref().map(LatenessRecord::from_lateness).transpose()?,
            spans: spans.as_deref().map(|spans| SpansRecord::new(spans, None)).transpose()?,
            deadline: deadline.map(|tally| DeadlineRecord::new(tally, None)),
            interval_ns,
            timeline: timeline::record(&Timeline::from_points(interval_ns, points)),
            deliveries: None,
        })
    }

    /// The same with what became of messages since the start.
    ///
    /// # Errors
    /// A count is too large to be written.
    pub fn with_deliveries(self, deliveries: &Deliveries) -> Result<Self, RecordError> {
        Ok(Self { deliveries: Some(DeliveriesRecord::from_deliveries(deliveries)?), ..self })
    }

    /// What became of messages since the start, if it is known.
    ///
    /// # Errors
    /// A histogram in it is none.
    pub fn deliveries(&self) -> Result<Option<Box<Deliveries>>, RecordError> {
        self.deliveries.clone().map(DeliveriesRecord::deliveries).transpose()
    }

    /// The tally.
    ///
    /// # Errors
    /// It is none of this plan, or a histogram in it is none.
    pub fn tally(&self, plan: &Plan) -> Result<Tally, RecordError> {
        let (found, wanted) = (self.commands.len(), plan.different_commands().commands.len());
        if found != wanted {
            return Err(RecordError::wrong(format!("{found} commands of a plan with {wanted}")));
        }
        Ok(Tally {
            commands: self.commands.iter().map(CommandRecord::tally).collect::<Result<_, _>>()?,
            operations: OperationRecord::tallies(&self.operations, plan)?,
            errors: self.errors.clone().counts(),
            connections: self.connections.tally()?,
            lateness: self.lateness_ms.as_ref().map(LatenessRecord::lateness).transpose()?,
            spans: self.spans.as_ref().map(SpansRecord::spans).transpose()?,
            deadline: self.deadline.as_ref().map(DeadlineRecord::tally),
        })
    }

    /// The points, numbered from the start of the run. Their histograms are not looked at.
    ///
    /// # Errors
    /// They are out of order.
    pub fn timeline(&self) -> Result<Timeline, RecordError> {
        timeline::load_encoded(self.interval_ns, &self.timeline)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn what_grew_is_read_as_it_was_written() {
        for (name, run) in fixture::all().iter().filter(|(name, _)| *name != "hostile") {
            let measured = &run.measurement;
            let points = measured.timeline.points.clone();
            let interval_ns = measured.timeline.interval_ns;
            let growth = TallyDelta::new(&run.plan, &measured.total, interval_ns, points).unwrap();
            let text = serde_json::to_string(&growth).unwrap();
            let read: TallyDelta = serde_json::from_str(&text).unwrap();
            let tally = read.tally(&run.plan).unwrap();
            assert_eq!(tally.requests(), measured.total.requests(), "{name}");
            assert!(tally.response().recorded().eq(measured.total.response().recorded()), "{name}");
            let ends = |points: &[Point]| {
                points.iter().map(|p| (p.index, p.requests, p.max_ns)).collect::<Vec<_>>()
            };
            let points = read.timeline().unwrap().points;
            assert_eq!(ends(&points), ends(&measured.timeline.points), "{name}");
        }
        let run = fixture::complete();
        let two = fixture::changed(|p| p.sequence.push(workload::CommandSpec::parse(["PING"])));
        let growth =
            TallyDelta::new(&run.plan, &run.measurement.total, 1_000_000, Vec::new()).unwrap();
        assert!(growth.tally(&two.plan).is_err());
    }
}
