//! `keystorm suite`: what specs ask for is what the server executes, whatever they are written like.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::{Keystorm, RunOutput};
use crate::record::valid_by;
use crate::server::{Server, valkey_program};

/// A directory of specs by their names.
fn specs(of: &[(&str, String)]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in of {
        fs::write(dir.path().join(format!("{name}.yml")), text).unwrap();
    }
    dir
}

/// A spec of one memtier line.
fn memtier(name: &str, group: &str, arguments: &str) -> String {
    format!(
        "version: 0.4\nname: {name}\ntested-groups:\n- {group}\ntested-commands:\n- get\n\
         clientconfig:\n  tool: memtier_benchmark\n  arguments: >-\n    {arguments}\n"
    )
}

fn document(ran: &RunOutput) -> Value {
    serde_json::from_str(&ran.out).unwrap_or_else(|why| panic!("{why}: {}\n{}", ran.out, ran.err))
}

fn entry<'d>(document: &'d Value, name: &str) -> &'d Value {
    let entries = document["specs"].as_array().unwrap();
    let found = entries.iter().find(|entry| entry["name"] == name);
    found.unwrap_or_else(|| panic!("{name}: {entries:#?}"))
}

/// Calls of a command that memtier's arguments mean: 2 threads of 2 clients, 5 requests each.
const CALLS: u64 = 20;
const SHAPE: &str = "-n 5 -c 2 -t 2 --key-minimum 1 --key-maximum 10 --hide-histogram";

#[test]
fn commands_are_executed_as_often_as_memtiers_arguments_mean() {
    let lines = [
        ("set", "SET __key__ __data__"),
        ("get", "GET __key__"),
        ("incrbyfloat", "INCRBYFLOAT f:__key__ 1.5"),
        ("append", "APPEND a:__key__ __data__"),
        ("setex", "SETEX __key__ 100 __value__"),
        ("mget", "MGET __key__ __key__ __key__"),
        ("mset", "MSET user-__key__:session-__key__ __data__ {x}__key__ __data__"),
        ("exists", "EXISTS __key__ __key__"),
        ("hset", "HSET h:__key__ field __data__"),
        ("hgetall", "HGETALL h:__key__"),
        ("lpush", "LPUSH l:__key__ __data__"),
        ("lrange", "LRANGE l:__key__ 0 -1"),
        ("sadd", "SADD s:__key__ __data__"),
        ("sinter", "SINTER s:__key__ s:__key__"),
        ("zadd", "ZADD z:__key__ 1 __key__"),
        ("zrange", "ZRANGE z:__key__ 0 -1 WITHSCORES"),
        ("xadd", "XADD x:__key__ * field __data__"),
        ("setbit", "SETBIT b:__key__ 7 1"),
        ("pfadd", "PFADD p:__key__ __key__"),
        ("geoadd", "GEOADD g:__key__ 13.36 38.11 place"),
        ("publish", "PUBLISH channel-__key__ __data__"),
    ];
    let text = |(name, line): &(&'static str, &str)| {
        (
            *name,
            memtier(
                name,
                "group",
                &format!("{SHAPE} --command \"{line}\" \"--command-key-pattern\" \"R\""),
            ),
        )
    };
    let dir = specs(&lines.iter().map(text).collect::<Vec<_>>());
    let server = Server::redis();
    let line = format!("suite {} -p {} --format json", dir.path().display(), server.port());
    let ran = Keystorm::new(&line).run().ok();
    let document = document(&ran);
    assert_eq!(document["complete"], true, "{}", ran.out);
    for (name, _) in lines {
        assert_eq!(server.calls(name), CALLS, "{name}");
        let figures = &entry(&document, name)["figures"][0];
        assert_eq!(figures["requests"], CALLS, "{name}");
    }
    assert_eq!(server.number(&["DBSIZE"]), 0, "what was written is removed");
    let remarks = |name: &str| entry(&document, name)["remarks"].to_string();
    assert!(remarks("mset").contains("the first __key__ is a key"), "{}", remarks("mset"));
    assert!(remarks("setex").contains("__value__ is no placeholder"), "{}", remarks("setex"));
}

/// A spec with most keys that there are, written in as many ways. `allkeys` of one client is one key less than the
/// range, as in memtier_benchmark.
const ODD: &str = r#"
ersion: 0.4
name: odd
description: 'Everything | at once'
dbconfig:
  configuration-parameters:
    save: '""'
    hash-max-listpack-entries: 33
    no-such-setting: yes
  check:
    keyspacelen: 103
  preload_tool:
    run_image: some/image
    tool: memtier_benchmark
    arguments: '"--data-size" "50" --command "SET __key__ __data__" --command-key-pattern="P"
      --key-minimum=1 --key-maximum 100 -n allkeys -c 1
      -t 1 --hide-histogram'
  init_commands:
  - SET a "b c"
  - ["SET", "d", "e f"]
  - |
    SET g 1

    INCR g
  init_lua: |-
    -- a comment
    return redis.call('SET', 'from-script', '1')
  resources:
    requests:
      memory: 100mb
