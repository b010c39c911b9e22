//! Running of a job: each of its plans in turn, with results printed as soon as they are known.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{io, thread};

use anyhow::{Result, anyhow, bail};
use cli::console::closed;
use cli::console::diagnostics::{self, Asides, ClosedPipe, Diagnostics};
use cli::console::live::LiveDisplay;
use cli::console::live_page::{DrawPace, LivePage};
use cli::console::metrics::{Metrics, ObserverPair};
use cli::console::print::{self, Printer};
use cli::job::{Action, End, Job, Output, RunMonitor, UsageError};
use fleet::LaunchError;
use host::{Questions, WatchSoFar};
use measure::Ending;
use report::slo::Outcome;
use report::{Persona, Repeat, RepeatCollector, Run, Summary, WarningKind};
use workload::quantity::counted;
use workload::{Arg, ClusterOptions, CommandSpec, Plan, ReadFrom, ReplicaFallback};

use crate::keep::ResultFiles;
use crate::latency_settings::ServerLatency;
use crate::server::{Server, is_error_reply};
use crate::signals;
use crate::test_bed::{RunSettings, TestBed};

/// Prints a requested text.
pub(crate) fn say(text: &str) -> Result<End> {
    print::text(text)?;
    Ok(End::Complete)
}

/// Runs a job.
///
/// # Errors
/// Returns the reason why it could not be run, in words for a person.
pub(crate) fn run(job: &Job) -> Result<End> {
    run_with(job, |_| Ok(()))
}

/// Runs a job after calling `prepare` for the server that was reached or started.
///
/// # Errors
/// Returns the reason why it could not be run, in words for a person.
pub(crate) fn run_with(
    job: &Job,
    prepare: impl FnOnce(&mut TestBed<'_>) -> Result<()>,
) -> Result<End> {
    let output = &job.output;
    let end = match (carry_out(job, prepare), &output.reports) {
        (Ok(End::Interrupted), Some(tool)) if tool.interrupted_is_success() => Ok(End::Complete),
        (end, _) => end,
    };
    if output.options.persona.own_words {
        return end;
    }
    end.map_err(|error| {
        if error.is::<ClosedPipe>() || error.is::<LaunchError>() || error.is::<UsageError>() {
            return error;
        }
        let is_of_server = is_error_reply(&error);
        let why = diagnostics::as_error(&format!("{error:#}"), is_of_server);
        match &output.reports {
            Some(tool) => tool.failure(&error, why),
            None => anyhow!(why),
        }
    })
}

fn carry_out(job: &Job, prepare: impl FnOnce(&mut TestBed<'_>) -> Result<()>) -> Result<End> {
    let persona = job.output.options.persona;
    job.notes.iter().try_for_each(diagnostics::say)?;
    if !job.greeting.is_empty() {
        print::text(&job.greeting)?;
    }
    let Some(first) = job.plans.first() else {
        return Ok(End::Complete);
    };
    // Before anything is asked of the server: a result that cannot be kept need not be measured.
    let keep = ResultFiles::open(&job.output)?;
    let asides = Asides::open(&job.output)?;
    job.remarks.iter().try_for_each(|remark| asides.remarks.say(remark))?;
    let is_kept = job.output.json.is_some() || job.output.keep.is_some() || job.output.pages.any();
    if job.output.to.is_none() && !is_kept && closed::has_no_output() {
        asides.remarks.say("standard output is closed or /dev/null, so the report goes nowhere")?;
    }
    let serve = |at| Metrics::serve(at, &asides.remarks);
    let serve_page = |at| LivePage::serve(at, DrawPace::default(), true, &asides.remarks);
    let served = LiveEndpoints {
        metrics: job.output.metrics.as_ref().map(serve).transpose()?,
        page: job.output.live_page.as_ref().map(serve_page).transpose()?,
    };
    let interrupted = signals::interrupted()?;
    // Phases of a workload may differ in this.
    let widest = job.plans.iter().max_by_key(|plan| plan.all_connections()).unwrap_or(first);
    let mut bed = reach(job, first, widest.all_connections(), interrupted)?;
    let Output { sample, server_latency, set_server, .. } = job.output;
    let asks_all = persona.questions == Questions::All;
    bed.settings = RunSettings {
        sample: sample || server_latency,
        server_latency: server_latency.then_some(ServerLatency { set: set_server }),
        journal: asks_all,
        fills_quietly: !persona.unasked,
        so_far: served.page.as_ref().filter(|_| asks_all).map(|_| WatchSoFar::default()),
        server_clock: job.server_clock,
        probe: job.probe,
        ..RunSettings::default()
    };
    prepare(&mut bed)?;
    tell_about(&bed.server, widest, &asides.remarks, persona)?;
    introduce_cluster(job, &bed.server, &asides.remarks)?;
    if job.repeats > 1 && !bed.server.is_own() {
        asides.remarks.say(ONE_START_NOTE)?;
    }
    match job.action {
        Action::Idle => idle(first, &bed),
        Action::Run { repeat } => run_all(job, &mut bed, repeat, keep, served, &asides),
    }
}

/// Finds or starts the server, and waits for it if the job asks for that.
fn reach<'r>(
    job: &Job,
    first: &Plan,
    connections: u32,
    interrupted: &'r AtomicBool,
) -> Result<TestBed<'r>> {
    let mut tried = 0;
    loop {
        let several = job.several.as_ref();
        let questions = job.questions();
        let reached = TestBed::reach_asking(
            questions,
            &first.target,
            first.protocol,
            connections,
            several,
            interrupted,
        );
        let Err(error) = reached else { return reached };
        let wait = match (&job.output.reports, not_connected(&error)) {
            (Some(reports), Some(why)) => reports.wait_for_server(&why, tried)?,
            _ => None,
        };
        let Some(wait) = wait else { return Err(error) };
        let until = Instant::now() + wait;
        while Instant::now() < until {
            if interrupted.load(Ordering::Relaxed) {
                return Err(error);
            }
            thread::sleep(until.saturating_duration_since(Instant::now()).min(LOOK_EVERY));
        }
        tried += 1;
    }
}

