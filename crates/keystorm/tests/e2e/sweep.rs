//! `keystorm sweep`: a grid of runs against a real server.

use std::fs;

use lab::Document;
use serde_json::Value;

use crate::browser;
use crate::program::Keystorm;
use crate::server::{CountingServer, Server, calls};

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

fn columns(line: &str) -> Vec<String> {
    line.split("  ").map(str::trim).filter(|c| !c.is_empty()).map(str::to_owned).collect()
}

#[test]
fn every_point_is_run_exactly_as_asked() {
    let server = Server::redis();
    let line = format!("sweep -p {} -t set,get -c 1,3 -P 1,4 -n 300 -q", server.port());
    let ran = Keystorm::new(&line).run().ok();
    assert_eq!(server.counts(), calls([("set", 1200), ("get", 1200)]));
    let lines: Vec<Vec<String>> = ran.out.lines().map(columns).collect();
    assert_eq!(lines[0][..4], ["-c", "-P", "test", "requests/s"], "{}", ran.out);
    let points: Vec<[&str; 3]> =
        lines[1..].iter().map(|cells| [&*cells[0], &*cells[1], &*cells[2]]).collect();
    let settings = [("1", "1"), ("1", "4"), ("3", "1"), ("3", "4")];
    let expected: Vec<[&str; 3]> =
        settings.iter().flat_map(|(c, p)| [[*c, *p, "SET"], [*c, *p, "GET"]]).collect();
    assert_eq!(points, expected);
}

#[test]
fn a_workload_file_says_how_long_each_point_is_and_may_be_a_pipe() {
    let server = Server::redis();
    let line = format!("sweep -p {} -c 1,3 -q --workload /dev/stdin", server.port());
    let file = "requests = 50\ntests = \"get\"\n";
    Keystorm::new(&line).stdin(file).run().ok();
    assert_eq!(server.counts(), calls([("get", 100)]));
}

#[test]
fn values_of_a_range_reach_the_server() {
    let server = Server::redis();
    let line = format!("sweep -p {} -d 10..1k -n 50 --csv set k __data__", server.port());
    let ran = Keystorm::new(&line).run().ok();
    assert_eq!(server.number(&["STRLEN", "k"]), 1000, "the last point is the largest");
    let sizes: Vec<&str> = ran.out.lines().filter_map(|line| line.split(',').next()).collect();
    let expected = ["-d", "10", "20", "50", "100", "200", "500", "1000"];
    assert_eq!(sizes, expected.map(|size| format!("\"{size}\"")));
}

#[test]
fn each_point_reads_values_of_its_own_size() {
    let server = Server::redis();
    let line = format!("sweep -p {} -t get -r 20 -d 100,1k,10k -n 40 --repeat 2 -q", server.port());
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("s.json");
    Keystorm::new(&format!("{line} --json {}", file.display())).run().ok();
    let sweep: lab::Sweep = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let read = |run: &report::Run| run.measurement.total.connections.bytes_in / 40;
    let sizes: Vec<u64> = sweep.load().unwrap().iter().map(read).collect();
    for (size, least) in sizes.iter().zip([100, 1_000, 10_000, 100, 1_000, 10_000]) {
        assert!((least..least + 20).contains(size), "{sizes:?}");
    }
}

#[test]
fn each_round_on_a_server_of_our_own_has_a_start_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let counted = CountingServer::new(dir.path(), "server");
    let rest = "-t set -c 1,2 -n 50 --repeat 3 -q";
    let own = format!("--spawn={} --spawn-unix", counted.program());
    let ran = Keystorm::new(&format!("sweep {own} {rest}")).run().ok();
    assert_eq!(counted.starts(), 3);
    assert!(!ran.err.contains("no interval"), "{}", ran.err);
    let given = Server::redis();
    let ran = Keystorm::new(&format!("sweep -p {} {rest}", given.port())).run().ok();
    ran.says("intervals do not cover how starts differ");
    assert_eq!(given.counts(), calls([("set", 300)]));
}

#[test]
fn results_are_kept_and_read_back() {
    let (server, dir) = (Server::redis(), tempfile::tempdir().unwrap());
    let file = |name: &str| dir.path().join(name);
    let line = format!(
        "sweep -p {} -t get -c 1,2 -n 200 --repeat 2 --json {} --html {} --svg {}",
        server.port(),
        file("s.json").display(),
        file("s.html").display(),
        file("svg").display()
    );
    let ran = Keystorm::new(&line).run().ok();
    assert_eq!(server.counts(), calls([("get", 800)]));
    assert!(ran.out.contains("from – to") && ran.out.contains("GET: "), "{}", ran.out);
    let document = json(&fs::read_to_string(file("s.json")).unwrap());
    crate::record::valid_by("keystorm.sweep.1.json", &document);
    assert_eq!(document["complete"], true);
    assert_eq!(document["axes"][0]["values"], serde_json::json!(["1", "2"]));
    assert_eq!(document["points"][1]["tests"], serde_json::json!([1, 3]));
    assert_eq!(document["run"]["schema"], "keystorm.run/1");
    assert_eq!(document["run"]["tests"].as_array().unwrap().len(), 4);
    let sweep: lab::Sweep = serde_json::from_value(document).unwrap();
    let runs = sweep.load().unwrap();
    let requests: Vec<u64> = runs.iter().map(|run| run.measurement.total.requests()).collect();
    assert_eq!(requests, [200; 4]);
    // Whatever reads runs reads these.
    let shown =
        Keystorm::new(&format!("show {} --format csv", file("s.json").display())).run().ok();
    assert_eq!(shown.out.lines().filter(|line| line.starts_with("\"GET\"")).count(), 4);
    let html = fs::read_to_string(file("s.html")).unwrap();
    assert!(html.contains("<svg") && html.contains("limited by: "), "{html:.200}");
    assert!(html.contains("keystorm sweep -p "), "how to run it again");
    let charts = [
        ("Response time against throughput", vec![2, 2]),
        ("Requests per second by connections", vec![2]),
        ("99th percentile of response time by connections", vec![2]),
    ];
    browser::holds(&html, &charts);
    let pictures = fs::read_dir(file("svg")).unwrap().count();
    assert_eq!(pictures, 3, "latency against throughput, and both by connections");
}

