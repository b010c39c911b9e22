//! Several memcached servers that share out keys: what each of them counts, and one that goes away.

use std::time::Duration;

use crate::memcached::Memcached;
use crate::program::{Keystorm, Process, RunOutput, goes_on, within};
use crate::record;

/// Four servers.
struct Ring(Vec<Memcached>);

impl Ring {
    fn new() -> Self {
        Self((0..4).map(|_| Memcached::with(&["-t", "1"])).collect())
    }

    fn line(&self, words: &str) -> String {
        let places: Vec<String> =
            self.0.iter().map(|server| format!("127.0.0.1:{}", server.port())).collect();
        format!("--protocol memcache -h {} {words}", places.join(","))
    }

    fn run(&self, words: &str) -> RunOutput {
        Keystorm::new(&self.line(words)).run()
    }

    fn start(&self, words: &str) -> Process {
        Keystorm::new(&self.line(words)).start()
    }

    fn reset(&mut self) {
        self.0.iter_mut().for_each(Memcached::reset);
    }

    /// By how much the sum of these counts has grown on each.
    fn grown(&self, names: &[&str]) -> Vec<i64> {
        self.0.iter().map(|server| server.grown(names)).collect()
    }
}

#[test]
fn keys_are_spread_evenly_and_each_is_where_it_was_stored() {
    let mut ring = Ring::new();
    // A continuum of 160 points for each server, which its port places, gives each a quarter to 7 %. Five times that,
    // and what 4000 draws add, are 38 %.
    for (hash, off) in [("ketama", 380), ("modulo", 140)] {
        ring.0.iter().for_each(|server| drop(server.say("flush_all\n")));
        ring.reset();
        let load = format!("--hash {hash} -r 4000 -c 8 -P 4 --threads 2 -q");
        ring.run(&format!("{load} -n 4000 --sequential set k:__rand_int__ 0 0 __data__")).ok();
        let sets = ring.grown(&["cmd_set"]);
        assert_eq!(sets.iter().sum::<i64>(), 4000);
        assert!(sets.iter().all(|sets| sets.abs_diff(1_000) <= off), "{hash}: {sets:?}");
        ring.run(&format!("{load} -n 10000 get k:__rand_int__")).ok();
        assert_eq!(ring.grown(&["get_misses"]), [0; 4], "{hash}");
        assert_eq!(ring.grown(&["get_hits"]).iter().sum::<i64>(), 10_000);
    }
}

#[test]
fn a_get_of_many_keys_is_split_and_counted_once() {
    let mut ring = Ring::new();
    ring.run("-q -r 1000 -n 1000 --sequential set key:__rand_int__ 0 0 __data__").ok();
    ring.reset();
    let (_dir, file) = record::place();
    let keys = "key:__rand_int__ ".repeat(12);
    let ran = ring.run(&format!("--json {} -n 600 -r 1000 -c 6 get {keys}", file.display())).ok();
    assert_eq!(ran.completed().0, 600);
    let ran = ran.prints("  keys: 7200 of 7200 found").prints(", 4 servers by ketama");
    assert!(!ran.out.contains("other clients"), "{}", ran.out);
    assert_eq!(ring.grown(&["get_hits"]).iter().sum::<i64>(), 7200);
    let document = record::json(&file);
    record::valid_by("keystorm.run.1.json", &document);
    let nodes = document["tests"][0]["nodes"].as_array().unwrap();
    assert_eq!(nodes.len(), 4);
    for (node, server) in nodes.iter().zip(&ring.0) {
        assert_eq!(node["name"], format!("127.0.0.1:{}", server.port()));
        assert!(node["ok"].as_u64().unwrap() > 400, "{node}");
    }
    assert_eq!(document["tests"][0]["watched"]["servers"].as_array().map(Vec::len), Some(4));
    // Each part's values are those of its keys.
    ring.run(&format!("-q -r 200 -d uniform:0..3k --seed 4 -n 600 --fill --verify get {keys}"))
        .ok();
}

