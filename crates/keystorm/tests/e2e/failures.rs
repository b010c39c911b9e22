//! Outages in the middle of a run, against real servers: the run ends by itself, its counts add
//! up, and the outage is reported with its true length.

use std::thread;
use std::time::{Duration, Instant};

use crate::listener::Listener;
use crate::memtier_retries::refused;
use crate::program::{Keystorm, PATIENCE, Process, RunOutput, elapse, goes_on, within};
use crate::real_clock::holds_when_quiet;
use crate::sentinel::Sentinel;
use crate::server::{Server, called};

/// Waits until load runs, by the server's own count, and for a few intervals more: an outage is detected
/// against the rate before it.
fn going(running: &Process, server: &Server) {
    running.until("load runs", |_| server.calls("incr") + server.calls("get") > 100);
    goes_on(4, || server.calls("incr") + server.calls("get"));
}

/// The number before (or after) these words on the line of the report that has them.
#[track_caller]
fn figure(ran: &RunOutput, words: &str) -> f64 {
    let line = ran.out.lines().find(|l| l.contains(words));
    let line = line.unwrap_or_else(|| panic!("no {words:?} in {}", ran.out));
    let after = line.split(words).nth(1).unwrap();
    let numbers = after.split(|c: char| !c.is_ascii_digit() && c != '.');
    let found = numbers.filter(|n| !n.is_empty()).find_map(|n| n.parse().ok());
    found.unwrap_or_else(|| panic!("no figure after {words:?} in {line:?}"))
}

fn figure_or_0(ran: &RunOutput, words: &str) -> u64 {
    if ran.out.contains(words) { figure(ran, words) as u64 } else { 0 }
}

/// Checks the length of the one outage, in seconds.
#[track_caller]
fn one_outage_of(ran: &RunOutput, seconds: f64) {
    let outages = ran.out.matches("\n  nothing succeeded for ").count();
    assert!(outages >= 1, "{}", ran.out);
    holds_when_quiet("one outage and no other", outages == 1, &ran.out);
    let outage_s = figure(ran, "nothing succeeded for ");
    let off = (outage_s - seconds).abs() / seconds;
    let seen = format!("{outage_s} s instead of {seconds} s: {}", ran.out);
    holds_when_quiet("the length of an outage", off <= 0.2, seen);
}

#[test]
fn a_server_that_is_killed_and_started_again() {
    for (depth, options) in
        [(1.0, "-c 8"), (4.0, "-c 40 -P 4 --threads 2 --engine epoll"), (1.0, "-c 4 --rps 2000")]
    {
        let mut server = Server::redis();
        let running = server.keystorm(&format!("--duration 5 {options} incr k")).start();
        going(&running, &server);
        let before = server.number(&["INCRBY", "k", "0"]);
        assert!(before > 100);
        server.kill();
        let gone = Instant::now();
        elapse(Duration::from_millis(1400));
        server.restart();
        let gap = gone.elapsed().as_secs_f64();
        let ran = running.wait().ok();
        // A machine may be so busy that no server starts before the end.
        if figure_or_0(&ran, "reopened: ") == 0 {
            holds_when_quiet("the server is back before the end", false, &ran.out);
            continue;
        }
        one_outage_of(&ran, gap);
        let back = ran.out.contains("back to 95 % of the ");
        holds_when_quiet("the rate comes back", back, &ran.out);
        assert!(ran.out.contains("limited by: outage: nothing succeeded for "), "{}", ran.out);
        // Started again it counts from 0. What was executed before, we can only know roughly.
        let executed = server.calls("incr") as f64;
        let (completed, _) = ran.completed();
        assert!(completed as f64 >= executed && completed as i64 >= before, "{}", ran.out);
        // A server that dies slowly may take a connection up once more.
        let lost = figure(&ran, "connections lost: ") * depth;
        assert!(figure(&ran, "lost with their connection: ") <= lost, "{}", ran.out);
        if options.contains("--rps") {
            let max = figure(&ran, " max=");
            let as_long = (gap * 800.0..gap * 1200.0 + 200.0).contains(&max);
            holds_when_quiet("the longest wait is the outage", as_long, &ran.out);
            let kept = (9_000..=10_001).contains(&completed);
            holds_when_quiet("the schedule goes on", kept, completed);
        }
    }
}

