//! What rpc-perf tells of a run beside its windows, and takes: its admin port, its file of metrics, and its
//! rates.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use report::Record;
use serde_json::Value;

use crate::program::Process;
use crate::rpc_perf::File;
use crate::server::{Server, free_port};

#[test]
fn a_ramp_holds_each_of_its_rates() {
    let server = Server::redis();
    let ramp = "start = 10\nend = 35\nstep = 10\ninterval = 1\non_ramp_completion = 'mirror'";
    let file = File::from_port(server.port()).with("start", ramp).with("duration", "duration = 6");
    let keyspace = "nkeys = 9\nklen = 2\ncommands = [{ verb = 'get' }]";
    let plan = file.line(keyspace, "--print-plan").run().ok();
    let plan: Value = serde_json::from_str(&plan.out).unwrap();
    let stages = plan[0]["load"]["pace"]["open"]["stages"].as_array().unwrap();
    let rates: Vec<f64> =
        stages.iter().map(|stage| stage["from_per_s"].as_f64().unwrap()).collect();
    assert_eq!(rates, [10.0, 20.0, 30.0, 30.0, 20.0, 10.0]);
    assert!(stages[..5].iter().all(|stage| stage["lasts_ns"] == 1_000_000_000));
    // As 5.0 to 5.3 wrote it.
    let old = File::from_port(server.port())
        .with("[workload.ratelimit]", "ratelimit = 10000")
        .with("start", "");
    let plan = old.line(keyspace, "--print-plan").run().ok();
    assert!(plan.out.contains("\"from_per_s\": 10000.0"), "{}", plan.out);
}

#[test]
fn the_file_of_metrics_has_a_line_for_each_interval() {
    let server = Server::redis();
    let file = File::from_port(server.port());
    let path = file.path("metrics.json");
    let section =
        format!("[debug]\n[metrics]\noutput = '{path}'\nformat = 'json'\ninterval = '500ms'");
    let file = file.with("[debug]", &section).with("duration", "duration = 2");
    file.run("nkeys = 9\nklen = 2\ncommands = [{ verb = 'get' }]").ok();
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 4);
    let counter = |line: &Value, name: &str| {
        let counters = line["counters"].as_array().unwrap();
        counters.iter().find(|counter| counter["name"] == name).unwrap()["value"].as_u64().unwrap()
    };
    assert!(
        lines.windows(2).all(|two| counter(&two[0], "get/total") <= counter(&two[1], "get/total"))
    );
    assert!(counter(&lines[0], "client/connect/ok") > 0, "those of before the first line");
    let last = &lines[3];
    let latency = &last["histograms"][0];
    assert_eq!(latency["name"], "response_latency");
    let buckets = latency["value"]["buckets"].as_array().unwrap().iter();
    let sum: u64 = buckets.map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(sum, counter(last, "client/response/ok"));
}

#[test]
fn the_file_of_metrics_may_be_packed() {
    let server = Server::redis();
    let file = File::from_port(server.port());
    let path = file.path("metrics.msgpack");
    let section =
        format!("[debug]\n[metrics]\noutput = '{path}'\nformat = 'msgpack'\ninterval = '500ms'");
    let file = file.with("[debug]", &section).with("duration", "duration = 2");
    file.run(GET).ok();
    let packed = fs::read(&path).unwrap();
    assert_eq!(packed[..3], [0x95, 0x92, 0xce], "an array of five, of which the first is a time");
    let count = |what: &[u8]| packed.windows(what.len()).filter(|bytes| *bytes == what).count();
    assert_eq!(count(b"get/total"), 4, "one for each interval");
}

const GET: &str = "nkeys = 9\nklen = 2\ncommands = [{ verb = 'get' }]";

