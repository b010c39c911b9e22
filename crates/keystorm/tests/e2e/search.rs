//! `keystorm search`: the highest rate that keeps a target.

use std::fs;
use std::process::{Child, Command};

use lab::Document;
use serde_json::Value;

use crate::browser;
use crate::program::{Keystorm, RunOutput};
use crate::real_clock::holds_when_quiet;
use crate::record::{json, place};
use crate::server::Server;

/// Checks that the exit code is that of the answer in the document.
#[track_caller]
pub(crate) fn exits_as_answered(ran: &RunOutput, document: &Value) {
    let conclusion = &document["conclusion"];
    let code = match conclusion["answered"].as_str().unwrap() {
        "lowest-missed" | "no-trial" => 1,
        "undecided" | "unjudged" | "open" => 4,
        "found" | "at-least" => 0,
        other => panic!("{other}"),
    };
    assert_eq!(ran.code, Some(code), "{conclusion:#} {}", ran.err);
}

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
    crate::record::valid_by("keystorm.search.1.json", &document);
    assert_eq!(document["complete"], true);
    let trials = document["trials"].as_array().unwrap().clone();
    let of = |phase: &str| trials.iter().filter(|t| t["phase"] == phase).count();
    let found = document["found"]["passes_per_s"].as_f64();
    let record: lab::RateSearch = serde_json::from_value(document).unwrap();
    let runs = record.load().unwrap();
    // Whatever was kept: every trial is there, and nothing else was sent.
    assert_eq!(runs.len(), trials.len());
    let sent: u64 = runs.iter().map(|run| run.measurement.total.requests()).sum();
    assert_eq!(server.calls("get"), sent);
    let html = fs::read_to_string(file("s.html")).unwrap();
    assert!(html.contains("p50&lt;500ms"));
    let rates: Vec<f64> = trials.iter().filter_map(|t| t["rate_per_s"].as_f64()).collect();
    let tried = trials.iter().zip(&rates).filter(|(t, _)| t["phase"] != "closed");
    assert!(tried.clone().all(|(_, rate)| *rate <= 2000.5), "never above --most: {rates:?}");
    // A machine that gives no CPU to client or server judges nothing, and names no rate.
    let answered = record.conclusion().answered;
    let all_kept = found == Some(2000.0) && of("curve") == 7;
    match answered {
        lab::SearchOutcome::Unjudged | lab::SearchOutcome::Undecided | lab::SearchOutcome::Open => {
            assert_eq!(ran.code, Some(4), "{}", ran.err);
            let lines =
                ["GET: no rate is sure to keep ", "GET: undecided whether ", "GET: at least "];
            let is_missed = ran.out.lines().next().is_some_and(|line| line.contains("do not keep"));
            let is_open = lines.iter().any(|begin| ran.out.starts_with(begin));
            assert!(is_open || is_missed, "{}", ran.out);
        }
        _ => assert_eq!(ran.code, Some(0), "{} {}", ran.out, ran.err),
    }
    holds_when_quiet("a rate is found and its curve measured", all_kept, format!("{found:?}"));
    if !all_kept {
        return;
    }
    let answer = "GET: 2,000/s keep p50<500ms; higher rates were not tried";
    assert!(ran.out.starts_with(answer), "the answer comes first: {}", ran.out);
    assert!(ran.out.contains("100 %") && !ran.out.contains("110 %"), "{}", ran.out);
    browser::holds(&html, &[("Response time against rate", vec![7, 7, 7])]);
}

#[test]
fn the_highest_rate_may_be_lower_than_any_that_can_be_judged() {
    let server = Server::redis();
    let (_dir, file) = place();
    let line = format!(
        "search -p {} --slo p99<500ms --most 50 --repeat 1 --duration 0.2 --csv --json {} -t get",
        server.port(),
        file.display()
    );
    let ran = Keystorm::new(&line).run();
    exits_as_answered(&ran, &json(&file));
    let rates: Vec<f64> = ran
        .out
        .lines()
        .filter(|line| line.starts_with("\"search\"") || line.starts_with("\"curve\""))
        .map(|line| line.split(',').nth(1).unwrap().trim_matches('"').parse().unwrap())
        .collect();
    assert!(!rates.is_empty() && rates.iter().all(|rate| *rate <= 50.0), "{}", ran.out);
}

#[test]
fn a_search_says_once_what_it_fills_and_fills_again_what_it_used_up() {
    let server = Server::redis();
    let trials = |test: &str| {
        let line = format!(
            "search -p {} --slo p50<500ms --fill -r 100 --start 100 --most 200 --repeat 1 \
             --duration 0.1 --csv {test}",
            server.port()
        );
        let ran = Keystorm::new(&line).run();
        assert_eq!(ran.err.matches("filled 100 keys").count(), 1, "{}", ran.err);
        ran.out.lines().count() as u64 - 1
    };
    assert!(trials("get a:__key__") > 1);
    assert_eq!(server.calls("set"), 100);
    let trials = trials("getdel b:__key__");
    assert_eq!(server.calls("set"), 100 + 100 * trials);
}

