//! `keystorm connect`: every request on a connection of its own, counted by the server and timed stage by stage.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::deliver::test;
use crate::program::{Keystorm, elapse, within};
use crate::record::json;
use crate::search::exits_as_answered;
use crate::server::Server;
use crate::spans::undisturbed;
use crate::tls::TlsServer;

fn connect(server: &Server, line: &str) -> Keystorm {
    Keystorm::new(&format!("connect -p {} {line}", server.port()))
}

fn count_of(test: &Value, stage: &str) -> u64 {
    test["connections"]["stages_ms"][stage]["exact"]["count"].as_u64().unwrap()
}

fn errors(test: &Value) -> u64 {
    test["errors"]["total"].as_u64().unwrap()
}

/// Connections that the server has taken during a run.
fn taken(server: &Server, run: Keystorm) -> u64 {
    let before = server.info("total_connections_received");
    run.run().ok();
    server.info("total_connections_received") - before
}

#[test]
fn a_steady_load_beside_new_connections_is_reported_apart() {
    let server = Server::redis();
    let ran = connect(&server, "-n 200 --burst 50 --beside 300").run().ok();
    ran.prints("  probe: 4 quiet connections ");
    assert!(server.calls("ping") > 200, "{} calls", server.calls("ping"));
}

#[test]
fn the_server_takes_a_connection_for_each_request() {
    for (name, server) in Server::both() {
        let socket = format!("-s {}", server.socket().display());
        for line in [
            "-c 20",
            "-c 20 --engine epoll",
            "--rps 400 --close reset",
            "--burst 50 --rps 500 --open-for 50ms",
            "--burst 100 --open-for end",
            "-3 --threads 2 -c 10",
            &socket,
        ] {
            server.ask(&["CONFIG", "RESETSTAT"]);
            let ran = connect(&server, &format!("-n 200 --json - {line}")).run().ok();
            let test = test(ran);
            assert_eq!(server.calls("ping"), 200, "{name} {line}");
            let stages = ["connected", "first_reply"].map(|stage| count_of(&test, stage));
            assert_eq!((test["requests"].as_u64(), stages), (Some(200), [200, 200]), "{line}");
            let logins = if line.contains("-3") { 200 } else { 0 };
            assert_eq!(count_of(&test, "login"), logins, "{line}");
            if !line.contains("-c 20") {
                continue;
            }
            // What is opened around a run is the same whatever its length.
            let [few, many] =
                [100, 300].map(|n| taken(&server, connect(&server, &format!("-n {n} {line}"))));
            assert_eq!(many - few, 200, "{name} {line}");
        }
    }
}

#[test]
fn clients_beyond_maxclients_are_counted_as_refused() {
    let server = Server::redis_with(&["--maxclients", "40"]);
    let test = test(connect(&server, "--burst 100 --open-for end --json -").run().ok());
    let refused = errors(&test);
    assert!((60..=70).contains(&refused), "{refused} of 100 were turned away");
    assert_eq!(server.calls("ping") + refused, 100);
    assert_eq!(server.info("rejected_connections"), refused);
    let kinds = test["warnings"].as_array().unwrap();
    assert!(kinds.iter().any(|kind| kind["kind"] == "rejected"), "{kinds:?}");
}

/// Connections for which this machine's listening sockets had no room.
fn overflows() -> u64 {
    let text = fs::read_to_string("/proc/net/netstat").unwrap();
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("TcpExt: "));
    let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
    let mut both = names.split(' ').zip(values.split(' '));
    both.find(|(name, _)| *name == "ListenOverflows").unwrap().1.parse().unwrap()
}

#[test]
fn those_beyond_the_backlog_wait_for_a_second_and_are_reported() {
    let server = Server::redis_with(&["--tcp-backlog", "16"]);
    let before = server.info("total_connections_received");
    let line = "--rps 100 --burst 100 -n 600 --open-for end --timeout 60s --json -";
    let running = connect(&server, line).start();
    assert!(within(Duration::from_secs(60), || {
        server.info("total_connections_received") > before + 100
    }));
    let pid = Pid::from_raw(i32::try_from(server.pid()).unwrap()).unwrap();
    let dropped = overflows();
    kill_process(pid, Signal::STOP).unwrap();
    let full = within(Duration::from_secs(20), || overflows() > dropped + 20);
    kill_process(pid, Signal::CONT).unwrap();
    assert!(full, "a burst came while the server accepted nobody");
    let test = test(running.wait().ok());
    assert_eq!((server.calls("ping"), errors(&test)), (600, 0));
    let kinds = test["warnings"].as_array().unwrap();
    assert!(kinds.iter().any(|kind| kind["kind"] == "backlog"), "{kinds:?}");
    let longest = test["connections"]["stages_ms"]["connected"]["max"].as_f64().unwrap();
    assert!(longest >= 950.0, "{longest} ms");
}