tested-groups: [string]
tested-commands: [GET]
redis-topologies:
- oss-standalone
priority: 3
clientconfig:
  tool: memtier_benchmark
  arguments: -c 2 -t 1 --test-time=180 --key-maximum 100 --command "GET __key__" --command-key-pattern R
  resources:
    requests:
      cpus: '4'
"#;

#[test]
fn specs_are_read_as_they_are_and_what_cannot_be_run_is_named() {
    let reader = ODD.replace("name: odd", "name: reader").replace("GET __key__", "STRLEN __key__");
    let wrong = ODD.replace("name: odd", "name: wrong-count").replace("103", "104");
    let no_name = memtier("", "string", &format!("{SHAPE} --command \"GET __key__\""));
    let dir = specs(&[
        ("odd", ODD.to_owned()),
        ("reader", reader),
        ("wrong", wrong),
        ("of-file", no_name),
        ("lacking", memtier("lacking", "hash", "--test-time 1 --command \"NOSUCH __key__\"")),
        (
            "broken",
            memtier("broken", "hash", "--test-time 1 --command \"GET __key__\" --key-pattern R:R"),
        ),
        ("tool", memtier("tool", "hash", "x").replace("memtier_benchmark", "vector_db_benchmark")),
        (
            "data",
            ODD.replace("name: odd", "name: data")
                .replace("  check:", "  dataset: http://a/b.rdb\n  check:"),
        ),
        ("large", ODD.replace("name: odd", "name: large").replace("100mb", "9000g")),
        ("defaults", "exporter:\n  redistimeseries: {}\n".to_owned()),
        ("garbage", "clientconfig: [\n".to_owned()),
    ]);
    let json = dir.path().join("memtier");
    let line = format!(
        "suite {} --spawn=redis-server --time 0.2 --format json --memtier-json {}",
        dir.path().display(),
        json.display()
    );
    let ran = Keystorm::new(&line).run().exits(1);
    let document = document(&ran);
    ran.says("garbage.yml: not read");
    let of =
        |name: &str, key: &str| entry(&document, name)[key].as_str().unwrap_or_default().to_owned();
    for (name, why) in [
        ("lacking", "the server has no NOSUCH"),
        ("tool", "keystorm has no vector_db_benchmark"),
        ("data", "http://a/b.rdb"),
        ("large", "GiB of memory"),
    ] {
        assert!(of(name, "skipped").contains(why), "{name}: {}", of(name, "skipped"));
    }
    assert!(
        of("broken", "failure").contains("key-pattern is given"),
        "{}",
        of("broken", "failure")
    );
    let why = of("wrong-count", "failure");
    assert!(why.contains("it asks for 104 keys, and 103 are there"), "{why}");
    for name in ["odd", "reader"] {
        let found = entry(&document, name);
        assert!(found["figures"][0]["requests"].as_u64().unwrap() > 0, "{found:#}");
        let remarks = found["remarks"].to_string();
        assert!(remarks.contains("no-such-setting"), "{remarks}");
        let bytes = found["bytes_per_key"][0].as_f64().unwrap();
        assert!((60.0..1000.0).contains(&bytes), "{bytes} bytes of a key");
        let text = fs::read_to_string(json.join(format!("{name}.json"))).unwrap();
        let memtier: Value = serde_json::from_str(&text).unwrap();
        assert!(memtier["ALL STATS"]["Totals"]["Ops/sec"].as_f64().unwrap() > 0.0);
    }
    assert!(entry(&document, "of-file")["figures"][0]["requests"] == CALLS);
}

#[test]
fn a_spec_that_needs_more_memory_than_the_server_may_use_is_skipped() {
    let server = Server::redis();
    server.ask(&["CONFIG", "SET", "maxmemory", "90mb"]);
    let dir = specs(&[("large", ODD.replace("name: odd", "name: large"))]);
    let line = format!("suite {} -p {} --format json", dir.path().display(), server.port());
    let document = document(&Keystorm::new(&line).run().ok());
    let skipped = entry(&document, "large")["skipped"].to_string();
    assert!(skipped.contains("the server's maxmemory is 0.1 GiB"), "{skipped}");
}

