//! Execution of a plan by all clients: ready, clocks, start, load, results.
//!
//! Owns the order and the rule for losses: before the start, all clients are required; after it the others
//! stop or continue, without taking over the lost share.

mod exchange;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use measure::Ending;
use report::LoadedRecord;
use runner::{Observer, Progress};
use workload::random::SplitMix;
use workload::{Endpoint, Plan, Shard};

use crate::clock::{Offset, Ping};
use crate::fleet::{Fleet, News, OnLoss, SILENT};
use crate::line::{FromClient, ToClient};
use crate::partial::Partial;
use crate::seconds::Seconds;
use crate::{FleetError, clock};

/// Number of times that each client is asked for the time.
const PINGS: usize = 16;
/// Maximum number of clients that are asked at once, as more would delay each other.
const ASKED_AT_ONCE: usize = 8;
/// Longest wait for an answer.
const PING_PATIENCE: Duration = Duration::from_secs(2);
/// Minimum time from the order to the start, for its arrival and another check of the clocks.
const LEAD_MIN: Duration = Duration::from_millis(60);
const LEAD_MAX: Duration = Duration::from_secs(5);
/// Longest wait for a client's result after it was asked to stop.
const STOPPING: Duration = Duration::from_secs(20);
/// Longest time for which a client may report only that it is alive once load has begun: it should report
/// figures once a second, and its result at the end.
const RESULT: Duration = Duration::from_secs(30);
/// Time between checks for an interrupt.
const LOOK: Duration = Duration::from_millis(50);

/// The state of a client's share.
#[derive(Default)]
pub(crate) struct Part {
    ready: bool,
    /// Set if its senders are done while its receivers wait for messages of others.
    sent: bool,
    /// Progress with messages between clients.
    messages: Progress,
    /// Sending times of unanswered questions, by number.
    asked: BTreeMap<u64, u64>,
    pings: Vec<Ping>,
    /// Offset of its clock: shortly before the start, and at the end.
    pub(crate) offset: Option<Offset>,
    pub(crate) offset_after: Option<Offset>,
    /// Start of its load, on its own clock.
    pub(crate) begun_ns: Option<u64>,
    pub(crate) partial: Partial,
    pub(crate) result: Option<LoadedRecord>,
    failed: Option<String>,
    /// Reason of its loss, with the time after the start.
    pub(crate) lost: Option<String>,
    /// Signal that stops it and is not the coordinator's.
    stopped: Option<String>,
    /// Time for which it has reported nothing about its load.
    quiet: Duration,
}

impl Part {
    fn is_over(&self) -> bool {
        self.result.is_some() || self.failed.is_some() || self.lost.is_some()
    }
}

/// Execution of a plan by all clients.
pub(crate) struct Round<'f> {
    pub(crate) fleet: &'f mut Fleet,
    /// The plan of each client.
    pub(crate) shares: Vec<Plan>,
    pub(crate) parts: Vec<Part>,
    /// Start of load, on the coordinator's clock and by the wall clock.
    pub(crate) start: Option<(u64, SystemTime)>,
    seconds: Seconds,
    observer: &'f mut dyn Observer,
    started: &'f mut dyn FnMut(Instant),
    interrupted: &'f AtomicBool,
    /// Time at which clients were asked to stop; `None` before that.
    stopping: Option<Instant>,
    pinged: u64,
    /// State of the messages between clients.
    pub(crate) exchange: exchange::Exchange,
    /// Time of the last wait for events.
    listened: Instant,
}

impl<'f> Round<'f> {
    /// Hands out the shares.
    pub(crate) fn begin(
        fleet: &'f mut Fleet,
        plan: &Plan,
        interrupted: &'f AtomicBool,
        observer: &'f mut dyn Observer,
        started: &'f mut dyn FnMut(Instant),
    ) -> Result<Self, FleetError> {
        if let Some(client) = fleet.clients.iter().find(|client| client.lost.is_some()) {
            let why = client.lost.clone().unwrap_or_default();
            return Err(FleetError(format!(
                "{} was lost ({why}), so the run did not start",
                client.called
            )));
        }
        // A plan may have fewer connections or requests than there are clients.
        let of = fleet.count().min(plan.shares_max());
        let plan = &numbered(plan)?;
        let share = |client: usize| {
            share_of(plan, Shard { index: client as u32 + 1, of }, fleet.is_here(client))
        };
        let shares: Result<Vec<Plan>, String> = (0..of as usize).map(share).collect();
        let shares = shares.map_err(FleetError)?;
        for (client, share) in shares.iter().enumerate() {
            fleet.tell(client, &ToClient::Plan(Box::new(share.clone())));
        }
        let parts = shares.iter().map(|_| Part::default()).collect();
        let seconds = Seconds::new(shares.len());
        Ok(Self {
            fleet,
            shares,
            parts,
            start: None,
            seconds,
            observer,
            started,
            interrupted,
            stopping: None,
            pinged: 0,
            exchange: exchange::Exchange::default(),
            listened: Instant::now(),
        })
    }

