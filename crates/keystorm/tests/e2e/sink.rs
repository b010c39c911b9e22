//! `keystorm sink`: whole suites run through against it, ours and the peer's.

use std::path::Path;

use host::{Address, Client, Patience, PlainSocket};
use tempfile::TempDir;
use wire::resp::Value;

use crate::program::{Keystorm, Process, RunOutput};
use crate::server::free_port;

/// A sink on a free port and a unix socket.
struct Sink {
    running: Process,
    port: u16,
    dir: TempDir,
}

impl Sink {
    fn new(options: &str) -> Self {
        let dir = tempfile::Builder::new().prefix("ks").tempdir().unwrap();
        let socket = dir.path().join("s").display().to_string();
        let line = format!("sink --port 0 --unix {socket} {options}");
        let running = Keystorm::new(&line).start();
        running.until("says where it listens", |r| r.out().contains("Ctrl-C"));
        let out = running.out();
        assert!(out.contains(&format!(" and {socket} ")), "{out}");
        let (_, rest) = out.split_once("127.0.0.1:").expect("a port");
        let port = rest.split(' ').next().unwrap().parse().unwrap();
        Self { running, port, dir }
    }

    /// How to reach it, both ways.
    fn places(&self) -> [String; 2] {
        [format!("-p {}", self.port), format!("-s {}", self.dir.path().join("s").display())]
    }

    fn client(&self) -> Client<PlainSocket> {
        let address = Address::Tcp(([127, 0, 0, 1], self.port).into());
        Client::connect(&address, Patience::default()).unwrap()
    }

    /// Ctrl-C.
    fn end(self) -> RunOutput {
        self.running.interrupt();
        self.running.wait()
    }
}

/// The engines that work here. Whether it works is asked of the program, once.
fn engines() -> Vec<&'static str> {
    let works = |engine: &&str| {
        let port = free_port();
        let sink = Keystorm::new(&format!("sink --port {port} --engine {engine}")).start();
        sink.until("listens or gives up", |r| !r.out().is_empty() || !r.err().is_empty());
        let listens = !sink.out().is_empty();
        assert!(listens || sink.err().contains("--engine"), "{}", sink.err());
        listens
    };
    ["uring", "epoll"].into_iter().filter(works).collect()
}

#[test]
fn the_whole_suite_runs_through_against_every_engine() {
    for engine in engines() {
        let sink = Sink::new(&format!("--engine {engine}"));
        for place in sink.places() {
            for pipeline in ["-P 1", "-P 16 -r 1000"] {
                let line = format!("{place} -q -n 500 -c 5 {pipeline} --engine {engine}");
                let ran = Keystorm::new(&line).run().ok();
                assert_eq!(ran.out.trim_end().lines().count(), 24, "{ran:?}");
                assert_eq!(ran.err_but_verdicts(), "");
            }
        }
        sink.end().ok().prints("Answered ");
    }
}

#[test]
fn memcacheds_suite_runs_through_and_finds_every_key() {
    for engine in engines() {
        let sink = Sink::new(&format!("--protocol memcache --bulk 100 --engine {engine}"));
        for place in sink.places() {
            for protocol in ["memcache", "memcache-meta -P 16"] {
                let line = format!("{place} --protocol {protocol} -n 300 -c 5 -r 50 -d 100");
                let ran = Keystorm::new(&line).run().ok();
                assert!(!ran.out.contains(" hits, "), "{}", ran.out);
                assert!(ran.out.contains("keys: 30000 of 30000 found"), "{}", ran.out);
            }
            let binary = Keystorm::new(&format!("{place} --protocol memcache-binary get k")).run();
            binary.exits(1).says("in lines");
        }
        sink.end().ok().prints("Answered ");
    }
}

#[test]
fn the_peers_suite_runs_through_too() {
    let found = |dir: &Path| dir.join("redis-benchmark").is_file();
    let path = std::env::var_os("PATH").unwrap_or_default();
    if !std::env::split_paths(&path).any(|dir| found(&dir)) {
        return;
    }
    let sink = Sink::new("");
    for place in sink.places() {
        let args = format!("{place} -n 200 -c 5 -q");
        let ran = Keystorm::exec("redis-benchmark", args.split(' ')).run().ok();
        assert!(ran.out.matches("requests per second").count() >= 19, "{ran:?}");
    }
}

