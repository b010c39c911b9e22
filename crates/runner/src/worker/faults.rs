//! Faults of connections and requests, and the recovery from them.
//!
//! Without `reconnect` the first loss or timeout ends the run. With it the connection is reopened, with growing delays
//! ([`recovery`](super::recovery)), its requests are counted, and load continues. A request is lost with its
//! connection, once, wherever it was sent before. Nothing here is on the path of a request:
//! [`recover`](Worker::recover) checks deadlines now and then.

use engine::{ConnId, Engine, Reason};
use naming::advice::ADD_TLS;
use wire::{Batch, Protocol};
use workload::{Plan, Stop};

use super::operations::Steps;
use super::recovery::LOOK_OPENING_NS;
use super::retry::Retries;
use super::verify::failed;
use super::{ConnectionOf, Worker};
use crate::connection::{Connection, State};
use crate::recorder::Recorder;
use crate::route::{LostRequest, RouteHooks};
use crate::{Fatal, explain};

/// Checks per timeout: a missed one is noticed within this part of it.
const LOOKS_PER_TIMEOUT: u64 = 16;
/// Minimum time between two checks, and the time that each connection adds: checks take less than a hundredth
/// of the time.
const LOOK_MIN_NS: u64 = 1_000_000;
const LOOK_PER_CONNECTION_NS: u64 = 1_000;
/// Longest time to open a connection again, handshake included.
const OPEN_MAX_NS: u64 = 3_000_000_000;
/// Lifetime after which the loss of a connection starts with the shortest delay again.
const LASTING_NS: u64 = 1_000_000_000;
/// Kind of error of a request that is lost with its connection.
const LOST: &str = "connection-dropped";
/// Longest time that a run by number of requests continues without any connection.
const ABSENT_MAX_NS: u64 = 60_000_000_000;

/// Parts of a worker that the loss of a connection affects.
struct LossContext<'w, R: RouteHooks> {
    recorder: &'w mut Recorder,
    route: &'w mut R,
    steps: &'w mut Steps<R::Mark>,
    /// Retries, if any requests may be retried.
    retries: Option<&'w Retries<R::Mark>>,
    batch: &'w Batch,
    plan: &'w Plan,
}

/// Counts the requests in flight on a lost connection, except retries. No new request is sent from `stop_ns`
/// on. Independent of the engine, so that it is compiled once for each protocol and route.
#[cold]
#[inline(never)]
fn forsake_requests<P: Protocol, R: RouteHooks>(
    connection: &mut ConnectionOf<P, R>,
    rest: LossContext<'_, R>,
    overdue_ns: u64,
    now_ns: u64,
    stop_ns: u64,
) {
    let LossContext { recorder, route, steps, retries, batch, plan } = rest;
    let Connection { state, requests, place, .. } = connection;
    if *state == State::Ready {
        recorder.connections().dropped += 1;
    }
    let withheld = R::withheld(place);
    let abandoned = requests.abandon(overdue_ns, withheld, |request| {
        let again = retries.is_some_and(|retries| retries.allow(request, now_ns, stop_ns));
        if again && route.may_retry(place, request, LOST) {
            steps.failed.push(request.once_more());
            return 0;
        }
        if plan.peer.each_failure && request.measured {
            let (given, command) = (request.given(&steps.kept), request.command);
            let retries = request.progress.retries;
            recorder.tell(failed::<P>(plan, batch, given, command, LOST, retries));
        }
        let LostRequest { commands, is_last } = route.forsake(request);
        if is_last {
            steps.forget(request.progress);
        }
        commands
    });
    route.count_unanswered(place, abandoned.total());
    route.record_of(place, recorder);
    recorder.abandoned(abandoned, now_ns);
}

