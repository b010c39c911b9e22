//! `keystorm record`: what the server executed is in the file, and what must not be there is not.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use traffic::Event;

use crate::cluster::Cluster;
use crate::listener::Listener;
use crate::memcached::Memcached;
use crate::program::{Keystorm, PATIENCE, Process, within};
use crate::server::Server;

/// Waits until a server says what it does.
fn begins(server: &Server) {
    let listens = || server.text(&["CLIENT", "LIST"]).contains("cmd=monitor");
    assert!(within(PATIENCE, listens), "nobody uses MONITOR");
}

/// Starts to record a server, until it is interrupted.
pub(crate) fn recording(server: &Server, options: &str, file: &Path) -> Process {
    let line = format!("record -p {} {options} -o {}", server.port(), file.display());
    let running = Keystorm::new(&line).start();
    begins(server);
    running
}

/// Every event of a file.
pub(crate) fn events(file: &Path) -> Vec<Event> {
    let mut reader = traffic::open(&[file.to_owned()], None).unwrap();
    let (mut event, mut all) = (Event::default(), Vec::new());
    while reader.next(&mut event).unwrap() {
        all.push(event.clone());
    }
    assert_eq!(reader.losses().total(), 0);
    all
}

/// How often each command is there.
fn counts(events: &[Event]) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for event in events {
        *counts.entry(String::from_utf8_lossy(event.name()).to_lowercase()).or_default() += 1;
    }
    counts
}

/// Whether any argument of any event contains this.
fn contain(events: &[Event], part: &str) -> bool {
    let has = |bytes: &[u8]| bytes.windows(part.len()).any(|window| window == part.as_bytes());
    events.iter().any(|event| (0..event.len()).any(|at| has(event.bytes(at))))
}

#[test]
fn what_the_server_executed_is_recorded_without_values() {
    for (_, server) in Server::both() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.ksr");
        let running = recording(&server, "", &file);
        server
            .run("-n 4000 -c 4 -r 100 -q set customer:__key__ secret-value ; get customer:__key__")
            .ok();
        server.ask(&["HSET", "customer:x", "name", "secret-value"]);
        server.ask(&["XADD", "customer:log", "MAXLEN", "~", "9", "*", "mail", "secret-value"]);
        server.ask(&["LREM", "customer:list", "0", "secret-value"]);
        server.ask(&["LINSERT", "customer:list", "BEFORE", "secret-value", "x"]);
        running.interrupt();
        let ran = running.wait().ok();
        ran.prints("Recorded 4,0").prints("measured by a client afterwards");
        let recorded = events(&file);
        let of = counts(&recorded);
        assert_eq!((of["set"], of["get"], of["hset"]), (2000, 2000, 1));
        // keystorm's own round trips are no traffic.
        assert_eq!(of.get("ping"), None, "{of:?}");
        assert!(contain(&recorded, "customer:") && !contain(&recorded, "secret"));
        let set = recorded.iter().find(|event| event.is("SET")).unwrap();
        assert_eq!((set.argument(2).unwrap().bytes, set.argument(2).unwrap().size), (None, 12));
        assert!(!fs::read(&file).unwrap().windows(6).any(|window| window == b"secret"));
    }
}

#[test]
fn names_are_replaced_and_structure_and_ranks_stay() {
    let server = Server::redis();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.ksr");
    let running = recording(&server, "--anonymise", &file);
    for (key, times) in
        [("customer:{anna}:cart", 5), ("customer:{anna}:address", 3), ("order:4711", 2)]
    {
        (0..times).for_each(|_| drop(server.ask(&["HGET", key, "password"])));
    }
    server.ask(&["AUTH", "anna", "hunter2"]);
    running.interrupt();
    running.wait().ok();
    let recorded = events(&file);
    for part in ["customer", "anna", "cart", "address", "order", "4711", "password", "hunter2"] {
        assert!(!contain(&recorded, part), "{part} is in the record");
    }
    let mut keys: BTreeMap<String, u64> = BTreeMap::new();
    for event in recorded.iter().filter(|event| event.is("HGET")) {
        *keys.entry(String::from_utf8_lossy(event.bytes(1)).into_owned()).or_default() += 1;
    }
    let mut ranks: Vec<(u64, String)> = keys.into_iter().map(|(key, n)| (n, key)).collect();
    ranks.sort_by(|a, b| b.cmp(a));
    let times: Vec<u64> = ranks.iter().map(|(n, _)| *n).collect();
    assert_eq!(times, [5, 3, 2]);
    let tag = |key: &str| key.split(['{', '}']).nth(1).unwrap().to_owned();
    assert_eq!((ranks[0].1.len(), tag(&ranks[0].1)), (20, tag(&ranks[1].1)));
}

