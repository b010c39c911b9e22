//! Clients of `--on` that are lost, and what is left of what they did.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};

use crate::fleet::{children, rows};
use crate::program::{Keystorm, Process, goes_on, within};
use crate::record::{json, place};
use crate::server::Server;

/// A run by three clients, once all of them have reported for a while: each does so every interval.
fn running(server: &Server, more: &str) -> Process {
    let line = format!("-t set --duration 600 -c 6 --on local:3 --metrics 0 {more}");
    let running = server.keystorm(&line).start();
    let reported = || {
        let text = running.err();
        let url = text.split_whitespace().find_map(|word| {
            word.strip_prefix("http://")?.strip_suffix("/metrics").map(str::to_owned)
        });
        url.and_then(|host| served(&host)).unwrap_or_default() as u64
    };
    running.until("there are figures", |_| reported() > 0);
    goes_on(4, reported);
    running
}

/// Requests that are served at this address.
fn served(host: &str) -> Option<f64> {
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect(host).ok()?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    let line = text.lines().find(|line| line.starts_with("keystorm_requests_total{"))?;
    line.rsplit(' ').next()?.parse().ok()
}

fn signal(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid as i32).unwrap(), signal).unwrap();
}

#[test]
fn a_client_that_is_killed_stops_the_others_and_what_it_did_counts() {
    let (server, (_dir, file)) = (Server::redis(), place());
    let running = running(&server, &format!("--json {}", file.display()));
    signal(children(running.pid())[1], Signal::KILL);
    let ran = running.wait().exits(1).says("client 2 of 3: lost after ").says("killed by SIGKILL");
    assert!(ran.out.contains("limited by: unknown: client 2 of 3 was lost"), "{}", ran.out);
    let document = json(&file);
    assert_eq!(document["complete"], false);
    let rows = rows(&document["tests"][0]);
    let requests = |at: usize| rows[at]["requests"].as_u64().unwrap();
    assert!(requests(0) > 0 && requests(1) > 0 && requests(2) > 0);
    assert!(rows[1]["lost"].as_str().unwrap().starts_with("after "));
    assert!(rows[0].get("lost").is_none());
    let all = document["tests"][0]["requests"].as_u64().unwrap();
    assert_eq!(all, requests(0) + requests(1) + requests(2));
    assert!(all <= server.calls("set"));
}

#[test]
fn others_go_on_with_their_shares_where_that_is_asked_for() {
    let (server, (_dir, file)) = (Server::redis(), place());
    let running = running(&server, &format!("--on-loss go-on --rps 300 --json {}", file.display()));
    signal(children(running.pid())[0], Signal::KILL);
    let clients = || children(running.pid()).len() == 2;
    assert!(within(std::time::Duration::from_secs(60), clients));
    let before = server.calls("set");
    running.until("the others go on", |_| server.calls("set") > before + 200);
    running.interrupt();
    let ran = running.wait().says("client 1 of 3: lost after ");
    assert!(ran.code == Some(1), "{:?}", ran.code);
    assert!(ran.out.contains("200 of the requested 300 requests per second"), "{}", ran.out);
    assert!(rows(&json(&file)["tests"][0])[0]["lost"].is_string());
}

#[test]
fn a_client_that_is_stopped_is_lost_once_it_was_silent_for_long() {
    let server = Server::redis();
    let running = running(&server, "");
    signal(children(running.pid())[2], Signal::STOP);
    let ran = running.wait().exits(1);
    assert!(
        ran.err.contains("client 3 of 3: lost after ") && ran.err.contains("no message for 10 s")
    );
}

#[test]
fn a_client_that_is_asked_to_end_is_lost_and_what_it_did_counts() {
    for (sent, name) in [(Signal::TERM, "SIGTERM"), (Signal::INT, "SIGINT")] {
        let (server, (_dir, file)) = (Server::redis(), place());
        let running = running(&server, &format!("--rps 300 --json {}", file.display()));
        signal(children(running.pid())[1], sent);
        let ran = running.wait().exits(1).says("client 2 of 3: lost after ");
        ran.says(&format!("stopped by {name}"));
        let document = json(&file);
        assert_eq!(document["complete"], false);
        let rows = rows(&document["tests"][0]);
        assert!(rows[1]["lost"].as_str().unwrap().contains(name), "{rows:?}");
        assert!(rows[1]["requests"].as_u64().unwrap() > 0);
        let all = document["tests"][0]["requests"].as_u64().unwrap();
        assert!((server.calls("set") - 6..=server.calls("set")).contains(&all));
    }
}

#[test]
fn ctrl_c_stops_all_and_keeps_the_results() {
    let (server, (_dir, file)) = (Server::redis(), place());
    let running = running(&server, &format!("--json {}", file.display()));
    let clients = children(running.pid());
    running.interrupt();
    running.wait().exits(130).prints("INCOMPLETE: interrupted after ");
    let test = &json(&file)["tests"][0];
    // What was in flight was executed, and its replies were not waited for.
    let executed = server.calls("set");
    let requests = test["requests"].as_u64().unwrap();
    assert!((executed - 6..=executed).contains(&requests), "{requests} of {executed}");
    gone(&clients);
}

#[test]
fn no_client_outlives_its_coordinator() {
    let server = Server::redis();
    let running = running(&server, "");
    let clients = children(running.pid());
    assert_eq!(clients.len(), 3);
    running.kill();
    running.wait();
    gone(&clients);
}

#[test]
fn a_client_without_input_ends() {
    let ran = Keystorm::new("--hold").run().ok();
    assert!(ran.out.starts_with("{\"hello\":{\"contract\":1,"), "{}", ran.out);
    let ran = Keystorm::new("--hold").stdin("{\"nonsense\":1}\n").run();
    assert!(ran.out.contains("{\"failed\":\"a line is not part of the protocol: "), "{}", ran.out);
    Keystorm::new("--hold --on local:2").run().exits(2);
}

fn gone(pids: &[u32]) {
    let lives = |pid: &u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.contains("keystorm") && !stat.contains(") Z ")
    };
    let all_gone = || !pids.iter().any(lives);
    assert!(within(std::time::Duration::from_secs(60), all_gone), "{pids:?}");
}
