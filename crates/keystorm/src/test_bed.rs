//! Test beds for plans: a server, this machine, and the request to stop.
//!
//! Tests of the command line and points of an experiment are prepared, watched and judged alike, whether this
//! process or several clients generate the load. The caller uses the runs.

mod run;
mod several;

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use anyhow::{Context, Result};
use cli::job::ClientFleet;
use fleet::{Fleet, FleetResult};
use host::{HostFacts, Questions, WatchRecord, WatchSoFar};
use measure::Measurement;
use report::{Run, Verdict, Warning, WarningKind};
use runner::{Barrier, LiveRate, Observer, Start};
use workload::{Plan, ProtocolKind, Target};

use crate::fill_record::FillRecord;
use crate::latency_settings::ServerLatency;
use crate::machine::machine;
use crate::records::Records;
use crate::server::Server;
use crate::server_clock::ServerClock;
use crate::{deliveries::addresses, local_ports};

/// Files open beside the connections: standard streams, pollers, timers, libraries.
const OTHER_FILES: u64 = 32;

/// A server that was reached or started, with everything that a run on it needs.
pub(crate) struct TestBed<'r> {
    pub(crate) server: Server,
    /// Maximum number of connections of the load.
    connections: u32,
    machine: &'static HostFacts,
    interrupted: &'r AtomicBool,
    /// Remote clients, if any. Test beds used in turn share one fleet, as the launcher may have room for only
    /// one.
    fleet: Option<Arc<Mutex<Fleet>>>,
    /// Record of the data that the server was filled with.
    pub(crate) filled: FillRecord,
    pub(crate) settings: RunSettings,
}

/// Settings of the runs on a test bed that are not in their plans.
#[derive(Default)]
pub(crate) struct RunSettings {
    /// Set to sample the server once a second while load runs.
    pub(crate) sample: bool,
    /// Set to read the server's record of its slow moments.
    pub(crate) journal: bool,
    /// Request for execution times of commands, if there is one.
    pub(crate) server_latency: Option<ServerLatency>,
    /// Receiver of observations of servers and machine while load runs, if they are displayed.
    pub(crate) so_far: Option<WatchSoFar>,
    /// Set to fill the server without an announcement.
    pub(crate) fills_quietly: bool,
    /// Set while runs use the data as the one before left it: then nothing is filled.
    pub(crate) keeps_data: bool,
    /// Set if times use the server's clock.
    pub(crate) server_clock: bool,
    /// Rate of a probe beside the load, if one is wanted.
    pub(crate) probe: Option<f64>,
    /// The records that plans send.
    pub(crate) records: Records,
    /// Rate of the next run's plan, if it may change during the run.
    pub(crate) rate: Option<Arc<LiveRate>>,
}

/// Context of one load beside its plan.
#[derive(Default)]
pub(crate) struct LoadContext<'a> {
    /// Agreed start of the load, if there is one.
    pub(crate) start_at: Option<SystemTime>,
    /// Barrier that a probe waits for.
    pub(crate) probe: Option<&'a Arc<Barrier>>,
    /// Rate of the load, if it may change.
    pub(crate) rate: Option<&'a LiveRate>,
}

impl<'r> TestBed<'r> {
    /// Reaches or starts the server, for plans of up to `connections`, and places the clients, if there are
    /// several.
    ///
    /// # Errors
    /// Returns an error if it cannot be reached or started, a client cannot be placed, or this process may
    /// not open enough files.
    pub(crate) fn reach(
        target: &Target,
        protocol: ProtocolKind,
        connections: u32,
        several: Option<&ClientFleet>,
        interrupted: &'r AtomicBool,
    ) -> Result<Self> {
        Self::reach_asking(Questions::All, target, protocol, connections, several, interrupted)
    }

    pub(crate) fn reach_asking(
        questions: Questions,
        target: &Target,
        protocol: ProtocolKind,
        connections: u32,
        several: Option<&ClientFleet>,
        interrupted: &'r AtomicBool,
    ) -> Result<Self> {
        // Before the clients are a load on it.
        machine();
        let fleet = several.map(|ClientFleet { on, on_loss }| {
            Fleet::gather(on, env!("CARGO_PKG_VERSION"), *on_loss, interrupted)
        });
        let fleet = fleet.transpose()?.map(|fleet| Arc::new(Mutex::new(fleet)));
        Self::over(fleet, questions, target, protocol, connections, interrupted)
    }

