//! A plan as it is saved and sent: all fields side by side, under the names of `keystorm.run/1`.
//!
//! Both directions name every field of what they make, so a field that is added to one and not to the
//! other does not compile.

use std::ops::Not;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{
    Backoff, BudgetScope, Concurrency, Data, EngineKind, Load, LogSubject, Mix, OnError,
    PeerOptions, PlanParts, ProtocolKind, ReconnectLimits, RecordedTraffic, Recording, Recovery,
    Retry, Stop, ValueSpec,
};
use crate::derived::CheckedValues;
use crate::{CommandSpec, Dataset, Delivery, KeySpace, Lifetime, Pace, Shard, Target};

/// The fields of [`PlanParts`] in the order in which they are written.
#[derive(Serialize, Deserialize)]
pub(super) struct SavedPlan {
    name: String,
    #[serde(default, skip_serializing_if = "Not::not")]
    named: bool,
    target: Target,
    protocol: ProtocolKind,
    engine: EngineKind,
    fleet: Concurrency,
    pace: Pace,
    warmup_ns: u64,
    stop: Stop,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at_most_ns: Option<u64>,
    setup: Vec<CommandSpec>,
    sequence: Vec<CommandSpec>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mix: Option<Mix>,
    #[serde(default, skip_serializing_if = "BudgetScope::is_one_budget")]
    share: BudgetScope,
    keys: KeySpace,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dataset: Option<Arc<Dataset>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    values: Option<ValueSpec>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fill: Option<Vec<CommandSpec>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fill_lifetime: Option<Lifetime>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    loaded_by: Option<String>,
    #[serde(default, skip_serializing_if = "Not::not")]
    verify: bool,
    #[serde(default, skip_serializing_if = "Not::not")]
    fail_on_miss: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tags: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    checks: Option<CheckedValues>,
    payload_bytes: u64,
    on_error: OnError,
    #[serde(default)]
    reconnect: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    backoff: Option<Backoff>,
    #[serde(default, skip_serializing_if = "ReconnectLimits::is_default")]
    reopening: ReconnectLimits,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retry: Option<Retry>,
    #[serde(default, skip_serializing_if = "Not::not")]
    tells_failures: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timeout_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deadline_ns: Option<u64>,
    precision: u8,
    first_byte: bool,
    #[serde(default, skip_serializing_if = "Not::not")]
    kernel_stamps: bool,
    #[serde(default, skip_serializing_if = "Not::not")]
    apart: bool,
    #[serde(default, skip_serializing_if = "Not::not")]
    by_place: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    read_only: Vec<u32>,
    #[serde(default, skip_serializing_if = "Not::not")]
    by_connection: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    logged: Vec<LogSubject>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    recorded: Option<RecordedTraffic>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    delivery: Option<Delivery>,
    seed: u64,
    #[serde(default, skip_serializing_if = "Shard::is_whole")]
    shard: Shard,
}

impl From<SavedPlan> for PlanParts {
    fn from(saved: SavedPlan) -> Self {
        Self {
            name: saved.name,
            named: saved.named,
            target: saved.target,
            protocol: saved.protocol,
            engine: saved.engine,
            setup: saved.setup,
            sequence: saved.sequence,
            mix: saved.mix,
            read_only: saved.read_only,
            load: Load {
                concurrency: saved.fleet,
                pace: saved.pace,
                warmup_ns: saved.warmup_ns,
                stop: saved.stop,
                at_most_ns: saved.at_most_ns,
                share: saved.share,
                seed: saved.seed,
                shard: saved.shard,
            },
            data: Data {
                keys: saved.keys,
                dataset: saved.dataset,
                values: saved.values,
                fill: saved.fill,
                fill_lifetime: saved.fill_lifetime,
                clean: false,
                loaded_by: saved.loaded_by,
                verify: saved.verify,
                tags: saved.tags,
                fail_on_miss: saved.fail_on_miss,
                payload_bytes: saved.payload_bytes,
            },
            recording: Recording {
                precision: saved.precision,
                first_byte: saved.first_byte,
                kernel_stamps: saved.kernel_stamps,
            },
            recovery: Recovery {
                on_error: saved.on_error,
                reconnect: saved.reconnect,
                backoff: saved.backoff,
                reopening: saved.reopening,
                retry: saved.retry,
                timeout_ns: saved.timeout_ns,
                deadline_ns: saved.deadline_ns,
            },
            recorded: saved.recorded,
            delivery: saved.delivery,
            peer: PeerOptions {
                checks: saved.checks,
                each_failure: saved.tells_failures,
                separate_failures: saved.apart,
                per_position: saved.by_place,
                by_connection: saved.by_connection,
                logged: saved.logged,
            },
        }
    }
}

impl From<PlanParts> for SavedPlan {
    fn from(parts: PlanParts) -> Self {
        Self {
            name: parts.name,
            named: parts.named,
            target: parts.target,
            protocol: parts.protocol,
            engine: parts.engine,
            fleet: parts.load.concurrency,
            pace: parts.load.pace,
            warmup_ns: parts.load.warmup_ns,
            stop: parts.load.stop,
            at_most_ns: parts.load.at_most_ns,
            setup: parts.setup,
            sequence: parts.sequence,
            mix: parts.mix,
            share: parts.load.share,
            keys: parts.data.keys,
            dataset: parts.data.dataset,
            values: parts.data.values,
            fill: parts.data.fill,
            fill_lifetime: parts.data.fill_lifetime,
            loaded_by: parts.data.loaded_by,
            verify: parts.data.verify,
            tags: parts.data.tags,
            fail_on_miss: parts.data.fail_on_miss,
            checks: parts.peer.checks,
            payload_bytes: parts.data.payload_bytes,
            on_error: parts.recovery.on_error,
            reconnect: parts.recovery.reconnect,
            backoff: parts.recovery.backoff,
            reopening: parts.recovery.reopening,
            retry: parts.recovery.retry,
            tells_failures: parts.peer.each_failure,
            timeout_ns: parts.recovery.timeout_ns,
            deadline_ns: parts.recovery.deadline_ns,
            precision: parts.recording.precision,
            first_byte: parts.recording.first_byte,
            kernel_stamps: parts.recording.kernel_stamps,
            apart: parts.peer.separate_failures,
            by_place: parts.peer.per_position,
            read_only: parts.read_only,
            by_connection: parts.peer.by_connection,
            logged: parts.peer.logged,
            recorded: parts.recorded,
            delivery: parts.delivery,
            seed: parts.load.seed,
            shard: parts.load.shard,
        }
    }
}
