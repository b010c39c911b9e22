//! `--on local:N`: several clients do what one would, and are reported as one.

use std::fs;

use serde_json::{Value, json};

use crate::program::Keystorm;
use crate::record::{json, place, valid_by};
use crate::server::{Server, calls};

/// The rows of the clients of a test.
pub(crate) fn rows(test: &Value) -> &Vec<Value> {
    test["clients"]["rows"].as_array().unwrap()
}

fn sum(rows: &[Value], field: &str) -> u64 {
    rows.iter().map(|row| row[field].as_u64().unwrap()).sum()
}

#[test]
fn four_clients_send_what_one_would() {
    let load = "-t set,get -n 4001 -c 10 -r 3000 --seed 7 -P 2";
    let alone = Server::redis();
    alone.run(load).ok();
    let (server, (_dir, file)) = (Server::redis(), place());
    let ran = server.run(&format!("{load} --on local:4 --json {}", file.display())).ok();
    assert_eq!(server.counts(), calls([("set", 4001), ("get", 4001)]));
    let (mut keys, mut wanted) = (server.keys(), alone.keys());
    keys.sort();
    wanted.sort();
    assert_eq!(keys, wanted, "the same keys, drawn by the same numbers");
    let document = json(&file);
    valid_by("keystorm.run.1.json", &document);
    assert_eq!(document["complete"], true);
    for (test, plan) in
        document["tests"].as_array().unwrap().iter().zip(document["plan"].as_array().unwrap())
    {
        assert_eq!(test["requests"], 4001);
        assert_eq!(test["latency_ms"]["service"]["exact"]["count"], 4001);
        assert_eq!(test["client"]["workers"].as_array().unwrap().len(), 4);
        assert_eq!(
            (&plan["load"]["concurrency"]["connections"], &plan["load"]["stop"]),
            (&json!(10), &json!({"requests": 4001}))
        );
        let rows = rows(test);
        assert_eq!((rows.len(), sum(rows, "requests"), sum(rows, "connections")), (4, 4001, 10));
        let skew = &test["clients"]["start_skew_us"];
        assert!(skew.as_f64().unwrap() >= 0.0, "{skew}");
    }
    assert_eq!(ran.out.matches("  4 clients started within ").count(), 2, "{}", ran.out);
    let shown = Keystorm::exec(crate::server::KEYSTORM, ["show".into(), file]).run().ok();
    assert_eq!(shown.out, ran.out);
}

#[test]
fn a_rate_and_a_time_are_those_of_all_clients() {
    let (server, (_dir, file)) = (Server::redis(), place());
    let line = "-t get -c 4 --rps 400 --duration 1.5 --warmup 0.5 --threads 2";
    server.run(&format!("{line} --on local:2 --json {}", file.display())).ok();
    let test = &json(&file)["tests"][0];
    // Half are of each client, due at times of their own; the last may be due at the very end.
    let due = test["lateness_ms"]["due"].as_u64().unwrap();
    assert!((599..=601).contains(&due), "{due}");
    assert_eq!(test["client"]["workers"].as_array().unwrap().len(), 4);
    assert!(rows(test).iter().all(|row| row["late_mean_ms"].is_f64()));
}

#[test]
fn passwords_travel_on_standard_input_only() {
    let server = Server::redis_with(&["--requirepass", "hunter2"]);
    let (_dir, file) = place();
    let line = format!("-t set --duration 30 -c 2 --on local:2 --json {}", file.display());
    let running = server.keystorm(&line).env("REDISCLI_AUTH", "hunter2").start();
    running.until("both load", |r| children(r.pid()).len() == 2 && server.calls("set") > 0);
    for child in children(running.pid()) {
        let words = fs::read_to_string(format!("/proc/{child}/cmdline")).unwrap();
        assert!(words.ends_with("--hold\0") && !words.contains("hunter2"), "{words}");
    }
    running.interrupt();
    running.wait().exits(130).keeps_secret("hunter2");
    assert!(!fs::read_to_string(&file).unwrap().contains("hunter2"));
}

#[test]
fn a_server_of_our_own_and_every_test_of_a_line_have_the_same_clients() {
    let ran = Keystorm::new("--spawn -t set,get -n 300 -c 3 --on local:3 --repeat 2").run().ok();
    assert_eq!(ran.out.matches("  3 clients started within ").count(), 4, "{}", ran.out);
}

