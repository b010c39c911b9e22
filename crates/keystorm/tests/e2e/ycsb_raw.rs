//! `measurementtype=raw` of `keystorm ycsb`: a line for each operation that the server executed, and the same
//! lines and figures as YCSB's own client.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::memcached::Memcached;
use crate::program::Keystorm;
use crate::server::Server;
use crate::ycsb::{count, figures, ycsb};
use crate::ycsb_peer::{CORE, client, shape};

/// The lines of each section: when each operation ended, and how long it took.
type Lines = BTreeMap<String, Vec<(u64, u64)>>;

/// Raw data, in which every line must be a heading or an operation below the heading of its section.
fn lines(text: &str) -> Lines {
    let mut all = Lines::new();
    let mut section = "";
    for line in text.lines() {
        if let Some((name, rest)) = line.split_once(" latency raw data: ") {
            assert_eq!(rest, "op, timestamp(ms), latency(us)");
            section = name;
            all.entry(name.to_owned()).or_default();
            continue;
        }
        let [name, at_ms, took_us] = line.split(',').collect::<Vec<_>>()[..] else {
            panic!("{line:?}")
        };
        assert_eq!(name, section, "{line}");
        let times = (at_ms.parse().unwrap(), took_us.parse().unwrap());
        all.get_mut(section).unwrap().push(times);
    }
    all
}

fn read(path: &Path) -> Lines {
    lines(&fs::read_to_string(path).unwrap())
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64
}

/// The figures of a section are those of its lines.
fn figures_are_of(lines: &[(u64, u64)], section: &str, report: &str) {
    let mut took: Vec<u64> = lines.iter().map(|(_, took_us)| *took_us).collect();
    took.sort_unstable();
    let all = figures(report);
    let of = |name: &str| -> f64 {
        all[&(section.to_owned(), name.to_owned())].parse().unwrap_or_else(|_| panic!("{name}"))
    };
    assert_eq!(of("Total Operations"), took.len() as f64, "{section}");
    let mean = took.iter().sum::<u64>() as f64 / took.len() as f64;
    assert!((of("Average") - mean).abs() < 1e-6, "{section}: {mean}");
    assert_eq!((of("Min"), of("Max")), (took[0] as f64, took[took.len() - 1] as f64));
    for (label, part) in [("p1", 0.01), ("p50", 0.5), ("p99", 0.99), ("p99.99", 0.9999)] {
        let at = (took.len() as f64 * part) as usize;
        assert_eq!(of(label), took[at] as f64, "{section} {label}");
    }
}

#[test]
fn every_operation_that_the_server_executed_has_a_line() {
    let server = Server::redis();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("raw");
    let raw = format!("-p measurementtype=raw -p measurement.raw.output_file={}", path.display());
    let small = format!("{CORE} -p recordcount=50 -p fieldcount=2 -p fieldlength=10 {raw}");
    let load = ycsb(&server, "load", &format!("{small} -threads 3")).ok();
    let loaded = read(&path);
    assert_eq!((loaded["INSERT"].len(), server.calls("hmset")), (50, 50));
    figures_are_of(&loaded["INSERT"], "INSERT", &load.out);

    fs::remove_file(&path).unwrap();
    server.ask(&["CONFIG", "RESETSTAT"]);
    let mix = "-p operationcount=2000 -p readproportion=0.4 -p updateproportion=0.3 \
               -p insertproportion=0.1 -p readmodifywriteproportion=0.2 -threads 4";
    let from_ms = now_ms();
    let ran = ycsb(&server, "run", &format!("{small} {mix} --ks-threads 2")).ok();
    let to_ms = now_ms();
    let all = read(&path);
    let len = |name: &str| all.get(name).map_or(0, Vec::len) as u64;
    assert_eq!(len("READ"), server.calls("hgetall"));
    assert_eq!(len("INSERT"), server.calls("zadd"));
    assert_eq!(len("UPDATE") + len("INSERT"), server.calls("hmset"));
    let whole = len("READ-MODIFY-WRITE");
    assert!(whole > 200, "{whole}");
    assert_eq!(len("READ") + len("UPDATE") + len("INSERT") - whole, 2000);
    assert_eq!(len("CLEANUP"), 4);
    assert_eq!(all.len(), 5, "{:?}", all.keys());
    for (name, lines) in &all {
        assert!(lines.is_sorted_by_key(|(at_ms, _)| *at_ms), "{name}");
        let within = |(at_ms, _): &(u64, u64)| (from_ms..=to_ms).contains(at_ms);
        assert!(lines.iter().all(within), "{name}: {from_ms} to {to_ms}: {lines:?}");
        figures_are_of(lines, name, &ran.out);
    }
    let heads = ran.out.lines().filter(|line| line.starts_with("Raw data measurement: "));
    let to_file = format!("Raw data measurement: will output to result file: {}", path.display());
    assert!(heads.clone().all(|line| line == to_file) && heads.count() == 5, "{}", ran.out);

    // A file that is there is added to.
    ycsb(&server, "run", &format!("{small} {mix}")).ok();
    let both = read(&path);
    let sum = both.iter().filter(|(name, _)| !matches!(name.as_str(), "CLEANUP"));
    let sum: usize = sum.map(|(_, lines)| lines.len()).sum();
    assert!(sum > 4000 && both["CLEANUP"].len() == 8, "{sum}");
}

