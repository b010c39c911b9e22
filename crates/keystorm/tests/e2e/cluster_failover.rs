//! A cluster whose masters die, come back and pause while load runs.

use std::time::Duration;

use crate::cluster::{Cluster, figure, load_runs, row};
use crate::program::{PATIENCE, RunOutput, elapse, goes_on, within};
use crate::real_clock::holds_when_quiet;
use crate::server::Server;

/// The length of the longest outage of the node at this port, in seconds, and the lines that tell it:
/// a busy machine may have others of its own.
#[track_caller]
fn outage_of(ran: &RunOutput, port: u16) -> (f64, String) {
    let words = format!("  127.0.0.1:{port}: nothing succeeded for ");
    let length = |after: &str| after.split(' ').next().unwrap().parse::<f64>().unwrap();
    let after = ran.out.split(&words).skip(1).max_by(|a, b| length(a).total_cmp(&length(b)));
    let after = after.unwrap_or_else(|| panic!("no outage of {port}: {}", ran.out));
    (length(after), after.lines().take(3).collect::<Vec<_>>().join("\n"))
}

/// When a line of a server's log that has one of these words was written, in seconds of the day.
fn logged_at(log: &str, words: &[&str], last: bool) -> Option<f64> {
    let mut lines = log.lines().filter(|line| words.iter().any(|word| line.contains(word)));
    let line = if last { lines.next_back() } else { lines.next() }?;
    // 4711:S 21 Nov 2026 12:34:56.789 # Connection with master lost.
    let time = line.split_whitespace().find(|word| word.matches(':').count() == 2)?;
    time.split(':').try_fold(0.0, |sum, part| Some(sum * 60.0 + part.parse::<f64>().ok()?))
}

/// How long slots had no master, by the log of the replica that took over.
fn failover_took(replica: &Server) -> f64 {
    let log = replica.log();
    let lost =
        logged_at(&log, &["Connection with master lost", "Connection with primary lost"], false);
    let won = ["Failover election won", "Cluster state changed: ok"];
    let took = logged_at(&log, &won, true).zip(lost).map(|(won, lost)| won - lost);
    took.unwrap_or_else(|| panic!("no failover in {log}")).rem_euclid(24.0 * 3600.0)
}

#[test]
fn a_master_that_dies_is_replaced_and_its_outage_is_as_long_as_the_cluster_says() {
    // A machine that is busy with something else may delay the client too.
    let mut seen = Vec::new();
    let close = (0..3).any(|_| {
        let (by_report, by_log) = a_master_dies();
        seen.push((by_report, by_log));
        (by_report - by_log).abs() <= 0.2 * by_log
    });
    holds_when_quiet("an outage is as long as the cluster says", close, format!("{seen:?}"));
}

/// The length of the outage by the report, and by the log of the cluster.
fn a_master_dies() -> (f64, f64) {
    let mut cluster = Cluster::new(3, 1, &["--cluster-node-timeout", "2000"]);
    cluster.reset();
    let line = "--duration 600 -c 12 --threads 2 -r 10000 incr key:__rand_int__";
    let running = cluster.keystorm(line).start();
    load_runs(&cluster);
    let port = cluster.nodes[0].port();
    let entry = cluster.nodes[3].port();
    cluster.nodes[0].kill();
    // Until the replica has the load of its master.
    let copied = cluster.nodes[3].calls("incr");
    let serves = || {
        let replica = &cluster.nodes[3];
        replica.info_anew().is_some_and(|info| info.contains("role:master"))
            && replica.calls("incr") > copied + 500
    };
    assert!(within(PATIENCE, serves), "the replica takes over");
    // An outage has ended when what succeeds again lasts.
    goes_on(6, || cluster.nodes[3].calls("incr"));
    running.interrupt();
    let ran = running.wait().exits(130);
    let promoted = &cluster.nodes[3];
    assert!(promoted.text(&["INFO", "replication"]).contains("role:master"));
    assert!(row(&ran, entry).0 > 0 && row(&ran, port).0 > 0, "{}", ran.out);
    // What it was sent and did not answer is lost, once; nothing, if it died between two requests.
    let lost = figure(&ran, "lost with their connection: ");
    assert!(lost <= 12, "{}", ran.out);
    for node in &cluster.nodes[1..3] {
        // The interruption may leave one request of each connection without its answer.
        let unseen = node.calls("incr") - row(&ran, node.port()).0;
        assert!(unseen <= 12, "{unseen}: {}", ran.out);
    }
    assert!(!ran.out.contains("  errors: "), "{}", ran.out);
    let (outage, lines) = outage_of(&ran, port);
    assert!(lines.contains(" lost, 0 timed out, 0 errors"), "{lines}");
    assert!(!lines.contains("to the end"), "{lines}");
    let ran = ran.prints("limited by: outage: nothing succeeded on 127.0.0.1:");
    let by_log = failover_took(promoted);
    eprintln!("the outage took {outage} s by the report, {by_log} s by the log\n{}", ran.out);
    (outage, by_log)
}

