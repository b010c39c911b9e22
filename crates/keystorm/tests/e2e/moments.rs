//! What the worst moments of a run say of a real server: a snapshot, a slow command of somebody else, and
//! a server that is stopped, each with its time.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::program::{Keystorm, Process};
use crate::record::{json, place};
use crate::server::{Server, called};

/// Waits until so many requests have been answered.
fn answered(running: &Process, server: &Server, calls: u64) {
    running.until("load runs", |_| server.calls("get") >= calls);
}

#[test]
fn a_snapshot_a_slow_command_and_a_stopped_server_are_named_with_their_times() {
    let server = Server::redis();
    server.ask(&["DEBUG", "POPULATE", "200000", "key", "100"]);
    // The server names them in the order of a hash table.
    let settings = || -> BTreeSet<[String; 2]> {
        server.texts(&["CONFIG", "GET", "*"]).as_chunks().0.iter().cloned().collect()
    };
    let before = settings();
    let (_dir, file) = place();
    let page = file.with_extension("html");
    let line = format!(
        "--json {} --html {} --rps 1000 --duration 9 --sample get k",
        file.display(),
        page.display()
    );
    let running = server.keystorm(&line).start();
    answered(&running, &server, 2500);
    server.ask(&["DEBUG", "SLEEP", "0.3"]);
    answered(&running, &server, 4500);
    server.pause(Duration::from_millis(900));
    answered(&running, &server, 7000);
    server.ask(&["BGSAVE"]);
    let ran = running.wait().ok();
    let found = json(&file)["tests"][0]["worst_moments"].clone();
    let causes = found["moments"].to_string();
    // On a busy machine the server wakes up later than it meant to.
    let slept = (3..10).any(|digit| causes.contains(&format!(" ran for {digit}")));
    assert!(causes.contains("DEBUG SLEEP") && slept, "{found:#}");
    assert!(causes.contains("answered nothing for "), "{found:#}");
    assert!(ran.out.contains("\nWorst moments (UTC; "), "{}", ran.out);
    let page = std::fs::read_to_string(page).unwrap();
    for named in ["Worst moments", "DEBUG SLEEP", "answered nothing for ", "took a snapshot"] {
        assert!(page.contains(named), "{named}");
    }
    // A fork is quick, so that its moment may be as good as others; but it is dated.
    let journal = &json(&file)["tests"][0]["watched"]["servers"][0]["journal"];
    let fork = journal["entries"].as_array().unwrap().iter().find(|e| e["kind"] == "fork");
    let fork = fork.unwrap_or_else(|| panic!("no fork in {journal:#}"));
    assert!(fork["usec"].as_u64().unwrap() > 0 && fork["from_s"].as_f64().unwrap() > 1e9);
    assert!(found["unseen"].to_string().contains("the latency monitor is off"), "{found:#}");
    assert_eq!(settings(), before, "no setting is changed");
    let shown = Keystorm::new(&format!("show {}", file.display())).run().ok();
    assert_eq!(shown.out, ran.out);
    let rows = |format: &str| {
        let shown = Keystorm::new(&format!("show {} --format {format}", file.display())).run().ok();
        shown.out.lines().count()
    };
    assert!(rows("timeline") > 30 && rows("samples") > 4);
}

#[test]
fn a_rewrite_evictions_and_a_storm_of_connections_are_named_with_their_times() {
    let server = Server::redis();
    server.ask(&["CONFIG", "SET", "appendonly", "yes"]);
    server.ask(&["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"]);
    let (_dir, file) = place();
    let line = format!("--json {} --rps 1000 --duration 8 --sample get k", file.display());
    let running = server.keystorm(&line).start();
    answered(&running, &server, 1500);
    server.ask(&["BGREWRITEAOF"]);
    answered(&running, &server, 3500);
    server.ask(&["CONFIG", "SET", "maxmemory", "20mb"]);
    server.ask(&["DEBUG", "POPULATE", "100000", "key", "500"]);
    server.ask(&["SET", "one", "more"]);
    answered(&running, &server, 5000);
    let address = ("127.0.0.1", server.port());
    let storm: Vec<_> = (0..100).map(|_| std::net::TcpStream::connect(address).unwrap()).collect();
    answered(&running, &server, 6500);
    drop(storm);
    running.wait().ok();
    let journal = &json(&file)["tests"][0]["watched"]["servers"][0]["journal"];
    for kind in ["rewrite", "eviction", "connections"] {
        let entries = journal["entries"].as_array().unwrap();
        let entry = entries.iter().find(|entry| entry["kind"] == kind);
        let entry = entry.unwrap_or_else(|| panic!("no {kind} in {journal:#}"));
        assert!(entry["from_s"].as_f64().unwrap() > 1e9, "{entry:#}");
    }
}

#[test]
fn by_a_peers_name_nothing_of_this_is_asked() {
    let server = Server::redis();
    let (_link_dir, peer) = called("redis-benchmark");
    server.keystorm("-n 1000 -t get -q").called(&peer).run().ok();
    for command in ["slowlog|get", "latency|latest", "time"] {
        assert_eq!(server.all_counts().get(command), None, "{command}");
    }
    server.run("-n 1000 -t get -q").ok();
    assert!(server.all_counts()["slowlog|get"] > 0);
}
