//! What goes wrong with connections and requests, and what is done about it.
//!
//! Without `reconnect` the first loss or timeout ends the run. With it the connection is opened
//! again, later and later ([`Reopening`](crate::reopening::Reopening)), its requests are counted,
//! and load goes on. Nothing here is on the path of a request: deadlines are looked at now and
//! then, in [`mend`](Worker::mend).

use engine::{ConnId, Engine, Reason};
use wire::Protocol;
use workload::Stop;

use super::Worker;
use crate::session::State;
use crate::{Fatal, explain};

/// A deadline is noticed within this part of it.
pub(crate) const LOOKS_PER_TIMEOUT: u64 = 16;
/// Least time between two looks, and what each connection adds to it: looking costs less than a
/// hundredth of the time.
pub(crate) const LOOK_MIN_NS: u64 = 1_000_000;
pub(crate) const LOOK_PER_CONNECTION_NS: u64 = 1_000;
/// Time between two looks at connections that are being opened again.
pub(crate) const LOOK_OPENING_NS: u64 = 100_000_000;
/// How long opening one again may take, login included.
pub(crate) const OPEN_MAX_NS: u64 = 3_000_000_000;
/// A connection that lives so long has lasted: when it is lost, backing off begins anew.
pub(crate) const LASTING_NS: u64 = 1_000_000_000;
/// How long a run of so many requests goes on while no connection is there.
pub(crate) const ABSENT_MAX_NS: u64 = 60_000_000_000;

/// When something must be looked at that no event tells.
#[derive(Debug, Clone, Copy)]
pub(super) struct Watch {
    /// The earliest thing to do; `u64::MAX` for nothing. One comparison a turn.
    pub(super) due_ns: u64,
    look_ns: u64,
    /// Since when no connection of this worker has been there.
    absent_since_ns: Option<u64>,
}

impl Watch {
    pub(super) const NOTHING: Self =
        Self { due_ns: u64::MAX, look_ns: u64::MAX, absent_since_ns: None };
}