#[test]
fn a_cluster_is_started_and_other_topologies_are_not_supported() {
    let topology = |name: &str, of: &str| {
        let load = "-c 2 -t 1 --test-time 1 --key-maximum 1000 --command \"SET __key__ __data__\"";
        let text = memtier(name, "string", load);
        (text + &format!("redis-topologies:\n- {of}\n")).replace("version", "ersion")
    };
    let dir = specs(&[
        ("a", topology("cluster", "oss-cluster-3-primaries")),
        ("b", topology("threads", "oss-standalone-02-io-threads")),
        (
            "c",
            topology("listeners", "oss-standalone")
                + "clientconfigs:\n- tool: memtier_benchmark\n  arguments: --command 'SET __key__ __data__'\n\
                   - tool: bcast-listener\n  arguments: --listener-count 3\n",
        ),
    ]);
    let line =
        format!("suite {} --spawn=redis-server --time 0.2 --format json", dir.path().display());
    let ran = Keystorm::new(&line).run().ok();
    let document = document(&ran);
    assert_eq!(document["run"]["tests"].as_array().unwrap().len(), 1, "{}", ran.out);
    let figures = &entry(&document, "cluster")["figures"][0];
    assert!(figures["requests"].as_u64().unwrap() > 0, "{figures}");
    for (name, why) in [
        ("threads", "oss-standalone-02-io-threads"),
        ("listeners", "its 3 clients put load on the server at the same time"),
    ] {
        let skipped = entry(&document, name)["skipped"].to_string();
        assert!(skipped.contains(why), "{name}: {skipped}");
    }
}

