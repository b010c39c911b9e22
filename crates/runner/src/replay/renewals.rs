//! Connections closed and reopened at a rate: how many, in which order, and without any loss.

use measure::Ending;
use workload::{Pace, PlanParts, Shard, Stop, Window};

use super::cluster::{masters, on_cluster};
use super::server::Server;
use super::{MS, SECOND, parts, replay, replay_on};

fn renewing(mut plan: PlanParts, per_s: u32) -> PlanParts {
    plan.load.concurrency.renewed_per_s = per_s;
    plan.load.concurrency.window = Window::Rolling;
    plan.recovery.reconnect = true;
    plan
}

#[test]
fn connections_are_renewed_in_turn_at_their_rate_and_lose_nothing() {
    for (connections, depth, pace) in [
        (4, 1, Pace::constant(1000.0)),
        (1, 1, Pace::constant(100.0)),
        (4, 1, Pace::Closed),
        (3, 16, Pace::Closed),
        (3, 16, Pace::constant(1000.0)),
    ] {
        let mut plan = renewing(parts(connections, depth, Stop::AfterNs(10 * SECOND)), 5);
        plan.load.pace = pace;
        let (got, log) = replay(plan, Server::taking(MS));
        let counted = &got.total.connections;
        assert_eq!(got.ending, Ending::Complete);
        assert_eq!((counted.renewed, log.connects), (49, 49 + connections as usize), "{counted:?}");
        assert_eq!(
            (counted.dropped, counted.reconnects, counted.lost, counted.unanswered),
            (0, 0, 0, 0)
        );
        assert_eq!(got.total.requests(), log.requests.len() as u64);
        assert_eq!(got.total.errors.total(), 0);
        assert!(got.outages.is_empty(), "{:?}", got.outages);
    }
}

#[test]
fn on_a_cluster_too() {
    for depth in [1, 4] {
        let mut plan = renewing(on_cluster(6, depth, Stop::AfterNs(4 * SECOND)), 10);
        plan.load.pace = Pace::constant(1000.0);
        let (got, log) = replay_on(plan, Server::taking(MS / 10), Some(&masters(3)));
        let counted = &got.total.connections;
        assert_eq!((counted.renewed, log.connects), (39, 39 + 6), "{counted:?}");
        assert_eq!((counted.lost, got.total.requests(), log.requests.len()), (0, 4_000, 4_000));
    }
}

#[test]
fn shares_of_a_plan_renew_as_many_together() {
    let part = |index| {
        let mut plan = renewing(parts(9, 1, Stop::AfterNs(4 * SECOND)), 10);
        plan.load.pace = Pace::constant(900.0);
        plan.load.shard = Shard { index, of: 3 };
        replay(plan, Server::taking(MS)).0.total.connections.renewed
    };
    assert_eq!((1..=3).map(part).collect::<Vec<_>>(), [13, 13, 13]);
}

#[test]
fn more_than_the_server_takes_are_left_out_and_those_that_fail_come_back() {
    // Far more turns than connections that are ready for one, and for a second the server is gone.
    let mut plan = renewing(parts(4, 1, Stop::AfterNs(5 * SECOND)), 50_000);
    plan.load.pace = Pace::constant(1000.0);
    let server = Server::taking(MS / 10).down(2 * SECOND..3 * SECOND);
    let (got, log) = replay(plan, server);
    assert_eq!(got.ending, Ending::Complete);
    let last_ns = log.requests.last().unwrap().0;
    assert!(last_ns > 4 * SECOND, "load goes on: {last_ns}");
    let counted = &got.total.connections;
    assert!(counted.reconnects > 0 && counted.renewed > 0, "{counted:?}");
}