/// Interval of checks for Ctrl-C while waiting for a server.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Returns the reason why there is no connection, if nothing listens there or the connection was closed at
/// once.
fn not_connected(error: &anyhow::Error) -> Option<String> {
    use host::ProbeError::{Broken, Unreachable};
    error.chain().find_map(|cause| match cause.downcast_ref()? {
        Unreachable(why) | Broken(why) => Some(why.to_string()),
        _ => None,
    })
}

/// The note on --repeat with a server that keystorm did not start.
pub(crate) const ONE_START_NOTE: &str = "note: --repeat: all repeats use one start of the server, \
    so intervals do not cover how starts differ (with --spawn they do)";

/// Prints the notes that belong before the figures.
pub(crate) fn tell_about(
    server: &Server,
    plan: &Plan,
    remarks: &Diagnostics,
    persona: Persona,
) -> Result<()> {
    if let Some(spawned) = server.spawned() {
        remarks.say(format_args!("Started {}", report::escape(spawned)))?;
    }
    let asked = server.questions() != Questions::None && !plan.protocol.is_memcache();
    if server.facts.config.is_none() && asked {
        // The peers say so, too.
        let warning = persona.dialect.warning;
        diagnostics::say(format_args!("{warning}: Could not fetch server CONFIG"))?;
    }
    if let Some(mismatch) = server.tls.as_ref().and_then(engine::TlsContext::name_mismatch) {
        remarks.say(format_args!("warning: {}", report::escape(mismatch)))?;
    }
    let connections = u64::from(plan.own_connections());
    if let host::Address::Tcp(address) = server.address
        && let Some(shortage) = host::port_shortage(address, connections, plan.target.sources.len())
    {
        remarks.say(format_args!("warning: {shortage}"))?;
    }
    Ok(())
}

/// Lists the nodes as the peers do: on standard output if that is for people or the layout is a peer's.
fn introduce_cluster(job: &Job, server: &Server, remarks: &Diagnostics) -> Result<()> {
    let Some(topology) = &server.cluster else { return Ok(()) };
    let Some(target) = job.plans.first().map(|first| &first.target) else { return Ok(()) };
    let missing = topology.slots_without_owner();
    if missing > 0 {
        // By every name: nothing else tells why the run stands still.
        let warning = job.output.options.persona.dialect.warning;
        let slots = counted(u64::from(missing), "slot");
        diagnostics::say(format_args!(
            "{warning}: no node of the cluster serves {slots}; a request for such a slot is tried again for 60 s"
        ))?;
    }
    let ClusterOptions { read_from, without_replica, .. } = target.cluster.unwrap_or_default();
    let alone = topology.masters_without_replica();
    if alone > 0 && without_replica == ReplicaFallback::Wait {
        bail!(
            "{alone} of {} primaries have no ready replica, and reads may go to no other node; start \
             replicas, or let the primaries answer",
            topology.masters()
        );
    }
    if alone > 0 && read_from != ReadFrom::Masters {
        remarks.say(format_args!(
            "warning: --rfr: {alone} of {} primaries have no ready replica and answer reads of \
             their slots themselves",
            topology.masters()
        ))?;
    }
    let output = &job.output;
    let persona = output.options.persona;
    let text = print::cluster_nodes(&server.facts, persona, target, output.format);
    if print::is_for_people(output.format) || (!persona.own_layouts && output.format == "csv") {
        say(&text).map(drop)
    } else {
        Ok(remarks.say(text)?)
    }
}

