//! `keystorm replay`: makes a plan from the first reading of a record, and runs it; also for `keystorm
//! compare`.

use std::ffi::OsString;
use std::sync::Arc;

use anyhow::Result;
use clap::Parser;
use cli::console::diagnostics;
use cli::experiment::{with_those_of_a_run, with_words};
use cli::front::{Front, command};
use cli::job::{End, Intent, Job, UsageError};
use cli::replay::{REFUSED, RecordOptions, recorded};
use cli::run::ParsedArgs;
use traffic::replay::{PrefillPlan, Scan, Speed, Traffic};
use traffic::{Losses, Stamps};
use workload::quantity::counted;
use workload::{
    ClusterOptions, Data, KeySpace, Pace, Plan, PlanParts, RecordedTraffic, Stop, Target,
};

use super::run;
use crate::records::{Precaution, Records};

/// Sends recorded traffic again: every command at the time at which it was recorded, on a connection
/// for each recorded client, in each client's order. Reads what MONITOR prints, and every other format
/// that keystorm describe reads. Latency counts from when a command was due, lateness is reported, and
/// everything that a run reports is reported. Takes the options of a run that say where the server is,
/// how it is reached and what is reported; -c for fewer connections than there were clients.
#[derive(Debug, Parser)]
#[command(
    name = "keystorm replay",
    override_usage = "keystorm replay FILE... [OPTIONS] [OPTIONS OF A RUN]",
    after_help = EXAMPLE,
)]
struct Options {
    #[command(flatten)]
    record: RecordOptions,
}

const EXAMPLE: &str = include_str!("../../help/replay.txt").trim_ascii_end();

/// Front end of the command.
pub(crate) const FRONT: Front = Front {
    names: &["replay"],
    command: || with_those_of_a_run(command::<Options>(), &REFUSED.map(|(name, _)| name)),
    parse: |args| {
        with_words::<Options>(args, &REFUSED, |options, files, load, _| {
            intent(options, files, load)
        })
    },
};

/// Returns what the options mean.
fn intent(
    Options { record }: Options,
    files: Vec<OsString>,
    mut load: ParsedArgs,
) -> Result<Intent, UsageError> {
    let record = recorded("keystorm replay", record, files, &mut load)?;
    let job = load.job(|_| ())?;
    let [_] = &job.plans[..] else {
        return Err(UsageError("a replay is one test".to_owned()));
    };
    if job.probe.is_some() || job.server_clock || job.start_at.is_some() {
        let text = "--probe, --clock and --start-at work with drawn requests only";
        return Err(UsageError(text.to_owned()));
    }
    Ok(Intent::carry(move || replay(job, &record)))
}

/// Sends a record again; the one plan of the job says where the server is and what is reported of it.
///
/// # Errors
/// Returns an error if the record cannot be read or sent.
fn replay(mut job: Job, record: &RecordOptions) -> Result<End> {
    let frame = (*job.plans[0]).clone();
    let load = RecordedLoad::read(record, &frame)?;
    load.notes(&record.speed).iter().try_for_each(diagnostics::say)?;
    let (plan, records) = load.plan_at(&frame, &record.speed, load.rounds)?;
    job.plans = vec![plan.clone()];
    run::run_with(&job, |bed| {
        load.precaution.check(&bed.server, &plan.target)?;
        bed.settings.records = records;
        Ok(())
    })
}

/// A target whose clients, on a cluster, have a connection to every node.
fn reaching_every_node(target: &Target) -> Target {
    let cluster = target.cluster.map(|options| ClusterOptions { per_node: true, ..options });
    Target { cluster, ..target.clone() }
}

/// Describes the parts of a file that could not be read or have no time.
fn missing(file: &str, losses: &Losses) -> Vec<String> {
    let mut notes = Vec::new();
    let first = losses.first.map_or(String::new(), |first| format!(", the first at line {first}"));
    if losses.total() > losses.undated {
        let lost = match losses.total() - losses.undated {
            1 => "1 line or record".to_owned(),
            total => format!("{total} lines or records"),
        };
        notes.push(format!("warning: {file}: {lost} could not be read{first}"));
    }
    if losses.misdated > 0 {
        let commands = counted(losses.misdated, "damaged time");
        notes.push(format!(
            "warning: {file}: {commands}{first}; sent with the command before instead"
        ));
    }
    if losses.undated > 0 {
        let commands = counted(losses.undated, "command");
        notes.push(format!(
            "note: {file}: {commands} before its first time left out: when they ran is not known"
        ));
    }
    notes
}

