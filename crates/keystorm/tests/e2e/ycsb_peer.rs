//! Beside YCSB's own client: the same keys, proportions, lines and exports.
//!
//! Its core is fetched by `make setup-test`; its binding prints every operation. Where it or Java is not
//! there, checks are skipped by name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::real_clock::lacking;
use crate::server::Server;
use crate::ycsb::{count, figures, line, ycsb};

/// The folder of its jars.
fn jars() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    target.join("test-servers/ycsb")
}

/// What its client prints; `None` where it is not there.
pub(crate) fn client(check: &str, phase: &str, properties: &str) -> Option<(String, String)> {
    let jars = jars();
    if !jars.join("core.jar").exists() {
        lacking(
            check,
            "YCSB's core is not in target/test-servers/ycsb; make setup-test fetches it",
        );
        return None;
    }
    let mut command = Command::new("java");
    command.arg("-cp").arg(jars.join("*")).args(["site.ycsb.Client", phase]);
    command.args(shell_words::split(properties).unwrap());
    let Ok(ran) = command.output() else {
        lacking(check, "there is no java");
        return None;
    };
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Some((text(ran.stdout), text(ran.stderr)))
}

pub(crate) const CORE: &str = "-p workload=site.ycsb.workloads.CoreWorkload";

/// The keys of its operations of a kind, and how often each came.
fn keys(out: &str, kind: &str) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for line in out.lines() {
        let mut words = line.split(' ');
        if words.next() == Some(kind) && words.next() == Some("usertable") {
            *counts.entry(words.next().unwrap().to_owned()).or_default() += 1;
        }
    }
    counts
}

#[test]
fn both_load_the_same_keys() {
    let server = Server::redis();
    for (name, properties) in [
        ("hashed", "-p recordcount=300"),
        ("from a record on", "-p recordcount=20 -p insertstart=5"),
        ("behind all", "-p recordcount=20 -p insertstart=100"),
        ("a window", "-p recordcount=300 -p insertstart=100 -p insertcount=50"),
        ("padded", "-p recordcount=30 -p insertorder=ordered -p zeropadding=9"),
        ("hashed and padded", "-p recordcount=30 -p zeropadding=25"),
    ] {
        let properties = format!("{CORE} {properties} -p fieldcount=1 -p fieldlength=10");
        let verbose = format!("{properties} -p basicdb.verbose=true");
        let Some((out, _)) = client("YCSB's keys", "-load", &verbose) else { return };
        let theirs: Vec<String> = keys(&out, "INSERT").into_keys().collect();
        server.reset();
        ycsb(&server, "load", &properties).ok();
        let ours: Vec<String> = server.keys().into_iter().filter(|key| key != "_indices").collect();
        assert_eq!(ours, theirs, "{name}");
    }
}

#[test]
fn both_draw_the_same_keys_as_often() {
    let server = Server::redis();
    for chooser in ["zipfian", "latest", "uniform", "hotspot", "exponential", "sequential"] {
        let properties = format!(
            "{CORE} -p recordcount=50 -p operationcount=20000 -p readproportion=0 -p updateproportion=1 \
             -p requestdistribution={chooser} -p fieldcount=1 -p fieldlength=1"
        );
        let verbose = format!("{properties} -p basicdb.verbose=true");
        let Some((out, _)) = client("YCSB's choosers", "-t", &verbose) else { return };
        let theirs = keys(&out, "UPDATE");
        server.reset();
        // A hash of a field drawn has no count of its writes; a log of commands does.
        server.ask(&["CONFIG", "SET", "slowlog-log-slower-than", "0"]);
        server.ask(&["CONFIG", "SET", "slowlog-max-len", "100000"]);
        server.ask(&["SLOWLOG", "RESET"]);
        ycsb(&server, "run", &properties).ok();
        let ours = updated(&server);
        server.ask(&["CONFIG", "SET", "slowlog-log-slower-than", "-1"]);
        let seen = |counts: &BTreeMap<String, u64>| counts.values().sum::<u64>();
        assert_eq!((seen(&theirs), seen(&ours)), (20_000, 20_000), "{chooser}");
        for key in theirs.keys().chain(ours.keys()) {
            let [a, b] = [&theirs, &ours].map(|all| all.get(key).copied().unwrap_or(0) as f64);
            // Both are draws: six standard deviations of their difference.
            assert!((a - b).abs() <= 6.0 * (a + b).sqrt() + 6.0, "{chooser} {key}: {a} and {b}");
        }
    }
}

