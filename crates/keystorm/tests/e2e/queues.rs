//! `keystorm deliver list`, `zset` and `stream`: what is sent reaches one receiver, or each group, exactly once.

use serde_json::Value;

use crate::deliver::{all_came, count, test};
use crate::program::{Keystorm, PATIENCE, within};
use crate::queue_broker::QueueBroker;
use crate::server::Server;

fn waits(test: &Value, name: &str) -> u64 {
    test["deliveries"]["waits"][name].as_u64().unwrap()
}

/// How many waits ended in that way.
fn waited(test: &Value, latency: &str) -> u64 {
    test["deliveries"]["waits"][latency]["exact"]["count"].as_u64().unwrap()
}

fn deliver(server: &Server, line: &str) -> Keystorm {
    // A line that ends too early is to end there.
    let port = if line == "--like" { String::new() } else { format!(" -p {}", server.port()) };
    Keystorm::new(&format!("deliver {line}{port}"))
}

/// Runs it, and checks that all of so many deliveries came, each once and in order, and that no key is left.
fn all_arrive(server: &Server, line: &str, expected: u64) -> Value {
    let test = test(deliver(server, &format!("{line} --json -")).run().ok());
    all_came(&test, expected, line);
    assert_eq!(test["latency_ms"]["response"]["exact"]["count"], expected, "{line}");
    assert_eq!(waits(&test, "left_in_keys") + waits(&test, "ended_by_server"), 0, "{line}");
    assert!(server.keys().is_empty(), "{line}: {:?}", server.keys());
    test
}

/// What one shape of a run must have the server execute.
struct Shape {
    line: &'static str,
    keys: u64,
    /// Deliveries of each message.
    copies: u64,
    send: &'static str,
    /// Executed once for each delivery, of probes too.
    settle: Option<&'static str>,
}

const fn shape(line: &'static str, keys: u64, send: &'static str) -> Shape {
    Shape { line, keys, copies: 1, send, settle: None }
}

fn each_shape_counts(shapes: &[Shape]) {
    for (name, server) in Server::both() {
        for shape in shapes {
            let Shape { line, keys, copies, send, settle } = *shape;
            if name == "valkey" && line.contains("xackdel") {
                continue;
            }
            server.reset();
            all_arrive(&server, &format!("{line} -n 1000"), 1_000 * copies);
            let sent = 1_000 + keys;
            assert_eq!(server.calls(send), sent, "{name}: {line}, and a probe for each key");
            if let Some(settle) = settle {
                assert_eq!(server.calls(settle), sent * copies, "{name}: {line}");
            }
        }
    }
}

#[test]
fn every_message_of_a_list_reaches_one_receiver() {
    each_shape_counts(&[
        shape("list", 1, "lpush"),
        shape("list --receivers 1 -P 16", 1, "lpush"),
        shape("list --pop blpop --keys 3 --receivers 3", 3, "lpush"),
        shape("list --push rpush --keys 4 --keys-per-receiver 2 --receivers 4", 4, "rpush"),
        shape("list --keys 3 --keys-per-receiver 2 --receivers 3 --receiver-threads 2", 3, "lpush"),
        shape("list --pop blmpop --count 8 -3", 1, "lpush"),
        shape("list --pop blmpop --keys 2 --keys-per-receiver 2 --push rpush", 2, "rpush"),
        shape("list -d 20k --block 0.1 --engine epoll", 1, "lpush"),
        shape("list --pop rpop --poll 0.01", 1, "lpush"),
        shape(
            "list --pop lpop --poll 0.01 --push rpush --keys 3 --keys-per-receiver all -3",
            3,
            "rpush",
        ),
        Shape { settle: Some("lrem"), ..shape("list --pop blmove", 1, "lpush") },
        Shape {
            settle: Some("lrem"),
            ..shape("list --pop blmove -3 --push rpush --keys 2 -d 5000", 2, "rpush")
        },
    ]);
}

#[test]
fn every_message_of_a_sorted_set_reaches_one_receiver() {
    each_shape_counts(&[
        shape("zset", 1, "zadd"),
        shape("zset -3 --zpop bzpopmax --keys 2", 2, "zadd"),
        shape("zset --keys 3 --keys-per-receiver 2 --receivers 3 -P 4", 3, "zadd"),
        shape("zset --zpop bzmpop --count 5", 1, "zadd"),
        shape("zset --zpop bzmpop --count 5 -3", 1, "zadd"),
    ]);
}

