//! `keystorm ycsb`: what its command lines send, asked of the server, and what they print.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use wire::resp::Value;

use crate::cluster::Cluster;
use crate::memtier_retries::refused;
use crate::program::{Keystorm, RunOutput};
use crate::server::Server;

/// The key of record 0, and its place in the index.
pub(crate) const KEY_0: &str = "user6284781860667377211";
pub(crate) const SCORE_0: &str = "-594971599";

/// Runs against a server, in whose place the host and the port stand.
pub(crate) fn ycsb(server: &Server, phase: &str, rest: &str) -> RunOutput {
    line(server, phase, rest).run()
}

pub(crate) fn line(server: &Server, phase: &str, rest: &str) -> Keystorm {
    let port = server.port();
    Keystorm::new(&format!(
        "ycsb {phase} redis -p redis.host=127.0.0.1 -p redis.port={port} {rest}"
    ))
}

/// The figures of a report, by section and measure.
pub(crate) fn figures(report: &str) -> BTreeMap<(String, String), String> {
    let read = |line: &str| {
        let mut words = line.splitn(3, ", ");
        let name = words.next()?.strip_prefix('[')?.strip_suffix(']')?;
        Some(((name.to_owned(), words.next()?.to_owned()), words.next()?.to_owned()))
    };
    report.lines().filter_map(read).collect()
}

pub(crate) fn count(report: &str, section: &str, measure: &str) -> u64 {
    let of = (section.to_owned(), measure.to_owned());
    figures(report).get(&of).map_or(0, |value| value.parse().unwrap())
}

/// The sections of a report, in its order.
pub(crate) fn sections(report: &str) -> Vec<&str> {
    let names = report.lines().filter_map(|line| line.strip_prefix('[')?.split(']').next());
    let mut all: Vec<&str> = names.collect();
    all.dedup();
    all
}

#[test]
fn a_load_writes_every_record_once_with_its_place_in_the_index() {
    let server = Server::redis();
    let ran = ycsb(&server, "load", "-P workloads/workloada -p recordcount=100 -threads 3").ok();
    assert_eq!((server.calls("hmset"), server.calls("zadd")), (100, 100));
    assert_eq!(server.number(&["DBSIZE"]), 101);
    assert_eq!(server.text(&["ZSCORE", "_indices", KEY_0]), SCORE_0);
    assert_eq!(server.number(&["ZCARD", "_indices"]), 100);
    let fields = server.texts(&["HGETALL", KEY_0]);
    let names: BTreeSet<&str> = fields.iter().step_by(2).map(String::as_str).collect();
    assert_eq!(names.len(), 10);
    assert!(names.contains("field0") && names.contains("field9"));
    assert!(fields.iter().skip(1).step_by(2).all(|value| value.len() == 100));
    assert_eq!(
        sections(&ran.out),
        ["OVERALL", "TOTAL_GCs", "TOTAL_GC_TIME", "TOTAL_GC_TIME_%", "CLEANUP", "INSERT"]
    );
    assert_eq!(count(&ran.out, "INSERT", "Operations"), 100);
    assert_eq!(count(&ran.out, "INSERT", "Return=OK"), 100);
    assert_eq!(count(&ran.out, "CLEANUP", "Operations"), 3);
    for part in
        ["Command line: load redis", "YCSB Client ", "Loading workload...", "Starting test."]
    {
        assert!(ran.err.contains(part), "{part}: {}", ran.err);
    }
}

#[test]
fn keys_are_ordered_and_padded_where_that_is_asked_for() {
    let server = Server::redis();
    let load = "-P workloads/workloada -p insertstart=5 -p insertcount=1 -p fieldcount=1";
    for (properties, key) in [
        ("-p insertorder=ordered -p zeropadding=8", "user00000005"),
        ("-p insertorder=Hashed", "user5"),
        ("-p insertorder=hashed -p zeropadding=25", "user0000001000385178204227360"),
    ] {
        server.reset();
        ycsb(&server, "load", &format!("{load} {properties}")).ok();
        let keys: Vec<String> = server.keys().into_iter().filter(|k| k != "_indices").collect();
        // Padding is of the number behind "user".
        let short = |key: &str| key.trim_start_matches("user").trim_start_matches('0').to_owned();
        assert_eq!(keys.iter().map(|k| short(k)).collect::<Vec<_>>(), [short(key)], "{properties}");
        if !properties.contains("=hashed") {
            assert_eq!(keys, [key]);
        } else {
            assert_eq!(keys[0].len(), 4 + 25);
        }
    }
}

