//! Results that are kept: `--json`, `--hdr`, and that what is kept is valid, whole and true.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use serde_json::Value;
use tempfile::TempDir;

use crate::program::Keystorm;
use crate::server::{Server, calls};

/// A file in a directory of its own.
pub(crate) fn place() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("run.json");
    (dir, file)
}

pub(crate) fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

const RUN: &str = "keystorm.run.1.json";

/// What one of keystorm's schemas finds wrong with a document, if anything.
fn faults(schema_name: &str, document: &Value) -> Option<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema").join(schema_name);
    let (mut schemas, mut compiler) = (boon::Schemas::new(), boon::Compiler::new());
    compiler.add_resource("schema.json", json(&path)).unwrap();
    let schema = compiler.compile("schema.json", &mut schemas).unwrap();
    schemas.validate(document, schema).err().map(|faults| format!("{faults:#}"))
}

#[track_caller]
pub(crate) fn valid_by(schema_name: &str, document: &Value) {
    assert_eq!(faults(schema_name, document), None);
}

#[track_caller]
pub(crate) fn valid(document: &Value) {
    valid_by(RUN, document);
}

#[test]
fn what_is_kept_follows_the_schema_and_the_server() {
    let server = Server::redis();
    let (dir, file) = place();
    let secret = "-a hunter2 --user default";
    server.ask(&["ACL", "SETUSER", "default", ">hunter2"]);
    let shapes = [
        "-n 3000 -t set,get,lrange_100 -q",
        "-n 2000 --rps 4000 --first-byte --threads 2 -q get k",
        "-n 200 --on-error count -q incr __rand_int__ ';' lpush x y ';' incr x",
        "-n 100 -q set k \u{202e}\u{9b}x",
    ];
    for shape in shapes {
        server.run(&format!("--json {} {secret} {shape}", file.display())).ok();
        let document = json(&file);
        valid(&document);
        assert_eq!(document["complete"], true, "{shape}");
        let text = fs::read_to_string(&file).unwrap();
        assert!(!text.contains("hunter2"));
        assert!(!text.chars().any(|c| c.is_control() && c != '\n') && !text.contains('\u{202e}'));
        assert!(document["host"]["kernel"].is_string(), "{}", document["host"]);
        assert_eq!(document["server"]["product"], "redis");
        for test in document["tests"].as_array().unwrap() {
            let points = test["timeline"].as_array().unwrap().iter();
            let requests: u64 = points.map(|p| p["requests"].as_u64().unwrap()).sum();
            assert_eq!(requests, test["requests"].as_u64().unwrap());
        }
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 1, "nothing is left beside the file");
    }
    server.run(&format!("{secret} --json {} -n 200 -t set -q", file.display())).ok();
    assert_eq!(json(&file)["tests"][0]["requests"], 200);
    server.reset();
    let errors = format!("{secret} --json {} -n 300 --on-error count -q no-such", file.display());
    server.run(&errors).ok();
    let test = &json(&file)["tests"][0];
    assert_eq!(test["errors"]["total"], 300);
    assert_eq!(test["errors"]["by_kind"]["ERR"], 300);
    assert_eq!(test["latency_ms"]["service"]["p50"], Value::Null);
}

#[test]
fn the_schema_refuses_what_is_wrong() {
    let server = Server::redis();
    let ran = server.run("--json - -n 200 get k").ok();
    let good: Value = serde_json::from_str(&ran.out).unwrap();
    valid(&good);
    let changes: [(&str, Value); 8] = [
        ("/schema", "keystorm.run/2".into()),
        ("/tests/0/requests", (-1).into()),
        ("/tests/0/requests", "200".into()),
        ("/tests/0/started_at", "yesterday".into()),
        ("/tests/0/verdict/limited_by", "weather".into()),
        ("/tests/0/ending", "well".into()),
        ("/tests/0/latency_ms/response/histogram", "??".into()),
        ("/tests/0/latency_ms/response", Value::Null),
    ];
    for (at, wrong) in changes {
        let mut document = good.clone();
        *document.pointer_mut(at).unwrap() = wrong;
        assert!(faults(RUN, &document).is_some(), "{at}");
    }
    let mut document = good.clone();
    document["tests"][0].as_object_mut().unwrap().remove("timeline");
    assert!(faults(RUN, &document).is_some());
}

#[test]
fn each_test_is_kept_as_soon_as_it_has_ended() {
    let server = Server::redis();
    let (_dir, file) = place();
    let line = format!("--json {} -t set,get,incr -n 20000 --rps 20000 -q", file.display());
    let running = server.keystorm(&line).start();
    running.until("is in its second test", |r| r.out().contains("SET: "));
    let document = fs::read(&file).unwrap();
    // Before anything that takes time: the second test lasts a second.
    running.interrupt();
    running.wait().exits(130);
    let document: Value = serde_json::from_slice(&document).unwrap();
    valid(&document);
    assert_eq!(
        (&document["complete"], &document["tests"][0]["name"]),
        (&false.into(), &"SET".into())
    );
    let document = json(&file);
    valid(&document);
    assert_eq!(document["complete"], false);
    assert_eq!(document["tests"][1]["ending"], "interrupted");
}

