//! The plan: one test, complete and checked.
//!
//! Owns the types that describe a test and their limits. A front end fills in [`PlanParts`];
//! [`PlanParts::build`] is the only way to a [`Plan`], so every plan is valid and nothing is left to check
//! while load runs.

pub(crate) mod check;
mod check_mix;
mod concurrency;
mod deadline;
mod different;
mod fill;
mod inserts;
mod joining;
pub mod limits;
mod logged;
mod mix;
mod numbering;
mod operations;
mod parts;
mod pick;
mod reads;
mod retry;
mod source;
mod transactions;

use std::ops::Not;

use naming::Text;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use thiserror::Error;

pub use concurrency::{Concurrency, ConnectionPerRequest, Window};
pub use different::DistinctCommands;
pub use fill::Fill;
pub use joining::{JoinSchedule, Spacing};
pub use logged::LogSubject;
pub use mix::{BudgetScope, CaptureRule, Mix, MixStep, Operation, StepCondition};
pub use numbering::Numbering;
pub use operations::{Operations, ScanOperation, StepReplies};
pub use parts::{Data, Load, PeerOptions, Recording, Recovery};
pub use pick::{Pick, Span};
pub use retry::{Backoff, ReconnectLimits, Retry};
pub use source::{RecordedStall, RecordedTraffic};
pub use transactions::Transactions;

use crate::secret::{self};
use crate::{
    Arrivals, Budget, CommandSpec, Content, Curve, Delivery, Endpoint, Pace, Pacer, Piece,
    Schedule, SizeBy, Sizes, Target, stream,
};

/// The protocol spoken on every connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProtocolKind {
    /// RESP version 2, every server's default.
    /// <https://redis.io/docs/latest/develop/reference/protocol-spec/>
    #[default]
    Resp2,
    /// RESP version 3, requested with `HELLO 3`.
    Resp3,
    /// memcached's text protocol. <https://docs.memcached.org/protocols/basic/>
    MemcacheText,
    /// memcached's text protocol, with meta commands where there is a choice, on the same connection and
    /// lines. <https://docs.memcached.org/protocols/meta/>
    MemcacheMeta,
    /// memcached's deprecated binary protocol. <https://docs.memcached.org/protocols/binary/>
    MemcacheBinary,
}

impl ProtocolKind {
    /// Returns whether servers with this protocol are memcached or compatible.
    pub fn is_memcache(self) -> bool {
        match self {
            Self::Resp2 | Self::Resp3 => false,
            Self::MemcacheText | Self::MemcacheMeta | Self::MemcacheBinary => true,
        }
    }
}

/// The I/O engine that moves the bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EngineKind {
    /// The fastest engine that this kernel allows.
    #[default]
    Auto,
    /// Completion by `io_uring` (Linux 6.0 or later, where it is allowed).
    Uring,
    /// Readiness by `epoll` (or kqueue), through mio.
    Epoll,
}

/// End of a test, or of its warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stop {
    /// After this many requests, to the exact count.
    Requests(u64),
    /// After this many nanoseconds; requests then in flight are awaited and counted.
    AfterNs(u64),
}

/// Effect of an error reply of the server on the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnError {
    /// The run ends with exit code 1, as in `redis-benchmark`.
    #[default]
    Stop,
    /// The run goes on; errors are counted by kind.
    Count,
}

/// Values that differ from request to request or from key to key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ValueSpec {
    /// Sizes of the values.
    pub sizes: Sizes,
    /// Argument that determines the size.
    #[serde(default)]
    pub by: SizeBy,
    /// Content of the values.
    #[serde(default)]
    pub content: Content,
}

