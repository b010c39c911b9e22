//! Operations of a mix: which are sent, which steps follow which replies, and what their times measure.

use std::collections::BTreeMap;

use engine::ConnId;
use measure::{Ending, LogEntry, LoggedOutcome};
use workload::{
    Arg, BudgetScope, ClusterOptions, CommandSpec, DrawnBy, KeyDist, KeyNumbering, KeySpace,
    LogSubject, Mix, MixStep, OnError, Operation, Pace, Pick, Piece, PlanParts, Slot,
    StepCondition, Stop,
};

use super::cluster::masters;
use super::server::Server;
use super::{MS, SECOND, parts, replay, replay_on};

fn operation(name: &str, weight: u32, steps: &[StepCondition]) -> Operation {
    let steps = steps.iter().map(|when| MixStep { commands: 1, when: *when });
    Operation { name: name.into(), weight, steps: steps.collect(), keys: None }
}

/// A mix of nine `PING`s to one `GET`; half of the reads miss, and then set their key.
fn mixed(connections: u32, depth: u32, stop: Stop) -> PlanParts {
    PlanParts {
        sequence: vec![
            CommandSpec::parse(["PING", "x"]),
            CommandSpec::parse(["GET", "k:__key__"]),
            CommandSpec::parse(["SET", "k:__key__", "v"]),
        ],
        mix: Some(Mix {
            operations: vec![
                operation("ping", 9, &[StepCondition::Always]),
                operation("look-aside", 1, &[StepCondition::Always, StepCondition::OnMiss]),
            ],
            pick: Pick::Drawn,
        }),
        ..parts(connections, depth, stop)
    }
}

/// `GET`s of even keys miss.
fn half_missing(words: &[String], _: usize) -> Vec<u8> {
    match words[0].as_str() {
        "GET" if words[1].ends_with(['0', '2', '4', '6', '8']) => b"$-1\r\n".to_vec(),
        "GET" => b"$1\r\nv\r\n".to_vec(),
        _ => b"+OK\r\n".to_vec(),
    }
}

#[test]
fn a_step_follows_its_reply_on_its_connection_and_misses_decide() {
    for (connections, depth, clustered) in
        [(1, 1, false), (7, 1, false), (3, 16, false), (6, 4, true)]
    {
        let mut plan = mixed(connections, depth, Stop::Requests(2_000));
        let topology = clustered.then(|| masters(3));
        plan.target.cluster = clustered.then(ClusterOptions::default);
        let server = Server::taking(MS / 10).answering(half_missing);
        let (got, log) = replay_on(plan, server, topology.as_ref());
        assert_eq!(got.ending, Ending::Complete);
        let mut gets: BTreeMap<String, Vec<ConnId>> = BTreeMap::new();
        let mut counts = [0u64; 3];
        for (_, conn, words) in &log.requests {
            match words[0].as_str() {
                "PING" => counts[0] += 1,
                "GET" => {
                    counts[1] += 1;
                    gets.entry(words[1].clone()).or_default().push(*conn);
                }
                _ => {
                    counts[2] += 1;
                    let before = gets.get_mut(&words[1]).expect("a SET comes after its GET");
                    let same = before.iter().position(|before| before == conn || clustered);
                    before.remove(same.expect("on the same connection"));
                }
            }
        }
        let [pings, looks, sets] = counts;
        assert_eq!(pings + looks, 2_000, "-n counts operations");
        assert!((150..250).contains(&looks), "{looks}");
        let left: usize = gets
            .iter()
            .filter(|(key, _)| half_missing(&["GET".into(), (*key).clone()], 0) == b"$-1\r\n")
            .map(|(_, conns)| conns.len())
            .sum();
        assert_eq!(left, 0, "every miss was followed by a SET");
        let total = got.total;
        assert_eq!((total.requests(), total.operations_ended()), (2_000 + sets, 2_000));
        let [ping, look] = &total.operations[..] else { panic!() };
        assert_eq!((ping.ok, look.missed, look.ok), (pings, sets, looks - sets));
        let bytes = |n: usize| total.commands[n].bytes_out / [pings, looks, sets][n];
        assert_eq!([bytes(0), bytes(1), bytes(2)], [21, 34, 41]);
        assert_eq!(total.commands[2].bytes_in, sets * 5);
        let sent: u64 = total.commands.iter().map(|c| c.bytes_out).sum();
        assert_eq!(sent, total.connections.bytes_out);
    }
}

