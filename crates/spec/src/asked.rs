//! The options of a plan: saved with it and read back, together with later decisions and changes.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use serde_json::Value;
use workload::escape::{BYTES_PLACEHOLDER, escaped};
use workload::secret::HIDDEN;
use workload::suite::{SUITE, SuiteTest};
use workload::{
    Endpoint, OnError, Pick, Plan, PlanParts, RecordedTraffic, Recording, Secret, Stop, Window,
};

use crate::data::{KeyOptions, Size};
use crate::delivery::DeliveryOptions;
use crate::dialect::KEYSTORM;
use crate::document::Fields;
use crate::escape::literal;
use crate::rank::ShardArg;
use crate::title::known_password;
use crate::values::{Count, OnErrorArg, ProtocolArg, Seconds, TestName, Threads, YesNo};
use crate::write::given_fields;
use crate::{DataOptions, LoadOptions, LoadSpec, Rate, RecordingOptions, TypedLoad, harmful};

impl LoadSpec {
    /// The options that ask for one of its tests, in words that mean the same to keystorm itself. Passwords are
    /// [`HIDDEN`].
    pub(crate) fn asking_for(&self, given: Option<TypedLoad>, parts: &PlanParts) -> Fields {
        let mut spec = self.clone();
        // Which of its tests it is, how often and when they run is no part of one. A name hides the test.
        spec.data.tests.take_if(|_| !parts.named);
        (spec.load.start_at, spec.load.repeats) = (None, None);
        (spec.load.idle, spec.load.repeat) = (false, false);
        let server = &mut spec.server;
        let logs_in = parts.target.credentials.is_some();
        if logs_in && server.uri.is_none() && server.password_command.is_none() {
            server.password = Some(Secret::new(HIDDEN));
        }
        if self.dialect != KEYSTORM {
            said_to_keystorm(&mut spec, parts);
        }
        if self.peer.is_some() {
            // Values that are written out have a size, too; rows are compared where values are.
            spec.data.size.get_or_insert(Size::Fixed(parts.data.payload_bytes as u32));
            spec.data.row_value.take_if(|_| !parts.data.verify);
        }
        spec.given = None;
        if self.delivery.is_some() {
            // Command and keys of senders follow from the kind of their receivers.
            (spec.command, spec.data.key_range) = (Vec::new(), None);
        } else if let Some(given) = given.filter(|_| self.data.workload.is_none()) {
            send(&mut spec, given.in_own_words(&parts.data.keys), parts);
        }
        if let Some(known) = known_password(parts.target.credentials.as_ref()) {
            hide(&mut spec, known);
        }
        given_fields(&spec).unwrap_or_default()
    }

    /// The load of a plan, without passwords, and without what no option can ask for ([`unexpressed()`]).
    pub fn of_plan(plan: &Plan) -> Self {
        let asked = serde_json::from_value(Value::Object(plan.asked.clone()));
        let mut spec: Self = asked.unwrap_or_default();
        decided(&mut spec, plan);
        if let Some(recorded) = &plan.recorded {
            return replayed(spec, plan, recorded);
        }
        spec
    }

    /// The load of a plan whose operations, and their keys, are in a workload file.
    pub fn of_plan_beside(file: &str, plan: &Plan) -> Self {
        let spec = Self::of_plan(plan);
        let data = DataOptions {
            workload: Some(file.to_owned()),
            key_range: None,
            key_dist: None,
            sequential: false,
            keys: KeyOptions::default(),
            mix: false,
            ..spec.data
        };
        Self { data, command: Vec::new(), yes: false, given: None, ..spec }
    }

    /// The command line that sends a plan of this load, with options of the process before its own.
    pub fn command_line(&self, plan: &Plan, of_process: Vec<String>) -> String {
        let mut line = vec!["keystorm".to_owned()];
        if let Some(recorded) = &plan.recorded {
            line.push("replay".to_owned());
            line.extend(recorded.source.split(", ").map(str::to_owned));
            line.extend(["--speed".to_owned(), recorded.speed.to_string()]);
        }
        let kind = self.delivery.as_ref().map(DeliveryOptions::kind);
        line.extend(kind.iter().flat_map(|kind| ["deliver", kind]).map(str::to_owned));
        line.extend(of_process);
        // The words of a plan are texts, so there always are some.
        line.extend(self.words().unwrap_or_default());
        shell_words::join(line)
    }
}

/// Returns the parts of a plan that its command line leaves out, one sentence each.
pub fn unexpressed(plan: &Plan) -> Vec<String> {
    let mut unexpressed = unexpressed_beside_a_file(plan);
    if plan.asked.contains_key("workload") {
        return unexpressed;
    }
    let Some(load) = LoadSpec::of_plan(plan).given else { return unexpressed };
    if load.draws_in_different_ways() {
        unexpressed.push("its operations draw their keys in different ways".to_owned());
    }
    if load.sends_together() {
        unexpressed.push("commands of an operation are sent together".to_owned());
    }
    unexpressed
}

