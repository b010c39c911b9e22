//! The connections of a plan: their number, threads and use.

use naming::{
    CLUSTER, CONNECT, CONNECT_SPACING, JOIN, KEEP_ALIVE, MIX, ON_ERROR, PIPELINE, RATE, RECONNECT,
    RENEW, RETRY, RING, TIMEOUT, text,
};
use serde::{Deserialize, Serialize};

use super::check::refuse;
use super::{JoinSchedule, OnError, PlanError, PlanParts, Spacing};
use crate::{Pace, limits};

/// Threads and connections that carry the load, and the use of each connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Concurrency {
    /// Worker threads, 1 to [`limits::WORKERS_MAX`]. Each owns its connections.
    pub workers: u16,
    /// Set if the user asked for threads. One worker on request and one by default run alike, but the classic
    /// report distinguishes them.
    pub multi_thread: bool,
    /// Connections of all workers together, 1 to [`limits::CONNECTIONS_MAX`].
    pub connections: u32,
    /// Maximum number of sequences in flight on a connection, 1 to [`limits::PIPELINE_MAX`].
    pub pipeline_depth: u32,
    /// Condition for sending again on a connection.
    pub window: Window,
    /// Set if a connection is used again. If not, it is closed after `requests_each`.
    pub keep_alive: bool,
    /// Sequences, or operations of a mix, after which a connection that is not kept alive is closed; 0 for
    /// one pipeline.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub requests_each: u32,
    /// Connections of all workers that are closed and reopened each second, in turn and without losing a
    /// request; 0 to [`limits::RENEWALS_MAX`].
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub renewed_per_s: u32,
    /// Rule for plans with a new connection for each sequence, opened when the sequence is due, so that
    /// latency includes opening. `connections` is then the most at once, and none is opened before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_request: Option<ConnectionPerRequest>,
    /// Nanoseconds for which a connection waits in a closed loop between its last reply and its next request; the
    /// first requests of all are spread over as long.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub think_ns: u64,
    /// CPUs that workers are pinned to, one each in turn; empty for the kernel's choice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpus: Vec<usize>,
    /// Schedule by which connections join the load; `None` if all carry it from the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joining: Option<JoinSchedule>,
    /// Time between the opening of connections; `None` for as soon as possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spacing: Option<Spacing>,
}

impl Default for Concurrency {
    /// Returns one thread and 50 connections, each with one sequence in flight, as in `redis-benchmark`.
    fn default() -> Self {
        Self {
            workers: 1,
            multi_thread: false,
            connections: 50,
            pipeline_depth: 1,
            window: Window::default(),
            keep_alive: true,
            requests_each: 0,
            renewed_per_s: 0,
            per_request: None,
            think_ns: 0,
            cpus: Vec::new(),
            joining: None,
            spacing: None,
        }
    }
}

/// Rule for the end of a connection that was opened for one sequence.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionPerRequest {
    /// Nanoseconds that it stays open after its last reply; `None` for the rest of the run.
    pub hold_ns: Option<u64>,
    /// Set if the connection is closed by a reset, so that its local port is free at once.
    pub reset: bool,
}

impl PlanParts {
    /// Checks that the rest of a plan agrees with a connection for each request, if that is used.
    pub(super) fn check_per_request(&self) -> Result<(), PlanError> {
        let concurrency = &self.load.concurrency;
        let is_loop = self.load.pace == Pace::Closed && !self.has_source();
        refuse(concurrency.think_ns == 0 || is_loop && concurrency.per_request.is_none(), || {
            text!("a time to think goes with a closed loop, not with {RATE}, {CONNECT} or a record")
        })?;
        refuse(
            concurrency.think_ns <= limits::DURATION_NS_MAX,
            || "the longest time to think is 366 days",
        )?;
        if concurrency.per_request.is_none() {
            return Ok(());
        }
        let (is_new, is_counted) =
            ("each connection is new", "what fails is counted, and the run goes on");
        let (to_one, same) =
            ("connections lead to one server, or to a pool", "each sends the same");
        let (recovery, target) = (&self.recovery, &self.target);
        let refused = [
            (concurrency.pipeline_depth > 1, PIPELINE, "a connection carries one request"),
            (!concurrency.keep_alive, KEEP_ALIVE, "each request has its own connection already"),
            (concurrency.renewed_per_s > 0, RENEW, is_new),
            (concurrency.joining.is_some(), JOIN, is_new),
            (concurrency.spacing.is_some(), CONNECT_SPACING, "the rate says when each is opened"),
            (self.mix.is_some(), MIX, same),
            (target.cluster.is_some(), CLUSTER, to_one),
            (target.ring().is_some(), RING, to_one),
            (recovery.retry.is_some(), RETRY, is_counted),
            (!recovery.reconnect, RECONNECT, is_counted),
            (recovery.on_error == OnError::Stop, ON_ERROR, is_counted),
        ];
        refuse(!self.has_receivers(), || text!("senders of messages do not go with {CONNECT}"))?;
        match refused.into_iter().find(|(is_so, ..)| *is_so) {
            Some((_, option, why)) => {
                Err(PlanError(text!("{option} does not go with {CONNECT}: {why}")))
            }
            None => refuse(self.recovery.timeout_ns.is_some(), || {
                text!("{CONNECT} requires a {TIMEOUT}")
            }),
        }
    }
}

/// Condition for sending more on a connection with requests in flight.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Window {
    /// Stop and wait: the next pipeline leaves when every reply to the last one is in, as in
    /// `redis-benchmark`.
    #[default]
    Batch,
    /// Rolling: a reply makes room for the next request at once.
    Rolling,
}
