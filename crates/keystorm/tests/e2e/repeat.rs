//! `--repeat N`: each test so many times, as ever, and then what they are together.

use serde_json::Value;

use crate::mask::masked;
use crate::program::Keystorm;
use crate::record::{json, place, valid_by};
use crate::server::{CountingServer, KEYSTORM, Server, calls};

const FORMATS: [&str; 6] = ["text", "redis", "quiet", "csv", "classic", "json"];

#[test]
fn each_test_is_carried_out_so_often_and_shown_as_it_was_printed() {
    let server = Server::redis();
    let (_dir, file) = place();
    let path = file.to_str().unwrap();
    for format in FORMATS {
        server.reset();
        let ran = server
            .run(&format!("--repeat 3 -n 700 -t set,get --format {format} --json {path}"))
            .ok();
        assert_eq!(server.counts(), calls([("set", 2100), ("get", 2100)]));
        let shown = Keystorm::exec(KEYSTORM, ["show", path, "--format", format]).run().ok();
        assert_eq!(shown.out, ran.out, "{format}");
    }
    let document = json(&file);
    valid_by("keystorm.run.1.json", &document);
    let tests = document["tests"].as_array().unwrap();
    let numbers: Vec<_> = tests.iter().map(|t| t["repeat"]["number"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [1, 2, 3, 1, 2, 3]);
    let blocks = document["repeats"].as_array().unwrap();
    assert_eq!(blocks.len(), 2);
    for (block, tests) in blocks.iter().zip(tests.chunks(3)) {
        assert_eq!((&block["planned"], &block["count"]), (&3.into(), &3.into()));
        let rps = &block["figures"]["throughput_rps"];
        let mean = tests.iter().map(|t| t["throughput_rps"].as_f64().unwrap()).sum::<f64>() / 3.0;
        assert!((rps["mean"].as_f64().unwrap() / mean - 1.0).abs() < 1e-9);
        assert!(rps["low"].as_f64().unwrap() <= mean && mean <= rps["high"].as_f64().unwrap());
        assert!(block["figures"]["p99.9_ms"]["mean"].is_number());
    }
}

#[test]
fn lines_of_the_runs_stay_as_they_are() {
    let server = Server::redis();
    let ran = server.run("-q --repeat 2 -n 500 -t set").ok();
    let lines: Vec<String> = ran.out.lines().map(masked).collect();
    let run = "SET: # requests per second, p50=# msec, p99=# msec, limited by ";
    assert!(lines[..2].iter().all(|line| line.starts_with(run)), "{lines:?}");
    assert!(lines[2].starts_with("SET, mean of # repeats: # requests per second (± "), "{lines:?}");
    assert_eq!((lines.len(), lines[3].as_str()), (4, ""), "a suite ends in a blank line");
    let ran = server.run("--csv --repeat 2 -n 500 -t set").ok();
    let (tests, means) = ran.out.split_once("\n\n").unwrap();
    let names: Vec<_> = tests.lines().map(|l| l.split(',').next().unwrap()).collect();
    assert_eq!(names, ["\"test\"", "\"SET\"", "\"SET\""]);
    assert!(tests.lines().all(|line| line.split(',').count() == 12), "{}", ran.out);
    let mut means = means.lines();
    let head = "\"test\",\"figure\",\"repeats\",\"mean\",\"low\",\"high\"";
    assert_eq!(means.next(), Some(head));
    assert!(means.next().unwrap().starts_with("\"SET\",\"throughput_rps\",\"2\",\""));
    assert!(means.all(|line| line.split(',').count() == 6), "{}", ran.out);
    // Once is no repeat.
    let ran = server.run("-q --repeat 1 -n 500 -t set").ok();
    assert_eq!(ran.out.lines().count(), 2, "{}", ran.out);
}

#[test]
fn an_interruption_leaves_the_mean_of_what_was_whole() {
    let server = Server::redis();
    let (_dir, file) = place();
    let line = format!("--repeat 9 --duration 0.3 -q --json {} get k", file.display());
    let running = server.keystorm(&line).start();
    running.until("has two runs", |r| r.out().lines().count() >= 2);
    running.interrupt();
    let ran = running.wait().exits(130);
    let last = ran.out.lines().last().unwrap();
    assert!(last.starts_with("get k, mean of ") && last.contains(" of 9 repeats: "), "{}", ran.out);
    let document = json(&file);
    valid_by("keystorm.run.1.json", &document);
    let block = &document["repeats"][0];
    assert!(block["count"].as_u64() < block["planned"].as_u64(), "{block}");
}

#[test]
fn what_does_not_go_together_is_refused() {
    for line in
        ["--repeat 2 -l", "--repeat 2 -I", "--repeat 2 --start-at +1", "--repeat 0", "--repeat x"]
    {
        Keystorm::new(&format!("{line} get k")).run().exits(2).says("--repeat");
    }
}

#[test]
fn each_repeat_on_a_server_of_our_own_has_a_start_of_its_own() {
    let (dir, file) = place();
    let server = CountingServer::new(dir.path(), "server");
    let line = format!(
        "--spawn={} --spawn-unix --repeat 3 -n 200 -t set,get -q --json {}",
        server.program(),
        file.display()
    );
    let ran = Keystorm::new(&line).run().ok();
    assert_eq!(server.starts(), 3);
    assert!(!ran.err.contains("no interval"), "{}", ran.err);
    let document = json(&file);
    let tests = document["tests"].as_array().unwrap();
    let order: Vec<_> =
        tests.iter().map(|t| (t["name"].as_str().unwrap(), &t["repeat"]["number"])).collect();
    let [one, two, three] = [1, 2, 3].map(Value::from);
    let expected = [
        ("SET", &one),
        ("GET", &one),
        ("SET", &two),
        ("GET", &two),
        ("SET", &three),
        ("GET", &three),
    ];
    assert_eq!(order, expected);
    // A test finds what those before it wrote.
    let misses: u64 = tests.iter().map(|t| t["commands"][0]["miss"].as_u64().unwrap()).sum();
    assert_eq!(misses, 0);
    let blocks = document["repeats"].as_array().unwrap();
    let counts: Vec<_> =
        blocks.iter().map(|b| (b["name"].as_str().unwrap(), &b["count"])).collect();
    assert_eq!(counts, [("SET", &three), ("GET", &three)]);
    let means = ran.out.lines().filter(|line| line.contains("mean of 3 repeats"));
    assert_eq!(means.count(), 2, "{}", ran.out);
    let given = Server::redis();
    given.run("--repeat 2 -n 200 -q get k").ok().says("intervals do not cover");
}