/// A record after its first reading, ready to be sent at any speed.
pub(crate) struct RecordedLoad {
    pub(crate) scan: Scan,
    pub(crate) precaution: Precaution,
    /// Number of times that the record is sent.
    pub(crate) rounds: u64,
    traffic: Traffic,
    connections: u32,
    own: u32,
    prefill: Option<Arc<PrefillPlan>>,
}

impl RecordedLoad {
    /// Reads a record for plans that are based on `frame`.
    ///
    /// # Errors
    /// Returns an error if the record cannot be read, or nothing of it can be sent.
    pub(crate) fn read(record: &RecordOptions, frame: &PlanParts) -> Result<Self> {
        let mut replay = record.replay();
        replay.to_cache = frame.protocol.is_memcache();
        replay.to_cluster = frame.target.cluster.is_some();
        let named = replay.paths.iter().map(|path| path.display().to_string());
        let source = named.collect::<Vec<_>>().join(", ");
        let mut scan = traffic::replay::scan(&replay, record.prefill).map_err(|why| {
            UsageError(if why.contains(&source) { why } else { format!("{source}: {why}") })
        })?;
        let asked = record.keeps_connections.then_some(frame.load.concurrency.connections);
        let clients = scan.shared_out(asked);
        let (connections, own) = (clients.connections(), clients.own());
        let traffic =
            Traffic::new(replay.clone(), &scan, clients, Speed::recorded(), record.rounds.into());
        let precaution = Precaution {
            source: source.clone(),
            servers: scan.source.servers.clone(),
            writes: scan.writes > 0 || scan.prefill.is_some(),
            confirmed: record.yes,
            db_max: if replay.to_cache { 0 } else { scan.db_max },
        };
        let prefill = scan.prefill.take().filter(|prefill| prefill.requests() > 0);
        let prefill = prefill.map(|prefill| Arc::new(prefill.to(replay.to_cache)));
        let rounds = record.rounds.into();
        Ok(Self { precaution, rounds, traffic, connections, own, prefill, scan })
    }

    /// Adds the plan that first writes the data to read, if requested, with its record.
    fn add_prefill(&self, frame: &PlanParts, records: &mut Records) -> Result<()> {
        let Some(prefill) = &self.prefill else { return Ok(()) };
        let mut parts = self.framed(frame, "prefill");
        parts.sequence = vec![prefill.example()];
        parts.load.pace = Pace::Closed;
        parts.load.stop = Stop::Requests(prefill.requests());
        parts.load.concurrency.connections = prefill.connections();
        parts.load.concurrency.pipeline_depth = 16;
        parts.recovery.reconnect = false;
        records.add_prefill(parts.build()?, prefill.clone());
        Ok(())
    }

    /// Seconds that the record takes at a speed, all rounds together.
    pub(crate) fn lasts_s(&self, speed: &Speed) -> f64 {
        let span_ns = self.scan.span_ns.saturating_mul(self.rounds);
        speed.clone().due_ns(span_ns) as f64 / 1e9
    }

    /// Returns the traffic in recorded order: clients share one connection as far as possible.
    pub(crate) fn in_order(&self) -> Traffic {
        self.traffic.over(self.scan.shared_out(Some(1)))
    }