#[test]
fn the_mixes_of_the_six_workloads_are_carried_out() {
    let server = Server::redis();
    let small =
        "-p recordcount=200 -p operationcount=2000 -p fieldcount=2 -p fieldlength=8 -threads 4";
    for (name, expected) in [
        ("workloada", [0.5, 0.5, 0.0, 0.0, 0.0]),
        ("workloadb", [0.95, 0.05, 0.0, 0.0, 0.0]),
        ("workloadc", [1.0, 0.0, 0.0, 0.0, 0.0]),
        ("workloadd", [0.95, 0.0, 0.05, 0.0, 0.0]),
        ("workloade", [0.0, 0.0, 0.05, 0.95, 0.0]),
        ("workloadf", [1.0, 0.5, 0.0, 0.0, 0.5]),
    ] {
        server.reset();
        ycsb(&server, "load", &format!("-P workloads/{name} {small}")).ok();
        server.ask(&["CONFIG", "RESETSTAT"]);
        let ran = ycsb(&server, "run", &format!("-P workloads/{name} {small}")).ok();
        let kinds = ["READ", "UPDATE", "INSERT", "SCAN", "READ-MODIFY-WRITE"];
        for (kind, part) in kinds.into_iter().zip(expected) {
            let seen = count(&ran.out, kind, "Operations") as f64 / 2000.0;
            // Five standard deviations of a draw of one half are 0.056.
            assert!((seen - part).abs() < 0.06, "{name} {kind}: {seen}");
        }
        let sent = server.counts();
        let of = |command: &str| sent.get(command).copied().unwrap_or(0);
        let describe = |kind: &str| count(&ran.out, kind, "Operations");
        if name != "workloade" {
            assert_eq!(of("hgetall"), describe("READ"), "{name}");
        }
        assert_eq!(of("hmset"), describe("UPDATE") + describe("INSERT"), "{name}");
        assert_eq!(
            (of("zadd"), of("zrangebyscore")),
            (describe("INSERT"), describe("SCAN")),
            "{name}"
        );
        let inserted = describe("INSERT") as i64;
        assert_eq!(server.number(&["ZCARD", "_indices"]), 200 + inserted, "{name}");
        assert_eq!(count(&ran.out, "READ-FAILED", "Operations"), 0, "no read of what is not there");
    }
}

#[test]
fn a_scan_reads_what_the_index_lists_and_stops_where_it_ends() {
    let server = Server::redis();
    let small = "-P workloads/workloade -p recordcount=20 -p fieldcount=1 -p insertproportion=0 \
                 -p scanproportion=1 -p operationcount=300";
    ycsb(&server, "load", small).ok();
    server.ask(&["CONFIG", "RESETSTAT"]);
    let ran = ycsb(&server, "run", &format!("{small} -p minscanlength=5 -p maxscanlength=5")).ok();
    assert_eq!(count(&ran.out, "SCAN", "Return=OK"), 300);
    let reads = server.calls("hgetall");
    assert!((300..=1500).contains(&reads), "{reads}");
    assert!(reads > 900, "most scans find five: {reads}");
    server.reset();
    let none = ycsb(&server, "run", small).ok();
    assert_eq!((count(&none.out, "SCAN", "Return=OK"), server.calls("hgetall")), (300, 0));
}

#[test]
fn a_record_that_is_not_there_is_a_failed_read_of_all_and_none_of_some() {
    let server = Server::redis();
    let run = "-P workloads/workloadc -p recordcount=10 -p operationcount=50";
    let ran = ycsb(&server, "run", run).ok();
    assert_eq!(count(&ran.out, "READ", "Operations"), 0);
    assert_eq!(count(&ran.out, "READ", "Return=ERROR"), 50);
    assert_eq!(count(&ran.out, "READ-FAILED", "Operations"), 50);
    assert_eq!(sections(&ran.out)[4..], ["READ", "CLEANUP", "READ-FAILED"]);
    let some = ycsb(&server, "run", &format!("{run} -p readallfields=false")).ok();
    assert_eq!(count(&some.out, "READ", "Return=OK"), 50);
    assert_eq!(server.calls("hmget"), 50);
    let by_status = ycsb(&server, "run", &format!("{run} -p reportlatencyforeacherror=TRUE")).ok();
    assert_eq!(count(&by_status.out, "READ-ERROR", "Operations"), 50);
}

