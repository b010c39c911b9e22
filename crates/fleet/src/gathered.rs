//! Merged results of the clients: the sum of their shares, and a row for each.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use host::{HostFacts, LinkUse, ServerFacts, WatchRecord};
use measure::{Ending, Failure, Measurement, Tally};
use report::{ClientRow, Clients, LoadedRecord, Run, Warning, WarningKind};
use runner::{Observer, tally_shape};
use workload::Plan;

use crate::FleetError;
use crate::clock::{self};
use crate::fleet::{Fleet, OnLoss};
use crate::round::{Part, Round};

/// The results of several clients, added up.
#[derive(Debug)]
pub struct FleetResult {
    /// The measurement that a single client with the whole load would have made.
    pub measurement: Measurement,
    /// Worker threads of all.
    pub workers: u16,
    /// Number of receiving threads of all clients.
    pub receiver_threads: u16,
    /// A row for each.
    pub clients: Clients,
    /// Machines of clients, other than the coordinator's.
    pub hosts: Vec<HostFacts>,
    /// Observations of those machines.
    pub watched: Vec<WatchRecord>,
    /// Set if a client is on the coordinator's machine.
    pub here: bool,
    /// Warnings about the clients.
    pub warnings: Vec<Warning>,
    /// Set if a client was lost.
    pub lost: bool,
}

impl Fleet {
    /// Carries out a plan, of which each client gets its share. `started` is called shortly before load
    /// begins, with its starting time.
    ///
    /// # Errors
    /// Returns an error if a client could not begin, or was lost before the start.
    pub fn carry_out(
        &mut self,
        plan: &Plan,
        interrupted: &AtomicBool,
        observer: &mut dyn Observer,
        started: &mut dyn FnMut(Instant),
    ) -> Result<FleetResult, FleetError> {
        let round = Round::begin(self, plan, interrupted, observer, started)?.carry_out()?;
        FleetResult::from_round(round)
    }
}

impl FleetResult {
    fn from_round(round: Round<'_>) -> Result<Self, FleetError> {
        let Round { fleet, shares, parts, start, exchange, .. } = round;
        let Some(whole) = shares.first().cloned() else {
            return Err(FleetError("there are no clients".to_owned()));
        };
        let begun: Vec<(f64, f64)> = parts.iter().map(|part| began(part, start)).collect();
        let (skew_ns, bound_ns) = clock::spread(&begun);
        let first_ns = begun.iter().map(|(ns, _)| *ns).fold(f64::INFINITY, f64::min);
        let (mut rows, mut named) = (Vec::new(), Vec::<(String, LoadedRecord)>::new());
        let (mut hosts, mut watched, mut machines) = (Vec::new(), Vec::new(), BTreeSet::new());
        let (mut here, mut lost, mut warnings) = (false, false, fleet.warnings());
        let all = parts.into_iter().zip(shares).zip(&begun).enumerate();
        for (index, ((mut part, share), (began_ns, clock_bound_ns))) in all {
            let mut run = run_of(&mut part, share);
            let after_ns = (began_ns - first_ns).max(0.0);
            if let Some((_, wall)) = start {
                let warmup = Duration::from_nanos(run.plan.load.warmup_ns);
                run.measurement.started_at = wall + Duration::from_nanos(after_ns as u64) + warmup;
            }
            rows.push(row(fleet, index, &part, &run, after_ns, *clock_bound_ns));
            let called = &fleet.clients[index].called;
            if fleet.is_here(index) {
                here = true;
            } else if part.lost.is_none() {
                let own = run.warnings.drain(..).map(|warning| warning.of_client(called));
                warnings.extend(own);
                watched.push(run.watched.clone());
                let machine = fleet.clients[index].hello.as_ref().and_then(|h| h.machine.clone());
                if machine.is_none_or(|machine| machines.insert(machine)) {
                    hosts.extend(run.host.clone());
                }
            }
            lost |= part.lost.is_some();
            // What they have in common is the coordinator's to tell.
            run.server = ServerFacts::default();
            named.push((
                called.clone(),
                LoadedRecord { runs: vec![run], suite: false, complete: true },
            ));
        }
        let merged = report::merge(named, &[]).map_err(|error| FleetError(error.to_string()))?;
        let Some(Run { plan, mut measurement, .. }) = merged.runs.into_iter().next() else {
            return Err(FleetError("no client sent a result".to_owned()));
        };
        warnings.extend(absences(fleet, &whole, &rows, lost));
        let clients = Clients {
            on: Some(fleet.on.to_string()),
            start_skew_us: skew_ns / 1e3,
            start_skew_bound_us: bound_ns / 1e3,
            rows,
        };
        if plan.exchanges_messages() {
            let counts = measurement.deliveries.iter_mut().map(|of| &mut of.counts);
            counts.for_each(|of| exchange.correct(&mut of.received, &mut of.doubled));
            measurement.raise_latencies((clients.clock_bound_us() * 1e3).ceil() as u64);
        }
        let workers = plan.load.concurrency.workers;
        let receiver_threads = plan.receiver_threads();
        Ok(Self {
            measurement,
            workers,
            receiver_threads,
            clients,
            hosts,
            watched,
            here,
            warnings,
            lost,
        })
    }