/// Endpoints that are served while tests run.
struct LiveEndpoints {
    metrics: Option<Metrics>,
    page: Option<LivePage>,
}

fn run_all(
    job: &Job,
    bed: &mut TestBed<'_>,
    repeat: bool,
    mut keep: ResultFiles,
    served: LiveEndpoints,
    asides: &Asides,
) -> Result<End> {
    let mut printer = Printer::begin(&job.output, asides)?;
    let ended = run_rounds(job, bed, repeat, &mut printer, &mut keep, &served);
    // Also after an error: what was measured before it is not lost.
    let closed = printer.close();
    if let Some(page) = served.page {
        page.end(None);
    }
    let end = ended?;
    closed?;
    Ok(end)
}

/// Returns whether a test removes elements, one per request, that an earlier test added. It then runs out of
/// elements as expected, as with SADD and SPOP of the suite.
fn empties(plans: &[Plan], plan: &Plan) -> bool {
    let key = |command: &CommandSpec| command.args.get(1).and_then(Arg::fixed_bytes);
    let [taking] = plan.sequence.as_slice() else { return false };
    let before = plans.iter().take_while(|other| other.name != plan.name);
    POPS.contains(&taking.name().as_str())
        && before.flat_map(|other| &other.sequence).any(|putting| key(putting) == key(taking))
}

/// Tests of the suite that remove one element per request.
const POPS: [&str; 4] = ["LPOP", "RPOP", "SPOP", "ZPOPMIN"];

/// Every plan with its repeats: one after another, or in rounds of all plans if each round has a server of
/// its own, so that a test finds the data of those before it.
fn order(plans: &[Plan], times: u32, rounds: bool) -> Vec<(&Plan, u32)> {
    let numbers = 1..=times;
    if rounds {
        return numbers.flat_map(|number| plans.iter().map(move |plan| (plan, number))).collect();
    }
    plans.iter().flat_map(|plan| numbers.clone().map(move |number| (plan, number))).collect()
}

/// Returns whether a run that reached its end failed nevertheless: by a wrong reply, without a server at the
/// end, or with nothing but error replies that are counted by default. The imitated tools check replies only.
fn has_failed(job: &Job, run: &Run) -> bool {
    let (plan, measurement) = (&run.plan, &run.measurement);
    let minds_service = job.output.options.persona.fails_unserved;
    let counts_errors =
        plan.load.concurrency.per_request.is_some() || plan.has_source() || plan.has_receivers();
    let is_refused = counts_errors && measurement.is_refused();
    measurement.is_wrong() || minds_service && (measurement.is_deserted() || is_refused)
}