#[test]
fn a_server_that_stays_away_does_not_hold_a_run() {
    let mut server = Server::redis();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("run.json");
    let line = format!("--duration 5 -c 5 --json {} incr k", file.display());
    let running = server.keystorm(&line).start();
    going(&running, &server);
    server.kill();
    let ran = running.wait().exits(1).prints("INCOMPLETE: the server was gone at the end");
    let took = ran.took;
    let soon = took < Duration::from_secs(8);
    holds_when_quiet("a server that stays away does not hold a run", soon, format!("{took:?}"));
    let ran = ran.prints("to the end at 5.0").prints("not back to 95 %");
    let ran = ran.prints("limited by: outage: nothing succeeded for ");
    assert!(ran.completed().0 > 100);
    // What is kept tells the same.
    let kept: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let outages = kept["tests"][0]["outages"].as_array().unwrap();
    // A busy machine may have others of its own, before.
    assert_eq!(outages.last().unwrap()["to_the_end"], true, "{outages:?}");
    holds_when_quiet("one outage and no other", outages.len() == 1, format!("{outages:?}"));
    let shown = Keystorm::new(&format!("show {}", file.display())).run().ok();
    assert_eq!(shown.out, ran.out);
}

#[test]
fn who_reconnects_unless_asked_otherwise() {
    let (_link_dir, peer) = called("redis-benchmark");
    for (line, reconnects, by_name) in [
        ("--duration 1 get k", true, false),
        ("-n 10 get k", false, false),
        ("-n 10 --reconnect yes get k", true, true),
        ("--duration 1 --reconnect no get k", false, false),
    ] {
        let line = format!("{line} --print-plan");
        let line = line.replacen(" get k --print-plan", " --print-plan get k", 1);
        for (keystorm, expected) in
            [(Keystorm::new(&line), reconnects), (Keystorm::new(&line).called(&peer), by_name)]
        {
            keystorm.run().ok().prints(&format!("\"reconnect\": {expected}"));
        }
    }
}

#[test]
fn killed_clients_come_back_and_every_request_has_one_end() {
    let server = Server::redis();
    let running = server.keystorm("-n 200000 --reconnect yes -c 10 -P 4 incr k").start();
    running.until("runs", |_| server.calls("incr") > 500);
    let clients = server.text(&["CLIENT", "LIST"]);
    let ids = clients.lines().filter(|l| l.contains("cmd=incr"));
    let id = |line: &str| line.split_once("id=")?.1.split(' ').next().map(str::to_owned);
    let killed =
        ids.filter_map(id).take(5).filter(|id| server.number(&["CLIENT", "KILL", "ID", id]) == 1);
    let killed = killed.count() as u64;
    let ran = running.wait().ok();
    assert!(killed > 0);
    assert_eq!(figure(&ran, "connections lost: ") as u64, killed, "{}", ran.out);
    let lost = figure_or_0(&ran, "lost with their connection: ");
    assert_eq!(ran.completed().0 + lost, 200_000, "{}", ran.out);
    assert!(lost <= killed * 4);
    // What was lost may have been executed, or not.
    let executed = server.calls("incr");
    assert!((ran.completed().0..=200_000).contains(&executed), "{executed}: {}", ran.out);
}

#[test]
fn a_pause_shows_in_the_response_time_of_a_schedule() {
    let server = Server::redis();
    let running = server.keystorm("--duration 6 --rps 1000 -c 10 incr k").start();
    going(&running, &server);
    let pause = server.pause(Duration::from_millis(1200)).as_secs_f64();
    let ran = running.wait().ok();
    one_outage_of(&ran, pause);
    let ran = ran.prints("no request failed, ");
    let ran = ran.prints("limited by: outage: nothing succeeded for ");
    // A request is due each millisecond of the pause, and waits for its end.
    let delayed: f64 = {
        let line = ran.out.lines().find(|l| l.contains(" requests were due meanwhile")).unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    };
    let due = (pause * 800.0..pause * 1250.0).contains(&delayed);
    holds_when_quiet("what was due in a pause", due, &ran.out);
    let (p50, max) = (figure(&ran, "p50="), figure(&ran, " max="));
    let halfway = (pause * 350.0..pause * 650.0 + 100.0).contains(&p50);
    let longest = (pause * 900.0..pause * 1100.0 + 300.0).contains(&max);
    holds_when_quiet("what users wait in a pause", halfway && longest, &ran.out);
    let completed = ran.completed().0;
    assert_eq!(server.calls("incr"), completed);
    holds_when_quiet("all that was due is sent", completed == 6000, completed);
}

