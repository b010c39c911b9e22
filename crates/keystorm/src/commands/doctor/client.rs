//! `keystorm doctor --client`: measures the client's own ceiling on this machine.
//!
//! Uses the runner of ordinary runs against a [`sink`] on a separate thread, once for each transport, engine
//! and pipeline. [`client_table`](super::client_table) has the layout, and [`cpus`](super::cpus) the choice
//! of CPUs for the two.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use anyhow::{Context, Result, anyhow, bail};
use cli::job::End;
use engine::Address;
use host::affinity;
use measure::{Ending, WorkerUse};
use sink::{EngineChoice, Listener, MemcacheReplies, Replies, SinkTotals};
use spec::LoadSpec;
use spec::values::{Count, Cpus, EngineArg};
use workload::Plan;

use crate::commands::run::say;
use crate::commands::sink::choice;
use crate::signals;

use super::client_table::{Cell, Table};
use super::options::Options;

const PIPELINES: [u32; 3] = [1, 16, 64];
/// Size of strings in replies. The reply to `SET` has none.
const BULK: u32 = 3;
/// Open files of this process, except for both ends of each connection.
const OTHER_FILES: u64 = 32;

/// Transport between client and sink.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Transport {
    Tcp,
    Unix,
}

impl Transport {
    const ALL: [Self; 2] = [Self::Tcp, Self::Unix];

    fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Unix => "unix",
        }
    }

    fn listen(self, directory: &Path) -> Result<Listener> {
        let listener = match self {
            Self::Tcp => Listener::tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))),
            Self::Unix => Listener::unix(directory.join("sink")),
        };
        listener.with_context(|| format!("cannot listen for the sink ({})", self.name()))
    }
}

/// Measures every cell and prints the table.
///
/// # Errors
/// Returns an error if a cell cannot be measured.
pub(super) fn measure(job: &Options, load: &LoadSpec) -> Result<End> {
    let interrupted = signals::interrupted()?;
    let connections = job.clients;
    allow_open_files(connections)?;
    let (engines, notes) = engines(choice(job.engine))?;
    let cpus = affinity::two_cpus();
    let directory = tempfile::Builder::new().prefix("keystorm-").tempdir();
    let directory = directory.context("making a directory for a unix socket")?;
    let command = plan(load)?.name.clone();
    let mut table = Table::new(command, connections, job.seconds.as_secs_f64(), cpus, notes);
    let show = |text: String| if job.json { Ok(End::Complete) } else { say(&text) };
    show(table.head())?;
    for transport in Transport::ALL {
        for &engine in &engines {
            for depth in PIPELINES {
                let listener = transport.listen(directory.path())?;
                let cell = CellContext { load, cpus, engine, interrupted }
                    .cell(listener, transport, depth)?;
                let Some(cell) = cell else {
                    show("Interrupted.\n".to_owned())?;
                    return finish(job, &table, End::Interrupted);
                };
                show(cell.row())?;
                table.cells.push(cell);
            }
        }
    }
    show(table.foot())?;
    finish(job, &table, End::Complete)
}

fn finish(job: &Options, table: &Table, end: End) -> Result<End> {
    if job.json {
        say(&table.json(end == End::Complete)?)?;
    }
    Ok(end)
}

/// Context that the cells of one engine share.
struct CellContext<'m> {
    load: &'m LoadSpec,
    /// CPUs of sink and client.
    cpus: Option<[usize; 2]>,
    engine: EngineChoice,
    interrupted: &'m AtomicBool,
}