impl<E: Engine, P: Protocol, R: RouteHooks> Worker<'_, E, P, R> {
    /// Handles the loss of a connection that keystorm did not close.
    pub(super) fn lost(&mut self, conn: ConnId, reason: &Reason) -> Result<(), Fatal> {
        let connection = &self.connections[conn.0 as usize];
        let (state, in_flight) = (connection.state, connection.requests.commands());
        if state == State::Ready && connection.is_idle() && self.has_no_more() {
            self.unready(conn);
            return Ok(()); // It had nothing more to do.
        }
        if self.reconnects() && !explain::is_ours(reason) {
            if state != State::Ready {
                self.note_refusal(conn, reason.to_string());
            }
            self.give_up(conn, 0);
            return Ok(());
        }
        let address = self.route.address(&connection.place).into_owned();
        // A TLS server that is spoken to in plain text hangs up, most of them without a word.
        let is_unheard = self.handshake.steps.is_empty() && self.recorder.is_unheard();
        let hint = match self.context.plan.target.tls {
            None if is_unheard => format!("; if it requires TLS, {ADD_TLS}"),
            _ => String::new(),
        };
        self.abandon(conn, 0);
        let when = match state {
            State::Opening | State::Closed => {
                return Err(Fatal::new(explain::connect_failed(&address, reason)));
            }
            State::Handshake { .. } => "during the login".to_owned(),
            State::Ready if !self.started => "before the load began".to_owned(),
            State::Ready if in_flight == 0 => "with no request in flight on it".to_owned(),
            State::Ready => format!("with requests in flight on it ({in_flight})"),
        };
        // A reason may be a sentence with advice, behind which nothing can go on.
        Err(Fatal::new(format!("{address}: {when}: {reason}{hint}")))
    }

    /// Returns whether a connection that is lost now is reopened. A failure before load starts ends the run,
    /// as there is nothing to continue with.
    pub(crate) fn reconnects(&self) -> bool {
        self.context.plan.recovery.reconnect && self.started
    }

    /// Keeps why an attempt to open a lost connection again failed.
    pub(super) fn note_refusal(&mut self, conn: ConnId, why: String) {
        let server = self.route.server(&self.connections[conn.0 as usize].place);
        let refusals = &mut self.recovery.refusals;
        match refusals.iter_mut().find(|(named, _)| *named == server) {
            Some((_, last)) => *last = why,
            None => refusals.push((server, why)),
        }
    }

    /// Closes a connection that is no longer useful, and has it reopened.
    pub(crate) fn hang_up(&mut self, conn: ConnId, overdue_ns: u64) {
        self.engine.close(conn);
        self.give_up(conn, overdue_ns);
    }

    /// Counts the requests in flight on a lost connection, and has it reopened.
    fn give_up(&mut self, conn: ConnId, overdue_ns: u64) {
        if R::gives_up_connection(self, conn, overdue_ns) {
            return;
        }
        let was_ready = self.connections[conn.0 as usize].state == State::Ready;
        self.abandon(conn, overdue_ns);
        self.ask_where();
        let is_waited_for = self.connections[conn.0 as usize].postponed > 0;
        if !is_waited_for && !R::wants_connections(self) {
            return;
        }
        let now_ns = self.engine.now_ns();
        let connection = &mut self.connections[conn.0 as usize];
        connection.lost = true;
        if was_ready && now_ns >= connection.asked_ns + LASTING_NS {
            connection.attempts = 0;
        }
        let tries = self.context.plan.recovery.reopening.tries;
        if !was_ready && tries.is_some_and(|tries| connection.attempts >= tries) {
            let address = self.route.address(&connection.place).into_owned();
            let tries = connection.attempts;
            self.recovery.exhausted = Some(explain::not_reopened(&address, tries));
            self.recovery.look_by(now_ns);
            return;
        }
        self.recovery.reopening.again(conn, connection.attempts, now_ns);
        connection.attempts += 1;
        self.recovery.look_by(now_ns + LOOK_OPENING_NS);
    }

    /// Requests the current address of the server.
    fn ask_where(&mut self) {
        self.context.destination.ask();
        self.route.ask_where();
    }

    /// Counts the requests in flight on a lost connection, except retries.
    #[cold]
    fn abandon(&mut self, conn: ConnId, overdue_ns: u64) {
        let reconnects = self.reconnects();
        let (now_ns, stop_ns) = (self.engine.now_ns(), self.stop_ns);
        let Self {
            connections, recorder, route, steps, retries, batch, context, in_flight, ..
        } = self;
        let connection = &mut connections[conn.0 as usize];
        *in_flight -= u64::from(connection.requests.commands());
        let retries = reconnects.then_some(&*retries);
        let rest = LossContext { recorder, route, steps, retries, batch, plan: context.plan };
        forsake_requests::<P, R>(connection, rest, overdue_ns, now_ns, stop_ns);
        self.unready(conn);
        self.postpone(conn);
        self.follow(conn);
    }

    /// Notes that a lost connection carries load again.
    pub(super) fn recovered(&mut self, now_ns: u64) {
        self.recovery.absent_since_ns = None;
        self.recovery.reopening.back(now_ns);
        self.recovery.plan();
    }

    /// Starts checking deadlines, as load begins.
    pub(super) fn start_recovery(&mut self) {
        let for_timeouts = self.context.plan.recovery.timeout_ns.map(|ns| self.look_every_ns(ns));
        let for_moves = self.context.destination.follows().then_some(LOOK_OPENING_NS);
        if let Some(ns) = for_timeouts.into_iter().chain(for_moves).min() {
            self.recovery.look_ns = self.engine.now_ns() + ns;
        }
        self.recovery.plan();
    }

    fn look_every_ns(&self, timeout_ns: u64) -> u64 {
        let least_ns = LOOK_MIN_NS.max(self.connections.len() as u64 * LOOK_PER_CONNECTION_NS);
        (timeout_ns / LOOKS_PER_TIMEOUT).max(least_ns)
    }

    /// Reopens connections, takes in news of the server, and checks deadlines. Called when
    /// [`Recovery::due_ns`] has come or the route has news.
    pub(super) fn recover(&mut self) -> Result<(), Fatal> {
        let now_ns = self.engine.now_ns();
        if let Some(why) = self.recovery.exhausted.take() {
            return Err(Fatal::new(why));
        }
        if self.recovery.is_under_way() {
            // The last requests may have been taken by another worker.
            self.spent |= self.context.stream.is_spent();
        }
        if self.retries.is_empty() && !R::wants_connections(self) {
            self.recovery.reopening.forget();
        }
        R::take_news(self);
        while let Some(conn) = self.recovery.reopening.next(now_ns) {
            self.connect(conn);
            self.recovery.look_by(now_ns + LOOK_OPENING_NS);
        }
        if now_ns >= self.recovery.look_ns {
            self.look(now_ns)?;
        }
        self.greet_waiting()?;
        self.recovery.plan();
        Ok(())
    }

    /// Checks every connection for timeouts.
    fn look(&mut self, now_ns: u64) -> Result<(), Fatal> {
        let timeout_ns = self.context.plan.recovery.timeout_ns;
        let overdue_ns = timeout_ns.map_or(0, |ns| now_ns.saturating_sub(ns));
        let open_max_ns = self.context.plan.recovery.reopening.within_ns.unwrap_or(OPEN_MAX_NS);
        let (mut opening, mut lost) = (false, false);
        for conn in (0..self.connections.len() as u32).map(ConnId) {
            let connection = &self.connections[conn.0 as usize];
            match connection.state {
                State::Closed => {}
                State::Ready => {
                    // 0 is for none: no timeout, or none that can have passed.
                    let is_overdue = |ns| overdue_ns > 0 && ns <= overdue_ns;
                    if connection.requests.oldest_ns().is_some_and(is_overdue) {
                        self.time_out(conn, overdue_ns)?;
                    }
                }
                State::Opening | State::Handshake { .. } => {
                    opening = true;
                    lost |= connection.lost;
                    if self.reconnects() && now_ns >= connection.asked_ns + open_max_ns {
                        let why = format!("no answer within {} s", open_max_ns as f64 / 1e9);
                        self.note_refusal(conn, why);
                        self.hang_up(conn, 0);
                    }
                }
            }
        }
        if overdue_ns > 0
            && let Some(server) = R::drop_overdue(self, overdue_ns)
            && !self.reconnects()
        {
            return Err(Fatal::new(self.timed_out(&server)));
        }
        self.notice_absence(now_ns)?;
        let waits = self.recovery.is_under_way() || self.recovery.absent_since_ns.is_some();
        if waits || lost {
            // A cluster or a sentinel takes a while to notice that a server is gone.
            self.ask_where();
        }
        let for_timeouts = timeout_ns.map(|ns| self.look_every_ns(ns));
        let looks_on = opening || waits || self.context.destination.follows();
        let for_openings = looks_on.then_some(LOOK_OPENING_NS);
        let soonest_ns = for_timeouts.into_iter().chain(for_openings).min();
        self.recovery.look_ns = soonest_ns.map_or(u64::MAX, |ns| now_ns + ns);
        Ok(())
    }

    /// The oldest request of a connection has waited too long.
    fn time_out(&mut self, conn: ConnId, overdue_ns: u64) -> Result<(), Fatal> {
        if self.reconnects() {
            self.hang_up(conn, overdue_ns);
            return Ok(());
        }
        let server = self.route.server(&self.connections[conn.0 as usize].place);
        self.abandon(conn, overdue_ns);
        Err(Fatal::new(self.timed_out(&server)))
    }

    fn timed_out(&self, server: &str) -> String {
        let ms = self.context.plan.recovery.timeout_ns.unwrap_or_default() as f64 / 1e6;
        explain::timed_out(server, ms)
    }

    /// Fails a run by number of requests that has long been without a required server, as it would never end.
    fn notice_absence(&mut self, now_ns: u64) -> Result<(), Fatal> {
        let Some(server) = R::absent_server(self) else {
            self.recovery.absent_since_ns = None;
            return Ok(());
        };
        let since_ns = *self.recovery.absent_since_ns.get_or_insert(now_ns);
        let by_number = matches!(self.context.plan.load.stop, Stop::Requests(_));
        if !by_number || now_ns < since_ns + ABSENT_MAX_NS {
            return Ok(());
        }
        let seconds = ABSENT_MAX_NS / 1_000_000_000;
        let refusal = self.recovery.refusal(&server);
        let last = refusal.map_or(String::new(), |why| format!("; the last attempt: {why}"));
        Err(Fatal::new(format!("{server}: no connection could be opened for {seconds} s{last}")))
    }
}
