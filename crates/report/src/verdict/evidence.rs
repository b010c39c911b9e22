//! Evidence for a verdict: the figures of a run and of the observations beside it.
//!
//! Owns their collection from all sources. [`super::rules`] weighs them.

use std::collections::BTreeMap;

use host::{BusyPart, ServerBusy, ServerUse, WatchRecord};
use measure::{Absence, CORRUPT, Ending, MISSING, Measurement, WorkerUse};
use workload::Plan;

use super::threads::ThreadUse;
use super::wait_causes::Causes;
use crate::deliveries::backlog;
use crate::outages::server_name;
use crate::schedule::ScheduleFigures;
use crate::{Failures, SpanFigures, SpanParts};

/// All figures that the rules use.
#[derive(Debug, Clone, Default)]
pub(super) struct Evidence {
    /// Answered requests, error replies included.
    pub(super) requests: u64,
    /// Error replies, and requests that were given up or never answered.
    pub(super) failed: u64,
    /// Reads that failed because they found nothing, although all data should exist.
    pub(super) missing: u64,
    /// Reads that failed because they returned another value than was written.
    pub(super) corrupt: u64,
    /// Requests that were never answered, for any reason.
    pub(super) unanswered: u64,
    /// Spans without any success.
    pub(super) outages: Option<Outages>,
    /// Total time in seconds in which the client itself did not run.
    pub(super) absent_s: f64,
    /// Set if an error ended the run.
    pub(super) broken_off: bool,
    /// Set if requests are messages, measured until they are received.
    pub(super) of_messages: bool,
    /// Set if requests come from a source, with its times.
    pub(super) sourced: bool,
    /// Length of the measured part.
    pub(super) span_s: f64,
    /// Time in which the workers worked, including warm-up and the wait for the last replies.
    pub(super) load_s: f64,
    /// Answered requests per second.
    pub(super) achieved_rps: f64,
    /// Schedule of an open loop.
    pub(super) schedule: Option<ScheduleFigures>,
    /// Connections.
    pub(super) connections: u64,
    /// Number of requests that may be in flight at once.
    pub(super) slots: u64,
    /// Mean service time.
    pub(super) service_s: Option<f64>,
    /// The worker with the least CPU to spare.
    pub(super) client: Option<ThreadUse>,
    /// Number of the busiest worker among all.
    pub(super) busiest_worker: Option<usize>,
    /// Name of the busiest worker's client, if there are several.
    pub(super) client_name: Option<String>,
    /// Set if the busiest worker receives messages, in a run that has receivers.
    pub(super) busiest_receives: bool,
    /// Backlog of messages when the last one was sent, and number of messages sent, if there is a backlog.
    pub(super) backlog: Option<(u64, u64)>,
    /// Number of workers.
    pub(super) workers: usize,
    /// CPUs that the client may use.
    pub(super) cpus: Option<usize>,
    /// Set if server and workers have more threads than CPUs.
    pub(super) must_share: bool,
    /// Mean number of CPUs that server and workers used together.
    pub(super) ours: f64,
    /// The server with the least CPU time to spare, among those with known figures.
    pub(super) server: Option<ServerSide>,
    /// Number of servers with known figures.
    pub(super) servers: usize,
    /// Set if the server runs on this machine.
    pub(super) server_here: bool,
    /// Share of this machine's CPU time that the hypervisor gave to others.
    pub(super) stolen: f64,
    /// Mean number of CPUs that programs other than client and servers used on this machine; `None` if
    /// unknown.
    pub(super) others: Option<f64>,
    /// Share of the time in which `server` executed commands, by its own count.
    pub(super) executing: Option<f64>,
    /// Reason why nothing is known about the server.
    pub(super) unseen: Option<String>,
    /// Set if the server waits for its disk before it answers writes.
    pub(super) waits_for_disk: bool,
    /// A command of the plan whose reply is late on purpose.
    pub(super) blocking: Option<String>,
    /// Round trip of a command that does nothing, without load.
    pub(super) round_trip_s: Option<f64>,
    /// Bytes of requests and replies per second.
    pub(super) bytes_per_s: f64,
    /// Parts of response times, if the kernel stamped replies.
    pub(super) spans: Option<SpanFigures>,
    /// Utilization of the network link, and its name.
    pub(super) link: Option<(f64, String)>,
    /// Causes that made requests wait, as far as examined.
    pub(super) causes: Option<Causes>,
    /// Set if other clients use the server, too.
    pub(super) is_shared: bool,
}

