//! memtier_benchmark: what came after 2.3.1, and what is watched while a run goes on.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, UdpSocket};

use serde_json::Value;

use crate::cluster::Cluster;
use crate::memtier_reports::{json, run};
use crate::program::Keystorm;
use crate::rpc_perf_admin::ask;
use crate::server::{Server, free_port};

const ONE: &str = "-t 1 -c 1";

/// A server that has keys 1 to 3 of 10.
fn some_keys() -> Server {
    let server = Server::redis();
    for n in 1..=3 {
        server.ask(&["SET", &format!("memtier-{n}"), "v"]);
        server.ask(&["HSET", &format!("h{n}"), "f", "v"]);
    }
    server
}

const TEN: &str = "--key-minimum 1 --key-maximum 10 --command-key-pattern S";

#[test]
fn lookups_that_miss_are_counted_and_reported() {
    let server = some_keys();
    let line = format!("{ONE} -n 20 --command 'GET __key__' {TEN} --command 'SET x y'");
    let (ran, value) = json(&server, &line);
    let all = &value["ALL STATS"];
    let lookups = &all["Per-Key Misses"];
    assert_eq!(
        (&lookups["GET"]["Total Hits"], &lookups["GET"]["Total Misses"]),
        (&3.into(), &7.into())
    );
    assert_eq!(
        (&lookups["GET"]["key[0] Hits"], &lookups["GET"]["key[1] Hits"]),
        (&3.into(), &Value::Null)
    );
    assert!(lookups.get("SET").is_none(), "{lookups}");
    let [hits, misses] = ["Hits/sec", "Misses/sec"].map(|key| all["Gets"][key].as_f64().unwrap());
    assert!((misses / hits - 7.0 / 3.0).abs() < 0.1, "{hits} {misses}");
    assert_eq!(all["Totals"]["Hits/sec"], all["Gets"]["Hits/sec"]);
    assert_eq!(all["Sets"]["Hits/sec"], 0.0);
    let sets = ran.out.lines().find(|line| line.starts_with("Sets ")).unwrap();
    assert!(sets.contains(" --- ") && ran.out.contains("Misses/sec"), "{}", ran.out);
    ran.says("warning: GET miss rate 70.00% above target 1.00% (7 misses / 10 ops)");
}

#[test]
fn a_miss_rate_below_its_threshold_is_no_warning() {
    let server = some_keys();
    let line = format!("{ONE} -n 10 --command 'HGET h__key__ f' --key-prefix= {TEN}");
    let (ran, value) = json(&server, &format!("{line} --miss-rate-threshold 70"));
    assert_eq!(value["ALL STATS"]["Per-Key Misses"]["HGET"]["Total Misses"], 7);
    assert!(!ran.err.contains("miss rate"), "{}", ran.err);
}

#[test]
fn keys_and_fields_of_one_command_are_counted_each() {
    let server = some_keys();
    let describe = |lookup: &Value| {
        ["key[0] Hits", "key[0] Misses", "key[1] Hits", "key[1] Misses"].map(|n| lookup[n].clone())
    };
    let line = format!("{ONE} -n 5 --command 'MGET __key__ __key__' {TEN}");
    let (_, value) = json(&server, &line);
    let counted = [2, 3, 1, 4].map(Value::from);
    let lookup = &value["ALL STATS"]["Per-Key Misses"]["MGET"];
    assert_eq!((&lookup["Total Hits"], &lookup["Total Misses"]), (&3.into(), &7.into()));
    assert_eq!((describe(lookup), lookup.get("key[2] Hits")), (counted, None));
    let fields = "HMGET h__key__ f g";
    for protocol in ["redis", "resp3"] {
        let line = format!(
            "{ONE} -n 10 --protocol {protocol} --pipeline 4 --command '{fields}' --key-prefix= {TEN}"
        );
        let (_, value) = json(&server, &line);
        let lookup = &value["ALL STATS"]["Per-Key Misses"]["HMGET"];
        assert_eq!(describe(lookup), [3, 7, 0, 10].map(Value::from), "{lookup}");
    }
}

