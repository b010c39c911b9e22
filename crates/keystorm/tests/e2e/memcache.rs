//! memcached: what is sent is what the server counts, in each of its protocols.

use std::fs;

use crate::certificates::{Identity, Subject};
use crate::listener::Listener;
use crate::memcached::Memcached;
use crate::program::{Keystorm, PATIENCE, within};
use crate::record;
use crate::server::{Server, free_port};

/// Tests of the suite, and what the server counts for each request of it.
const COUNTED: &[(&str, &[&str], i64)] = &[
    ("set", &["cmd_set"], 1),
    ("get", &["get_hits"], 1),
    ("gets", &["get_hits"], 1),
    ("mget10", &["get_hits"], 10),
    ("mget100", &["get_hits"], 100),
    ("add", &["total_items"], 1),
    ("replace", &["cmd_set"], 1),
    ("append", &["cmd_set"], 1),
    ("incr", &["incr_hits"], 1),
    ("touch", &["touch_hits"], 1),
    ("gat", &["touch_hits"], 1),
    ("delete", &["delete_hits"], 1),
    ("mg", &["get_hits"], 1),
    ("ms", &["cmd_set"], 1),
    ("md", &["delete_hits"], 1),
    ("ma", &["incr_hits"], 1),
];

#[test]
fn each_test_of_the_suite_is_what_the_server_counts() {
    const REQUESTS: i64 = 1500;
    const KEYS: i64 = 40;
    let mut server = Memcached::new();
    for (protocol, has) in
        [("memcache", 0..12), ("memcache-meta", 0..16), ("memcache-binary", 0..12)]
    {
        for (name, counts, each) in &COUNTED[has] {
            let one_key_each = matches!(*name, "gets" | "mget10" | "mget100");
            if protocol == "memcache-binary" && one_key_each {
                continue;
            }
            server.reset();
            let line = format!("--protocol {protocol} -t {name} -n {REQUESTS} -r {KEYS} -c 7 -P 3");
            let ran = server.run(&line).ok();
            assert_eq!(ran.completed().0, REQUESTS as u64, "{protocol} {name}");
            assert!(!ran.out.contains(" misses"), "{protocol} {name}: {}", ran.out);
            // What is stored before the test is counted, too.
            let filled = if matches!(*name, "replace" | "append") { KEYS } else { 0 };
            let expected = REQUESTS * each + filled;
            assert_eq!(server.grown(counts), expected, "{protocol} {name}");
            assert!(!ran.out.contains("other clients"), "{protocol} {name}: {}", ran.out);
        }
    }
}

#[test]
fn counts_are_exact_with_every_engine_and_shape() {
    let mut server = Memcached::new();
    server.say("set n 0 0 1\n0\n");
    for engine in ["epoll", "uring"] {
        for (n, shape) in [
            (1000, "-c 7"),
            (1003, "-c 10 -P 16 --threads 3"),
            (2000, "-c 5 -P 8 --window rolling --protocol memcache-meta"),
            (500, "-c 4 --rps 2000"),
            (203, "-c 5 -k 0 -P 4 --threads 2"),
            (1003, "-c 10 -P 16 --threads 3 --protocol memcache-binary"),
        ] {
            server.reset();
            let ran = server.run(&format!("--engine {engine} -n {n} {shape} incr n 1")).ok();
            assert_eq!(server.grown(&["incr_hits"]), n, "{engine} {shape}");
            assert_eq!(ran.completed().0, n as u64);
        }
    }
}

#[test]
fn clients_beyond_the_servers_limit_are_reported() {
    let server = Memcached::with(&["-c", "40", "-t", "1"]);
    let ran = server.run("-c 60 -n 1000 get k").exits(1);
    ran.says("Too many open connections").says("start memcached with a higher -c");
}

#[test]
fn idle_connections_are_held() {
    let server = Memcached::new();
    let line = format!("-p {} --protocol memcache -I -c 9", server.port());
    let running = Keystorm::new(&line).start();
    running.until("holds them", |running| running.out().contains("clients: 9"));
    // The server takes them up, and lets go of others, when it comes to it. The tenth asks.
    running.until("the server has them", |_| server.grown(&["curr_connections"]) == 10);
    running.interrupt();
    running.wait().exits(130);
}

#[test]
fn the_whole_suite_runs_in_every_layout() {
    let server = Memcached::new();
    for format in ["text", "redis", "quiet", "csv"] {
        let ran = server.run(&format!("--format {format} -n 60 -r 20 -c 3")).ok();
        assert!(ran.out.contains("get (100 keys)"), "{format}: {}", ran.out);
    }
}