#[test]
fn operations_that_failed_have_sections_of_their_own() {
    let server = Server::redis();
    let run = "-P workloads/workloada -p recordcount=1 -p operationcount=60 \
               -p requestdistribution=uniform -p measurementtype=raw";
    let raw_of = |out: &str| {
        let is_raw = |line: &&str| !line.starts_with('[') && !line.starts_with("Raw data");
        lines(&out.lines().filter(is_raw).map(|line| format!("{line}\n")).collect::<String>())
    };
    // Records that are not there.
    let reads = format!("{run} -p readproportion=1 -p updateproportion=0");
    let missing = ycsb(&server, "run", &reads).ok();
    let all = raw_of(&missing.out);
    assert_eq!((all["READ"].len(), all["READ-FAILED"].len()), (0, 60));
    assert_eq!(count(&missing.out, "READ", "Total Operations"), 0);
    assert_eq!(count(&missing.out, "READ", "Return=ERROR"), 60);
    assert!(!missing.out.contains("[READ], Average"), "{}", missing.out);
    figures_are_of(&all["READ-FAILED"], "READ-FAILED", &missing.out);

    // One that is of another kind.
    server.ask(&["SET", "user6284781860667377211", "x"]);
    server.ask(&["CONFIG", "RESETSTAT"]);
    let refused = ycsb(&server, "run", &format!("{run} -p reportlatencyforeacherror=true"));
    let all = raw_of(&refused.out);
    let len = |name: &str| all.get(name).map_or(0, Vec::len) as u64;
    assert_eq!(len("READ-ERROR"), server.calls("hgetall"));
    assert_eq!(len("UPDATE-ERROR"), server.calls("hmset"));
    assert_eq!(len("READ-ERROR") + len("UPDATE-ERROR"), 60);
    assert_eq!((len("READ"), len("UPDATE")), (0, 0));
}

#[test]
fn values_that_are_compared_have_a_line_for_that_too() {
    let server = Server::redis();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("raw");
    let line = format!(
        "-P workloads/workloadc -p recordcount=20 -p operationcount=100 -p dataintegrity=true \
         -p requestdistribution=sequential -p measurementtype=raw \
         -p measurement.raw.output_file={}",
        path.display()
    );
    ycsb(&server, "load", &line).ok();
    server.ask(&["HSET", "user6284781860667377211", "field0", "other"]);
    fs::remove_file(&path).unwrap();
    let ran = ycsb(&server, "run", &format!("{line} -p measurement.interval=both")).exits(1);
    let all = read(&path);
    let len = |name: &str| all.get(name).map(Vec::len);
    assert_eq!((len("READ"), len("VERIFY"), len("READ-FAILED")), (Some(100), Some(100), None));
    assert_eq!((len("Intended-READ"), len("Intended-VERIFY")), (Some(100), None));
    assert_eq!(count(&ran.out, "VERIFY", "Return=UNEXPECTED_STATE"), 5);
    assert_eq!(count(&ran.out, "VERIFY", "Total Operations"), 100);
}

#[test]
fn memcached_has_a_line_for_every_get() {
    let server = Memcached::new();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("raw");
    let run = |phase: &str| {
        let (port, path) = (server.port(), path.display());
        Keystorm::new(&format!(
            "ycsb {phase} memcached -p memcached.hosts=127.0.0.1:{port} -P workloads/workloadc \
             -p recordcount=10 -p operationcount=300 -threads 3 \
             -p measurementtype=hdrhistogram+raw -p measurement.raw.output_file={path}"
        ))
        .run()
        .ok()
    };
    run("load");
    let ran = run("run");
    let all = read(&path);
    assert_eq!((all["RawINSERT"].len(), all["RawREAD"].len()), (10, 300));
    assert!(server.say("stats\n").contains("STAT cmd_get 300\r\n"));
    assert_eq!(count(&ran.out, "HdrREAD", "Operations"), 300);
    assert_eq!(count(&ran.out, "HdrREAD", "Return=OK"), 300);
    assert!(!ran.out.contains("[RawREAD], Return="), "{}", ran.out);
}