#[test]
fn a_master_that_comes_back_costs_each_request_once() {
    let args = ["--cluster-node-timeout", "15000", "--cluster-require-full-coverage", "no"];
    let mut cluster = Cluster::new(3, 0, &args);
    cluster.reset();
    let line = "-n 18000 --rps 3000 --reconnect yes -c 6 -P 2 -r 10000 incr key:__rand_int__";
    let running = cluster.keystorm(line).start();
    load_runs(&cluster);
    let port = cluster.nodes[2].port();
    cluster.nodes[2].kill();
    elapse(Duration::from_millis(700));
    cluster.nodes[2].restart();
    let ran = running.wait().ok();
    let lost = figure(&ran, "lost with their connection: ");
    assert_eq!(ran.completed().0 + lost, 18_000, "{}", ran.out);
    for node in &cluster.nodes[..2] {
        assert_eq!(row(&ran, node.port()).0, node.calls("incr"), "{}", ran.out);
    }
    let (outage, lines) = outage_of(&ran, port);
    assert!(outage >= 0.6, "{lines}");
    assert!(figure(&ran, "reopened: ") >= 1 || ran.out.contains(", reopened: "));
    // Without reconnecting it is the end.
    let running = cluster.keystorm("-n 900000000 -c 6 -r 10000 incr key:__rand_int__").start();
    load_runs(&cluster);
    cluster.nodes[2].kill();
    running.wait().exits(1).says(&format!("127.0.0.1:{port}: "));
}

#[test]
fn a_node_that_pauses_delays_its_requests_and_loses_none() {
    let cluster = Cluster::new(3, 0, &["--cluster-node-timeout", "10000"]);
    cluster.reset();
    let pause = |length: Duration| {
        load_runs(&cluster);
        cluster.nodes[1].pause(length).as_millis() as f64
    };
    let running =
        cluster.keystorm("--duration 6 --rps 3000 -c 30 -r 10000 incr key:__rand_int__").start();
    let pause_ms = pause(Duration::from_secs(2));
    let ran = running.wait().ok();
    let (requests, _) = ran.completed();
    let calls = cluster.calls("incr");
    assert_eq!(calls.iter().sum::<u64>(), requests);
    assert!(requests <= 18_050, "{requests}");
    holds_when_quiet("the schedule goes on", requests >= 17_500, requests);
    let worst = |n: usize| -> f64 {
        let name = format!("127.0.0.1:{}", cluster.nodes[n].port());
        let line = ran.out.lines().find(|l| l.trim_start().starts_with(&name)).unwrap();
        line.split_whitespace().nth(7).unwrap().parse().unwrap()
    };
    assert!(worst(1) > 0.9 * pause_ms, "{}", ran.out);
    let others = worst(0) < 0.6 * pause_ms && worst(2) < 0.6 * pause_ms;
    holds_when_quiet("the other nodes go on", others, &ran.out);
    let (outage, lines) = outage_of(&ran, cluster.nodes[1].port());
    let as_long = (outage * 1000.0 - pause_ms).abs() <= 0.2 * pause_ms;
    holds_when_quiet("the length of a pause", as_long, format!("{outage} s: {}", ran.out));
    assert!(lines.contains("no request failed"), "{lines}");
    // The requests that were due at that node meanwhile: a third of them.
    let due = ran.out.lines().find(|l| l.contains(" requests were due meanwhile")).unwrap();
    let due: f64 = due.split_whitespace().next().unwrap().parse().unwrap();
    let third = (pause_ms * 0.6..pause_ms * 1.5).contains(&due);
    holds_when_quiet("what was due in a pause", third, &ran.out);
    // With a deadline they are given up, and counted apart.
    cluster.reset();
    let line = "--duration 5 --timeout 300 -c 9 -r 10000 incr key:__rand_int__";
    let running = cluster.keystorm(line).start();
    pause(Duration::from_millis(1000));
    let ran = running.wait().ok();
    let timed_out = figure(&ran, "  timed out: ");
    assert!(timed_out > 0, "{}", ran.out);
    holds_when_quiet("timeouts of a pause", (3..=15).contains(&timed_out), &ran.out);
    let unseen = timed_out + figure(&ran, "lost with their connection: ");
    let (executed, completed) = (cluster.calls("incr").iter().sum::<u64>(), ran.completed().0);
    assert!((completed..=completed + unseen).contains(&executed), "{executed}: {}", ran.out);
    for n in [0, 2] {
        let (seen, calls) = (row(&ran, cluster.nodes[n].port()).0, cluster.nodes[n].calls("incr"));
        assert!((seen..=seen + unseen).contains(&calls), "{calls}: {}", ran.out);
    }
}
