//! Steps of the worker that depend on the deployment: where it sends what is due, and what follows losses and time.

use engine::{ConnId, Engine};
use wire::Protocol;

use super::Route;
use crate::Fatal;
use crate::worker::Worker;

/// Steps of a worker that its route takes, with defaults that do nothing and cost nothing.
pub(crate) trait RouteHooks: Route {
    /// Called once when a worker has been made.
    fn prepare<E: Engine, P: Protocol>(worker: &mut Worker<'_, E, P, Self>);

    /// Starts the load: every connection has room.
    fn start<E: Engine, P: Protocol>(worker: &mut Worker<'_, E, P, Self>);

    /// Gives more work to a connection that has become ready or has settled replies.
    fn refill<E: Engine, P: Protocol>(worker: &mut Worker<'_, E, P, Self>, conn: ConnId);

    /// Sends all that can be sent. Called once a turn.
    fn dispatch<E: Engine, P: Protocol>(worker: &mut Worker<'_, E, P, Self>);

    /// Sends the steps that have become due by replies on a connection.
    fn follow<E: Engine, P: Protocol>(worker: &mut Worker<'_, E, P, Self>, conn: ConnId);

    /// Takes in the current addresses of the servers.
    fn take_news<E: Engine, P: Protocol>(worker: &mut Worker<'_, E, P, Self>);

    /// Returns a server that requests wait for and that no connection is open to.
    fn absent_server<E: Engine, P: Protocol>(worker: &Worker<'_, E, P, Self>) -> Option<String>;

    /// Called after each event.
    fn after_event<E: Engine, P: Protocol>(_worker: &mut Worker<'_, E, P, Self>) {}

    /// Returns whether a drawn request waits that may exceed its deadline.
    fn waits<E: Engine, P: Protocol>(worker: &Worker<'_, E, P, Self>) -> bool {
        worker.route.waiting() > 0
    }

    /// Gives up drawn requests that wait past their deadline.
    fn give_up_waiting<E: Engine, P: Protocol>(_worker: &mut Worker<'_, E, P, Self>, _now_ns: u64) {
    }

    /// Acts after all replies of one read were settled.
    fn after_read<E: Engine, P: Protocol>(
        _worker: &mut Worker<'_, E, P, Self>,
    ) -> Result<(), Fatal> {
        Ok(())
    }

    /// Returns whether a connection that ends now must be replaced.
    fn wants_connections<E: Engine, P: Protocol>(worker: &Worker<'_, E, P, Self>) -> bool {
        !worker.has_no_more()
    }

    /// Returns whether the route alone handles the loss of this connection. Requests sent at `overdue_ns` or
    /// before have timed out; 0 means none.
    fn gives_up_connection<E: Engine, P: Protocol>(
        _worker: &mut Worker<'_, E, P, Self>,
        _conn: ConnId,
        _overdue_ns: u64,
    ) -> bool {
        false
    }

    /// Time at which the worker should wake up for this route; `u64::MAX` for never.
    fn wake_ns<E: Engine, P: Protocol>(_worker: &Worker<'_, E, P, Self>, _now_ns: u64) -> u64 {
        u64::MAX
    }

    /// Counts and drops retries that were first sent at `overdue_ns` or before. Returns the server of one of
    /// them, if there were any.
    fn drop_overdue<E: Engine, P: Protocol>(
        _worker: &mut Worker<'_, E, P, Self>,
        _overdue_ns: u64,
    ) -> Option<String> {
        None
    }

    /// Returns whether to stop waiting for requests in flight, after the end of a run by time.
    fn gives_up<E: Engine, P: Protocol>(_worker: &Worker<'_, E, P, Self>, _now_ns: u64) -> bool {
        false
    }

    /// Reports to the recorder which servers are asked anything, as an interval is about to end.
    fn note_asked<E: Engine, P: Protocol>(_worker: &mut Worker<'_, E, P, Self>) {}
}