#[test]
fn two_suites_are_compared_by_either_command() {
    let dir = tempfile::tempdir().unwrap();
    let [a, b] = ["a.json", "b.json"].map(|name| dir.path().join(name));
    let line = "suite --spawn=redis-server --match 'connection-ping|bitmap-bitcount' --time 0.1 --repeat 3 -q";
    Keystorm::new(&format!("{line} --json {}", a.display())).run().ok().prints("bitmap-bitcount");
    let mut document: Value = serde_json::from_str(&fs::read_to_string(&a).unwrap()).unwrap();
    valid_by("keystorm.suite.1.json", &document);
    // A folder of suites is a history of their specs.
    let folder = dir.path().display();
    let history = Keystorm::new(&format!("history {folder} --format json")).run().ok();
    assert!(!history.err.contains("a.json"), "{}", history.err);
    let history: Value = serde_json::from_str(&history.out).unwrap();
    let series = history["series"].as_array().unwrap().iter();
    let names: Vec<&str> = series.map(|series| series["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    // As measured on a quiet machine.
    for (at, rate) in [100.0, 101.0, 102.0].into_iter().enumerate() {
        for entry in document["specs"].as_array_mut().unwrap() {
            entry["figures"][at]["throughput_rps"] = rate.into();
            entry["figures"][at]["held"] = serde_json::json!({"share": 0.0, "delayed": 0.0});
        }
    }
    fs::write(&a, document.to_string()).unwrap();
    let compare = |a: &Path, b: &Path, more: &str| {
        Keystorm::new(&format!("compare {} {} {more}", a.display(), b.display())).run()
    };
    compare(&a, &a, "--fail-on-regression 5").ok().prints("None of 2 specs was found to differ");
    for entry in document["specs"].as_array_mut().unwrap().iter_mut().take(1) {
        for (at, rate) in [50.0, 51.0, 52.0].into_iter().enumerate() {
            entry["figures"][at]["throughput_rps"] = rate.into();
        }
    }
    fs::write(&b, document.to_string()).unwrap();
    let ran = compare(&a, &b, "--fail-on-regression 5").exits(3);
    ran.prints("1 of 2 specs differ: 1 slower, 0 faster").prints("worse than allowed");
    // What throughput does not show, the server's CPU does; what the runs do not say is not passed.
    let mut dear = document.clone();
    for (at, entry) in dear["specs"].as_array_mut().unwrap().iter_mut().enumerate() {
        let cpu_us = if at == 0 { [20.0, 20.1, 20.2] } else { [10.0, 10.1, 10.2] };
        entry["server_cpu_us"] = json!(cpu_us);
    }
    fs::write(&a, dear.to_string()).unwrap();
    dear["specs"][1]["server_cpu_us"] = json!([20.0, 20.1, 20.2]);
    let open = dir.path().join("open.json");
    fs::write(&open, dear.to_string()).unwrap();
    let by_cpu = "--fail-on-regression 5 --metric server-cpu";
    compare(&a, &open, by_cpu).exits(3).prints("worse than allowed").prints("server CPU");
    compare(&open, &a, by_cpu).ok().prints("costs less");
    compare(&a, &open, "--fail-on-regression 20").ok();
    compare(&a, &open, "--fail-on-regression 5 --metric p99").exits(1).says("--metric: suites are");
    dear["specs"][1]["server_cpu_us"] = json!([6.5, 10.0, 12.0]);
    fs::write(&open, dear.to_string()).unwrap();
    compare(&a, &open, by_cpu).exits(4).prints("undecided");
    // Whatever that finds on a busy machine, it stands on the page.
    let ran = Keystorm::new(&format!(
        "{line} --against {} --html {}",
        b.display(),
        dir.path().join("p.html").display()
    ));
    ran.run().ok().prints("of 2 specs ");
    assert!(fs::read_to_string(dir.path().join("p.html")).unwrap().contains("this run against"));
}

#[test]
fn a_server_that_is_given_is_as_it_was() {
    let server = Server::redis();
    server.ask(&["SET", "precious", "1"]);
    let line = format!("suite -p {} --match hash-grows --time 0.1", server.port());
    Keystorm::new(&line).run().exits(1).says("holds 1 key already");
    assert_eq!(server.text(&["GET", "precious"]), "1");
    server.ask(&["DEL", "precious"]);
    let before = server.texts(&["CONFIG", "GET", "hash-max-listpack-entries"]);
    Keystorm::new(&line).run().ok().prints("hash-grows-past-listpack");
    assert_eq!(server.texts(&["CONFIG", "GET", "hash-max-listpack-entries"]), before);
    assert!(server.calls("hset") > 0);
    assert_eq!(server.number(&["DBSIZE"]), 0);
}

#[test]
fn the_whole_suite_of_our_own_runs_on_each_server() {
    for server in ["redis-server".to_owned(), valkey_program().display().to_string()] {
        let line = format!("suite --spawn={server} --core --time 0.05 --format json");
        let ran = Keystorm::new(&line).run().ok();
        let document = document(&ran);
        assert_eq!(document["complete"], true, "{}", ran.out);
        for entry in document["specs"].as_array().unwrap() {
            assert!(entry["failure"].is_null(), "{entry:#}");
            // Commands of newer servers.
            if let Some(why) = entry["skipped"].as_str() {
                assert!(why.starts_with("the server has no "), "{entry:#}");
                continue;
            }
            assert_eq!(entry["figures"][0]["errors"], 0, "{}", entry["name"]);
        }
    }
}

#[test]
fn specs_are_chosen_by_what_they_test() {
    let list = |more: &str| Keystorm::new(&format!("suite --list {more}")).run().ok().out;
    let all = list("");
    let count = |text: &str| text.lines().filter(|line| line.contains('-')).count();
    assert!(count(&list("--core")) < count(&all));
    assert!(
        list("--groups hash").contains("hash-hget-listpack")
            && !list("--groups hash").contains("zset-")
    );
    assert!(list("--commands ZSCORE").contains("zset-zscore-listpack"));
    assert!(list("--priority 1 --match '^geo'").contains("geo-geosearch"));
    let none = Keystorm::new("suite --list --match nothing-of-the-kind").run();
    none.exits(1).says("is chosen");
    Keystorm::new("suite --match '['").run().exits(2).says("--match");
    Keystorm::new("suite --spawn -c 5").run().exits(2).says("the specs decide this");
    let of = |name: &str| memtier(name, "x", SHAPE);
    // A cross-section names files.
    let dir = specs(&[("a", of("spec-a")), ("b", of("spec-b")), ("c", of("spec-c"))]);
    fs::write(dir.path().join("core-specs.json"), "{\"specs\": [\"x/a.yml\", \"c\"]}").unwrap();
    let core = list(&dir.path().display().to_string());
    assert!(core.contains("2 of 3 specs") && !core.contains("spec-b"), "{core}");
    assert!(list(&format!("--all {}", dir.path().display())).contains("spec-b"));
}

#[test]
fn rounds_are_runs_of_history_by_the_name_of_their_spec() {
    let dir = tempfile::tempdir().unwrap();
    for number in 1..=2 {
        let line = format!(
            "suite --spawn=redis-server --match ^string-(strlen|mget-10)$ --time 0.3 --repeat 2 -q --json {}",
            dir.path().join(format!("{number}.json")).display()
        );
        Keystorm::new(&line).run().ok();
    }
    let ran = Keystorm::new(&format!("history {}", dir.path().display())).run().ok();
    for name in ["string-strlen", "string-mget-10"] {
        let row = ran.out.lines().find(|line| line.starts_with(name));
        let runs = row.and_then(|row| row.split_whitespace().nth(1));
        assert_eq!(runs, Some("4"), "{name}: {}", ran.out);
    }
}