    /// Carries the plan out, from connecting to the last result.
    pub(crate) fn carry_out(mut self) -> Result<Self, FleetError> {
        while !self.parts.iter().all(Part::is_over) {
            self.listen(LOOK);
            let ready = self.parts.iter().all(|part| part.ready);
            let waits = ready && self.start.is_none() && self.stopping.is_none();
            if waits && self.are_probes_there() {
                self.start_all();
            }
            self.tell_of_messages();
        }
        if let Some(why) = self.broken() {
            return Err(FleetError(why));
        }
        if self.stopping.is_none() {
            self.look_at_clocks(PINGS / 4, Instant::now() + PING_PATIENCE, false);
            for part in &mut self.parts {
                part.offset_after = Offset::from_pings(&part.pings);
            }
            self.lose_wrong_clocks();
        }
        Ok(self)
    }

    /// Returns the reason why there is no result, if so.
    fn broken(&self) -> Option<String> {
        let called = |client: usize| &self.fleet.clients[client].called;
        for (client, part) in self.parts.iter().enumerate() {
            if let Some(why) = &part.failed {
                return Some(format!("{}: {why}", called(client)));
            }
        }
        if self.start.is_some() {
            return None;
        }
        if let Some(why) = &self.exchange.fault {
            return Some(why.clone());
        }
        let lost = self.parts.iter().enumerate().find_map(|(n, p)| Some((n, p.lost.as_ref()?)));
        lost.map(|(client, why)| {
            format!("{} was lost before the start, so the run did not start: {why}", called(client))
        })
    }

    /// Handles one message, waiting at most `patience`, then quiet, lost and overdue clients.
    fn listen(&mut self, patience: Duration) {
        if self.interrupted.load(Ordering::Relaxed) {
            self.stop("interrupted");
        }
        if let Some((client, at, News::FromClient(text))) = self.fleet.hear(patience, true)
            && client < self.parts.len()
        {
            self.take(client, at, *text);
        }
        self.count_the_quiet();
        self.count_the_lost();
        if self.stopping.is_some_and(|since| since.elapsed() > STOPPING) {
            for client in 0..self.parts.len() {
                if !self.parts[client].is_over() {
                    self.fleet.lose(client, "it did not stop on request".to_owned());
                }
            }
            self.count_the_lost();
        }
    }

    /// Gives up clients that are alive but report nothing about a load that has begun.
    fn count_the_quiet(&mut self) {
        let now = Instant::now();
        // As with silence: a time in which we were stopped is not theirs.
        let passed = now.saturating_duration_since(self.listened).min(2 * LOOK);
        self.listened = now;
        let now_ns = self.fleet.on_clock(now);
        if self.start.is_none_or(|(start_ns, _)| now_ns < start_ns) {
            return;
        }
        for client in 0..self.parts.len() {
            let part = &mut self.parts[client];
            part.quiet += passed;
            if part.quiet >= RESULT && !part.is_over() && self.fleet.clients[client].lost.is_none()
            {
                let why = format!(
                    "alive, but it sent neither figures nor a result for {} s",
                    RESULT.as_secs()
                );
                self.fleet.lose(client, why);
            }
        }
    }

    fn count_the_lost(&mut self) {
        for client in 0..self.parts.len() {
            let Some(why) = self.fleet.clients[client].lost.clone() else { continue };
            if !self.parts[client].is_over() {
                self.count_as_lost(client, &why);
            }
        }
    }