/// The keys of HMSETs that the server has logged.
fn updated(server: &Server) -> BTreeMap<String, u64> {
    use wire::resp::Value;
    let Value::Array(entries) = server.ask(&["SLOWLOG", "GET", "-1"]) else { panic!("no log") };
    let mut counts = BTreeMap::new();
    for entry in entries {
        let Value::Array(entry) = entry else { continue };
        let Value::Array(words) = &entry[3] else { continue };
        if words[0].text().as_deref() == Some("HMSET") {
            *counts.entry(words[1].text().unwrap()).or_default() += 1;
        }
    }
    counts
}

/// A report with its numbers left out, and without the lines of garbage collectors.
pub(crate) fn shape(report: &str) -> Vec<String> {
    let line = |line: &str| -> Option<String> {
        let (what, _) = line.rsplit_once(", ")?;
        (!what.contains("_G1_")
            && !what.contains("_Young")
            && !what.contains("_Copy")
            && !what.contains("_MarkSweepCompact")
            && what.starts_with('['))
        .then(|| what.to_owned())
    };
    report.lines().filter_map(line).collect()
}

#[test]
fn both_print_the_same_lines() {
    let server = Server::redis();
    for properties in [
        "-p readproportion=0.5 -p updateproportion=0.5",
        "-p readproportion=0.3 -p updateproportion=0.3 -p readmodifywriteproportion=0.4",
        "-p readproportion=0.5 -p updateproportion=0.3 -p insertproportion=0.2 -p scanproportion=0.2",
        "-p measurementtype=histogram -p histogram.buckets=4 -p measurement.histogram.verbose=true",
        "-p measurementtype=hdrhistogram+histogram",
        "-p measurement.interval=both -target 5000",
        "-p measurement.interval=intended",
        "-p hdrhistogram.percentiles=1,2,3,11,50,99.9,99.99,100",
    ] {
        let properties = format!(
            "{CORE} -p recordcount=20 -p operationcount=400 -p maxscanlength=5 {properties}"
        );
        let silent = format!("{properties} -p basicdb.verbose=false");
        let Some((out, _)) = client("YCSB's report", "-t", &silent) else { return };
        server.reset();
        ycsb(&server, "load", &properties).ok();
        let ran = ycsb(&server, "run", &properties).ok();
        // Whether a percentile lies in one of four buckets is a matter of the machine.
        let few = properties.contains("buckets=4");
        let shape = |report: &str| -> Vec<String> {
            let describe = |line: &String| !few || !line.contains("thPercentile");
            shape(report).into_iter().filter(describe).collect()
        };
        // Of operations of one bucket of a hash map the first that comes stands first, there.
        let sorted = |mut lines: Vec<String>| {
            lines.sort();
            lines
        };
        assert_eq!(sorted(shape(&ran.out)), sorted(shape(&out)), "{properties}");
        let ordered = |lines: Vec<String>| {
            let own = |l: &String| !l.contains("INSERT") && !l.contains("UPDATE");
            lines.into_iter().filter(own).collect::<Vec<_>>()
        };
        assert_eq!(ordered(shape(&ran.out)), ordered(shape(&out)), "{properties}");
    }
}

#[test]
fn both_take_values_that_make_no_sense_for_the_same() {
    let server = Server::redis();
    let load = format!("{CORE} -p recordcount=20 -p fieldlength=3 -p fieldcount=2");
    ycsb(&server, "load", &load).ok();
    // Of what runs, and of what is refused by us alone, as docs/ycsb.md says.
    for (property, text) in [
        ("exporter=nosuch", "Could not find exporter nosuch, will use default text reporter."),
        (
            "hdrhistogram.percentiles=abc",
            "[WARN] Couldn't read hdrhistogram.percentiles value: 'abc', ",
        ),
        (
            "requestdistribution=hotspot -p hotspotopnfraction=7",
            "Hot operation fraction out of range. Setting to 0.0",
        ),
        ("hotspotdatafraction=2", ""),
        ("minscanlength=9 -p maxscanlength=2", ""),
        ("readproportion=-1 -p updateproportion=1", ""),
        ("histogram.buckets=0", ""),
        ("timeseries.granularity=300", ""),
        ("maxexecutiontime=-1", ""),
        ("zeropadding=-3", ""),
        ("target=-1", ""),
        ("core_workload_insertion_retry_limit=-1", ""),
        ("spin.sleep=true", ""),
        ("spin.sleep=false", ""),
        ("measurement.trackjvm=false", ""),
        ("status.interval=-5", ""),
        ("insertstart=5", ""),
    ] {
        let properties = format!("{load} -p operationcount=40 -p {property}");
        let silent = format!("{properties} -p basicdb.verbose=false");
        let Some((out, err)) = client("YCSB's defaults", "-t", &silent) else { return };
        let ran = ycsb(&server, "run", &properties).ok();
        assert!(ran.err.contains(text) && err.contains(text), "{property}: {} {err}", ran.err);
        let sum = |report: &str| {
            count(report, "READ", "Operations") + count(report, "UPDATE", "Operations")
        };
        assert_eq!((sum(&ran.out), sum(&out)), (40, 40), "{property}: {out}");
    }
}

