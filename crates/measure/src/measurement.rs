//! What a run of one plan yielded.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::{Latency, Outage, Tally, Timeline};

/// What one worker thread used.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct WorkerUse {
    /// CPU time of the thread while load ran.
    pub cpu_ns: u64,
    /// Wall time of the same span.
    pub wall_ns: u64,
}

impl WorkerUse {
    /// The share of a core that the thread used, 0 to 1.
    #[must_use]
    pub fn busy(&self) -> f64 {
        if self.wall_ns == 0 { 0.0 } else { self.cpu_ns as f64 / self.wall_ns as f64 }
    }
}

/// How a run came to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// As planned.
    Complete,
    /// Somebody asked it to stop.
    Interrupted,
    /// It could not go on; the text says why, in words for a person.
    Failed(String),
}

/// Everything that carrying out one plan yielded.
#[derive(Debug, Clone)]
pub struct Measurement {
    /// All workers, all intervals.
    pub total: Tally,
    /// The same over time.
    pub timeline: Timeline,
    /// Spans in which nothing succeeded.
    pub outages: Vec<Outage>,
    /// Response times of the requests of a schedule that were due while nothing succeeded;
    /// `None` without a schedule.
    pub delayed: Option<Latency>,
    /// Wall clock at the start of the measured part.
    pub started_at: SystemTime,
    /// From the start of the measured part to the last reply, or to the planned end if that is
    /// later; 0 when it never started.
    pub elapsed_ns: u64,
    /// What each worker used.
    pub workers: Vec<WorkerUse>,
    /// The engine that moved the bytes.
    pub engine: String,
    /// Why it is not the one that would have been faster, if that is so.
    pub engine_note: Option<String>,
    /// How it ended.
    pub ending: Ending,
}
