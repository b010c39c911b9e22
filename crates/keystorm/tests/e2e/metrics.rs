//! `--metrics`, read by Prometheus's own client library.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;
use std::time::Duration;

use serde_json::Value;

use crate::program::{PATIENCE, Process, within};
use crate::server::Server;

/// What was served at one moment.
struct Scrape(Value);

/// Where a keystorm serves, once it has said so.
fn url(running: &Process) -> String {
    running.until("it says where metrics are", |r| r.err().contains("/metrics\n"));
    let text = running.err();
    text.split_whitespace().find(|word| word.starts_with("http://")).unwrap().to_owned()
}

/// Opens a connection there and sends that.
fn send(url: &str, bytes: &[u8]) -> TcpStream {
    let host = url.strip_prefix("http://").unwrap().strip_suffix("/metrics").unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    // Whoever is not heard may be gone.
    stream.set_write_timeout(Some(Duration::from_millis(100))).unwrap();
    let _ = stream.write_all(bytes);
    stream
}

/// Fetches what a keystorm serves.
fn scrape(running: &Process) -> Scrape {
    let url = &url(running);
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/test-servers/python");
    assert!(library.is_dir(), "{}: `make setup-test` installs it", library.display());
    let script = include_str!("scrape.py");
    let read =
        Command::new("python3").args(["-c", script, url]).env("PYTHONPATH", library).output();
    let read = read.expect("python3, which `make setup-test` installs");
    let fault = String::from_utf8_lossy(&read.stderr);
    assert!(read.status.success(), "{fault}");
    Scrape(serde_json::from_slice(&read.stdout).unwrap())
}

impl Scrape {
    /// The values of a metric of a test, in order.
    fn all(&self, name: &str, test: &str) -> Vec<f64> {
        let samples = self.0["samples"].as_array().unwrap().iter();
        let of_test = samples.filter(|s| s[1] == name && s[2]["test"] == test);
        of_test.map(|s| s[3].as_f64().unwrap()).collect()
    }

    /// The one value; 0 where there is none yet.
    fn one(&self, name: &str, test: &str) -> f64 {
        let all = self.all(name, test);
        assert!(all.len() <= 1, "{name} of {test}: {all:?}");
        all.first().copied().unwrap_or(0.0)
    }
}

/// Scrapes until that holds.
fn until(running: &Process, what: &str, holds: impl Fn(&Scrape) -> bool) -> Scrape {
    let mut last = None;
    let held = within(PATIENCE, || {
        let seen = scrape(running);
        let held = holds(&seen);
        last = Some(seen);
        held
    });
    let last = last.unwrap();
    assert!(held, "{what}: {}", last.0);
    last
}

/// A run of two tests: scraped while the second ran, and as its report has it.
static SCRAPED_RUN: LazyLock<(Scrape, Value)> = LazyLock::new(|| {
    let server = Server::redis();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("run.json");
    let options = "--rps 2k --duration 10 -c 6 -P 4 --threads 2 --warmup 0.3";
    let line = format!("--metrics :0 -t set,get {options} -q --json {}", file.display());
    let running = server.keystorm(&line).start();
    let seen = until(&running, "both threads have measured the second test", |s| {
        let cpu = s.all("keystorm_client_cpu_seconds_total", "GET");
        s.one("keystorm_requests_total", "GET") > 0.0
            && cpu.len() == 2
            && cpu.iter().all(|s| *s > 0.0)
    });
    running.wait().ok().says("Metrics on http://127.0.0.1:");
    (seen, serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap())
});

#[test]
fn prometheus_reads_the_figures_of_an_ended_test_as_the_report_has_them() {
    let (seen, document) = &*SCRAPED_RUN;
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert_eq!(seen.0["kind"], kind);
    let test = &document["tests"][0];
    let requests = test["requests"].as_f64().unwrap();
    let ended = |name: &str| seen.one(&format!("keystorm_{name}"), "SET");
    assert_eq!(ended("requests_total"), requests);
    assert!(requests > 0.0);
    assert_eq!(ended("response_time_seconds_count"), requests);
    assert_eq!(ended("test_elapsed_seconds"), test["elapsed_s"].as_f64().unwrap());
    let mean_s = test["latency_ms"]["response"]["mean"].as_f64().unwrap() / 1e3;
    let sum_s = ended("response_time_seconds_sum");
    assert!((sum_s / requests / mean_s - 1.0).abs() < 1e-3, "{sum_s} {mean_s}");
    let buckets = seen.all("keystorm_service_time_seconds_bucket", "SET");
    assert!(buckets.is_sorted() && buckets.len() > 40, "{buckets:?}");
    assert_eq!(buckets.last(), Some(&requests));
    assert_eq!([ended("test_running"), ended("test_progress_ratio")], [0.0, 1.0]);
    assert_eq!([ended("connections"), ended("requests_in_flight")], [0.0, 0.0]);
}

