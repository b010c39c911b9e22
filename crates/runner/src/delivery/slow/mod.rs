//! Subscribers that do not read: their pending data grows at the server, until it cuts them off.
//!
//! They have a thread and engines of their own, which do nothing while load runs. Only a separate connection
//! is read, on which the server says who is still connected. Data that reached a subscriber is read once it
//! was cut off, or at the end.

mod connection;
mod subscriber;
mod watch;

use std::io;
use std::sync::atomic::Ordering;
use std::time::Duration;

use engine::Engine;
use measure::SlowSubscribers;
use naming::SLOW;
use wire::resp::Resp;
use workload::{Delivery, Plan, Secret, Subscription};

use super::Roles;
use super::pubsub::Pubsub;
use crate::Fatal;
use crate::handshake::Handshake;
use crate::opening::Origins;
use crate::password::LoginPassword;
use connection::Connection;
use subscriber::SlowSubscriber;
use watch::Watch;

/// Makes an engine for one connection.
pub(crate) type MakeEngine<'r> = dyn Fn() -> io::Result<Box<dyn Engine>> + Sync + 'r;

/// Interval at which the server is asked for its connected clients.
const LOOK_NS: u64 = 50_000_000;
/// Longest waits: for subscribers to be set up, to come back, and for their data at the end.
const SET_UP_NS: u64 = 10_000_000_000;
const COME_BACK_NS: u64 = 1_000_000_000;
const READ_OUT_NS: u64 = 2_000_000_000;
/// Silence after which all data has come.
const QUIET_NS: u64 = 100_000_000;
/// Pause between two checks of the shared state.
const PAUSE: Duration = Duration::from_millis(1);

/// Context of the slow subscribers.
pub(crate) struct SlowContext<'r> {
    pub(crate) plan: &'r Plan,
    pub(crate) roles: &'r Roles<'r>,
    pub(crate) origins: &'r Origins,
    pub(crate) make: &'r MakeEngine<'r>,
    pub(crate) subscription: Subscription,
    /// Number of slow subscribers.
    pub(crate) count: u32,
}

/// Observer of the slow subscribers.
struct SlowObserver<'s> {
    context: &'s SlowContext<'s>,
    subscribers: Vec<SlowSubscriber<'s>>,
    watch: Watch,
    seen: SlowSubscribers,
}

/// Runs the slow subscribers of a run from start to end, on the calling thread.
pub(crate) fn subscribe(context: &SlowContext<'_>) -> SlowSubscribers {
    let all = Delivery {
        places_each: context.roles.delivery.places,
        receivers: context.count,
        ..context.roles.delivery.clone()
    };
    let kind = Pubsub {
        delivery: &all,
        subscription: context.subscription,
        is_broadcast: true,
        event: None,
    };
    let ended = SlowObserver::new(context, &kind).and_then(|mut slow| {
        slow.run()?;
        Ok(slow.seen)
    });
    ended.unwrap_or_else(|fatal| {
        context.roles.gate.fail(fatal);
        SlowSubscribers::default()
    })
}

impl<'s> SlowObserver<'s> {
    fn new(context: &'s SlowContext<'s>, kind: &'s Pubsub<'s>) -> Result<Self, Fatal> {
        let handshake = Handshake::new::<Resp>(context.plan);
        let connection = || {
            let engine = (context.make)();
            let engine =
                engine.map_err(|error| Fatal::new(format!("starting an I/O engine: {error}")))?;
            Ok::<_, Fatal>(Connection::new(engine, handshake.clone()))
        };
        let subscriber = |n| Ok(SlowSubscriber::new(connection()?, kind, (n, context.roles.run)));
        let subscribers = (0..context.count).map(subscriber).collect::<Result<_, Fatal>>()?;
        let seen = SlowSubscribers { subscribers: context.count, ..SlowSubscribers::default() };
        Ok(Self { context, subscribers, watch: Watch::new(connection()?), seen })
    }

    fn run(&mut self) -> Result<(), Fatal> {
        let roles = self.context.roles;
        if !self.set_up()? {
            return Ok(());
        }
        let start_ns = loop {
            match roles.gate.start_ns() {
                Some(start_ns) => break start_ns + self.context.plan.load.warmup_ns,
                None if roles.gate.stopped() => return Ok(()),
                None => std::thread::sleep(PAUSE),
            }
        };
        while !roles.gate.has_failed() && !roles.others_ended(roles.delivery.threads) {
            self.look(start_ns)?;
        }
        self.look(start_ns)?;
        (0..self.subscribers.len()).for_each(|n| self.read_out(n));
        self.seen.received = self.subscribers.iter().map(|slow| slow.received).sum();
        Ok(())
    }