    /// The plan that sends the record `rounds` times at a speed, with the records that it needs.
    ///
    /// # Errors
    /// Returns an error if a limit of plans is exceeded.
    pub(crate) fn plan_at(
        &self,
        frame: &PlanParts,
        speed: &Speed,
        rounds: u64,
    ) -> Result<(Plan, Records)> {
        let scan = &self.scan;
        if scan.source.stamps == Stamps::None && !speed.is_max() {
            let text =
                format!("{}: it has no times to send by; add --speed max", self.precaution.source);
            return Err(UsageError(text).into());
        }
        let mut parts = self.framed(frame, speed.written());
        parts.sequence = scan.examples.clone();
        let counted = (scan.commands - scan.blocking).saturating_mul(rounds).max(1);
        parts.load.stop = Stop::Requests(counted);
        parts.load.pace = match scan.schedule(speed, rounds) {
            Some(schedule) => Pace::Open(schedule),
            None => Pace::Closed,
        };
        parts.load.concurrency.connections = self.connections;
        if let Some(recorded) = &mut parts.recorded {
            recorded.stalls = scan.stalls_at(speed, rounds);
        }
        let plan = parts.build().map_err(|error| UsageError(error.to_string()))?;
        let mut records = Records::default();
        records.add(&plan, Arc::new(self.traffic.at_speed(speed.clone(), rounds)));
        self.add_prefill(frame, &mut records)?;
        Ok((plan, records))
    }

    fn framed(&self, frame: &PlanParts, speed: &str) -> PlanParts {
        let source = self.precaution.source.clone();
        let name = if frame.named { frame.name.clone() } else { format!("replay {source}") };
        PlanParts {
            name,
            // Commands of an application are sent again unchanged.
            minds_harm: false,
            mix: None,
            recorded: Some(RecordedTraffic {
                source,
                clients: self.scan.clients().max(1),
                span_ns: self.scan.span_ns,
                speed: speed.to_owned(),
                stalls: Vec::new(),
            }),
            data: Data { keys: KeySpace::default(), ..Data::default() },
            target: reaching_every_node(&frame.target),
            ..frame.clone()
        }
    }

    /// The gaps of a record, after a sentence about them.
    fn gaps(&self) -> String {
        let Some(longest) = self.scan.stalls.first() else { return String::new() };
        let gaps = counted(self.scan.stalls.len() as u64, "gap");
        let (length_s, at_s) = (longest.length_ns as f64 / 1e9, longest.at_ns as f64 / 1e9);
        format!(": {gaps}, the longest of {length_s:.2} s after {at_s:.2} s")
    }

    /// Returns notes on the record that matter for its figures.
    pub(crate) fn notes(&self, speed: &Speed) -> Vec<String> {
        let Scan { left_out, losses, steps_back, source, .. } = &self.scan;
        let file = &self.precaution.source;
        let mut notes: Vec<String> = Vec::new();
        for (reason, count) in left_out {
            let (count, why) = (counted(*count, "command"), reason.why());
            notes.push(format!("note: {file}: {count} left out, which {why}"));
        }
        notes.extend(missing(file, losses));
        if *steps_back > 0 {
            let times = counted(*steps_back, "time");
            notes.push(format!(
                "note: {file}: its clock was set back {times}; the order of commands is kept"
            ));
        }
        notes.extend(source.notes.iter().map(|note| format!("note: {file}: {note}")));
        if source.stamps == Stamps::Completion && !speed.is_max() {
            notes.push(format!(
                "note: {file}: its times are those at which commands were done, so a stall of the recorded server \
                 is a gap and then a burst{}",
                self.gaps()
            ));
        }
        let clients = self.scan.clients();
        if clients > u64::from(self.connections) {
            let own = match self.own {
                0 => String::new(),
                own => format!(
                    ", {own} of them for single clients with transactions or blocking commands"
                ),
            };
            notes.push(format!(
                "note: {file}: {clients} clients share {} connections{own}",
                self.connections
            ));
        }
        if self.scan.shares_clients {
            notes.push(format!(
                "note: {file}: it cannot tell clients of a unix socket apart; they share a connection, except for commands \
                 that wait for others"
            ));
        }
        if self.scan.blocking > 0 {
            let blocking = counted(self.scan.blocking, "command");
            notes.push(format!(
                "note: {file}: {blocking} may wait for other clients; no latency includes that wait"
            ));
        }
        if let Some(prefill) = &self.prefill {
            let keys = counted(prefill.keys(), "key");
            let more =
                if prefill.is_partial() { "; there are more than fit into memory" } else { "" };
            notes.push(format!(
                "note: {file}: {keys} written first, which it reads before it writes them{more}"
            ));
        }
        notes.into_iter().map(report::escape).collect()
    }
}
