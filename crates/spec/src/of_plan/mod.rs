//! The options of a plan: saved with it and read back, together with later decisions and changes.
//!
//! [`commands`] words commands that were made and not typed.

mod commands;

use std::ffi::OsString;
use std::time::Duration;

use serde_json::Value;
use workload::escape::{BYTES_PLACEHOLDER, escaped};
use workload::secret::HIDDEN;
use workload::suite::{SUITE, SuiteTest};
use workload::{
    DrawnBy, Endpoint, KeyDist, OnError, Pick, Piece, Plan, PlanParts, Recording, RowBy, Secret,
    SizeBy, Stop, ValueSpec, Window,
};

use crate::data::{KeyOptions, Size};
use crate::dialect::KEYSTORM;
use crate::document::Fields;
use crate::rank::ShardArg;
use crate::title::known_password;
use crate::values::{Count, OnErrorArg, ProtocolArg, Seconds, TestName, YesNo};
use crate::write::given_fields;
use crate::{DataOptions, KeyRange, LoadOptions, LoadSpec, Rate, RecordingOptions, harmful};
pub use commands::words_of;

impl LoadSpec {
    /// The options that ask for one of its tests, in words that mean the same to keystorm itself. Passwords are
    /// [`HIDDEN`].
    pub(crate) fn asking_for(&self, parts: &PlanParts) -> Fields {
        let mut spec = self.clone();
        // Which of its tests it is, how often and when they run is no part of one.
        (spec.data.tests, spec.load.start_at, spec.load.repeats) = (None, None, None);
        (spec.load.idle, spec.load.repeat) = (false, false);
        let server = &mut spec.server;
        let logs_in = parts.target.credentials.is_some();
        if logs_in && server.uri.is_none() && server.password_command.is_none() {
            server.password = Some(Secret::new(HIDDEN));
        }
        if self.dialect != KEYSTORM {
            said_to_keystorm(&mut spec, parts);
        }
        if self.prepared.is_some() {
            spec.data = data(parts, &self.data);
            spec.server.replicas.rfr_also = parts.read_only.iter().map(|at| at + 1).collect();
        }
        let is_renamed = self.is_suite() && parts.named;
        // A text elsewhere may be a placeholder here.
        let is_escaped = |word: &String| word.contains(BYTES_PLACEHOLDER);
        let is_other = !self.command.is_empty()
            && commands::commands(parts, is_mixed(parts)).iter().any(is_escaped);
        if self.prepared.is_some() || self.data.stdin_arg || is_renamed || is_other {
            spec.data.stdin_arg = false;
            send(&mut spec, parts);
        }
        let known = known_password(parts.target.credentials.as_ref());
        let known = known.map(|known| [known.to_owned(), escaped(known.as_bytes())]);
        for word in spec.command.iter_mut().skip(1) {
            if known.iter().flatten().any(|known| *word == **known) {
                *word = HIDDEN.into();
            }
        }
        given_fields(&spec).unwrap_or_default()
    }

    /// The load of a plan, without passwords, without what no option can ask for, and, of a test of the suite, without
    /// its name.
    #[must_use]
    pub fn of_plan(plan: &Plan) -> Self {
        let asked = serde_json::from_value(Value::Object(plan.asked.clone()));
        let mut spec: Self = asked.unwrap_or_default();
        decided(&mut spec, plan);
        if plan.has_receivers() {
            // The command of senders follows from the kind of their receivers.
            (spec.command, spec.yes) = (Vec::new(), false);
            spec.data = DataOptions {
                size: spec.data.size,
                size_by: spec.data.size_by,
                content: spec.data.content,
                sequential: spec.data.sequential,
                key_dist: spec.data.key_dist,
                keys: spec.data.keys,
                seed: spec.data.seed,
                ..DataOptions::default()
            };
        }
        spec
    }

    /// The load of a plan whose operations, and their keys, are in a workload file.
    #[must_use]
    pub fn of_plan_beside(file: &str, plan: &Plan) -> Self {
        let spec = Self::of_plan(plan);
        let data = DataOptions {
            workload: Some(file.to_owned()),
            order: order(plan),
            key_range: None,
            key_dist: None,
            sequential: false,
            keys: KeyOptions::default(),
            mix: false,
            ..spec.data
        };
        Self { data, command: Vec::new(), yes: false, ..spec }
    }

    /// Returns the part of it that finds the server, and recovers from its failures.
    #[must_use]
    pub fn of_server(plan: &Plan) -> Self {
        let Self { server, tls, load, recording, .. } = Self::of_plan(plan);
        let LoadOptions { reconnect, connecting, retrying, timeout, .. } = load;
        Self {
            server,
            tls,
            load: LoadOptions {
                reconnect,
                connecting,
                retrying,
                timeout,
                ..LoadOptions::default()
            },
            recording: RecordingOptions {
                on_error: recording.on_error,
                ..RecordingOptions::default()
            },
            ..Self::default()
        }
    }
}

/// Returns the test of the suite that a plan is.
#[must_use]
pub fn suite_test(plan: &Plan) -> Option<&'static SuiteTest> {
    SUITE.iter().find(|test| test.title == plan.name && !plan.named)
}

/// Returns whether the plan has operations that take turns or are drawn.
#[must_use]
pub fn is_mixed(plan: &PlanParts) -> bool {
    plan.mix.as_ref().is_some_and(|mix| mix.operations.len() > 1 || mix.pick != Pick::Drawn)
}

/// Returns whether the commands are those of a capture.
fn is_captured(plan: &PlanParts) -> bool {
    plan.mix.as_ref().is_some_and(|mix| mix.pick == Pick::Row)
}

