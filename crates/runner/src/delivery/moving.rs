//! Places of caches that move from one node of a cluster to another: the same cache holds them there.

use engine::{ConnId, Engine};

use super::receivers::{Receivers, State};
use crate::{Fatal, explain};

/// After how long a place that is on its way is asked for again.
const AGAIN_NS: u64 = 20_000_000;

impl<E: Engine> Receivers<'_, E> {
    /// A node says that another has this place of a cache.
    ///
    /// # Errors
    /// The cache has no connection to that one.
    pub(super) fn place_moved(
        &mut self,
        conn: ConnId,
        place: u32,
        error: &[u8],
    ) -> Result<(), Fatal> {
        let roles = self.context.roles;
        let text = explain::text(error);
        let receiver = &mut self.receivers[conn.0 as usize];
        let Some(home) = roles.homes.redirected(&text, &receiver.home) else {
            // Until it has arrived, it is not there and not here.
            receiver.consumer.postpone(place);
            self.pauses.push_back((self.engine.now_ns() + AGAIN_NS, conn));
            return Ok(());
        };
        let station = |number: u32| roles.delivery.stations.get(number as usize);
        let whose = station(receiver.number).map(|station| station.receiver);
        let Some(last) = receiver.consumer.release(place) else { return Ok(()) };
        let its = |other: &super::receivers::Receiver<'_>| {
            other.home == home && station(other.number).map(|station| station.receiver) == whose
        };
        let Some(at) = self.receivers.iter().position(its) else {
            return Err(Fatal::new(format!(
                "{}: a slot has moved to {home}, where caches have no connection: it had no key of the run when that \
                 began",
                self.receivers[conn.0 as usize].home
            )));
        };
        let mut asked = Vec::new();
        self.receivers[at].consumer.adopt(place, last, &mut asked);
        // One that is away reads all that it holds when it is back.
        if self.receivers[at].state == State::Ready && !asked.is_empty() {
            self.engine.send(ConnId(at as u32), &asked);
        }
        Ok(())
    }
}
