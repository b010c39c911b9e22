//! A node of a cluster in a saved run.

use measure::NodeTally;
use serde::{Deserialize, Serialize};

use super::RecordError;
use super::latency::LatencyRecord;

/// What one node did. `slots` of a replica are those of its master.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct NodeRecord {
    name: String,
    master: bool,
    used: bool,
    slots: u32,
    ok: u64,
    errors: u64,
    moved: u64,
    asked: u64,
    retried: u64,
    unanswered: u64,
    response_ms: LatencyRecord,
}

impl NodeRecord {
    pub(super) fn from_tally(tally: &NodeTally) -> Result<Self, RecordError> {
        let NodeTally {
            name,
            master,
            used,
            slots,
            ok,
            errors,
            response,
            moved,
            asked,
            retried,
            unanswered,
        } = tally;
        Ok(Self {
            name: name.clone(),
            master: *master,
            used: *used,
            slots: *slots,
            ok: *ok,
            errors: *errors,
            moved: *moved,
            asked: *asked,
            retried: *retried,
            unanswered: *unanswered,
            response_ms: LatencyRecord::from_latency(response)?,
        })
    }

    pub(super) fn tally(&self) -> Result<NodeTally, RecordError> {
        Ok(NodeTally {
            name: self.name.clone(),
            master: self.master,
            used: self.used,
            slots: self.slots,
            ok: self.ok,
            errors: self.errors,
            response: self.response_ms.latency()?,
            moved: self.moved,
            asked: self.asked,
            retried: self.retried,
            unanswered: self.unanswered,
        })
    }
}
