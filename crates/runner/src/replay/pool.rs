//! Interchangeable servers: connections take them in turn, and an absent one does not hold up the others.

use engine::Address;
use wire::resp::Resp;
use workload::{BudgetScope, Endpoint, OnError, Pace, PlanParts, Stop};

use super::server::{Log, Server};
use super::{MS, SECOND, parts, replay_by};
use crate::concrete::work;
use crate::route::DirectRoute;
use crate::worker::Worker;

/// A run over `servers` servers, at ports from 1 on.
pub(super) fn pooled(
    mut parts: PlanParts,
    server: Server,
    servers: u16,
) -> (measure::Measurement, Log) {
    let at = |port| Endpoint::Tcp { host: "127.0.0.1".to_owned(), port };
    parts.target.endpoint = Endpoint::Pool { servers: (1..=servers).map(at).collect() };
    let pool: Vec<Address> =
        (1..=servers).map(|port| Address::Tcp(([127, 0, 0, 1], port).into())).collect();
    replay_by(parts, server, |engine, context, recorder| {
        let route = DirectRoute::new(&context, &pool);
        work(Worker::<_, Resp, _>::new(engine, context, recorder, route))
    })
}

#[test]
fn every_request_is_sent_once_over_all_connections() {
    for (connections, depth) in [(2, 1), (7, 1), (6, 4)] {
        let plan = parts(connections, depth, Stop::Requests(101));
        let (measured, log) = pooled(plan, Server::taking(MS), 3);
        assert_eq!((measured.total.requests(), log.requests.len()), (101, 101));
        let mut used: Vec<_> = log.requests.iter().map(|(_, conn, _)| conn.0).collect();
        used.sort_unstable();
        used.dedup();
        assert_eq!(used.len(), connections as usize, "{used:?}");
    }
}

#[test]
fn one_that_is_away_takes_its_connections_with_it_and_no_others() {
    let mut plan = parts(6, 1, Stop::AfterNs(SECOND));
    (plan.recovery.reconnect, plan.recovery.on_error) = (true, OnError::Count);
    let away = 100 * MS..400 * MS;
    let server = Server::taking(MS / 10).at_node(2).down(away.clone());
    let (measured, log) = pooled(plan, server, 2);
    let connections = &measured.total.connections;
    assert_eq!((connections.dropped, connections.reconnects), (3, 3));
    let on = |odd: u32, from: u64, to: u64| {
        let within = log.requests.iter().filter(|(at, ..)| (from..to).contains(at));
        within.filter(|(_, conn, _)| conn.0 % 2 == odd).count()
    };
    // The second server has the connections with odd numbers.
    assert_eq!(on(1, away.start + MS, away.end), 0);
    assert!(on(0, away.start, away.end) > 1000, "{}", on(0, away.start, away.end));
    assert!(on(1, 0, away.start) > 100 && on(1, 600 * MS, SECOND) > 100);
}

/// Returns the outages: server, start and end in tenths of a second, and whether it lasted to the end.
fn outages(measured: &measure::Measurement) -> Vec<(u16, u64, u64, bool)> {
    let tenths = |ns: u64| (ns + 50 * MS) / (100 * MS);
    let outages = measured.outages.iter();
    outages.map(|o| (o.node, tenths(o.from_ns), tenths(o.to_ns), o.to_the_end)).collect()
}

#[test]
fn a_server_that_dies_has_its_outage_and_the_others_have_none() {
    for pace in [Pace::Closed, Pace::constant(600.0)] {
        let mut plan = parts(6, 1, Stop::AfterNs(6 * SECOND));
        (plan.recovery.reconnect, plan.recovery.on_error, plan.load.pace) =
            (true, OnError::Count, pace);
        let server = || Server::taking(MS / 10).at_node(2);
        let (measured, _) = pooled(plan.clone(), server().down(2 * SECOND..3 * SECOND), 3);
        assert!(
            matches!(outages(&measured)[..], [(1, 20, 30 | 31, false)]),
            "{:?}",
            outages(&measured)
        );
        let (measured, _) = pooled(plan.clone(), server().down(2 * SECOND..u64::MAX), 3);
        assert_eq!(outages(&measured), [(1, 20, 60, true)]);
        assert!(!measured.outages[0].of_all);
        let all = Server::taking(MS / 10).down(2 * SECOND..u64::MAX);
        let (measured, _) = pooled(plan, all, 3);
        assert_eq!(outages(&measured).len(), 3, "{:?}", outages(&measured));
        assert!(measured.outages.iter().all(|o| o.to_the_end && o.to_ns == 6 * SECOND));
        assert!(measured.outages.iter().any(|o| o.of_all));
    }
}

/// A server without a connection, and one whose connections have sent everything.
#[test]
fn a_server_that_nothing_is_asked_of_is_not_out() {
    let plan = parts(2, 1, Stop::AfterNs(3 * SECOND));
    let (measured, _) = pooled(plan, Server::taking(MS / 10), 3);
    assert_eq!(outages(&measured), []);
    let mut plan = parts(2, 1, Stop::Requests(2000));
    plan.load.share = BudgetScope::PerConnection;
    let slow = Server::taking(MS).at_node(2).frozen(20 * MS..3 * SECOND);
    let (measured, _) = pooled(plan, slow, 2);
    assert!(matches!(outages(&measured)[..], [(1, _, 30, false)]), "{:?}", outages(&measured));
}