/// The reply is a number: it says how many keys exist, and of several keys not which.
#[test]
fn exists_has_hits_of_each_key_only_for_a_single_one() {
    let server = some_keys();
    let (_, value) = json(&server, &format!("{ONE} -n 10 --command 'EXISTS __key__' {TEN}"));
    let lookup = &value["ALL STATS"]["Per-Key Misses"]["EXISTS"];
    assert_eq!((&lookup["key[0] Hits"], &lookup["Total Misses"]), (&3.into(), &7.into()));
    server.ask(&["SET", "x", "y"]);
    let (_, value) = json(&server, &format!("{ONE} -n 10 --command 'EXISTS __key__ x' {TEN}"));
    let lookup = &value["ALL STATS"]["Per-Key Misses"]["EXISTS"];
    assert_eq!((&lookup["Total Hits"], &lookup["Total Misses"]), (&13.into(), &7.into()));
    assert!(lookup.get("key[0] Hits").is_none(), "{lookup}");
}

#[test]
fn misses_are_not_counted_on_request() {
    let server = some_keys();
    let line = format!("{ONE} -n 5 --command 'MGET __key__ __key__' {TEN}");
    let (ran, value) = json(&server, &format!("{line} --command-miss-tracking off"));
    assert!(value["ALL STATS"].get("Per-Key Misses").is_none());
    assert!(!ran.out.contains("Hits/sec") && !ran.err.contains("miss rate"), "{}", ran.err);
}

#[test]
fn seconds_of_nothing_but_errors_have_all_their_figures() {
    let server = Server::redis();
    let line = format!("{ONE} -n 10 --command 'SET a b c' --command 'GET a'");
    let (_, value) = json(&server, &line);
    let second = &value["ALL STATS"]["Sets"]["Time-Serie"]["0"];
    assert_eq!((&second["Count"], &second["p50.00"]), (&5.into(), &0.0.into()), "{second}");
}

#[test]
fn percentiles_are_reported_while_a_run_goes_on() {
    let server = Server::redis();
    let line =
        format!("{ONE} --test-time 2 --realtime-latencies --print-percentiles 50,99,99.9,99.99");
    let ran = run(&server, &format!("{line} --latency-window 5")).ok();
    let lines: Vec<&str> = ran.err.lines().filter(|line| line.starts_with("[RUN #1 ")).collect();
    let block: Vec<&str> = lines[..7].iter().map(|line| line.split_once("] ").unwrap().1).collect();
    assert!(block[0].starts_with("throughput ") && block[0].contains("   miss "), "{block:?}");
    for (at, of) in [(1, "inst    "), (3, "win5s   "), (5, "overall ")] {
        assert!(block[at].starts_with(&format!("latency [{of}]  p50 ")), "{block:?}");
        assert!(block[at + 1].starts_with(&format!("latency [{of}]  p99.990 ")), "{block:?}");
    }
    assert!(!ran.err.contains('\x1b') && !ran.err.contains(" ops, "), "{}", ran.err);
    let ran = run(&server, &format!("{line} --latency-window 0")).ok();
    assert!(ran.err.contains("[overall ]") && !ran.err.contains("[win"), "{}", ran.err);
}

