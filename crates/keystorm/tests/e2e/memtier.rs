//! memtier_benchmark's command lines: what the server executes is what they say, in its order.

use std::collections::BTreeMap;

use crate::program::{Keystorm, RunOutput};
use crate::server::{Server, calls};

/// Runs a line of memtier's on a server.
pub(crate) fn run(server: &Server, line: &str) -> RunOutput {
    Keystorm::new(&format!("memtier -p {} {line}", server.port())).run()
}

/// What a server has executed of a line, which goes well.
#[track_caller]
pub(crate) fn executed(server: &Server, line: &str) -> BTreeMap<String, u64> {
    server.reset();
    run(server, line).ok();
    let mut counts = server.counts();
    // Looking at the keys of a plan is no part of it.
    counts.retain(|name, _| name != "flushall" && !name.starts_with("command"));
    counts
}

/// What a server is sent of a line, in order, of one connection.
pub(crate) fn sent(server: &Server, line: &str) -> Vec<String> {
    server.reset();
    server.log_commands();
    run(server, line).ok();
    let all = server.logged();
    let own = [
        "SET", "GET", "WAIT", "HSET", "MSET", "MGET", "PING", "SETEX", "SETRANGE", "GETRANGE",
        "SCAN",
    ];
    all.into_iter().filter(|line| own.contains(&line.split(' ').next().unwrap())).collect()
}

pub(crate) const ONE: &str = "-t 1 -c 1";

#[test]
fn one_set_comes_to_ten_gets_and_each_connection_counts_for_itself() {
    let server = Server::redis();
    assert_eq!(executed(&server, &format!("{ONE} -n 11")), calls([("set", 1), ("get", 10)]));
    assert_eq!(executed(&server, &format!("{ONE} -n 10")), calls([("set", 1), ("get", 9)]));
    assert_eq!(executed(&server, "-t 2 -c 3 -n 12"), calls([("set", 12), ("get", 60)]));
    let pipelined = executed(&server, "-t 4 -c 8 -n 100 --pipeline 16");
    assert_eq!(pipelined.values().sum::<u64>(), 3200);
    let order = sent(&server, &format!("{ONE} -n 5 --ratio 1:2 --key-pattern S:S"));
    let value = "x".repeat(32);
    assert_eq!(
        order,
        [
            &format!("SET memtier-0 {value}")[..],
            "GET memtier-0",
            "GET memtier-1",
            &format!("SET memtier-1 {value}"),
            "GET memtier-2"
        ]
    );
}

#[test]
fn a_second_run_asks_for_the_same_keys_and_another_seed_for_others() {
    let server = Server::redis();
    let line = format!("{ONE} -n 11 --key-maximum 1000000");
    let first = sent(&server, &line);
    assert_eq!(first, sent(&server, &line));
    assert_ne!(first, sent(&server, &format!("{line} --randomize")));
    // All connections draw the same keys unless each has its own seed.
    let keys = |more: &str| {
        let line = format!("-t 1 -c 3 -n 20 --ratio 1:0 --key-maximum 1000000 {more}");
        executed(&server, &line);
        server.keys().len()
    };
    assert_eq!((keys(""), keys("--distinct-client-seed")), (20, 60));
}

#[test]
fn parallel_connections_share_the_keys_and_write_each_once() {
    let server = Server::redis();
    let line = "-t 2 -c 10 -n allkeys --ratio=1:0 --key-pattern=P:P --key-minimum=1 \
                --key-maximum=500 --pipeline 4";
    server.reset();
    run(&server, line).ok().prints("setting requests to 25\n");
    assert_eq!(server.calls("set"), 500);
    let keys = server.keys();
    assert_eq!(keys.len(), 500);
    assert!(keys.contains(&"memtier-1".to_owned()) && keys.contains(&"memtier-500".to_owned()));
    // Where there are more connections than keys, nobody writes beyond the last.
    let line = "-t 2 -c 10 -n 1 --ratio 1:0 --key-pattern P:P --key-minimum 1 --key-maximum 5";
    assert_eq!(executed(&server, line), calls([("set", 20)]));
    assert_eq!(server.keys(), [1, 2, 3, 4, 5].map(|n| format!("memtier-{n}")));
}