/// All choices of a front end about one test, not yet checked; by default the classic test of a server on this
/// machine, without a command.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct PlanParts {
    /// The title that reports print.
    pub name: String,
    /// Set if the user chose the title, so that it need not describe the load.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub named: bool,
    /// Server to connect to, and as whom.
    pub target: Target,
    /// Protocol of the server.
    pub protocol: ProtocolKind,
    /// Engine to use.
    pub engine: EngineKind,
    /// Commands sent once on a separate connection before the test, such as the `FUNCTION LOAD` that `FCALL`
    /// needs. Not measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub setup: Vec<CommandSpec>,
    /// The commands, sent in this order over and over; with a `mix`, the commands of its operations.
    pub sequence: Vec<CommandSpec>,
    /// Operations that the commands belong to, sent one at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mix: Option<Mix>,
    /// Commands of the sequence, by index, that replicas may answer although neither their names nor the
    /// server say so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read_only: Vec<u32>,
    /// Set if commands that the server calls harmful are refused. Not part of the load, so not saved.
    #[serde(skip)]
    pub minds_harm: bool,
    /// Load: amount, pace, connections, and end.
    pub load: Load,
    /// Keys, values, fills, and comparisons.
    pub data: Data,
    /// Recorded latencies.
    pub recording: Recording,
    /// Recovery after an error or a loss.
    pub recovery: Recovery,
    /// Recorded traffic to send instead of requests of its own, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded: Option<RecordedTraffic>,
    /// Receivers of its messages, if it sends messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<Delivery>,
    /// Options that only an imitated tool can ask for.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub peer: PeerOptions,
    /// The options that asked for it, by their keys in documents. Nothing of a run depends on them.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub asked: Map<String, Value>,
}

/// A complete and valid test. Reads like [`PlanParts`], but cannot be changed. A loaded plan passes the same
/// checks as a typed one.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "PlanParts")]
pub struct Plan(PlanParts);

impl std::ops::Deref for Plan {
    type Target = PlanParts;

    fn deref(&self) -> &PlanParts {
        &self.0
    }
}

impl Plan {
    /// The plan with what only its run knows, such as the address of a server that was started, a client's share or
    /// a password. It passes the same checks.
    ///
    /// # Errors
    /// Returns an error if the change makes it invalid.
    pub fn with(&self, change: impl FnOnce(&mut PlanParts)) -> Result<Self, PlanError> {
        self.try_with(|parts| {
            change(parts);
            Ok(())
        })
    }

    /// The plan with a change, as [`Self::with`] makes it, that may itself fail.
    ///
    /// # Errors
    /// Returns the error of the change, or an error if it makes the plan invalid.
    pub fn try_with<E: From<PlanError>>(
        &self,
        change: impl FnOnce(&mut PlanParts) -> Result<(), E>,
    ) -> Result<Self, E> {
        let mut parts = self.0.clone();
        change(&mut parts)?;
        Ok(parts.build()?)
    }

    /// The plan without the options that asked for it: plans that mean the same may have been asked for in different
    /// words.
    pub fn without_options(&self) -> Self {
        Self(PlanParts { asked: Map::new(), ..self.0.clone() })
    }
}

/// Reason why parts do not make a plan. Worded for the person at the command line, with options by their identity.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct PlanError(pub Text);

impl From<PlanError> for Text {
    fn from(PlanError(why): PlanError) -> Self {
        why
    }
}

impl TryFrom<PlanParts> for Plan {
    type Error = PlanError;

    fn try_from(parts: PlanParts) -> Result<Self, PlanError> {
        parts.build()
    }
}

impl PlanParts {
    /// All pieces of the commands of its sequence.
    pub fn pieces(&self) -> impl Iterator<Item = &Piece> {
        self.sequence.iter().flat_map(|command| &command.args).flat_map(|arg| &arg.pieces)
    }

    /// Returns whether its commands carry messages, which receivers can measure.
    pub fn carries_messages(&self) -> bool {
        self.pieces().any(|piece| piece.message_bytes() > 0)
    }

    /// Returns whether messages in its commands are bare numbers, without times.
    pub fn numbers_messages(&self) -> bool {
        self.pieces().any(|piece| *piece == Piece::MessageNumber)
    }

    /// Maximum number of bytes of one pipeline, without fields of a dataset.
    pub fn batch_bytes(&self) -> u64 {
        let depth = u64::from(self.load.concurrency.pipeline_depth);
        self.sequence_bytes().saturating_mul(depth)
    }