    fn over(
        fleet: Option<Arc<Mutex<Fleet>>>,
        questions: Questions,
        target: &Target,
        protocol: ProtocolKind,
        connections: u32,
        interrupted: &'r AtomicBool,
    ) -> Result<Self> {
        if fleet.is_none() {
            host::allow_open_files(u64::from(connections), OTHER_FILES)?;
            host::check_sources(&target.sources)?;
        }
        let server = Server::reach(target, protocol, connections, questions)?;
        if fleet.is_none() && target.has_clients() {
            let all = u64::from(connections).saturating_mul(server.loaded_nodes(target).into());
            host::allow_open_files(all, OTHER_FILES)?;
        }
        Ok(Self {
            server,
            connections,
            machine: machine(),
            interrupted,
            fleet,
            filled: FillRecord::default(),
            settings: RunSettings::default(),
        })
    }

    /// Reaches another server, with the clients of this test bed. The two are used in turn.
    ///
    /// # Errors
    /// Returns an error if the server cannot be reached or started, or too few files can be open.
    pub(crate) fn reach_beside(
        &self,
        target: &Target,
        protocol: ProtocolKind,
        connections: u32,
    ) -> Result<Self> {
        let (fleet, questions) = (self.fleet.clone(), self.server.questions());
        Self::over(fleet, questions, target, protocol, connections, self.interrupted)
    }

    /// Ensures that this process may open this many connections.
    ///
    /// # Errors
    /// Returns an error if it may not.
    pub(crate) fn allow_connections(&self, connections: u32) -> Result<()> {
        Ok(host::allow_open_files(u64::from(connections), OTHER_FILES)?)
    }

    /// Restarts a server that was started for the run, since effects that vary between starts, such as the
    /// placement of its memory, must not be the same in all of several runs. A given server is left as it is.
    ///
    /// # Errors
    /// Returns an error if it cannot be started again.
    pub(crate) fn restart(&mut self, target: &Target) -> Result<()> {
        if self.server.stop() {
            let (protocol, questions) = (self.server.protocol(), self.server.questions());
            self.server = Server::reach(target, protocol, self.connections, questions)?;
            self.filled.forget();
        }
        Ok(())
    }