#[test]
fn keys_are_counted_beside_requests() {
    let mut server = Memcached::new();
    server.say("set k:000000000001 0 0 1\nx\nset k:000000000003 0 0 1\nx\n");
    server.reset();
    let (_dir, file) = record::place();
    let line = format!(
        "--json {} -n 400 -r 4 --sequential get k:__rand_int__ k:__rand_int__ k:__rand_int__ none",
        file.display()
    );
    let ran = server.run(&line).ok().prints("  keys: 600 of 1600 found (37.50 %)");
    assert!(!ran.out.contains("other clients"), "{}", ran.out);
    assert_eq!((server.grown(&["get_hits"]), server.grown(&["get_misses"])), (600, 1000));
    let document = record::json(&file);
    record::valid_by("keystorm.run.1.json", &document);
    let keys = &document["tests"][0]["keys"];
    assert_eq!(
        (&keys["requests"], &keys["asked"], &keys["found"]),
        (&400.into(), &1600.into(), &600.into())
    );
    let again = Keystorm::new(&format!("show {}", file.display())).run().ok();
    again.prints("  keys: 600 of 1600 found (37.50 %)").prints("memcached 1.");
}

#[test]
fn what_the_server_says_of_itself_is_kept() {
    let server = Memcached::with(&["-t", "3"]);
    for protocol in ["memcache", "memcache-binary"] {
        let (_dir, file) = record::place();
        let line = format!("--json {} --sample --protocol {protocol}", file.display());
        server.run(&format!("{line} --duration 1.2 -t gat -r 10 -q")).ok();
        let document = record::json(&file);
        assert_eq!(document["server"]["product"], "memcached");
        let test = &document["tests"][0];
        let seen = &test["watched"]["servers"][0];
        // What fills the keys comes before, and our own looks are counted nowhere.
        let (requests, commands) = (test["requests"].as_u64(), seen["commands"].as_u64());
        assert_eq!(requests, commands, "{protocol}");
        assert_eq!((seen["hits"].as_u64(), seen["misses"].as_u64()), (requests, Some(0)));
        assert_eq!(seen["by_command"][0]["name"], "touch", "gat is among the touches");
        assert_eq!(seen["worker_cpu_s"].as_array().map(Vec::len), Some(3), "{seen}");
        assert_eq!(seen["threads"], 3);
        assert!(seen["cpu_process_s"].as_f64().is_some_and(|seconds| seconds > 0.0));
        let settings = seen["settings"].as_array().unwrap();
        assert!(settings.iter().any(|s| s["name"] == "reqs_per_event" && s["value"] == "20"));
        assert!(!seen["samples"].as_array().unwrap().is_empty());
    }
}

#[test]
fn commands_are_memcacheds_own_words() {
    let mut server = Memcached::new();
    server.reset();
    let line = "-r 50 -n 1000 -d 100 -P 5 -- 9 get k:__key__ ';' 1 set k:__key__ 5 60 __data__";
    server.run(line).ok();
    assert_eq!((server.grown(&["cmd_get"]), server.grown(&["cmd_set"])), (900, 100));
    let key = format!("k:{:012}", 7);
    server.run("-r 50 -n 50 --sequential -d 321 set k:__key__ 5 60 __data__").ok();
    let reply = server.say(&format!("get {key}\n"));
    assert!(reply.starts_with(&format!("VALUE {key} 5 321\r\n")), "{reply}");
    // Sizes that vary, in lines and in headers.
    for protocol in ["memcache", "memcache-binary"] {
        let line = format!("--protocol {protocol} -r 50 -n 50 --sequential -d uniform:10..900");
        server.run(&format!("{line} set k:__key__ 5 60 __data__")).ok();
        let sizes = |_| {
            let reply = server.say(&format!("get {key}\n"));
            let line = reply.lines().next().unwrap_or_default().to_owned();
            line.rsplit(' ').next().and_then(|len| len.parse::<usize>().ok())
        };
        assert!(sizes(()).is_some_and(|len| (10..=900).contains(&len)), "{protocol}");
    }
    assert_eq!(server.grown(&["curr_items"]), 50);
}