/// What an admin port answers: the status, and what follows the head.
pub(crate) fn ask(port: u16, request: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream
        .write_all(format!("{request} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n").as_bytes())
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

/// The families of a page of metrics and their types, as Prometheus's own client library reads them.
fn families(page: &str) -> BTreeMap<String, String> {
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/test-servers/python");
    assert!(library.is_dir(), "{}: `make setup-test` installs it", library.display());
    let script = "import sys\n\
                  from prometheus_client.parser import text_string_to_metric_families as read\n\
                  for family in read(sys.argv[1]): print(family.name, family.type)";
    let mut read = Command::new("python3");
    let read = read.args(["-c", script, page]).env("PYTHONPATH", library).output();
    let read = read.expect("python3, which `make setup-test` installs");
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    let read = String::from_utf8(read.stdout).unwrap();
    let family =
        |line: &str| line.split_once(' ').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    let all: Vec<(String, String)> = read.lines().map(family).collect();
    let count = all.len();
    let families: BTreeMap<String, String> = all.into_iter().collect();
    assert_eq!(families.len(), count, "each family once: {page}");
    families
}

#[test]
fn the_admin_port_tells_of_a_run_and_ends_it() {
    let server = Server::redis();
    let port = free_port();
    let file = lasting(&server, port);
    let keyspace = "nkeys = 9\nklen = 2\ncommands = [{ verb = 'get' }]";
    let running = file.line(keyspace, "").start();
    running.until("there is a window", |running| running.out().contains("Time-to-First-Byte"));
    let (status, json) = ask(port, "GET /vars.json");
    let vars: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(status, 200);
    assert!(vars["client/response/ok"].as_u64().unwrap() > 0, "{json}");
    assert_eq!(vars["ratelimit/current"], 200);
    // Of the last window, which is empty where a machine is busy enough.
    if let Some(p50) = vars["response_latency/p50"].as_u64() {
        assert!(p50 > 1000, "in nanoseconds: {json}");
    }
    assert!(ask(port, "GET /vars").1.contains("\n\"get/ok\": "));
    let (_, page) = ask(port, "GET /metrics");
    assert!(page.contains("# TYPE client_response_ok counter\nclient_response_ok "), "{page}");
    let families = families(&page);
    for (name, kind) in [
        ("client_response_ok", "counter"),
        ("ratelimit_current", "gauge"),
        ("response_latency", "gauge"),
        ("get_hit", "counter"),
    ] {
        assert_eq!(families[name], kind, "{page}");
    }
    assert_eq!(ask(port, "POST /quitquitquit").0, 200);
    let ran = running.wait().ok();
    assert_eq!(ran.err, "");
}

/// What is shown of a run's rate.
fn rate(port: u16) -> Value {
    let (_, vars) = ask(port, "GET /vars.json");
    serde_json::from_str::<Value>(&vars).unwrap()["ratelimit/current"].clone()
}

/// A file of a run with an admin port, which does not end by itself.
fn lasting(server: &Server, port: u16) -> File {
    File::from_port(server.port())
        .with("admin", &format!("admin = '127.0.0.1:{port}'"))
        .with("duration", "duration = 600")
}

/// A run of two threads at a rate, which does not end by itself.
struct RateLimitedRun {
    server: Server,
    port: u16,
    json: String,
    running: Process,
    file: File,
}

impl RateLimitedRun {
    fn at(rate: u32) -> Self {
        let server = Server::redis();
        server.reset();
        let port = free_port();
        let file = lasting(&server, port)
            .with("threads", "threads = 2")
            .with("start", &format!("start = {rate}"));
        let json = file.path("run.json");
        let running = file.line(GET, &format!("--ks-json {json}")).start();
        Self { server, port, json, running, file }
    }
}

#[test]
fn the_rate_changes_while_the_run_goes_on_in_all_its_threads() {
    let RateLimitedRun { server, port, json, running, file: _file } = RateLimitedRun::at(2);
    running.until("it sends", |_| server.calls("get") > 3);
    assert_eq!(ask(port, "PUT /ratelimit/3000"), (200, "3000 requests per second\n".to_owned()));
    // At the rate that it began with it would take half an hour.
    running.until("it sends more", |_| server.calls("get") > 4000);
    running.until("the rate is shown", |_| rate(port) == 3000);
    assert_eq!(ask(port, "PUT /ratelimit/1").0, 200);
    running.until("the rate is shown", |_| rate(port) == 1);
    ask(port, "POST /quitquitquit");
    running.wait().ok();
    let record = Record::from_json(&fs::read(&json).unwrap()).unwrap();
    let run = record.load().unwrap().runs.remove(0);
    let schedule = run.plan.load.pace.schedule().unwrap();
    let rates: Vec<f64> = schedule.stages.iter().map(|stage| stage.from_per_s).collect();
    assert_eq!(rates, [2.0, 3000.0, 1.0]);
    let lateness = run.measurement.total.lateness.as_ref().unwrap();
    let area = schedule.due_by(run.measurement.elapsed_ns);
    // The two threads end one after the other, and the warm-up may leave something.
    assert!((lateness.due as f64 - area).abs() < 5.0, "{} were due of {area}", lateness.due);
    let sent = lateness.total.count() as f64;
    let executed = server.calls("get") as f64;
    assert!((executed - sent - 2.0).abs() < 3.0, "{executed} executed of {sent}, and the warm-up");
}

#[test]
fn a_rate_of_0_is_no_limit_until_another_is_set() {
    let RateLimitedRun { server, port, json, running, file: _file } = RateLimitedRun::at(20);
    running.until("it sends", |_| server.calls("get") > 30);
    let (status, text) = ask(port, "PUT /ratelimit/0");
    assert_eq!((status, text.as_str()), (200, "no limit until another rate is set\n"));
    running.until("the rate is shown", |_| rate(port) == 0);
    // With the rate of before it would take minutes.
    let before = server.calls("get");
    running.until("it sends all it can", |_| server.calls("get") > before + 10_000);
    assert_eq!(ask(port, "PUT /ratelimit/30").0, 200);
    running.until("the rate is shown", |_| rate(port) == 30);
    ask(port, "POST /quitquitquit");
    running.wait().ok();
    let record = Record::from_json(&fs::read(&json).unwrap()).unwrap();
    let run = record.load().unwrap().runs.remove(0);
    let schedule = run.plan.load.pace.schedule().unwrap();
    let stages: Vec<_> = schedule.stages.iter().map(|s| (s.to_per_s, s.unlimited)).collect();
    assert_eq!(stages, [(20.0, false), (0.0, true), (30.0, false)]);
    let lateness = run.measurement.total.lateness.as_ref().unwrap();
    let (due, sent) = (lateness.due, lateness.total.count());
    assert!(due - sent < 5, "{due} due, {sent} sent");
    let executed = server.calls("get");
    assert!(executed.abs_diff(sent) < 50, "{executed} executed of {sent}, and the warm-up");
}

#[test]
fn a_ramp_goes_on_with_its_next_step_after_another_rate_was_set() {
    let server = Server::redis();
    let port = free_port();
    let ramp = "start = 100\nend = 200\nstep = 100\ninterval = 4\non_ramp_completion = 'loop'";
    let file = lasting(&server, port).with("start", ramp);
    let running = file.line(GET, "").start();
    running.until("there is a window", |running| running.out().contains("Window: 0"));
    // Asked again, where a step came between.
    running.until("the rate is shown", |_| {
        assert_eq!(ask(port, "PUT /ratelimit/5000").0, 200);
        rate(port) == 5000
    });
    running.until("its next step begins", |_| [100, 200].map(Value::from).contains(&rate(port)));
    ask(port, "POST /quitquitquit");
    running.wait().ok();
}

#[test]
fn a_run_without_a_rate_has_none_to_change() {
    let server = Server::redis();
    let port = free_port();
    let file = lasting(&server, port).with("start", "");
    let running = file.line(GET, "").start();
    running.until("there is a window", |running| running.out().contains("Window: 0"));
    for asked in ["PUT /ratelimit/0", "PUT /ratelimit/5000"] {
        assert_eq!(ask(port, asked).0, 404, "{asked}");
    }
    assert_eq!(rate(port), 0);
    ask(port, "POST /quitquitquit");
    running.wait().ok();
}

#[test]
fn several_clients_keep_the_rate_that_they_began_with() {
    let server = Server::redis();
    let port = free_port();
    let file = lasting(&server, port);
    let running = file.line(GET, "--ks-on local:2").start();
    running.until("there is a window", |running| running.out().contains("Window: 0"));
    let (status, why) = ask(port, "PUT /ratelimit/500");
    assert!(status == 501 && why.contains("--ks-on"), "{status} {why}");
    assert_eq!(rate(port), 200);
    ask(port, "POST /quitquitquit");
    running.wait().ok();
}
