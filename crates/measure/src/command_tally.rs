//! Figures of one command: outcomes, hits, bytes and latencies.

use serde::{Deserialize, Serialize};

use crate::separate_failures::SeparateFailures;
use crate::total::{Total, total};
use crate::{KeyCounts, Latency, TallyShape};

/// Counts and latencies of one command.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CommandTally {
    /// From sent to done.
    #[serde(rename = "service_ms")]
    pub service: Latency,
    /// From due to done, if requests have due times of their own.
    #[serde(rename = "response_ms", skip_serializing_if = "Option::is_none")]
    pub scheduled_response: Option<Latency>,
    /// From sent to the first byte of the pipeline's replies, if asked for.
    #[serde(rename = "first_byte_ms", skip_serializing_if = "Option::is_none")]
    pub first_byte: Option<Latency>,
    /// Latencies of misses and errors, if they are kept separate.
    #[serde(rename = "apart_ms", skip_serializing_if = "Option::is_none")]
    pub separate_failures: Option<SeparateFailures>,
    /// Replies with a value.
    pub ok: u64,
    /// Replies without a value.
    pub miss: u64,
    /// Error replies.
    pub errors: u64,
    /// Bytes sent, if the plan has several operations; otherwise 0.
    #[serde(default, skip_serializing_if = "Total::is_empty")]
    pub bytes_out: u64,
    /// Bytes received, if the plan has several operations; otherwise 0.
    #[serde(default, skip_serializing_if = "Total::is_empty")]
    pub bytes_in: u64,
    /// Keys, if replies say how many exist.
    #[serde(default, skip_serializing_if = "Total::is_empty")]
    pub keys: KeyCounts,
    /// Receivers of its messages, if replies say how many there were.
    #[serde(default, skip_serializing_if = "Total::is_empty")]
    pub receivers: u64,
    /// Hits and misses for each item of its replies, if counted one by one; 0 beyond the last item.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<[u64; 2]>,
}

impl CommandTally {
    pub(crate) fn new(shape: &TallyShape) -> Self {
        let latency = || Latency::new(shape.precision);
        Self {
            service: latency(),
            scheduled_response: shape.scheduled.then(latency),
            first_byte: shape.first_byte.then(latency),
            separate_failures: shape
                .separate_failures
                .then(|| SeparateFailures::new(shape.precision, shape.scheduled)),
            ok: 0,
            miss: 0,
            errors: 0,
            bytes_out: 0,
            bytes_in: 0,
            keys: KeyCounts::default(),
            receivers: 0,
            places: vec![[0; 2]; shape.places],
        }
    }

    /// Adds a reply with these items, each found or missed.
    pub fn add_places(&mut self, found: &[bool]) {
        for (place, found) in self.places.iter_mut().zip(found) {
            place[usize::from(!found)] += 1;
        }
    }

    /// Hits and misses of its lookups: keys, fields or members if replies say how many exist, otherwise
    /// replies.
    pub fn lookups(&self) -> [u64; 2] {
        let keys = self.keys;
        match keys.asked {
            0 => [self.ok, self.miss],
            asked => [keys.found, asked.saturating_sub(keys.found)],
        }
    }

    /// Latency from due to done: the wait of a user of the server.
    pub fn response(&self) -> &Latency {
        self.scheduled_response.as_ref().unwrap_or(&self.service)
    }
}

total!(CommandTally {
    service,
    scheduled_response,
    first_byte,
    separate_failures,
    ok,
    miss,
    errors,
    bytes_out,
    bytes_in,
    keys,
    receivers,
    places,
});