#[test]
fn a_timeout_is_counted_apart_or_ends_the_run() {
    let server = Server::redis();
    let pause = |running: &crate::program::Process| {
        running.until("runs", |_| server.calls("incr") > 100);
        server.pause(Duration::from_millis(1000));
    };
    let running = server.keystorm("--duration 3 --timeout 200 -c 4 incr k").start();
    pause(&running);
    let ran = running.wait().ok();
    // Four connections give up every 200 to 215 ms.
    let timed_out = figure(&ran, "timed out: ") as u64;
    assert!(timed_out >= 4, "{}", ran.out);
    holds_when_quiet("one timeout after another", (12..=24).contains(&timed_out), &ran.out);
    let unseen = timed_out + figure_or_0(&ran, "lost with their connection: ");
    let (executed, completed) = (server.calls("incr"), ran.completed().0);
    assert!((completed..=completed + unseen).contains(&executed), "{executed}: {}", ran.out);
    server.reset();
    let running = server.keystorm("-n 900000000 --timeout 200 -c 4 incr k").start();
    pause(&running);
    running.wait().exits(1).says("was not answered within 200 ms (--timeout)");
}

#[test]
fn a_server_out_of_memory_is_counted_by_kind() {
    let server = Server::redis_with(&["--maxmemory", "3mb"]);
    let line = "--duration 1.5 -c 5 -P 8 -d 1000 -r 1000000 set k:__rand_int__ __data__";
    let ran = server.run(line).ok();
    let errors = figure(&ran, "    OOM: ") as u64;
    assert!(errors > 0, "{}", ran.out);
    let ran = ran.prints("limited by: errors: ").prints(" were refused or lost");
    let all = ran.completed().0;
    // A refused command is no call.
    assert_eq!(server.calls("set"), all - errors, "{}", ran.out);
    server.run(&format!("--on-error stop {line}")).exits(1).says("OOM");
}

#[test]
fn a_replica_refuses_writes_and_says_so() {
    let primary = Server::redis();
    let port = primary.port().to_string();
    let replica = Server::redis_with(&["--replicaof", "127.0.0.1", &port]);
    let ran = replica.run("--duration 1 -c 3 set k v").ok();
    let ran = ran.prints("limited by: errors: 100 % of ");
    let refused = figure(&ran, "    READONLY: ") as u64;
    assert_eq!((refused, replica.calls("set")), (ran.completed().0, 0), "{}", ran.out);
    assert!(!ran.out.contains("Outages"), "{}", ran.out);
    replica.run("-n 100 -q set k v").exits(1).says("READONLY").says("replica");
}

#[test]
fn a_server_that_reads_its_data_is_down_until_it_has() {
    let mut server = Server::redis();
    server.ask(&["DEBUG", "POPULATE", "3000", "k", "10"]);
    server.ask(&["SAVE"]);
    let running = server.keystorm("--duration 5 -c 3 --rps 500 get k:1").start();
    going(&running, &server);
    server.kill();
    let gone = Instant::now();
    // 3000 keys take 300 µs each, and reading yields now and then.
    server.restart_with(&[
        "--key-load-delay",
        "300",
        "--loading-process-events-interval-bytes",
        "1024",
    ]);
    let gap = gone.elapsed().as_secs_f64();
    let ran = running.wait().ok();
    assert!(figure(&ran, "    LOADING: ") > 10.0, "{}", ran.out);
    one_outage_of(&ran, gap);
}

#[test]
fn a_server_that_is_loading_at_the_start_is_reported_as_such() {
    let mut server = Server::redis();
    server.ask(&["DEBUG", "POPULATE", "3000", "k", "10"]);
    server.ask(&["SAVE"]);
    server.kill();
    let delay = ["--key-load-delay", "1000", "--loading-process-events-interval-bytes", "1024"];
    let loading = server.begin_again(&delay);
    let ran = loading.run("--duration 1 -q get k:1").exits(1);
    assert!(ran.err.contains("loading its data set"), "{}", ran.err);
}

#[test]
fn a_reply_that_is_cut_is_lost_and_one_that_dribbles_is_not() {
    let cut = Listener::that_cuts_every(50);
    let ran = cut.run("-n 2000 --reconnect yes -c 4 get k").ok();
    let lost = figure(&ran, "lost with their connection: ") as u64;
    assert_eq!(ran.completed().0 + lost, 2000, "{}", ran.out);
    let again = figure(&ran, "reopened: ") as u64;
    assert!(lost >= 30 && again >= 30, "{}", ran.out);
    let errors = ran.out.contains("limited by: errors: ");
    holds_when_quiet("lost requests are the limit", errors, &ran.out);
    cut.run("-n 2000 -c 4 get k").exits(1).prints("INCOMPLETE: ");
    let dribble = Listener::that_dribbles();
    let ran = dribble.run("-n 40 -c 4 -P 2 get k").ok();
    assert_eq!(ran.completed().0, 40);
}