#[test]
fn an_operations_time_spans_its_steps_and_each_command_has_its_own() {
    let mut plan = mixed(4, 1, Stop::AfterNs(4 * SECOND));
    plan.load.pace = Pace::constant(100.0);
    plan.data.keys.draw = KeyDist::SEQUENTIAL;
    let server = Server::taking(MS).answering(|words, _| match words[0].as_str() {
        "GET" => b"$-1\r\n".to_vec(),
        _ => b"+OK\r\n".to_vec(),
    });
    let (got, _) = replay(plan, server);
    let total = got.total;
    let lateness = total.lateness.as_ref().unwrap();
    assert_eq!((lateness.due, lateness.total.count()), (400, 400), "a schedule is of operations");
    assert_eq!(total.operations_ended(), 400);
    let [ping, look] = &total.operations[..] else { panic!() };
    assert_eq!((ping.response().max_ns(), look.response().min_ns()), (Some(MS), Some(2 * MS)));
    assert_eq!(look.response().max_ns(), Some(2 * MS));
    for command in &total.commands {
        assert_eq!(
            (command.response().min_ns(), command.response().max_ns()),
            (Some(MS), Some(MS))
        );
    }
}

#[test]
fn an_error_ends_its_operation_and_nothing_else() {
    let mut plan = mixed(3, 4, Stop::Requests(500));
    plan.recovery.on_error = OnError::Count;
    if let Some(mix) = &mut plan.mix {
        mix.operations[1].steps[1].when = StepCondition::Always;
    }
    let server = Server::taking(MS / 10).answering(|words, _| match words[0].as_str() {
        "GET" => b"-OOM no room\r\n".to_vec(),
        _ => b"+OK\r\n".to_vec(),
    });
    let (got, log) = replay(plan, server);
    assert!(log.requests.iter().all(|(.., words)| words[0] != "SET"));
    let look = &got.total.operations[1];
    assert_eq!(
        (look.failed, look.ok, got.total.operations_ended()),
        (got.total.errors.total(), 0, 500)
    );
    assert_eq!(got.total.commands[1].errors, look.failed);
}

#[test]
fn an_operation_that_began_in_time_is_finished() {
    let mut plan = mixed(2, 1, Stop::AfterNs(SECOND));
    plan.mix = Some(Mix {
        operations: vec![operation("o", 1, &[StepCondition::Always; 3])],
        pick: Pick::Drawn,
    });
    let (got, log) = replay(plan, Server::taking(300 * MS));
    assert_eq!(log.requests.len() % 3, 0, "{}", log.requests.len());
    assert_eq!(got.total.operations_ended() * 3, got.total.requests());
    assert_eq!(got.total.connections.unanswered, 0);
}

#[test]
fn each_connection_can_have_a_count_and_an_order_of_its_own() {
    for (pace, depth) in [(Pace::Closed, 1), (Pace::Closed, 3), (Pace::constant(1_000.0), 1)] {
        let mut plan = mixed(5, depth, Stop::Requests(22));
        plan.load.pace = pace;
        plan.load.share = BudgetScope::PerConnection;
        plan.sequence.truncate(2);
        plan.mix = Some(Mix {
            operations: vec![
                operation("set", 1, &[StepCondition::Always]),
                operation("get", 10, &[StepCondition::Always]),
            ],
            pick: Pick::InOrder,
        });
        let (got, log) = replay(plan, Server::taking(MS / 10));
        assert_eq!((got.ending, got.total.requests()), (Ending::Complete, 110));
        let mut per_connection: BTreeMap<ConnId, Vec<bool>> = BTreeMap::new();
        for (_, conn, words) in &log.requests {
            per_connection.entry(*conn).or_default().push(words[0] == "PING");
        }
        let once: Vec<bool> = (0..22).map(|n| n % 11 == 0).collect();
        assert!(per_connection.into_values().all(|sent| sent == once));
    }
}