/// Returns the parts of a plan that its command line leaves out if a workload file has the operations.
pub fn unexpressed_beside_a_file(plan: &Plan) -> Vec<String> {
    let mut unexpressed = Vec::new();
    if plan.target.credentials.is_some() {
        unexpressed.push(format!("its password, which stands here as {HIDDEN}"));
    }
    if plan.target.tls.as_ref().is_some_and(|tls| tls.key_password.is_some()) {
        unexpressed.push(
            "the password of its private key is taken from KEYSTORM_KEY_PASSWORD here".to_owned(),
        );
    }
    if plan.load.pace.schedule().is_some_and(|schedule| !schedule.is_limited()) {
        unexpressed.push("its rate had no limit for a time, here it is 0".to_owned());
    }
    unexpressed
}

/// The part of a load that replaying a record has: it finds the server, and recovers from its failures.
fn replayed(spec: LoadSpec, plan: &Plan, recorded: &RecordedTraffic) -> LoadSpec {
    let LoadSpec { server, tls, load, recording, .. } = spec;
    let LoadOptions { connections, reconnect, connecting, retrying, timeout, .. } = load;
    let workers = plan.load.concurrency.workers;
    LoadSpec {
        server,
        tls,
        load: LoadOptions {
            connections: connections.filter(|Count(all)| u64::from(*all) != recorded.clients),
            threads: (workers > 1).then(|| Threads::Number(workers.into())),
            reconnect,
            connecting,
            retrying,
            timeout,
            ..LoadOptions::default()
        },
        recording: RecordingOptions { on_error: recording.on_error, ..RecordingOptions::default() },
        ..LoadSpec::default()
    }
}

/// Hides the arguments of commands that are this password.
fn hide(spec: &mut LoadSpec, password: &str) {
    let bytes = password.as_bytes();
    let written = [password.to_owned(), escaped(bytes), literal(bytes, "", "")];
    let is_password = |word: &[u8]| written.iter().any(|written| written.as_bytes() == word);
    let words = spec.command.iter_mut().skip(1);
    words.filter(|word| is_password(word.as_bytes())).for_each(|word| *word = HIDDEN.into());
    let operations = spec.given.iter_mut().flat_map(|given| &mut given.operations);
    let steps = operations.flat_map(|operation| &mut operation.typed.steps);
    let words =
        steps.flat_map(|step| &mut step.commands).flat_map(|words| words.iter_mut().skip(1));
    words.filter(|word| is_password(word)).for_each(|word| *word = HIDDEN.into());
}

/// Returns the test of the suite that a plan is.
pub fn suite_test(plan: &Plan) -> Option<&'static SuiteTest> {
    SUITE.iter().find(|test| test.title == plan.name && !plan.named)
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
    // The longest name is that of the fewest tests.
    let test = suite_test(plan).and_then(|test| test.names.iter().max_by_key(|name| name.len()));
    spec.data.tests = spec.data.tests.take().or_else(|| test.map(|name| (*name).to_owned()));
}

/// Says what another tool assumes where that is not what keystorm does, and leaves out what is.
fn said_to_keystorm(spec: &mut LoadSpec, parts: &PlanParts) {
    let LoadSpec { server, load, .. } = spec;
    server.protocol = server.protocol.filter(|protocol| *protocol != ProtocolArg::Resp);
    load.window = load
        .window
        .filter(|_| load.rate.is_none() || parts.load.concurrency.window == Window::Batch);
    load.retrying.retry_on = load.retrying.retry_on.take().filter(|kinds| !kinds.is_empty());
    let (recovery, reconnects) = (&parts.recovery, parts.recovery.reconnect);
    let by_time = matches!(parts.load.stop, Stop::AfterNs(_));
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

/// Says what is sent, as far as options can; the operations are kept if they need a workload file.
fn send(spec: &mut LoadSpec, given: TypedLoad, parts: &PlanParts) {
    let order = parts.mix.as_ref().map(|mix| mix.pick.clone()).filter(|pick| *pick != Pick::Drawn);
    let mixed = given.mixed && (given.operations.len() > 1 || order.is_some());
    let words = given.words(mixed);
    // Words that were typed stay as they are, unless a text among them is a placeholder here.
    let is_typed = !spec.command.is_empty() && !spec.data.stdin_arg;
    if is_typed && !words.iter().any(|word| word.contains(BYTES_PLACEHOLDER)) {
        return;
    }
    (spec.command, spec.data.stdin_arg) = (words.into_iter().map(OsString::from).collect(), false);
    (spec.data.mix, spec.data.order) = (mixed, order);
    if given.draws_in_different_ways() || given.sends_together() {
        spec.given = Some(given);
    }
}

#[cfg(test)]
#[path = "asked_tests.rs"]
mod tests;