    /// Merges observations of other machines: of each figure the worst.
    pub fn watched_with(&self, ours: WatchRecord) -> WatchRecord {
        if self.watched.is_empty() {
            return ours;
        }
        let fullest = |a: &LinkUse, b: &LinkUse| {
            let share = |link: &LinkUse| link.share().unwrap_or(0.0);
            share(a).total_cmp(&share(b))
        };
        let own = self.here.then_some(&ours);
        let all = || own.into_iter().chain(&self.watched);
        let worst =
            |figure: fn(&WatchRecord) -> Option<f64>| all().filter_map(figure).reduce(f64::max);
        let link = all().filter_map(|watched| watched.link.as_ref()).max_by(|a, b| fullest(a, b));
        WatchRecord {
            link: link.cloned(),
            stolen: worst(|watched| watched.stolen),
            throttled_s: worst(|watched| watched.throttled_s),
            // Clients on the coordinator's machine are none of the others.
            others_s: None,
            // Those of several machines have the same numbers, and are not the same.
            cpus: Vec::new(),
            // Of a coordinator that puts on no load, it says nothing.
            machine: if self.here { ours.machine } else { Vec::new() },
            ..ours
        }
    }
}

/// Warns if fewer clients than named generated the load, or one of them was lost.
fn absences(fleet: &Fleet, whole: &Plan, rows: &[ClientRow], lost: bool) -> Vec<Warning> {
    let (took_part, all) = (rows.len(), fleet.clients.len());
    let mut warnings = Vec::new();
    if took_part < all {
        let connections = whole.load.concurrency.connections;
        let for_each = if connections as usize == took_part { "connection" } else { "request" };
        let text = format!(
            "{took_part} of {all} clients generated the load: there is one {for_each} for each of them"
        );
        warnings.push(Warning::new(WarningKind::ClientsFewer, text));
    }
    if lost && fleet.on_loss == OnLoss::GoOn {
        let text = left(whole, rows);
        warnings.push(Warning::about(WarningKind::ClientsFewer, "loss", text));
    }
    warnings
}

/// Start of a client's load on the coordinator's clock, and its possible error.
fn began(part: &Part, start: Option<(u64, std::time::SystemTime)>) -> (f64, f64) {
    let planned_ns = start.map_or(0, |(ns, _)| ns) as f64;
    match (part.offset, part.begun_ns) {
        (Some(offset), Some(begun_ns)) => (offset.ours_ns(begun_ns), offset.bound_ns),
        (offset, _) => (planned_ns, offset.map_or(0.0, |offset| offset.bound_ns)),
    }
}

/// Describes the load that remained when clients were lost and the others continued.
fn left(whole: &Plan, rows: &[ClientRow]) -> String {
    let kept = rows.iter().filter(|row| row.lost.is_none()).count();
    let of = rows.len();
    let schedule = whole.load.pace.schedule();
    match schedule.map(|s| s.rate_per_s().unwrap_or_else(|| s.peak_per_s())) {
        Some(rate) => format!(
            "after the loss, the load was {:.0} of the requested {rate:.0} requests per second",
            rate * kept as f64 / of as f64
        ),
        None => format!("after the loss, {kept} of {of} clients generated the load"),
    }
}

/// The run of a share: the client's result, or its reports before it was lost.
fn run_of(part: &mut Part, share: Plan) -> Run {
    let its_run = part.result.take().and_then(|loaded| loaded.runs.into_iter().next());
    if let Some(mut run) = its_run {
        // Ours has what a saved one lacks, and is what was asked for.
        run.plan = share;
        if let Some(why) = &part.lost {
            run.measurement.ending = Ending::Failed(Failure::new(format!("lost {why}")));
        }
        return run;
    }
    let why = part.lost.clone().unwrap_or_default();
    let empty = Tally::new(&tally_shape(&share));
    let ending = Ending::Failed(Failure::new(format!("lost {why}")));
    let partial = std::mem::take(&mut part.partial);
    let measurement = partial.measurement(&share, empty, ending);
    let version = env!("CARGO_PKG_VERSION").to_owned();
    Run::new(share, measurement, ServerFacts::default(), version, WatchRecord::default())
}

fn row(
    fleet: &Fleet,
    index: usize,
    part: &Part,
    run: &Run,
    after_ns: f64,
    clock_bound_ns: f64,
) -> ClientRow {
    let client = &fleet.clients[index];
    let hello = client.hello.as_ref();
    let drift_ns = part.offset.zip(part.offset_after).map(|(a, b)| b.ahead_ns - a.ahead_ns);
    ClientRow {
        hostname: hello.and_then(|hello| hello.host.clone()),
        cpus: hello.and_then(|hello| hello.cpus.clone()),
        quota: hello.and_then(|hello| hello.quota),
        nice: hello.map_or(0, |hello| hello.nice),
        began_us: after_ns / 1e3,
        clock_bound_us: clock_bound_ns / 1e3,
        clock_drift_us: drift_ns.map(|ns| ns / 1e3),
        lost: part.lost.clone(),
        ..ClientRow::new(index as u32 + 1, &client.name, run)
    }
}