#[test]
fn every_message_of_a_stream_reaches_all_readers_or_one_consumer_of_each_group() {
    let acknowledged = |line, keys, copies| Shape { copies, ..shape(line, keys, "xadd") };
    each_shape_counts(&[
        Shape { copies: 3, ..shape("stream --receivers 3", 1, "xadd") },
        Shape { copies: 2, ..shape("stream --receivers 4 --keys 2 -3", 2, "xadd") },
        Shape {
            copies: 2,
            ..shape("stream --receivers 3 --keys 3 --keys-per-receiver 2 --count 7", 3, "xadd")
        },
        Shape { settle: Some("xack"), ..acknowledged("stream --groups 1 --count 1", 1, 1) },
        acknowledged("stream --groups 2 --consumers 3 -3", 1, 2),
        acknowledged("stream --consumers 4 --keys 2 --keys-per-receiver 2 --maxlen 0", 2, 1),
        acknowledged("stream --groups 1 --ack noack --block 0.1", 1, 1),
        acknowledged("stream --groups 3 --consumers 2 --receiver-threads 2 --keys 2", 2, 3),
    ]);
}

#[test]
fn the_report_says_who_was_woken_and_how_late_waits_end() {
    let server = Server::redis();
    let line = "list --rps 20 -n 20 --receivers 3 --block 0.05";
    deliver(&server, line)
        .run()
        .ok()
        .prints("====== LPUSH to BRPOP ======")
        .prints("  wake-up ")
        .prints("  timeout late by ")
        .prints("  waiting: ")
        .prints("  backlog: at most ")
        .prints(" waits timed out");
    let test = all_arrive(&server, line, 20);
    assert!(waited(&test, "timeout_late_ms") > 10, "three that wait for 50 ms in a second");
    let woken = waited(&test, "wake_up_ms");
    assert!(woken > 0 && woken <= 20);
    let late = &test["deliveries"]["waits"]["timeout_late_ms"];
    assert!(late["max"].as_f64().unwrap() > 0.0, "{late}");
    let by_receiver = &test["deliveries"]["by_receiver"];
    let [least, most] = [0, 1].map(|at| by_receiver[at].as_u64().unwrap());
    assert!(least <= 6 && most >= 7, "{by_receiver}");
}

#[test]
fn a_library_stands_for_its_commands() {
    let server = Server::redis();
    for (line, push, pop) in [
        ("--like sidekiq", "lpush", "brpop"),
        ("--like=celery --receivers 4", "lpush", "brpop"),
        ("--like bullmq --keys 2", "zadd", "bzpopmin"),
        ("-3 --like resque --poll 0.05", "rpush", "lpop"),
    ] {
        server.reset();
        all_arrive(&server, &format!("{line} -n 300"), 300);
        assert!(server.calls(push) > 300 && server.calls(pop) > 300, "{line}");
    }
    deliver(&server, "--like sidekik").run().exits(2).says("sidekiq");
    deliver(&server, "--like").run().exits(2).says("--like: a name is missing");
}

#[test]
fn a_backlog_is_reported_and_drained() {
    let server = Server::redis();
    let line = "list --receivers 1 --rps 2k -n 1000";
    let running = deliver(&server, &format!("{line} --json -")).start();
    assert!(within(PATIENCE, || server.calls("lpush") > 100));
    // The one receiver is away for a while; what it does not take stays.
    let id = waiting(&server, "brpop").pop();
    server.ask(&["CLIENT", "PAUSE", "200", "ALL"]);
    let test = test(running.wait().ok());
    assert!(id.is_some() || count(&test, "backlog_max") > 0);
    assert_eq!((count(&test, "received"), waits(&test, "left_in_keys")), (1_000, 0));
}

#[test]
fn what_nobody_took_is_a_backlog_and_reported_as_left() {
    let server = Server::redis();
    // The one receiver finds nothing soon after the beginning, and does not look again.
    let line = "list --receivers 1 --pop lpop --poll 8 --drain 0.1 --rps 100 -n 60";
    let test = test(deliver(&server, &format!("{line} --json -")).run().exits(1));
    let (lost, left) = (count(&test, "lost"), waits(&test, "left_in_keys"));
    assert!(lost > 0 && lost == left, "{lost} lost, {left} left");
    assert!(count(&test, "backlog_at_end") >= left);
    assert!(server.keys().is_empty());
    deliver(&server, line).run().exits(1).prints("left in the keys: ").prints(" (removed)");
}