/// A way to `port` on which every answer takes so much longer. Where it begins.
fn slow_way(port: u16, delay: Duration) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let own = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let Ok(server) = TcpStream::connect(("127.0.0.1", port)) else { return };
            let ends = [client.try_clone().unwrap(), server.try_clone().unwrap()];
            let [client_end, server_end] = ends;
            thread::spawn(move || pass(client, server, Duration::ZERO));
            thread::spawn(move || pass(server_end, client_end, delay));
        }
    });
    own
}

/// Passes on what comes, each part when it has been on the way for this long.
fn pass(mut from: TcpStream, mut to: TcpStream, delay: Duration) {
    let (arrived, on_the_way) = mpsc::channel::<(Instant, Vec<u8>)>();
    thread::spawn(move || {
        for (at, bytes) in on_the_way {
            elapse((at + delay).saturating_duration_since(Instant::now()));
            if to.write_all(&bytes).is_err() {
                break;
            }
        }
        let _ = to.shutdown(std::net::Shutdown::Write);
    });
    let mut bytes = [0; 16 * 1024];
    while let Ok(n @ 1..) = from.read(&mut bytes) {
        if arrived.send((Instant::now(), bytes[..n].to_vec())).is_err() {
            break;
        }
    }
}

#[test]
fn each_stage_has_the_delay_that_lies_in_it() {
    let secure = TlsServer::with(
        &crate::certificates::Subject::default(),
        &["--tls-auth-clients", "no", "--requirepass", "secret"],
    );
    let delay = Duration::from_millis(40);
    let port = slow_way(secure.port, delay);
    let line = format!(
        "connect -p {port} --tls --cacert {} -a secret -n 20 -c 5 --json -",
        secure.file("ca.crt").display()
    );
    let test = test(Keystorm::new(&line).run().ok());
    let stages = &test["connections"]["stages_ms"];
    for stage in ["tls", "login", "first_reply"] {
        assert_eq!(count_of(&test, stage), 20);
        assert!(stages[stage]["min"].as_f64().unwrap() >= 40.0, "{stage}: {}", stages[stage]);
    }
    let whole = test["latency_ms"]["response"]["min"].as_f64().unwrap();
    assert!(whole >= 120.0, "all of them together: {whole}");
    let first = stages["connected"]["min"].as_f64().unwrap();
    assert!(first < whole - 80.0, "opening is no part of the others: {first}");
    undisturbed("stages of a connection", || {
        let test = crate::deliver::test(Keystorm::new(&line).run().ok());
        let median_ms = |stage| test["connections"]["stages_ms"][stage]["p50"].as_f64().unwrap();
        let stages = ["connected", "tls", "login", "first_reply"].map(median_ms);
        // TLS has arithmetic to do beside.
        let most_ms = [8.0, 60.0, 50.0, 50.0];
        if stages.iter().zip(most_ms).all(|(ms, most_ms)| *ms <= most_ms) {
            Ok(())
        } else {
            Err(format!("{stages:?} ms; in truth 0, 40 and the arithmetic, 40, 40"))
        }
    });
}

#[test]
fn sessions_are_resumed_where_that_is_asked_for() {
    let secure = TlsServer::new();
    let ca = secure.file("ca.crt");
    for (option, resumes) in [("--tls-resume", true), ("", false)] {
        let line = format!(
            "connect -p {} --tls --cacert {} {option} -n 60 -c 2 --json -",
            secure.port,
            ca.display()
        );
        let test = test(Keystorm::new(&line).run().ok());
        let resumed = test["connections"]["tls"]["resumed"].as_u64().unwrap();
        assert_eq!(resumed > 40, resumes, "{option}: {resumed}");
        assert_eq!(count_of(&test, "tls"), 60);
    }
}

#[test]
fn its_word_stands_in_experiments_and_its_figures_in_every_report() {
    let server = Server::redis();
    let dir = tempfile::tempdir().unwrap();
    let saved = dir.path().join("run.json");
    let page = dir.path().join("page.html");
    let line = format!("-n 100 --rps 500 --json {} --html {}", saved.display(), page.display());
    let ran = connect(&server, &line).run().ok();
    for part in ["one connection per request", "  connect  ", "  first reply  "] {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
    assert!(fs::read_to_string(page).unwrap().contains("from due to the first reply"));
    let shown = Keystorm::new(&format!("show --format csv {}", saved.display())).run().ok();
    assert!(shown.out.contains("\"new connections\",\"first reply\",\"100\""), "{}", shown.out);
    let port = server.port();
    let target = "--slo 'p99<60s' --most 40 --start 20 --duration 0.2 --no-curve --repeat 1";
    let search =
        format!("search -p {port} {target} --json {} connect --close reset", saved.display());
    exits_as_answered(&Keystorm::new(&search).run(), &json(&saved));
    let swept = format!("sweep -p {port} -n 20 -c 2,4 connect");
    Keystorm::new(&swept).run().ok().prints("2");
    let ran = connect(&server, "--workload ycsb-b").run().exits(2);
    ran.says("a command cannot be combined with --workload");
    for wrong in ["-P 2", "-k 0", "--cluster", "--retry 1"] {
        let ran = connect(&server, wrong).run().exits(2);
        assert!(ran.err.contains("--connect"), "{wrong}: {}", ran.err);
    }
}
