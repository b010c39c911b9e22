//! One operation of a mix in a saved run.

use measure::{OperationTally, Tally};
use serde::{Deserialize, Serialize};
use workload::Plan;

use super::RecordError;
use super::apart::ApartRecord;
use super::latency::LatencyRecord;
use crate::OperationFigures;

/// One operation. Loading takes counts and latencies where it has several commands; of one with a
/// single command they are that command's.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct OperationRecord {
    name: String,
    /// Its share of the mix by the plan, 0 to 1.
    weight_share: f64,
    count: u64,
    rate_per_s: f64,
    hits: u64,
    misses: u64,
    errors: u64,
    bytes_out: u64,
    bytes_in: u64,
    latency_ms: Latencies,
}

/// Without a `response` of its own, response time is service time. A service time that only its
/// command knows is not written twice.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Latencies {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    service: Option<LatencyRecord>,
    response: LatencyRecord,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    apart: Option<ApartRecord>,
}

impl OperationRecord {
    /// Of each operation of a plan, of which these are the tally and the figures.
    pub(super) fn of_plan(
        plan: &Plan,
        tally: &Tally,
        figures: &[OperationFigures],
    ) -> Result<Vec<Self>, RecordError> {
        let tallies = &tally.operations;
        let record = |(at, figures): (usize, &OperationFigures)| {
            let service = tallies.get(at).filter(|tally| tally.scheduled_response.is_some());
            Ok(Self {
                name: plan.operation_names().nth(at).unwrap_or_default().to_owned(),
                weight_share: figures.weight_share,
                count: figures.count,
                rate_per_s: figures.rate_per_s,
                hits: figures.hits,
                misses: figures.misses,
                errors: figures.errors,
                bytes_out: figures.bytes_out,
                bytes_in: figures.bytes_in,
                latency_ms: Latencies {
                    service: service
                        .map(|tally| LatencyRecord::from_latency(&tally.service))
                        .transpose()?,
                    response: LatencyRecord::from_latency(&figures.response_times)?,
                    apart: (tallies.get(at).and_then(|tally| tally.apart.as_ref()))
                        .map(ApartRecord::from_apart)
                        .transpose()?,
                },
            })
        };
        figures.iter().enumerate().map(record).collect()
    }

    /// What is counted by operation, where a plan does so.
    pub(super) fn tallies(
        records: &[Self],
        plan: &Plan,
    ) -> Result<Vec<OperationTally>, RecordError> {
        if !plan.counts_operations() {
            return Ok(Vec::new());
        }
        let (found, wanted) = (records.len(), plan.operation_names().count());
        if found != wanted {
            return Err(RecordError::wrong(format!("{found} operations of a plan with {wanted}")));
        }
        records.iter().map(Self::tally).collect()
    }

    fn tally(&self) -> Result<OperationTally, RecordError> {
        let response = self.latency_ms.response.latency()?;
        let service = self.latency_ms.service.as_ref().map(LatencyRecord::latency).transpose()?;
        Ok(OperationTally {
            scheduled_response: service.is_some().then(|| response.clone()),
            service: service.unwrap_or(response),
            apart: self.latency_ms.apart.as_ref().map(ApartRecord::apart).transpose()?,
            ok: self.count.saturating_sub(self.misses).saturating_sub(self.errors),
            missed: self.misses,
            failed: self.errors,
        })
    }
}