#[test]
fn standard_output_can_be_the_document() {
    let server = Server::redis();
    let line = format!("sweep -p {} -t get --engine epoll -c 1,2 -n 50 --json -", server.port());
    let document = json(&Keystorm::new(&line).run().ok().out);
    assert_eq!(document["points"].as_array().unwrap().len(), 2);
}

#[test]
fn a_run_lasts_a_second_unless_asked_otherwise() {
    let plans = |line: &str| {
        let ran = Keystorm::new(&format!("sweep --print-plan {line}")).run().ok();
        json(&ran.out).as_array().unwrap().clone()
    };
    let plans_of_default = plans("-c 1..100");
    assert_eq!(plans_of_default.len(), 14);
    assert_eq!(plans_of_default[0]["load"]["stop"], serde_json::json!({"after-ns": 1_000_000_000}));
    assert_eq!(plans_of_default[1]["name"], "GET");
    assert_eq!(plans("-t get -n 1k,2k")[1]["load"]["stop"], serde_json::json!({"requests": 2000}));
    assert_eq!(plans("--threads 1,2 --engine uring,epoll -t get").len(), 4);
    assert_eq!(plans("--rps 1k..10k/3 --window batch,rolling -t get").len(), 6);
    assert_eq!(plans("--rps 1k..10k/3s -t get").len(), 1, "a ramp is one schedule");
}

#[test]
fn what_makes_no_sense_is_a_usage_error() {
    for (line, says) in [
        ("-c 10..1", "-c 10..1"),
        ("-c 1,x", "-c"),
        ("-l", "--repeat"),
        ("-I", "measures nothing"),
        ("--hdr f", "--hdr"),
        ("--format classic", "classic"),
        ("--json - --csv", "only one format"),
        ("-c 1..999999/999 -n 1..999999/999", "points"),
        ("--bogus", "--bogus"),
        ("redis-server -c 1,2", "unexpected word redis-server"),
        ("get k --repeat 2", "unexpected word get before --repeat"),
    ] {
        Keystorm::new(&format!("sweep {line}")).run().exits(2).says(says);
    }
}

#[test]
fn an_interrupted_sweep_prints_what_there_is() {
    let server = Server::redis();
    let dir = tempfile::tempdir().unwrap();
    let kept = dir.path().join("kept.json");
    let line = format!(
        "sweep -p {} -c 1,2 --duration 0.3,60 -t get --json {}",
        server.port(),
        kept.display()
    );
    let running = Keystorm::new(&line).start();
    running.until("the first point is kept", |_| {
        fs::read_to_string(&kept)
            .is_ok_and(|text| json(&text)["points"].as_array().is_some_and(|p| !p.is_empty()))
    });
    running.interrupt();
    let ran = running.wait().exits(130);
    assert!(ran.out.lines().nth(1).is_some_and(|l| columns(l)[..2] == ["1", "0.3"]), "{}", ran.out);
    assert!(ran.out.contains("(incomplete)"), "{}", ran.out);
    let document = json(&fs::read_to_string(&kept).unwrap());
    assert_eq!(
        (&document["complete"], &document["run"]["complete"]),
        (&false.into(), &false.into())
    );
}

#[test]
fn a_point_that_fails_is_reported_and_the_others_go_on() {
    let server = Server::redis_with(&["--maxclients", "40"]);
    let line = format!("sweep -p {} -c 1,100,2 -t get -n 100", server.port());
    let ran = Keystorm::new(&line).run().exits(1);
    assert!(ran.out.lines().filter(|line| line.contains("incomplete")).count() == 1, "{}", ran.out);
    assert!(ran.err.contains("GET: "), "{}", ran.err);
    assert_eq!(columns(ran.out.lines().nth(3).unwrap())[0], "2", "{}", ran.out);
}

#[test]
fn passwords_are_nowhere() {
    let server = Server::redis_with(&["--requirepass", "hunter2"]);
    let dir = tempfile::tempdir().unwrap();
    let (json, html) = (dir.path().join("s.json"), dir.path().join("s.html"));
    for login in
        ["-a hunter2".to_owned(), format!("-u redis://:hunter2@127.0.0.1:{}", server.port())]
    {
        let line = format!(
            "sweep -p {} {login} -t get -c 1,2 -n 50 --json {} --html {}",
            server.port(),
            json.display(),
            html.display()
        );
        Keystorm::new(&line).run().ok().keeps_secret("hunter2");
        for file in [&json, &html] {
            let text = fs::read_to_string(file).unwrap();
            assert!(!text.contains("hunter2"), "{}", file.display());
        }
    }
}

#[test]
fn what_a_point_took_away_is_there_for_the_next() {
    let server = Server::redis();
    let line = "sweep -P 1,4 -n 300 -r 300 --repeat 2 --fill --fill-with 'rpush l __key__' lpop l";
    let line = line.replace("sweep", &format!("sweep -p {}", server.port()));
    let ran = Keystorm::new(&line).run().ok();
    let left = server.number(&["LLEN", "l"]);
    assert_eq!((server.calls("lpop"), server.calls("rpush"), left), (1200, 1200, 0), "{}", ran.err);
}
