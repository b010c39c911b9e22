//! One crash: load, a random moment, the crash, and the recovery of the server.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, anyhow, bail};
use cli::job::Job;
use host::{Address, Client, Questions, Transport, info_field};
use lab::durability::{Crash, CrashKind, Setting};
use measure::{Ending, LaneRecord, Measurement};
use runner::{NoObserver, Observer, Snapshot};
use rustix::process::Signal;
use wire::resp::Value;
use workload::random::draw_unit;
use workload::{Endpoint, Plan, PlanParts, Stop};

use super::link::Link;
use super::options::KEY;
use super::servers::{Node, Primary};
use super::{power, reader};
use crate::test_bed::TestBed;

/// Earliest moment of a crash after the first acknowledgement, and the span in which it comes.
const CRASH_AFTER_S: f64 = 0.5;
const CRASH_WITHIN_S: f64 = 1.5;
/// Time for which a server stands still after its replica took over.
const STANDSTILL: Duration = Duration::from_millis(500);
/// Time from a cut until the replica takes over: the server goes on for so long, unless it needs a replica.
const UNNOTICED: Duration = Duration::from_secs(3);
/// Longest wait for writes to succeed again.
const RECOVERS_WITHIN: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// The servers of a trial; none of a given server.
#[derive(Default)]
pub(super) struct Servers {
    program: PathBuf,
    /// The primary first.
    nodes: Vec<Node>,
    /// Way from the replica to the primary, if it will be cut.
    link: Option<Link>,
    primary: Arc<Primary>,
    /// Set if writers need a replica after a failover, too.
    has_replica: bool,
}

impl Servers {
    /// Starts a primary for a crash, or for a run without one, and a replica in step with it if one is needed.
    ///
    /// # Errors
    /// Returns the reason why one does not start.
    pub(super) fn start(
        setting: &Setting,
        program: &Path,
        args: &[String],
        crash: Option<&CrashKind>,
        has_replica: bool,
    ) -> Result<Self> {
        let options = || args.iter().chain(&setting.options).map(String::as_str);
        let mut node = Node::new(options())?;
        let traced = match crash {
            Some(CrashKind::Power) => Some(power::traced(program, node.home.path())?),
            _ => None,
        };
        node.start(traced.as_deref().unwrap_or(program))?;
        let primary = Arc::<Primary>::default();
        primary.set(node.address);
        let program = program.to_owned();
        let link = match crash {
            Some(CrashKind::Cut) => Some(Link::to(node.address)?),
            _ => None,
        };
        let followed = link.as_ref().map_or(node.address, |link| link.address);
        let nodes = vec![node];
        let mut servers = Self { program, nodes, link, primary, has_replica: setting.has_replica };
        if has_replica {
            servers.join(options(), followed)?;
        }
        Ok(servers)
    }

    /// Starts a replica of the server at an address, and waits until it is in step.
    fn join<'a>(
        &mut self,
        options: impl IntoIterator<Item = &'a str>,
        primary: SocketAddr,
    ) -> Result<()> {
        let mut replica = Node::new(options)?;
        replica.follow(primary);
        replica.start(&self.program)?;
        replica.wait_for("is in step with its primary", &["INFO", "replication"], |info| {
            info_field(info, "master_link_status") == Some("up")
        })?;
        self.nodes.push(replica);
        Ok(())
    }

    /// Crashes the primary and returns when that was; of a cut, when the replica takes over.
    fn crash(&mut self, kind: &CrashKind) -> Result<SystemTime> {
        let mut at = SystemTime::now();
        match kind {
            CrashKind::Kill | CrashKind::Power => {
                self.nodes[0].kill();
                if *kind == CrashKind::Power {
                    power::cut(self.nodes[0].home.path())?;
                }
                self.nodes[0].start(&self.program)?;
            }
            CrashKind::Failover => {
                self.nodes[0].kill();
                self.promote()?;
                self.nodes.remove(0);
            }
            CrashKind::Stop => {
                self.nodes[0].signal(Signal::STOP)?;
                self.promote()?;
                thread::sleep(STANDSTILL);
                self.nodes[0].signal(Signal::CONT)?;
                self.demote()?;
            }
            CrashKind::Cut => {
                self.link.iter().for_each(Link::cut);
                thread::sleep(UNNOTICED);
                at = SystemTime::now();
                self.promote()?;
                self.demote()?;
            }
            CrashKind::Command(command) => {
                let ended = Command::new("sh").arg("-c").arg(command).status();
                let ended = ended.with_context(|| format!("running {command:?}"))?;
                if !ended.success() {
                    bail!("{command:?} failed: {ended}");
                }
            }
        }
        if kind.promotes() && self.has_replica && self.nodes.len() == 1 {
            self.join([], self.nodes[0].address)?;
        }
        Ok(at)
    }

    /// Makes the former primary a replica.
    fn demote(&mut self) -> Result<()> {
        let port = self.nodes[1].address.port().to_string();
        self.nodes[0].ask(&["REPLICAOF", "127.0.0.1", &port])?;
        self.nodes.swap(0, 1);
        Ok(())
    }

    /// Makes the replica the primary, which writers follow.
    fn promote(&self) -> Result<()> {
        self.nodes[1].ask(&["REPLICAOF", "NO", "ONE"])?;
        self.primary.set(self.nodes[1].address);
        Ok(())
    }
}