#[test]
fn updates_write_one_field_or_all() {
    let server = Server::redis();
    let run = "-P workloads/workloada -p recordcount=1 -p operationcount=60 -p readproportion=0 \
               -p updateproportion=1 -p fieldlength=5 -p requestdistribution=uniform";
    ycsb(&server, "run", run).ok();
    let fields = server.number(&["HLEN", KEY_0]);
    assert!((5..=10).contains(&fields), "each update one of ten: {fields}");
    assert_eq!(server.number(&["EXISTS", "_indices"]), 0, "an update enters no record");
    server.reset();
    ycsb(&server, "run", &format!("{run} -p writeallfields=true -p operationcount=1")).ok();
    assert_eq!(server.number(&["HLEN", KEY_0]), 10);
}

#[test]
fn checked_values_are_checked() {
    let server = Server::redis();
    let line = "-P workloads/workloadc -p recordcount=20 -p operationcount=100 -p dataintegrity=true \
                -p requestdistribution=sequential";
    let load = ycsb(&server, "load", line).ok();
    assert!(load.out.starts_with("Data integrity is enabled.\n"), "{}", load.out);
    let value = server.text(&["HGET", KEY_0, "field0"]);
    assert!(value.starts_with("user6284781860667377211:field0:-56807877:2032869390:"), "{value}");
    let good = ycsb(&server, "run", line).ok();
    assert_eq!(count(&good.out, "VERIFY", "Return=OK"), 100);
    server.ask(&["HSET", KEY_0, "field0", &value.replace(":-10", ":-11")]);
    let bad = ycsb(&server, "run", line).exits(1);
    assert_eq!(count(&bad.out, "VERIFY", "Return=UNEXPECTED_STATE"), 5);
    assert_eq!(count(&bad.out, "VERIFY", "Return=OK"), 95);
    assert_eq!(count(&bad.out, "READ", "Return=OK"), 100);
    for more in ["-p readallfields=false", "-p readallfieldsbyname=true"] {
        let ran = ycsb(&server, "run", &format!("{line} {more}")).out;
        assert!(count(&ran, "VERIFY", "Return=OK") >= 95, "{more}: {ran}");
    }
}

#[test]
fn percentiles_exporters_and_intervals_are_those_asked_for() {
    let server = Server::redis();
    let run = "-P workloads/workloada -p recordcount=10 -p operationcount=200";
    ycsb(&server, "load", run).ok();
    let ran =
        ycsb(&server, "run", &format!("{run} -p hdrhistogram.percentiles=50,90,99.9,99.99")).ok();
    for label in ["50th", "90th", "99.9", "99.99"] {
        assert!(
            ran.out.contains(&format!("[READ], {label}PercentileLatency(us), ")),
            "{}",
            ran.out
        );
    }
    let both =
        ycsb(&server, "run", &format!("{run} -p measurement.interval=both -target 1000")).ok();
    let names = sections(&both.out);
    let [read, intended] =
        ["READ", "Intended-READ"].map(|name| names.iter().position(|n| *n == name));
    assert!(read < intended && intended.is_some(), "{names:?}");
    assert_eq!(names[names.len() - 3..], ["Intended-READ", "Intended-CLEANUP", "Intended-UPDATE"]);
    assert!(!both.out.contains("[Intended-READ], Return="));
    let plain = ycsb(&server, "run", &format!("{run} -p measurement.interval=both")).ok();
    let all = figures(&plain.out);
    for ((section, measure), value) in &all {
        if let Some(of) = section.strip_prefix("Intended-") {
            assert_eq!(all[&(of.to_owned(), measure.clone())], *value, "{section} {measure}");
        }
    }
    let buckets = ycsb(&server, "run", &format!(
        "{run} -p measurementtype=histogram -p histogram.buckets=3 -p measurement.histogram.verbose=true"
    )).ok();
    let total: u64 = ["0", "1", "2", ">3"].map(|m| count(&buckets.out, "READ", m)).iter().sum();
    assert_eq!(total, count(&buckets.out, "READ", "Operations"));
    assert!(buckets.out.contains("[READ], LatencyVariance(us), "));
}

