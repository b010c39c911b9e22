//! `keystorm compare` of servers of different protocols: what each is sent, which tables there are, and
//! when no ratio is printed.

use std::fs;
use std::sync::LazyLock;

use serde_json::Value;

use crate::memcached::Memcached;
use crate::program::Keystorm;
use crate::record::{json, place, valid_by};
use crate::server::{KEYSTORM, Server, calls};

fn compare(a: &str, b: &str, line: &str) -> Keystorm {
    let rest = shell_words::split(line).unwrap();
    let args = ["compare", "--disturbed=count", a, b].map(str::to_owned).into_iter().chain(rest);
    Keystorm::exec(KEYSTORM, args)
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn both_servers_are_sent_the_same_in_their_own_words() {
    let (redis, mut memcached) = (Server::redis(), Memcached::new());
    let (a, b) = (
        format!("redis://127.0.0.1:{}", redis.port()),
        format!("memcache://127.0.0.1:{}", memcached.port()),
    );
    for (protocol, tests) in [("memcache", "set,get,mget3"), ("memcache-binary", "set,get")] {
        redis.ask(&["FLUSHALL"]);
        redis.ask(&["CONFIG", "RESETSTAT"]);
        memcached.say("flush_all\n");
        memcached.reset();
        let (_dir, file) = place();
        let line = format!(
            "-n 300 -r 40 -c 3 -d 20 --repeat 1 -t {tests} --protocol {protocol} --tables core,mget \
             --json {}",
            file.display()
        );
        let ran = compare(&a, &b, &line).run().ok();
        // Two runs a side; every key is stored before, once for each table.
        let several = tests.contains("mget3");
        let tables = if several { 2 } else { 1 };
        let mut counted = calls([("set", 600 + 40 * tables), ("get", 600)]);
        if several {
            counted.insert("mget".to_owned(), 600);
        }
        assert_eq!(redis.counts(), counted, "{protocol}");
        assert_eq!(memcached.grown(&["cmd_set"]) as u64, 600 + 40 * tables, "{protocol}");
        let keys = if several { 600 + 600 * 3 } else { 600 };
        assert_eq!((memcached.grown(&["get_hits"]), memcached.grown(&["get_misses"])), (keys, 0));
        // The same key holds the same bytes.
        let value = format!("{:?}", redis.ask(&["GET", "key:000000000007"]));
        let reply = memcached.say("get key:000000000007\n");
        let theirs = reply.lines().nth(1).unwrap();
        assert_eq!(theirs.len(), 20, "{reply}");
        assert!(
            value.contains(theirs) || value.contains(&format!("{:?}", theirs.as_bytes())),
            "{value}: {reply}"
        );
        let document = json(&file);
        valid_by("keystorm.compare.1.json", &document);
        let terms = &document["terms"];
        assert_eq!(terms["tables"][0]["title"], "As the servers run");
        assert!(terms["equal"]["keys"].as_str().unwrap().starts_with("40 keys"), "{terms}");
        for test in document["tests"].as_array().unwrap() {
            let found = [0, 1].map(|at| &test["servers"][at]["hit_percent"]);
            let expected: Value = if test["name"] == "set" { Value::Null } else { 100.0.into() };
            assert_eq!(found, [&expected, &expected], "{test}");
            let other = &test["servers"][1];
            let is_judged = other["not_told_because"].is_null();
            let figure = &other["figures"]["throughput_rps"];
            assert_eq!(figure["ratio"].is_null(), !is_judged, "{test}");
            assert_eq!(figure["conclusion"] == "not-told", !is_judged, "{test}");
        }
        if several {
            let test = &document["tests"][2];
            let value = |name: &str| test["servers"][0]["figures"][name]["mean"].as_f64().unwrap();
            assert!((value("keys_per_s") / value("throughput_rps") - 3.0).abs() < 1e-6, "{test}");
            ran.prints("###### Multi-get, by keys and by requests ######").prints("\nkeys/s ");
        }
    }
}

/// A comparison of servers that are started for it: its output, its document and its page.
static STARTED: LazyLock<(String, Value, String)> = LazyLock::new(|| {
    let (dir, file) = place();
    let html = dir.path().join("page.html");
    let line = format!(
        "-n 300 -r 50 -c 4 -P 32 --repeat 1 -t get,mget4 --cores 2 --json {} --html {}",
        file.display(),
        html.display()
    );
    let ran = compare("redis-server", "memcached -f 1.25", &line).run().ok();
    (ran.out, json(&file), fs::read_to_string(html).unwrap())
});

#[test]
fn servers_that_are_started_for_it_make_four_tables() {
    let (out, document, _) = &*STARTED;
    valid_by("keystorm.compare.1.json", document);
    assert_eq!(document["complete"], true, "{out}");
    let tables = document["terms"]["tables"].as_array().unwrap();
    let kinds: Vec<&str> = tables.iter().map(|table| table["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["core", "machine", "machine", "latency", "mget", "mget"]);
    for (table, (threads, redis)) in
        tables.iter().zip([(1, ""), (2, "2 processes of"), (2, "--io-threads 2"), (1, "")])
    {
        let started = table["servers"][1]["command_line"].as_str().unwrap();
        assert!(started.contains(&format!("-t {threads} -R 32 -f 1.25")), "{started}");
        assert_eq!(table["servers"][1]["settings"]["num_threads"], threads.to_string());
        assert_eq!(table["servers"][0]["settings"]["maxmemory-policy"], "allkeys-lru");
        assert!(table["servers"][0].to_string().contains(redis), "{table}");
    }
    let old = tables[0]["servers"][1]["server"].as_str().unwrap().ends_with(" 1.6.18");
    let apart = document["warnings"].to_string().contains("each get of a pipeline");
    assert!(!old || apart, "{}", document["warnings"]);
}

#[test]
fn tests_on_started_servers_find_their_keys_and_count_them() {
    let (_, document, _) = &*STARTED;
    let tests = document["tests"].as_array().unwrap();
    let names: Vec<&str> = tests.iter().map(|test| test["name"].as_str().unwrap()).collect();
    assert_eq!(names[..3], ["get", "get", "get"]);
    assert!(names[3].starts_with("get at ") && names[3].ends_with(", half"), "{names:?}");
    assert_eq!(names[5..], ["mget of 4 keys", "mget of 4 keys"]);
    for test in tests {
        for server in test["servers"].as_array().unwrap() {
            assert_eq!(server["hit_percent"], 100.0, "{test}");
            assert!(server["figures"]["server_cpu_us_per_request"]["mean"].is_number(), "{test}");
        }
    }
    // Two processes have half of the keys of a get each.
    let split = |side: usize| {
        let figures = &tests[6]["servers"][side]["figures"];
        let figure = |name: &str| figures[name]["mean"].as_f64().unwrap();
        (figure("keys_per_s") / figure("throughput_rps")).round()
    };
    assert_eq!((split(0), split(1)), (2.0, 4.0));
}

#[test]
fn a_comparison_on_equal_terms_has_a_page_and_short_lines() {
    let (out, _, page) = &*STARTED;
    let found = page.contains("keys per second") || page.contains("mget of 4 keys: no ratio");
    assert!(found, "a multi-get is told by its keys");
    for text in ["Per core", "Latency at the same offered rate", "What is equal", "-R 32 -f 1.25"] {
        assert!(page.contains(text), "{text}");
    }
    assert!(out.lines().all(|l| l.chars().count() <= 80 || l.contains('/')), "{out}");
}

#[test]
fn what_spoils_runs_in_shares_is_reported_as_of_any_other() {
    // Keys are evicted while they are read, on each of the processes that share the load.
    let line = "-n 2000 -r 6000 -c 4 -d 1000 --repeat 1 --tables machine --cores 2 --format json \
        --mix -- 1 get k:__key__ ';' 1 set k:__key__ __data__";
    let ran = compare("redis-server --maxmemory 2mb", "memcached", line).run().ok();
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    valid_by("keystorm.compare.1.json", &document);
    let description = document["tests"][0]["warnings"].to_string();
    assert!(description.contains("evicted"), "{description}");
    // What memcached has no room for is refused before load, also where shares run together.
    let line = "-n 100 -r 50 -d 2m --repeat 1 --tables machine --cores 2 -t set";
    compare("redis-server", "memcached", line).run().exits(2).says("accepts items of up to");
}

#[test]
fn no_ratio_is_reported_where_one_side_finds_less() {
    // Redis evicts what memcached has room for.
    let line = "-n 500 -r 3000 -c 4 -d 1000 --repeat 1 -t get --tables core --format json";
    let ran = compare("redis-server --maxmemory 2mb", "memcached", line).run().ok();
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    valid_by("keystorm.compare.1.json", &document);
    let test = &document["tests"][0];
    let [first, other] = [0, 1].map(|at| &test["servers"][at]);
    assert!(first["hit_percent"].as_f64().unwrap() < 99.0, "{test}");
    assert_eq!(other["hit_percent"], 100.0);
    let why = other["not_told_because"].as_str().unwrap();
    assert!(why.starts_with("no ratio: redis 7."), "{why}");
    assert!(other["figures"]["p99_ms"]["ratio"].is_null());
    let ran = compare(
        "redis-server --maxmemory 2mb",
        "memcached",
        "-n 500 -r 3000 -c 4 -d 1000 --repeat 2 -t get --tables core --fail-on-regression 5",
    );
    let ran = ran.run().exits(4);
    let out = words(&ran.out);
    assert!(out.contains("Gate undecided: Per core: get: no ratio: redis 7."), "{}", ran.out);
}

#[test]
fn a_mix_is_stated_in_both_protocols() {
    let (redis, mut memcached) = (Server::redis(), Memcached::new());
    memcached.reset();
    let a = format!("memcache://127.0.0.1:{}", memcached.port());
    let b = format!("redis://127.0.0.1:{}", redis.port());
    let line = "-n 400 -r 30 -c 2 --ttl 60 --repeat 1 --tables core --mix -- 3 get k:__key__ ; 1 set \
                k:__key__ __data__";
    compare(&a, &b, &line.replace(" ; ", " ';' ")).run().ok().prints("As the servers run");
    let of = |name: &str| redis.calls(name);
    // Two runs, and each key once before them.
    assert_eq!(of("get") + of("set"), 800 + 30);
    let theirs = ["get_hits", "cmd_set"].map(|name| memcached.grown(&[name]) as u64);
    assert_eq!(theirs, [of("get"), of("set")]);
    assert!(memcached.say("mg k:000000000001 t\n").contains("HD t"), "it is there for a time");
}

#[test]
fn a_mix_means_the_same_in_a_run_as_in_a_comparison() {
    let mut memcached = Memcached::new();
    let mix = "--mix -- 3 get k:__key__ ';' 1 set k:__key__ __data__";
    for options in ["", "--ttl 60"] {
        memcached.reset();
        let port = memcached.port();
        let line = format!("-p {port} --protocol memcache -n 200 -r 30 -c 2 -q {options} {mix}");
        Keystorm::new(&line).run().ok();
        let counts = ["get_hits", "get_misses", "cmd_set"].map(|name| memcached.grown(&[name]));
        assert_eq!(counts.iter().sum::<i64>() as u64, 200, "{counts:?}");
        assert!(counts[2] > 0, "{counts:?}");
    }
}

#[test]
fn what_is_not_the_same_for_both_is_refused() {
    for (line, says) in [
        ("-t lpush", "expected set, get, or mget"),
        ("-t mget1", "from 2 to 1000"),
        ("lpush k v", "does not exist in every protocol"),
        ("set k v nx", "does not exist in every protocol"),
        ("--ttl 31d", "30 days"),
        ("--rps 100 --tables core", "without --rps"),
        ("--spawn-args x", "'memcached -m 4096'"),
        ("--workload ycsb-a", "--workload works with one protocol"),
        ("--tables mget -t set", "none of these tables has a test"),
        ("--tables all", "core, machine, latency or mget"),
        ("--protocol memcache-binary -t mget10", "one key"),
        ("--cluster", "--cluster does not exist in memcached"),
        ("-p 1", "-p cannot be used here"),
    ] {
        let ran = compare("redis-server", "memcached", line).run().exits(2).says(says);
        assert_eq!(ran.out, "", "{line}");
    }
    compare("redis-server", "redis-server", "--cores 2").run().exits(2).says("different protocols");
    let server = Server::redis();
    let (redis, memcached) = (format!("127.0.0.1:{}", server.port()), Memcached::new());
    let line = "-n 100 -t set --tables machine --fail-on-regression 5 --repeat 2";
    compare(&redis, &format!("memcache://127.0.0.1:{}", memcached.port()), line)
        .run()
        .exits(2)
        .says("nothing is left to compare. Per machine: an existing server is measured");
    let socket = format!("unix://{}", server.socket().display());
    let word = format!("memcache://127.0.0.1:{}", memcached.port());
    let ran = compare(&socket, &word, "-n 100 -t get --tables core --repeat 1").run();
    let words = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(" is reached over a unix socket, memcached "), "{}", ran.out);
}
