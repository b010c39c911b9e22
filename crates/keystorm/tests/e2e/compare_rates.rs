//! `keystorm compare --rps LIST`: throughput against latency of several servers.

use serde_json::Value;

use crate::compare::{address, compare};
use crate::memcached::Memcached;
use crate::program::Keystorm;
use crate::real_clock::holds_when_quiet;
use crate::record::{json, place, valid_by};
use crate::server::Server;

#[test]
fn a_list_of_rates_is_drawn_for_all_servers_on_one_chart() {
    let (dir, file) = place();
    let (a, b) = (Server::redis(), Server::valkey());
    let page = dir.path().join("page.html");
    let line = format!(
        "--rps 200,400,800 --slo 'p50<30s' --duration 0.2 --repeat 1 --inconclusive pass -t set \
         --json {} --html {}",
        file.display(),
        page.display()
    );
    let ran = compare(&address(&a), &address(&b), &line).run().ok();
    assert!(ran.out.starts_with("SET: redis 7."), "{}", ran.out);
    assert!(ran.out.contains("Response time (p50) against throughput"), "{}", ran.out);
    let document = json(&file);
    valid_by("keystorm.compare.1.json", &document);
    let curve = &document["curves"][0];
    assert_eq!(curve["rates_rps"], serde_json::json!([200.0, 400.0, 800.0]));
    let is_kept = |server: &Value| server["knee_rps"] == 800.0 && server["next_rps"] == Value::Null;
    let kept = curve["servers"].as_array().unwrap().iter().all(is_kept)
        && ran.out.contains("keeps p50<30s up to 800/s, the highest rate");
    // A machine that stands still for a part of 0.2 s leaves requests unanswered.
    holds_when_quiet("both servers keep every rate", kept, &ran.out);
    // Both had the same load at each rate, twice, and also as fast as it went.
    let runs = document["tests"].as_array().unwrap().iter().map(|of| &of["servers"][1]["runs"]);
    assert_eq!(runs.collect::<Vec<_>>(), [2, 2, 2]);
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.contains("Response time (p50) against throughput"), "{html}");
    assert!(html.contains(">p50&lt;30s</text>"), "no target in the chart");
    let line = "--rps 200,400 --duration 0.2 --repeat 1 -t set --csv";
    let ran = compare(&address(&a), &address(&b), line).run().ok();
    let ran = ran.prints("\"is_better\",\"rate_rps\",\"kept\"").says("SET: redis 7.");
    let is_of_400 = |line: &&str| line.contains("\"p99_ms\"") && line.contains("\"400.000\",");
    assert_eq!(ran.out.lines().filter(is_of_400).count(), 2, "{}", ran.out);
    let line = line.replace("--csv", "-q");
    let ran = compare(&address(&a), &address(&b), &line).run().ok();
    assert!(ran.out.starts_with("SET: ") && ran.out.lines().count() == 1, "{}", ran.out);
    compare(&address(&a), &address(&b), "--rps 5..1").run().exits(2).says("--rps 5..1: ");
}

#[test]
fn memory_is_by_one_measure_whoever_started_the_server() {
    let (redis, memcached) = (Server::redis(), Memcached::new());
    let (_dir, file) = place();
    let line = format!(
        "compare 127.0.0.1:{} memcache://127.0.0.1:{} -t get -r 50k -d 500 -n 200 --rps 1k --repeat 1 \
         --disturbed count --json {}",
        redis.port(),
        memcached.port(),
        file.display()
    );
    Keystorm::new(&line).run();
    let document = json(&file);
    let of =
        |at: usize| document["tests"][0]["servers"][at]["cost"]["memory_bytes"].as_f64().unwrap();
    for (at, pid) in [(0, redis.pid()), (1, memcached.pid())] {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        let kib: f64 = resident.trim_end_matches("kB").trim().parse().unwrap();
        let ratio = of(at) / (kib * 1024.0);
        assert!((0.9..1.1).contains(&ratio), "server {at}: {} and {resident}", of(at));
    }
}
