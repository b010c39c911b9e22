//! Whose absence an outage is: the client's own, that of one server of several, or that of all of them, to the
//! end of the run; and every request that was due ends in exactly one way.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::cluster::Cluster;
use crate::memcached::Memcached;
use crate::program::{Keystorm, PATIENCE, Process, RunOutput, goes_on, within};
use crate::record;
use crate::server::{Server, pause};

/// Longer than the shortest absence that is reported, and than several intervals.
const ABSENCE: Duration = Duration::from_millis(1500);

/// Load runs, and has for a few intervals: an outage is detected against the rate before it.
fn usual(running: &Process, calls: impl Fn() -> u64) {
    running.until("load runs", |_| calls() > 100);
    goes_on(4, calls);
}

fn test(file: &std::path::Path) -> Value {
    record::json(file)["tests"][0].clone()
}

/// The outages that go on to the end, by the name of their server.
fn to_the_end(test: &Value) -> Vec<String> {
    let all = test["outages"].as_array().unwrap().iter();
    let lasting = all.filter(|outage| outage["to_the_end"] == true);
    let name = |outage: &Value| {
        let node = outage["node"].as_u64().unwrap() as usize;
        test["nodes"][node]["name"].as_str().unwrap().to_owned()
    };
    let mut names: Vec<String> = lasting.map(name).collect();
    names.sort();
    names
}

fn names(ports: impl IntoIterator<Item = u16>) -> Vec<String> {
    let mut names: Vec<String> =
        ports.into_iter().map(|port| format!("127.0.0.1:{port}")).collect();
    names.sort();
    names
}

#[test]
fn a_client_that_is_stopped_is_no_outage_of_the_server_and_a_server_that_is_stopped_is() {
    let server = Server::redis();
    let start = || server.keystorm("--duration 6 --rps 500 -c 5 incr k").start();
    let calls = || server.calls("incr");
    let running = start();
    usual(&running, calls);
    pause(running.pid(), ABSENCE);
    let ran = running.wait().ok().prints("\n  keystorm itself did not run for ");
    let ran = ran.prints("limited by: client: keystorm itself did not run for ");
    assert!(!ran.out.contains("  nothing succeeded for "), "{}", ran.out);
    server.reset();
    let running = start();
    usual(&running, calls);
    server.pause(ABSENCE);
    let ran = running.wait().ok().prints("\n  nothing succeeded for ");
    let ran = ran.prints("limited by: outage: nothing succeeded for ");
    assert!(!ran.out.contains("keystorm itself did not run"), "{}", ran.out);
}

#[test]
fn a_server_of_a_pool_that_is_killed_has_its_outage() {
    let (server, mut other) = (Server::redis(), Server::redis());
    let (_dir, file) = record::place();
    let pool = format!("--pool 127.0.0.1:{} --json {}", other.port(), file.display());
    let running = server.keystorm(&format!("{pool} --duration 5 --rps 600 -c 6 incr k")).start();
    usual(&running, || other.calls("incr"));
    let (port, before) = (other.port(), server.calls("incr"));
    other.kill();
    running.until("the other goes on", |_| server.calls("incr") > before + 100);
    let ran = running.wait().ok().prints(&format!("  127.0.0.1:{port}: nothing succeeded for "));
    let ran = ran.prints("\n  connections lost: 3, reopened: 0\n");
    let ran = ran.prints(&format!(
        "3 connections to 127.0.0.1:{port} were lost and could not be opened again; the last attempt failed: \
         Connection refused"
    ));
    ran.prints(&format!("limited by: outage: nothing succeeded on 127.0.0.1:{port} for "));
    let outages = test(&file)["outages"].clone();
    let lasting = outages.as_array().unwrap().iter().filter(|o| o["to_the_end"] == true);
    assert_eq!(lasting.count(), 1, "{outages}");
}

#[test]
fn requests_that_a_silent_server_keeps_are_counted_in_a_line() {
    let server = Server::redis();
    let running = server.keystorm("-q --duration 3 -c 3 incr k").start();
    running.until("load runs", |_| server.calls("incr") > 100);
    // Longer than the run waits for replies.
    server.pause(Duration::from_secs(9));
    running.wait().ok().prints(", 3 unanswered");
}

