//! memtier_benchmark's reports: tables, files and the lines on standard error.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::program::{Keystorm, RunOutput};
use crate::real_clock::lacking;
use crate::server::{Server, called};

pub(crate) const ONE: &str = "-t 1 -c 1";

/// Runs a line of memtier's on a server.
pub(crate) fn run(server: &Server, line: &str) -> RunOutput {
    Keystorm::new(&format!("memtier -p {} {line}", server.port())).run()
}

/// Runs a line with a JSON file, and returns what that holds.
pub(crate) fn json(server: &Server, line: &str) -> (RunOutput, Value) {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("j");
    let ran = run(server, &format!("{line} --json-out-file {}", file.display())).ok();
    let value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    (ran, value)
}

/// What the rows of the first table are called.
pub(crate) fn rows(out: &str) -> Vec<&str> {
    let rows = out.lines().skip_while(|line| !line.starts_with("---")).skip(1);
    rows.take_while(|line| !line.is_empty()).filter_map(|line| line.split("  ").next()).collect()
}

#[test]
fn the_table_is_that_of_the_original() {
    let server = Server::redis();
    let ran = run(&server, "-t 2 -c 3 -n 22 --ratio 1:10").ok();
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!(
        lines[..8],
        [
            "2         Threads",
            "3         Connections per thread",
            "22        Requests per client",
            "",
            "",
            "ALL STATS",
            &"=".repeat(124),
            "Type         Ops/sec     Hits/sec   Misses/sec    Avg. Latency     p50 Latency     p99 Latency   p99.9 Latency       KB/sec ",
        ]
    );
    assert_eq!(lines[8], "-".repeat(124));
    let firsts: Vec<&str> =
        lines[9..13].iter().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(firsts, ["Sets", "Gets", "Waits", "Totals"]);
    assert!(
        lines[9..13].iter().all(|line| line.len() == 124 && line.ends_with(' ')),
        "{}",
        ran.out
    );
    assert!(lines[9].contains("          ---          --- "), "{}", lines[9]);
    assert_eq!(
        lines[13..18],
        [
            "",
            "",
            "Request Latency Distribution",
            "Type     <= msec         Percent",
            &"-".repeat(72)
        ]
    );
    assert!(
        lines[18].starts_with("SET   ") && lines[18].ends_with("       0.000"),
        "{}",
        lines[18]
    );
    assert!(ran.out.ends_with("---\nWAIT      0.000      100.000\n"), "{}", ran.out);
    for (at, text) in [
        "Writing results to stdout\n",
        "[RUN #1] Preparing benchmark client...\n",
        "[RUN #1] Launching threads now...\n",
        "[RUN #1 100%, ",
    ]
    .iter()
    .enumerate()
    {
        let place = ran.err.find(text).unwrap_or_else(|| panic!("no {text:?} in {:?}", ran.err));
        assert!(at == 0 && place == 0 || place > 0);
    }
    assert!(ran.err.ends_with(" msec latency\r\n\n"), "{:?}", ran.err);
}

#[test]
fn it_goes_by_its_name() {
    let server = Server::redis();
    let (_dir, link) = called("memtier_benchmark");
    let args = shell_words::split(&format!("-p {} {ONE} -n 11", server.port())).unwrap();
    Keystorm::exec(link, args).run().ok().prints("ALL STATS").prints("Totals");
}

#[test]
fn json_has_the_counts_and_the_settings_of_the_original() {
    let server = Server::redis();
    server.reset();
    let (_, value) = json(&server, &format!("{ONE} -n 11"));
    let all = &value["ALL STATS"];
    let counts = ["Sets", "Gets", "Waits", "Totals"].map(|row| all[row]["Count"].as_u64().unwrap());
    assert_eq!(counts, [1, 10, 0, 11]);
    assert_eq!(value["configuration"]["ratio"], "1:10");
    assert_eq!(value["configuration"]["port"], server.port());
    assert_eq!(value["run information"]["Requests per client"], 11);
    assert_eq!(value["run information"]["Format version"], 2);
    assert_eq!(all["Runtime"]["Time unit"], "MILLISECONDS");
    assert_eq!(all["Runtime"]["Interrupted"], "false");
    let second = &all["Totals"]["Time-Serie"]["0"];
    assert_eq!(second["Count"], 11);
    assert!(second["p50.00"].is_number() && second["Bytes RX"].as_u64().unwrap() > 0);
}

