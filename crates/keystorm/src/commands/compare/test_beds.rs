//! One side of a comparison: a server, or several that share the load.
//!
//! Shares run at the same time, each over its own connections, and are combined into one run.

use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use host::{Watch, WatchRecord};
use measure::Measurement;
use report::Run;
use report::compare::{self, Subject};
use runner::{Barrier, NoObserver, Observer, Start};
use workload::{Endpoint, Plan, Stop, Target};

use crate::records::{Precaution, Records};
use crate::test_bed::TestBed;

/// The servers of one side of a comparison.
pub(in crate::commands) struct TestBeds<'r> {
    beds: Vec<TestBed<'r>>,
    targets: Vec<Target>,
}

/// Time from the moment when all shares are ready to their start, since each must get the start time.
const LEAD: Duration = Duration::from_millis(10);

impl<'r> TestBeds<'r> {
    /// Finds or starts the servers of these targets, each by `reach`.
    pub(in crate::commands) fn reach(
        targets: &[Target],
        reach: impl FnMut(&Target) -> Result<TestBed<'r>>,
    ) -> Result<Self> {
        let beds = targets.iter().map(reach).collect::<Result<Vec<_>>>()?;
        if beds.is_empty() {
            bail!("a side of a comparison has no server");
        }
        Ok(Self { beds, targets: targets.to_vec() })
    }

    /// The first of the servers.
    pub(in crate::commands) fn first(&self) -> Option<&TestBed<'r>> {
        self.beds.first()
    }

    /// Returns whether the servers were started for the comparison.
    pub(in crate::commands) fn is_own(&self) -> bool {
        self.beds.iter().all(|bed| bed.server.is_own())
    }

    /// Restarts the servers if they were started for the comparison.
    pub(in crate::commands) fn restart(&mut self) -> Result<()> {
        self.beds.iter_mut().zip(&self.targets).try_for_each(|(bed, target)| bed.restart(target))
    }

    /// Prepares the servers for a plan that runs without this test bed.
    ///
    /// # Errors
    /// Returns an error if the data that the plan reads could not be written.
    pub(in crate::commands) fn prepare(&self, plan: &Plan) -> Result<()> {
        self.beds[0].prepare(plan)
    }

    /// Refuses a server that a record must not be written to, and silences the notes on fills.
    pub(super) fn admit(&mut self, precaution: &Precaution) -> Result<()> {
        self.beds[0].settings.fills_quietly = true;
        precaution.check(&self.beds[0].server, &self.targets[0])
    }

    /// Sets the records that the next plans send.
    pub(in crate::commands) fn set_records(&mut self, records: Records) {
        self.beds[0].settings.records = records;
    }

    /// Bytes of memory that the servers use now, if they were started here.
    pub(in crate::commands) fn resident_bytes(&self) -> Option<u64> {
        self.beds.iter().map(|bed| bed.server.resident_bytes()).sum()
    }

    /// The server's name in reports. A server that keystorm started is named without its address, which
    /// changes in each block.
    pub(in crate::commands) fn subject(&self) -> Subject {
        let (bed, target) = (&self.beds[0], &self.targets[0]);
        let address = match (&target.endpoint, &bed.server.address) {
            (Endpoint::Spawned { .. }, host::Address::Tcp(address)) => {
                format!("{}, restarted for each block", address.ip())
            }
            (Endpoint::Spawned { .. }, host::Address::Unix(_)) => {
                "a unix socket, restarted for each block".to_owned()
            }
            (_, address) => address.to_string(),
        };
        let mut subject = Subject::new(&bed.server.facts, address, None);
        if self.beds.len() > 1 {
            subject.server = format!("{} processes of {}", self.beds.len(), subject.server);
        }
        subject.command_line = bed.server.command_line();
        subject.program = compare::program(&target.endpoint);
        subject.settings = bed.server.settings(target);
        subject
    }

    /// Runs one plan, or several as shares of one load.
    ///
    /// # Errors
    /// Returns an error if it could not be started.
    pub(in crate::commands) fn run(
        &self,
        plans: &[Plan],
        observer: &mut dyn Observer,
    ) -> Result<Run> {
        match plans {
            [one] => self.beds[0].run(one, None, observer),
            shares => self.run_together(shares),
        }
    }

    fn rig_of(&self, share: usize) -> &TestBed<'r> {
        &self.beds[share % self.beds.len()]
    }

    fn run_together(&self, shares: &[Plan]) -> Result<Run> {
        for (at, share) in shares.iter().enumerate() {
            self.rig_of(at).prepare(share)?;
        }
        let watch = |(bed, target)| -> Watch<'_> {
            let (bed, target): (&TestBed<'_>, &Target) = (bed, target);
            bed.server.watch(target, bed.settings.sample).with_journal(bed.settings.journal)
        };
        let watches: Vec<Watch<'_>> = self.beds.iter().zip(&self.targets).map(watch).collect();
        let begun: Vec<_> = watches.iter().map(Watch::begin).collect();
        let measured = self.measure(shares)?;
        let seen = watches.iter().zip(begun).map(|(watch, begun)| watch.end(begun));
        let watched = seen.reduce(together).unwrap_or_default();
        let names: Vec<String> =
            (1..=shares.len()).map(|share| format!("share {share} of {}", shares.len())).collect();
        let measurement = report::measured_together(&names, measured)?;
        let mut run = self.beds[0].run_of(whole(shares)?, measurement, watched);
        run.warnings = self.beds[0].warned_of(&run);
        Ok(run)
    }

    /// Generates the load of all shares, which begin when all connections are open.
    fn measure(&self, shares: &[Plan]) -> Result<Vec<Measurement>> {
        let (ready, is_ready) = channel();
        let barriers: Vec<Barrier> = shares
            .iter()
            .map(|_| {
                let ready = ready.clone();
                Barrier::new(move || {
                    let _ = ready.send(());
                })
            })
            .collect();
        let interrupted = self.beds[0].interrupted();
        thread::scope(|scope| {
            let loads: Vec<_> = shares
                .iter()
                .zip(&barriers)
                .enumerate()
                .map(|(at, (share, barrier))| {
                    let bed = self.rig_of(at);
                    thread::Builder::new().spawn_scoped(scope, move || {
                        bed.load(
                            share,
                            Start::Released(barrier),
                            None,
                            interrupted,
                            &mut NoObserver,
                        )
                    })
                })
                .collect();
            let mut waiting = shares.len();
            // One that fails before it is ready, or never starts, must not keep the others waiting.
            while waiting > 0
                && !interrupted.load(Ordering::Relaxed)
                && !loads
                    .iter()
                    .any(|load| load.as_ref().map_or(true, ScopedJoinHandle::is_finished))
            {
                match is_ready.recv_timeout(Duration::from_millis(20)) {
                    Ok(()) => waiting -= 1,
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => break,
                }
            }
            let at = Instant::now() + LEAD;
            for barrier in &barriers {
                barrier.release(at);
            }
            let ended = loads.into_iter().map(|load| {
                let load = load.context("starting a thread for a share of the load")?;
                load.join().map_err(|_| anyhow!("a share of the load panicked")).and_then(|m| m)
            });
            ended.collect()
        })
    }
}

