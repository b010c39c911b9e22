//! What a verdict is weighed from: the figures of a run and of what was watched, side by side.
//!
//! Owns how they are taken from their sources. Weighing them is left to [`super::rules`].

use std::collections::BTreeMap;

use host::{ServerBusy, ServerUse, Watched};
use measure::{Ending, Measurement, WorkerUse};
use workload::Plan;

use crate::schedule::{Fault, ScheduleFigures};

/// Everything that the rules look at, and nothing else.
#[derive(Debug, Clone, Default)]
pub(super) struct Grounds {
    /// Answered requests, error replies included.
    pub(super) requests: u64,
    /// Error replies and requests that were never answered.
    pub(super) failed: u64,
    /// Requests that were never answered.
    pub(super) unanswered: u64,
    /// Spans in which nothing succeeded.
    pub(super) outages: Option<Outages>,
    /// Whether an error ended the run.
    pub(super) broken_off: bool,
    /// How long the workers worked, warm-up included.
    pub(super) load_s: f64,
    /// Answered requests per second.
    pub(super) achieved_rps: f64,
    /// Of an open loop.
    pub(super) schedule: Option<Schedule>,
    /// Connections.
    pub(super) connections: u64,
    /// Requests that may be in flight at once.
    pub(super) slots: u64,
    /// Mean service time.
    pub(super) service_s: Option<f64>,
    /// The worker with the least CPU to spare.
    pub(super) client: Option<ClientBusy>,
    /// How many workers there are.
    pub(super) workers: usize,
    /// CPUs that the client may use.
    pub(super) cpus: Option<usize>,
    /// Whether server and workers are more threads than there are CPUs for them.
    pub(super) must_share: bool,
    /// The server with the least CPU to spare, of those that tell.
    pub(super) server: Option<ServerBusy>,
    /// How many servers are known.
    pub(super) servers: usize,
    /// Whether it runs on this machine.
    pub(super) server_here: bool,
    /// Share of the time in which that server executed commands, by its own count.
    pub(super) executing: Option<f64>,
    /// Why nothing is known of the server.
    pub(super) unseen: Option<String>,
    /// Whether the server waits for its disk before it answers writes.
    pub(super) waits_for_disk: bool,
    /// A command of the plan whose reply is late by intent.
    pub(super) blocking: Option<String>,
    /// Round trip of a command that does nothing, without load.
    pub(super) round_trip_s: Option<f64>,
    /// Bytes of requests and replies per second.
    pub(super) bytes_per_s: f64,
    /// How full the link was, and its name.
    pub(super) link: Option<(f64, String)>,
}

/// What an open loop was asked to do, and how late it was.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Schedule {
    /// The rate asked for, on average.
    pub(super) target_rps: f64,
    /// How much later than due requests were sent, on average.
    pub(super) late_s: f64,
    /// Share of the requests that were sent too late, 0 to 1.
    pub(super) missed_share: f64,
    /// Requests that were due and never sent.
    pub(super) unsent: u64,
    /// Whether connections had room, and the client was late.
    pub(super) own_fault: bool,
}

/// Spans in which nothing succeeded, of the node that had most of them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Outages {
    /// How many.
    pub(super) count: usize,
    /// All of them together.
    pub(super) total_s: f64,
    /// The node, on a cluster.
    pub(super) node: Option<String>,
}

impl Outages {
    fn of(measurement: &Measurement) -> Option<Self> {
        let mut by_node: BTreeMap<u16, (usize, u64)> = BTreeMap::new();
        for outage in &measurement.outages {
            let (count, total_ns) = by_node.entry(outage.node).or_default();
            *count += 1;
            *total_ns = total_ns.saturating_add(outage.length_ns());
        }
        let (node, (count, total_ns)) = by_node.into_iter().max_by_key(|(_, (_, ns))| *ns)?;
        let node = measurement.nodes.get(usize::from(node)).map(|node| node.name.clone());
        Some(Self { count, total_s: total_ns as f64 / 1e9, node })
    }
}

/// How busy a worker was.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ClientBusy {
    /// Share of the time in which it had a CPU.
    pub(super) cpu: f64,
    /// Share of the time in which it waited for one.
    pub(super) wait: f64,
}

impl ClientBusy {
    fn of(worker: &WorkerUse) -> Self {
        let cpu = worker.busy().min(1.0);
        Self { cpu, wait: worker.waiting().clamp(0.0, 1.0 - cpu) }
    }
}

/// Commands whose replies come when something else happens.
const BLOCKING: [&str; 14] = [
    "BLPOP",
    "BRPOP",
    "BLMOVE",
    "BRPOPLPUSH",
    "BLMPOP",
    "BZPOPMIN",
    "BZPOPMAX",
    "BZMPOP",
    "WAIT",
    "WAITAOF",
    "XREAD",
    "XREADGROUP",
    "DEBUG",
    "SUBSCRIBE",
];

