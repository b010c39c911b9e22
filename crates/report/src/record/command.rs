//! One command of a saved run: its counts and its latencies.

use measure::CommandTally;
use serde::{Deserialize, Serialize};

use super::RecordError;
use super::apart::ApartRecord;
use super::counts::{KeyRecord, LookupRecord};
use super::latency::LatencyRecord;

/// One of the different commands of the sequence. Without a `response` of its own, response time is service time.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct CommandRecord {
    name: String,
    ok: u64,
    miss: u64,
    #[serde(default)]
    errors: u64,
    /// Where there is a mix of operations.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    bytes_out: u64,
    #[serde(default, skip_serializing_if = "super::is_zero")]
    bytes_in: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    keys: Option<KeyRecord>,
    /// Receivers of its messages, by their replies.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    receivers: u64,
    /// Where it looks something up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lookups: Option<LookupRecord>,
    /// Hits and misses, where they are counted for each place of a reply.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    places: Vec<[u64; 2]>,
    latency_ms: CommandLatencies,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct CommandLatencies {
    service: LatencyRecord,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    response: Option<LatencyRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    first_byte: Option<LatencyRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    apart: Option<ApartRecord>,
}

impl CommandRecord {
    pub(super) fn new(name: String, tally: &CommandTally) -> Result<Self, RecordError> {
        let CommandTally {
            service,
            scheduled_response,
            first_byte,
            apart,
            ok,
            miss,
            errors,
            bytes_out,
            bytes_in,
            keys,
            receivers,
            places,
        } = tally;
        Ok(Self {
            name,
            ok: *ok,
            miss: *miss,
            errors: *errors,
            bytes_out: *bytes_out,
            bytes_in: *bytes_in,
            keys: KeyRecord::from_keys(keys),
            receivers: *receivers,
            lookups: None,
            places: places.clone(),
            latency_ms: CommandLatencies {
                service: LatencyRecord::from_latency(service)?,
                response: scheduled_response
                    .as_ref()
                    .map(LatencyRecord::from_latency)
                    .transpose()?,
                first_byte: first_byte.as_ref().map(LatencyRecord::from_latency).transpose()?,
                apart: apart.as_ref().map(ApartRecord::from_apart).transpose()?,
            },
        })
    }

    pub(super) fn with_lookups(self, lookups: Option<LookupRecord>) -> Self {
        Self { lookups, ..self }
    }

    pub(super) fn tally(&self) -> Result<CommandTally, RecordError> {
        let CommandLatencies { service, response, first_byte, apart } = &self.latency_ms;
        let latency =
            |l: &Option<LatencyRecord>| l.as_ref().map(LatencyRecord::latency).transpose();
        Ok(CommandTally {
            service: service.latency()?,
            scheduled_response: latency(response)?,
            first_byte: latency(first_byte)?,
            apart: apart.as_ref().map(ApartRecord::apart).transpose()?,
            ok: self.ok,
            miss: self.miss,
            errors: self.errors,
            bytes_out: self.bytes_out,
            bytes_in: self.bytes_in,
            keys: self.keys.map(KeyRecord::counts).unwrap_or_default(),
            receivers: self.receivers,
            places: self.places.clone(),
        })
    }
}