fn order(plan: &PlanParts) -> Option<Pick> {
    plan.mix.as_ref().map(|mix| mix.pick.clone()).filter(|pick| *pick != Pick::Drawn)
}

/// Sets the options that the plan decided, or an experiment changed.
fn decided(spec: &mut LoadSpec, plan: &Plan) {
    let load = &plan.load;
    let seconds = |ns| Seconds(Duration::from_nanos(ns));
    (spec.load.requests, spec.load.duration) = match load.stop {
        Stop::Requests(count) => (Some(Count(count)), None),
        Stop::AfterNs(ns) => (None, Some(seconds(ns))),
    };
    spec.load.warmup = (load.warmup_ns > 0).then(|| seconds(load.warmup_ns));
    spec.load.connections = Some(Count(load.concurrency.connections));
    let depth = load.concurrency.pipeline_depth;
    spec.load.pipeline = (depth > 1).then(|| Count(depth.into()));
    spec.load.rate = load.pace.schedule().map(|schedule| Rate(schedule.stages.clone()));
    spec.load.shard = (!load.shard.is_whole()).then_some(ShardArg(load.shard));
    spec.data.seed = Some(Count(load.seed as i64));
    spec.recording.name = plan.named.then(|| TestName(plan.name.clone()));
}

/// Says what another tool assumes where that is not what keystorm does, and leaves out what is.
fn said_to_keystorm(spec: &mut LoadSpec, parts: &PlanParts) {
    let LoadSpec { server, load, .. } = spec;
    server.protocol = server.protocol.filter(|protocol| *protocol != ProtocolArg::Resp);
    load.window = load
        .window
        .filter(|_| load.rate.is_none() || parts.load.concurrency.window == Window::Batch);
    load.retrying.retry_on = load.retrying.retry_on.take().filter(|kinds| !kinds.is_empty());
    let recovery = &parts.recovery;
    let by_time = matches!(parts.load.stop, Stop::AfterNs(_));
    let reconnects = recovery.reconnect;
    spec.load.reconnect = (reconnects != by_time).then(|| YesNo::from(reconnects));
    spec.recording.on_error = match recovery.on_error {
        OnError::Count if !reconnects => Some(OnErrorArg::Count),
        OnError::Stop if reconnects => Some(OnErrorArg::Stop),
        OnError::Count | OnError::Stop => None,
    };
    let stamps = parts.recording.kernel_stamps;
    let by_default = Recording::stamps_by_default(&parts.load, &parts.target.endpoint);
    spec.recording.kernel_stamps = (stamps != by_default).then(|| YesNo::from(stamps));
    spec.data.content = parts.data.values.as_ref().map(|values| values.content);
    let is_private = matches!(parts.target.endpoint, Endpoint::Spawned { .. });
    spec.yes = !is_private && harmful::check(&parts.sequence).is_err();
}

/// Says the commands of a plan.
fn send(spec: &mut LoadSpec, parts: &PlanParts) {
    if is_captured(parts) {
        return;
    }
    let command = commands::commands(parts, is_mixed(parts));
    spec.command = command.into_iter().map(OsString::from).collect();
    (spec.data.mix, spec.data.order) = (is_mixed(parts), order(parts));
}

/// The options of keys and values; those that no plan shows are taken from `asked`.
fn data(plan: &PlanParts, asked: &DataOptions) -> DataOptions {
    let lifetime = plan.pieces().find_map(|piece| match piece {
        Piece::Lifetime(lifetime) => Some(*lifetime),
        _ => None,
    });
    let (size, size_by, content) = match &plan.data.values {
        Some(ValueSpec { sizes, by, content }) => (
            sizes.to_string().parse().ok(),
            Some(*by).filter(|by| *by != SizeBy::Key && !sizes.is_fixed()),
            Some(*content),
        ),
        None => (Some(Size::Fixed(plan.data.payload_bytes as u32)), None, None),
    };
    let options = DataOptions {
        size,
        size_by,
        content,
        ttl: lifetime.or(plan.data.fill_lifetime),
        fill: asked.fill,
        fill_with: asked.fill_with.clone(),
        clean: asked.clean,
        verify: asked.verify,
        fail_on_miss: asked.fail_on_miss,
        ..with_keys(plan)
    };
    with_dataset(plan, options)
}

fn with_keys(plan: &PlanParts) -> DataOptions {
    let keys = &plan.data.keys;
    let Some(range) = keys.range else { return DataOptions::default() };
    let drawn = ![KeyDist::SEQUENTIAL, KeyDist::UNIFORM].contains(&keys.draw);
    let numbered = &keys.numbered;
    DataOptions {
        key_range: Some(KeyRange(range)),
        sequential: keys.draw == KeyDist::SEQUENTIAL,
        key_dist: drawn.then(|| keys.draw.clone()),
        keys: KeyOptions {
            first_key: (numbered.first > 0).then_some(Count(numbered.first)),
            unpadded: numbered.bare,
            keys_by: Some(numbered.by).filter(|by| *by != DrawnBy::default()),
            one_slot: keys.one_slot.is_some(),
        },
        ..DataOptions::default()
    }
}

fn with_dataset(plan: &PlanParts, options: DataOptions) -> DataOptions {
    let Some(dataset) = &plan.data.dataset else { return options };
    let source = Some(dataset.source().into());
    let (replay, table) = if is_captured(plan) { (source, None) } else { (None, source) };
    let value = dataset.values().filter(|_| plan.data.verify);
    DataOptions {
        replay,
        dataset: table,
        rows_by: Some(dataset.by()).filter(|by| *by != RowBy::Request),
        row_value: value.and_then(|column| dataset.columns().get(column)).cloned(),
        ..options
    }
}

#[cfg(test)]
mod tests;