#[test]
fn prometheus_finds_the_names_and_buckets_of_the_original() {
    let server = Server::redis();
    let port = free_port();
    let line = format!(
        "memtier -p {} {ONE} --test-time 60 --prometheus-port {port} --prometheus-latency-buckets \
         0.001,10 --prometheus-run-label 'note=a\"b' --command 'GET __key__'",
        server.port()
    );
    let running = Keystorm::new(&line).start();
    let listens = format!("Prometheus exporter listening on http://127.0.0.1:{port}/metrics\n");
    running.until("it says where", |running| running.out().contains(&listens));
    let run_one = "\nmemtier_run{note=\"a\\\"b\"} 1\n";
    running.until("figures of the run", |_| ask(port, "GET /metrics").1.contains(run_one));
    let (status, page) = ask(port, "GET /metrics");
    assert_eq!(status, 200);
    let value = |name: &str| -> f64 {
        let line = page.lines().find(|line| line.starts_with(&format!("{name}{{note="))).unwrap();
        line.rsplit(' ').next().unwrap().parse().unwrap()
    };
    assert!(value("memtier_ops_total") > 0.0);
    assert_eq!(value("memtier_ops_total"), value("memtier_latency_seconds_count"));
    assert_eq!(value("memtier_ops_total"), value("memtier_arbitrary_misses_total"));
    assert_eq!((value("memtier_misses_total"), value("memtier_connections")), (0.0, 1.0));
    let bounds: Vec<&str> =
        page.lines().filter_map(|line| line.split_once("le=\"")?.1.split('"').next()).collect();
    assert_eq!(bounds, ["0.001", "10", "+Inf"]);
    assert_eq!([ask(port, "POST /metrics").0, ask(port, "GET /other").0], [501, 404]);
    running.interrupt();
    running.wait().ok();
}

#[test]
fn a_port_that_is_taken_is_reported() {
    let server = Server::redis();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let ran = run(&server, &format!("{ONE} -n 1 --prometheus-port {port}")).exits(1);
    ran.says(&format!("failed to bind 127.0.0.1:{port}"));
}

#[test]
fn what_threads_use_is_in_the_file_second_by_second() {
    let server = Server::redis();
    let (_, value) = json(&server, "-t 2 -c 2 -n 1000 --pin-threads");
    let seconds = value["ALL STATS"]["CPU Stats"].as_object().unwrap();
    for second in seconds.values() {
        let used = ["Main Thread", "Thread 0", "Thread 1"].map(|key| second[key].as_f64().unwrap());
        assert!(used.iter().all(|used| *used >= 0.0), "{second}");
    }
    let cpu = &value["ALL STATS"]["CPU"];
    let seconds = |key: &str| cpu[key].as_f64().unwrap_or_else(|| panic!("{key}: {cpu}"));
    assert!(seconds("cpu_total_seconds") > 0.0 && cpu["threads_counted"] == 2, "{cpu}");
    let both = seconds("cpu_user_seconds") + seconds("cpu_sys_seconds");
    assert!((both - seconds("cpu_total_seconds")).abs() < 1e-5, "{cpu}");
    assert!(cpu["Per Thread"]["Thread 1"]["wall_seconds"].as_f64() > Some(0.0), "{cpu}");
    assert_eq!(value["configuration"]["pin_threads"], true);
    let many =
        run(&server, "-t 64 -c 1 -n 1").ok().says("warning: CPU oversubscription: 64 worker");
    assert_eq!(many.err.matches("oversubscription").count(), 1);
}

#[test]
fn debugging_tells_of_the_plan_and_of_what_went_wrong_and_of_no_password() {
    let server = Server::redis_with(&["--requirepass", "hush-hush"]);
    let line =
        format!("{ONE} -n 20 -a hush-hush -D --command 'LPUSH __key__ a' --command 'GET __key__'");
    let ran = run(&server, &format!("{line} --key-maximum 1 --key-minimum 1")).ok();
    for says in [
        "debug: plan: {",
        "1 opened, 0 lost",
        "debug: 10 error replies of kind WRONGTYPE",
        "debug: for example: WRONGTYPE Operation",
    ] {
        assert!(ran.err.contains(says), "{says}: {}", ran.err);
    }
    assert!(!ran.err.contains("hush"), "{}", ran.err);
    let plain = run(&server, &format!("{ONE} -n 5 -a hush-hush")).ok();
    assert!(!plain.err.contains("debug"), "{}", plain.err);
}