/// The connections that wait with this command.
fn waiting(server: &Server, command: &str) -> Vec<String> {
    let list = server.text(&["CLIENT", "LIST"]);
    let of_command = list
        .lines()
        .filter(|line| line.contains(&format!(" cmd={command} ")) && line.contains(" flags=b "));
    let id =
        |line: &str| line.split(' ').find_map(|word| word.strip_prefix("id=")).map(str::to_owned);
    of_command.filter_map(id).collect()
}

#[test]
fn a_wait_that_the_server_ends_is_counted_and_goes_on() {
    for (kind, send, command) in [
        ("list", "lpush", "brpop"),
        ("zset", "zadd", "bzpopmin"),
        ("stream --groups 1", "xadd", "xreadgroup"),
    ] {
        let server = Server::redis();
        let line = format!("{kind} --rps 200 --duration 2s --json -");
        let running = deliver(&server, &line).start();
        assert!(within(PATIENCE, || server.calls(send) > 50));
        let mut ended = 0;
        assert!(within(PATIENCE, || {
            for (id, how) in waiting(&server, command).iter().zip(["TIMEOUT", "ERROR"]) {
                ended += server.number(&["CLIENT", "UNBLOCK", id, how]);
            }
            ended >= 3
        }));
        let test = test(running.wait().ok());
        // Some of both: a wait without an end has no time that could be up.
        assert!(waits(&test, "ended_by_server") > 1, "{kind}: {ended}");
        assert_eq!(waited(&test, "timeout_late_ms"), 0, "{kind}");
        assert_eq!(count(&test, "lost"), 0, "{kind}");
    }
}

#[test]
fn a_group_that_is_gone_is_made_again() {
    let server = Server::redis();
    let running = deliver(&server, "stream --groups 1 --rps 200 --duration 2s --json -").start();
    assert!(within(PATIENCE, || server.calls("xadd") > 100));
    server.ask(&["FLUSHALL"]);
    let ran = running.wait();
    let test = test(ran);
    assert!(waits(&test, "ended_by_server") > 0);
    assert!(count(&test, "received") > 200, "it goes on");
}

#[test]
fn entries_of_a_consumer_that_died_stay_pending_or_are_claimed() {
    for claims in [false, true] {
        let server = Server::redis();
        let claim = if claims { "--claim 0.8" } else { "--drain 0.3" };
        let line =
            format!("stream --groups 1 --consumers 2 --rps 500 --duration 2s {claim} --json -");
        let running = deliver(&server, &line).start();
        assert!(within(PATIENCE, || server.calls("xadd") > 100));
        let key = server.keys().pop().unwrap();
        let mut taken = 0;
        for _ in 0..3 {
            let words = ["XREADGROUP", "GROUP", "group-0", "dead", "COUNT", "1", "BLOCK", "500"];
            let reply = server.ask(&[&words[..], &["STREAMS", &key, ">"]].concat());
            taken += u64::from(format!("{reply:?}").contains("Bulk"));
        }
        assert!(taken > 0);
        let test = test(running.wait().exits(i32::from(!claims)));
        let counts = ["lost", "doubled"].map(|name| count(&test, name));
        if claims {
            assert_eq!((counts, waits(&test, "never_acknowledged")), ([0, 0], 0))
        } else {
            assert_eq!((counts, waits(&test, "never_acknowledged")), ([taken, 0], taken))
        }
        assert!(server.keys().is_empty());
    }
}

#[test]
fn receivers_that_are_killed_come_back() {
    let server = Server::redis();
    // What a reliable queue had given to a receiver that died is put back.
    let line = "list --pop blmove --rps 500 --duration 2s --receivers 3 --json -";
    let running = deliver(&server, line).start();
    assert!(within(PATIENCE, || server.calls("lpush") > 100));
    let ids = waiting(&server, "blmove");
    for id in &ids {
        server.ask(&["CLIENT", "KILL", "ID", id]);
    }
    let test = test(running.wait());
    assert_eq!(count(&test, "receivers_cut_off"), ids.len() as u64);
    assert_eq!(count(&test, "lost"), 0);
    assert!(count(&test, "doubled") <= ids.len() as u64, "those whose LREM came too late: {test}");
}

