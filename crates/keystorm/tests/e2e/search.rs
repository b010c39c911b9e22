//! `keystorm search`: the highest rate that keeps a target.

use std::fs;

use serde_json::Value;

use crate::browser;
use crate::program::Keystorm;
use crate::real_clock::holds_when_quiet;
use crate::record::place;
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
    let ran = Keystorm::new(&line).run();
    let document: Value =
        serde_json::from_str(&fs::read_to_string(file("s.json")).unwrap()).unwrap();
    assert_eq!(document["schema"], "keystorm.search/1");
    assert_eq!(document["complete"], true);
    let trials = document["trials"].as_array().unwrap().clone();
    let of = |phase: &str| trials.iter().filter(|t| t["phase"] == phase).count();
    let found = document["found"]["passes_per_s"].as_f64();
    let hunt: lab::Hunt = serde_json::from_value(document).unwrap();
    let runs = hunt.load().unwrap();
    // Whatever was kept: every trial is there, and nothing else was sent.
    assert_eq!(runs.len(), trials.len());
    let sent: u64 = runs.iter().map(|run| run.measurement.total.requests()).sum();
    assert_eq!(server.calls("get"), sent);
    let html = fs::read_to_string(file("s.html")).unwrap();
    assert!(html.contains("p50&lt;500ms"));
    // A machine that gives no CPU to the client for a while keeps no schedule.
    let all_kept = found == Some(2000.0) && of("search") == 3;
    holds_when_quiet("a rate is found and its curve measured", all_kept, format!("{found:?}"));
    if !all_kept {
        return;
    }
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let answer = "GET: 2,000/s keep p50<500ms; higher rates were not tried";
    assert!(ran.out.starts_with(answer), "the answer comes first: {}", ran.out);
    assert!(ran.out.contains("110 %"), "{}", ran.out);
    assert!(ran.out.contains("110 %"), "{}", ran.out);
    assert_eq!(of("curve"), 9);
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
        ("--slo p99<1ms -t set,get", "a single test"),
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
    let (_dir, file) = place();
    let line = format!(
        "search -p {} --slo p50<10s --start 100 --most 400 --repeat 1 --duration 0.5 -t get \
         --json {}",
        server.port(),
        file.display()
    );
    let running = Keystorm::new(&line).start();
    // Whether the first rate was kept is the machine's business.
    running.until("a trial is kept in the file", |_| {
        fs::read_to_string(&file).is_ok_and(|text| text.contains("\"kept\":"))
    });
    running.interrupt();
    let ran = running.wait().exits(130);
    assert!(ran.out.contains("p50<10s"), "{} {}", ran.out, ran.err);
}
