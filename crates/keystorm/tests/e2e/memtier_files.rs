//! The files that memtier_benchmark's options write.

use std::fs;

use tempfile::TempDir;

use crate::memtier_reports::{ONE, json, run};
use crate::server::Server;

#[test]
fn percentiles_are_columns_in_the_order_typed_and_files() {
    let server = Server::redis();
    let dir = TempDir::new().unwrap();
    let prefix = dir.path().join("h");
    let line = format!(
        "{ONE} -n 100 --print-percentiles=100,0,10,50,99.95 --hdr-file-prefix={}",
        prefix.display()
    );
    let (ran, value) = json(&server, &line);
    let head = ran.out.lines().find(|line| line.starts_with("Type  ")).unwrap();
    assert!(
        head.contains(
            " p100 Latency      p0 Latency     p10 Latency     p50 Latency p99.950 Latency "
        ),
        "{head}"
    );
    let keys = value["ALL STATS"]["Totals"]["Percentile Latencies"].as_object().unwrap();
    for key in ["p0.000", "p10.00", "p50.00", "p99.95", "p100.0"] {
        assert!(keys.contains_key(key), "{key}: {keys:?}");
    }
    let mut files: Vec<String> = fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    let expected = ["FULL_RUN_1", "GET_command_run_1", "SET_command_run_1"];
    let expected: Vec<String> = expected
        .iter()
        .flat_map(|name| ["hgrm", "txt"].map(|end| format!("h_{name}.{end}")))
        .collect();
    assert_eq!(files, expected);
    let log = fs::read(dir.path().join("h_FULL_RUN_1.hgrm")).unwrap();
    let read = hdrhistogram::serialization::interval_log::IntervalLogIterator::new(&log);
    assert!(read.into_iter().all(|entry| entry.is_ok()), "{}", String::from_utf8_lossy(&log));
    let log = fs::read_to_string(dir.path().join("h_GET_command_run_1.hgrm")).unwrap();
    let title = "GET command HDR latency histogram results";
    assert!(
        log.starts_with(&format!("#[{title}]\n#[Histogram log format version 1.2]\n")),
        "{log}"
    );
    let at = prefix.display();
    let ran = ran.says(&format!("Writing {title} to {at}_GET_command_run_1.txt...\n"));
    let ran = ran.says(&format!(
        "Writing {title} in HistogramLogProcessor format to {at}_GET_command_run_1.hgrm...\n"
    ));
    ran.says(&format!(
        "Writing Full Run command HDR latency histogram results to {at}_FULL_RUN_1.txt"
    ));
}

#[test]
fn each_connection_has_a_file_of_its_seconds() {
    let server = Server::redis();
    let dir = TempDir::new().unwrap();
    let prefix = dir.path().join("c");
    let stats = format!("--client-stats={}", prefix.display());
    let ran = run(&server, &format!("-t 2 -c 3 -n 22 -x 2 -P redis {stats}")).ok();
    for run in 1..=2 {
        assert!(
            ran.err.contains(&format!("[RUN {run}] Writing client stats files...\n")),
            "{}",
            ran.err
        );
    }
    let file = |run, thread, client| {
        fs::read_to_string(dir.path().join(format!("c-{run}-{thread}-{client}.csv"))).unwrap()
    };
    // Requests and bytes of each kind, added up over the seconds of a file.
    let sums = |text: &str, columns: &[usize]| -> Vec<u64> {
        let seconds = text.lines().skip(2).take_while(|line| !line.is_empty());
        let seconds: Vec<Vec<String>> =
            seconds.map(|line| line.split(',').map(str::to_owned).collect()).collect();
        let sum = |column: &usize| {
            seconds.iter().map(|second| second[*column].parse::<u64>().unwrap()).sum()
        };
        columns.iter().map(sum).collect()
    };
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2 * 6);
    for (thread, client) in (0..2).flat_map(|thread| (0..3).map(move |client| (thread, client))) {
        let text = file(1, thread, client);
        let [sets, sent, gets, misses, hits] = sums(&text, &[1, 4, 6, 11, 12])[..] else {
            panic!("{text}")
        };
        assert_eq!((sets, gets, misses + hits), (2, 20, 20), "{text}");
        // A SET of 32 bytes is at least these and its words.
        assert!(sent > 2 * 60, "{text}");
        assert!(text.contains("\n\nFull-Test GET Latency\nLatency (<= msec),Percent\n"), "{text}");
    }
    assert_eq!(server.calls("set"), 2 * 12);

    let line = "-t 1 -c 2 -n 10 --command 'HSET h f 1' --command 'HGETALL h'";
    run(&server, &format!("{line} {stats}x")).ok();
    let text = fs::read_to_string(dir.path().join("cx-1-0-1.csv")).unwrap();
    assert!(text.starts_with("Per-Second Benchmark Arbitrary Commands Data\n"), "{text}");
    assert_eq!(sums(&text, &[1, 6]), [5, 5]);
    // One kind of request has the bytes of all.
    run(&server, &format!("-t 1 -c 1 -n 10 --ratio 1:0 {stats}y")).ok();
    let text = fs::read_to_string(dir.path().join("cy-1-0-0.csv")).unwrap();
    let [sets, sent, received] = sums(&text, &[1, 4, 5])[..] else { panic!("{text}") };
    assert!((sets, received) == (10, 10 * 5) && sent > 600, "{text}");
}

#[test]
fn results_go_to_a_file_and_the_configuration_to_standard_output() {
    let server = Server::redis();
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("o");
    let ran = run(&server, &format!("{ONE} -n 10 -o {} --show-config", file.display())).ok();
    assert!(!ran.out.contains("ALL STATS") && ran.out.contains("ratio = 1:10\n"), "{}", ran.out);
    assert!(fs::read_to_string(file).unwrap().contains("ALL STATS"));
    assert!(ran.err.contains("Writing results to ") && ran.err.contains("Configuration values"));
    assert!(
        ran.err.contains("\n===================================================\n"),
        "{}",
        ran.err
    );
    assert!(ran.out.starts_with("server = localhost\nport = "), "{}", ran.out);
    assert!(ran.out.contains("\ndata_size_range = 0-0\n"), "{}", ran.out);
}

#[test]
fn a_file_that_cannot_be_written_is_named_and_takes_no_other_report_with_it() {
    let server = Server::redis();
    let ended = |words: &str| {
        let ran = run(&server, &format!("{ONE} -n 10 {words}")).exits(1);
        (ran.out.contains("\nTotals "), ran.err.lines().last().unwrap().to_owned())
    };
    for option in ["--hdr-file-prefix", "--client-stats"] {
        let (_, error) = ended(&format!("{option} /nowhere/x"));
        assert_eq!(error, "Error: writing /nowhere/x: there is no folder /nowhere");
    }
    assert_eq!(server.calls("get") + server.calls("set"), 0, "told before anything is sent");
    let full = "Error: writing /dev/full: No space left on device (os error 28)";
    assert_eq!(ended("-o /dev/full"), (false, full.to_owned()));
    assert_eq!(ended("--json-out-file /dev/full"), (true, full.to_owned()));
    for option in ["--hdr-file-prefix", "--client-stats"] {
        let (tables, error) = ended(&format!("{option} /proc/keystorm"));
        assert!(tables && error.starts_with("Error: writing /proc/keystorm"), "{error}");
    }
}