/// Counter of the intervals in which a server answered.
struct IntervalCounter<'c>(&'c AtomicU64);

impl Observer for IntervalCounter<'_> {
    fn interval(&mut self, snapshot: &Snapshot<'_>) {
        self.0.fetch_add((snapshot.tally.succeeded() > 0).into(), Ordering::Relaxed);
    }
}

/// A load on servers, and the crash that it is to see.
pub(super) struct Trial<'t> {
    pub(super) kind: &'t CrashKind,
    pub(super) servers: Servers,
    pub(super) job: &'t Job,
    pub(super) interrupted: &'static AtomicBool,
}

impl Trial<'_> {
    /// Carries out the load without a crash.
    ///
    /// # Errors
    /// Returns an error if it could not be started.
    pub(super) fn calm(&self, seconds: f64) -> Result<Measurement> {
        let plan = self.placed(|parts| parts.load.stop = Stop::AfterNs((seconds * 1e9) as u64))?;
        let bed = self.bed(&plan)?;
        self.forget_list(&bed)?;
        let measured = bed.load_by_all(&plan, self.interrupted, &mut NoObserver);
        self.forget_list(&bed)?;
        measured
    }

    /// Carries out the load and crash number `number` in it; `None` after Ctrl-C.
    ///
    /// # Errors
    /// Returns an error if the load or the crash failed.
    pub(super) fn crash(mut self, number: u32) -> Result<Option<Crash>> {
        let plan = self.placed(|parts| parts.recording.ledger = true)?;
        let mut bed = self.bed(&plan)?;
        self.forget_list(&bed)?;
        let resolver: Arc<dyn runner::Resolver + Send> = self.servers.primary.clone();
        bed.server.moved = self.is_own().then_some(resolver);
        let crash = self.crash_under_load(&plan, number, &bed);
        let forgotten = self.forget_list(&bed);
        let crash = crash?;
        forgotten?;
        Ok(crash)
    }

    fn crash_under_load(
        &mut self,
        plan: &Plan,
        number: u32,
        bed: &TestBed<'_>,
    ) -> Result<Option<Crash>> {
        let mut client = self.client(bed)?;
        let (stop, crashed, answered) = <(AtomicBool, AtomicBool, AtomicU64)>::default();
        let moment_s = CRASH_AFTER_S + CRASH_WITHIN_S * draw_unit(plan.load.seed, number.into());
        let (measured, acted, saw) = thread::scope(|scope| {
            let load =
                scope.spawn(|| bed.load_by_all(plan, &stop, &mut IntervalCounter(&answered)));
            let reader = scope.spawn(|| reader::numbers_seen(&mut client, plan, &crashed));
            let load_ended = || load.is_finished();
            // Servers that this thread starts die with it, so that it must not be one that ends.
            let acted =
                self.act(&answered, Duration::from_secs_f64(moment_s), &crashed, &load_ended);
            crashed.store(true, Ordering::Relaxed);
            stop.store(true, Ordering::Relaxed);
            let load = load.join().map_err(|_| anyhow!("a thread of the load panicked"));
            anyhow::Ok((load??, acted, reader.join().unwrap_or_default()))
        })?;
        if self.interrupted.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let at = acted?;
        if let Ending::Failed(failure) = &measured.ending {
            bail!("{}", failure.at(&plan.name));
        }
        let at_ns = at.duration_since(measured.started_at).unwrap_or_default().as_nanos() as u64;
        let content = reader::content(&mut self.client(bed)?, plan)?;
        let judged = Crash::judge(&measured.lanes, &content, &saw, at_ns);
        let rto_s = longest_pause_s(&measured.lanes, at_ns, measured.elapsed_ns);
        Ok(Some(Crash { rto_s, ..judged }))
    }

    /// Waits for the moment, crashes the server, and waits until writes succeed again.
    fn act(
        &mut self,
        answered: &AtomicU64,
        moment: Duration,
        crashed: &AtomicBool,
        load_ended: &dyn Fn() -> bool,
    ) -> Result<SystemTime> {
        let interrupted = self.interrupted;
        let over = || load_ended() || interrupted.load(Ordering::Relaxed);
        let wait_until = |holds: &dyn Fn() -> bool, within: Duration| {
            let deadline = Instant::now() + within;
            while !holds() && Instant::now() < deadline && !over() {
                thread::sleep(LOOK_EVERY);
            }
        };
        let intervals = || answered.load(Ordering::Relaxed);
        wait_until(&|| intervals() > 0, RECOVERS_WITHIN);
        if intervals() == 0 {
            bail!("no write was acknowledged before the crash");
        }
        wait_until(&|| false, moment);
        crashed.store(true, Ordering::Relaxed);
        let at = self.servers.crash(self.kind)?;
        // The first of them may have begun before the crash.
        let before = intervals();
        wait_until(&|| intervals() > before + 1, RECOVERS_WITHIN);
        Ok(at)
    }

    /// The plan at the address of the server.
    fn placed(&self, change: impl FnOnce(&mut PlanParts)) -> Result<Plan> {
        Ok(self.plan().with(|parts| {
            if self.is_own() {
                let port = self.servers.primary.get().port();
                parts.target.endpoint = Endpoint::Tcp { host: "127.0.0.1".to_owned(), port };
            }
            change(parts);
        })?)
    }

    fn bed(&self, plan: &Plan) -> Result<TestBed<'static>> {
        let connections = plan.own_connections();
        let asked = Questions::Settings;
        TestBed::reach_asking(
            asked,
            &plan.target,
            plan.protocol,
            connections,
            self.job.several.as_ref(),
            self.interrupted,
        )
    }

    /// The plan of the load.
    pub(super) fn plan(&self) -> &Plan {
        &self.job.plans[0]
    }

    fn is_own(&self) -> bool {
        !self.servers.nodes.is_empty()
    }

    /// Logs in to the server that has the list now.
    fn client(&self, bed: &TestBed<'_>) -> Result<Client<Transport>> {
        let (address, target) = (bed.server.address_now(), &self.plan().target);
        let mut client = bed.server.client_at(target, &address)?;
        // A node of a cluster names the owner: MOVED 3999 127.0.0.1:6381.
        let moved = match client.ask(&[b"EXISTS", KEY.as_bytes()])? {
            Value::Error(text) => String::from_utf8_lossy(&text).into_owned(),
            _ => return Ok(client),
        };
        let owner = moved.strip_prefix("MOVED ").and_then(|text| text.split(' ').nth(1));
        let owner = owner.and_then(|owner| owner.parse().ok()).map(Address::Tcp);
        let Some(owner) = owner else { bail!("{address}: {}", report::escape(&*moved)) };
        bed.server.client_at(target, &owner)
    }

    /// Removes the list of a given server, from earlier crashes or after the last.
    fn forget_list(&self, bed: &TestBed<'_>) -> Result<()> {
        if !self.is_own() {
            self.client(bed)?.ask(&[b"UNLINK", KEY.as_bytes()])?;
        }
        Ok(())
    }
}