#[test]
fn sequential_connections_write_all_keys_but_the_last() {
    let server = Server::redis();
    let line = format!(
        "{ONE} -n allkeys --ratio=1:0 --key-pattern=S:S --key-minimum=1 --key-maximum=1000"
    );
    assert_eq!(executed(&server, &line), calls([("set", 999)]));
    let keys = server.keys();
    assert!(keys.len() == 999 && !keys.contains(&"memtier-1000".to_owned()));
}

#[test]
fn every_pattern_takes_keys_of_its_range() {
    let server = Server::redis();
    for pattern in ["R:R", "S:R", "R:S", "G:R", "R:G", "Z:Z", "G:G", "P:P", "S:Z"] {
        let line = format!(
            "-t 2 -c 2 -n 100 --ratio 1:1 --key-minimum 10 --key-maximum 20 --key-pattern {pattern}"
        );
        assert_eq!(executed(&server, &line), calls([("set", 200), ("get", 200)]), "{pattern}");
        let number = |key: &String| key.strip_prefix("memtier-").unwrap().parse::<u64>().unwrap();
        let keys: Vec<u64> = server.keys().iter().map(number).collect();
        assert!(keys.iter().all(|key| (10..=20).contains(key)), "{pattern}: {keys:?}");
    }
}

#[test]
fn commands_come_in_order_with_their_keys_and_data() {
    let server = Server::redis();
    let line = format!(
        "{ONE} -n 300 --command 'SET __key__ __data__' --command-ratio 1 --command 'GET __key__' \
         --command-ratio 2"
    );
    assert_eq!(executed(&server, &line), calls([("set", 100), ("get", 200)]));
    let line = format!("{ONE} -n 3 -d 4 --key-prefix k --command-key-pattern S");
    assert_eq!(run(&server, &line).code, Some(2), "a pattern is of a command");
    let line = format!(
        "{ONE} -n 3 -d 4 --key-prefix k --command 'SET \"p:__key__:s\" __data__' \
         --command-key-pattern S"
    );
    assert_eq!(sent(&server, &line), ["SET p:k0:s xxxx", "SET p:k1:s xxxx", "SET p:k2:s xxxx"]);
    // Each command counts for itself, and each placeholder is a key of its own.
    let line = format!(
        "{ONE} -n 4 --command 'MGET __key__ __key__' --command-key-pattern S --command \
         'GET __key__' --command-key-pattern S"
    );
    assert_eq!(
        sent(&server, &line),
        ["MGET memtier-0 memtier-1", "GET memtier-0", "MGET memtier-2 memtier-3", "GET memtier-1"]
    );
}

/// The cursors of a log's SCANs.
fn cursors(sent: &[String]) -> Vec<&str> {
    sent.iter().map(|line| line.split(' ').nth(1).unwrap()).collect()
}