#[test]
fn graphite_is_reported_when_a_run_begins_and_ends() {
    let server = Server::redis();
    let figures = UdpSocket::bind("127.0.0.1:0").unwrap();
    let events = TcpListener::bind("127.0.0.1:0").unwrap();
    let ports = (figures.local_addr().unwrap().port(), events.local_addr().unwrap().port());
    let heard = std::thread::spawn(move || {
        let two = events.incoming().take(2).map(|stream| {
            let mut stream = stream.unwrap();
            let mut text = vec![0; 4096];
            let length = stream.read(&mut text).unwrap();
            stream.write_all(b"HTTP/1.0 200 OK\r\n\r\n").unwrap();
            String::from_utf8_lossy(&text[..length]).into_owned()
        });
        two.collect::<Vec<_>>()
    });
    let line = format!(
        "{ONE} -n 5 --statsd-host 127.0.0.1 --statsd-port {} --graphite-port {} --statsd-run-label l",
        ports.0, ports.1
    );
    run(&server, &line).ok();
    let [began, ended] = &heard.join().unwrap()[..] else { panic!("two events") };
    assert!(began.starts_with("POST /events/ HTTP/1.1\r\n") && began.contains("run 1 started"));
    assert!(ended.contains("run 1 ended") && ended.contains("[\"memtier\",\"l\"]"), "{ended}");
}

#[test]
fn connections_that_are_lost_are_reported_and_have_so_many_tries() {
    let mut server = Server::redis();
    let start = |rest: &str| {
        let line = format!("memtier -p {} {ONE} --test-time 60 {rest}", server.port());
        let running = Keystorm::new(&line).start();
        running.until("load", |running| running.err().contains("secs]"));
        running
    };
    let kept = start("--reconnect-on-error --connection-timeout 5 --max-reconnect-attempts 3");
    server.ask(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
    kept.until("it goes on", |running| running.err().contains("attempting reconnection"));
    assert!(kept.err().contains("Connection error: 1 connections were lost"), "{}", kept.err());
    let alone = start("");
    server.kill();
    alone.wait().exits(1).says("error: the run ended with unrecovered connection errors");
    kept.wait().exits(1).says("could not be opened again, after 3 tries in a row");
}

#[test]
fn a_run_without_a_reply_ends() {
    let server = Server::redis();
    let line = format!("{ONE} --wait-ratio 1:1 --num-slaves 5-5 --test-time 60 --hide-histogram");
    let ran = run(&server, &format!("{line} --connection-stage-timeout 1")).exits(2);
    ran.says("memtier_benchmark: aborting after 1 seconds without a reply. See --connection-stage-timeout.");
    // Nothing follows it, and nobody pressed Ctrl-C.
    let line = format!("{ONE} --wait-ratio 1:1 --num-slaves 5-5 -n 10 -x 3 --hide-histogram");
    let ran = run(&server, &format!("{line} --connection-stage-timeout 1")).exits(2);
    assert!(!ran.err.contains("RUN #2") && !ran.err.contains("Interrupted by user"), "{}", ran.err);
}

#[test]
fn choices_that_have_no_effect_are_reported() {
    let server = Server::redis();
    run(&server, &format!("{ONE} -n 5 --read-preference nearest"))
        .ok()
        .says("warning: --read-preference has no effect without --cluster-mode or --read-server");
    run(&server, &format!("{ONE} -n 5 --monitor-input f"))
        .ok()
        .says("warning: --monitor-input has no effect without a --command");
    let uri = format!("memtier --uri=redis:// -p {} {ONE} -n 5", server.port());
    let ran = Keystorm::new(&uri).run().ok();
    assert!(!ran.err.contains("both URI"), "{}", ran.err);
}

#[test]
fn a_transaction_in_a_cluster_goes_to_the_node_of_its_key() {
    let cluster = Cluster::new(3, 0, &[]);
    let commands = "--command 'WATCH __key__' --command MULTI --command 'SET __key__ __data__' \
                    --command EXEC --transaction";
    let port = cluster.masters()[0].port();
    let line = format!("memtier -p {port} --cluster-mode -t 2 -c 3 -n 40 {commands}");
    Keystorm::new(&line).run().ok();
    let all = ["watch", "multi", "set", "exec"].map(|command| cluster.calls(command));
    assert!(all.iter().all(|calls| *calls == all[0]), "{all:?}");
    assert!(all[0].iter().all(|calls| *calls > 0) && all[0].iter().sum::<u64>() == 60, "{all:?}");
}
