//! `--live`: the page of a run while it runs, as a browser's connection has it, and in Chromium.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
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
    let saved = fs::read_to_string(&html).unwrap();
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

/// An experiment and its options.
type Experiment = (&'static str, String);

/// Every experiment, each of a few seconds: on three servers, in this folder.
fn experiments(servers: &[Server; 3], dir: &Path) -> Vec<Experiment> {
    let [a, b, c] = servers.each_ref().map(Server::port);
    let pair = format!("127.0.0.1:{a} 127.0.0.1:{b}");
    let runs = "-t get --rps 200 --duration 0.3 --warmup 0 --disturbed=count";
    let record = dir.join("monitor.txt");
    let line = |ms: u32| format!("1700000000.{ms:03}000 [0 10.0.0.1:{ms}] \"GET\" \"key\"\n");
    fs::write(&record, (0..400).step_by(10).map(line).collect::<String>()).unwrap();
    let replayed =
        format!("{pair} --replay {} --repeat 2 --disturbed=count --yes", record.display());
    let survey =
        format!("--quick --spawn=redis-server --seconds 0.05 --keys 200 -o {}", dir.display());
    vec![
        ("sweep", format!("-p {a} -c 1,2,3,4,5,6 -t get --rps 200 --duration 0.6")),
        (
            "search",
            format!("-p {a} --slo p50<500ms -t get --start 500 --most 2000 --repeat 1 --duration 0.4"),
        ),
        ("survey", survey),
        (
            "impact",
            format!(
                "--of mix -p {a} -c 4 --threads 1 --at 50 --blocks 2 --duration 0.2s --mix -- 1 get a ; 1 ping"
            ),
        ),
        (
            "footprint",
            "--spawn=redis-server --starts 3 --no-steps --keys 2048 string:10 hash:4x10".to_owned(),
        ),
        (
            "footprint",
            "--spawn=redis-server --maxmemory 3mb,4mb,30mb -t get --rps 200 --duration 1 -r 100".to_owned(),
        ),
        (
            "impact",
            format!("-p {c} --yes --rps 300 -c 5 -r 1000 --of bgsave,script --rest 1s"),
        ),
        (
            "suite",
            "--spawn=redis-server --match 'connection-ping|bitmap-bitcount' --time 0.5 --repeat 3".to_owned(),
        ),
        ("compare", format!("{pair} {runs} --repeat 3")),
        ("compare", format!("{pair} {runs} --repeat 3 --until-sure=50 --sure-within 5s")),
        ("compare", format!("{pair} {runs} --repeat 2 --slo p99<5s")),
        (
            "compare",
            "redis-server memcached --tables core --repeat 2 --duration 0.3 --warmup 0 -t get -r 100 --disturbed=count"
                .to_owned(),
        ),
        ("compare", replayed),
    ]
}

/// The port that a page is served on; `None` before standard error names it.
fn port_of(running: &Process) -> Option<u16> {
    let err = running.err();
    let (_, address) = err.split_once("The page of the run is on http://127.0.0.1:")?;
    address.split_once('/')?.0.parse().ok()
}

/// Watches an experiment to its end.
fn watch(number: usize, (name, options): &Experiment, dir: &Path) {
    let mut html = dir.join(format!("{number}.html"));
    let line = if *name == "survey" {
        html = dir.join("survey.html");
        format!("survey --live {options}")
    } else {
        format!("{name} --live --html {} {options}", html.display())
    };
    let running = Keystorm::new(&line).start();
    running.until("its page is served", |running| port_of(running).is_some());
    let port = port_of(&running).unwrap();
    let mut seen = pages(port);
    let is_growing = |page: &Value| {
        page["title"] != "keystorm" && page["state"].as_str().unwrap().contains(" left  ")
    };
    let growing = seen.by_ref().find(is_growing);
    assert!(growing.is_some_and(|page| page["html"].is_null()), "{line}: {:?}", running.wait());
    let last = seen.find(|page| page["html"].is_string());
    let ran = running.wait();
    let last = last.unwrap_or_else(|| panic!("{ran:?}"));
    assert_eq!(last["html"], fs::read_to_string(&html).unwrap().as_str(), "{line}");
}

#[test]
fn every_experiment_is_watched_as_it_grows() {
    let (servers, dir) = ([(); 3].map(|()| Server::redis()), tempfile::tempdir().unwrap());
    // At the same time: each takes a few seconds, in which it mostly waits.
    std::thread::scope(|scope| {
        for (number, experiment) in experiments(&servers, dir.path()).into_iter().enumerate() {
            let dir = dir.path();
            scope.spawn(move || watch(number, &experiment, dir));
        }
    });
}

#[test]
fn there_is_no_run_to_mark_on_the_page_of_an_experiment() {
    let (server, port) = (Server::redis(), free_port());
    let line = format!("sweep -p {} -c 1,2 -t get --duration 60 --live={port}", server.port());
    let running = Keystorm::new(&line).start();
    assert!(within(PATIENCE, || TcpStream::connect(("127.0.0.1", port)).is_ok()));
    let frame = asked(port, &format!("GET / HTTP/1.1\r\nHost: localhost:{port}"));
    assert!(frame.contains("<form id=\"live-mark\" hidden>"), "{frame}");
    let mark = format!("POST /mark/a HTTP/1.1\r\nHost: localhost:{port}\r\nX-Keystorm: mark");
    assert!(asked(port, &mark).starts_with("HTTP/1.1 405"));
    running.kill();
}

#[test]
fn what_has_no_page_that_grows_says_so() {
    let (dir, file) = place();
    let saved = file.display();
    Server::redis().run(&format!("-n 10 -t get --json {saved}")).ok();
    for (line, why) in [
        (format!("compare {saved} {saved} --live"), "--live requires servers that are measured"),
        (
            format!("compare --baseline {} --live", dir.path().display()),
            "unexpected argument '--live' found",
        ),
    ] {
        Keystorm::new(&line).run().exits(2).says(why);
    }
}

#[test]
fn the_page_names_a_slow_command_while_the_run_goes_on() {
    let (server, port) = (Server::redis(), free_port());
    let running = started(&server, port, "--rps 500 --duration 12 get k");
    let mut seen = pages(port);
    running.until("load runs", |_| server.calls("get") >= 500);
    server.ask(&["DEBUG", "SLEEP", "0.4"]);
    let names = |page: &Value| {
        page["main"].as_str().is_some_and(|main| main.contains("DEBUG SLEEP")).then(|| page.clone())
    };
    let page = seen.find_map(|page| names(&page)).expect("a page that names it");
    assert!(page["state"].as_str().unwrap().contains("left"), "{}", page["state"]);
    running.wait().ok();
    // By a peer's name, and without a page, nothing is asked while load runs.
    server.reset();
    server.run("-q -n 1000 get k").ok();
    assert!(server.all_counts()["slowlog|get"] <= 2);
}
