//! The specification of a plan that was not made from one: the way back from [`LoadSpec::plans`].
//!
//! Where the server is, [`server`] says, and what is sent, [`commands`].

mod commands;
mod server;

use std::ffi::OsString;
use std::time::Duration;

use workload::suite::{SUITE, SuiteTest};
use workload::{
    Arrivals, BudgetScope, ConnectionPerRequest, DrawnBy, Endpoint, EngineKind, KeyDist, OnError,
    Pick, Piece, Plan, Recording, RowBy, SizeBy, Stop, ValueSpec, Window,
};

use crate::connecting::ConnectionOptions;
use crate::keys::KeyOptions;
use crate::payload::Size;
use crate::per_request::{Close, OpenFor, PerRequest};
use crate::rank::ShardArg;
use crate::retrying::{Jitter, RetryOptions, Times};
use crate::values::{
    ArrivalsArg, Count, Cpus, EngineArg, KeepAlive, Milliseconds, OnErrorArg, Positive, Seconds,
    TestName, Threads, WindowArg, YesNo,
};
use crate::{DataOptions, KeyRange, LoadOptions, LoadSpec, Rate, RecordingOptions, harmful};
pub use commands::words_of;

impl LoadSpec {
    /// The load of a plan, without passwords, without what no option can ask for, and, of a test of the suite, without
    /// its name.
    #[must_use]
    pub fn of_plan(plan: &Plan) -> Self {
        let spec = Self {
            server: server::server(plan),
            tls: plan.target.tls.as_ref().map(server::tls).unwrap_or_default(),
            load: load(plan),
            data: data(plan),
            recording: recording(plan),
            ..Self::default()
        };
        let rows = plan.mix.as_ref().is_some_and(|mix| mix.pick == Pick::Row);
        if plan.delivery.is_some() || rows || suite_test(plan).is_some() {
            return spec;
        }
        let is_private = matches!(plan.target.endpoint, Endpoint::Spawned { .. });
        let command = commands::commands(plan, is_mixed(plan));
        Self {
            yes: !is_private && harmful::check(&plan.sequence).is_err(),
            command: command.into_iter().map(OsString::from).collect(),
            data: DataOptions { mix: is_mixed(plan), order: order(plan), ..spec.data },
            ..spec
        }
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
pub fn is_mixed(plan: &Plan) -> bool {
    plan.mix.as_ref().is_some_and(|mix| mix.operations.len() > 1 || mix.pick != Pick::Drawn)
}

fn order(plan: &Plan) -> Option<Pick> {
    plan.mix.as_ref().map(|mix| mix.pick.clone()).filter(|pick| *pick != Pick::Drawn)
}

fn seconds(ns: u64) -> Seconds {
    Seconds(Duration::from_nanos(ns))
}

fn milliseconds(ns: u64) -> Milliseconds {
    Milliseconds(Duration::from_nanos(ns))
}

fn load(plan: &Plan) -> LoadOptions {
    let (load, concurrency) = (&plan.load, &plan.load.concurrency);
    let schedule = load.pace.schedule();
    let (requests, duration) = match load.stop {
        Stop::Requests(count) => (Some(Count(count)), None),
        Stop::AfterNs(ns) => (None, Some(seconds(ns))),
    };
    let depth = concurrency.pipeline_depth;
    let reconnect = plan.recovery.reconnect;
    LoadOptions {
        connections: Some(Count(concurrency.connections)),
        requests,
        per_connection: load.share == BudgetScope::PerConnection,
        time_limit: load.at_most_ns.map(seconds),
        duration,
        warmup: (load.warmup_ns > 0).then(|| seconds(load.warmup_ns)),
        pipeline: (depth > 1).then(|| Count(depth.into())),
        // What is assumed differs between open and closed loops.
        window: match (concurrency.window, schedule) {
            (Window::Rolling, None) => Some(WindowArg::Rolling),
            (Window::Batch, Some(_)) => Some(WindowArg::Batch),
            (Window::Rolling, Some(_)) | (Window::Batch, None) => None,
        },
        rate: schedule.map(|schedule| Rate(schedule.stages.clone())),
        arrivals: schedule
            .filter(|schedule| schedule.arrivals == Arrivals::Poisson)
            .map(|_| ArrivalsArg::Poisson),
        shard: (!load.shard.is_whole()).then_some(ShardArg(load.shard)),
        threads: concurrency.multi_thread.then(|| Threads::Number(concurrency.workers.into())),
        cpus: (!concurrency.cpus.is_empty()).then(|| Cpus(concurrency.cpus.clone())),
        engine: match plan.engine {
            EngineKind::Auto => None,
            EngineKind::Uring => Some(EngineArg::Uring),
            EngineKind::Epoll => Some(EngineArg::Epoll),
        },
        keep_alive: (!concurrency.keep_alive).then_some(KeepAlive(false)),
        reconnect: (reconnect != duration.is_some()).then(|| YesNo::from(reconnect)),
        timeout: plan.recovery.timeout_ns.map(milliseconds),
        deadline: plan.recovery.deadline_ns.map(milliseconds),
        per_request: per_request(plan),
        connecting: connecting(plan),
        retrying: retrying(plan),
        ..LoadOptions::default()
    }
}

fn per_request(plan: &Plan) -> PerRequest {
    let burst = plan.load.pace.schedule().and_then(|schedule| match schedule.arrivals {
        Arrivals::Bursts(size) => Some(Count(size)),
        Arrivals::Constant | Arrivals::Poisson => None,
    });
    let Some(ConnectionPerRequest { hold_ns, reset }) = plan.load.concurrency.per_request else {
        return PerRequest { burst, ..PerRequest::default() };
    };
    let open_for = match hold_ns {
        Some(0) => None,
        Some(ns) => Some(OpenFor::Time(seconds(ns))),
        None => Some(OpenFor::End),
    };
    PerRequest { connect: true, open_for, close: reset.then_some(Close::Reset), burst }
}

fn connecting(plan: &Plan) -> ConnectionOptions {
    let (concurrency, recovery) = (&plan.load.concurrency, &plan.recovery);
    let (each, renewed) = (concurrency.requests_each, concurrency.renewed_per_s);
    ConnectionOptions {
        join: concurrency.joining,
        connect_spacing: concurrency.spacing,
        requests_per_connection: (each > 0).then_some(Positive(each)),
        renew: (renewed > 0).then_some(Count(renewed)),
        reconnect_wait: recovery.backoff,
        reconnect_tries: recovery.reopening.tries.map(Count),
        reconnect_timeout: recovery.reopening.within_ns.map(milliseconds),
    }
}

fn retrying(plan: &Plan) -> RetryOptions {
    let Some(retry) = &plan.recovery.retry else { return RetryOptions::default() };
    let depth = plan.load.concurrency.pipeline_depth;
    RetryOptions {
        retry: Some(Times(retry.most)),
        retry_wait: Some(retry.backoff),
        retry_jitter: (retry.jitter > 0.0).then_some(Jitter(retry.jitter)),
        retry_queue: (retry.waiting_max != depth).then_some(Positive(retry.waiting_max)),
        retry_on: (!retry.on.is_empty()).then(|| retry.on.join(",")),
    }
}

fn recording(plan: &Plan) -> RecordingOptions {
    let recording = &plan.recording;
    let stamps = recording.kernel_stamps;
    let by_default =
        plan.delivery.is_none() && Recording::stamps_by_default(&plan.load, &plan.target.endpoint);
    RecordingOptions {
        name: plan.named.then(|| TestName(plan.name.clone())),
        precision: (recording.precision != 3).then(|| Count(recording.precision.into())),
        first_byte: recording.first_byte,
        kernel_stamps: (stamps != by_default).then(|| YesNo::from(stamps)),
        on_error: match plan.recovery.on_error {
            OnError::Count if !plan.recovery.reconnect => Some(OnErrorArg::Count),
            OnError::Stop if plan.recovery.reconnect => Some(OnErrorArg::Stop),
            OnError::Count | OnError::Stop => None,
        },
    }
}

/// The keys, the values to store, and the checks of values that are read.
fn data(plan: &Plan) -> DataOptions {
    let data = &plan.data;
    let lifetime = plan.pieces().find_map(|piece| match piece {
        Piece::Lifetime(lifetime) => Some(*lifetime),
        _ => None,
    });
    let fill_with = data.fill.as_deref().filter(|commands| !commands.is_empty());
    let (size, size_by, content) = match &data.values {
        Some(ValueSpec { sizes, by, content }) => (
            sizes.to_string().parse().ok(),
            Some(*by).filter(|by| *by != SizeBy::Key && !sizes.is_fixed()),
            Some(*content),
        ),
        None => (Some(Size::Fixed(value_bytes(plan) as u32)), None, None),
    };
    let options = DataOptions {
        size,
        size_by,
        content,
        ttl: lifetime.or(data.fill_lifetime),
        fill: data.fill.is_some(),
        fill_with: fill_with.map(|commands| commands::filling(plan, commands)),
        clean: data.clean,
        verify: data.verify,
        fail_on_miss: data.fail_on_miss,
        seed: Some(Count(plan.load.seed as i64)),
        ..with_keys(plan)
    };
    with_dataset(plan, commands::with_functions(plan, options))
}

/// Bytes of a value. What the peers call payload is more than that where they send such commands.
fn value_bytes(plan: &Plan) -> u64 {
    let args = || plan.sequence.iter().flat_map(|command| &command.args);
    let message = args().find_map(|arg| match &arg.pieces[..] {
        [Piece::Fill { len, .. }, message] if message.message_bytes() > 0 => {
            Some(u64::from(*len) + message.message_bytes() as u64)
        }
        _ => None,
    });
    let value = || {
        plan.pieces().find_map(|piece| match piece {
            Piece::Fill { len, .. } => Some(u64::from(*len)),
            _ => None,
        })
    };
    message.or_else(value).unwrap_or(plan.data.payload_bytes)
}

fn with_keys(plan: &Plan) -> DataOptions {
    let keys = &plan.data.keys;
    let Some(range) = keys.range else { return DataOptions::default() };
    let is_sequential = keys.draw == KeyDist::SEQUENTIAL;
    let drawn = !is_sequential && keys.draw != KeyDist::UNIFORM;
    let numbered = &keys.numbered;
    DataOptions {
        // Of a delivery they are the places that messages go through.
        key_range: plan.delivery.is_none().then_some(KeyRange(range)),
        sequential: is_sequential,
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

fn with_dataset(plan: &Plan, options: DataOptions) -> DataOptions {
    let Some(dataset) = &plan.data.dataset else { return options };
    let captured = plan.mix.as_ref().is_some_and(|mix| mix.pick == Pick::Row);
    let source = Some(dataset.source().into());
    let (replay, table) = if captured { (source, None) } else { (None, source) };
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
