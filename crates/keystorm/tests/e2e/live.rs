//! `--live`: the page of a run while it runs, as a browser's connection has it, and in Chromium.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

use crate::program::{Keystorm, PATIENCE, Process, goes_on, within};
use crate::record::{json, place, valid_by};
use crate::server::{Server, free_port};

/// What a request is answered with.
fn asked(port: u16, head: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.write_all(format!("{head}\r\n\r\n").as_bytes()).unwrap();
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    answer
}

/// The pages that are sent, one after another.
fn pages(port: u16) -> impl Iterator<Item = Value> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let head = format!("GET /events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let lines = BufReader::new(stream).lines().map_while(Result::ok);
    lines.filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok())
}

/// A run that serves its page, once it does.
fn started(server: &Server, port: u16, more: &str) -> Process {
    let running = server.keystorm(&format!("-q --live={port} {more}")).start();
    assert!(within(PATIENCE, || TcpStream::connect(("127.0.0.1", port)).is_ok()));
    running
}

#[test]
fn a_browser_has_the_page_as_it_grows_and_at_the_end_the_file_of_html() {
    let (server, port) = (Server::redis(), free_port());
    let (dir, file) = place();
    let html = dir.path().join("page.html");
    let line = format!(
        "-t get --rps 500 --duration 5 --json {} --html {}",
        file.display(),
        html.display()
    );
    let running = started(&server, port, &line);
    let frame = asked(port, &format!("GET / HTTP/1.1\r\nHost: localhost:{port}"));
    assert!(frame.contains("connect-src 'self'") && frame.contains("Set a mark"), "{frame}");
    let mut seen = pages(port);
    let first = seen.by_ref().find(|page| page["title"] != "keystorm").unwrap();
    assert!(first["main"].as_str().unwrap().contains("Response time over time"), "{first}");
    assert!(first["state"].as_str().unwrap().contains("left"), "{}", first["state"]);
    let mark =
        format!("POST /mark/deployed%20here%3C%2Fscript%3E HTTP/1.1\r\nHost: 127.0.0.1:{port}");
    assert!(asked(port, &format!("{mark}\r\nX-Keystorm: mark")).starts_with("HTTP/1.1 200"));
    assert!(asked(port, &mark).starts_with("HTTP/1.1 405"), "no other page sets a mark");
    let last = seen.find(|page| page["html"].is_string()).unwrap();
    running.wait().ok();
    let saved = std::fs::read_to_string(&html).unwrap();
    assert_eq!(last["html"], saved.as_str(), "the page at the end is that of --html");
    assert!(saved.contains("deployed here&lt;/script&gt;"));
    let document = json(&file);
    valid_by("keystorm.run.1.json", &document);
    let marks = document["tests"][0]["marks"].as_array().unwrap();
    assert_eq!((marks.len(), &marks[0]["text"]), (1, &"deployed here</script>".into()));
    assert!(marks[0]["at_ns"].as_u64().unwrap() < 5_000_000_000);
}

#[test]
fn only_who_asks_this_address_is_answered_and_a_browser_that_goes_is_no_matter() {
    let (server, port) = (Server::redis(), free_port());
    let running = started(&server, port, "-t set --rps 500 --duration 60");
    for head in
        ["GET / HTTP/1.1\r\nHost: evil.example", "GET /events HTTP/1.1\r\nHost: evil.example:80"]
    {
        assert!(asked(port, head).starts_with("HTTP/1.1 421"), "{head}");
    }
    let here = |what: &str| asked(port, &format!("{what} HTTP/1.1\r\nHost: 127.0.0.1:{port}"));
    assert!(here("GET /etc/passwd").starts_with("HTTP/1.1 404"));
    assert!(here("DELETE /").starts_with("HTTP/1.1 405"));
    for _ in 0..3 {
        assert!(pages(port).next().is_some());
    }
    goes_on(2, || server.counts().values().sum());
    running.interrupt();
    let ran = running.wait();
    assert_eq!(ran.code, Some(130), "{ran:?}");
    assert!(ran.out.contains("SET: "), "{}", ran.out);
}

#[test]
fn a_password_is_in_no_page() {
    let (server, port) = (Server::redis_with(&["--requirepass", "hunter22"]), free_port());
    let running = started(&server, port, "-a hunter22 -t get --rps 200 --duration 2");
    let all: Vec<Value> = pages(port).collect();
    running.wait().ok();
    assert!(all.iter().any(|page| page["html"].is_string()));
    assert!(!serde_json::to_string(&all).unwrap().contains("hunter22"));
}

#[test]
fn a_port_that_is_taken_is_named() {
    let server = Server::redis();
    let ran = Keystorm::new(&format!("-p {} -n 5 --live={}", server.port(), server.port())).run();
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("--live: 127.0.0.1:"), "{}", ran.err);
}

#[test]
fn an_experiment_is_watched_with_its_runs_as_they_come() {
    let (server, port) = (Server::redis(), free_port());
    let (dir, _) = place();
    let html = dir.path().join("sweep.html");
    let line = format!(
        "sweep -p {} -c 1,2,3,4,5,6 -t get --duration 1 --live={port} --html {}",
        server.port(),
        html.display()
    );
    let running = Keystorm::new(&line).start();
    assert!(within(PATIENCE, || TcpStream::connect(("127.0.0.1", port)).is_ok()));
    let frame = asked(port, &format!("GET / HTTP/1.1\r\nHost: localhost:{port}"));
    assert!(frame.contains("<form id=\"live-mark\" hidden>"), "there is no run to mark: {frame}");
    let mark = format!("POST /mark/a HTTP/1.1\r\nHost: localhost:{port}\r\nX-Keystorm: mark");
    assert!(asked(port, &mark).starts_with("HTTP/1.1 405"));
    let mut seen = pages(port);
    let growing = seen.by_ref().find(|page| page["title"] != "keystorm").unwrap();
    assert!(growing["html"].is_null(), "{}", growing["state"]);
    assert!(growing["state"].as_str().unwrap().contains(" left  "), "{}", growing["state"]);
    let last = seen.find(|page| page["html"].is_string()).unwrap();
    running.wait().ok();
    assert_eq!(last["html"], std::fs::read_to_string(&html).unwrap().as_str());
}

#[test]
fn what_has_no_page_that_grows_says_so() {
    Keystorm::new("compare redis-server redis-server --live").run().exits(2).says("--live");
    Keystorm::new("rehearse record.jsonl --a redis-server --b redis-server --live")
        .run()
        .exits(2)
        .says("--live");
}