#[test]
fn replies_are_of_the_size_that_was_asked_for() {
    let sink = Sink::new("--bulk 100");
    let mut client = sink.client();
    let mut ask = |words: &str| {
        let words: Vec<&[u8]> = words.split(' ').map(str::as_bytes).collect();
        client.ask(&words).unwrap()
    };
    let x100 = Value::Bulk(vec![b'x'; 100]);
    assert_eq!(ask("GET k"), x100);
    assert_eq!(ask("LRANGE l 0 599"), Value::Array(vec![x100; 600]));
    assert_eq!(ask("SET k v"), Value::Simple(b"OK".to_vec()));
    assert!(ask("INFO").text().unwrap().contains("server_name:keystorm-sink"));
}

#[test]
fn a_sink_stays_on_its_cpus() {
    let sink = Sink::new("--cpus 0");
    let status = format!("/proc/{}/status", sink.running.pid());
    let status = std::fs::read_to_string(status).unwrap();
    let cpus = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    assert_eq!(cpus.unwrap().trim(), "0");
    Keystorm::new("sink --port 0 --cpus 1023").run().exits(1).says("--cpus: the sink");
    Keystorm::new("sink --port 0 --cpus 3-1")
        .run()
        .exits(2)
        .says("'3-1' for '--cpus <LIST>': CPUs");
}

#[test]
fn reports_say_that_nothing_is_persisted_there() {
    let sink = Sink::new("");
    let port = sink.port;
    Keystorm::new(&format!("-p {port} -n 100 -t set -3 --dbnum 2 -a secret --user u"))
        .run()
        .ok()
        .prints(", save \"\"");
}

#[test]
fn being_stopped_is_how_it_ends_well() {
    let sink = Sink::new("");
    let socket = sink.dir.path().join("s");
    assert!(socket.exists());
    let port = sink.port;
    Keystorm::new(&format!("-p {port} -n 1000 -t set -q")).run().ok();
    sink.running.interrupt();
    let ran = sink.running.wait().ok();
    let answered = ran.out.lines().find_map(|line| line.strip_prefix("Answered "));
    let answered: u64 = answered.and_then(|l| l.split(' ').next()?.parse().ok()).unwrap();
    // Whoever looks at the server asks some too.
    assert!((1000..1100).contains(&answered), "{}", ran.out);
    assert_eq!(ran.err, "");
    assert!(!socket.exists(), "the socket goes with the sink");
}

#[test]
fn what_cannot_be_listened_on_is_stated() {
    let sink = Sink::new("");
    let taken = format!("sink --port {}", sink.port);
    Keystorm::new(&taken).run().exits(1).says("--port").says("in use");
    let socket = sink.dir.path().join("s");
    let taken = format!("sink --unix {}", socket.display());
    Keystorm::new(&taken).run().exits(1).says("--unix").says("in use");
    Keystorm::new("sink --unix /nowhere/s").run().exits(1).says("/nowhere/s");
    assert!(socket.exists());
}

#[test]
fn command_lines_that_make_no_sense_are_refused() {
    for (options, name) in [
        ("--port 99999", "--port"),
        ("--bulk x", "--bulk"),
        ("--bulk 99999999", "--bulk"),
        ("-c 0", "-c"),
        ("--engine horse", "--engine"),
        ("--bind nowhere", "--bind"),
        ("ping", "ping"),
    ] {
        let ran = Keystorm::new(&format!("sink {options}")).run().exits(2).says(name);
        assert_eq!(ran.out, "");
    }
}

#[test]
fn the_example_of_the_help_runs() {
    let help = Keystorm::new("sink --help").run().ok().out;
    for group in ["Where:", "What:", "How:", "Other:"] {
        assert!(help.lines().any(|line| line == group), "{group}\n{help}");
    }
    assert!(help.lines().all(|line| line.chars().count() <= 100));
    let port = free_port().to_string();
    let examples: Vec<String> = help
        .lines()
        .filter_map(|line| line.trim().strip_prefix("$ keystorm "))
        .map(|line| line.replace("7777", &port))
        .collect();
    let [sink, load] = examples.as_slice() else { panic!("{examples:?}") };
    let sink = Keystorm::new(sink).start();
    sink.until("listens", |r| r.out().contains("Ctrl-C"));
    Keystorm::new(&format!("-n 500 {load}")).run().ok().prints("500 requests completed");
    sink.interrupt();
    sink.wait().ok();
}
