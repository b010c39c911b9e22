//! What stands on a command line of YCSB.

use std::collections::BTreeSet;
use std::fs;

use crate::program::Keystorm;
use crate::server::{KEYSTORM, Server, called, calls};
use crate::ycsb::{count, ycsb};

#[test]
fn words_for_java_are_taken_and_reported() {
    let server = Server::redis();
    let run = "-P workloads/workloadc -p recordcount=10 -p operationcount=10";
    let ran =
        ycsb(&server, "load", &format!("{run} -cp a.jar:b.jar -jvm-args='-Xmx4g -Xms1g'")).ok();
    assert!(
        ran.err.contains("-cp, -jvm-args: no effect, keystorm does not run on Java"),
        "{}",
        ran.err
    );
    assert_eq!(server.number(&["ZCARD", "_indices"]), 10);
}

#[test]
fn too_many_threads_are_lowered_with_a_warning_on_standard_output() {
    let server = Server::redis();
    let ran = ycsb(&server, "load", "-P workloads/workloada -p recordcount=4 -threads 10").ok();
    let warning = "Warning: the threadcount is bigger than recordcount, the threadcount will be \
                   recordcount!\n[OVERALL], ";
    assert!(ran.out.starts_with(warning), "{}", ran.out);
    assert_eq!(count(&ran.out, "CLEANUP", "Operations"), 4);
}

#[test]
fn windows_of_records_are_kept_to_and_inserts_follow_all_of_them() {
    let server = Server::redis();
    let window = "-P workloads/workloada -p recordcount=1000 -p insertstart=500 -p insertcount=250 \
                  -p insertorder=ordered -p fieldcount=1 -p fieldlength=1";
    ycsb(&server, "load", window).ok();
    let numbers = |server: &Server| -> BTreeSet<u64> {
        let keys = server.keys().into_iter();
        keys.filter_map(|key| key.strip_prefix("user")?.parse().ok()).collect()
    };
    assert_eq!(numbers(&server), (500..750).collect());
    server.reset();
    let run = "-p requestdistribution=uniform -p operationcount=3000 -p readproportion=0 \
               -p updateproportion=0.9 -p insertproportion=0.1";
    let ran = ycsb(&server, "run", &format!("{window} {run}")).ok();
    let inserted = count(&ran.out, "INSERT", "Operations");
    let touched = numbers(&server);
    assert!(touched.iter().all(|n| (500..750).contains(n) || (1000..1000 + inserted).contains(n)));
    assert_eq!(touched.iter().filter(|n| **n >= 1000).count() as u64, inserted);
}

#[test]
fn what_makes_no_sense_ends_before_anything_is_sent() {
    let server = Server::redis();
    for (phase, rest, why) in [
        ("run", "-P workloads/workloada -p operationcount=0", "operationcount"),
        (
            "run",
            "-p workload=core -p recordcount=9 -p requestdistribution=zipfian",
            "operationcount",
        ),
        (
            "load",
            "-P workloads/workloada -p insertstart=900 -p insertcount=200",
            "must be bigger than",
        ),
        ("run", "-P workloads/workloada -p fieldlengthdistribution=x", "expected constant"),
        (
            "run",
            "-P workloads/workloada -p measurementtype=hdr",
            "hdrhistogram+raw, raw or timeseries",
        ),
        ("run", "-P workloads/workloada -p memcached.failureMode=Retry", "memcached.failureMode"),
        ("load", "-P workloads/workloada -p fieldcount=0", "fieldcount=0"),
        ("run", "-P workloads/workloada -p recordcuont=9", "did you mean recordcount?"),
        ("run", "-P workloads/workloada --ks-workload x", "properties"),
        ("run", "-P workloads/workloada --ks-mix", "--ks-mix: set this with properties"),
        ("run", "-P workloads/workloada --ks-order turns", "--ks-order: set this with properties"),
        ("run", "-P workloads/workloada --ks-clients 9", "--ks-clients: set this with properties"),
        ("run", "-P workloads/workloada --ks-fill", "--ks-fill: set this with properties"),
        ("run", "-P workloads/workloada --ks-csv", "--ks-csv: set this with properties"),
        ("run", "-P workloads/workloada --ks-repeat 2", "--ks-repeat: set this with properties"),
        ("run", "-P workloads/workloada --ks-json -", "--ks-json -: standard output"),
        ("run", "", "Missing property: workload"),
    ] {
        let ran = ycsb(&server, phase, rest).exits(2);
        assert!(ran.err.contains(why), "{rest}: {}", ran.err);
    }
    let nowhere = Keystorm::new("ycsb run redis -P workloads/workloada").run().exits(2);
    assert!(nowhere.err.contains("redis.host"), "{}", nowhere.err);
    assert_eq!(server.counts(), calls([]));
}