#[test]
fn json_has_the_figures_and_histograms_of_the_original() {
    let server = Server::redis();
    server.reset();
    let (_, value) = json(&server, &format!("{ONE} -n 11"));
    let all = &value["ALL STATS"];
    let row: Vec<&String> = all["Gets"].as_object().unwrap().keys().collect();
    for key in [
        "Count",
        "Ops/sec",
        "Hits/sec",
        "Misses/sec",
        "Connection Errors/sec",
        "Connection Errors",
        "Latency",
        "Average Latency",
        "Accumulated Latency",
        "Min Latency",
        "Max Latency",
        "KB/sec",
        "KB/sec RX/TX",
        "KB/sec RX",
        "KB/sec TX",
        "Time-Serie",
        "Percentile Latencies",
    ] {
        assert!(row.iter().any(|known| *known == key), "{key} in {row:?}");
    }
    let percentiles = &all["Gets"]["Percentile Latencies"];
    assert!(percentiles["p50.00"].is_number() && percentiles["p99.90"].is_number());
    let histogram = &percentiles["Histogram log format"]["Compressed Histogram"];
    assert!(histogram.as_str().unwrap().starts_with("HISTFAAAA"), "{histogram}");
    assert_eq!(all["WAIT"][0]["percent"], 100.0);
    assert!(all["GET"].as_array().unwrap().len() > 1);
}

#[test]
fn what_is_hidden_is_in_neither_report() {
    let server = Server::redis();
    let (ran, value) = json(&server, &format!("{ONE} -n 11 --hide-histogram"));
    assert!(!ran.out.contains("Distribution"), "{}", ran.out);
    assert!(value["ALL STATS"].get("GET").is_none() && value["ALL STATS"]["Gets"].is_object());
}

#[test]
fn several_runs_have_the_sections_of_the_original() {
    let server = Server::redis();
    let (ran, value) = json(&server, &format!("{ONE} -x 3 --print-all-runs -n 100"));
    let titles = [
        "RUN #1 RESULTS",
        "RUN #2 RESULTS",
        "RUN #3 RESULTS",
        "BEST RUN RESULTS",
        "WORST RUN RESULTS",
        "AGGREGATED AVERAGE RESULTS (3 runs)",
    ];
    let found: Vec<&str> = ran.out.lines().filter(|line| line.contains("RESULTS")).collect();
    assert_eq!(found, titles);
    assert!(!ran.out.contains("ALL STATS") && value.get("ALL STATS").is_none());
    assert!(titles.iter().all(|title| value[title]["Totals"].is_object()));
    let all = &value[titles[5]];
    assert_eq!(all["Totals"]["Count"], 300);
    // There they come from an empty histogram, 0.007.
    assert!(all["Totals"]["Percentile Latencies"]["p50.00"].as_f64().unwrap() > 0.007);
    assert_eq!(
        (all["Runtime"]["Total duration"].as_u64(), ran.err.matches("[RUN #3]").count() > 0),
        (Some(0), true)
    );
}

#[test]
fn commands_have_rows_of_their_own() {
    let server = Server::redis();
    let line = format!("{ONE} -n 10 --command 'GET a' --command 'GET b'");
    assert_eq!(rows(&run(&server, &line).ok().out), ["Gets", "Totals"]);
    let each = run(&server, &format!("{line} --command-stats-breakdown=line")).ok();
    assert_eq!(rows(&each.out), ["Gets", "Gets", "Totals"]);
    let named =
        run(&server, &format!("{ONE} -n 4 --command 'HSET h f 1' --command 'HGETALL h'")).ok();
    assert_eq!(rows(&named.out), ["Hsets", "Hgetalls", "Totals"]);
    assert!(named.out.ends_with("---\n"), "{}", named.out);
}

#[test]
fn ctrl_c_ends_it_with_a_report_and_as_if_all_were_well() {
    let server = Server::redis();
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("j");
    let line = format!(
        "memtier -p {} {ONE} --test-time 60 --json-out-file {}",
        server.port(),
        file.display()
    );
    let running = Keystorm::new(&line).start();
    running.until("the first progress line", |running| running.err().contains("secs]"));
    running.interrupt();
    let ran = running.wait().ok().says("[RUN #1] Interrupted by user (Ctrl+C) after ");
    assert!(ran.out.contains("ALL STATS"), "{}", ran.out);
    let value: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    assert_eq!(value["ALL STATS"]["Runtime"]["Interrupted"], "true");
    let took = value["ALL STATS"]["Runtime"]["Total duration"].as_u64().unwrap();
    assert!((500..50_000).contains(&took), "{took}");
}