#[test]
fn other_programs_make_no_false_conclusion() {
    let server = Server::redis();
    // More than the CPUs can run at once.
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let hogs: Vec<Hog> = (0..cpus * 2).map(|_| Hog::new()).collect();
    let line = format!(
        "search -p {} --slo p99<1ms --duration 0.2 --no-curve --json - -t get",
        server.port()
    );
    let ran = Keystorm::new(&line).run();
    drop(hogs);
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    let (conclusion, found) = (&document["conclusion"], &document["found"]);
    assert_ne!(conclusion["answered"], "lowest-missed", "{conclusion:#}");
    assert_ne!(ran.code, Some(1), "{}", ran.err);
    exits_as_answered(&ran, &document);
    let (passes, fails) = (found["passes_per_s"].as_f64(), found["fails_per_s"].as_f64());
    assert!(passes.zip(fails).is_none_or(|(passes, fails)| passes < fails), "{found:#}");
    // What was kept is said, whatever is not known above it.
    let headline = conclusion["headline"].as_str().unwrap();
    assert_eq!(
        passes.is_some(),
        headline.contains("keep p99<1ms")
            && !headline.contains("do not keep")
            && !headline.starts_with("undecided")
            && !headline.starts_with("no rate is sure"),
        "{headline}"
    );
}

/// A program that uses a CPU until it is dropped.
struct Hog(Child);

impl Hog {
    fn new() -> Self {
        Self(Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap())
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
fn a_target_that_nothing_keeps_is_a_failed_run() {
    let server = Server::redis();
    let line = format!(
        "search -p {} --slo max<1ns --start 20 --repeat 1 --duration 0.05 --no-curve -q -t get",
        server.port()
    );
    Keystorm::new(&line).run().exits(1).prints("not even 20/s keep max<1ns");
}

#[test]
fn a_closed_loop_says_where_to_begin() {
    let server = Server::redis();
    let (_dir, file) = place();
    let line = format!(
        "search -p {} --slo p50<1ns --most 1000 --repeat 1 --duration 0.05 --no-curve --csv --json {} get k",
        server.port(),
        file.display()
    );
    let ran = Keystorm::new(&line).run();
    exits_as_answered(&ran, &json(&file));
    assert_ne!(ran.code, Some(0), "{}", ran.err);
    holds_when_quiet("no rate keeps a nanosecond", ran.code == Some(1), &ran.err);
    let phases: Vec<&str> = ran.out.lines().skip(1).filter_map(|l| l.split(',').next()).collect();
    assert_eq!(phases[..2], ["\"closed\"", "\"search\""], "{}", ran.out);
}

#[test]
fn the_first_rate_is_half_of_what_a_schedule_counts() {
    let server = Server::redis();
    let command = Keystorm::exec(
        crate::server::KEYSTORM,
        [
            "search",
            "-p",
            &server.port().to_string(),
            "--slo",
            "p50<500ms",
            "--repeat",
            "1",
            "--duration",
            "0.2",
            "--no-curve",
            "--csv",
            "get",
            "a",
            ";",
            "get",
            "b",
            ";",
            "get",
            "c",
        ],
    );
    let out = command.run().out;
    let of = |phase: &str| -> f64 {
        let row = out.lines().find(|line| line.starts_with(&format!("\"{phase}\""))).unwrap();
        row.split(',').nth(1).unwrap().trim_matches('"').parse().unwrap()
    };
    // Operations, of three requests each.
    let off = of("search") / (of("closed") / 2.0);
    assert!((0.9..1.1).contains(&off), "{out}");
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
        ("redis-server --slo p99<1ms", "unexpected word redis-server"),
        ("redis-server --slo p99<1ms", "--spawn=redis-server"),
        ("127.0.0.1:6379 --slo p99<1ms", "-h 127.0.0.1 -p 6379"),
        ("get k --slo p99<1ms", "unexpected word get before --slo"),
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

#[test]
fn a_search_that_is_interrupted_before_its_first_result_ends_as_interrupted() {
    let server = Server::redis();
    let line = format!("search -p {} --slo p50<10s --most 400 --duration 60 get k", server.port());
    let running = Keystorm::new(&line).start();
    running.until("load runs", |_| server.calls("get") > 10);
    running.interrupt();
    running.wait().exits(130).says("nothing was measured");
}
