//! `keystorm search`: the highest rate that keeps a target.

use std::fs;
use std::time::Duration;

use serde_json::Value;

use crate::browser;
use crate::program::Keystorm;
use crate::server::Server;

#[test]
fn a_rate_is_found_and_its_curve_measured() {
    let (server, dir) = (Server::redis(), tempfile::tempdir().unwrap());
    let file = |name: &str| dir.path().join(name);
    // A target so lax, and a highest rate so low, that the answer does not depend on the machine.
    let line = format!(
        "search -p {} --slo p50<500ms -t get --start 500 --most 2000 --repeat 1 --duration 0.2 \
         --json {} --html {}",
        server.port(),
        file("s.json").display(),
        file("s.html").display()
    );
    let ran = Keystorm::new(&line).run().ok();
    let answer = "GET: 2,000/s keep p50<500ms, and more was not tried";
    assert!(ran.out.starts_with(answer), "the answer comes first: {}", ran.out);
    assert!(ran.out.contains("110 %"), "{}", ran.out);
    let document: Value =
        serde_json::from_str(&fs::read_to_string(file("s.json")).unwrap()).unwrap();
    assert_eq!(document["schema"], "keystorm.search/1");
    assert_eq!(document["complete"], true);
    assert_eq!(document["found"]["passes_per_s"], 2000.0);
    let trials = document["trials"].as_array().unwrap();
    let of = |phase: &str| trials.iter().filter(|t| t["phase"] == phase).count();
    assert_eq!((of("search"), of("curve")), (3, 9));
    // 500, 1000 and 2000 a second for 0.2 s, and then the curve.
    let curve: f64 =
        [0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0, 1.05, 1.1].iter().map(|s| s * 400.0).sum();
    let sent = server.calls("get") as f64;
    assert!((sent - 700.0 - curve).abs() < 15.0, "{sent} and not {}", 700.0 + curve);
    let hunt: lab::Hunt = serde_json::from_value(document).unwrap();
    assert_eq!(hunt.load().unwrap().len(), 12);
    let html = fs::read_to_string(file("s.html")).unwrap();
    assert!(html.contains("p50&lt;500ms"));
    browser::holds(&html, &[("Response time against rate", vec![9, 9, 9])]);
}

#[test]
fn a_target_that_nothing_keeps_is_a_failed_run() {
    let server = Server::redis();
    let line = format!(
        "search -p {} --slo max<1ns --start 20 --repeat 1 --duration 0.05 --no-curve -q -t get",
        server.port()
    );
    let ran = Keystorm::new(&line).run().exits(1);
    assert!(ran.out.contains("not even 20/s keep max<1ns"), "{}", ran.out);
}

#[test]
fn a_closed_loop_says_where_to_begin() {
    let server = Server::redis();
    let line = format!(
        "search -p {} --slo p50<1ns --most 1000 --repeat 1 --duration 0.05 --no-curve --csv get k",
        server.port()
    );
    let ran = Keystorm::new(&line).run().exits(1);
    let phases: Vec<&str> = ran.out.lines().skip(1).filter_map(|l| l.split(',').next()).collect();
    assert_eq!(phases[..2], ["\"closed\"", "\"search\""], "{}", ran.out);
}

#[test]
fn what_makes_no_sense_is_a_usage_error() {
    for (line, says) in [
        ("-t get", "--slo"),
        ("--slo p99 -t get", "such as p99<1ms"),
        ("--slo p99<1ms -t set,get", "one test"),
        ("--slo p99<1ms -n 10", "-n"),
        ("--slo p99<1ms --rps 10", "--rps"),
        ("--slo p99<1ms --start 10 --most 5", "--start"),
        ("--slo p99<1ms --duration 0", "--duration"),
    ] {
        Keystorm::new(&format!("search {line}")).run().exits(2).says(says);
    }
}

#[test]
fn an_interrupted_search_says_what_is_known() {
    let server = Server::redis();
    let line = format!(
        "search -p {} --slo p50<10s --start 100 --most 400 --repeat 1 --duration 0.5 -t get",
        server.port()
    );
    let running = Keystorm::new(&line).start();
    std::thread::sleep(Duration::from_millis(2600));
    running.interrupt();
    let ran = running.wait().exits(130);
    assert!(ran.out.contains("keep p50<10s"), "{} {}", ran.out, ran.err);
}