/// Raw data and a report, both with the numbers left out; of a section one line stands for all.
fn shapes(out: &str) -> Vec<String> {
    let masked = |line: &str| match line.split(',').collect::<Vec<_>>()[..] {
        [name, at_ms, took_us] if !line.contains(' ') => {
            let digits = |text: &str| text.chars().all(|c| c.is_ascii_digit());
            assert!(at_ms.len() == 13 && digits(at_ms) && digits(took_us), "{line}");
            format!("{name},#,#")
        }
        _ => line.to_owned(),
    };
    let raw = out.lines().filter(|line| !line.starts_with('[') && !line.is_empty());
    let mut all: Vec<String> = raw.map(masked).collect();
    let heads = all.iter().filter(|line| line.starts_with("Raw data")).count();
    all.dedup();
    all.push(format!("so told {heads} times"));
    all.extend(shape(out));
    all
}

#[test]
fn both_tell_of_operations_in_the_same_lines() {
    let server = Server::redis();
    let dir = tempfile::tempdir().unwrap();
    for properties in [
        "-p measurementtype=raw -p readproportion=1 -p updateproportion=0",
        "-p measurementtype=raw -p readproportion=0.3 -p updateproportion=0.3 \
         -p readmodifywriteproportion=0.4",
        "-p measurementtype=raw -p readproportion=0.5 -p insertproportion=0.2 \
         -p scanproportion=0.3 -p updateproportion=0 -p measurement.raw.no_summary=true",
        "-p measurementtype=hdrhistogram+raw -p measurement.interval=both -target 5000",
        "-p measurementtype=raw -p measurement.interval=intended -p measurement.raw.no_summary=true",
    ] {
        let properties = format!(
            "{CORE} -p recordcount=20 -p operationcount=400 -p maxscanlength=5 {properties}"
        );
        let file = |name: &str| dir.path().join(name);
        for to_file in [false, true] {
            let of = |name: &str| {
                if to_file {
                    format!("{properties} -p measurement.raw.output_file={}", file(name).display())
                } else {
                    properties.clone()
                }
            };
            let silent = format!("{} -p basicdb.verbose=false", of("theirs"));
            let Some((theirs, _)) = client("YCSB's raw data", "-t", &silent) else { return };
            server.reset();
            let loaded = file("load").display().to_string();
            let load = format!("{properties} -p measurement.raw.output_file={loaded}");
            ycsb(&server, "load", &load).ok();
            let ours = ycsb(&server, "run", &of("ours")).ok().out;
            let ours = ours.replace(&file("ours").display().to_string(), "FILE");
            let theirs = theirs.replace(&file("theirs").display().to_string(), "FILE");
            // Of operations of one bucket of a hash map the first that comes stands first, there.
            let sorted = |mut lines: Vec<String>| {
                lines.sort();
                lines
            };
            assert_eq!(sorted(shapes(&ours)), sorted(shapes(&theirs)), "{properties}");
            let ordered = |lines: Vec<String>| {
                let own = |l: &String| !l.contains("INSERT") && !l.contains("UPDATE");
                lines.into_iter().filter(own).collect::<Vec<_>>()
            };
            assert_eq!(ordered(shapes(&ours)), ordered(shapes(&theirs)), "{properties}");
            if to_file {
                let [ours, theirs] = ["ours", "theirs"].map(|name| {
                    let lines = read(&file(name));
                    fs::remove_file(file(name)).unwrap();
                    lines
                });
                let names = |lines: &Lines| lines.keys().cloned().collect::<Vec<_>>();
                assert_eq!(names(&ours), names(&theirs), "{properties}");
                if properties.contains("readproportion=1") {
                    assert_eq!((ours["READ"].len(), theirs["READ"].len()), (400, 400));
                }
                let ended = |lines: &Lines| lines["READ"].is_sorted_by_key(|(at_ms, _)| *at_ms);
                let plain = ours.contains_key("READ");
                assert!(!plain || ended(&ours) && ended(&theirs), "{properties}");
            }
        }
    }
}

#[test]
fn raw_data_that_cannot_be_had_is_refused() {
    let server = Server::redis();
    let run =
        "-P workloads/workloadc -p recordcount=10 -p operationcount=10 -p measurementtype=raw";
    ycsb(&server, "run", &format!("{run} --ks-on local:2"))
        .exits(2)
        .says("--ks-on with measurementtype=raw: clients tell what they counted");
    ycsb(&server, "run", &format!("{run} -p measurement.raw.output_file=/nowhere/raw"))
        .exits(1)
        .says("measurement.raw.output_file: /nowhere/raw: cannot be written");
    assert_eq!(server.calls("hgetall"), 0);
    ycsb(&server, "run", &format!("{run} -p operationcount=1000000000"))
        .exits(2)
        .says("the log of 1000000000 operations would need 14.9 GiB of memory");
    ycsb(&server, "run", &format!("{run} -p measurement.trackjvm=true"))
        .ok()
        .says("measurement.trackjvm: no effect, keystorm does not run on Java");
}