    /// Notes that a client is lost to this run.
    pub(crate) fn count_as_lost(&mut self, client: usize, why: &str) {
        let now_ns = self.fleet.on_clock(Instant::now());
        let after = self.start.and_then(|(start_ns, _)| now_ns.checked_sub(start_ns));
        let why = match &self.parts[client].stopped {
            Some(signal) => format!("stopped by {signal}"),
            None => why.to_owned(),
        };
        let description = match after {
            Some(ns) => format!("after {:.1} s: {why}", ns as f64 / 1e9),
            None if self.start.is_some() => format!("before the start: {why}"),
            None => why,
        };
        self.parts[client].lost = Some(description);
        self.seconds.ended(client);
        if self.start.is_none() || self.fleet.on_loss == OnLoss::Stop {
            let called = self.fleet.clients[client].called.clone();
            self.stop(&format!("{called} was lost"));
        }
    }

    fn take(&mut self, client: usize, at: Instant, message: FromClient) {
        let part = &mut self.parts[client];
        if matches!(message, FromClient::Tick(_) | FromClient::Begun { .. }) {
            part.quiet = Duration::ZERO;
        }
        match message {
            FromClient::Ready { .. } => part.ready = true,
            FromClient::Clock { number, monotonic_ns } => {
                if let Some(sent_ns) = part.asked.remove(&number) {
                    let received_ns = self.fleet.on_clock(at);
                    part.pings.push(Ping { sent_ns, theirs_ns: monotonic_ns, received_ns });
                }
            }
            FromClient::Sent => part.sent = true,
            FromClient::Messages(messages) => part.messages = messages,
            FromClient::Received(page) => self.exchange.add(&page),
            FromClient::Begun { monotonic_ns } => part.begun_ns = Some(monotonic_ns),
            // A client that the coordinator stops too, as it does at the end of a job, is not lost.
            FromClient::Stopped(signal) => {
                let ours = self.stopping.is_some() || self.interrupted.load(Ordering::Relaxed);
                part.stopped = Some(signal).filter(|_| !ours);
            }
            FromClient::Tick(tick) => match part.partial.add(&self.shares[client], &tick) {
                Ok(tally) => self.seconds.add(client, &tick, tally, self.observer),
                Err(error) => {
                    self.fleet.lose(client, format!("its figures cannot be read: {error}"));
                }
            },
            FromClient::Run(record) => match record.load() {
                Ok(loaded) if loaded.runs.len() == 1 => self.take_result(client, at, loaded),
                Ok(_) => {
                    self.fleet.lose(client, "its result does not have exactly one test".to_owned());
                }
                Err(error) => {
                    self.fleet.lose(client, format!("its result cannot be read: {error}"));
                }
            },
            FromClient::Failed(why) => {
                part.failed = Some(why);
                let called = self.fleet.clients[client].called.clone();
                self.stop(&format!("{called} failed"));
            }
            FromClient::Hello(_) | FromClient::Alive(_) => {}
        }
    }

    /// Takes the result of a client, which arrived at `at`.
    fn take_result(&mut self, client: usize, at: Instant, loaded: LoadedRecord) {
        let measurement = &loaded.runs[0].measurement;
        let (ending, elapsed_ns) = (measurement.ending.clone(), measurement.elapsed_ns);
        if let Some(why) = self.longer_than_here(at, elapsed_ns) {
            return self.fleet.lose(client, why);
        }
        let part = &mut self.parts[client];
        let stopped = part.stopped.is_some();
        part.result = Some(loaded);
        // The result has all of it.
        part.partial = Partial::default();
        self.seconds.ended(client);
        match ending {
            Ending::Failed(_) => {
                let called = self.fleet.clients[client].called.clone();
                self.stop(&format!("{called} failed"));
            }
            Ending::Interrupted if stopped => {
                self.count_as_lost(client, "");
                let why = self.parts[client].lost.clone().unwrap_or_default();
                self.fleet.lose(client, why);
            }
            Ending::Complete | Ending::Interrupted => {}
        }
    }

    /// Asks all clients that still work to stop.
    fn stop(&mut self, why: &str) {
        if self.stopping.is_some() {
            return;
        }
        self.stopping = Some(Instant::now());
        for client in 0..self.parts.len() {
            if !self.parts[client].is_over() {
                self.fleet.tell(client, &ToClient::Stop(why.to_owned()));
            }
        }
    }