    /// Connects, subscribes and waits for the probes. Returns false if the run was stopped.
    fn set_up(&mut self) -> Result<bool, Fatal> {
        let roles = self.context.roles;
        self.open_watch();
        for n in 0..self.subscribers.len() {
            if !self.open(n, SET_UP_NS)? {
                let address = roles.homes.name();
                return Err(Fatal::new(format!(
                    "{address}: a subscriber of {SLOW} has no confirmation after 10 s"
                )));
            }
        }
        roles.threads[usize::from(roles.delivery.threads)]
            .subscribed
            .store(true, Ordering::Release);
        while self.subscribers.iter().any(|slow| slow.probes > 0) {
            if roles.gate.stopped() {
                return Ok(false);
            }
            for slow in self.subscribers.iter_mut().filter(|slow| slow.probes > 0) {
                let before = slow.probes;
                slow.read(0)?;
                (slow.probes..before).for_each(|_| roles.probe_arrived());
            }
            std::thread::sleep(PAUSE);
        }
        Ok(true)
    }

    fn open_watch(&mut self) {
        let number = self.own_number(self.context.count);
        let context = self.context;
        if let Some(password) = self.password_of_now() {
            self.watch.connection.renew(context.plan, &password);
        }
        self.watch.open(&context.roles.homes.name(), &context.origins.options(number));
    }

    /// Connects a subscriber and waits for its confirmations. Returns whether they came.
    fn open(&mut self, n: usize, patience_ns: u64) -> Result<bool, Fatal> {
        let number = self.own_number(n as u32);
        if let Some(password) = self.password_of_now() {
            self.subscribers[n].connection.renew(self.context.plan, &password);
        }
        let (context, slow) = (self.context, &mut self.subscribers[n]);
        slow.open(&context.roles.homes.name(), &context.origins.options(number));
        slow.read(0)?;
        let end_ns = slow.now_ns() + patience_ns;
        while slow.is_connected() && !slow.is_subscribed() && slow.now_ns() < end_ns {
            slow.read(slow.now_ns() + LOOK_NS)?;
            if context.roles.gate.stopped() {
                break;
            }
        }
        Ok(slow.is_subscribed())
    }

    /// Waits for the current password, if logins ask for one; this thread generates no load. If it is not
    /// available, the server's error will say so.
    fn password_of_now(&self) -> Option<Secret> {
        let source = self.context.roles.password?;
        loop {
            match source.password() {
                LoginPassword::Known(password) => return Some(password),
                LoginPassword::Failed(_) => return None,
                LoginPassword::Pending => std::thread::sleep(PAUSE),
            }
        }
    }

    /// The number of a connection of theirs in the run.
    fn own_number(&self, n: u32) -> u32 {
        let context = self.context;
        context.plan.own_connections() + context.roles.delivery.receivers + n
    }

    /// Asks the server which subscribers are connected, and handles those that are not.
    fn look(&mut self, start_ns: u64) -> Result<(), Fatal> {
        let reconnect = self.context.plan.recovery.reconnect;
        let ids: Vec<u64> = self.subscribers.iter().filter_map(|slow| slow.id).collect();
        let began_ns = self.watch.now_ns();
        let listed = self.watch.look(&ids, began_ns + LOOK_NS);
        if self.watch.is_closed() && reconnect {
            self.open_watch();
        }
        let now_ns = self.watch.now_ns();
        for (_, waiting) in listed.iter().flatten() {
            self.seen.waiting_bytes = self.seen.waiting_bytes.max(Some(*waiting));
        }
        for n in 0..self.subscribers.len() {
            let id = self.subscribers[n].id;
            let is_gone = id.is_some_and(|id| {
                ids.contains(&id)
                    && listed.as_ref().is_some_and(|all| all.iter().all(|(of, _)| *of != id))
            });
            if is_gone {
                self.seen.cut_off(now_ns.saturating_sub(start_ns));
                self.read_out(n);
                self.subscribers[n].close();
            }
            if !self.subscribers[n].is_connected() && reconnect {
                // A server that is away for the moment is asked again.
                let _ = self.open(n, COME_BACK_NS);
            }
        }
        // An answer came at once, and need not be asked for again so soon.
        let rest_ns = (began_ns + LOOK_NS).saturating_sub(now_ns);
        std::thread::sleep(Duration::from_nanos(rest_ns.min(LOOK_NS)));
        Ok(())
    }

    /// Reads the data that has reached a subscriber.
    fn read_out(&mut self, n: usize) {
        let slow = &mut self.subscribers[n];
        if slow.read(0).is_err() {
            return;
        }
        let end_ns = slow.now_ns() + READ_OUT_NS;
        while slow.is_connected() && slow.now_ns() < end_ns {
            if !matches!(slow.read(slow.now_ns() + QUIET_NS), Ok(true)) {
                return;
            }
        }
    }
}