#[test]
fn the_suite_runs_on_several_servers() {
    let ring = Ring::new();
    for protocol in ["memcache", "memcache-meta", "memcache-binary"] {
        let line = ring.line("-n 300 -r 100 -c 5 -P 3");
        let line = line.replace("--protocol memcache ", &format!("--protocol {protocol} "));
        let ran = Keystorm::new(&line).run().ok();
        for test in ["delete (each key once)", "incr", "set"] {
            assert!(ran.out.contains(&format!("====== {test} ======")), "{protocol}: {test}");
        }
        // All keys that are read except those of cas, which another client may have swapped.
        let missed = ran.out.lines().filter(|line| line.contains(" hits, ")).count();
        assert!(missed <= 1, "{protocol}: {}", ran.out);
    }
}

#[test]
fn a_server_that_is_killed_and_started_again_is_an_outage_of_its_own() {
    let mut ring = Ring::new();
    ring.run("-q -r 2000 -n 2000 --sequential set k:__rand_int__ 0 0 __data__").ok();
    ring.reset();
    let (_dir, file) = record::place();
    let words = format!("--json {} -r 2000 -c 8 --duration 120 get k:__rand_int__", file.display());
    let running = ring.start(&words);
    let asked = |ring: &Ring| ring.grown(&["cmd_get"]);
    let patience = Duration::from_secs(60);
    assert!(within(patience, || asked(&ring).iter().all(|gets| *gets > 100)), "load runs");
    ring.0[2].kill();
    let others =
        |ring: &Ring| -> i64 { [0, 1, 3].iter().map(|at| ring.0[*at].grown(&["cmd_get"])).sum() };
    // Long enough for an interval without a reply, even where a busy machine ends intervals late.
    goes_on(12, || others(&ring) as u64);
    ring.0[2].restart();
    ring.0[2].reset();
    assert!(within(patience, || ring.0[2].grown(&["cmd_get"]) > 100), "it is back");
    running.interrupt();
    let ran = running.wait().exits(130);
    let name = format!("127.0.0.1:{}", ring.0[2].port());
    ran.prints(&format!("  {name}: nothing succeeded for "));
    let document = record::json(&file);
    let test = &document["tests"][0];
    let outages = test["outages"].as_array().unwrap();
    assert!(outages.iter().any(|outage| outage["node"] == 2), "{outages:?}");
    let nodes = test["nodes"].as_array().unwrap();
    assert!(nodes[2]["unanswered"].as_u64().unwrap() > 0, "{nodes:?}");
}

#[test]
fn several_clients_put_load_on_several_servers() {
    let mut ring = Ring::new();
    ring.reset();
    let ran = ring.run("--on local:2 -c 8 -n 3000 -r 200 -P 4 -t mget10").ok();
    assert_eq!(ran.completed().0, 3000);
    assert_eq!(ring.grown(&["get_misses"]), [0; 4]);
    assert_eq!(ring.grown(&["get_hits"]).iter().sum::<i64>(), 30_000);
}

#[test]
fn what_several_servers_cannot_do_is_refused() {
    let places = "-r 10 --protocol memcache -h a,b";
    for (line, says) in [
        (format!("{places} mg k v q ';' mn"), "flag q"),
        (format!("{places} -I"), "-I opens connections to one server"),
        (
            format!("{places} get k:__key__ l:__key__ ';>' set b 0 0 __reply__"),
            "one command with one key",
        ),
        ("--protocol memcache -h a --hash modulo get k".to_owned(), "--hash requires several"),
        ("--protocol memcache -h a,a get k".to_owned(), "a:11211 is named twice"),
        ("--protocol memcache -h a,:1 get k".to_owned(), "is not a host and port"),
        ("-u memcache://u:hunter2@a,b:x get k".to_owned(), "is not a host and port"),
    ] {
        Keystorm::new(&line).run().exits(2).keeps_secret("hunter2").says(says);
    }
    let plan = Keystorm::new("-u memcache://h,i:7 --hash modulo --print-plan get k").run().ok();
    plan.prints("\"ring\"").prints("\"modulo\"").prints("11211");
    let nobody = Keystorm::new("--protocol memcache -h 127.0.0.1:1,127.0.0.1:2 get k").run();
    nobody.exits(1).says("127.0.0.1:1");
}