impl<E: Engine, P: Protocol> Worker<'_, E, P> {
    /// A connection is gone and we did not close it.
    pub(super) fn lost(&mut self, conn: ConnId, reason: &Reason) -> Result<(), Fatal> {
        let session = &mut self.sessions[conn.0 as usize];
        let state = session.state;
        let in_flight = session.flights.commands();
        if state == State::Ready && in_flight == 0 && self.spent {
            session.state = State::Closed;
            self.ready -= 1;
            return Ok(()); // It had nothing more to do.
        }
        if self.mends() && !explain::is_ours(reason) {
            self.give_up(conn, 0);
            return Ok(());
        }
        self.abandon(conn, 0);
        let address = &self.address;
        let when = match state {
            State::Opening | State::Closed => {
                return Err(Fatal(explain::connect_failed(address, reason)));
            }
            State::Greeting { .. } => "during the login".to_owned(),
            State::Ready if !self.started => "before the load began".to_owned(),
            State::Ready => format!("with requests in flight on it ({in_flight})"),
        };
        Err(Fatal(format!("{address}: {reason} {when}")))
    }

    /// Whether a connection that is lost now is opened again. One that fails before load runs ends
    /// the run: there is nothing to go on with.
    pub(super) fn mends(&self) -> bool {
        self.shift.plan.reconnect && self.started
    }

    /// Closes a connection that is of no more use, and has it opened again.
    pub(super) fn hang_up(&mut self, conn: ConnId, overdue_ns: u64) {
        self.engine.close(conn);
        self.give_up(conn, overdue_ns);
    }

    /// Counts what was in flight on a connection that is gone, and has it opened again.
    fn give_up(&mut self, conn: ConnId, overdue_ns: u64) {
        let was_ready = self.sessions[conn.0 as usize].state == State::Ready;
        self.abandon(conn, overdue_ns);
        let now_ns = self.engine.now_ns();
        if self.spent || now_ns >= self.stop_ns {
            return;
        }
        let session = &mut self.sessions[conn.0 as usize];
        session.lost = true;
        self.shift.destination.ask();
        if was_ready && now_ns >= session.asked_ns + LASTING_NS {
            session.attempts = 0;
        }
        self.reopening.again(conn, session.attempts, now_ns);
        session.attempts += 1;
        self.plan_mending();
    }

    /// Counts what was in flight on a connection that is gone.
    fn abandon(&mut self, conn: ConnId, overdue_ns: u64) {
        let session = &mut self.sessions[conn.0 as usize];
        let carried_load = session.state == State::Ready;
        session.state = State::Closed;
        self.in_flight -= u64::from(session.flights.commands());
        let abandoned = session.flights.abandon(overdue_ns);
        if carried_load {
            self.ready -= 1;
            self.recorder.connections().dropped += 1;
        }
        self.recorder.abandoned(abandoned, self.engine.now_ns());
    }

    /// A connection that was lost carries load again.
    pub(super) fn mended(&mut self, conn: ConnId) {
        self.sessions[conn.0 as usize].lost = false;
        self.recorder.connections().reconnects += 1;
        self.watch.absent_since_ns = None;
        self.reopening.back(self.engine.now_ns());
        self.plan_mending();
    }

    /// Load starts: from here on deadlines are watched.
    pub(super) fn start_watch(&mut self) {
        let for_timeouts = self.shift.plan.timeout_ns.map(|ns| self.look_every_ns(ns));
        let for_moves = self.shift.destination.follows().then_some(LOOK_OPENING_NS);
        if let Some(ns) = for_timeouts.into_iter().chain(for_moves).min() {
            self.watch.look_ns = self.engine.now_ns() + ns;
        }
        self.plan_mending();
    }

    fn plan_mending(&mut self) {
        self.watch.due_ns = self.watch.look_ns.min(self.reopening.wake_ns());
    }

    fn look_every_ns(&self, timeout_ns: u64) -> u64 {
        let least_ns = LOOK_MIN_NS.max(self.sessions.len() as u64 * LOOK_PER_CONNECTION_NS);
        (timeout_ns / LOOKS_PER_TIMEOUT).max(least_ns)
    }

    /// Opens what is to be opened again and looks at deadlines. To be called when
    /// [`Watch::due_ns`] has come.
    pub(super) fn mend(&mut self) -> Result<(), Fatal> {
        let now_ns = self.engine.now_ns();
        if self.reopening.waiting() > 0 {
            // The last requests may have been taken by another worker.
            self.spent |= self.shift.stream.is_spent();
        }
        if self.spent || now_ns >= self.stop_ns {
            self.reopening.forget();
        }
        if self.mends() && self.shift.destination.generation() != self.generation {
            self.move_on();
        }
        while let Some(conn) = self.reopening.next(now_ns) {
            self.connect(conn);
            self.watch.look_ns = self.watch.look_ns.min(now_ns + LOOK_OPENING_NS);
        }
        if now_ns >= self.watch.look_ns {
            self.look(now_ns)?;
        }
        self.plan_mending();
        Ok(())
    }

    /// The server is elsewhere now: every connection to where it was is of no more use.
    fn move_on(&mut self) {
        self.generation = self.shift.destination.generation();
        self.address = self.shift.destination.address();
        for conn in (0..self.sessions.len() as u32).map(ConnId) {
            let session = &mut self.sessions[conn.0 as usize];
            session.attempts = 0;
            if session.state != State::Closed {
                self.hang_up(conn, 0);
            }
        }
        self.reopening.hurry(self.engine.now_ns());
    }

    /// Looks at every connection for what has taken too long.
    fn look(&mut self, now_ns: u64) -> Result<(), Fatal> {
        let timeout_ns = self.shift.plan.timeout_ns;
        let overdue_ns = timeout_ns.map_or(0, |ns| now_ns.saturating_sub(ns));
        let (mut opening, mut there) = (false, false);
        for conn in (0..self.sessions.len() as u32).map(ConnId) {
            let session = &self.sessions[conn.0 as usize];
            match session.state {
                State::Closed => {}
                State::Ready => {
                    let overdue = session.flights.oldest_ns().is_some_and(|ns| ns <= overdue_ns);
                    if overdue && self.mends() {
                        self.hang_up(conn, overdue_ns);
                    } else if overdue {
                        self.abandon(conn, overdue_ns);
                        return Err(Fatal(self.timed_out()));
                    } else {
                        there = true;
                    }
                }
                State::Opening | State::Greeting { .. } => {
                    opening = true;
                    if self.mends() && now_ns >= session.asked_ns + OPEN_MAX_NS {
                        self.hang_up(conn, 0);
                    }
                }
            }
        }
        self.notice_absence(now_ns, there)?;
        let for_timeouts = timeout_ns.map(|ns| self.look_every_ns(ns));
        let look_on = opening || self.reopening.waiting() > 0 || self.shift.destination.follows();
        let for_openings = look_on.then_some(LOOK_OPENING_NS);
        let soonest_ns = for_timeouts.into_iter().chain(for_openings).min();
        self.watch.look_ns = soonest_ns.map_or(u64::MAX, |ns| now_ns + ns);
        Ok(())
    }

    /// A run of so many requests would never end without a server.
    fn notice_absence(&mut self, now_ns: u64, there: bool) -> Result<(), Fatal> {
        if there || !matches!(self.shift.plan.stop, Stop::Requests(_)) {
            self.watch.absent_since_ns = None;
            return Ok(());
        }
        let since_ns = *self.watch.absent_since_ns.get_or_insert(now_ns);
        if now_ns < since_ns + ABSENT_MAX_NS {
            return Ok(());
        }
        let (address, seconds) = (&self.address, ABSENT_MAX_NS / 1_000_000_000);
        Err(Fatal(format!("{address}: no connection could be opened for {seconds} s")))
    }

    fn timed_out(&self) -> String {
        let address = &self.address;
        let ms = self.shift.plan.timeout_ns.unwrap_or_default() as f64 / 1e6;
        explain::timed_out(address, ms)
    }
}