#[test]
fn quiet_commands_are_settled_by_what_comes_after_them() {
    let mut server = Memcached::new();
    for number in 0..10 {
        server.say(&format!("set k:{number:012} 0 0 1\nx\n"));
    }
    server.reset();
    let sequence = "-- 3 mg k:__rand_int__ v q ';' ms n:__key__ q T60 __data__ ';' mn";
    let ran = server.run(&format!("-n 5000 -r 20 --sequential -c 4 -P 3 {sequence}")).ok();
    assert_eq!(ran.completed().0, 5000);
    let (hits, misses) = (server.grown(&["get_hits"]), server.grown(&["get_misses"]));
    assert_eq!((hits, misses, server.grown(&["cmd_set"])), (1500, 1500, 1000));
    assert_eq!(misses, 1500);
    ran.prints("  1,500 hits, 1,500 misses\n");
    // The last sequence is sent in whole.
    server.run(&format!("-n 5001 -r 20 {sequence}")).exits(2).says("use -n 5005");
    server.run("mg k v q").exits(2).says("end the sequence with mn");
    server.run("-n 10 mg k q O7 ';' mn").exits(2).says("flag O");
    // An error tells not whose it is, so its connection ends.
    let quiet = "-n 300 -c 2 --on-error count -- mg k S S q ';' mn";
    let ran = server.run(quiet).ok().prints("CLIENT_ERROR");
    assert!(!ran.out.contains("to no request"), "{}", ran.out);
}

#[test]
fn a_fill_waits_until_a_full_server_has_evicted_items() {
    let server = Listener::that_evicts_slowly();
    let load = "--protocol memcache -c 3 -r 40 --fill -n 5 -q get key:__rand_int__";
    Keystorm::new(&format!("-p {} {load}", server.port())).run().ok();
    let sets = server.all_asked();
    assert_eq!(sets.len(), 40, "{sets:?}");
    assert!(sets.values().all(|times| *times == 3), "{sets:?}");
    let full = Memcached::with(&["-m", "2", "-M"]);
    full.run("-r 20k -d 1000 --fill -n 5 get key:__rand_int__")
        .exits(1)
        .says("give it more memory (-m)");
}

#[test]
fn errors_end_what_they_make_uncertain_and_nothing_else() {
    let mut server = Memcached::new();
    server.say("set word 0 0 3\nabc\n");
    server.reset();
    let ran = server.run("-n 300 -c 3 -P 4 --on-error count incr word 1").ok();
    let text = "CLIENT_ERROR cannot increment or decrement non-numeric value";
    ran.prints(text);
    let connected = server.grown(&["total_connections"]);
    assert!(connected < 20, "{connected} connections: such an error spoils none");
    let large = "-n 60 -c 3 -P 4 -d 1100000 --on-error count set big 0 0 __data__";
    server.run(large).ok().prints("SERVER_ERROR object too large for cache");
    let connected = server.grown(&["total_connections"]);
    assert!(connected < 40, "{connected} connections: the server swallows what is too large");
    // The server refuses the line and reads the data as a command.
    server.reset();
    let torn = "-n 40 -c 2 --on-error count set k none 0 get";
    let ran = server.run(torn).ok().prints("CLIENT_ERROR bad command line format");
    assert_eq!(ran.completed().0, 40);
    assert!(server.grown(&["total_connections"]) >= 40, "each ends its connection");
    // By default the first ends the run.
    server.run("-n 40 set k none 0 get").exits(1).says("CLIENT_ERROR bad command line format");
    server.run("-n 40 nonsense").exits(1).says("memcached does not know this command");
}

#[test]
fn who_speaks_another_protocol_is_named() {
    let (memcached, redis) = (Memcached::new(), Server::redis());
    for protocol in ["memcache", "memcache-meta", "memcache-binary"] {
        let ran = redis.run(&format!("--protocol {protocol} get k")).exits(1);
        ran.says("this server speaks RESP; remove --protocol");
    }
    Keystorm::new(&format!("-p {} get k", memcached.port()))
        .run()
        .exits(1)
        .says("this may be memcached: use --protocol memcache");
}

#[test]
fn what_is_of_redis_alone_is_refused() {
    for (line, says) in [
        ("--dbnum 1 get k", "--dbnum: memcached has no databases"),
        ("-3 get k", "-3: RESP3 works with Redis"),
        ("--cluster get k", "--cluster: memcached has no cluster mode"),
        ("--enable-tracking get k", "--enable-tracking: memcached has no client tracking"),
        ("-a x get k", "both a user and a password"),
        ("-t lpush", "unknown test \"lpush\"; available: set, get"),
        ("-t mg", "in this protocol"),
        ("GET k", "lower case: get"),
        ("set k 0 0 3 abc", "without the byte count"),
        ("delete k noreply", "noreply cannot be measured"),
        ("-u redis://127.0.0.1 get k", "-u names a server that speaks RESP"),
    ] {
        Keystorm::new(&format!("--protocol memcache {line}")).run().exits(2).says(says);
    }
    let key = "k".repeat(251);
    Keystorm::new(&format!("-u memcache://h get {key}")).run().exits(2).says("a key of 251 bytes");
    let plan = Keystorm::new("-u memcache://h --print-plan get k").run().ok();
    plan.prints("\"memcache-text\"").prints("11211");
}

