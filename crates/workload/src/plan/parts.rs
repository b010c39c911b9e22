//! The parts of a plan that people think in. Each has a default: together those of a classic test.

use std::ops::Not;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

#[cfg(doc)]
use super::limits;
use super::{
    Backoff, BudgetScope, Concurrency, LogSubject, OnError, PlanParts, ProtocolKind,
    ReconnectLimits, Retry, Stop, ValueSpec,
};
use crate::derived::CheckedValues;
use crate::{
    Arrivals, CommandSpec, Dataset, Endpoint, EngineKind, KeySpace, Lifetime, Pace, Shard, Target,
};

/// Load of a plan: how much is sent, how fast and over what, and until when.
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
    /// Nanoseconds after which a measured part of so many requests ends in any case; none for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most_ns: Option<u64>,
    /// Rule by which requests are shared out among connections.
    #[serde(default, skip_serializing_if = "BudgetScope::is_one_budget")]
    pub share: BudgetScope,
    /// Seed that all randomness of the test comes from.
    pub seed: u64,
    /// Share of the whole plan that this process carries out. All other fields are those of the whole.
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

/// Data of a plan: what the placeholders of commands stand for, what is there before the test, and what is compared.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Data {
    /// Key space that the number placeholders draw from.
    pub keys: KeySpace,
    /// Dataset that the field placeholders draw from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dataset: Option<Arc<Dataset>>,
    /// Values of `__data__` where they differ in size or are not the classic bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<ValueSpec>,
    /// Number of bytes of a value; the mean, where sizes differ. Of commands by a peer's name what the peer's report
    /// calls payload: all that they send.
    pub payload_bytes: u64,
    /// Commands that write what the plan reads before it runs, if that is asked for; with none, `SET`s do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fill: Option<Vec<CommandSpec>>,
    /// Lifetime of keys that such `SET`s write, where the plan's own do not say; for ever with none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fill_lifetime: Option<Lifetime>,
    /// True to remove these keys in the end. No part of the load, so no saved plan has it.
    #[serde(skip)]
    pub clean: bool,
    /// The phase of its workload that writes the keys it reads, by name, if one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loaded_by: Option<String>,
    /// Number of different tags that `{tag}` is, where it does not stand for every slot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<u16>,
    /// Set if values that come back are compared with what was written.
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

/// Latencies that are recorded, and their precision.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Recording {
    /// Significant digits of the latency figures, 1 to 5.
    pub precision: u8,
    /// Set if the latency to the first byte of a pipeline's replies is recorded too.
    pub first_byte: bool,
    /// Set if the kernel is asked when replies arrived, which shows for how long they waited to be read.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub kernel_stamps: bool,
}

impl Default for Recording {
    /// Three digits of whole replies.
    fn default() -> Self {
        Self { precision: 3, first_byte: false, kernel_stamps: false }
    }
}

impl Recording {
    /// The highest rate, in requests per second and worker, at which the kernel stamps replies where nobody says so.
    /// Up to it a worker spins between requests, and stamps fill time that it would have spent so: they cost less
    /// than 3 % (docs/where-the-time-went.md). Requests that leave in bursts, or as soon as there is room, pay for it.
    pub const STAMPED_RATE_MAX: f64 = 50_000.0;

    /// Returns whether the kernel stamps replies of such a load by default.
    #[must_use]
    pub fn stamps_by_default(load: &Load, endpoint: &Endpoint) -> bool {
        let Some(schedule) = load.pace.schedule() else { return false };
        let spaced = !matches!(schedule.arrivals, Arrivals::Bursts(_))
            && !schedule.stages.iter().any(|stage| stage.unlimited);
        let rate_max = Self::STAMPED_RATE_MAX * f64::from(load.concurrency.workers.max(1));
        spaced && schedule.peak_per_s() <= rate_max && !matches!(endpoint, Endpoint::Unix(_))
    }
}

/// Recovery after an error, a loss or a silence. By default the run ends, as in `redis-benchmark`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Recovery {
    /// Effect of an error reply.
    pub on_error: OnError,
    /// Nanoseconds that a request may take from when it was sent; none for as long as it likes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ns: Option<u64>,
    /// Nanoseconds from when a request was due, or was sent in a closed loop, after which it is not sent any more and
    /// an answer comes too late; none for never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ns: Option<u64>,
    /// Rule by which requests that fail are sent again, if they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    /// Set if a connection that is lost is opened again. If not, its loss ends the run.
    pub reconnect: bool,
    /// Wait before each try to open a connection again; `None` for the runner's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backoff: Option<Backoff>,
    /// Limits for how long and how often opening a connection again is tried.
    #[serde(default, skip_serializing_if = "ReconnectLimits::is_default")]
    pub reopening: ReconnectLimits,
}

impl Default for Recovery {
    fn default() -> Self {
        Self {
            on_error: OnError::Stop,
            timeout_ns: None,
            deadline_ns: None,
            retry: None,
            reconnect: false,
            backoff: None,
            reopening: ReconnectLimits::default(),
        }
    }
}

/// Options that only an imitated tool can ask for, because its report shows them and keystorm's own does not. By
/// default none of them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PeerOptions {
    /// Form of values that tell whose they are, for comparison with what comes back; `None` if they do not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checks: Option<CheckedValues>,
    /// Set if latencies of misses and errors are recorded separately from those of successes.
    #[serde(skip_serializing_if = "Not::not")]
    pub separate_failures: bool,
    /// Set if hits are counted for each position of commands that ask for several things.
    #[serde(skip_serializing_if = "Not::not")]
    pub per_position: bool,
    /// Set if what each connection saw is recorded separately from the others'.
    #[serde(skip_serializing_if = "Not::not")]
    pub by_connection: bool,
    /// Commands and operations that are logged: when each ended, and how long it took.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub logged: Vec<LogSubject>,
    /// Set if each request that fails for good is reported by itself.
    #[serde(skip_serializing_if = "Not::not")]
    pub each_failure: bool,
}

impl PeerOptions {
    /// Returns whether no tool asked for any.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for PlanParts {
    /// The classic test of a server on this machine, without a command.
    fn default() -> Self {
        Self {
            name: String::new(),
            named: false,
            target: Target::default(),
            protocol: ProtocolKind::Resp2,
            engine: EngineKind::Auto,
            setup: Vec::new(),
            sequence: Vec::new(),
            mix: None,
            read_only: Vec::new(),
            minds_harm: false,
            load: Load::default(),
            data: Data::default(),
            recording: Recording::default(),
            recovery: Recovery::default(),
            recorded: None,
            delivery: None,
            peer: PeerOptions::default(),
        }
    }
}