fn run_rounds(
    job: &Job,
    bed: &mut TestBed<'_>,
    repeat: bool,
    printer: &mut Printer<'_>,
    keep: &mut ResultFiles,
    served: &LiveEndpoints,
) -> Result<End> {
    let (mut failed, mut targets) = (false, Targets::default());
    loop {
        let times = job.repeats;
        let mut all = order(&job.plans, times, bed.server.is_own());
        // It follows all rounds, on the server of the last one.
        all.extend(job.last.as_ref().map(|plan| (plan, times)));
        let count = all.len();
        let mut round = 1;
        for (at, (plan, number)) in all.into_iter().enumerate() {
            if bed.server.is_own() && number != round {
                bed.restart(&plan.target)?;
            }
            round = number;
            let mut beside: Box<dyn RunMonitor> = match &job.output.reports {
                Some(reports) => reports.monitor(plan, number, bed.interrupted()),
                None => {
                    let line = LiveDisplay::new(plan, at as u32 + 1, count as u32, job.output.live);
                    Box::new(line.with_rows(job.output.progress))
                }
            };
            let mut watch = served.metrics.as_ref().map(|metrics| metrics.watch(plan));
            let mut live = served
                .page
                .as_ref()
                .map(|page| page.watch(plan, &bed.server.facts, bed.settings.so_far.clone()));
            beside.begin()?;
            bed.settings.rate = beside.rate();
            let mut both = ObserverPair(&mut beside, watch.as_mut());
            let mut shown = ObserverPair(&mut both, live.as_mut());
            let run = bed.run(plan, job.start_at, &mut shown)?;
            let mut run = run.held_against(job.slo.clone());
            if empties(&job.plans, plan) {
                run.warnings.retain(|warning| warning.kind != WarningKind::Misses);
            }
            run.repeat = (times > 1).then_some(Repeat { number, of: times });
            if let Some(live) = live {
                live.ended(&mut run);
            }
            failed |= !beside.end(&run)?;
            if let Some(watch) = watch {
                watch.ended(&run);
            }
            let summary = Summary::from_run(&run);
            keep.put(at, &summary, at + 1 == count)?;
            printer.each(&summary)?;
            targets.add(&summary);
            match run.measurement.ending {
                Ending::Complete if run.measurement.is_unheard() => return Ok(End::Failed),
                Ending::Complete if has_failed(job, &run) => failed = true,
                Ending::Complete => {}
                Ending::Interrupted | Ending::Failed(_) => {
                    let interrupted = run.measurement.ending == Ending::Interrupted;
                    return Ok(end_before_time(beside.as_ref(), interrupted, failed));
                }
            }
        }
        printer.finish()?;
        if !repeat {
            return Ok(if failed { End::Failed } else { targets.end() });
        }
    }
}

/// Returns how a job ends after a run that ended early: the request that ended the run also ends the job.
fn end_before_time(beside: &dyn RunMonitor, interrupted: bool, failed: bool) -> End {
    match beside.end_of_its_own() {
        Some(End::Unanswered) => End::Unanswered,
        Some(end) if interrupted && !failed => end,
        None if interrupted => End::Interrupted,
        Some(_) | None => End::Failed,
    }
}

/// Results of tests against their targets, for the exit code.
#[derive(Default)]
struct Targets {
    /// Collects the repeats of a test, which are judged together.
    gathering: RepeatCollector,
    missed: bool,
    undecided: bool,
}

impl Targets {
    /// Takes a run.
    fn add(&mut self, summary: &Summary<'_>) {
        let result = match summary.run.repeat {
            None => summary.target(),
            Some(_) => self.gathering.add(summary).and_then(|repeats| repeats.target()),
        };
        match result.map(|result| result.outcome()) {
            Some(Outcome::Missed) => self.missed = true,
            Some(Outcome::Undecided | Outcome::Void) => self.undecided = true,
            Some(Outcome::Kept) | None => {}
        }
    }

    /// Returns how a job ends after all of its tests have run.
    fn end(&self) -> End {
        match self {
            Self { missed: true, .. } => End::Regressed,
            Self { undecided: true, .. } => End::Inconclusive,
            Self { .. } => End::Complete,
        }
    }
}

/// Holds idle connections until Ctrl-C.
fn idle(plan: &Plan, bed: &TestBed<'_>) -> Result<End> {
    let (server, interrupted) = (&bed.server, bed.interrupted());
    let count = plan.own_connections();
    let hello = "idle connections and waiting forever (Ctrl+C when done)";
    say(&format!("Creating {count} {hello}\n"))?;
    let watched = io::IsTerminal::is_terminal(&io::stdout());
    let (mut shown, mut unread) = (None, Ok(End::Complete));
    let (address, tls) = (&server.address, server.tls.as_ref());
    let held =
        runner::hold_idle(plan, address, tls, host::local_ports(), interrupted, &mut |live| {
            if shown != Some(live) {
                // A pipe gets a line when all are open and whenever one is lost; a terminal, each.
                let settled = live == count || shown.is_some_and(|before| live < before);
                let end = if watched { "\r" } else { "\n" };
                if watched || settled {
                    unread = say(&format!("clients: {live}{end}"));
                    interrupted.fetch_or(unread.is_err(), Ordering::Relaxed);
                }
                shown = Some(live);
            }
        });
    unread?;
    if watched {
        say("\n")?;
    }
    held?;
    let asked = interrupted.load(Ordering::Relaxed);
    Ok(if asked { End::Interrupted } else { End::Complete })
}