    /// Maximum number of bytes of any argument that it sends, including fills, without fields of a dataset and
    /// replies.
    pub fn largest_argument(&self) -> u64 {
        let largest =
            self.data.values.as_ref().map_or(0, |values| u64::from(values.sizes.largest()));
        let fill = self.data.fill.iter().flatten();
        let commands = self.sequence.iter().chain(&self.setup).chain(fill);
        let sizes = commands
            .flat_map(|command| &command.args)
            .map(|arg| arg.size_hint().saturating_add(arg.values().saturating_mul(largest)));
        let sent = sizes.max().unwrap_or(0);
        // A fill without commands of its own writes values like the plan's.
        let filled = self.data.fill.as_ref().map_or(0, |_| largest.max(self.data.payload_bytes));
        sent.max(filled)
    }

    fn sequence_bytes(&self) -> u64 {
        self.bytes_of(&self.sequence)
    }

    /// Maximum number of bytes of these commands with values of this plan.
    fn bytes_of(&self, commands: &[CommandSpec]) -> u64 {
        let fixed: u64 = commands.iter().map(CommandSpec::size_hint).sum();
        let values: u64 = commands.iter().map(CommandSpec::values).sum();
        let largest = self.data.values.as_ref().map_or(0, |values| values.sizes.largest());
        fixed.saturating_add(values.saturating_mul(u64::from(largest)))
    }
}

impl Plan {
    /// All its passwords, without repetition, to mask in others' texts.
    pub fn secrets(&self) -> Vec<String> {
        let login = self.target.credentials.iter().map(|login| login.password.reveal().to_owned());
        let tls = self.target.tls.iter().flat_map(|tls| &tls.key_password);
        let login = login.chain(tls.map(|password| password.reveal().to_owned()));
        let filling = self.data.fill.iter().flatten();
        let commands = self.setup.iter().chain(&self.sequence).chain(filling);
        let commands = commands.flat_map(CommandSpec::secrets);
        let commands = commands.map(|secret| String::from_utf8_lossy(secret.reveal()).into_owned());
        let mut all: Vec<String> = login.chain(commands).collect();
        if let Endpoint::Spawned { args, .. } = &self.target.endpoint {
            all.extend(secret::of_arguments(args));
        }
        all.retain(|secret| !secret.is_empty());
        // Of two the longer one first, which the other may be a part of.
        all.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        all.dedup();
        all
    }

