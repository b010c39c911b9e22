//! Amount and order of the requests sent.

use std::collections::{BTreeMap, BTreeSet};

use engine::ConnId;
use measure::Ending;
use workload::{BudgetScope, CommandSpec, JoinSchedule, OnError, Pace, Stop, Window};

use super::server::Server;
use super::{MS, SECOND, parts, replay};

#[test]
fn the_count_is_exact_for_every_shape() {
    for n in [1, 7, 100, 1000] {
        for connections in [1, 3, 50] {
            for depth in [1, 4, 16, 2000] {
                for window in [Window::Batch, Window::Rolling] {
                    for sequence_len in [1, 3] {
                        let mut plan = parts(connections, depth, Stop::Requests(n));
                        plan.load.concurrency.window = window;
                        plan.sequence = vec![CommandSpec::from_words(["PING"]); sequence_len];
                        let (got, log) = replay(plan, Server::taking(1000));
                        assert_eq!(got.ending, Ending::Complete);
                        let shape = (n, connections, depth, window, sequence_len);
                        assert_eq!(log.requests.len() as u64, n, "{shape:?}");
                        assert_eq!(got.total.requests(), n, "{shape:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_batch_waits_for_all_its_replies() {
    let (_, log) = replay(parts(1, 16, Stop::Requests(100)), Server::taking(MS));
    let sizes: Vec<usize> = log.reads.iter().map(|(_, _, n)| *n).collect();
    assert_eq!(sizes, [16, 16, 16, 16, 16, 16, 4]);
    let times: Vec<u64> = log.reads.iter().map(|(at, ..)| at / MS).collect();
    assert_eq!(times, [0, 16, 32, 48, 64, 80, 96], "each leaves when the last reply is in");
}

#[test]
fn a_rolling_window_keeps_the_pipeline_full() {
    let mut plan = parts(1, 16, Stop::Requests(100));
    plan.load.concurrency.window = Window::Rolling;
    let (_, log) = replay(plan, Server::taking(MS));
    let sizes: Vec<usize> = log.reads.iter().map(|(_, _, n)| *n).collect();
    assert_eq!(sizes[0], 16);
    assert!(sizes[1..].iter().all(|n| *n == 1), "each reply makes room for one: {sizes:?}");
}

#[test]
fn without_keep_alive_each_pipeline_has_a_connection() {
    let mut plan = parts(3, 4, Stop::Requests(40));
    plan.load.concurrency.keep_alive = false;
    let (got, log) = replay(plan, Server::taking(1000));
    assert_eq!((got.ending, got.total.requests()), (Ending::Complete, 40));
    assert!((10..=12).contains(&log.connects), "{} connections for 10 pipelines", log.connects);
}

#[test]
fn a_connection_is_closed_after_as_many_requests_as_the_plan_says() {
    for share in [BudgetScope::OneBudget, BudgetScope::PerConnection] {
        let mut plan = parts(1, 4, Stop::Requests(40));
        (plan.load.concurrency.keep_alive, plan.load.concurrency.requests_each, plan.load.share) =
            (false, 10, share);
        let (got, log) = replay(plan.clone(), Server::taking(1000));
        assert_eq!((got.ending, got.total.requests()), (Ending::Complete, 40));
        assert_eq!(log.connects, 4, "{share:?}: 10 requests on each");
        let sizes: Vec<usize> = log.reads.iter().map(|(_, _, n)| *n).collect();
        assert_eq!(sizes, [4, 4, 2].repeat(4), "{share:?}");
        // A rolling window takes as many, and closes when all are answered.
        plan.load.concurrency.window = Window::Rolling;
        let (got, log) = replay(plan.clone(), Server::taking(1000));
        assert_eq!((got.total.requests(), log.connects), (40, 4), "{share:?}");
        // So does a schedule.
        plan.load.pace = Pace::constant(10_000.0);
        let (got, log) = replay(plan, Server::taking(1000));
        assert_eq!((got.total.requests(), log.connects), (40, 4), "{share:?}");
    }
}

#[test]
fn the_seed_makes_the_keys_whatever_the_fleet() {
    let keys = |connections, depth, seed| {
        let mut plan = parts(connections, depth, Stop::Requests(500));
        plan.load.seed = seed;
        let mut keys: Vec<String> = replay(plan, Server::taking(10))
            .1
            .requests
            .into_iter()
            .map(|r| r.2[1].clone())
            .collect();
        keys.sort();
        keys
    };
    assert_eq!(keys(1, 1, 7), keys(50, 16, 7));
    assert_ne!(keys(1, 1, 7), keys(1, 1, 8));
}

#[test]
fn sequential_keys_cover_the_space_once() {
    let mut plan = parts(7, 5, Stop::Requests(1000));
    plan.data.keys.draw = workload::KeyDist::SEQUENTIAL;
    let (_, log) = replay(plan, Server::taking(10));
    let mut keys: Vec<String> = log.requests.into_iter().map(|r| r.2[1].clone()).collect();
    keys.sort();
    let expected: Vec<String> = (0..1000).map(|n| format!("key:{n:012}")).collect();
    assert_eq!(keys, expected);
}

#[test]
fn replies_are_scored_by_the_command_they_answer() {
    let mut plan = parts(2, 2, Stop::Requests(300));
    plan.recovery.on_error = OnError::Count;
    plan.sequence = ["GET", "SET", "DEL"].map(|name| CommandSpec::from_words([name, "k"])).to_vec();
    let server = Server::taking(1000).answering(|words, _| match words[0].as_str() {
        "GET" => b"$-1\r\n".to_vec(),
        "SET" => b"+OK\r\n".to_vec(),
        _ => b"-OOM no room\r\n".to_vec(),
    });
    let (got, _) = replay(plan, server);
    let counts: Vec<(u64, u64)> = got.total.commands.iter().map(|c| (c.ok, c.miss)).collect();
    assert_eq!(counts, [(0, 100), (100, 0), (0, 0)]);
    assert_eq!(got.total.errors.by_kind(), [("OOM".to_owned(), 100)]);
    assert_eq!(got.total.requests(), 300);
}

#[test]
fn a_schedule_takes_all_connections_in_turn() {
    let mut plan = parts(5, 1, Stop::Requests(100));
    plan.load.pace = workload::Pace::constant(100.0);
    let (_, log) = replay(plan, Server::taking(1000));
    let mut per_connection: BTreeMap<ConnId, usize> = BTreeMap::new();
    for (_, conn, _) in &log.requests {
        *per_connection.entry(*conn).or_default() += 1;
    }
    assert_eq!(per_connection.into_values().collect::<Vec<_>>(), [20; 5]);
}

#[test]
fn connections_join_the_load_step_by_step() {
    for pace in [Pace::Closed, Pace::constant(1_000.0)] {
        let mut plan = parts(6, 1, Stop::AfterNs(4 * SECOND));
        plan.load.pace = pace;
        plan.load.concurrency.joining = Some(JoinSchedule { first: 1, step: 2, every_ns: SECOND });
        let (got, log) = replay(plan, Server::taking(10 * MS));
        assert_eq!(got.ending, Ending::Complete);
        let mut seen: BTreeMap<u64, BTreeSet<ConnId>> = BTreeMap::new();
        for (at_ns, conn, _) in &log.requests {
            seen.entry(at_ns / SECOND).or_default().insert(*conn);
        }
        let counts: Vec<usize> = seen.values().map(BTreeSet::len).collect();
        assert_eq!(counts, [1, 3, 5, 6]);
    }
}
