//! Where plans are carried out: a server, this machine, and the word to stop.
//!
//! One way for a test of the command line and for a point of an experiment, so that both are
//! prepared, watched and weighed alike. What to do with a run is left to the caller.

use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;

use anyhow::{Context, Result};
use host::HostFacts;
use report::Run;
use runner::Observer;
use workload::{Plan, ProtocolKind, Target};

use crate::fill::{Filled, fill};
use crate::server::Server;

/// Files open beside the connections: standard streams, pollers, timers, libraries.
const OTHER_FILES: u64 = 32;

/// See the module.
pub(crate) struct Rig<'r> {
    pub(crate) server: Server,
    /// How many the load will open at most.
    connections: u32,
    machine: &'static HostFacts,
    interrupted: &'r AtomicBool,
    /// Whether the server is looked at once a second while load runs.
    pub(crate) sample: bool,
    /// What the server was filled with, and whether that is told.
    pub(crate) filled: Filled,
    pub(crate) tells: bool,
}

impl<'r> Rig<'r> {
    /// Finds or starts the server, for plans of up to `connections`.
    ///
    /// # Errors
    /// It cannot be reached or started, or this process may not open so many files.
    pub(crate) fn reach(
        target: &Target,
        protocol: ProtocolKind,
        connections: u32,
        interrupted: &'r AtomicBool,
    ) -> Result<Self> {
        host::allow_open_files(u64::from(connections), OTHER_FILES)?;
        host::check_sources(&target.sources)?;
        let server = Server::reach(target, protocol, connections)?;
        Ok(Self {
            server,
            connections,
            machine: machine(),
            interrupted,
            sample: false,
            filled: Filled::default(),
            tells: true,
        })
    }

    /// Ends a server that was started for the run, and starts another: what differs from start to
    /// start, such as where its memory lies, must not be the same in all of several runs. One that
    /// was given stays as it is.
    ///
    /// # Errors
    /// It cannot be started again.
    pub(crate) fn restart(&mut self, target: &Target) -> Result<()> {
        if self.server.stop() {
            self.server = Server::reach(target, self.server.protocol(), self.connections)?;
            self.filled.forget();
        }
        Ok(())
    }

    /// Whether somebody asked for the end.
    pub(crate) fn interrupted(&self) -> &'r AtomicBool {
        self.interrupted
    }

    /// Carries out one plan, from `start_at` on if that was agreed on.
    ///
    /// # Errors
    /// It could not be started. A run that the server ends is a run, and says how it ended.
    pub(crate) fn run(
        &self,
        plan: &Plan,
        start_at: Option<SystemTime>,
        observer: &mut dyn Observer,
    ) -> Result<Run> {
        fill(self, plan)?;
        self.server.prepare(plan)?;
        let watch = self.server.watch(&plan.target, self.sample);
        let begun = watch.begin();
        let measurement = self.server.with_cluster(plan, |cluster| {
            let load = runner::Job {
                plan,
                address: &self.server.address_now(),
                resolver: self.server.resolver().filter(|_| plan.reconnect),
                tls: self.server.tls.as_ref(),
                local_ports: host::local_ports(),
                start_at,
                cluster,
                interrupted: self.interrupted,
            };
            let run = runner::run(&load, observer);
            run.with_context(|| format!("starting the test {}", plan.name))
        })?;
        let watched = watch.end(begun);
        let facts = self.server.facts.clone();
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let mut run = Run::new(plan.clone(), measurement, facts, version, watched);
        run.warnings.extend(self.unfit(plan));
        run.host = Some(self.machine.clone());
        Ok(run)
    }

    /// What the doctor finds bad about this machine at a glance. Of what is merely not ideal, which
    /// is true of most machines, only `keystorm doctor` speaks.
    fn unfit(&self, plan: &Plan) -> Vec<String> {
        let load = doctor::Load {
            connections: plan.own_connections(),
            pipeline: plan.fleet.pipeline_depth,
            rate_per_s: plan.pace.schedule().map(|s| plan.own_rate_per_s(s.peak_per_s())),
            value_bytes: plan.payload_bytes,
            keep_alive: plan.fleet.keep_alive,
        };
        let mut found = doctor::cheap(self.machine, &load);
        found.retain(|finding| finding.level == doctor::Level::Bad);
        let told = |f: &doctor::Finding| format!("{}: {}; see keystorm doctor", f.name, f.seen);
        found.iter().map(told).collect()
    }
}

/// This machine before anything that this process puts on it: the load of an experiment's first
/// part is no fault of the machine in its second.
pub(crate) fn machine() -> &'static HostFacts {
    static FOUND: OnceLock<HostFacts> = OnceLock::new();
    FOUND.get_or_init(|| {
        let mut facts = HostFacts::read();
        facts.load.running_beside = host::machine::running_beside();
        facts
    })
}
