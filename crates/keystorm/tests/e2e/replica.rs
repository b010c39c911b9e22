//! `keystorm deliver replica`: writes at a primary are read at its replicas, and those in between are counted.

use std::time::Duration;

use serde_json::Value;

use crate::deliver::{count, deliver, is_exact, test};
use crate::program::{PATIENCE, within};
use crate::server::Server;

/// A primary and so many replicas of it, which have its data.
fn replicated(replicas: u32, start: fn() -> Server) -> (Server, Vec<Server>) {
    let primary = start();
    let replicas: Vec<Server> = (0..replicas)
        .map(|_| {
            let replica = start();
            replica.ask(&["REPLICAOF", "127.0.0.1", &primary.port().to_string()]);
            replica
        })
        .collect();
    for replica in &replicas {
        let is_up =
            || replica.info_anew().is_some_and(|info| info.contains("master_link_status:up"));
        assert!(within(PATIENCE, is_up), "a replica has the data of its primary");
    }
    // A primary names a replica when that has acknowledged its data, which it does once a second.
    let named = || match primary.ask(&["ROLE"]) {
        wire::resp::Value::Array(role) => match &role[2] {
            wire::resp::Value::Array(named) => named.len() == replicas.len(),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    assert!(within(PATIENCE, named), "the primary names its replicas");
    (primary, replicas)
}

/// Runs it, and checks that its counts add up: each write was read or overtaken at each replica.
fn adds_up(primary: &Server, line: &str, expected: u64) -> Value {
    let test = test(deliver(primary, &format!("replica --json - {line}")).run().ok());
    is_exact(&test, expected, line);
    assert_eq!(count(&test, "from_other_runs"), 0, "{line}");
    let polls = &test["deliveries"]["polls"];
    let overtaken = polls["overtaken"].as_u64().unwrap();
    assert_eq!(count(&test, "received") + overtaken, expected, "{line}");
    assert_eq!(polls["receivers_behind"], 0, "{line}");
    assert!(polls["between_reads_ms"]["p99"].as_f64().unwrap() > 0.0, "{line}");
    test
}

#[test]
fn every_write_is_read_or_overtaken_at_every_replica() {
    for start in [Server::redis, Server::valkey] {
        let (primary, replicas) = replicated(2, start);
        for line in [
            "-n 500",
            "-n 500 --writers 5 --keys 3 -3",
            "-n 500 -P 8 --engine epoll -d 1000 --receiver-threads 2 --threads 2 --writers 4",
        ] {
            primary.reset();
            adds_up(&primary, line, 1_000);
            let keys = if line.contains("--keys 3") { 3 } else { 1 };
            assert_eq!(primary.calls("set"), 500 + keys, "{line}, and a probe each");
            assert_eq!(primary.calls("get"), keys, "{line}: the last values");
            assert_eq!(primary.number(&["DBSIZE"]), 0, "{line}: no key stays behind");
        }
        assert!(replicas.iter().all(|replica| replica.calls("get") > 0));
    }
}

#[test]
fn at_a_slow_rate_every_write_is_read() {
    let (primary, _replicas) = replicated(1, Server::redis);
    let test = adds_up(&primary, "--rps 10 -n 20", 20);
    // A read takes much less than the 100 ms between writes.
    assert!(count(&test, "received") >= 16, "{}", count(&test, "received"));
    let of = |test: &Value| test["latency_ms"]["response"]["p50"].as_f64().unwrap();
    assert!(of(&test) > 0.0);
}

#[test]
fn other_addresses_can_be_read() {
    let (primary, replicas) = replicated(1, Server::redis);
    let at = format!("--at 127.0.0.1:{} --at 127.0.0.1:{}", replicas[0].port(), primary.port());
    primary.reset();
    adds_up(&primary, &format!("-n 200 {at}"), 400);
    adds_up(&primary, &format!("-n 200 --writers 2 --on local:2 {at}"), 400);
    let line = format!("replica -n 200 {at}");
    deliver(&primary, &line)
        .run()
        .ok()
        .prints("overtaken between two reads")
        .prints("between reads ");
}

#[test]
fn a_replica_that_stands_still_shows_in_deliveries() {
    let (primary, replicas) = replicated(1, Server::redis);
    let running = deliver(&primary, "replica --json - --rps 200 --duration 600").start();
    assert!(within(PATIENCE, || primary.calls("set") > 50));
    let stood = replicas[0].pause(Duration::from_millis(400));
    let read = replicas[0].calls("get");
    assert!(within(PATIENCE, || replicas[0].calls("get") > read + 10), "it is read again");
    running.interrupt();
    let test = test(running.wait().exits(130));
    let max_ms = test["latency_ms"]["response"]["max"].as_f64().unwrap();
    // The last write before it went on was read at once; those before were overtaken.
    let gap_ms = test["deliveries"]["polls"]["between_reads_ms"]["max"].as_f64().unwrap();
    assert!(gap_ms >= stood.as_secs_f64() * 1e3 * 0.9, "{gap_ms} ms of {stood:?}, {max_ms}");
    assert_eq!(count(&test, "lost"), 0);
}

#[test]
fn a_replica_that_is_behind_at_the_end_is_counted() {
    let (primary, replicas) = replicated(1, Server::redis);
    let at = format!("--at 127.0.0.1:{}", replicas[0].port());
    let line = format!("replica --json - --rps 200 --duration 2s --drain 0.3 {at}");
    let running = deliver(&primary, &line).start();
    assert!(within(PATIENCE, || primary.calls("set") > 50));
    // It keeps answering, and gets no more writes.
    replicas[0].ask(&["REPLICAOF", "NO", "ONE"]);
    let test = test(running.wait().exits(1));
    assert_eq!(count(&test, "lost"), 1, "the last write, at one receiver");
    assert_eq!(test["deliveries"]["polls"]["receivers_behind"], 1);
}

#[test]
fn a_server_without_replicas_and_a_replica_are_named() {
    let (primary, replicas) = replicated(1, Server::redis);
    deliver(&replicas[0], "replica -n 10")
        .run()
        .exits(1)
        .says("is a replica; start with -h and -p");
    let alone = Server::redis();
    deliver(&alone, "replica -n 10").run().exits(1).says("has no replicas").says("--at");
    assert_eq!((alone.calls("set"), primary.calls("set")), (0, 0));
    deliver(&alone, "replica --at nowhere").run().exits(2).says("HOST:PORT");
    let line = format!("replica -n 10 --at 127.0.0.1:{}", Server::redis().port());
    deliver(&alone, &line).run().exits(1);
    let stranger = Server::redis();
    let line = format!("replica -n 10 --at 127.0.0.1:{}", stranger.port());
    deliver(&alone, &line).run().exits(1).says("did not arrive within 10 s");
}

/// What senders saw that waited for replicas: so many, too few, refused.
fn replica_waits(test: &Value) -> [u64; 3] {
    let waits = &test["deliveries"]["sending"]["commands"][1];
    ["ok", "miss", "errors"].map(|name| waits[name].as_u64().unwrap())
}

#[test]
fn each_write_waits_until_replicas_have_acknowledged_it() {
    for start in [Server::redis, Server::valkey] {
        let (primary, replicas) = replicated(2, start);
        for line in ["-n 300 --wait 2", "-n 300 --writers 3 --wait 1 -3 --rps 1k --threads 2"] {
            primary.reset();
            let test = adds_up(&primary, line, 600);
            assert_eq!(replica_waits(&test), [300, 0, 0], "{line}");
            assert_eq!((primary.calls("wait"), primary.calls("set")), (300, 301), "{line}");
            let waits = &test["deliveries"]["sending"]["commands"][1]["service_ms"];
            assert_eq!(waits["exact"]["count"], 300, "{line}");
        }
        let line = "replica -n 20 --wait 3 --wait-timeout 10ms";
        let ran = deliver(&primary, line).run().ok();
        ran.prints("  messages: 20 sent, all acknowledged\n")
            .prints("  replica wait ")
            .prints("  WAIT 3: reached for 0 of 20 messages, 20 had too few after 10 ms\n");
        let line = "replica --json - --rps 200 --duration 2s --wait 2 --wait-timeout 30ms";
        let running = deliver(&primary, line).start();
        assert!(within(PATIENCE, || primary.calls("wait") > 350));
        replicas[0].pause(Duration::from_millis(400));
        let test = test(running.wait().ok());
        let [reached, fewer, refused] = replica_waits(&test);
        assert!(reached > 0 && fewer > 0 && refused == 0, "{reached} {fewer} {refused}");
        assert_eq!(reached + fewer, count(&test, "messages_acknowledged"));
    }
}

#[test]
fn writes_wait_until_they_are_on_disks_where_the_server_can() {
    let redis = Server::redis();
    let at = format!("--at 127.0.0.1:{}", redis.port());
    deliver(&redis, &format!("replica -n 10 --waitaof 1,0 {at}"))
        .run()
        .exits(1)
        .says("WAITAOF")
        .says("this server has no such command");
    assert_eq!(redis.number(&["DBSIZE"]), 0, "no key stays behind");
    let valkey = Server::valkey_with(&["--appendonly", "yes", "--appendfsync", "always"]);
    let at = format!("--at 127.0.0.1:{}", valkey.port());
    let test = adds_up(&valkey, &format!("-n 100 --waitaof 1,0 {at}"), 100);
    assert_eq!(replica_waits(&test), [100, 0, 0]);
    assert_eq!(valkey.calls("waitaof"), 100);
    let line = format!("-n 5 --waitaof 1,1 --wait-timeout 10ms {at}");
    let test = adds_up(&valkey, &line, 5);
    assert_eq!(replica_waits(&test), [0, 5, 0], "the disk has it, and there is no replica");
}

#[test]
fn waits_that_make_no_sense_are_refused() {
    let server = Server::redis();
    for (line, why) in [
        ("replica --wait 1 -P 2", "sends nothing else"),
        ("replica --wait 0", "no replica is waited for"),
        ("replica --wait 1 --waitaof 1,1", "--waitaof"),
        ("replica --waitaof 2,1", "LOCAL 0 or 1"),
        ("replica --waitaof 1", "LOCAL,REPLICAS"),
        ("replica --wait-timeout 1s", "requires --wait"),
    ] {
        deliver(&server, line).run().exits(2).says(why);
    }
}
