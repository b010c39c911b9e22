//! Places of caches that move between cluster nodes: the same cache keeps them.

use engine::{Address, ConnId, Engine};

use super::receivers::{Receiver, Receivers, State};
use crate::{Fatal, explain};

/// Pause before a moving place is read again.
const AGAIN_NS: u64 = 20_000_000;

impl<E: Engine> Receivers<'_, E> {
    /// Handles a redirection: another node has this place of a cache.
    ///
    /// # Errors
    /// Returns an error if the cache has no connection to that node.
    pub(super) fn place_moved(
        &mut self,
        conn: ConnId,
        place: u32,
        error: &[u8],
    ) -> Result<(), Fatal> {
        let roles = self.context.roles;
        let text = explain::text(error);
        let node_receiver = |number: u32| roles.delivery.node_receivers.get(number as usize);
        let receiver = &self.receivers[conn.0 as usize];
        let whose = node_receiver(receiver.number).map(|node_receiver| node_receiver.receiver);
        let home = roles.homes.redirected(&text, &receiver.home);
        let is_its = |other: &Receiver<'_>, home: &Address| {
            other.home == *home
                && node_receiver(other.number).map(|node_receiver| node_receiver.receiver) == whose
        };
        let at = home
            .as_ref()
            .and_then(|home| self.receivers.iter().position(|receiver| is_its(receiver, home)));
        let Some(at) = at else {
            if home.is_some() {
                // Who took over may not be known yet.
                roles.homes.ask();
            }
            if let Some(home) = home.filter(|home| roles.homes.is_master(home, &self.replaced)) {
                return Err(Fatal::new(format!(
                    "{}: a slot has moved to {home}, where caches have no connection: that node has joined the cluster \
                     since the run began",
                    receiver.home
                )));
            }
            // Until it has arrived, it is not there and not here.
            self.receivers[conn.0 as usize].consumer.postpone(place);
            self.pauses.push_back((self.engine.now_ns() + AGAIN_NS, conn));
            return Ok(());
        };
        let released = self.receivers[conn.0 as usize].consumer.release(place);
        let Some(last) = released else { return Ok(()) };
        let mut asked = Vec::new();
        self.receivers[at].consumer.adopt(place, last, &mut asked);
        // One that is away reads all that it holds when it is back.
        if self.receivers[at].state == State::Ready && !asked.is_empty() {
            self.engine.send(ConnId(at as u32), &asked);
        }
        Ok(())
    }
}