#[test]
fn a_private_memcached_is_there_for_the_run_and_gone_afterwards() {
    for options in ["", "--spawn-unix", "--protocol memcache-binary", "--protocol memcache-meta"] {
        let line = format!("--spawn=memcached {options} --spawn-args '-t 2' -n 500 -t get -r 10");
        let ran = Keystorm::new(&line).run().ok().says("Started memcached 1.");
        assert_eq!(ran.completed().0, 500);
    }
    let refused = "--spawn=memcached --spawn-args '-p 1' -n 1 get k";
    Keystorm::new(refused).run().exits(1).says("-p: keystorm sets this itself");
    let running = Keystorm::new("--spawn=memcached --duration 60 -q get k").start();
    running.until("starts a server", |running| running.err().contains("127.0.0.1:"));
    let port: u16 = running.err().split("127.0.0.1:").nth(1).unwrap()[..5].trim().parse().unwrap();
    let there = || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok();
    assert!(there());
    running.kill();
    assert!(within(PATIENCE, || !there()), "the server is left");
}

#[test]
fn logins_are_those_of_lines_and_of_sasl() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("users");
    fs::write(&file, "ann:s3cr3t\n").unwrap();
    let lines = Memcached::with(&["-Y", file.to_str().unwrap()]);
    let wants = |line: &str| lines.run(line);
    wants("--user ann -a s3cr3t -n 500 -t set,get -r 10 -q").ok().keeps_secret("s3cr3t");
    wants("-n 5 get k").exits(1).says("unauthenticated").says("--user and -a");
    let wrong = wants("--user ann -a wr0ng -n 5 get k").exits(1);
    wrong.says("authentication failure").keeps_secret("wr0ng");
    let open = Memcached::new();
    let ran = open.run("--user ann -a s3cr3t -n 5 get k").exits(1);
    ran.says("does not require a login").keeps_secret("s3cr3t");
    assert!(!open.say("get login\n").contains("s3cr3t"), "a login is stored where none is asked");
    let ran = open.run("--protocol memcache-binary --user ann -a s3cr3t -n 5 get k").exits(1);
    ran.says("It has no authentication").keeps_secret("s3cr3t");
}

#[test]
fn pipelines_that_the_server_cuts_are_reported() {
    let (short, long) = (Memcached::new(), Memcached::with(&["-R", "64"]));
    let deep = "-n 2000 -c 2 -P 64 set k 0 0 __data__";
    short.run(deep).ok().prints("pipelines of 64 commands are cut").prints("-R 64");
    let ran = long.run(deep).ok();
    assert!(!ran.out.contains("are cut"), "{}", ran.out);
}

#[test]
fn tls_is_spoken_where_it_is_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let ca = Identity::authority("test CA");
    let (ca_file, _) = ca.write(dir.path(), "ca");
    let (cert, key) = ca.signs(&Subject::default()).write(dir.path(), "server");
    let chain = format!("ssl_chain_cert={},ssl_key={}", cert.display(), key.display());
    let server = Memcached::with(&["-Z", "-o", &chain]);
    let line = format!(
        "-u memcaches://127.0.0.1:{} --cacert {} -n 600 -t set,get -r 10",
        server.port(),
        ca_file.display()
    );
    let ran = Keystorm::new(&line).run().ok().prints("  TLS: TLSv1.3 ");
    assert_eq!(ran.completed().0, 600);
}

#[test]
fn a_server_that_goes_away_and_comes_back_is_an_outage() {
    let port = free_port();
    let nobody = format!("-p {port} --protocol memcache get k");
    Keystorm::new(&nobody).run().exits(1).says("Is a server running there?");
    let mut server = Memcached::with(&["-t", "2"]);
    let line = format!("-p {} --protocol memcache --duration 60 -q get k", server.port());
    let running = Keystorm::new(&line).start();
    let asked = || server.say("stats\n").contains("STAT get_misses 0\r\n");
    assert!(within(PATIENCE, || !asked()), "load runs");
    server.kill();
    server.restart();
    server.reset();
    let served = || server.grown(&["get_misses"]) > 0;
    assert!(within(PATIENCE, served), "load goes on");
    running.interrupt();
    running.wait().exits(130).prints("interrupted");
}
