//! Facts of a run: its plan, server, and machine.

use std::time::SystemTime;

use crate::groups::{by_key, unique};
use crate::{Run, grouped, wall_clock_rfc3339};
use host::HostFacts;
use workload::quantity::{counted, noun};
use workload::{Arrivals, Plan, ReadFrom, Stop};

use super::Source;
use crate::page::{Block, Section, Unit};

type Pairs = Vec<(&'static str, String)>;

/// Returns the parts of the byline: the time, the place and the programs of the runs.
pub(super) fn byline(sources: &[Source<'_>]) -> Vec<String> {
    let Some(run) = sources.iter().flat_map(|s| s.runs).next() else { return Vec::new() };
    let mut line = vec![started(run.measurement.started_at)];
    line.push(format!("keystorm {}", run.version));
    line.push(run.plan.target.endpoint.to_string());
    line.extend(run.host.as_ref().and_then(|host| host.hostname.clone()));
    line
}

/// Start to the second, in UTC.
fn started(time: SystemTime) -> String {
    let written = wall_clock_rfc3339(time, 0);
    let (whole, _) = written.split_once('.').unwrap_or((&written, ""));
    whole.replace('T', " ") + " UTC"
}

/// Product and version of a run's server.
pub fn product(run: &Run) -> String {
    run.server.name().unwrap_or_else(|| "an unnamed server".to_owned())
}

/// All servers and keystorms with their versions.
pub(super) fn versions<'r>(runs: impl Iterator<Item = &'r Run>) -> Vec<String> {
    let (servers, programs): (Vec<String>, Vec<String>) =
        runs.map(|run| (product(run), format!("keystorm {}", run.version))).unzip();
    unique(servers.into_iter().chain(programs))
}

/// Plan, server and machine of each source.
pub(super) fn section(sources: &[Source<'_>]) -> Section {
    let mut blocks = Vec::new();
    for Source { name, runs, .. } in sources {
        let of = |what: &str| if name.is_empty() { what.into() } else { format!("{what}: {name}") };
        // Tests with equal plans share one entry.
        let settings = by_key(runs.iter().map(|run| (plan(&run.plan), &*run.plan.name)));
        let several = settings.len() > 1;
        for (pairs, tests) in settings {
            let what =
                if several { format!("Plan of {}", tests.join(", ")) } else { "Plan".into() };
            blocks.extend([Block::Heading(of(&what)), Block::pairs(pairs)]);
        }
        let Some(run) = runs.first() else { continue };
        blocks.extend([Block::Heading(of("Server")), Block::pairs(server(run))]);
        for facts in run.host.iter().chain(&run.other_hosts) {
            let pairs = machine(facts);
            blocks.extend([Block::Heading(of("Machine of the client")), Block::pairs(pairs)]);
        }
    }
    Section::new("Plan, server and machine", blocks)
}

fn plan(plan: &Plan) -> Pairs {
    let concurrency = &plan.load.concurrency;
    let mut pairs = vec![
        ("connections", grouped(f64::from(concurrency.connections))),
        ("requests in flight on each", grouped(f64::from(concurrency.pipeline_depth))),
        ("worker threads", concurrency.workers.to_string()),
        ("ends after", end(plan)),
        ("pace", pace(plan)),
        ("protocol", format!("{:?}", plan.protocol).to_uppercase()),
        ("requested engine", format!("{:?}", plan.engine).to_lowercase()),
        ("value size", value_size(plan)),
        ("keys", keys(plan)),
        ("seed", plan.load.seed.to_string()),
    ];
    pairs.extend(unusual(plan));
    pairs
}

/// Returns the noun of the unit of `-n` and rates.
fn counted_as(plan: &Plan) -> &'static str {
    if plan.counts_operations() { "operation" } else { "request" }
}

fn end(plan: &Plan) -> String {
    match &plan.load.stop {
        Stop::Requests(count) => {
            format!("{} {}", grouped(*count as f64), noun(*count, counted_as(plan)))
        }
        Stop::AfterNs(ns) => Unit::Seconds.show(*ns as f64 / 1e9),
    }
}

fn pace(plan: &Plan) -> String {
    let Some(schedule) = plan.load.pace.schedule() else {
        return "closed loop: the next request is sent when a reply arrives".to_owned();
    };
    let of = counted_as(plan);
    let rate = match schedule.rate_per_s() {
        Some(rate) => format!("{} {of}s/s", grouped(rate)),
        None if schedule.stages.len() == 1 => {
            let stage = &schedule.stages[0];
            let ends = [stage.from_per_s, stage.to_per_s].map(grouped);
            format!("a ramp from {} to {} {of}s/s", ends[0], ends[1])
        }
        None => format!(
            "{} stages, up to {} {of}s/s{}",
            schedule.stages.len(),
            grouped(schedule.peak_per_s()),
            if schedule.is_limited() { "" } else { ", without a limit for a part of the time" }
        ),
    };
    let spread = match schedule.arrivals {
        Arrivals::Constant => String::new(),
        Arrivals::Poisson => ", at random intervals".to_owned(),
        Arrivals::Bursts(size) => format!(", {} at once", grouped(size.into())),
    };
    let shares = match plan.load.shard.of {
        1 => String::new(),
        of => format!(" of all {of} shares together"),
    };
    format!("open loop: {rate}{shares}{spread}")
}

fn value_size(plan: &Plan) -> String {
    match &plan.data.values {
        Some(values) => format!("{}, {}", values.sizes, values.content),
        None => Unit::Bytes.show(plan.data.payload_bytes as f64),
    }
}

fn keys(plan: &Plan) -> String {
    match plan.data.keys.range {
        Some(range) => format!("{} of {}", plan.data.keys.draw, grouped(range as f64)),
        None => "as written".to_owned(),
    }
}

/// Returns the settings of this plan that are unusual.
fn unusual(plan: &Plan) -> Pairs {
    let concurrency = &plan.load.concurrency;
    let mut pairs = Vec::new();
    if !plan.load.shard.is_whole() {
        let shard = &plan.load.shard;
        pairs.push(("share of the load", format!("{} of {}", shard.index, shard.of)));
    }
    if let Some(cluster) = &plan.target.cluster {
        let readers = match cluster.read_from {
            ReadFrom::Masters => "primaries",
            ReadFrom::Replicas => "replicas",
            ReadFrom::All => "primaries and replicas",
            ReadFrom::Nearest => "the nearest node",
        };
        let name = if plan.target.is_cluster() { "cluster" } else { "replicas" };
        pairs.push((name, format!("reads go to {readers}")));
    }
    if plan.target.tls.is_some() {
        pairs.push(("TLS", "yes".to_owned()));
    }
    if plan.load.warmup_ns > 0 {
        pairs.push(("warm-up", Unit::Seconds.show(plan.load.warmup_ns as f64 / 1e9)));
    }
    if let Some(ns) = plan.recovery.deadline_ns {
        pairs.push(("deadline", Unit::Nanoseconds.show_even(ns as f64)));
    }
    if !concurrency.keep_alive {
        let load = match concurrency.requests_each {
            0 => "one pipeline".to_owned(),
            requests => counted(requests.into(), "request"),
        };
        pairs.push(("connections are used", format!("for {load} each")));
    }
    if let Some(of) = &concurrency.per_request {
        let until = match of.hold_ns {
            Some(0) => "closed after its reply".to_owned(),
            Some(ns) => format!("open for {} after it", Unit::Seconds.show(ns as f64 / 1e9)),
            None => "open until the end".to_owned(),
        };
        pairs.push(("connections", format!("one for each request, {until}")));
    }
    if concurrency.renewed_per_s > 0 {
        pairs.push(("reconnects", format!("{} per second", concurrency.renewed_per_s)));
    }
    pairs
}

fn server(run: &Run) -> Pairs {
    let mut pairs = vec![("product", product(run))];
    pairs.push(("address", run.plan.target.endpoint.to_string()));
    if let Some(config) = &run.server.config {
        let save = if config.save.is_empty() { "never" } else { &config.save };
        pairs.push(("save", save.to_owned()));
        pairs.push(("appendonly", config.appendonly.clone()));
    }
    pairs
}

fn machine(host: &HostFacts) -> Pairs {
    let HostFacts { hostname, os, kernel, cpu, memory, load, .. } = host;
    let count = |n: &Option<u32>, what: &str| n.map(|n| counted(n.into(), what));
    let cpus =
        [count(&cpu.logical, "CPU"), count(&cpu.cores, "core"), count(&cpu.sockets, "socket")];
    let governors = (!cpu.governors.is_empty()).then(|| cpu.governors.join(", "));
    let numbers = load.average.as_ref().map(|load| load.map(|n| format!("{n:.2}")).join(", "));
    [
        ("name", hostname.clone()),
        ("system", os.clone()),
        ("kernel", kernel.clone()),
        ("processor", cpu.model.clone()),
        ("processors", Some(cpus.into_iter().flatten().collect::<Vec<_>>().join(", "))),
        ("frequency governor", governors),
        ("virtual machine", cpu.hypervisor.clone()),
        ("memory", memory.total_bytes.map(|bytes| Unit::Bytes.show(bytes as f64))),
        ("load before the run, of 1, 5 and 15 minutes", numbers),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name, value.filter(|v| !v.is_empty())?)))
    .collect()
}
