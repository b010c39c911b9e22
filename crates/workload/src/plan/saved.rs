//! A plan as it is saved and sent: all fields side by side, under the names of `keystorm.run/1`.
//!
//! Both directions take a plan apart field by field, so a field that is added to one and not to the other
//! does not compile.

use std::ops::Not;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{
    Backoff, Concurrency, Data, EngineKind, Load, Logged, Mix, OnError, PeerOptions, PlanParts,
    ProtocolKind, Recording, Recovery, Reopening, Retry, Share, Stop, ValueSpec,
};
use crate::derived::CheckedValues;
use crate::{CommandSpec, Dataset, KeySpace, Lifetime, Pace, Shard, Target};

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
    #[serde(default, skip_serializing_if = "Share::is_one_budget")]
    share: Share,
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
    checks: Option<CheckedValues>,
    payload_bytes: u64,
    on_error: OnError,
    #[serde(default)]
    reconnect: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    backoff: Option<Backoff>,
    #[serde(default, skip_serializing_if = "Reopening::is_default")]
    reopening: Reopening,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retry: Option<Retry>,
    #[serde(default, skip_serializing_if = "Not::not")]
    tells_failures: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timeout_ns: Option<u64>,
    precision: u8,
    first_byte: bool,
    #[serde(default, skip_serializing_if = "Not::not")]
    apart: bool,
    #[serde(default, skip_serializing_if = "Not::not")]
    by_place: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    read_only: Vec<u32>,
    #[serde(default, skip_serializing_if = "Not::not")]
    by_connection: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    logged: Vec<Logged>,
    seed: u64,
    #[serde(default, skip_serializing_if = "Shard::is_whole")]
    shard: Shard,
}

impl From<SavedPlan> for PlanParts {
    fn from(saved: SavedPlan) -> Self {
        let SavedPlan {
            name,
            named,
            target,
            protocol,
            engine,
            fleet,
            pace,
            warmup_ns,
            stop,
            at_most_ns,
            setup,
            sequence,
            mix,
            share,
            keys,
            dataset,
            values,
            fill,
            fill_lifetime,
            loaded_by,
            verify,
            fail_on_miss,
            checks,
            payload_bytes,
            on_error,
            reconnect,
            backoff,
            reopening,
            retry,
            tells_failures,
            timeout_ns,
            precision,
            first_byte,
            apart,
            by_place,
            read_only,
            by_connection,
            logged,
            seed,
            shard,
        } = saved;
        Self {
            name,
            named,
            target,
            protocol,
            engine,
            setup,
            sequence,
            mix,
            read_only,
            load: Load {
                concurrency: fleet,
                pace,
                warmup_ns,
                stop,
                at_most_ns,
                share,
                seed,
                shard,
            },
            data: Data {
                keys,
                dataset,
                values,
                fill,
                fill_lifetime,
                loaded_by,
                verify,
                fail_on_miss,
                payload_bytes,
            },
            recording: Recording { precision, first_byte },
            recovery: Recovery { on_error, reconnect, backoff, reopening, retry, timeout_ns },
            peer: PeerOptions {
                checks,
                each_failure: tells_failures,
                separate_failures: apart,
                per_position: by_place,
                by_connection,
                logged,
            },
        }
    }
}

impl From<PlanParts> for SavedPlan {
    fn from(parts: PlanParts) -> Self {
        let PlanParts {
            name,
            named,
            target,
            protocol,
            engine,
            setup,
            sequence,
            mix,
            read_only,
            load: Load { concurrency: fleet, pace, warmup_ns, stop, at_most_ns, share, seed, shard },
            data:
                Data {
                    keys,
                    dataset,
                    values,
                    fill,
                    fill_lifetime,
                    loaded_by,
                    verify,
                    fail_on_miss,
                    payload_bytes,
                },
            recording: Recording { precision, first_byte },
            recovery: Recovery { on_error, reconnect, backoff, reopening, retry, timeout_ns },
            peer:
                PeerOptions {
                    checks,
                    each_failure: tells_failures,
                    separate_failures: apart,
                    per_position: by_place,
                    by_connection,
                    logged,
                },
        } = parts;
        Self {
            name,
            named,
            target,
            protocol,
            engine,
            fleet,
            pace,
            warmup_ns,
            stop,
            at_most_ns,
            setup,
            sequence,
            mix,
            share,
            keys,
            dataset,
            values,
            fill,
            fill_lifetime,
            loaded_by,
            verify,
            fail_on_miss,
            checks,
            payload_bytes,
            on_error,
            reconnect,
            backoff,
            reopening,
            retry,
            tells_failures,
            timeout_ns,
            precision,
            first_byte,
            apart,
            by_place,
            read_only,
            by_connection,
            logged,
            seed,
            shard,
        }
    }
}