    /// Returns the flag for a request to stop.
    pub(crate) fn interrupted(&self) -> &'r AtomicBool {
        self.interrupted
    }

    /// Returns the warnings about a run by this process: disturbances, and faults of this machine.
    pub(crate) fn warned_of(&self, run: &Run) -> Vec<Warning> {
        let found = Self::found(run, false).chain(self.unfit(&run.plan));
        found.chain(self.filled.evicted()).collect()
    }

    /// Returns the disturbances of a run. A run's counts exclude requests of the probe, and of a lost
    /// client's last second, so with `strangers_unknown` the warning about other clients is left out.
    fn found(run: &Run, strangers_unknown: bool) -> impl Iterator<Item = Warning> + use<> {
        let found = report::warnings(&run.plan, &run.measurement, &run.watched).into_iter();
        found
            .filter(move |warning| !strangers_unknown || warning.kind != WarningKind::OtherClients)
            .chain(local_ports::warning(&run.plan))
    }

    fn ask_clock(&self, plan: &Plan) -> Result<ServerClock> {
        ServerClock::ask(&mut self.server.clock(&plan.target)?)
    }

    /// Converts the times of a run to the server's clock, if that is used.
    fn stamp(&self, run: &mut Run, clock: &ServerClock) {
        if !clock.agrees {
            run.warnings.push(Warning::new(
                WarningKind::ServerClock,
                "--clock server: the replies to TIME contradict each other (several servers, or \
                 a changed clock); times are this machine's",
            ));
            return;
        }
        run.measurement.started_at = clock.there(run.measurement.started_at);
        // A server that is gone has no clock to read; the run's ending already says why.
        let later = self.ask_clock(&run.plan).ok();
        run.clock = Some(clock.kept(later.as_ref()));
    }

    /// Carries out a share of a plan, for a coordinator that prepares and watches the server.
    ///
    /// # Errors
    /// Returns the errors of [`run`](Self::run).
    pub(crate) fn run_share(
        &self,
        plan: &Plan,
        barrier: &Barrier,
        observer: &mut dyn Observer,
    ) -> Result<Run> {
        let watch = host::Watch::of_this_machine(self.server.address.clone(), None);
        let begun = watch.begin();
        let start = Start::Released(barrier);
        let measurement = self.load(plan, start, None, self.interrupted, observer)?;
        let mut run = self.run_of(plan.clone(), measurement, watch.end(begun));
        // Further warnings depend on all shares together.
        run.warnings = self.unfit(plan);
        Ok(run)
    }

    /// Generates the load.
    ///
    /// # Errors
    /// Returns an error if it could not be started.
    pub(crate) fn load(
        &self,
        plan: &Plan,
        start: Start<'_>,
        rate: Option<&LiveRate>,
        interrupted: &AtomicBool,
        observer: &mut dyn Observer,
    ) -> Result<Measurement> {
        let (plan, password) = &crate::password::asked(plan)?;
        let (receivers_at, tls) = addresses(plan, self.server.tls.as_ref())?;
        self.server.with_several(plan, |several| {
            let load = runner::RunJob {
                plan,
                password: *password,
                address: &self.server.address_now(),
                resolver: self.server.resolver().filter(|_| plan.recovery.reconnect),
                receivers_at,
                tls: tls.as_ref(),
                local_ports: host::local_ports(),
                start,
                several,
                source: self.settings.records.for_plan(plan),
                rate,
                interrupted,
            };
            runner::run(&load, observer).with_context(|| format!("starting the test {}", plan.name))
        })
    }

    /// Makes the run of a measurement, with its derived parts.
    pub(crate) fn run_of(&self, plan: Plan, measurement: Measurement, watched: WatchRecord) -> Run {
        let facts = self.server.facts.clone();
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let run = Run::new(plan, measurement, facts, version, watched);
        Run { host: Some(self.machine.clone()), ..run }
    }

    /// The run of all clients together.
    fn whole(&self, plan: &Plan, all: FleetResult, probed: bool, ours: WatchRecord) -> Result<Run> {
        let watched = all.watched_with(ours);
        let carried_out = plan.with(|parts| {
            parts.load.concurrency.workers = all.workers;
            parts.load.concurrency.multi_thread |= all.workers > 1;
            let threads = parts.receiver_threads_mut().into_iter();
            threads.for_each(|threads| *threads = all.receiver_threads);
        });
        let mut run = self.run_of(carried_out?, all.measurement, watched);
        run.warnings = Self::found(&run, all.lost || probed).chain(all.warnings).collect();
        if all.here {
            run.warnings.extend(self.unfit(plan));
        }
        let mut hosts = all.hosts.into_iter();
        run.host = if all.here { run.host } else { hosts.next() };
        run.other_hosts = hosts.collect();
        let clients = all.clients;
        run.verdict = match clients.rows.iter().position(|row| row.lost.is_some()) {
            Some(lost) => Verdict::unknown(&format!("{} was lost", clients.called(lost))),
            None => Verdict::of_clients(&run.plan, &run.measurement, &run.watched, &clients),
        };
        run.clients = Some(clients);
        Ok(run)
    }

    /// Returns the serious findings of the doctor's quick checks of this machine. Minor ones, which most
    /// machines have, are left to `keystorm doctor`.
    fn unfit(&self, plan: &Plan) -> Vec<Warning> {
        let load = host::doctor::Load {
            connections: plan.own_connections(),
            pipeline: plan.load.concurrency.pipeline_depth,
            rate_per_s: plan.load.pace.schedule().map(|s| plan.own_rate_per_s(s.peak_per_s())),
            value_bytes: plan.data.payload_bytes,
            keep_alive: match plan.load.concurrency.per_request {
                None => plan.load.concurrency.keep_alive,
                Some(of) => of.reset || of.hold_ns.is_none(),
            },
        };
        let mut found = host::doctor::cheap(self.machine, &load);
        found.retain(|finding| finding.level == host::doctor::Level::Bad);
        found
            .into_iter()
            .map(|finding| Warning::about(WarningKind::Machine, &finding.name, finding.of_test()))
            .collect()
    }
}