#[test]
fn cursors_of_scan_are_followed_on_each_connection() {
    let server = Server::redis();
    let fill = "-t 1 -c 1 --ratio 1:0 --key-pattern S:S --key-maximum 1000 -n 1000";
    let walk = |rest: &str| {
        run(&server, fill).ok();
        server.log_commands();
        let ran = run(&server, &format!("--scan-incremental-iteration {rest}"));
        let mut sent = server.logged();
        sent.retain(|line| line.starts_with("SCAN "));
        (ran, sent)
    };
    let line = format!("{ONE} -n 8 --scan-incremental-max-iterations 3 --command 'SCAN 0'");
    let (ran, sent) = walk(&line);
    let sent = cursors(&sent);
    let begun: Vec<usize> = (0..sent.len()).filter(|at| sent[*at] == "0").collect();
    assert_eq!((sent.len(), begun), (8, vec![0, 4]), "{sent:?}");
    assert_eq!(sent[1..4], sent[5..8], "the same way through the same keys");
    ran.ok().prints("\nScan 0s ").prints("\nScan <cursor>s ");
    // A walk to its end: 1000 keys by 100 and more at a time.
    let (ran, sent) = walk(&format!("{ONE} -n 40 --command 'SCAN 0 COUNT 100 TYPE string'"));
    ran.ok();
    let begun = cursors(&sent).iter().filter(|cursor| **cursor == "0").count();
    assert!(sent.len() == 40 && (4..=20).contains(&begun), "{sent:?}");
    assert!(sent.iter().all(|line| line.ends_with(" COUNT 100 TYPE string")), "{sent:?}");
    // Each connection goes its own way.
    let (ran, sent) = walk("-t 2 -c 3 -n 3 --command 'SCAN 0'");
    ran.ok();
    let begun = cursors(&sent).iter().filter(|cursor| **cursor == "0").count();
    assert_eq!((sent.len(), begun), (18, 6), "{sent:?}");
    // It stays with the key that it began with, and the next one has the next.
    let members: Vec<String> = (0..300).map(|n| format!("{n:0>80} v")).collect();
    for key in ["h1", "h2"] {
        let words = format!("HSET {key} {}", members.join(" "));
        server.ask(&words.split(' ').collect::<Vec<_>>());
    }
    server.log_commands();
    let keys = "--key-prefix h --key-minimum 1 --key-maximum 2 --command-key-pattern S";
    let line = format!(
        "{ONE} -n 40 --scan-incremental-iteration --command 'HSCAN __key__ 0 COUNT 50' {keys}"
    );
    run(&server, &line).ok();
    let mut sent = server.logged();
    sent.retain(|line| line.starts_with("HSCAN "));
    let words: Vec<Vec<&str>> = sent.iter().map(|line| line.split(' ').collect()).collect();
    let walks: Vec<&[Vec<&str>]> = words.chunk_by(|_, next| next[2] != "0").collect();
    assert!(walks.len() > 2 && walks[0].len() > 2, "{sent:?}");
    for (walk, key) in walks.iter().zip(["h1", "h2"].iter().cycle()) {
        assert!(walk.iter().all(|words| words[1] == *key), "{walk:?}");
    }
    // So does a pattern that is drawn, whatever its size.
    let line = "--command 'SCAN 0 MATCH __data__ COUNT 10' --data-size-range 4-60 --random-data";
    let (ran, sent) = walk(&format!("{ONE} -n 24 --scan-incremental-max-iterations 2 {line}"));
    ran.ok();
    let pattern = |line: &String| line.split(' ').skip(3).collect::<Vec<_>>().join(" ");
    let patterns: Vec<String> = sent.iter().map(pattern).collect();
    assert!(patterns.chunks(3).all(|walk| walk.iter().all(|it| *it == walk[0])), "{patterns:?}");
    assert!(patterns[0] != patterns[3] && patterns[3] != patterns[6], "{patterns:?}");
    let (ran, _) = walk("-n 3 --command 'GET 0'");
    ran.exits(1).says("needs a SCAN with its cursor");
}

#[test]
fn a_transaction_is_sent_in_one_piece_with_one_key() {
    let server = Server::redis();
    let commands = "--command MULTI --command 'SET __key__ __data__' --command 'INCR n:__key__' \
                    --command-ratio 2 --command EXEC --transaction";
    let all = executed(&server, &format!("-t 2 -c 3 -n 20 --pipeline 7 {commands}"));
    let expected = [("multi", 24), ("set", 24), ("incr", 48), ("exec", 24)];
    assert_eq!(all, calls(expected), "whole ones: four of five commands on each connection");
    server.log_commands();
    let ran = run(&server, &format!("{ONE} -n 9 {commands}")).ok();
    ran.prints("10        Requests per client").prints("\nMultis ").prints("\nExecs ");
    let key = |line: &str| line.split(' ').nth(1).unwrap().trim_start_matches("n:").to_owned();
    let log = server.logged();
    let keys: Vec<String> = (log.iter())
        .filter(|line| line.starts_with("SET ") || line.starts_with("INCR "))
        .map(|line| key(line))
        .collect();
    assert_eq!(keys.len(), 6, "{log:?}");
    assert!(keys.chunks(3).all(|keys| keys.iter().all(|key| *key == keys[0])), "{keys:?}");
    assert_ne!(keys[0], keys[3]);
    // The pattern is that of the first command with a key.
    server.ask(&["FLUSHALL"]);
    let commands = "--command MULTI --command 'SET __key__ 1' --command-key-pattern S \
                    --command 'EXPIRE __key__ 60' --command EXEC --transaction --key-minimum 1";
    run(&server, &format!("{ONE} -n 12 {commands}")).ok();
    let mut keys = server.keys();
    keys.sort_unstable();
    assert_eq!(keys, ["memtier-1", "memtier-2", "memtier-3"]);
}