#[test]
fn values_are_kept_where_asked_and_a_record_is_described() {
    let server = Server::redis();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.ksr");
    let running = recording(&server, "--values --sample keys:100%", &file);
    server.ask(&["SET", "k", "kept-value"]);
    running.interrupt();
    running.wait().ok();
    assert!(contain(&events(&file), "kept-value"));
    Keystorm::new(&format!("describe {}", file.display())).run().ok().prints("% set.");
}

#[test]
fn all_primaries_of_a_cluster_are_recorded() {
    let cluster = Cluster::new(3, 0, &[]);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.ksr");
    let port = cluster.masters()[0].port();
    let line = format!("record --cluster -p {port} -o {}", file.display());
    let running = Keystorm::new(&line).start();
    cluster.masters().iter().for_each(begins);
    cluster.run("-n 3000 -c 6 -r 1000 -q set {tag}:__key__ x").ok();
    running.interrupt();
    running.wait().ok();
    let recorded = events(&file);
    assert_eq!(counts(&recorded)["set"], 3000);
    assert!(recorded.is_sorted_by_key(|event| event.at_ns), "not by time");
}

#[test]
fn what_memcached_logs_is_recorded() {
    let all = [Some(Memcached::new()), Memcached::newer(&[])];
    all.iter().flatten().for_each(is_recorded_as_it_logs);
}

fn is_recorded_as_it_logs(server: &Memcached) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.ksr");
    let line = format!("record --protocol memcache -p {} -o {}", server.port(), file.display());
    let running = Keystorm::new(&line).start();
    let watched = || server.say("stats\n").contains("STAT log_watchers 1");
    assert!(within(PATIENCE, watched), "nobody watches");
    // One client, because lines of several interleave.
    server.say("set customer 0 0 5\nhello\nget customer\ndelete customer\n");
    running.interrupt();
    let ran = running.wait().ok();
    let of = counts(&events(&file));
    let of = ["set", "get", "delete"].map(|name| of.get(name).copied().unwrap_or_default());
    // Older versions log that a deletion looks for its item, and nothing else of it.
    let expected = if ran.err.contains("logs no deletions") { [1, 2, 0] } else { [1, 1, 1] };
    assert_eq!(of, expected, "{}", ran.err);
    // What looks alike is named whenever the record is used.
    let described = Keystorm::new(&format!("describe {}", file.display())).run().ok();
    let described = described.prints("look like reads");
    assert_eq!(described.out.contains("those of delete"), expected[2] == 0, "{}", described.out);
}

#[test]
fn what_recording_costs_is_what_a_client_beside_it_sees() {
    let server = Server::redis();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.ksr");
    let line = format!("record -p {} --duration 200ms -o {}", server.port(), file.display());
    let ran = Keystorm::new(&line).run().ok();
    let ran = ran.prints("measured by a client afterwards").prints("while it was not");
    // No connection of the turns is left, and no rate is printed, which scripts could have made.
    assert!(!server.text(&["CLIENT", "LIST"]).contains("cmd=monitor"));
    let told = ran.out.replace(&file.display().to_string(), "the file");
    assert!(!told.contains("/s"), "{told}");
}

#[test]
fn what_memcached_drops_is_told() {
    let watched = Arc::new(AtomicBool::new(false));
    let server = Listener::that_answers_lines(move |line| match line.split(' ').next() {
        Some("version") => "VERSION 1.6.38\r\n",
        Some("watch") => {
            watched.store(true, Ordering::Relaxed);
            "OK\r\nts=1.5 gid=1 type=item_get key=a status=found clsid=1 cfd=9 size=12\r\n"
        }
        Some("stats") if watched.load(Ordering::Relaxed) => "STAT log_worker_dropped 5\r\nEND\r\n",
        Some("stats") => "STAT log_worker_dropped 2\r\nEND\r\n",
        _ => "ERROR\r\n",
    });
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.ksr");
    let line = format!("record --protocol memcache --duration 300ms -o {}", file.display());
    let ran = server.by_name(&line).ok().prints("Recorded 1 commands");
    ran.says("3 (75.0 % of all) were dropped by the server, whose log was full");
}

