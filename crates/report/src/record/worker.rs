//! What a worker thread used, in a saved run.

use measure::WorkerUse;
use serde::{Deserialize, Serialize};

/// What a worker thread used. `busy` is the share of a core.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct WorkerRecord {
    busy: f64,
    cpu_ns: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    system_ns: Option<u64>,
    wall_ns: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    wait_ns: Option<u64>,
}

impl WorkerRecord {
    pub(super) fn from_worker(worker: &WorkerUse) -> Self {
        let WorkerUse { cpu_ns, system_ns, wall_ns, wait_ns } = *worker;
        Self { busy: worker.busy(), cpu_ns, system_ns, wall_ns, wait_ns }
    }

    pub(super) fn worker(self) -> WorkerUse {
        let Self { busy: _, cpu_ns, system_ns, wall_ns, wait_ns } = self;
        WorkerUse { cpu_ns, system_ns, wall_ns, wait_ns }
    }
}