#[test]
fn operations_that_are_lost_leave_no_step_behind() {
    let mut plan = mixed(4, 2, Stop::AfterNs(3 * SECOND));
    (plan.recovery.reconnect, plan.recovery.on_error) = (true, OnError::Count);
    let server = Server::taking(MS).answering(half_missing).down(SECOND..2 * SECOND);
    let (got, log) = replay(plan, server);
    let lost = got.total.connections.lost;
    assert!((1..=8).contains(&lost), "{lost}");
    assert_eq!(log.requests.len() as u64, got.total.requests() + lost);
}

/// `SCAN`s of three replies: cursors 5 and 9, and 0 at the end.
fn scanned(words: &[String], _: usize) -> Vec<u8> {
    let next = match words[1].as_str() {
        "0" => "5",
        "5" => "9",
        _ => "0",
    };
    format!("*2\r\n$1\r\n{next}\r\n*1\r\n$1\r\nk\r\n").into_bytes()
}

fn walking(connections: u32, most: Option<u32>) -> PlanParts {
    let mut plan = PlanParts {
        sequence: vec![
            CommandSpec::parse(["SCAN", "0"]),
            CommandSpec {
                args: ["SCAN", "__reply__", "COUNT", "7"]
                    .map(|word| workload::Arg::literal(word.as_bytes()).with_replies())
                    .to_vec(),
                inline: false,
            },
            CommandSpec::parse(["PING", "x"]),
        ],
        mix: Some(Mix {
            operations: vec![
                operation("scan", 2, &[StepCondition::Always, StepCondition::OnCursor { most }]),
                operation("ping", 1, &[StepCondition::Always]),
            ],
            pick: Pick::InOrder,
        }),
        ..parts(connections, 1, Stop::Requests(12))
    };
    plan.load.share = BudgetScope::PerConnection;
    plan
}

#[test]
fn a_walk_goes_on_from_request_to_request_on_its_connection() {
    for (most, walk) in [(None, &["0", "5", "9"][..]), (Some(1), &["0", "5"])] {
        let (got, log) = replay(walking(3, most), Server::taking(MS).answering(scanned));
        assert_eq!((got.ending, got.total.requests()), (Ending::Complete, 36));
        for conn in (0..3).map(ConnId) {
            let own =
                log.requests.iter().filter(|(_, of, words)| *of == conn && words[0] == "SCAN");
            let cursors: Vec<&str> = own.map(|(_, _, words)| &words[1][..]).collect();
            let all: Vec<&str> = walk.iter().copied().cycle().take(8).collect();
            assert_eq!(cursors, all, "each request is one of -n");
        }
        // Of its own latency and count each.
        let [first, next, ping] = &got.total.commands[..] else { panic!() };
        let counts = [first.ok, next.ok, ping.ok];
        assert_eq!(counts, if most.is_none() { [9, 15, 12] } else { [12, 12, 12] });
        assert_eq!(next.response().max_ns(), Some(3 * MS), "of three at a time");
    }
}

#[test]
fn a_walk_stays_with_its_key_and_the_next_one_has_the_next() {
    let walking = |connections| {
        let cursor = Arg::literal(b"__reply__").with_replies();
        let key = Arg { pieces: vec![Piece::Bytes(b"h".to_vec()), Piece::Number(Slot::Key)] };
        let first = [Arg::literal(b"HSCAN"), key.clone(), Arg::literal(b"0")];
        let next = [Arg::literal(b"HSCAN"), key, cursor];
        let draw = KeyDist::SEQUENTIAL;
        let numbered = KeyNumbering { first: 1, bare: true, by: DrawnBy::Operation };
        let mut walk =
            operation("hscan", 1, &[StepCondition::Always, StepCondition::OnCursor { most: None }]);
        walk.keys = Some(KeySpace { numbered, ..KeySpace::new(Some(3), draw) });
        let mut plan = PlanParts {
            sequence: [first, next]
                .map(|args| CommandSpec { args: args.to_vec(), inline: false })
                .to_vec(),
            mix: Some(Mix { operations: vec![walk], pick: Pick::InOrder }),
            ..parts(connections, 1, Stop::Requests(12))
        };
        plan.load.share = BudgetScope::PerConnection;
        plan
    };
    fn of_keys(words: &[String], number: usize) -> Vec<u8> {
        scanned(&words[1..], number)
    }
    let (got, log) = replay(walking(2), Server::taking(MS).answering(of_keys));
    assert_eq!((got.ending, got.total.requests()), (Ending::Complete, 24));
    for conn in (0..2).map(ConnId) {
        let own = log.requests.iter().filter(|(_, of, _)| *of == conn);
        let keys: Vec<&str> = own.map(|(_, _, words)| &words[1][..]).collect();
        let walks = ["h1", "h2", "h3", "h1"].map(|key| [key; 3]);
        assert_eq!(keys, walks.concat());
    }
}