#[test]
fn ours_stand_behind_a_prefix() {
    let server = Server::redis();
    let dir = TempDir::new().unwrap();
    let (kept, page) = (dir.path().join("k"), dir.path().join("p.html"));
    let line = format!(
        "{ONE} -n 100 --ks-json {} --ks-html {} --ks-verdict",
        kept.display(),
        page.display()
    );
    let ran = run(&server, &line).ok().says("limited by: ");
    assert!(!ran.out.contains("limited by"));
    let kept: Value = serde_json::from_slice(&fs::read(kept).unwrap()).unwrap();
    assert_eq!(kept["schema"], "keystorm.run/1");
    assert!(fs::read_to_string(page).unwrap().contains("<html"));
    let shown = format!("show {} --format memtier", dir.path().join("k").display());
    Keystorm::new(&shown).run().ok().prints("ALL STATS").prints("Requests per client");
    let plain = run(&server, &format!("{ONE} -n 100")).ok();
    assert!(!plain.err.contains("limited by"), "{}", plain.err);
    server.reset();
    let filled = "--key-maximum 99 --ratio 0:1 -n 50 --ks-fill --json-out-file /dev/null";
    let filled = run(&server, &format!("{ONE} {filled}")).ok();
    assert_eq!((server.keys().len(), server.calls("get")), (100, 50), "{}", filled.out);
    let ran = Keystorm::new(&format!("memtier {ONE} -n 11 --ks-spawn=redis-server")).run().ok();
    assert!(ran.out.contains("ALL STATS") && !ran.out.contains("Started"), "{}", ran.out);
    run(&server, "--print-plan -n 3").ok().prints("\"per-connection\"").prints("memtier-");
    let equal = run(&server, "--as keystorm -n 3").ok();
    assert!(
        equal.out.contains("keystorm -h localhost") && equal.out.contains("--mix"),
        "{}",
        equal.out
    );
}

#[test]
fn clients_that_join_step_by_step_are_reported_second_by_second() {
    let server = Server::redis();
    let line = "--clients-start 1 --clients-step 2 --step-duration 1 -c 5 -t 2 --test-time 4";
    let (ran, value) = json(&server, line);
    let active = value["ALL STATS"]["Active Clients"].as_object().unwrap();
    let of = |key: &str| -> Vec<u64> {
        let mut seconds: Vec<_> =
            active.iter().map(|(n, of)| (n.parse::<u32>().unwrap(), of)).collect();
        seconds.sort_by_key(|(second, _)| *second);
        seconds.iter().take(4).map(|(_, of)| of[key].as_u64().unwrap()).collect()
    };
    assert_eq!(
        (of("Clients per thread"), of("Total clients")),
        (vec![1, 3, 5, 5], vec![2, 6, 10, 10])
    );
    assert_eq!(value["configuration"]["clients_step"], 2);
    let ran = ran.says("[RUN #1] Client staircase pattern (per thread x 2 threads):");
    let ran =
        ran.says("  Step 1:   1s -   2s :   3 clients  ").says("Total max connections: 5 x 2 = 10");
    // The first line comes after a second, when three are there, and the last has all.
    let shown = |clients: u32| ran.err.contains(&format!(" 2 threads {clients:>2} conns"));
    assert!(shown(3) && shown(5) && !shown(1), "{}", ran.err);
}

#[test]
fn connections_are_opened_as_far_apart_as_is_asked() {
    let server = Server::redis();
    let jitter = "--thread-conn-start-min-jitter-micros 100000 \
                  --thread-conn-start-max-jitter-micros 120000";
    let began = Instant::now();
    let (_, value) = json(&server, &format!("-t 2 -c 4 -n 10 {jitter}"));
    // Three gaps in each of two threads.
    assert!(began.elapsed() >= Duration::from_millis(300), "{:?}", began.elapsed());
    assert_eq!(server.calls("set") + server.calls("get"), 80);
    let configuration = &value["configuration"];
    assert_eq!(configuration["thread_conn_start_min_jitter_micros"], 100_000);
    assert_eq!(configuration["thread_conn_start_max_jitter_micros"], 120_000);
}