/// Spans without success, of the node with the longest ones.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Outages {
    /// Number of outages.
    pub(super) count: usize,
    /// Total length of these spans.
    pub(super) total_s: f64,
    /// The node, on a cluster.
    pub(super) node: Option<String>,
    /// Requests that failed in these spans; for all nodes, if all were out at the end.
    pub(super) failed: u64,
    /// Set if an outage lasted to the end.
    pub(super) to_the_end: bool,
    /// Time at the end without success on any server.
    pub(super) all_s: Option<f64>,
}

impl Outages {
    fn new(plan: &Plan, measurement: &Measurement) -> Option<Self> {
        let mut by_node: BTreeMap<u16, (usize, u64, u64, bool)> = BTreeMap::new();
        for outage in &measurement.outages {
            let (count, total_ns, failed, to_the_end) = by_node.entry(outage.node).or_default();
            *count += 1;
            *total_ns = total_ns.saturating_add(outage.length_ns());
            *failed = failed.saturating_add(outage.failures.total());
            *to_the_end |= outage.to_the_end;
        }
        let (node, (count, total_ns, failed, to_the_end)) =
            by_node.into_iter().max_by_key(|(_, (_, ns, ..))| *ns)?;
        let mut outages = measurement.outages.iter();
        let longest = outages.clone().find(|outage| outage.node == node)?;
        let node = server_name(plan, measurement, longest);
        let all_s = outages.find(|o| o.of_all).map(|o| o.length_ns() as f64 / 1e9);
        let everywhere = measurement.outages.iter().map(|outage| outage.failures.total());
        let failed = if all_s.is_some() { everywhere.sum() } else { failed };
        Some(Self { count, total_s: total_ns as f64 / 1e9, node, failed, to_the_end, all_s })
    }
}

/// Use of time by the busiest server.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ServerSide {
    pub(super) time: ThreadUse,
    /// Part of the server that used the time.
    pub(super) part: BusyPart,
    /// Set if that part polls, so that its CPU time is no sign of work.
    pub(super) polls: bool,
    /// The threads of the server, if there are more than CPUs.
    pub(super) crowd: Option<Crowd>,
}

/// Threads of a server that has fewer CPUs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Crowd {
    pub(super) threads: u32,
    pub(super) cpus: usize,
    /// Mean number of CPUs that the threads beside the busiest used.
    pub(super) others: f64,
}

impl ServerSide {
    fn new(server: &ServerUse, load_s: f64) -> Option<Self> {
        let ServerBusy { cpu, wait, part, polls } = server.busy(load_s)?;
        let throttled = server.cpu_throttled_s.unwrap_or(0.0) / load_s;
        let others = server.cpu_process_s.map(|cpu_s| cpu_s / load_s - cpu);
        let cpus = server.cpus.len();
        let crowd =
            server.threads.zip(others).map(|(threads, others)| Crowd { threads, cpus, others });
        let crowd = crowd.filter(|crowd| cpus > 0 && crowd.threads as usize > cpus);
        Some(Self { time: ThreadUse::new(cpu, wait, throttled), part, polls, crowd })
    }
}