#[test]
fn averages_over_time_are_reported_where_they_are_measured() {
    let server = Server::redis();
    let run = "-P workloads/workloadc -p recordcount=10 -p operationcount=300 -target 300 -s \
               -p measurementtype=timeseries";
    ycsb(&server, "load", run).ok();
    let ran = ycsb(&server, "run", &format!("{run} -p timeseries.granularity=250")).ok();
    let reads: Vec<&str> =
        ran.out.lines().filter_map(|line| line.strip_prefix("[READ], ")).collect();
    let names: Vec<&str> = reads.iter().map(|line| line.split_once(", ").unwrap().0).collect();
    let head =
        ["Operations", "AverageLatency(us)", "MinLatency(us)", "MaxLatency(us)", "Return=OK"];
    assert_eq!(names[..5], head);
    let starts: Vec<u64> = names[5..].iter().map(|name| name.parse().unwrap()).collect();
    assert!(starts.len() > 2 && starts.is_sorted(), "{starts:?}");
    assert!(starts.iter().all(|start| start.is_multiple_of(250)), "{starts:?}");
    let averages = reads[5..].iter().map(|line| line.split_once(", ").unwrap().1.parse::<f64>());
    assert!(averages.flatten().all(|average| average > 0.0), "{reads:?}");
    // Its status lines appear twice, as in YCSB.
    let status = |text: &str| text.lines().filter(|line| line.contains(" sec: ")).count();
    assert!(status(&ran.out) >= 2 && status(&ran.out) == status(&ran.err), "{}", ran.out);
    let odd = ycsb(&server, "run", &format!("{run} -p timeseries.granularity=100")).exits(2);
    odd.says("must be a multiple of");
}

#[test]
fn reports_and_logs_go_to_the_files_that_are_named() {
    let server = Server::redis();
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).display().to_string();
    let run = "-P workloads/workloada -p recordcount=10 -p operationcount=200";
    ycsb(&server, "load", run).ok();
    let export = |exporter: &str, file: &str| {
        let name = "site.ycsb.measurements.exporter";
        let more = format!("-p exporter={name}.{exporter} -p exportfile={}", at(file));
        let ran = ycsb(&server, "run", &format!("{run} {more}")).ok();
        assert_eq!(ran.out, "");
        fs::read_to_string(dir.path().join(file)).unwrap()
    };
    let array: serde_json::Value =
        serde_json::from_str(&export("JSONArrayMeasurementsExporter", "array")).unwrap();
    let first = &array[0];
    assert_eq!(
        (&first["metric"], &first["measurement"]),
        (&"OVERALL".into(), &"RunTime(ms)".into())
    );
    let stream = export("JSONMeasurementsExporter", "stream");
    assert!(
        stream
            .starts_with("{\n  \"metric\" : \"OVERALL\",\n  \"measurement\" : \"RunTime(ms)\",\n")
    );
    let objects = serde_json::Deserializer::from_str(&stream).into_iter::<serde_json::Value>();
    assert_eq!(objects.map(Result::unwrap).count(), array.as_array().unwrap().len());

    let logs =
        format!("-p hdrhistogram.fileoutput=true -p hdrhistogram.output.path={}", at("run-"));
    let ran = ycsb(&server, "run", &format!("{run} {logs} -s")).ok();
    let log = fs::read(at("run-READ.hdr")).unwrap();
    let text = String::from_utf8_lossy(&log);
    assert!(text.starts_with("#[Logging for: READ]\n#[Histogram log format version 1."), "{text}");
    assert_eq!(logged(&log), count(&ran.out, "READ", "Operations"));
    assert!(fs::exists(at("run-CLEANUP.hdr")).unwrap());
}

#[test]
fn several_clients_load_and_run_as_one() {
    let server = Server::redis();
    let dir = tempfile::tempdir().unwrap();
    let line = format!(
        "-P workloads/workloadd -p recordcount=100 -p operationcount=400 -p fieldcount=1 -threads 4 \
         --ks-on local:2 -p hdrhistogram.fileoutput=true -p hdrhistogram.output.path={}/",
        dir.path().display()
    );
    ycsb(&server, "load", &line).ok();
    assert_eq!(server.number(&["ZCARD", "_indices"]), 100);
    let ran = ycsb(&server, "run", &line).ok();
    let (reads, inserts) =
        (count(&ran.out, "READ", "Return=OK"), count(&ran.out, "INSERT", "Return=OK"));
    assert_eq!(reads + inserts, 400, "{}", ran.out);
    assert_eq!(server.number(&["ZCARD", "_indices"]), 100 + inserts as i64);
    assert_eq!(logged(&fs::read(dir.path().join("READ.hdr")).unwrap()), reads);
}

/// How many values a log of histograms has.
fn logged(log: &[u8]) -> u64 {
    use base64::Engine as _;
    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
    let mut all = 0;
    for entry in IntervalLogIterator::new(log) {
        let LogEntry::Interval(line) = entry.unwrap() else { continue };
        let bytes = base64::engine::general_purpose::STANDARD.decode(line.encoded_histogram());
        let histogram: hdrhistogram::Histogram<u64> =
            Deserializer::new().deserialize(&mut bytes.unwrap().as_slice()).unwrap();
        all += histogram.len();
    }
    all
}

