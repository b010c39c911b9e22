//! `--server-latency`: what the server says of its own time, beside what the client saw; and that its settings are
//! changed only where that is allowed, and put back.

use crate::program::Keystorm;
use crate::record::{json, place, valid};
use crate::server::Server;

/// Settings that decide what a server remembers.
const SETTINGS: [&str; 4] =
    ["latency-monitor-threshold", "slowlog-log-slower-than", "slowlog-max-len", "latency-tracking"];

fn settings(server: &Server) -> Vec<String> {
    SETTINGS.iter().flat_map(|name| server.texts(&["CONFIG", "GET", name])).collect()
}

/// Runs with these options, while the server sleeps once for 60 ms; the report and where it was kept.
fn run(server: &Server, options: &str) -> (String, String, serde_json::Value) {
    let (_dir, file) = place();
    let before = server.calls("get");
    let line = format!("--json {} --rps 500 --duration 1.5 {options} get k", file.display());
    let running = server.keystorm(&line).start();
    running.until("load runs", |_| server.calls("get") > before + 100);
    server.ask(&["DEBUG", "SLEEP", "0.06"]);
    let ran = running.wait().ok();
    let document = json(&file);
    valid(&document);
    let shown = Keystorm::new(&format!("show {}", file.display())).run().ok();
    assert_eq!(shown.out, ran.out);
    (ran.out, ran.err, document)
}

#[test]
fn the_servers_time_stands_beside_the_clients_and_no_setting_is_changed() {
    for (name, server) in Server::both() {
        let before = settings(&server);
        let (out, err, document) = run(&server, "--server-latency");
        let head = "In the server, by its own count; the rest is network, kernels and queues";
        assert!(out.contains(head) && out.contains("to reply,"), "{name}: {out}");
        let row =
            out.lines().find(|line| line.starts_with("  GET ")).unwrap_or_else(|| panic!("{out}"));
        assert!(row.contains(" µs ") && row.ends_with(" %"), "{name}: {row}");
        assert!(out.contains("DEBUG SLEEP"), "{name}: {out}");
        assert!(
            err.contains("latency-monitor-threshold is 0, so there are no LATENCY events"),
            "{err}"
        );
        assert!(err.contains("--set-server"), "{err}");
        assert_eq!(settings(&server), before, "{name}");
        let times = &document["tests"][0]["watched"]["servers"][0]["run_times"];
        let get = times.as_array().unwrap().iter().find(|of| of["name"] == "get").unwrap();
        // It is asked before and after: what ran is what the load sent.
        assert_eq!(get["calls"], document["tests"][0]["requests"], "{name}");
        assert!(get["mean_us"].as_f64().unwrap() > 0.0, "{name}");
        assert!(get["p99_at_most_us"].as_u64().unwrap() > 0, "{name}");
    }
}

#[test]
fn settings_are_changed_where_that_is_allowed_and_put_back() {
    for (name, server) in Server::both() {
        server.ask(&["CONFIG", "SET", "slowlog-log-slower-than", "-1"]);
        server.ask(&["CONFIG", "SET", "latency-tracking", "no"]);
        let before = settings(&server);
        let (out, err, document) = run(&server, "--server-latency --set-server");
        assert!(out.contains("latency event \"command\": "), "{name}: {out}");
        assert!(out.contains(", SLOWLOG)"), "{name}: {out}");
        assert!(!err.contains("note: --server-latency"), "{name}: {err}");
        assert_eq!(settings(&server), before, "{name}");
        let times = document["tests"][0]["watched"]["servers"][0]["run_times"].to_string();
        assert!(times.contains("p99_at_most_us"), "{name}: {times}");
    }
}

#[test]
fn a_run_that_is_interrupted_puts_settings_back() {
    let server = Server::redis();
    let before = settings(&server);
    let running = server.keystorm("--server-latency --set-server --duration 60 get k").start();
    running.until("load runs", |_| server.calls("get") > 200);
    assert_ne!(settings(&server), before);
    running.interrupt();
    running.wait().exits(130);
    assert_eq!(settings(&server), before);
}

#[test]
fn what_it_needs_is_asked_for_by_name() {
    let server = Server::redis();
    server.run("--set-server -n 10 get k").exits(2).says("--server-latency");
    let plain = server.run("-n 300 get k").ok();
    assert!(!plain.out.contains("n the server"), "{}", plain.out);
}