impl CellContext<'_> {
    /// Measures one cell; `None` after a request to stop.
    fn cell(self, listener: Listener, transport: Transport, depth: u32) -> Result<Option<Cell>> {
        let address = listener.address().clone();
        let plan = self.varied(&address, depth)?;
        let (connections_max, stop) = (plan.load.concurrency.connections, AtomicBool::new(false));
        let (measured, served) = thread::scope(|scope| {
            let serve = || -> std::io::Result<SinkTotals> {
                self.cpus.map_or(Ok(()), |[sink, _]| affinity::pin(&[sink]))?;
                let listeners = [listener];
                if plan.protocol.is_memcache() {
                    let replies = MemcacheReplies::new(BULK);
                    self.engine.serve(&listeners, connections_max, &replies, &stop)
                } else {
                    self.engine.serve(&listeners, connections_max, &Replies::new(BULK), &stop)
                }
            };
            let thread = thread::Builder::new().name("sink".to_owned()).spawn_scoped(scope, || {
                // Without a sink the client would wait for ever.
                serve().inspect_err(|_| self.interrupted.store(true, Ordering::Relaxed))
            });
            let thread = thread.context("starting a thread for the sink")?;
            let run = runner::RunJob {
                password: None,
                receivers_at: Vec::new(),
                several: None,
                source: None,
                rate: None,
                plan: &plan,
                address: &address,
                resolver: None,
                tls: None,
                local_ports: host::local_ports(),
                start: runner::Start::Ready,
                interrupted: self.interrupted,
            };
            let measured = runner::run(&run, &mut runner::NoObserver);
            stop.store(true, Ordering::Relaxed);
            let served = thread.join().map_err(|_| anyhow!("the sink panicked"))?;
            anyhow::Ok((measured, served))
        })?;
        let served = served.context("running the sink")?;
        let measured = measured.context("starting the load")?;
        match measured.ending {
            Ending::Complete => {}
            Ending::Interrupted => return Ok(None),
            Ending::Failed(failure) => {
                let place = format!("measuring the client over {}", transport.name());
                return Err(failure.at(place).into());
            }
        }
        let requests = measured.total.requests();
        if requests == 0 {
            bail!("--seconds: too short, no reply came");
        }
        let client_cpu_ns = measured.client_cpu_ns().unwrap_or_default();
        Ok(Some(Cell {
            transport: transport.name(),
            engine: measured.engine,
            pipeline: depth,
            requests_per_s: requests as f64 * 1e9 / measured.elapsed_ns as f64,
            client_cpu_us: client_cpu_ns / 1e3,
            client_busy: measured.workers.iter().map(WorkerUse::busy).sum(),
            sink_busy: served.busy(),
        }))
    }

    /// The plan of a cell.
    fn varied(&self, address: &Address, depth: u32) -> Result<Plan> {
        let mut load = self.load.clone();
        match address {
            Address::Tcp(address) => {
                load.server.host = Some(address.ip().to_string());
                load.server.port = Some(address.port());
            }
            Address::Unix(path) => load.server.socket = Some(path.clone()),
        }
        load.load.pipeline = Some(Count(depth.into()));
        load.load.cpus = self.cpus.map(|[_, client]| Cpus(vec![client]));
        load.load.engine = Some(match self.engine {
            EngineChoice::Uring => EngineArg::Uring,
            EngineChoice::Epoll => EngineArg::Epoll,
        });
        plan(&load)
    }
}

/// The plan of a load, which is one test.
fn plan(load: &LoadSpec) -> Result<Plan> {
    let plan = load.plans(&mut Vec::new())?.into_iter().next();
    plan.context("the load of --client is one test")
}

/// The engines to try, and reasons why others are left out.
fn engines(asked: Option<EngineChoice>) -> Result<(Vec<EngineChoice>, Vec<String>)> {
    if let Some(engine) = asked {
        engine.probe().with_context(|| format!("--engine {} does not work here", engine.name()))?;
        return Ok((vec![engine], Vec::new()));
    }
    let (mut working, mut notes) = (Vec::new(), Vec::new());
    for engine in EngineChoice::ALL {
        match engine.probe() {
            Ok(()) => working.push(engine),
            Err(error) => notes.push(format!("{} does not work here: {error}", engine.name())),
        }
    }
    Ok((working, notes))
}

/// Raises the limit of open files: both ends of each connection are in this process.
fn allow_open_files(connections: u32) -> Result<()> {
    let needed = 2 * u64::from(connections);
    host::allow_open_files(needed, OTHER_FILES).map_err(|error| {
        let most = error.allowed.saturating_sub(OTHER_FILES) / 2;
        anyhow!(
            "-c {connections}: client and sink together need {} open files, but the limit is {}: \
             raise it with `ulimit -n`, or use at most -c {most}",
            needed + OTHER_FILES,
            error.allowed
        )
    })
}