/// Longest time in seconds between two acknowledgements of any lanes that ends after the crash; `None` if the last such
/// time lasted to the end.
fn longest_pause_s(lanes: &[LaneRecord], crash_ns: u64, end_ns: u64) -> Option<f64> {
    let mut times: Vec<u64> =
        lanes.iter().flat_map(|lane| &lane.times).map(|(_, ns)| *ns).collect();
    times.sort_unstable();
    let to_the_end = (times.last().copied().unwrap_or(0), end_ns);
    let pauses = times.windows(2).map(|pair| (pair[0], pair[1])).chain([to_the_end]);
    let longest = pauses
        .filter(|(_, to)| *to > crash_ns)
        .max_by_key(|(from, to)| to.saturating_sub(*from))?;
    (longest != to_the_end || to_the_end.1.saturating_sub(to_the_end.0) < 100_000_000)
        .then(|| longest.1.saturating_sub(longest.0) as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_the_longest_one_that_ends_after_the_crash() {
        let lane = |times: &[u64]| LaneRecord {
            next: 9,
            missing: Vec::new(),
            times: times.iter().map(|ms| (1, ms * 1_000_000)).collect(),
        };
        let pause = |lanes: &[LaneRecord], crash_ms: u64, end_ms: u64| {
            longest_pause_s(lanes, crash_ms * 1_000_000, end_ms * 1_000_000)
        };
        let lanes = [lane(&[1, 900, 1000, 1301]), lane(&[950, 1001, 1300, 1302])];
        assert_eq!(pause(&lanes, 1000, 1310), Some(0.299));
        assert_eq!(pause(&lanes, 1290, 1310), Some(0.299));
        assert_eq!(pause(&lanes, 1302, 9000), None, "no write succeeded again");
    }
}