#[test]
fn a_server_that_is_started_again_is_found_again() {
    for kind in ["list", "zset", "stream --groups 1", "stream --receivers 2"] {
        let mut server = Server::redis();
        let running =
            deliver(&server, &format!("{kind} --rps 500 --duration 600 --json -")).start();
        assert!(within(PATIENCE, || server.info("total_commands_processed") > 500));
        server.kill();
        server.restart();
        running.until("it is found again", |_| server.info("total_commands_processed") > 2_000);
        running.interrupt();
        let test = test(running.wait());
        assert!(count(&test, "receivers_cut_off") > 0, "{kind}");
        assert!(count(&test, "received") > 500, "{kind}: it goes on");
        assert!(server.keys().is_empty(), "{kind}");
    }
}

#[test]
fn a_primary_that_becomes_a_replica_ends_waits() {
    let (server, other) = (Server::redis(), Server::redis());
    let running = deliver(&server, "list --rps 500 --duration 5s --json -").start();
    assert!(within(PATIENCE, || server.calls("lpush") > 100));
    server.ask(&["REPLICAOF", "127.0.0.1", &other.port().to_string()]);
    let refused = || server.text(&["INFO", "errorstats"]).contains("errorstat_READONLY");
    assert!(within(PATIENCE, refused));
    server.ask(&["REPLICAOF", "NO", "ONE"]);
    let test = test(running.wait());
    let cut_off = count(&test, "receivers_cut_off");
    assert!((1..=10).contains(&cut_off), "a failover closes connections that wait: {cut_off}");
    assert!(waits(&test, "ended_by_server") > 0);
    assert!(count(&test, "received") > 500, "it goes on");
}

#[test]
fn a_server_without_the_command_is_named_and_nothing_hangs() {
    let server = Server::redis_with(&["--rename-command", "BLMPOP", ""]);
    deliver(&server, "list --pop blmpop -n 10")
        .run()
        .exits(1)
        .says("unknown command")
        .says("BLMPOP");
    let server = Server::redis();
    deliver(&server, "stream --groups 1 --ack xackdel -n 10").run().exits(1).says("XACKDEL");
    server.ask(&["ACL", "SETUSER", "ann", "on", ">a-long-password", "~*", "+@all", "-brpop"]);
    let line = "list -n 10 --user ann -a a-long-password";
    deliver(&server, line).run().exits(1).says("NOPERM").says("the user lacks the permission");
}

#[test]
fn what_a_queue_loses_and_doubles_is_counted_exactly_over_threads() {
    let broker = QueueBroker::new();
    let shapes =
        ["--receivers 1", "--keys 3 --keys-per-receiver 2 --receivers 3 --receiver-threads 2"];
    for shape in shapes {
        let line = format!("-c 1 -n 1000 --drain 2 --json - {shape}");
        let test = test(broker.run(&line).exits(1));
        for (name, expected) in
            [("expected", 1_000), ("received", 990), ("lost", 10), ("doubled", 4)]
        {
            assert_eq!(count(&test, name), expected, "{shape}: {name}");
        }
        if shape == "--receivers 1" {
            assert_eq!(count(&test, "out_of_order"), 2, "{shape}");
        }
    }
}

#[test]
fn over_a_unix_socket() {
    let server = Server::redis();
    for kind in ["list", "zset", "stream --groups 1"] {
        all_arrive(&server, &format!("{kind} -s {} -n 300", server.socket().display()), 300);
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let server = Server::redis();
    for (line, why) in [
        ("lists", "list"),
        ("list --count 3", "BRPOP takes one message at a time; use --pop blmpop"),
        ("list --pop blmove --keys 2 --keys-per-receiver 2", "BLMOVE waits on one list"),
        ("list --keys 2 --receivers 1", "so that some keys have no receiver"),
        ("list --receivers 0", "--receivers 0"),
        ("list --keys 0", "--keys 0"),
        ("list --pop brpoplpush", "brpop"),
        ("list --poll 1", "--poll is for receivers that do not wait"),
        ("list --pop lpop --poll 9", "--poll: must be between 0.001 and 8 seconds"),
        ("list --pop lpop --block 1", "--block: LPOP and RPOP do not wait; use --poll"),
        ("zset --zpop zpopmin", "bzpopmin"),
        ("zset --keys 2 --keys-per-receiver 3", "--keys-per-receiver 3"),
        ("stream --ack noack", "--ack is for consumer groups"),
        ("stream --claim 1", "--claim is for consumer groups"),
        ("stream --receivers 3 --keys 2", "some keys would have more receivers than others"),
        ("stream --groups 2 --consumers 1 --keys 2", "so that some keys have no receiver"),
        ("stream --groups 101", "--groups 101: must be between 0 and 100"),
        ("zset -d 7", "a message needs at least 8"),
    ] {
        deliver(&server, line).run().exits(2).says(why);
    }
}
