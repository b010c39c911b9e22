//! Receivers that lose their connection or are redirected, and their return.

use engine::{ConnId, Engine, Reason};
use naming::RECONNECT;
use workload::DeliveryKind;

use super::probe::Prober;
use super::receivers::{Receivers, State};
use crate::{Fatal, explain};

/// Time within which a server that rejects a blocking command does so.
const REFUSED_WITHIN_NS: u64 = 100_000_000;

impl<E: Engine> Receivers<'_, E> {
    /// A connection has ended.
    pub(super) fn lost(&mut self, conn: ConnId, reason: &Reason) -> Result<(), Fatal> {
        let roles = self.context.roles;
        if self.is_prober(conn) {
            if roles.gate.start_ns().is_some() {
                self.prober.iter_mut().for_each(Prober::lost);
                return Ok(());
            }
            let address = self.prober.as_ref().and_then(Prober::address).cloned();
            let address = address.unwrap_or_else(|| roles.homes.name());
            let why = format!("{address}: the connection that sends probes was lost: {reason}");
            return Err(Fatal::new(why));
        }
        let started = roles.gate.start_ns().is_some();
        let conn = self.close_pair(conn);
        let receiver = &mut self.receivers[conn.0 as usize];
        let was = std::mem::replace(&mut receiver.state, State::Closed);
        if !started {
            return Err(Fatal::new(explain::connect_failed(&receiver.home, reason)));
        }
        if !self.context.plan.recovery.reconnect {
            let is_subscriber = self.block_ns.is_none() && self.invalidations.is_none();
            let why = if is_subscriber {
                " one that falls behind is cut off at client-output-buffer-limit pubsub;"
            } else {
                ""
            };
            return Err(Fatal::new(format!(
                "{}: a receiver lost its connection: {reason};{why} with {RECONNECT} yes it comes back",
                receiver.home
            )));
        }
        if was != State::Ready
            && roles.homes.is_cluster()
            && roles.delivery.node_receivers.is_empty()
        {
            // The node may be gone for good; another knows who has its slots.
            receiver.home = roles.homes.nth((receiver.number + receiver.attempts) as usize);
        }
        roles.homes.ask();
        self.leave(conn, was);
        self.pauses.retain(|(_, paused)| *paused != conn);
        self.come_back(conn);
        Ok(())
    }

    /// Moves receivers whose server was replaced to its successor. A receiver that still gets its messages
    /// stays: a cluster node that has become a replica still passes on published messages, and ends blocking
    /// waits itself.
    pub(super) fn take_news(&mut self) {
        let roles = self.context.roles;
        // A replica is read where the plan says, whatever becomes of its primary.
        if !self.context.plan.recovery.reconnect || roles.delivery.kind == DeliveryKind::Replica {
            return;
        }
        let stays = roles.homes.is_cluster() && roles.delivery.node_receivers.is_empty();
        for (former, successor) in roles.homes.successors(&mut self.replaced) {
            for conn in (0..self.receivers.len() as u32).map(ConnId) {
                let receiver = &mut self.receivers[conn.0 as usize];
                if receiver.home != former || (stays && receiver.state == State::Ready) {
                    continue;
                }
                (receiver.home, receiver.attempts) = (successor.clone(), 0);
                let was = std::mem::replace(&mut receiver.state, State::Closed);
                self.close_pair(conn);
                self.engine.close(conn);
                self.leave(conn, was);
                self.pauses.retain(|(_, paused)| *paused != conn);
                self.reopening.forget_one(conn);
                self.come_back(conn);
            }
        }
    }

    /// Reopens the connections whose pause is over.
    pub(super) fn reopen(&mut self, now_ns: u64) {
        while let Some(conn) = self.reopening.next(now_ns) {
            self.connect(conn);
        }
    }

    /// Handles an error reply to a receiver: a redirection or a temporary refusal.
    ///
    /// # Errors
    /// Returns an error for any other reply, after which the receiver cannot go on.
    pub(super) fn refused(&mut self, conn: ConnId, text: &[u8]) -> Result<(), Fatal> {
        let text = explain::text(text);
        let started = self.context.roles.gate.start_ns().is_some();
        self.close_pair(conn);
        let homes = &self.context.roles.homes;
        let receiver = &mut self.receivers[conn.0 as usize];
        let delivery = self.context.roles.delivery;
        let is_at_node = !delivery.node_receivers.is_empty();
        let moved = match homes.redirected(&text, &receiver.home) {
            // The master is named; one of the other replicas is its.
            Some(_) if is_at_node && delivery.kind == DeliveryKind::Replica => {
                homes.next_replica(&receiver.home)
            }
            Some(other) if is_at_node => {
                return Err(Fatal::new(format!(
                    "{}: a slot has moved to {other}: a cache reads its keys at the nodes that had them when it began",
                    receiver.home
                )));
            }
            moved => moved,
        };
        // Where a slot is on its way, a receiver waits until it has arrived, and then follows it.
        let waits = moved.is_none() && homes.elsewhere(&text, &receiver.home).is_some();
        let home = moved.or_else(|| waits.then(|| receiver.home.clone()));
        let Some(home) = home else {
            if started && self.context.plan.recovery.reconnect && explain::is_passing(&text) {
                self.engine.close(conn);
                // Nobody cut it off.
                if std::mem::replace(&mut receiver.state, State::Closed) == State::Ready {
                    self.ready -= 1;
                    (receiver.was_lost, receiver.is_proved) = (true, false);
                }
                return self.lost(conn, &Reason::ByPeer);
            }
            return Err(self.handshake.fatal(text.as_bytes()));
        };
        receiver.home = home;
        let was = std::mem::replace(&mut receiver.state, State::Closed);
        self.engine.close(conn);
        self.leave(conn, was);
        if started || waits {
            self.come_back(conn);
        } else {
            self.connect(conn);
        }
        Ok(())
    }

    /// Notes that a receiver in this state gets no messages for a while.
    fn leave(&mut self, conn: ConnId, was: State) {
        let now_ns = self.engine.now_ns();
        let receiver = &mut self.receivers[conn.0 as usize];
        if was != State::Ready {
            return;
        }
        self.ready -= 1;
        receiver.was_lost = true;
        let waited = now_ns.saturating_sub(receiver.asked_ns) > REFUSED_WITHIN_NS;
        if std::mem::take(&mut receiver.is_proved) || waited {
            (self.counts.cut_off, receiver.attempts) = (self.counts.cut_off + 1, 0);
        }
    }

    /// Schedules the reopening of a connection, after a pause that grows with each attempt.
    fn come_back(&mut self, conn: ConnId) {
        let receiver = &mut self.receivers[conn.0 as usize];
        receiver.attempts += 1;
        let (attempt, now_ns) = (receiver.attempts - 1, self.engine.now_ns());
        self.reopening.again(conn, attempt, now_ns);
    }
}