#[test]
fn a_run_of_all_keys_ends_when_its_time_is_over() {
    let server = Server::redis();
    let all = "-t 2 -c 2 --ratio 1:0 --key-pattern P:P --key-minimum 1 -n allkeys";
    let counts = executed(&server, &format!("--test-time 60 {all} --key-maximum 400"));
    assert_eq!(counts, calls([("set", 400)]));
    let ran =
        run(&server, &format!("--test-time 1 {all} --key-maximum 4000000000 --rate-limiting 50"));
    ran.ok().prints("1000000000 Requests per client").prints("ALL STATS");
}

#[test]
fn a_lost_connection_waits_as_long_as_the_factor_says() {
    let server = Server::redis();
    let line = "--reconnect-on-error --reconnect-backoff-factor 1.5 --print-plan";
    let plan = run(&server, line).ok().out;
    let plan: serde_json::Value = serde_json::from_str(&plan).unwrap();
    let backoff = &plan[0]["recovery"]["backoff"];
    assert_eq!(backoff["factor"], 1.5);
    assert_eq!(backoff["first_ns"], 1_000_000_000u64);
    assert_eq!(plan[0]["recovery"]["reconnect"], true);
    // A run whose connection is closed goes on a second later.
    let line = format!(
        "memtier -p {} {ONE} --test-time 5 --reconnect-on-error --reconnect-backoff-factor 1.5",
        server.port()
    );
    let running = std::thread::spawn(move || Keystorm::new(&line).run());
    while server.calls("get") < 100 {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    server.ask(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
    let ran = running.join().unwrap();
    ran.ok().says(" conns 1 conn errors:");
}

#[test]
fn threads_are_pinned_and_reported_and_figures_served() {
    let server = Server::redis();
    let plan = run(&server, "-t 2 --pin-threads --print-plan").ok().out;
    let plan: serde_json::Value = serde_json::from_str(&plan).unwrap();
    assert!(!plan[0]["load"]["concurrency"]["cpus"].as_array().unwrap().is_empty(), "{plan}");
    let line = "-t 2 -c 2 -n 2000 --cpu-warn-threshold 0.01 --prometheus-port 0 --pin-threads";
    let ran = run(&server, line).ok().prints("Prometheus exporter listening on http://127.0.0.1:");
    ran.says("warning: thread 0 averaged ").says("warning: thread 1 averaged ");
    let ran = run(&server, &format!("{ONE} -n 10 --cpu-warn-threshold 100000")).ok();
    assert!(!ran.err.contains("warning"), "{}", ran.err);
    let read = "--command 'GET __key__' --command-is-read";
    assert_eq!(executed(&server, &format!("{ONE} -n 5 {read}")), calls([("get", 5)]));
    let write = run(&server, "-n 5 --command 'SET __key__ v' --command-is-read").exits(1);
    write.says("--command-is-read: SET writes");
}

#[test]
fn sizes_are_those_of_the_list_in_turn_and_of_the_range() {
    let server = Server::redis();
    let lengths = |line: &str| -> Vec<usize> {
        let sent = sent(&server, &format!("{ONE} --ratio 1:0 --key-pattern S:S {line}"));
        sent.iter().map(|line| line.split(' ').nth(2).unwrap().len()).collect()
    };
    assert_eq!(lengths("-n 6 --data-size-list 10:1,20:2"), [10, 20, 20, 10, 20, 20]);
    let ranged = lengths("-n 40 --data-size-range 20-10");
    assert!(
        ranged.iter().all(|len| (10..=20).contains(len))
            && ranged.iter().min() < ranged.iter().max()
    );
    let by_key = "-n 11 --data-size-range 10-20 --data-size-pattern S --key-maximum 10";
    assert_eq!(lengths(by_key), (10..=20).collect::<Vec<_>>());
    run(&server, &format!("{ONE} -n 2 --ratio 1:0 -R -d 30 --key-pattern S:S")).ok();
    let values = ["memtier-0", "memtier-1"].map(|key| format!("{:?}", server.ask(&["GET", key])));
    assert!(values[0] != values[1] && !values[0].contains("xxxxx"), "{values:?}");
}

#[test]
fn expiry_and_offset_change_the_commands() {
    let server = Server::redis();
    let line = format!("{ONE} -n 10 --ratio 1:0 --expiry-range 10-10");
    assert_eq!(executed(&server, &line), calls([("setex", 10)]));
    let line = format!("{ONE} -n 10 --ratio 1:1 --data-offset 5");
    assert_eq!(executed(&server, &line), calls([("setrange", 5), ("getrange", 5)]));
}

#[test]
fn waits_stand_among_sets() {
    let server = Server::redis();
    let line = "-n 10 --ratio 1:0 --wait-ratio 1:1 --num-slaves 1-1 --wait-timeout 1-1";
    // W S S W S S W S S W: no log of the server has commands that block in their order.
    let counts = executed(&server, &format!("{ONE} {line}"));
    assert_eq!(counts, calls([("set", 6), ("wait", 4)]));
    // What is asked for is drawn for each.
    let line =
        "-n 10 --ratio 1:0 --wait-ratio 1:1 --num-slaves 1-3 --wait-timeout 2-9 --print-plan";
    let plan: serde_json::Value = serde_json::from_str(&run(&server, line).ok().out).unwrap();
    let words = plan[0]["sequence"][1]["args"].to_string();
    assert!(words.contains("draw:1..3,1") && words.contains("draw:2..9,2"), "{words}");
}

#[test]
fn a_connection_for_every_request_is_one() {
    let server = Server::redis();
    let before = server.info("total_connections_received");
    assert_eq!(
        executed(&server, &format!("{ONE} -n 50 --reconnect-interval=1")).values().sum::<u64>(),
        50
    );
    let opened = server.info("total_connections_received") - before;
    // Those that look at the server come on top.
    assert!((50..60).contains(&opened), "{opened}");
    for depth in [2, 4, 7] {
        let line = format!("{ONE} -n 60 --pipeline {depth} --reconnect-interval=6");
        assert_eq!(executed(&server, &line).values().sum::<u64>(), 60);
        let opened = server.info("total_connections_received");
        assert!((10..20).contains(&opened), "{depth}: {opened}");
    }
}

#[test]
fn a_rate_holds_for_each_connection() {
    let server = Server::redis();
    let counts = executed(&server, "-t 1 -c 2 --rate-limit=100 --test-time 2");
    let all = counts.values().sum::<u64>();
    assert!((100..=402).contains(&all), "{all}");
}

#[test]
fn the_first_key_of_an_argument_is_one_and_the_rest_is_text() {
    let server = Server::redis();
    let line = format!("{ONE} -n 1 --key-minimum 7 --key-maximum 7 --key-prefix k");
    let line = format!("{line} --command 'MSET __key__:__key__ a __key__ b'");
    assert_eq!(sent(&server, &line), ["MSET k7:__key__ a k7 b"]);
    let ran = run(&server, &line).ok();
    ran.says("warning: --command: of __key__:__key__ the first __key__ is a key, and the rest is sent as text");
}

#[test]
fn sizes_that_go_by_the_key_lie_on_a_line() {
    let server = Server::redis();
    let keys =
        "--key-minimum 1 --key-maximum 10 --key-pattern S:S --key-prefix k --ratio 1:0 -n 10";
    let sizes = "--data-size-range 10-14 --data-size-pattern S";
    run(&server, &format!("{ONE} {keys} {sizes}")).ok();
    let length = |n: u32| server.text(&["STRLEN", &format!("k{n}")]);
    let lengths: Vec<_> = (1..=10).map(length).collect();
    assert_eq!(lengths, ["10", "10", "10", "11", "11", "12", "12", "13", "13", "14"]);
}
