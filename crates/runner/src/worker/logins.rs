//! Logins whose passwords are asked for: an open connection waits for the current password without holding up
//! the others.

use engine::{ConnId, Engine};
use wire::Protocol;

use super::Worker;
use crate::Fatal;
use crate::connection::State;
use crate::password::{LOOK_EVERY_NS, LoginPassword};
use crate::route::RouteHooks;

impl<E: Engine, P: Protocol, R: RouteHooks> Worker<'_, E, P, R> {
    /// Begins the handshake of an open connection. Without a handshake, returns the connection, which is
    /// ready.
    pub(super) fn greet(&mut self, conn: ConnId) -> Result<Option<ConnId>, Fatal> {
        if self.handshake.steps.is_empty() {
            return Ok(Some(self.ready(conn)));
        }
        self.connections[conn.0 as usize].state = State::Handshake { answered: 0 };
        match self.context.password.map(|source| source.password()) {
            Some(LoginPassword::Pending) => {
                self.handshake.waiting.push(conn);
                let now_ns = self.engine.now_ns();
                self.recovery.look_by(now_ns + LOOK_EVERY_NS);
                return Ok(None);
            }
            Some(LoginPassword::Failed(why)) if self.reconnects() => {
                self.note_refusal(conn, why);
                self.hang_up(conn, 0);
                return Ok(None);
            }
            Some(LoginPassword::Failed(why)) => return Err(Fatal::new(why)),
            Some(LoginPassword::Known(password)) => {
                self.handshake.renew::<P>(self.context.plan, &password);
            }
            None => {}
        }
        self.engine.send(conn, &self.handshake.bytes);
        Ok(None)
    }

    /// Continues with the connections that wait for a password.
    pub(super) fn greet_waiting(&mut self) -> Result<(), Fatal> {
        for conn in std::mem::take(&mut self.handshake.waiting) {
            if matches!(self.connections[conn.0 as usize].state, State::Handshake { answered: 0 }) {
                self.greet(conn)?;
            }
        }
        Ok(())
    }

    /// Time of the next check for a password; `otherwise_ns` if none is awaited.
    pub(super) fn login_wake_ns(&self, otherwise_ns: u64) -> u64 {
        if self.handshake.waiting.is_empty() {
            otherwise_ns
        } else {
            otherwise_ns.min(self.engine.now_ns() + LOOK_EVERY_NS)
        }
    }
}