#[test]
fn seconds_in_which_a_server_sleeps_have_no_latencies() {
    let server = Server::redis();
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("j");
    let line = format!(
        "memtier -p {} {ONE} --test-time 5 --json-out-file {}",
        server.port(),
        file.display()
    );
    let running = Keystorm::new(&line).start();
    running.until("the first progress line", |running| running.err().contains("secs]"));
    // Longer than two seconds, one of which it sleeps through.
    server.ask(&["DEBUG", "SLEEP", "2.2"]);
    running.wait().ok();
    let value: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    let seconds = value["ALL STATS"]["Totals"]["Time-Serie"].as_object().unwrap();
    let silent: Vec<&Value> = seconds.values().filter(|second| second["Count"] == 0).collect();
    assert!(!silent.is_empty(), "{seconds:?}");
    assert!(silent.iter().all(|second| second.get("p50.00").is_none()), "{silent:?}");
    let rows = ["Sets", "Gets", "Waits"].map(|row| &value["ALL STATS"][row]["Time-Serie"]);
    assert!(rows.iter().all(|row| row.as_object().unwrap().len() == seconds.len()));
}

/// What redis-benchmarks-specification's exporter asks a file of memtier's for, in defaults.yml.
const EXPORTED: [&str; 5] = [
    "\"Ops/sec\"",
    "\"Latency\"",
    "\"Misses/sec\"",
    "\"Percentile Latencies\".\"p50.00\"",
    "\"Percentile Latencies\".\"p99.00\"",
];

/// redisbench-admin, by which redis-benchmarks-specification reads the files; `None` where Python has it
/// not.
fn exported(file: &std::path::Path, section: &str) -> Option<Vec<f64>> {
    const SCRIPT: &str = "import json, sys\n\
        try:\n    from redisbench_admin.run.metrics import extract_results_table as read\n\
        except ImportError: sys.exit(77)\n\
        for row in read(sys.argv[2:], json.load(open(sys.argv[1]))): print(row[3])";
    let paths = EXPORTED.map(|path| format!("$.\"{section}\".Totals.{path}"));
    let mut python = std::process::Command::new("python3");
    let ran = python.args(["-c", SCRIPT]).arg(file).args(paths).output().ok()?;
    if ran.status.code() == Some(77) {
        return None;
    }
    let text = String::from_utf8(ran.stdout).unwrap();
    let error = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{error}");
    Some(text.lines().map(|line| line.parse().unwrap()).collect())
}

#[test]
fn the_benchmark_specifications_own_reader_finds_its_metrics() {
    let server = Server::redis();
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("j");
    let line = format!("-t 1 -c 2 -n 300 --json-out-file {}", file.display());
    for (line, sections) in [
        (line.clone(), &["ALL STATS"][..]),
        (
            format!("{line} -x 3"),
            &["BEST RUN RESULTS", "WORST RUN RESULTS", "AGGREGATED AVERAGE RESULTS (3 runs)"],
        ),
    ] {
        run(&server, &line).ok();
        let value: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        for section in sections {
            let Some(found) = exported(&file, section) else {
                return lacking("memtier's JSON is read by redisbench-admin", "no such module");
            };
            let totals = &value[*section]["Totals"];
            let percentiles = &totals["Percentile Latencies"];
            let written = ["Ops/sec", "Latency", "Misses/sec"].map(|key| &totals[key]);
            let written =
                written.into_iter().chain([&percentiles["p50.00"], &percentiles["p99.00"]]);
            let written: Vec<f64> = written.map(|value| value.as_f64().unwrap()).collect();
            assert_eq!(found, written, "{section}");
        }
    }
}

#[test]
fn a_run_of_which_nothing_was_answered_says_so() {
    let server = Server::redis();
    let blocked = format!("{ONE} --test-time 1 --command 'BLPOP q 0'");
    let ran = run(&server, &blocked).exits(1);
    assert_eq!(ran.err.lines().last(), Some("Error: no request was answered; 0 requests"));
    assert!(!ran.err.contains("1000%"), "{}", ran.err);
}