    /// Returns the part that was not saved with the plan, if any: without it the plan can be shown and
    /// compared, but not run.
    pub fn lacking(&self) -> Option<&'static str> {
        if self.data.dataset.as_ref().is_some_and(|dataset| dataset.is_description()) {
            return Some("the cells of its dataset");
        }
        self.data.keys.draw.is_description().then_some("the keys of its file")
    }

    /// Connections that this share of the plan opens.
    pub fn own_connections(&self) -> u32 {
        self.load.shard.count(self.load.concurrency.connections)
    }

    /// Connections that this share of the plan opens, including receivers'.
    pub fn all_connections(&self) -> u32 {
        // One more sends probes.
        let receivers =
            self.own_receivers().map_or(0, |own| own.receivers * own.kind.connections_each() + 1);
        self.own_connections().saturating_add(receivers)
    }

    /// Maximum number of shares of the plan with a connection and a request each; at least 1.
    pub fn shares_max(&self) -> u32 {
        let requests = match self.load.stop {
            Stop::Requests(n) => n.div_ceil(self.requests_per_number() as u64),
            Stop::AfterNs(_) => u64::MAX,
        };
        u32::try_from(requests).unwrap_or(u32::MAX).min(self.load.concurrency.connections).max(1)
    }

    /// Requests that this share of the plan sends; `None` if it ends by time.
    pub fn own_requests(&self) -> Option<u64> {
        self.budget().commands()
    }

    /// The rate of this share in requests per second: the total, divided among the shares.
    pub fn own_rate_per_s(&self, whole_per_s: f64) -> f64 {
        whole_per_s / f64::from(self.load.shard.of)
    }

    /// Nanoseconds for which the schedule of the measured part ran, in a run that took this long: up to its
    /// planned end, without the wait for the last replies. `None` in a closed loop.
    pub fn scheduled_ns(&self, elapsed_ns: u64) -> Option<u64> {
        let schedule = self.load.pace.schedule()?;
        let planned_ns = match self.load.stop {
            Stop::AfterNs(ns) => ns,
            // Shares interleave: the last request of the whole is due when that of a share is.
            Stop::Requests(n) => schedule.due_ns(n as f64),
        };
        Some(planned_ns.min(elapsed_ns))
    }

    /// The longest time between two requests of this share's schedule while it does not pause, in
    /// nanoseconds; for bursts, between two of them; 0 in a closed loop.
    pub fn due_every_ns(&self) -> u64 {
        let Some(schedule) = self.load.pace.schedule() else { return 0 };
        let rates = schedule.stages.iter().flat_map(|s| [s.from_per_s, s.to_per_s]);
        let slowest = rates.filter(|rate| *rate > 0.0).fold(f64::INFINITY, f64::min);
        let at_once = match schedule.arrivals {
            Arrivals::Bursts(size) => f64::from(size.max(1)),
            Arrivals::Constant | Arrivals::Poisson => 1.0,
        };
        // Each share has its part of every burst.
        let shares = f64::from(self.load.shard.of).min(at_once);
        (1e9 * at_once / shares / self.own_rate_per_s(slowest)) as u64
    }

    /// Returns whether a request is due in this span of the measured part; always true in a closed loop.
    pub fn is_due_within(&self, from_ns: u64, to_ns: u64) -> bool {
        let unlimited = |schedule: &Schedule| {
            schedule.unlimited().any(|span| span.start < to_ns && span.end > from_ns)
        };
        self.load.pace.schedule().is_none_or(|s| {
            self.own_rate_per_s(s.due_by(to_ns) - s.due_by(from_ns)) >= 1.0 || unlimited(s)
        })
    }

    /// The requests of this share, to claim from.
    pub fn budget(&self) -> Budget {
        let given = match self.load.stop {
            Stop::Requests(n) => Some(n),
            Stop::AfterNs(_) => None,
        };
        let paced = matches!(self.load.pace, Pace::Open(_));
        let Concurrency { pipeline_depth: depth, connections, .. } = self.load.concurrency;
        let connections = u64::from(connections);
        let one = |total| Budget::new(total, self.requests_per_number(), depth, paced);
        if self.load.share == BudgetScope::OneBudget {
            return one(given).shard(self.load.shard, self.data.keys.range.unwrap_or(1));
        }
        // Where keys decide, no connection has a place of its own.
        if self.target.is_by_key() && !self.target.has_clients() {
            let all = given.map(|each| each.saturating_mul(connections));
            return one(all).shard(self.load.shard, self.data.keys.range.unwrap_or(1));
        }
        one(given).for_each_connection(self.load.shard.part(connections))
    }

    /// Count of numbers after which another connection's begin.
    pub fn connection_round(&self) -> u64 {
        match self.load.stop {
            Stop::Requests(n) if self.load.share == BudgetScope::PerConnection => {
                n.div_ceil(self.requests_per_number().max(1) as u64)
            }
            _ => stream::CONNECTION_STRIDE,
        }
    }

    /// Returns the pacer of worker `worker` of `workers`, counted in sequences, from `start_ns` on; `None` in
    /// a closed loop. A warm-up comes before the schedule, at its first rate.
    pub fn pacer(&self, start_ns: u64, worker: u16, workers: u16) -> Option<Pacer> {
        let (schedule, curve) = (self.load.pace.schedule()?, self.curve()?);
        let lane = self.load.shard.lane(worker, workers);
        let pacer = Pacer::new(start_ns, curve, schedule.arrivals, lane, self.load.seed);
        Some(pacer.counting_from(start_ns.saturating_add(self.load.warmup_ns)))
    }

    /// Returns the curve of due sequences of all workers; `None` in a closed loop.
    pub fn curve(&self) -> Option<Curve> {
        let schedule = self.load.pace.schedule()?;
        Some(Curve::new(schedule, 1.0 / self.requests_per_number() as f64, self.load.warmup_ns))
    }
}

#[cfg(test)]
pub(crate) mod tests;