#[test]
fn status_lines_begin_at_0_seconds_and_end_with_the_run() {
    let server = Server::redis();
    let run = "-P workloads/workloadc -p recordcount=10 -p operationcount=200 -l lab: -s";
    let ran = ycsb(&server, "run", run).ok();
    let lines: Vec<&str> = ran.err.lines().filter(|line| line.starts_with("lab:2")).collect();
    assert!(lines[0].contains(" 0 sec: 0 operations; "), "{}", ran.err);
    let last = lines.last().unwrap();
    assert!(last.contains(" 200 operations; ") && last.contains(" current ops/sec; "), "{last}");
    assert!(last.contains("[READ-FAILED: Count=200, Max=") && !last.contains(", 50="), "{last}");
    assert!(!ran.out.contains("50th"), "{}", ran.out);
}

#[test]
fn a_target_is_a_schedule_and_a_time_an_end() {
    let server = Server::redis();
    let run = "-P workloads/workloadc -p recordcount=10 -p operationcount=300 -target 1000";
    let ran = ycsb(&server, "run", run).ok();
    assert!(count(&ran.out, "OVERALL", "RunTime(ms)") >= 290, "{}", ran.out);
    let long = "-P workloads/workloadc -p recordcount=10 -p operationcount=1000000000 \
                -p maxexecutiontime=1";
    let ended = ycsb(&server, "run", long).ok();
    assert!(ended.err.contains("Maximum execution time specified as: 1 secs"), "{}", ended.err);
    assert!(count(&ended.out, "READ-FAILED", "Operations") < 1_000_000_000);
    let timed = "-P workloads/workloadc -p requestdistribution=uniform -p recordcount=10 \
                 -p operationcount=0 -p maxexecutiontime=1";
    ycsb(&server, "run", timed).ok();
}

#[test]
fn on_a_cluster_every_command_goes_to_the_node_that_has_its_key() {
    let cluster = Cluster::new(3, 0, &[]);
    let line = "-P workloads/workloade -p recordcount=60 -p operationcount=60 -p fieldcount=1 \
                -p redis.cluster=true";
    ycsb(&cluster.masters()[0], "load", line).ok();
    let dir = tempfile::tempdir().unwrap();
    let json = dir.path().join("run.json");
    let ran =
        ycsb(&cluster.masters()[0], "run", &format!("{line} --ks-json {}", json.display())).ok();
    let (scans, inserts) =
        (count(&ran.out, "SCAN", "Return=OK"), count(&ran.out, "INSERT", "Return=OK"));
    assert_eq!(scans + inserts, 60, "{}", ran.out);
    // The index lies on one of them, and what a scan lists is asked of all.
    let of = |command: &str| cluster.calls(command);
    assert_eq!(of("zadd").iter().filter(|n| **n > 0).count(), 1);
    assert_eq!(of("zadd").iter().sum::<u64>(), 60 + inserts);
    assert!(of("hgetall").iter().all(|n| *n > 0), "{:?}", of("hgetall"));
    let saved: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
    let nodes = saved["tests"][0]["nodes"].as_array().unwrap();
    assert!(nodes.iter().all(|node| node["moved"] == 0), "{nodes:?}");
}

#[test]
fn a_wrong_type_is_a_failed_operation_and_the_report_survives() {
    let server = Server::redis();
    server.ask(&["SET", KEY_0, "x"]);
    let run = "-P workloads/workloadc -p recordcount=1 -p operationcount=20 \
               -p requestdistribution=uniform";
    let ran = ycsb(&server, "run", run).ok();
    assert_eq!(count(&ran.out, "READ", "Return=ERROR"), 20);
    assert_eq!(count(&ran.out, "READ-FAILED", "Operations"), 20);
    assert!(matches!(server.ask(&["GET", KEY_0]), Value::Bulk(_)));
}

#[test]
fn an_insert_of_a_load_is_retried_as_often_as_asked() {
    let server = Server::redis();
    server.ask(&["CONFIG", "SET", "maxmemory", "1"]);
    let load = "-P workloads/workloada -p recordcount=10 -p core_workload_insertion_retry_limit=100 \
                -p core_workload_insertion_retry_interval=1";
    let running = line(&server, "load", load).start();
    running.until("inserts are refused", |_| refused(&server) > 1);
    server.ask(&["CONFIG", "SET", "maxmemory", "0"]);
    let ran = running.wait().ok();
    assert_eq!((server.calls("hmset"), server.number(&["ZCARD", "_indices"])), (10, 10));
    assert_eq!(count(&ran.out, "INSERT", "Return=OK"), 10);
    assert!(!ran.out.contains("INSERT-FAILED"), "{}", ran.out);
}