/// Commands whose replies wait for another event.
pub(super) const BLOCKING: [&str; 14] = [
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

/// Returns whether thread `number` receives messages: the threads of receivers come after those of senders.
fn receives(plan: &Plan, measurement: &Measurement, number: usize) -> bool {
    let receivers = plan.has_receivers().then(|| usize::from(plan.receiver_threads()));
    receivers.is_some_and(|receivers| number + receivers >= measurement.workers.len())
}

/// Number of requests that can be in flight at once.
fn slots(plan: &Plan, measurement: &Measurement) -> u64 {
    crate::connections::count(plan, measurement)
        * u64::from(plan.load.concurrency.pipeline_depth)
        * plan.requests_per_number() as u64
}

impl Evidence {
    /// Collects everything known about a run.
    pub(super) fn new(plan: &Plan, measurement: &Measurement, watched: &WatchRecord) -> Self {
        let total = &measurement.total;
        let requests = measurement.counted();
        let span_s = measurement.elapsed_ns as f64 / 1e9;
        let wall_ns = measurement.workers.iter().map(|worker| worker.wall_ns).max();
        // Without the times of the workers, the measured part is the best estimate.
        let load_s = wall_ns.filter(|ns| *ns > 0).map_or(span_s, |ns| ns as f64 / 1e9);
        let per_s = |count: f64| if span_s > 0.0 { count / span_s } else { 0.0 };
        let busiest = busiest(&watched.servers, load_s);
        let throttled =
            if load_s > 0.0 { watched.throttled_s.unwrap_or(0.0) / load_s } else { 0.0 };
        let own = |w: &WorkerUse| ThreadUse::new(w.busy(), w.waiting(), throttled);
        let workers = measurement.workers.iter().enumerate();
        let workers = workers.filter(|(_, worker)| worker.wall_ns > 0).map(|(n, w)| (n, own(w)));
        let client = workers.max_by(|(_, a), (_, b)| a.taken().total_cmp(&b.taken()));
        let connections = &total.connections;
        let failures = Failures::from_measurement(measurement);
        let given_up = connections.lost.saturating_add(connections.timed_out);
        let absences = measurement.absences.iter();
        let absent_ns = absences.map(Absence::length_ns).fold(0, u64::saturating_add);
        let blocking = plan.sequence.iter().map(workload::CommandSpec::name);
        Self {
            requests,
            failed: failures.failed,
            missing: total.errors.of_kind(MISSING),
            corrupt: total.errors.of_kind(CORRUPT),
            unanswered: given_up.saturating_add(connections.unanswered),
            of_messages: plan.has_receivers(),
            sourced: plan.has_source(),
            outages: Outages::new(plan, measurement),
            absent_s: absent_ns as f64 / 1e9,
            broken_off: matches!(measurement.ending, Ending::Failed(_)),
            span_s,
            load_s,
            achieved_rps: per_s(measurement.operations_ended() as f64),
            schedule: ScheduleFigures::new(plan, measurement),
            connections: crate::connections::count(plan, measurement),
            slots: slots(plan, measurement),
            service_s: total.service().mean_ns().map(|ns| ns / 1e9),
            client: client.map(|(_, time)| time),
            busiest_worker: client.map(|(number, _)| number),
            client_name: None,
            busiest_receives: client.is_some_and(|(number, _)| receives(plan, measurement, number)),
            backlog: measurement.deliveries.as_deref().and_then(backlog),
            workers: measurement.workers.len(),
            cpus: Some(watched.cpus.len()).filter(|cpus| *cpus > 0),
            must_share: must_share(plan, measurement.workers.len(), watched),
            ours: ours(measurement, watched, load_s),
            server: busiest.map(|(_, side)| side),
            servers: watched.servers.len(),
            server_here: busiest.is_some_and(|(server, _)| server.cpu_wait_s.is_some()),
            stolen: watched.stolen.unwrap_or(0.0),
            others: watched.others_s.filter(|_| load_s > 0.0).map(|others_s| others_s / load_s),
            executing: busiest
                .and_then(|(server, _)| server.executing_s())
                .filter(|_| load_s > 0.0)
                .map(|executing_s| executing_s / load_s),
            unseen: watched.unseen.clone(),
            waits_for_disk: watched.servers.iter().any(waits_for_disk),
            blocking: blocking.into_iter().find(|name| BLOCKING.contains(&name.as_str())),
            round_trip_s: watched.idle_round_trip_ns.map(|ns| ns as f64 / 1e9),
            bytes_per_s: per_s(connections.bytes_out as f64 + connections.bytes_in as f64),
            spans: SpanFigures::new(plan, total).filter(|spans| spans.missing.is_none()),
            link: watched.link.as_ref().and_then(|link| Some((link.share()?, link.device.clone()))),
            ..Self::default()
        }
    }

    /// The threads of the server, if they explain most of the time for which the busiest was kept from a CPU.
    pub(super) fn crowd(&self) -> Option<Crowd> {
        let side = self.server?;
        side.crowd.filter(|crowd| crowd.others * 2.0 >= side.time.held())
    }

    /// Number of requests sent, whatever their outcome.
    pub(super) fn asked(&self) -> u64 {
        self.requests.saturating_add(self.unanswered)
    }

    /// Mean number of requests in flight, by Little's law.
    pub(super) fn in_flight(&self) -> f64 {
        self.achieved_rps * self.service_s.unwrap_or(0.0)
    }

    /// The round trip on an idle connection, relative to the service time. `None` if either is unknown.
    pub(super) fn on_the_way(&self) -> Option<f64> {
        let service_s = self.service_s.filter(|s| *s > 0.0)?;
        Some((self.round_trip_s? / service_s).min(1.0))
    }

    /// The part of the service time that is explained by the idle round trip and by the work of server and
    /// client on the requests in flight. The rest was spent between them. `None` if too little is known.
    ///
    /// A request waits for the CPU time of all requests that are in flight with it. By Little's law, that time,
    /// relative to the service time, equals the busy share of the server or the client.
    pub(super) fn explained(&self) -> Option<f64> {
        let client = self.client.map_or(0.0, ThreadUse::taken);
        let server = self.server.map_or(0.0, |server| server.time.taken());
        Some((self.on_the_way()? + client + server).min(1.0))
    }

    /// Unread time of replies in this kernel, relative to the mean response time; 0 if unknown.
    pub(super) fn unread(&self) -> f64 {
        let mean = self.spans.as_ref().and_then(|spans| spans.parts_of("mean"));
        mean.map_or(0.0, SpanParts::read_share)
    }

    /// Returns the noun for messages or replies that waited in the kernel to be read.
    pub(super) fn stamped_noun(&self) -> &'static str {
        self.spans.as_ref().map_or("replies", SpanFigures::stamped_noun)
    }

    /// Returns the parts of the 99th percentile, including the unread time.
    pub(super) fn unread_p99(&self) -> Option<&SpanParts> {
        self.spans.as_ref()?.parts_of("p99")
    }

    /// Number of connections with requests in flight that are not in the network, per thread that could work
    /// on them. If there are many, an idle thread waits for something else.
    pub(super) fn queued(&self) -> f64 {
        let share = if self.slots > 0 { self.in_flight() / self.slots as f64 } else { 0.0 };
        let here = 1.0 - self.on_the_way().unwrap_or(0.0);
        let threads = self.workers.max(1) + self.servers.max(1);
        share.min(1.0) * self.connections as f64 * here / threads as f64
    }
}