#[test]
fn a_run_that_fails_is_kept_with_its_reason() {
    let mut server = Server::redis();
    let (_dir, file) = place();
    let line = format!("--json {} --duration 30 --reconnect no -q incr k", file.display());
    let running = server.keystorm(&line).start();
    running.until("load runs", |_| server.calls("incr") > 200);
    server.kill();
    running.wait().exits(1);
    let document = json(&file);
    valid(&document);
    let test = &document["tests"][0];
    assert!(
        test["ending"]["failed"]["text"].as_str().unwrap().contains(&server.port().to_string()),
        "{test}"
    );
    assert!(test["requests"].as_u64().unwrap() > 100);
}

#[test]
fn what_cannot_be_written_is_reported_before_any_load() {
    let server = Server::redis();
    let (dir, file) = place();
    for option in ["--json", "--hdr"] {
        let missing = dir.path().join("no/such");
        let ran = server.run(&format!("{option} {} -n 10 -q get k", missing.display())).exits(1);
        ran.says(option).says("no/such").says("No such file or directory");
        let ran = server.run(&format!("{option} {} -n 10 -q get k", dir.path().display())).exits(1);
        ran.says("directory");
    }
    for line in ["--hdr -", "--json - -q", "--json - --csv", "-I --json f", "-I --hdr f"] {
        server.run(&format!("{line} -n 10 get k")).exits(2);
    }
    assert_eq!(server.counts(), calls([]));
    server.run("--json /dev/null --hdr /dev/null -n 10 -q get k").ok();
    // A new file is as readable as any other.
    server.run(&format!("--json {} -n 10 -q get k", file.display())).ok();
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o600, 0o600);
}

#[test]
fn a_document_on_standard_output_is_all_there_is() {
    let server = Server::redis();
    for line in ["--json -", "--format json"] {
        let ran = server.run(&format!("{line} -n 500 -t set,get")).ok();
        let document: Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!(document["tests"].as_array().unwrap().len(), 2);
    }
    server.reset();
    let running = server.keystorm("--format json --duration 30 get k").start();
    running.until("load runs", |_| server.calls("get") > 200);
    running.interrupt();
    let document: Value = serde_json::from_str(&running.wait().exits(130).out).unwrap();
    assert_eq!(document["tests"][0]["ending"], "interrupted");
}

#[test]
fn the_histogram_log_has_every_reply_by_test() {
    let server = Server::redis();
    let (dir, _) = place();
    let file = dir.path().join("run.hlog");
    let line = format!("--hdr {} -n 3000 --rps 4000 -q -t set,lrange_100", file.display());
    server.run(&line).ok();
    let bytes = fs::read(&file).unwrap();
    let (mut replies, mut tags, mut last) = (0, Vec::new(), Duration::ZERO);
    for entry in IntervalLogIterator::new(&bytes) {
        let LogEntry::Interval(line) = entry.unwrap() else { continue };
        let tag = line.tag().unwrap().as_str().to_owned();
        if tags.last() != Some(&tag) {
            tags.push(tag);
        }
        assert!(line.start_timestamp() >= last && line.duration() <= Duration::from_millis(250));
        last = line.start_timestamp();
        replies += decoded(line.encoded_histogram());
    }
    assert_eq!(replies, 9000);
    let lrange = "LRANGE_100_(first_100_elements)";
    assert_eq!(tags, ["SET", "LPUSH_(needed_to_benchmark_LRANGE)", lrange]);
}

/// How many values a histogram of the log holds.
fn decoded(base64: &str) -> u64 {
    use base64::Engine as _;
    let bytes = base64::engine::general_purpose::STANDARD.decode(base64).unwrap();
    let mut deserializer = hdrhistogram::serialization::Deserializer::new();
    let histogram: hdrhistogram::Histogram<u64> =
        deserializer.deserialize(&mut bytes.as_slice()).unwrap();
    histogram.len()
}

#[test]
fn repeated_tests_keep_the_newest_of_each() {
    let server = Server::redis();
    let (_dir, file) = place();
    let running =
        server.keystorm(&format!("--json {} -l -n 2000 -t set,get -q", file.display())).start();
    running.until("is in its third round", |r| r.out().matches("GET: ").count() >= 2);
    running.interrupt();
    running.wait().exits(130);
    let document = json(&file);
    valid(&document);
    assert_eq!(document["tests"].as_array().unwrap().len(), 2);
}

#[test]
fn the_help_of_show_and_merge_is_complete() {
    for word in ["show", "merge"] {
        let help = Keystorm::new(&format!("{word} --help")).run().ok().out;
        assert!(help.lines().all(|line| line.chars().count() <= 100));
        assert!(help.contains("--format") && help.contains("\nExample"), "{help}");
    }
}