#[test]
fn by_its_own_name_it_is_ycsb_and_options_of_ours_have_a_prefix() {
    let server = Server::redis();
    let (_dir, link) = called("ycsb.sh");
    let (host, port) = ("redis.host=127.0.0.1", server.port());
    let line = format!(
        "load redis -P workloads/workloada -p recordcount=9 -p {host} -p redis.port={port}"
    );
    let ran = Keystorm::new(&line).called(&link).run().ok();
    assert_eq!(count(&ran.out, "INSERT", "Operations"), 9);
    let dir = tempfile::tempdir().unwrap();
    let json = dir.path().join("run.json");
    let more = format!(
        "-P workloads/workloadc -p recordcount=9 -p operationcount=90 --ks-seed 3 \
                        --ks-threads 2 -threads 2 --ks-json {}",
        json.display()
    );
    let ran = ycsb(&server, "run", &more).ok();
    let saved: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
    assert_eq!(saved["tests"][0]["operations"][0]["name"], "READ");
    // A saved run has the same report.
    let shown = Keystorm::new(&format!("show --format ycsb {}", json.display())).run().ok();
    let lines = |text: &str| -> Vec<String> {
        text.lines().filter(|line| line.contains("[READ]")).map(str::to_owned).collect()
    };
    assert_eq!(lines(&shown.out), lines(&ran.out));
    let plan = ycsb(&server, "run", "-P workloads/workloade --print-plan").ok();
    assert!(
        plan.out.contains("\"ycsb:zipfian,0,1000,100\"") && plan.out.contains("for-each"),
        "{}",
        plan.out
    );
}

#[test]
fn a_report_that_cannot_be_written_names_its_file() {
    let server = Server::redis();
    let ran =
        ycsb(&server, "load", "-P workloads/workloada -p recordcount=5 -p exportfile=/dev/full");
    ran.exits(1).says("writing /dev/full: No space left on device");
}

#[test]
fn the_equal_command_line_of_keystorm_sends_the_same() {
    let server = Server::redis();
    ycsb(&server, "load", "-P workloads/workloade -p recordcount=50 -p fieldcount=2").ok();
    for name in ["workloada", "workloade", "workloadf"] {
        let line = format!(
            "-P workloads/{name} -p recordcount=50 -p operationcount=100 -p fieldcount=2 \
                            --ks-seed 5"
        );
        let counted = |run: &dyn Fn()| {
            server.ask(&["CONFIG", "RESETSTAT"]);
            run();
            let mut counts = server.counts();
            counts
                .retain(|name, _| ["hgetall", "hmset", "zadd", "zrangebyscore"].contains(&&**name));
            counts
        };
        let theirs = counted(&|| drop(ycsb(&server, "run", &line).ok()));
        let text = ycsb(&server, "run", &format!("{line} --as keystorm")).ok().out;
        let words = shell_words::split(&text).unwrap();
        assert_eq!(words[0], "keystorm", "{text}");
        let ours = counted(&|| drop(Keystorm::exec(KEYSTORM, &words[1..]).run().ok()));
        for (command, count) in &theirs {
            // Records that were inserted make later scans longer.
            let near = ours.get(command).copied().unwrap_or(0).abs_diff(*count);
            assert!(near <= count / 3, "{name} {command}: {ours:?}, not {theirs:?}; {text}");
        }
    }
}

#[test]
fn passwords_log_in_and_are_shown_nowhere() {
    let server = Server::redis_with(&["--requirepass", "hunter2"]);
    let line = "-P workloads/workloada -p recordcount=5 -p redis.password=hunter2";
    let ran = ycsb(&server, "load", line).ok();
    assert_eq!(count(&ran.out, "INSERT", "Return=OK"), 5);
    assert!(!ran.err.contains("hunter2") && ran.err.contains("redis.password=***"), "{}", ran.err);
    let wrong = ycsb(&server, "load", "-P workloads/workloada -p redis.password=wrong").exits(1);
    assert!(wrong.err.contains("AUTH") || wrong.err.contains("WRONGPASS"), "{}", wrong.err);
}
