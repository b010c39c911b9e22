//! Observations of a server, the link to it and this machine while load runs.
//!
//! Reads before and after, over separate connections that are closed in between, so that the load has the
//! server to itself. Whatever a server forbids is left out; no run fails for it. `report` interprets the
//! figures.

mod background;
mod info;
mod journal;
mod link;
mod local;
mod machine_timeline;
mod process;
mod quota;
mod record;
mod run_times;
mod sample;
mod sampler;
mod server_use;
mod settings;
mod stats;
mod subject;
mod workers;

use std::thread;
use std::time::{Duration, Instant};

use crate::machine::{self, CpuTimes};
use crate::{Address, Patience, ProbeError};
use background::Background;
use link::Link;
use machine_timeline::sample_machine;
use run_times::RunTimes;
use sampler::{Samples, read_journal, sample};
use server_use::Snapshot;

pub use journal::{Journal, JournalEntry, JournalKind, slow_commands};
pub use link::LinkUse;
pub use process::ServerProcess;
pub use record::{MachineSpan, WatchRecord, WatchSoFar};
pub use run_times::{CommandRunTime, CommandUse};
pub use sample::{SAMPLES_MAX, ServerSample};
pub use server_use::{BusyPart, PollingThreads, ServerBusy, ServerUse, Setting};
pub(crate) use stats::COMMANDS;
pub use subject::Subject;

/// Connects to one of the servers within these time limits and logs in.
pub type Connect<'a> = dyn Fn(&Address, Patience) -> Result<Subject, ProbeError> + 'a;

/// A watch over the servers of a run.
pub struct Watch<'a> {
    addresses: Vec<Address>,
    connect: Box<Connect<'a>>,
    /// Address for which the link is determined.
    link_to: Option<Address>,
    /// Reason why no server is observed, if there is one.
    unseen: Option<String>,
    /// Looks once a second, too.
    sample: bool,
    /// Leaves memory out of samples.
    without_memory: bool,
    /// Set to read the server's record of its slow moments.
    journal: bool,
    /// Asks how long the server ran each command.
    run_times: bool,
    /// Shared record of the observations so far.
    so_far: Option<WatchSoFar>,
}

/// A first reading that waits for the second.
pub struct PendingWatch {
    /// First looks, in the order of the addresses.
    servers: Vec<PendingServerWatch>,
    idle_round_trip_ns: Option<u64>,
    link: Option<Link>,
    cpu_times: Option<CpuTimes>,
    own_cpu_s: f64,
    throttled_ns: Option<u64>,
    machine: Option<Background<Vec<MachineSpan>>>,
}

/// The first reading of a server, which waits for the second.
struct PendingServerWatch {
    before: Result<Snapshot, String>,
    pid: Option<u32>,
    sampler: Option<Background<Samples>>,
    reader: Option<Background<()>>,
}

/// Maximum number of round trips measured before the load.
const ROUND_TRIPS_MAX: usize = 20;
/// Maximum time for them.
const ROUND_TRIPS_FOR: Duration = Duration::from_millis(50);
/// Time for the server to notice that the load's connections are closed.
const TURNED_AWAY_FOR: Duration = Duration::from_secs(1);
/// Time limits after the load: a server that fell silent must not hold up the result.
const SECOND_LOOK: Patience =
    Patience { connect: Duration::from_secs(2), reply: Duration::from_secs(2) };

impl<'a> Watch<'a> {
    /// Watches the servers at these addresses through `connect`; with `sample`, also once a second while load
    /// runs. The link and the idle round trip are measured for the first.
    pub fn new(
        addresses: Vec<Address>,
        sample: bool,
        connect: impl Fn(&Address, Patience) -> Result<Subject, ProbeError> + 'a,
    ) -> Self {
        let link_to = addresses.first().cloned();
        Self {
            addresses,
            connect: Box::new(connect),
            link_to,
            unseen: None,
            sample,
            without_memory: false,
            journal: false,
            run_times: false,
            so_far: None,
        }
    }

    /// Watches this machine and its link to a server only: the server is watched by others, or, for this reason, not at
    /// all.
    pub fn of_this_machine(server: Address, unseen: Option<String>) -> Self {
        let nowhere = Self::new(Vec::new(), false, |_, _| unreachable!("no server was watched"));
        Self { link_to: Some(server), unseen, ..nowhere }
    }

    /// Leaves memory out of samples if `wanted`: a server may stop to free memory before it reports it.
    pub fn without_memory(self, wanted: bool) -> Self {
        Self { without_memory: wanted, ..self }
    }

    /// Also reads the server's record of its slow moments, and samples this machine while load runs, if
    /// `wanted`.
    pub fn with_journal(self, wanted: bool) -> Self {
        Self { journal: wanted, ..self }
    }

    /// Shares the servers' records of slow moments, and the state of this machine, while load runs.
    pub fn telling(self, so_far: Option<WatchSoFar>) -> Self {
        Self { so_far, ..self }
    }

    /// Also reads execution times of commands, if `wanted`.
    pub fn with_run_times(self, wanted: bool) -> Self {
        Self { run_times: wanted, ..self }
    }

