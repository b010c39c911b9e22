//! Logins of receivers whose passwords are asked for: an open connection waits for the current password
//! without holding up the others.

use engine::{ConnId, Engine, Reason};
use wire::resp::Resp;

use super::receivers::{Receivers, State};
use crate::Fatal;
use crate::password::{LOOK_EVERY_NS, LoginPassword};

impl<E: Engine> Receivers<'_, E> {
    /// Logs a connection in as soon as the password is known.
    pub(super) fn log_in(&mut self, conn: ConnId) -> Result<(), Fatal> {
        match self.password_of_now() {
            Some(LoginPassword::Pending) => {
                if !self.handshake.waiting.contains(&conn) {
                    self.handshake.waiting.push(conn);
                }
                return Ok(());
            }
            Some(LoginPassword::Failed(_))
                if self.context.reconnects() && !self.is_prober(conn) =>
            {
                return self.turned_away(conn);
            }
            Some(LoginPassword::Failed(why)) => return Err(Fatal::new(why)),
            Some(LoginPassword::Known(_)) | None => {}
        }
        self.engine.send(conn, &self.handshake.bytes);
        Ok(())
    }

    /// Returns the current password, if logins ask for one, and puts it into the handshake.
    fn password_of_now(&mut self) -> Option<LoginPassword> {
        let password = self.context.roles.password?.password();
        if let LoginPassword::Known(password) = &password {
            self.handshake.renew::<Resp>(self.context.plan, password);
        }
        Some(password)
    }

    /// Waits for the current password, until `end_ns` at most. Returns whether it is known or none is needed.
    pub(super) fn knows_login(&mut self, end_ns: u64) -> bool {
        loop {
            match self.password_of_now() {
                Some(LoginPassword::Known(_)) | None => return true,
                Some(LoginPassword::Failed(_)) => return false,
                Some(LoginPassword::Pending) => {}
            }
            let now_ns = self.engine.now_ns();
            if now_ns >= end_ns || self.engine.wait(Some(now_ns + LOOK_EVERY_NS)).is_err() {
                return false;
            }
        }
    }

    /// Continues with the connections that wait for a password.
    pub(super) fn log_in_waiting(&mut self) -> Result<(), Fatal> {
        for conn in std::mem::take(&mut self.handshake.waiting) {
            if self.is_greeting(conn) {
                self.log_in(conn)?;
            }
        }
        Ok(())
    }

    /// Returns whether a connection is open and has no reply yet.
    fn is_greeting(&self, conn: ConnId) -> bool {
        const GREETING: State = State::Handshake { answered: 0 };
        if self.is_prober(conn) {
            return self.prober.as_ref().is_some_and(|prober| prober.is_greeting());
        }
        match self.listening_for(conn) {
            Some(receiver) => {
                let listener = self.listeners.get(receiver.0 as usize);
                listener.is_some_and(|listener| listener.state == GREETING)
            }
            None => self.receivers[conn.0 as usize].state == GREETING,
        }
    }

    /// Time of the next check for a password that connections wait for.
    pub(super) fn login_wake_ns(&self) -> u64 {
        if self.handshake.waiting.is_empty() {
            u64::MAX
        } else {
            self.engine.now_ns() + LOOK_EVERY_NS
        }
    }

    /// Sends a receiver away that the server refuses for the moment; it reconnects later.
    pub(super) fn turned_away(&mut self, conn: ConnId) -> Result<(), Fatal> {
        self.engine.close(conn);
        self.lost(conn, &Reason::ByPeer)
    }
}