#[test]
fn experiments_are_carried_out_by_the_clients() {
    let (server, (_dir, file)) = (Server::redis(), place());
    let path = file.display();
    // A point with fewer connections than clients is carried out by as many as it has.
    let line =
        format!("sweep -p {} -t set -n 200 -c 1,4 --on local:2 --json {path}", server.port());
    Keystorm::new(&line).run().ok();
    let shares: Vec<usize> = json(&file)["run"]["tests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|test| test["clients"]["rows"].as_array().map_or(0, Vec::len))
        .collect();
    assert_eq!(shares, [1, 2]);
    assert_eq!(server.calls("set"), 400);
    let search = "--slo p50<5s -t get --start 300 --most 300 --repeat 1 --duration 0.3 --no-curve";
    let line = format!("search -p {} {search} -c 4 --on local:2 --json {path}", server.port());
    Keystorm::new(&line).run();
    assert_eq!(rows(&json(&file)["run"]["tests"][0]).len(), 2);
    let sides = format!("compare 127.0.0.1:{0} 127.0.0.1:{0}", server.port());
    Keystorm::new(&format!("{sides} -t ping_mbulk -n 100 -c 4 --repeat 1 --on local:2")).run().ok();
    assert_eq!(server.calls("ping"), 400);
}

#[test]
fn a_probe_measures_beside_the_load_and_stands_first() {
    let (server, (_dir, file)) = (Server::redis(), place());
    for (on, conns) in [("", 4), ("--on local:2", 4)] {
        server.reset();
        let line =
            format!("-t get --duration 1 -c {conns} --probe 200 {on} --json {}", file.display());
        let ran = server.run(&line).ok();
        let rows: Vec<&str> = ran.out.lines().filter(|line| line.contains(" (ms)  ")).collect();
        assert!(rows[0].starts_with("  probe (ms) ") && rows[1].starts_with("  latency (ms) "));
        let document = json(&file);
        valid_by("keystorm.run.1.json", &document);
        let test = &document["tests"][0];
        let probed = test["probe"]["requests"].as_u64().unwrap();
        assert!((1..=201).contains(&probed), "{probed}");
        let executed = server.calls("get");
        assert_eq!(test["requests"].as_u64().unwrap() + probed, executed, "{on}");
        let strangers = |w: &&Value| w["kind"] == "other-clients";
        assert_eq!(test["warnings"].as_array().unwrap().iter().find(strangers), None);
        let shown =
            Keystorm::exec(crate::server::KEYSTORM, ["show".into(), file.clone()]).run().ok();
        assert_eq!(shown.out, ran.out);
    }
    // By count the probe ends with the load.
    server.run("-t get -n 500 --probe 1k").ok().prints("  probe: 4 quiet connections ");
    server.run("-t get -n 500 --probe 1k -q").ok().prints(", probe p50=");
    server.run("-t get -n 500 --probe 1k --csv").ok().prints("\"GET: probe\",\"1000.00\",");
    server.run("-t get --probe 0").exits(2).says("--probe");
    Keystorm::new("sweep --probe 1k -t get --spawn")
        .run()
        .exits(2)
        .says("--probe works with single runs only");
}

#[test]
fn a_page_tells_of_probe_and_clients_as_the_text_does() {
    let (server, (dir, file)) = (Server::redis(), place());
    let page = dir.path().join("page.html");
    let line = format!(
        "-t get -n 3000 -c 4 --threads 2 --on local:2 --probe 200 --json {} --html {}",
        file.display(),
        page.display()
    );
    let ran = server.run(&line).ok();
    let document = json(&file);
    valid_by("keystorm.run.1.json", &document);
    assert_eq!(document["tests"][0]["clients"]["on"], "local:2");
    let html = fs::read_to_string(&page).unwrap();
    let describe = |begins: &str| ran.out.lines().find_map(|line| line.trim().strip_prefix(begins));
    let beginning = describe("2 clients started within ").unwrap();
    assert!(html.contains(&format!("2 clients started within {beginning}")), "{html}");
    assert!(html.contains(&format!("Probe: {}", describe("probe: ").unwrap())), "{html}");
    let median = html.find("median of the probe").unwrap();
    assert!(median < html.find("99.9th percentile").unwrap(), "the probe comes first: {html}");
    for row in rows(&document["tests"][0]) {
        let rate = format!(">{:.0}</td>", row["throughput_rps"].as_f64().unwrap());
        assert!(html.contains(&rate), "{rate}: {html}");
    }
    let again = html.split_once("<code>").unwrap().1.split_once("</code>").unwrap().0;
    let words = "--probe 200 --on local:2 ";
    assert!(again.contains(words) && again.contains(" --threads 2 "), "{again}");
}

#[test]
fn requests_over_elapsed_time_are_the_throughput_of_a_ramp_and_of_a_count() {
    let (server, (_dir, file)) = (Server::redis(), place());
    for line in [
        "-t get --rps 500..2000/2s --duration 2",
        "-t get -n 5000",
        "--mix -n 3000 -- 3 get a ';' 1 set b c",
    ] {
        let ran = server.run(&format!("--json {} --on local:2 {line}", file.display())).ok();
        let test = &json(&file)["tests"][0];
        let number = |field: &str| test[field].as_f64().unwrap();
        let rate = number("requests") / number("elapsed_s");
        assert!((rate / number("throughput_rps") - 1.0).abs() < 1e-9, "{line}: {rate}");
        let operations = test["operations"].as_array().into_iter().flatten();
        let sum: f64 = operations.filter_map(|o| o["rate_per_s"].as_f64()).sum();
        assert!(sum == 0.0 || (sum / rate - 1.0).abs() < 1e-6, "{line}: {sum} of {rate}");
        if line.contains("--rps") {
            let shown = ran.out.lines().find(|line| line.contains("throughput: ")).unwrap();
            let asked = shown.split(" of ").nth(1).and_then(|rest| rest.split(' ').next());
            let asked: f64 = asked.unwrap().parse().unwrap();
            // A busy machine may lie between two starts.
            assert!((1200.0..=1250.0).contains(&asked), "{shown}");
            let due = test["lateness_ms"]["due"].as_u64().unwrap();
            assert!((2490..=2502).contains(&due), "{due}");
        }
    }
}

/// The processes that another has started.
pub(crate) fn children(of: u32) -> Vec<u32> {
    // Numbers of processes begin again at the end of their range, so the order is that of their starts.
    let started = |pid: u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let is_child = fields.first() != Some(&"Z") && fields.get(1)?.parse() == Ok(of);
        is_child.then(|| fields.get(19)?.parse::<u64>().ok()).flatten()
    };
    let names = fs::read_dir("/proc").unwrap().flatten();
    let pids = names.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut found: Vec<(u64, u32)> =
        pids.filter_map(|pid: u32| Some((started(pid)?, pid))).collect();
    found.sort_unstable();
    found.into_iter().map(|(_, pid)| pid).collect()
}