/// Adds up the observations of several servers from this machine. Of values that exist once for all, it keeps
/// the worst.
fn together(all: WatchRecord, more: WatchRecord) -> WatchRecord {
    let WatchRecord {
        mut servers,
        unseen,
        idle_round_trip_ns,
        link,
        mut cpus,
        stolen,
        throttled_s,
        others_s: _,
        machine,
    } = all;
    servers.extend(more.servers);
    cpus.extend(more.cpus.into_iter().filter(|cpu| !cpus.contains(cpu)).collect::<Vec<_>>());
    let worst = |a: Option<f64>, b: Option<f64>| a.into_iter().chain(b).reduce(f64::max);
    WatchRecord {
        servers,
        unseen: unseen.or(more.unseen),
        idle_round_trip_ns: idle_round_trip_ns.max(more.idle_round_trip_ns),
        link: match (link, more.link) {
            (Some(a), Some(b)) => Some(if b.share() > a.share() { b } else { a }),
            (a, b) => a.or(b),
        },
        cpus,
        stolen: worst(stolen, more.stolen),
        throttled_s: worst(throttled_s, more.throttled_s),
        // Each has counted the servers of the other.
        others_s: None,
        // It is the same machine.
        machine,
    }
}

/// The plan that these shares add up to.
fn whole(shares: &[Plan]) -> Result<Plan> {
    let Some((first, others)) = shares.split_first() else { bail!("there is no share of a load") };
    Ok(first.with(|parts| {
        for other in others {
            let (all, more) = (&mut parts.load.concurrency, &other.load.concurrency);
            all.workers = all.workers.saturating_add(more.workers);
            all.connections += more.connections;
            all.cpus.extend(&more.cpus);
            parts.data.keys.range =
                parts.data.keys.range.zip(other.data.keys.range).map(|(a, b)| a.saturating_add(b));
            if let (Stop::Requests(a), Stop::Requests(b)) = (parts.load.stop, other.load.stop) {
                parts.load.stop = Stop::Requests(a.saturating_add(b));
            }
        }
        parts.load.concurrency.multi_thread = parts.load.concurrency.workers > 1;
    })?)
}
