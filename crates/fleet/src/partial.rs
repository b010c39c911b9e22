//! A client's report on its share so far, which remains if the client is lost.

use std::time::SystemTime;

use measure::{Deliveries, Ending, KeptKeys, Latency, Measurement, Tally, Timeline, WorkerUse};
use report::RecordError;
use runner::{Gauges, INTERVAL_NS, tally_shape};
use workload::{Delivery, Pace, Plan};

use crate::line::Tick;

/// Figures that one client has reported so far.
#[derive(Default)]
pub(crate) struct Partial {
    total: Option<Tally>,
    deliveries: Option<Box<Deliveries>>,
    timeline: Option<Timeline>,
    /// Length of the measured part so far.
    elapsed_ns: u64,
    /// Time since load began.
    load_ns: u64,
    workers: Vec<Gauges>,
    engine: String,
}

impl Partial {
    /// Adds a report, and returns its tally.
    pub(crate) fn add(&mut self, plan: &Plan, tick: &Tick) -> Result<Tally, RecordError> {
        let (tally, shape) = (tick.tally.clone(), tally_shape(plan));
        if (tally.commands.len(), tally.operations.len()) != (shape.commands, shape.operations) {
            return Err(RecordError::wrong("a tally of other commands than those of its plan"));
        }
        if !tick.points.is_sorted_by(|before, after| before.index < after.index) {
            return Err(RecordError::wrong("points of a timeline that are out of order"));
        }
        self.load_ns = self.load_ns.saturating_add(tick.span_ns);
        self.workers.clone_from(&tick.workers);
        self.engine.clone_from(&tick.engine);
        if tick.warming_up {
            return Ok(tally);
        }
        self.elapsed_ns = self.elapsed_ns.max(tick.elapsed_ns);
        match &mut self.total {
            Some(total) if total.commands.len() == tally.commands.len() => total.merge(&tally),
            _ => self.total = Some(tally.clone()),
        }
        if let Some(deliveries) = tick.deliveries.clone() {
            let counts = |of: &Tally| (of.commands.len(), of.operations.len());
            let wanted = counts(&senders_tally(plan)?);
            self.deliveries = Some(deliveries).filter(|of| counts(&of.sending) == wanted);
        }
        let timeline = self.timeline.get_or_insert_with(|| Timeline::new(INTERVAL_NS));
        tick.points.iter().for_each(|point| timeline.push(point.clone()));
        Ok(tally)
    }

    /// Completes the figures as a measurement with this end.
    pub(crate) fn measurement(self, plan: &Plan, empty: Tally, ending: Ending) -> Measurement {
        let mut timeline = self.timeline.unwrap_or_else(|| Timeline::new(INTERVAL_NS));
        timeline.merge_all();
        let mut total = self.total.unwrap_or(empty);
        let deliveries = plan.delivery.as_ref().and_then(|delivery| {
            let deliveries = self.deliveries.or_else(|| {
                let sending = senders_tally(plan).ok()?;
                Some(Box::new(Deliveries::so_far(sending, self.elapsed_ns, 0, total.succeeded())))
            });
            deliveries.map(|of| as_lost(delivery, of))
        });
        deliveries.iter().for_each(|of| total.add_senders(&of.sending));
        let open = matches!(plan.load.pace, Pace::Open(_));
        let workers = self.workers.iter().map(|worker| WorkerUse {
            cpu_ns: worker.cpu_ns,
            wall_ns: self.load_ns,
            system_ns: None,
            wait_ns: None,
        });
        Measurement {
            total,
            timeline,
            outages: Vec::new(),
            absences: Vec::new(),
            delayed: open.then(|| Latency::new(plan.recording.precision)),
            started_at: SystemTime::UNIX_EPOCH,
            elapsed_ns: self.elapsed_ns,
            workers: workers.collect(),
            engine: self.engine,
            engine_note: None,
            nodes: Vec::new(),
            by_connection: Vec::new(),
            logs: Vec::new(),
            lanes: Vec::new(),
            deliveries,
            ending,
        }
    }
}

/// An empty tally for senders of this plan.
fn senders_tally(plan: &Plan) -> Result<Tally, RecordError> {
    let senders = plan.of_senders().map_err(|error| RecordError::wrong(error.to_string()))?;
    Ok(Tally::new(&tally_shape(&senders)))
}

/// Completes the deliveries of a lost client: messages that it had not reported may have come, and it removed
/// no keys.
fn as_lost(delivery: &Delivery, mut of: Box<Deliveries>) -> Box<Deliveries> {
    of.expected = of.counts.received;
    of.receivers = delivery.receivers;
    let keeps = delivery.kind.leaves_keys() && delivery.exchange.is_none();
    let why = "its client was lost".to_owned();
    of.kept = keeps.then(|| KeptKeys { keys: delivery.places.into(), why });
    of
}