    /// Makes the first reading. Takes some milliseconds a server, and at most as long as [`crate::probe`] for
    /// each command.
    pub fn begin(&self) -> PendingWatch {
        self.so_far.iter().for_each(WatchSoFar::clear);
        let mut begun = PendingWatch {
            servers: Vec::with_capacity(self.addresses.len()),
            idle_round_trip_ns: None,
            link: self.link_to.as_ref().and_then(Link::to),
            cpu_times: machine::cpu_times(),
            own_cpu_s: local::own_cpu_s(),
            throttled_ns: quota::throttled_ns("self"),
            machine: None,
        };
        for address in &self.addresses {
            let before = Err(String::new());
            let mut server = PendingServerWatch { before, pid: None, sampler: None, reader: None };
            server.before = self.client(address, Patience::default()).and_then(|mut client| {
                let mut before = look(&mut client, None);
                if begun.servers.is_empty() {
                    begun.idle_round_trip_ns = round_trip_ns(&mut client, before.is_ok());
                }
                if let Ok(before) = &mut before {
                    server.pid = local::find(&before.info);
                    before.run_times = self.run_times.then(|| client.run_times());
                    // Last: a server that does not know it may end the connection.
                    before.journal = self.journal.then(|| client.journal_mark()).flatten();
                }
                before
            });
            if let Ok(before) = &mut server.before {
                before.local = server.pid.and_then(local::read);
                let sampler = || {
                    let client = self.client(address, Patience::default()).ok()?;
                    sample(client, self.without_memory)
                };
                server.sampler = self.sample.then(sampler).flatten();
                server.reader = self.reader(address, before);
            }
            begun.servers.push(server);
        }
        let servers = begun.servers.iter().filter_map(|server| server.pid).collect();
        begun.machine =
            self.journal.then(|| sample_machine(servers, self.so_far.clone())).flatten();
        begun
    }

    /// Makes the second reading, and returns the changes since the first.
    pub fn end(&self, begun: PendingWatch) -> WatchRecord {
        let machine = begun.machine.map(Background::stop).unwrap_or_default();
        let spent = begun.cpu_times.zip(machine::cpu_times()).map(|(then, now)| now.since(then));
        let own_s = local::own_cpu_s() - begun.own_cpu_s;
        let mut watched = WatchRecord {
            idle_round_trip_ns: begun.idle_round_trip_ns,
            unseen: self.unseen.clone(),
            stolen: spent.and_then(CpuTimes::steal_share),
            link: begun.link.and_then(Link::used),
            cpus: local::own_cpus(),
            throttled_s: begun
                .throttled_ns
                .zip(quota::throttled_ns("self"))
                .map(|(then, now)| now.saturating_sub(then) as f64 / 1e9),
            machine,
            ..WatchRecord::default()
        };
        // Before anything is asked: a look costs the servers time of their own.
        let ended: Vec<_> = begun
            .servers
            .into_iter()
            .map(|PendingServerWatch { before, pid, sampler, reader }| {
                // What it found is asked for again at the end.
                reader.into_iter().for_each(Background::stop);
                let sampled = sampler.map(Background::stop).unwrap_or_default();
                (before, pid.and_then(local::read), sampled)
            })
            .collect();
        for (address, (before, local, (samples, samples_dropped))) in
            self.addresses.iter().zip(ended)
        {
            let used = before.and_then(|before| {
                let mut client = self.client(address, SECOND_LOOK)?;
                let after = look(&mut client, local)?;
                let mut used = ServerUse::between(&before, &after)?;
                if let Some(then) = &before.run_times {
                    let now = client.run_times();
                    used.run_times = RunTimes::between(then, &now, &used.by_command);
                }
                used.journal = before
                    .journal
                    .and_then(|mark| client.journal(&mark, &before.info, &after.info));
                if let Some(journal) = &mut used.journal {
                    journal.add_samples(&samples);
                }
                Ok(used)
            });
            match used {
                Ok(used) => {
                    let address = address.to_string();
                    watched.servers.push(ServerUse { address, samples, samples_dropped, ..used });
                }
                Err(why) => watched.unseen = watched.unseen.or(Some(why)),
            }
        }
        let here = watched.servers.iter().filter(|server| server.cpu_wait_s.is_some());
        let of_servers_s: f64 = here.filter_map(|server| server.cpu_process_s).sum();
        watched.others_s = spent.map(|all| (all.work_s() - own_s - of_servers_s).max(0.0));
        watched
    }

    /// Starts a reader of the server's lists of slow moments while load runs, if the record is shared.
    fn reader(&self, address: &Address, before: &Snapshot) -> Option<Background<()>> {
        let so_far = self.so_far.clone().filter(|_| before.journal.is_some())?;
        // A user who asks for slow commands waits for them.
        let patience = Patience { reply: Duration::from_secs(10), ..SECOND_LOOK };
        let subject = self.client(address, patience).ok()?;
        read_journal(subject, address.to_string(), before.clone(), so_far)
    }

    fn client(&self, address: &Address, patience: Patience) -> Result<Subject, String> {
        let deadline = Instant::now() + TURNED_AWAY_FOR;
        loop {
            match (self.connect)(address, patience) {
                Ok(client) => return Ok(client),
                Err(ProbeError::TooManyClients(_)) if Instant::now() < deadline => {
                    thread::sleep(Duration::from_millis(20));
                }
                Err(error) => return Err(error.to_string()),
            }
        }
    }
}

/// Reads a server's counts, and then everything else that it allows.
fn look(subject: &mut Subject, local: Option<local::LocalUse>) -> Result<Snapshot, String> {
    let info = subject.info(true)?;
    let settings = subject.settings();
    let monitors = subject.monitors(&info);
    Ok(Snapshot { info, settings, monitors, local, journal: None, run_times: None })
}

/// Median time of a command that does nothing, for a lone client.
fn round_trip_ns(subject: &mut Subject, info: bool) -> Option<u64> {
    let began = Instant::now();
    let mut trips = Vec::with_capacity(ROUND_TRIPS_MAX);
    while trips.len() < ROUND_TRIPS_MAX && (trips.len() < 3 || began.elapsed() < ROUND_TRIPS_FOR) {
        let sent = Instant::now();
        subject.nothing(info)?;
        trips.push(sent.elapsed().as_nanos() as u64);
    }
    trips.sort();
    Some(trips[trips.len() / 2])
}
