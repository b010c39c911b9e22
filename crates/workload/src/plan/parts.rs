//! The parts of a plan. Each has a default: together they make a classic test.

use std::ops::Not;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

#[cfg(doc)]
use super::limits;
use super::{
    Backoff, BudgetScope, Concurrency, LogSubject, OnError, ReconnectLimits, Retry, Stop, ValueSpec,
};
use crate::derived::CheckedValues;
use crate::{Arrivals, CommandSpec, Dataset, Endpoint, KeySpace, Lifetime, Pace, Shard};

/// Load of a plan: amount, pace, connections, and end.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Load {
    /// Threads and connections, and the depth of their pipelines.
    pub concurrency: Concurrency,
    /// Closed loop, or a schedule.
    pub pace: Pace,
    /// Nanoseconds before measuring begins; 0 for none.
    pub warmup_ns: u64,
    /// End of the measured part.
    pub stop: Stop,
    /// Nanoseconds after which a measured part limited by requests ends in any case; `None` for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most_ns: Option<u64>,
    /// Rule by which connections share requests.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub share: BudgetScope,
    /// Seed of all randomness of the test.
    pub seed: u64,
    /// Share of the whole plan that this process carries out. All other fields describe the whole.
    #[serde(default, skip_serializing_if = "Shard::is_whole")]
    pub shard: Shard,
}

impl Default for Load {
    /// 100,000 requests in a closed loop.
    fn default() -> Self {
        Self {
            concurrency: Concurrency::default(),
            pace: Pace::Closed,
            warmup_ns: 0,
            stop: Stop::Requests(100_000),
            at_most_ns: None,
            share: BudgetScope::OneBudget,
            seed: 1,
            shard: Shard::WHOLE,
        }
    }
}

/// Data of a plan: values of placeholders, data before the test, and comparisons.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Data {
    /// Key space that the number placeholders draw from.
    pub keys: KeySpace,
    /// Dataset that the field placeholders draw from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dataset: Option<Arc<Dataset>>,
    /// Values of `__data__`, if their size varies or they are not the classic bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<ValueSpec>,
    /// Bytes of a value, or their mean. Under another tool's name, its report's payload: all that its
    /// commands send.
    pub payload_bytes: u64,
    /// Commands that write what the plan reads before it runs, if requested; an empty list means `SET`s.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fill: Option<Vec<CommandSpec>>,
    /// Lifetime of keys that such `SET`s write, if the plan's own have none; `None` for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fill_lifetime: Option<Lifetime>,
    /// True to remove these keys at the end. Not part of the load, so not saved.
    #[serde(skip)]
    pub clean: bool,
    /// Name of the phase of its workload that writes the keys it reads, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loaded_by: Option<String>,
    /// Number of different tags for `{tag}`, if not one for every slot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<u16>,
    /// Set if returned values are compared with the written ones.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub verify: bool,
    /// Set if a read that finds nothing is an error.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub fail_on_miss: bool,
}

impl Default for Data {
    /// Returns one key and values of 3 bytes, as in `redis-benchmark`; nothing is filled or compared.
    fn default() -> Self {
        Self {
            keys: KeySpace::default(),
            dataset: None,
            values: None,
            payload_bytes: 3,
            fill: None,
            fill_lifetime: None,
            clean: false,
            loaded_by: None,
            tags: None,
            verify: false,
            fail_on_miss: false,
        }
    }
}

/// Recorded latencies, and their precision.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Recording {
    /// Significant digits of the latency figures, 1 to 5.
    pub precision: u8,
    /// Set if the latency to the first byte of a pipeline's replies is recorded too.
    pub first_byte: bool,
    /// Set if the kernel stamps replies, which shows how long they waited to be read.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub kernel_stamps: bool,
    /// Set if each connection notes which of its requests the server has acknowledged.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub ledger: bool,
}

impl Default for Recording {
    /// Three digits of whole replies.
    fn default() -> Self {
        Self { precision: 3, first_byte: false, kernel_stamps: false, ledger: false }
    }
}

impl Recording {
    /// Highest rate, in requests per second and worker, at which the kernel stamps replies by default. Up to
    /// it a worker busy-waits between requests, and stamps use time that it would have spent so: they cost
    /// less than 3 % (docs/where-the-time-went.md). For requests in bursts, or without pauses, stamps cost
    /// throughput.
    pub const STAMPED_RATE_MAX: f64 = 50_000.0;

    /// Returns whether the kernel stamps the replies of such a load by default.
    pub fn stamps_by_default(load: &Load, endpoint: &Endpoint) -> bool {
        let Some(schedule) = load.pace.schedule() else { return false };
        let spaced = !matches!(schedule.arrivals, Arrivals::Bursts(_))
            && !schedule.stages.iter().any(|stage| stage.unlimited);
        let rate_max = Self::STAMPED_RATE_MAX * f64::from(load.concurrency.workers.max(1));
        spaced && schedule.peak_per_s() <= rate_max && !matches!(endpoint, Endpoint::Unix(_))
    }
}

/// Recovery after an error, a loss or a timeout. By default the run ends, as in `redis-benchmark`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Recovery {
    /// Effect of an error reply.
    pub on_error: OnError,
    /// Timeout of a request from its sending, in nanoseconds; `None` for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ns: Option<u64>,
    /// Deadline in nanoseconds from the due time of a request, or in a closed loop from its sending. Past it
    /// a request is not sent any more, and an answer is late. `None` for no deadline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ns: Option<u64>,
    /// Rule for retries of failed requests, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    /// Set if a lost connection is reopened. If not, its loss ends the run.
    pub reconnect: bool,
    /// Wait before each try to reopen a connection; `None` for the runner's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backoff: Option<Backoff>,
    /// Limits on the time and number of tries to reopen a connection.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub reopening: ReconnectLimits,
}

/// Options that only an imitated tool can set, because its report shows them and keystorm's own does not. All
/// are off by default.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PeerOptions {
    /// Form of values that name their key, for comparison with returned ones; `None` if they do not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checks: Option<CheckedValues>,
    /// Set if latencies of misses and errors are recorded separately from those of successes.
    #[serde(skip_serializing_if = "Not::not")]
    pub separate_failures: bool,
    /// Set if hits are counted for each position of commands that ask for several items.
    #[serde(skip_serializing_if = "Not::not")]
    pub per_position: bool,
    /// Set if figures of each connection are recorded separately.
    #[serde(skip_serializing_if = "Not::not")]
    pub by_connection: bool,
    /// Commands and operations that are logged, with the end and duration of each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub logged: Vec<LogSubject>,
    /// Set if each request that fails for good is reported individually.
    #[serde(skip_serializing_if = "Not::not")]
    pub each_failure: bool,
}