impl Grounds {
    /// Puts together what is known of a run.
    pub(super) fn of(plan: &Plan, measurement: &Measurement, watched: &Watched) -> Self {
        let total = &measurement.total;
        let requests = total.requests();
        let elapsed_s = measurement.elapsed_ns as f64 / 1e9;
        let wall_ns = measurement.workers.iter().map(|worker| worker.wall_ns).max();
        // Of a run without its workers, the measured part is known.
        let load_s = wall_ns.map_or(elapsed_s, |ns| ns as f64 / 1e9);
        let per_s = |count: f64| if elapsed_s > 0.0 { count / elapsed_s } else { 0.0 };
        let service_s = total.service().mean_ns().map(|ns| ns / 1e9);
        let late_ns = total.lateness.as_ref().and_then(|late| late.total.mean_ns());
        let schedule = ScheduleFigures::of(plan, measurement).map(|figures| Schedule {
            target_rps: figures.due_rps,
            late_s: late_ns.unwrap_or(0.0) / 1e9,
            missed_share: figures.missed_share,
            unsent: figures.unsent,
            own_fault: figures.fault == Fault::Client,
        });
        let fleet = &plan.fleet;
        let busiest = busiest(&watched.servers, load_s);
        let workers = measurement.workers.iter().map(ClientBusy::of);
        let connections = &total.connections;
        let unanswered = [connections.lost, connections.timed_out, connections.unanswered]
            .into_iter()
            .fold(0, u64::saturating_add);
        let blocking = plan.sequence.iter().map(workload::CommandSpec::name);
        Self {
            requests,
            failed: total.errors.total().saturating_add(unanswered),
            unanswered,
            outages: Outages::of(measurement),
            broken_off: matches!(measurement.ending, Ending::Failed(_)),
            load_s,
            achieved_rps: per_s(requests as f64),
            schedule,
            connections: plan.own_connections().into(),
            slots: u64::from(plan.own_connections())
                * u64::from(fleet.pipeline_depth)
                * plan.sequence.len() as u64,
            service_s,
            client: workers.max_by(|a, b| (a.cpu + a.wait).total_cmp(&(b.cpu + b.wait))),
            workers: measurement.workers.len(),
            cpus: Some(watched.cpus.len()).filter(|cpus| *cpus > 0),
            must_share: must_share(plan, measurement.workers.len(), watched),
            server: busiest.map(|(_, busy)| busy),
            servers: watched.servers.len(),
            server_here: busiest.is_some_and(|(server, _)| server.cpu_wait_s.is_some()),
            executing: busiest
                .and_then(|(server, _)| server.executing_s())
                .filter(|_| load_s > 0.0)
                .map(|executing_s| executing_s / load_s),
            unseen: watched.unseen.clone(),
            waits_for_disk: watched.servers.iter().any(waits_for_disk),
            blocking: blocking.into_iter().find(|name| BLOCKING.contains(&name.as_str())),
            round_trip_s: watched.idle_round_trip_ns.map(|ns| ns as f64 / 1e9),
            bytes_per_s: per_s(connections.bytes_out as f64 + connections.bytes_in as f64),
            link: watched.link.as_ref().and_then(|link| Some((link.share()?, link.device.clone()))),
        }
    }

    /// Requests that were sent, whatever became of them.
    pub(super) fn asked(&self) -> u64 {
        self.requests.saturating_add(self.unanswered)
    }

    /// Requests in flight on average, by Little's law.
    pub(super) fn in_flight(&self) -> f64 {
        self.achieved_rps * self.service_s.unwrap_or(0.0)
    }

    /// The share of the service time that is made up of the idle round trip, and of the server's
    /// and the client's work on the requests in flight. What is left was spent somewhere between
    /// them. `None` if too little is known.
    ///
    /// While a request is in flight so are the others, and each costs the server its CPU time per
    /// request. By Little's law the sum of these over the service time is the busy share itself.
    pub(super) fn explained(&self) -> Option<f64> {
        let service_s = self.service_s.filter(|s| *s > 0.0)?;
        let client = self.client.map_or(0.0, |busy| busy.cpu + busy.wait);
        let server = self.server.map_or(0.0, |busy| busy.cpu + busy.wait);
        Some((self.round_trip_s? / service_s + client + server).min(1.0))
    }
}

fn busiest(servers: &[ServerUse], load_s: f64) -> Option<(&ServerUse, ServerBusy)> {
    let known = servers.iter().filter_map(|server| Some((server, server.busy(load_s)?)));
    known.max_by(|(_, a), (_, b)| (a.cpu + a.wait).total_cmp(&(b.cpu + b.wait)))
}

/// Whether the servers here and the workers cannot each have a CPU.
fn must_share(plan: &Plan, workers: usize, watched: &Watched) -> bool {
    let pinned = &plan.fleet.cpus;
    let ours = if pinned.is_empty() { &watched.cpus } else { pinned };
    let here = watched.servers.iter().filter(|server| !server.cpus.is_empty());
    let theirs: Vec<&Vec<usize>> = here.map(|server| &server.cpus).collect();
    let mut all: Vec<usize> = theirs.iter().copied().flatten().chain(ours).copied().collect();
    all.sort_unstable();
    all.dedup();
    let threads = theirs.len() + workers;
    // Workers beyond the CPUs that they are pinned to share with each other, not with a server.
    let meet = theirs.iter().any(|cpus| cpus.iter().any(|cpu| ours.contains(cpu)));
    meet && !ours.is_empty() && all.len() < threads
}

/// With `appendfsync always` a reply to a write waits until the write is on disk.
fn waits_for_disk(server: &ServerUse) -> bool {
    server.setting("appendonly") == Some("yes") && server.setting("appendfsync") == Some("always")
}