#[test]
fn a_recording_ends_where_too_much_waits_in_the_server() {
    let server = Listener::that_answers(|words| {
        let word = |at: usize| words.get(at).map(|word| word.to_uppercase()).unwrap_or_default();
        match (word(0).as_str(), word(1).as_str()) {
            ("CONFIG", _) => "*0\r\n",
            ("INFO", _) => "$15\r\nredis_version:7\r\n",
            ("CLIENT", "ID") => ":5\r\n",
            ("CLIENT", "LIST") => "$36\r\nid=5 addr=127.0.0.1:9 omem=99000000\n\r\n",
            _ => "+OK\r\n",
        }
    });
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.ksr");
    let line = |size: &str| format!("record --max-behind {size} -o {}", file.display());
    let ran = server.by_name(&line("64mb")).exits(1).prints("Recorded 0 commands");
    ran.says("99 MB waited in the server's output buffer, more than --max-behind");
    fs::remove_file(&file).unwrap();
    server.by_name(&format!("{} --duration 500ms", line("100mb"))).ok();
}

#[test]
fn what_ends_a_recording_early_is_an_error_and_the_record_stays() {
    let server = Server::redis();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.ksr");
    let running = recording(&server, "--duration 1h", &file);
    server.ask(&["SET", "k", "v"]);
    let list = server.text(&["CLIENT", "LIST"]);
    let monitor = list.lines().find(|line| line.contains("cmd=monitor")).unwrap();
    let id = monitor.split_once("id=").unwrap().1.split(' ').next().unwrap();
    server.ask(&["CLIENT", "KILL", "ID", id]);
    running.wait().exits(1).says("the server closed the connection").prints("Recorded 1");
    assert_eq!(counts(&events(&file))["set"], 1);

    let refused = |options: &str, code: i32, why: &str| {
        let line = format!("record -p {} {options}", server.port());
        Keystorm::new(&line).run().exits(code).says(why);
    };
    refused(&format!("-o {}", file.display()), 1, "the file exists; choose another name");
    refused("", 2, "--output");
    refused("-o x --sample 0%", 2, "above 0 %");
    refused("-o x --on-for 5s --every 2s", 2, "--on-for: must be shorter than --every");
    refused("-o /nonexistent/x", 1, "/nonexistent/x");
    server.ask(&["ACL", "SETUSER", "watcher", "on", ">pw", "~*", "+@all", "-monitor"]);
    let other = dir.path().join("b.ksr");
    refused(&format!("--user watcher -a pw -o {}", other.display()), 1, "refused MONITOR");
}

#[test]
fn part_of_the_time_is_recorded() {
    let server = Server::redis();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.ksr");
    let line = "--on-for 100ms --every 300ms --duration 1s";
    let line = format!("record -p {} {line} -o {}", server.port(), file.display());
    let ran = Keystorm::new(&line).run().ok();
    let seconds = ran.out.split(" commands in ").nth(1).unwrap();
    let seconds: f64 = seconds.split(' ').next().unwrap().parse().unwrap();
    assert!(server.calls("monitor") >= 2 && seconds >= 0.2, "{}", ran.out);
    assert!(events(&file).iter().all(|event| !event.is("PING")));
}

#[test]
fn a_recording_that_never_begins_leaves_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("none.ksr");
    let (renamed, locked) =
        (Server::redis_with(&["--rename-command", "MONITOR", ""]), Server::redis());
    locked.ask(&["ACL", "SETUSER", "default", "-monitor"]);
    for (server, why) in [(&renamed, "unknown command"), (&locked, "no permissions")] {
        let line = format!("record -p {} -o {}", server.port(), file.display());
        let ran = Keystorm::new(&line).run().exits(1).says("refused MONITOR").says(why);
        assert!(!file.exists(), "{}", ran.err);
    }
}