#[test]
fn prometheus_reads_a_test_while_it_runs() {
    let (seen, document) = &*SCRAPED_RUN;
    let running = |name: &str| seen.one(&format!("keystorm_{name}"), "GET");
    assert!(running("requests_total") <= document["tests"][1]["requests"].as_f64().unwrap());
    assert!((0.0..=1.0).contains(&running("test_progress_ratio")));
    let cpu = seen.all("keystorm_client_cpu_seconds_total", "GET");
    assert!(cpu.len() == 2 && cpu.iter().all(|s| *s > 0.0), "{cpu:?}");
    assert_eq!(seen.all("keystorm_requests_backlog", "GET").len(), 1);
    assert!(running("sent_bytes_total") >= 20.0 * running("requests_total"));
}

#[test]
fn a_frozen_server_is_seen_while_it_is_frozen() {
    let server = Server::redis();
    let running = server.keystorm("--metrics 0 --rps 1000 --duration 8 -c 3 -q get k").start();
    until(&running, "load runs", |s| s.one("keystorm_requests_total", "get k") > 0.0);
    let pid = rustix::process::Pid::from_raw(server.pid() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    let seen =
        until(&running, "a backlog", |s| s.one("keystorm_requests_backlog", "get k") >= 200.0);
    rustix::process::kill_process(pid, rustix::process::Signal::CONT).unwrap();
    let of = |name: &str| seen.one(&format!("keystorm_{name}"), "get k");
    assert_eq!([of("requests_in_flight"), of("connections")], [3.0, 3.0]);
    assert_eq!([of("test_running"), of("test_warming_up")], [1.0, 0.0]);
    assert!(of("requests_backlog") <= 4000.0, "{}", of("requests_backlog"));
    running.wait().ok();
}

#[test]
fn errors_are_distinguished_and_no_name_breaks_the_page() {
    let server = Server::redis();
    let command = r#"-- set 'a"b\c' v ';' lpush 'a"b\c' x"#;
    let options = "--metrics 127.0.0.1:0 --on-error count --duration 600 -c 2 -q";
    let running = server.keystorm(&format!("{options} {command}")).start();
    let name = r#"set a"b\c v ; lpush a"b\c x"#;
    let seen = until(&running, "errors", |s| s.one("keystorm_errors_total", name) > 0.0);
    running.interrupt();
    running.wait().exits(130);
    let samples = seen.0["samples"].as_array().unwrap();
    let error = samples.iter().find(|s| s[1] == "keystorm_errors_total").unwrap();
    assert_eq!(error[2]["kind"], "WRONGTYPE");
    let requests = seen.one("keystorm_requests_total", name);
    let answered = seen.one("keystorm_service_time_seconds_count", name);
    assert_eq!(requests, answered + seen.one("keystorm_errors_total", name));
    assert!(seen.all("keystorm_requests_backlog", name).is_empty(), "a closed loop");
}

#[test]
fn a_taken_port_is_reported_before_any_load() {
    let server = Server::redis();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = taken.local_addr().unwrap();
    let ran = server.run(&format!("--metrics {at} -n 100 -q get k")).exits(1);
    ran.says(&format!("--metrics: {at} is in use"));
    assert!(server.counts().is_empty(), "{:?}", server.counts());
    server.run("--metrics nonsense -n 1 get k").exits(2).says("[::1]:9121");
    server.run("--metrics 0 -I -c 1").exits(2);
}

#[test]
fn a_body_that_is_announced_is_never_waited_for() {
    let server = Server::redis();
    let running = server.keystorm("--metrics 0 --rps 100 --duration 60 -c 1 -q get k").start();
    let url = url(&running);
    let mut open = Vec::new();
    for length in ["99999999999", "18446744073709551615", "18446744073709551616", "2000"] {
        for method in ["GET", "POST"] {
            let head = format!(
                "{method} /metrics HTTP/1.1\r\nHost: here\r\nContent-Length: {length}\r\n\r\n"
            );
            let mut stream = send(&url, head.as_bytes());
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            let status = if method == "GET" { "HTTP/1.1 200" } else { "HTTP/1.1 405" };
            assert!(answer.starts_with(status), "{method} {length}: {answer}");
            open.push(stream);
        }
    }
    until(&running, "load runs on", |s| s.one("keystorm_requests_total", "get k") > 0.0);
    running.interrupt();
    running.wait().exits(130);
}

#[test]
fn clients_that_neither_ask_nor_listen_keep_nobody_waiting() {
    let server = Server::redis();
    let running = server.keystorm("--metrics 0 --rps 100 --duration 60 -c 1 -q get k").start();
    let url = url(&running);
    until(&running, "load runs", |s| s.one("keystorm_requests_total", "get k") > 0.0);
    // More than are served at a time: half a head, and nothing at all.
    let mut open: Vec<TcpStream> = (0..150)
        .flat_map(|_| [send(&url, b"GET /metrics HTTP/1.1\r\nHost"), send(&url, b"")])
        .collect();
    // Answers that nobody takes.
    let asked = b"GET /metrics HTTP/1.1\r\n\r\n".repeat(2000);
    open.extend((0..8).map(|_| send(&url, &asked)));
    let seen = scrape(&running);
    assert!(seen.one("keystorm_requests_total", "get k") > 0.0, "{}", seen.0);
    // They are still there when the run ends.
    running.interrupt();
    running.wait().exits(130);
    drop(open);
}