    /// Measures the clocks, sends the start to everybody, and measures once more.
    fn start_all(&mut self) {
        let began = Instant::now();
        self.look_at_clocks(PINGS, began + PING_PATIENCE * self.parts.len() as u32, true);
        if self.stopping.is_some() {
            return;
        }
        let lead = (began.elapsed() * 3).clamp(LEAD_MIN, LEAD_MAX);
        let start_ns = self.fleet.on_clock(Instant::now() + lead);
        self.start = Some((start_ns, SystemTime::now() + lead));
        (self.started)(self.fleet.epoch + Duration::from_nanos(start_ns));
        for client in 0..self.parts.len() {
            let part = &mut self.parts[client];
            part.offset = Offset::from_pings(&part.pings);
            let Some(offset) = part.offset else {
                self.fleet.lose(client, "it did not report the time".to_owned());
                continue;
            };
            if let Some(why) = clock::contradicts_itself(&part.pings) {
                self.fleet.lose(client, why);
                continue;
            }
            let monotonic_ns = offset.theirs_ns(start_ns);
            self.fleet.tell(client, &ToClient::Start { monotonic_ns });
        }
        // Not up to the start: what begins then is not to be disturbed.
        self.look_at_clocks(PINGS, Instant::now() + lead / 2, false);
        for part in &mut self.parts {
            part.offset = Offset::from_pings(&part.pings).or(part.offset);
        }
    }

    /// Asks every working client for the time, this many times, until the deadline at most. With `patient`,
    /// one answer of each is required: a client may be slow, and a completely silent one is lost soon enough.
    fn look_at_clocks(&mut self, times: usize, deadline: Instant, patient: bool) {
        self.parts.iter_mut().for_each(|part| part.pings.clear());
        let clients: Vec<usize> = (0..self.parts.len()).collect();
        'groups: for group in clients.chunks(ASKED_AT_ONCE) {
            for _ in 0..times {
                for client in group {
                    self.pinged += 1;
                    let sent_ns = self.fleet.on_clock(Instant::now());
                    self.parts[*client].asked.insert(self.pinged, sent_ns);
                    self.fleet.tell(*client, &ToClient::Clock(self.pinged));
                }
                let any = |round: &Self, waits: fn(&Part) -> bool| {
                    group
                        .iter()
                        .any(|c| round.fleet.clients[*c].lost.is_none() && waits(&round.parts[*c]))
                };
                while any(self, |part| !part.asked.is_empty()) {
                    let now = Instant::now();
                    let may_wait = patient && self.stopping.is_none() && now < deadline + SILENT;
                    let needs_more = may_wait && any(self, |part| part.pings.is_empty());
                    if now > deadline && !needs_more {
                        group.iter().for_each(|c| self.parts[*c].asked.clear());
                        continue 'groups;
                    }
                    self.listen(Duration::from_millis(5));
                }
            }
        }
    }
}

/// The plan with a run number, for a run with messages between clients.
fn numbered(plan: &Plan) -> Result<Plan, FleetError> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let mixed = now.as_nanos() as u64 ^ u64::from(std::process::id()).rotate_left(40);
    let number = (SplitMix::new(mixed).draw() >> 32) as u32;
    let numbered = plan.with(|parts| parts.number_exchange(number));
    numbered.map_err(|error| FleetError(error.to_string()))
}

/// The plan of one client. Clients on this machine also share its `--cpus`.
fn share_of(plan: &Plan, shard: Shard, here: bool) -> Result<Plan, String> {
    if matches!(plan.target.endpoint, Endpoint::Spawned { .. }) {
        return Err("the coordinator starts servers".to_owned());
    }
    let share = plan.with(|parts| {
        // Sent once, by the coordinator.
        parts.setup.clear();
        parts.load.shard = shard;
        let all = &parts.load.concurrency.cpus;
        if here && !all.is_empty() {
            let own = shard.part(all.len() as u64);
            parts.load.concurrency.cpus = if own.is_empty() {
                vec![all[(shard.index - 1) as usize % all.len()]]
            } else {
                all[own.start as usize..own.end as usize].to_vec()
            };
        }
    });
    let share = share.map_err(|error| error.to_string())?;
    // Each client has its own senders and receivers.
    share.own_messages().map_err(|error| error.to_string())?;
    Ok(share)
}