#[test]
fn pushes_are_counted_and_answer_nothing() {
    for (product, server) in Server::both() {
        let line = "-3 --enable-tracking --duration 1.5 -c 2 get k";
        let running = server.keystorm(line).start();
        running.until("runs", |_| server.calls("get") > 100);
        for n in 0..50 {
            server.ask(&["SET", "k", &n.to_string()]);
            thread::sleep(Duration::from_millis(4));
        }
        let ran = running.wait().ok();
        let pushes = figure(&ran, "push messages: ") as u64;
        assert!((20..=100).contains(&pushes), "{product}: {}", ran.out);
        assert_eq!(server.calls("get"), ran.completed().0, "{product}");
    }
}

#[test]
fn a_failover_is_followed() {
    let mut primary = Server::redis();
    let port = primary.port().to_string();
    let replica = Server::redis_with(&["--replicaof", "127.0.0.1", &port]);
    let linked = || replica.text(&["INFO", "replication"]).contains("master_link_status:up");
    assert!(within(PATIENCE, linked));
    // On a busy machine a server may be silent for a while, and one that lost its primary long ago is not promoted.
    let sentinel = Sentinel::new(&primary, &replica, 2_000);
    let uri = sentinel.uri();
    let unknown = uri.replace("/mine", "/other");
    Keystorm::new(&format!("-u {unknown} -n 10 get k")).run().exits(1).says("\"other\"");
    let line = format!("-u {uri} --duration 600 -c 5 --rps 1000 incr k");
    let running = Keystorm::new(&line).start();
    primary_runs(&primary);
    primary.kill();
    let gone = Instant::now();
    let promoted = || {
        // A sentinel closes the connections of a server that it promotes.
        replica.info_anew().is_some_and(|info| info.contains("role:master"))
    };
    assert!(within(PATIENCE, promoted), "the sentinel promotes the replica");
    let gap = gone.elapsed().as_secs_f64();
    replica.reconnect();
    let copied = replica.calls("incr");
    running.until("the replica gets load", |_| replica.calls("incr") > copied + 500);
    // An outage has ended when what succeeds again lasts.
    goes_on(6, || replica.calls("incr"));
    running.interrupt();
    let ran = running.wait().exits(130);
    let outages = ran.out.matches("\n  nothing succeeded for ").count();
    holds_when_quiet("one outage and no other", outages == 1, &ran.out);
    let outage_s = figure(&ran, "nothing succeeded for ");
    let as_long = outage_s >= gap * 0.8 && outage_s <= gap * 1.2 + 0.5;
    let seen = format!("{outage_s} of {gap}: {}", ran.out);
    holds_when_quiet("the length of a failover", as_long, seen);
}

#[track_caller]
fn primary_runs(primary: &Server) {
    let runs = || primary.calls("incr") > 500;
    assert!(within(PATIENCE, runs), "load reaches the primary");
}

#[test]
fn requests_that_are_refused_for_a_while_are_retried() {
    let server = Server::redis();
    server.ask(&["CONFIG", "SET", "maxmemory", "1"]);
    let running = server.keystorm("-n 50 -c 5 --retry forever --retry-wait 20ms set k v").start();
    running.until("writes are refused", |_| refused(&server) > 5);
    server.ask(&["CONFIG", "SET", "maxmemory", "0"]);
    let ran = running.wait().ok();
    assert_eq!((ran.completed().0, server.calls("set")), (50, 50));
    let line = ran.out.lines().find(|line| line.contains("retried: ")).unwrap();
    assert!(line.ends_with(&format!(", {} times in all", refused(&server))), "{line}");
    // After its last try it is an error, and one that is not named is not retried.
    server.ask(&["CONFIG", "SET", "maxmemory", "1"]);
    for (options, tries) in [("--retry 2 --retry-wait 1ms", 3), ("--retry 2 --retry-on BUSY", 1)] {
        server.ask(&["CONFIG", "RESETSTAT"]);
        server
            .run(&format!("-n 1 -c 1 {options} set k v"))
            .exits(1)
            .says("OOM command not allowed");
        assert_eq!(refused(&server), tries, "{options}");
    }
    // One that is named is retried, though it would not be by default.
    server.ask(&["CONFIG", "SET", "maxmemory", "0"]);
    server.ask(&["RPUSH", "list", "a"]);
    for (options, calls) in [("", 1), ("--retry-on WRONGTYPE", 3)] {
        server.ask(&["CONFIG", "RESETSTAT"]);
        let line = format!("-n 1 -c 1 --retry 2 --retry-wait 1ms {options} get list");
        server.run(&line).exits(1).says("WRONGTYPE");
        assert_eq!(server.calls("get"), calls, "{options}");
    }
    server
        .run("-n 1 --retry 1 set k v ';' get k")
        .exits(2)
        .says("--retry: commands that are sent together (;) cannot be retried one by one");
    server.run("-n 1 --retry twice get k").exits(2).says("--retry");
}