#[test]
fn an_error_begins_a_walk_anew() {
    fn refused(words: &[String], number: usize) -> Vec<u8> {
        if words[1] == "9" { b"-ERR no such cursor\r\n".to_vec() } else { scanned(words, number) }
    }
    let mut plan = walking(1, None);
    plan.recovery.on_error = OnError::Count;
    let (_, log) = replay(plan, Server::taking(MS).answering(refused));
    let own = log.requests.iter().filter(|(_, _, words)| words[0] == "SCAN");
    let cursors: Vec<&str> = own.map(|(_, _, words)| &words[1][..]).collect();
    assert_eq!(cursors, ["0", "5", "9", "0", "5", "9", "0", "5"]);
}

#[test]
fn a_log_has_everything_that_is_counted_and_when_it_ended() {
    let mut plan = mixed(3, 4, Stop::Requests(1_000));
    (plan.load.warmup_ns, plan.peer.separate_failures, plan.recovery.on_error) =
        (5 * MS, true, OnError::Count);
    plan.peer.logged =
        vec![LogSubject::Command(0), LogSubject::Command(1), LogSubject::Operation(1)];
    let answer = Server::taking(MS / 10).answering(|words, n: usize| match words[0].as_str() {
        "PING" if n.is_multiple_of(5) => b"-ERR no\r\n".to_vec(),
        _ => half_missing(words, n),
    });
    let (got, _) = replay(plan, answer);
    assert_eq!(got.ending, Ending::Complete);
    let [log] = &got.logs[..] else { panic!("one worker") };
    let entries = |entries: Option<&measure::Entries>, ended| -> Vec<LogEntry> {
        entries.unwrap().with_outcome(ended).copied().collect()
    };
    for (at, name) in ["PING", "GET"].iter().enumerate() {
        let tally = &got.total.commands[at];
        let separate_failures = tally.separate_failures.as_ref().unwrap();
        for (ended, count, latency) in [
            (LoggedOutcome::Ok, tally.ok, &tally.service),
            (LoggedOutcome::Missed, tally.miss, &separate_failures.missed.service),
            (LoggedOutcome::Failed, tally.errors, &separate_failures.failed.service),
            (LoggedOutcome::Wrong, 0, &measure::Latency::new(3)),
        ] {
            let logged = entries(log.of_command(at), ended);
            assert_eq!((logged.len() as u64, latency.count()), (count, count), "{name} {ended:?}");
            assert!(logged.is_sorted_by_key(|entry| entry.done_us));
            let last_us = logged.last().map_or(0, |entry| entry.done_us);
            assert!(last_us <= got.elapsed_ns / 1_000, "{last_us}");
            let sum_us: u64 = logged.iter().map(|entry| u64::from(entry.service_us)).sum();
            let mean_us = latency.mean_ns().unwrap_or_default() / 1e3;
            assert!((sum_us as f64 - mean_us * count as f64).abs() <= count as f64 * 2.0);
        }
    }
    let whole = log.of_operation(1);
    let tally = &got.total.operations[1];
    assert_eq!(entries(whole, LoggedOutcome::Ok).len() as u64, tally.ok);
    assert_eq!(entries(whole, LoggedOutcome::Missed).len() as u64, tally.missed);
    assert!(log.of_command(2).is_none() && log.of_operation(0).is_none());
    assert_eq!(log.left_out(), 0);
}