#[test]
fn both_export_the_same_json_and_say_the_same_beside_it() {
    let server = Server::redis();
    let dir = tempfile::tempdir().unwrap();
    for exporter in ["JSONMeasurementsExporter", "JSONArrayMeasurementsExporter"] {
        let properties = format!(
            "{CORE} -p recordcount=20 -p operationcount=100 -p readproportion=1 -p updateproportion=0 \
             -p exporter=site.ycsb.measurements.exporter.{exporter}"
        );
        let silent = format!("{properties} -p basicdb.verbose=false");
        let Some((out, err)) = client("YCSB's exports", "-t", &silent) else { return };
        ycsb(
            &server,
            "load",
            &format!("{properties} -p exportfile={}", dir.path().join("l").display()),
        )
        .ok();
        let ran = line(&server, "run", &properties).run().ok();
        let shape = |text: &str| -> Vec<String> {
            let mut objects: Vec<String> = text.split("\"metric\"").map(str::to_owned).collect();
            objects.retain(|object| {
                !object.contains("_G1_")
                    && !object.contains("_Young")
                    && !object.contains("_Copy")
                    && !object.contains("MarkSweepCompact")
            });
            let digits = |c: char| c.is_ascii_digit() || c == '.' || c == 'E';
            objects
                .iter()
                .map(|o| {
                    o.split("\"value\" : ")
                        .map(|part| part.trim_start_matches(digits))
                        .collect::<String>()
                })
                .collect()
        };
        assert_eq!(shape(&ran.out), shape(&out), "{exporter}");
        let render = |err: &str| -> Vec<String> {
            // On a slow machine it says that this may take a while.
            let description =
                err.lines().skip(1).filter(|line| !line.contains("might take a few minutes"));
            description.map(str::to_owned).collect()
        };
        assert_eq!(render(&ran.err), render(&err));
    }
    assert!(figures("[READ], Operations, 3\n").len() == 1);
}

#[test]
fn the_reader_of_java_finds_every_latency_in_a_log() {
    let jar = jars().join("hdrhistogram.jar");
    if !jar.exists() {
        return lacking("logs of histograms", "HdrHistogram is not in target/test-servers/ycsb");
    }
    let server = Server::redis();
    let dir = tempfile::tempdir().unwrap();
    let prefix = dir.path().join("log-").display().to_string();
    let properties = format!(
        "{CORE} -p recordcount=20 -p operationcount=500 -p hdrhistogram.fileoutput=true \
         -p hdrhistogram.output.path={prefix}"
    );
    ycsb(&server, "load", &properties).ok();
    let ran = ycsb(&server, "run", &properties).ok();
    let mut command = Command::new("java");
    command.arg("-cp").arg(jar).args(["org.HdrHistogram.HistogramLogProcessor", "-i"]);
    command.arg(format!("{prefix}READ.hdr")).args(["-outputValueUnitRatio", "1"]);
    let Ok(read) = command.output() else {
        return lacking("logs of histograms", "there is no java");
    };
    let read = String::from_utf8_lossy(&read.stdout).into_owned();
    let format_one = |name: &str| -> f64 {
        let (_, rest) = read.split_once(name).unwrap_or_else(|| panic!("{name}: {read}"));
        let number = rest.trim_start_matches([' ', '=']).split([',', ']']).next().unwrap();
        number.parse().unwrap()
    };
    let of_report = |measure: &str| count(&ran.out, "READ", measure) as f64;
    assert_eq!(format_one("Total count"), of_report("Operations"));
    let max = of_report("MaxLatency(us)");
    assert!((format_one("[Max") - max).abs() <= 1.0 + max / 500.0, "{read} {}", ran.out);
}
