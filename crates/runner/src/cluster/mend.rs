//! What goes wrong with connections and requests on a cluster, and what is done about it: the same
//! as in [`crate::worker::mend`], by node.
//!
//! A request is lost with its connection, once, wherever it was sent before. What only waits for a
//! node that has gone waits on: a replica may take its place.

use engine::{Address, ConnId, Engine, Reason};
use wire::Protocol;
use workload::Stop;

use super::link::Request;
use super::worker::ClusterWorker;
use crate::flight::Abandoned;
use crate::session::State;
use crate::worker::mend::{
    ABSENT_MAX_NS, LASTING_NS, LOOK_MIN_NS, LOOK_OPENING_NS, LOOK_PER_CONNECTION_NS,
    LOOKS_PER_TIMEOUT, OPEN_MAX_NS,
};
use crate::{Fatal, explain};

impl<E: Engine, P: Protocol> ClusterWorker<'_, E, P> {
    /// Whether a connection that is lost now is opened again.
    pub(super) fn mends(&self) -> bool {
        self.shift.plan.reconnect && self.started
    }

    /// A connection is gone and we did not close it.
    pub(super) fn lost(&mut self, conn: ConnId, reason: &Reason) -> Result<(), Fatal> {
        let link = &self.links[conn.0 as usize];
        let (state, in_flight) = (link.state, link.requests.len());
        if state == State::Ready && in_flight == 0 && self.has_no_more() {
            self.vacate(conn);
            return Ok(());
        }
        if self.mends() && !explain::is_ours(reason) {
            self.give_up(conn, 0);
            return Ok(());
        }
        let address = Address::Tcp(self.router.node(link.node).address);
        self.abandon(conn, 0);
        let when = match state {
            State::Opening | State::Closed => {
                return Err(Fatal(explain::connect_failed(&address, reason)));
            }
            State::Greeting { .. } => "during the login".to_owned(),
            State::Ready if !self.started => "before the load began".to_owned(),
            State::Ready => format!("with requests in flight on it ({in_flight})"),
        };
        Err(Fatal(format!("{address}: {reason} {when}")))
    }

    /// Whether nothing is left to send, now or again.
    fn has_no_more(&self) -> bool {
        let over = self.spent || self.engine.now_ns() >= self.stop_ns;
        over && self.lanes.waiting() == 0 && self.later.is_empty()
    }

    /// Closes a connection that is of no more use, and has it opened again.
    pub(super) fn hang_up(&mut self, conn: ConnId, overdue_ns: u64) {
        self.engine.close(conn);
        self.give_up(conn, overdue_ns);
    }

    /// Counts what was in flight on a connection that is gone, and has it opened again.
    fn give_up(&mut self, conn: ConnId, overdue_ns: u64) {
        let was_ready = self.links[conn.0 as usize].state == State::Ready;
        self.abandon(conn, overdue_ns);
        self.watch.ask();
        if self.has_no_more() && self.in_flight == 0 {
            return;
        }
        let now_ns = self.engine.now_ns();
        let link = &mut self.links[conn.0 as usize];
        link.lost = true;
        if was_ready && now_ns >= link.asked_ns + LASTING_NS {
            link.attempts = 0;
        }
        self.reopening.again(conn, link.attempts, now_ns);
        link.attempts += 1;
        self.look_ns = self.look_ns.min(now_ns + LOOK_OPENING_NS);
    }

    /// A connection is there no more.
    fn vacate(&mut self, conn: ConnId) {
        let link = &mut self.links[conn.0 as usize];
        let node = link.node;
        if std::mem::take(&mut link.state) == State::Ready {
            self.lanes.count_ready(node, false);
        }
        if std::mem::take(&mut self.links[conn.0 as usize].idle) {
            self.lanes.remove_idle(node, conn);
        }
    }

    /// Counts what was in flight on a connection that is gone.
    fn abandon(&mut self, conn: ConnId, overdue_ns: u64) {
        let link = &mut self.links[conn.0 as usize];
        let (node, carried_load) = (link.node, link.state == State::Ready);
        let requests = std::mem::take(&mut link.requests);
        // Replies that waited for the rest of their sequence count for nothing.
        let held = link.held.len() as u64;
        link.held.clear();
        link.away = None;
        self.vacate(conn);
        self.in_flight -= requests.len();
        if carried_load {
            self.recorder.connections().dropped += 1;
        }
        let mut abandoned = Abandoned::default();
        for (n, request) in requests.iter().enumerate().filter(|(_, request)| request.measured) {
            let commands = unanswered(request) + if n == 0 { held } else { 0 };
            if request.handed_ns <= overdue_ns {
                abandoned.timed_out += commands;
            } else {
                abandoned.lost += commands;
            }
        }
        self.count_abandoned(node, abandoned);
    }

    fn count_abandoned(&mut self, node: u16, abandoned: Abandoned) {
        self.record_of(node);
        self.tallies[usize::from(node)].unanswered += abandoned.lost + abandoned.timed_out;
        self.recorder.abandoned(abandoned, self.engine.now_ns());
    }

    /// A request that was still without a reply when the run ended.
    pub(super) fn never_answered(&mut self, node: u16, request: &Request) {
        if request.measured {
            let commands = unanswered(request);
            self.recorder.connections().unanswered += commands;
            self.tallies[usize::from(node)].unanswered += commands;
        }
    }

    /// Does what has become due: news of the cluster, lost connections, requests to send again,
    /// deadlines.
    pub(super) fn mend(&mut self) -> Result<(), Fatal> {
        if let Some(topology) = self.watch.news(&mut self.seen) {
            self.router.apply(&topology);
            self.know_nodes();
            self.reroute();
            self.rebalance();
        }
        if !self.later.is_empty() {
            self.send_again();
        }
        if self.reopening.waiting() > 0 {
            self.reopen();
        }
        let now_ns = self.engine.now_ns();
        if now_ns >= self.look_ns { self.look(now_ns) } else { Ok(()) }
    }

    fn reopen(&mut self) {
        // The last requests may have been taken by another worker.
        self.spent |= self.shift.stream.is_spent();
        if self.has_no_more() && self.in_flight == 0 {
            self.reopening.forget();
        }
        let now_ns = self.engine.now_ns();
        while let Some(conn) = self.reopening.next(now_ns) {
            self.connect(conn);
        }
    }

    /// Load starts: from here on deadlines are watched.
    pub(super) fn start_watch(&mut self) {
        let timeout_ns = self.shift.plan.timeout_ns;
        let every_ns = timeout_ns.map_or(u64::MAX, |ns| self.look_every_ns(ns));
        self.look_ns = self.engine.now_ns().saturating_add(every_ns);
    }

    fn look_every_ns(&self, timeout_ns: u64) -> u64 {
        let least_ns = LOOK_MIN_NS.max(self.links.len() as u64 * LOOK_PER_CONNECTION_NS);
        (timeout_ns / LOOKS_PER_TIMEOUT).max(least_ns)
    }

    /// Looks for what has taken too long.
    fn look(&mut self, now_ns: u64) -> Result<(), Fatal> {
        let timeout_ns = self.shift.plan.timeout_ns;
        let overdue_ns = timeout_ns.map_or(0, |ns| now_ns.saturating_sub(ns));
        let mut opening = false;
        for conn in (0..self.links.len() as u32).map(ConnId) {
            let link = &self.links[conn.0 as usize];
            match link.state {
                State::Closed => {}
                State::Ready => {
                    let oldest = link.requests.front();
                    if oldest.is_some_and(|request| request.handed_ns <= overdue_ns) {
                        self.time_out(conn, overdue_ns)?;
                    }
                }
                State::Opening | State::Greeting { .. } => {
                    opening = true;
                    if self.mends() && now_ns >= link.asked_ns + OPEN_MAX_NS {
                        self.hang_up(conn, 0);
                    }
                }
            }
        }
        self.drop_overdue(overdue_ns)?;
        self.notice_absence(now_ns)?;
        let broken = opening || self.reopening.waiting() > 0 || self.cut_off_since_ns.is_some();
        if broken {
            // The cluster takes a while to notice that one of its nodes is gone.
            self.watch.ask();
        }
        let for_timeouts = timeout_ns.map(|ns| self.look_every_ns(ns));
        let for_openings = broken.then_some(LOOK_OPENING_NS);
        let soonest_ns = for_timeouts.into_iter().chain(for_openings).min();
        self.look_ns = soonest_ns.map_or(u64::MAX, |ns| now_ns + ns);
        Ok(())
    }

    /// The oldest request of a connection has waited too long.
    fn time_out(&mut self, conn: ConnId, overdue_ns: u64) -> Result<(), Fatal> {
        if self.mends() {
            self.hang_up(conn, overdue_ns);
            return Ok(());
        }
        let name = self.router.node(self.links[conn.0 as usize].node).name.clone();
        self.abandon(conn, overdue_ns);
        Err(Fatal(self.timed_out(&name)))
    }

    fn timed_out(&self, name: &str) -> String {
        let ms = self.shift.plan.timeout_ns.unwrap_or_default() as f64 / 1e6;
        explain::timed_out(name, ms)
    }

    /// Gives up requests that were turned away again and again until their time was over.
    fn drop_overdue(&mut self, overdue_ns: u64) -> Result<(), Fatal> {
        let overdue = |request: &Request| request.sent_ns > 0 && request.sent_ns <= overdue_ns;
        let mut dropped = Vec::new();
        for node in 0..self.router.nodes().len() as u16 {
            dropped.extend(self.lanes.take_overdue(node, overdue).into_iter().map(|r| (node, r)));
        }
        let mut n = 0;
        while n < self.later.len() {
            if overdue(&self.later[n].1) {
                let (_, request) = self.later.swap_remove(n);
                dropped.push((self.router.route(request.slot, request.read_only), request));
            } else {
                n += 1;
            }
        }
        for (node, request) in &dropped {
            self.in_flight -= 1;
            if request.measured {
                let timed_out = unanswered(request);
                self.count_abandoned(*node, Abandoned { timed_out, lost: 0 });
            }
        }
        match dropped.first() {
            Some((node, _)) if !self.mends() => {
                let name = self.router.node(*node).name.clone();
                Err(Fatal(self.timed_out(&name)))
            }
            _ => Ok(()),
        }
    }

    /// A run of so many requests would never end without one of its nodes.
    fn notice_absence(&mut self, now_ns: u64) -> Result<(), Fatal> {
        let cut_off = (0..self.router.nodes().len() as u16).find(|n| self.lanes.is_cut_off(*n));
        let Some(node) = cut_off else {
            self.cut_off_since_ns = None;
            return Ok(());
        };
        let since_ns = *self.cut_off_since_ns.get_or_insert(now_ns);
        let by_number = matches!(self.shift.plan.stop, Stop::Requests(_));
        if !by_number || now_ns < since_ns + ABSENT_MAX_NS {
            return Ok(());
        }
        let (name, seconds) = (&self.router.node(node).name, ABSENT_MAX_NS / 1_000_000_000);
        Err(Fatal(format!("{name}: no connection could be opened for {seconds} s")))
    }
}

/// Commands of a request without a reply.
fn unanswered(request: &Request) -> u64 {
    u64::from(request.commands - request.answered)
}