fn everybody_is_out(ran: &RunOutput, file: &std::path::Path, ports: Vec<u16>) {
    assert_eq!(to_the_end(&test(file)), names(ports), "{}", ran.out);
    let verdict = ran.out.lines().find(|line| line.contains("limited by: ")).unwrap_or_default();
    assert!(verdict.contains(" outage: nothing succeeded"), "{}", ran.out);
    let of_all =
        verdict.contains("on no server for the last ") || verdict.contains("succeeded for ");
    assert!(of_all, "{verdict}");
}

#[test]
fn memcached_servers_that_are_all_killed_are_all_out_to_the_end() {
    let mut servers: Vec<_> = (0..2).map(|_| Memcached::with(&["-t", "1"])).collect();
    let (_dir, file) = record::place();
    let ports: Vec<u16> = servers.iter().map(Memcached::port).collect();
    let words = format!(
        "--protocol memcache -h 127.0.0.1:{},127.0.0.1:{} --json {} --duration 6 -c 8 -r 1000 get \
         k:__rand_int__",
        ports[0],
        ports[1],
        file.display()
    );
    let running = Keystorm::new(&words).start();
    usual(&running, || {
        servers.iter().map(|server| server.grown(&["cmd_get"])).min().unwrap_or_default() as u64
    });
    servers.iter_mut().for_each(Memcached::kill);
    everybody_is_out(&running.wait().exits(1), &file, ports);
}

#[test]
fn a_cluster_whose_primaries_are_all_killed_is_out_to_the_end() {
    let cluster = Cluster::new(3, 0, &[]);
    let (_dir, file) = record::place();
    let words = format!("--json {} --duration 6 -c 12 -r 1000 incr k:__rand_int__", file.display());
    let running = cluster.keystorm(&words).start();
    let least = || cluster.masters().iter().map(|node| node.calls("incr")).min();
    usual(&running, || least().unwrap_or_default());
    for node in cluster.masters() {
        kill_process(Pid::from_raw(node.pid() as i32).unwrap(), Signal::KILL).unwrap();
    }
    let ports = cluster.masters().iter().map(Server::port).collect();
    everybody_is_out(&running.wait().exits(1), &file, ports);
}

/// Answered, lost, timed out and never sent together are what was due, whenever the server dies.
#[test]
fn what_was_due_at_a_memcached_that_dies_ends_in_exactly_one_way() {
    for options in ["-c 12", "-c 3", "-c 12 --timeout 200", "-c 12 -P 4 --threads 2"] {
        let mut servers: Vec<_> = (0..3).map(|_| Memcached::with(&["-t", "1"])).collect();
        let (_dir, file) = record::place();
        let places = names(servers.iter().map(Memcached::port)).join(",");
        let words = format!(
            "--protocol memcache -h {places} --json {} --duration 4 --rps 1000 {options} -r 1000 \
             get k:__rand_int__",
            file.display()
        );
        let running = Keystorm::new(&words).start();
        let gets = |server: &Memcached| server.grown(&["cmd_get"]);
        assert!(within(PATIENCE, || servers.iter().all(|server| gets(server) > 50)), "load runs");
        servers[1].kill();
        let ran = running.wait().ok();
        let test = test(&file);
        let evidence = test["verdict"]["evidence"].as_array().unwrap();
        let evidence = |name: &str| {
            let found = evidence.iter().find(|entry| entry["name"] == name);
            found.map_or(0, |entry| entry["value"].as_f64().unwrap() as u64)
        };
        let gone = |name: &str| test["connections"][name].as_u64().unwrap();
        let answered = test["requests"].as_u64().unwrap();
        let ended = answered + gone("lost") + gone("timed_out") + gone("unanswered");
        assert_eq!(ended + evidence("never_sent"), evidence("due"), "{options}: {}", ran.out);
        assert!(gone("lost") + gone("timed_out") > 0, "{options}: {}", ran.out);
        // A request that nobody waits for at the end may become due in its last moment.
        assert!(evidence("due").abs_diff(4_000) <= 1, "{options}: {}", evidence("due"));
    }
}
