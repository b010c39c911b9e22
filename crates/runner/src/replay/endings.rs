//! Every request ends in exactly one way: answered, lost, timed out, without a reply at the end, or never
//! sent. Checked over every route with all kinds of faults, from seeds: `KEYSTORM_SEEDS=N` runs N of them,
//! `KEYSTORM_SEEDS_FROM=K` starts with the Kth.

use std::ops::Range;

use measure::{Ending, Measurement};
use workload::{OnError, Pace, PlanParts, Stop};

use super::seeds::{Draws, number};
use super::server::{Fault, Server};
use super::{MS, SECOND, cluster, parts, pool, replay_on, ring};

const SEEDS: u64 = 300;
const FIRST_PORT: u64 = 7000;

fn each_ends_once(parts: &PlanParts, got: &Measurement) {
    let gone = &got.total.connections;
    let ended = got.total.requests() + gone.lost + gone.timed_out + gone.unanswered;
    if let (Some(limit_ns), Some(lateness)) = (parts.recovery.deadline_ns, &got.total.lateness) {
        assert!(lateness.total.max_ns().unwrap_or_default() <= limit_ns, "sent in time");
    }
    let complete = got.ending == Ending::Complete;
    if let Some(lateness) = &got.total.lateness {
        let sent = lateness.total.count() + lateness.given_up;
        assert_eq!(sent, ended, "sent or given up");
        assert!(lateness.due >= sent, "{} due, {sent} sent", lateness.due);
    }
    match parts.load.stop {
        Stop::Requests(n) if complete => assert_eq!(ended, n, "{gone:?}"),
        Stop::Requests(n) => assert!(ended <= n, "{ended} of {n}"),
        Stop::AfterNs(_) => {}
    }
}

/// Draws faults of all servers, or of one.
fn faulty(draws: &mut Draws, mut server: Server, ports: Range<u64>, parts: &PlanParts) -> Server {
    if draws.one_in(2) {
        server = server.at_node((ports.start + draws.below(ports.end - ports.start)) as u16);
    }
    let mut span = |most_ms: u64| {
        let from_ns = MS * draws.below(2500);
        from_ns..from_ns + MS * (1 + draws.below(most_ms))
    };
    let spans = [span(900), span(900), span(20_000)];
    let [short, second, long] = spans;
    server = match draws.below(7) {
        0 => server.down(short),
        1 => server.down(short).frozen(second),
        2 => server.down(long),
        3 if parts.recovery.timeout_ns.is_some() => server.frozen(long),
        4 => server.frozen(second),
        _ => server,
    };
    let at = draws.below(1500) as usize;
    server = match draws.below(4) {
        0 => server.failing(Fault::CutAt(at)),
        1 => server.failing(Fault::ResetAt(at)),
        _ => server,
    };
    if draws.one_in(5) {
        server = server.interrupted_at(MS * draws.below(2500));
    }
    if draws.one_in(5) {
        let from_ns = MS * draws.below(2000);
        server = server.stopping_the_client(from_ns..from_ns + MS * draws.below(1500));
    }
    server
}

fn load(draws: &mut Draws, mut plan: PlanParts) -> PlanParts {
    let rate = [50.0, 700.0, 3000.0][draws.below(3) as usize];
    plan.recovery.reconnect = true;
    plan.recovery.on_error = OnError::Count;
    plan.recovery.timeout_ns = draws.one_in(3).then(|| MS * (20 + draws.below(400)));
    plan.recovery.deadline_ns = draws.one_in(3).then(|| MS * (5 + draws.below(200)));
    plan.load.pace = if draws.one_in(3) { Pace::Closed } else { Pace::constant(rate) };
    plan
}

fn hold(seed: u64) {
    let mut draws = Draws::new(seed);
    let stop = if draws.one_in(3) {
        Stop::Requests(1 + draws.below(2500))
    } else {
        Stop::AfterNs(MS * (300 + draws.below(3000)))
    };
    let connections = 1 + draws.below(20) as u32;
    let depth = [1, 1, 4][draws.below(3) as usize];
    let servers = 1 + draws.below(4);
    let service_ns = [MS / 20, MS / 2, 4 * MS][draws.below(3) as usize];
    match draws.below(4) {
        0 => {
            let plan = load(&mut draws, parts(connections, depth, stop));
            let server = faulty(&mut draws, Server::taking(service_ns), 0..1, &plan);
            each_ends_once(&plan, &replay_on(plan.clone(), server, None).0);
        }
        1 => {
            let plan = load(&mut draws, parts(connections, depth, stop));
            let server = Server::taking(service_ns);
            let server = faulty(&mut draws, server, 1..2 + servers, &plan);
            each_ends_once(&plan, &pool::pooled(plan.clone(), server, 1 + servers as u16).0);
        }
        2 => {
            let plan = load(&mut draws, cluster::on_cluster(connections, depth, stop));
            let server = Server::taking(service_ns);
            let server = faulty(&mut draws, server, FIRST_PORT..FIRST_PORT + servers, &plan);
            let topology = cluster::masters(servers as u16);
            each_ends_once(&plan, &replay_on(plan.clone(), server, Some(&topology)).0);
        }
        _ => {
            let servers = 1 + servers;
            let line = format!("get{}", " k:__rand_int__".repeat(1 + draws.below(6) as usize));
            let lines = [&*line, "set k:__rand_int__ 0 0 v", "mn"];
            let lines = &lines[..1 + draws.below(3) as usize];
            let plan = ring::on_ring(servers as u16, lines, connections, depth, stop);
            let plan = load(&mut draws, plan);
            let server = Server::taking(service_ns).in_lines(ring::half_there);
            let server = faulty(&mut draws, server, FIRST_PORT..FIRST_PORT + servers, &plan);
            each_ends_once(&plan, &ring::replay(plan.clone(), server).0);
        }
    }
}

#[test]
fn every_request_ends_in_exactly_one_way() {
    let from = number("KEYSTORM_SEEDS_FROM").unwrap_or_default();
    for seed in from..from + number("KEYSTORM_SEEDS").unwrap_or(SEEDS) {
        let held = std::panic::catch_unwind(|| hold(seed));
        assert!(held.is_ok(), "seed {seed}, as told above");
    }
}

/// On servers that share out keys, each command of a sequence is a request of its own.
#[test]
fn a_rate_is_of_sequences_and_each_command_of_one_ends_once() {
    let lines = ["get k:__rand_int__", "set k:__rand_int__ 0 0 v"];
    let mut plan = ring::on_ring(3, &lines, 6, 2, Stop::AfterNs(3 * SECOND));
    (plan.recovery.reconnect, plan.recovery.on_error, plan.load.pace) =
        (true, OnError::Count, Pace::constant(1000.0));
    let server = Server::taking(MS / 10).in_lines(ring::half_there).at_node(7002);
    let (got, _) = ring::replay(plan.clone(), server.down(SECOND..2 * SECOND));
    each_ends_once(&plan, &got);
    assert!(got.total.connections.lost > 100, "{:?}", got.total.connections);
}
