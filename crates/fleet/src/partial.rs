//! What a client has reported of its share so far: all that is left of a client that is lost.

use std::time::SystemTime;

use measure::{Ending, Latency, Measurement, Tally, Timeline, WorkerUse};
use report::RecordError;
use runner::INTERVAL_NS;
use workload::{Pace, Plan};

use crate::line::{Tick, WorkerState};

/// The figures that one client has reported so far.
#[derive(Default)]
pub(crate) struct Partial {
    total: Option<Tally>,
    timeline: Option<Timeline>,
    /// Of the measured part.
    elapsed_ns: u64,
    /// Since load began.
    load_ns: u64,
    workers: Vec<WorkerState>,
    engine: String,
}

impl Partial {
    /// Adds what came; gives back the tally of it.
    pub(crate) fn add(&mut self, plan: &Plan, tick: &Tick) -> Result<Tally, RecordError> {
        let tally = tick.growth.tally(plan)?;
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
        let timeline = self.timeline.get_or_insert_with(|| Timeline::new(INTERVAL_NS));
        tick.growth.timeline()?.points.into_iter().for_each(|point| timeline.push(point));
        Ok(tally)
    }

    /// As a measurement that ended so.
    pub(crate) fn measurement(self, plan: &Plan, empty: Tally, ending: Ending) -> Measurement {
        let mut timeline = self.timeline.unwrap_or_else(|| Timeline::new(INTERVAL_NS));
        timeline.settle();
        let used = |worker: &WorkerState| WorkerUse {
            cpu_ns: worker.cpu_ns,
            wall_ns: self.load_ns,
            system_ns: None,
            wait_ns: None,
        };
        let open = matches!(plan.load.pace, Pace::Open(_));
        Measurement {
            total: self.total.unwrap_or(empty),
            timeline,
            outages: Vec::new(),
            absences: Vec::new(),
            delayed: open.then(|| Latency::new(plan.recording.precision)),
            started_at: SystemTime::UNIX_EPOCH,
            elapsed_ns: self.elapsed_ns,
            workers: self.workers.iter().map(used).collect(),
            engine: self.engine,
            engine_note: None,
            nodes: Vec::new(),
            by_connection: Vec::new(),
            logs: Vec::new(),
            deliveries: None,
            ending,
        }
    }
}