fn busiest(servers: &[ServerUse], load_s: f64) -> Option<(&ServerUse, ServerSide)> {
    let known =
        servers.iter().filter_map(|server| Some((server, ServerSide::new(server, load_s)?)));
    known.max_by(|(_, a), (_, b)| a.time.taken().total_cmp(&b.time.taken()))
}

/// Returns whether there are too few CPUs for the local servers and the workers.
fn must_share(plan: &Plan, workers: usize, watched: &WatchRecord) -> bool {
    let pinned = &plan.load.concurrency.cpus;
    let ours = if pinned.is_empty() { &watched.cpus } else { pinned };
    let here = watched.servers.iter().filter(|server| !server.cpus.is_empty());
    let theirs: Vec<&Vec<usize>> = here.map(|server| &server.cpus).collect();
    let mut all: Vec<usize> = theirs.iter().copied().flatten().chain(ours).copied().collect();
    all.sort();
    all.dedup();
    let threads = theirs.len() + workers;
    // Workers beyond the CPUs that they are pinned to share with each other, not with a server.
    let meet = theirs.iter().any(|cpus| cpus.iter().any(|cpu| ours.contains(cpu)));
    meet && !ours.is_empty() && all.len() < threads
}

/// Explains that client and server are pinned to the same CPUs, or that there is only one CPU; `None` if
/// neither is true.
pub(super) fn shared_cpus(
    plan: &Plan,
    measurement: &Measurement,
    watched: &WatchRecord,
) -> Option<String> {
    let pinned = &plan.load.concurrency.cpus;
    let ours = if pinned.is_empty() { &watched.cpus } else { pinned };
    if !must_share(plan, measurement.workers.len(), watched) || pinned.is_empty() && ours.len() > 1
    {
        return None;
    }
    let which = match &ours[..] {
        [one] => format!("CPU {one}"),
        several => {
            let several: Vec<String> = several.iter().map(usize::to_string).collect();
            format!("CPUs {}", several.join(", "))
        }
    };
    Some(format!(
        "client and server share {which}: while one runs the other waits, which is part of every \
         latency; give each its own with --cpus and --server-cpus or taskset"
    ))
}

/// Mean number of CPUs that the workers and the local servers used together.
fn ours(measurement: &Measurement, watched: &WatchRecord, load_s: f64) -> f64 {
    let here = watched.servers.iter().filter(|server| !server.cpus.is_empty());
    let theirs = here.map(|server| {
        let one = server.busy(load_s).map_or(0.0, |busy| busy.cpu);
        server.cpu_process_s.filter(|_| load_s > 0.0).map_or(one, |cpu_s| one.max(cpu_s / load_s))
    });
    let workers = measurement.workers.iter().filter(|worker| worker.wall_ns > 0);
    theirs.chain(workers.map(WorkerUse::busy)).sum()
}

/// Returns whether a reply to a write waits until the write is on disk, as with `appendfsync always`.
fn waits_for_disk(server: &ServerUse) -> bool {
    server.setting("appendonly") == Some("yes") && server.setting("appendfsync") == Some("always")
}
