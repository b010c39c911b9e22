//! The live line: only where somebody watches.

use std::process::Command;

use crate::program::{Keystorm, RunOutput};
use crate::real_clock::holds_when_quiet;
use crate::server::{KEYSTORM, Server};

/// Runs keystorm with a terminal as its standard output (`script` of util-linux).
fn watched(server: &Server, line: &str) -> RunOutput {
    watched_as(KEYSTORM, server, line)
}

/// The same by another name.
fn watched_as(program: &str, server: &Server, line: &str) -> RunOutput {
    assert!(Command::new("script").arg("--version").output().is_ok(), "util-linux is missing");
    let command = format!("{program} -p {} {line}", server.port());
    Keystorm::exec("script", ["-qec", &command, "/dev/null"]).run().ok()
}

#[test]
fn a_terminal_sees_what_runs_how_far_it_is_and_the_time_left() {
    let server = Server::redis();
    let ran = watched(&server, "-q -t set,get --duration 1");
    let ran = ran.prints("\r").prints("SET: rps=").prints("(overall: ").prints("avg_msec=");
    let ran = ran.prints(" seconds p50=").prints(" p99=").prints(" msec errors=0 [1/2, ");
    let ran = ran.prints(" errors=0 [2/2, ").prints(" s left]");
    assert!(!ran.out.contains("nan") && !ran.out.contains("inf"), "{:?}", ran.out);
    for result in ["SET: ", "GET: "] {
        let found = ran.out.split(['\r', '\n']).any(|line| {
            line.trim_start().starts_with(result) && line.contains(" requests per second, p50=")
        });
        assert!(found, "{:?}", ran.out);
    }
    let ran = watched(&server, "--rps 1000 -n 1000 get k");
    ran.prints("get k: rps=").prints(" requests p50=").prints(" %");
    let errors = "--on-error count --rps 1000 --duration 0.6";
    let ran = watched(&server, &format!("{errors} lpush key:__rand_int__ x"));
    assert!(ran.out.contains(" errors=") && !ran.out.contains(" errors=0"), "{:?}", ran.out);
}

#[test]
fn the_line_moves_once_a_second_and_keeps_to_its_width() {
    let server = Server::redis();
    let line = "--rps 2000 --duration 3 get user:__rand_int__:with:a:name:of:some:length";
    let ran = watched(&server, line);
    let lines = ran.out.matches(": rps=").count();
    // At 0.25, 1, 2 and 3 s, and once more where the last reply came after the end.
    assert!((3..=5).contains(&lines), "{lines}: {:?}", ran.out);
    let command = format!("sh -c 'stty cols 80 && {KEYSTORM} -p {} {line}'", server.port());
    let ran = Keystorm::exec("script", ["-qec", &command, "/dev/null"]).run().ok();
    let shown: Vec<&str> = ran.out.split(['\r', '\n']).filter(|l| l.contains(": rps=")).collect();
    assert!(!shown.is_empty(), "{:?}", ran.out);
    for line in shown {
        assert!(
            line.chars().count() < 80 && line.contains(" p99=") && line.contains(" %"),
            "{line}"
        );
    }
}

#[test]
fn under_a_peers_name_the_line_is_the_peers() {
    let server = Server::redis();
    let dir = tempfile::tempdir().unwrap();
    for (name, end) in [("redis-benchmark", ")"), ("valkey-benchmark", " seconds")] {
        let path = dir.path().join(name);
        std::os::unix::fs::symlink(KEYSTORM, &path).unwrap();
        let line = "--rps 2000 --duration 1 get k";
        let ran = watched_as(&path.display().to_string(), &server, line);
        let shown: Vec<&str> = ran.out.split('\r').filter(|l| l.contains(": rps=")).collect();
        // Every quarter of a second.
        assert!(!shown.is_empty(), "{:?}", ran.out);
        holds_when_quiet("lines of a second", (3..=5).contains(&shown.len()), &ran.out);
        for line in shown {
            assert!(line.starts_with("get k: rps=") && line.trim_end().ends_with(end), "{line}");
            assert!(!line.contains("p99") && !line.contains('['), "{line}");
        }
    }
}

#[test]
fn a_warm_up_is_called_one() {
    let server = Server::redis();
    watched(&server, "-q --warmup 0.6 --duration 0.6 get k").prints("Warming up get k: rps=");
}

#[test]
fn a_table_is_not_disturbed() {
    let server = Server::redis();
    let ran = watched(&server, "--csv -t get --duration 0.6");
    assert!(!ran.out.contains("rps="), "{:?}", ran.out);
}

#[test]
fn idle_connections_are_counted_on_one_line() {
    let server = Server::redis();
    let command = format!("timeout -s INT 60 {KEYSTORM} -p {} -I -c 3", server.port());
    let running = Keystorm::exec("script", ["-qec", &command, "/dev/null"]).start();
    running.until("they are counted", |running| running.out().contains("clients: 3\r"));
}

#[test]
fn a_pipe_gets_only_lines() {
    let server = Server::redis();
    for line in ["-q", "", "--format classic", "--csv"] {
        let ran = server.run(&format!("{line} -t set --duration 0.6")).ok();
        assert!(!ran.out.contains('\r') && !ran.out.contains("rps="), "{line}: {:?}", ran.out);
        assert_eq!(ran.err_but_verdicts(), "", "{line}");
    }
}

#[test]
fn a_log_gets_rows_and_what_stood_out() {
    let server = Server::redis();
    let line = "-q --rps 1000 --duration 3.2 --progress 1s get k";
    let ran = server.run(line).ok();
    let rows: Vec<&str> =
        ran.err.lines().filter(|line| line.contains(" of 1000 requests/s, p50 ")).collect();
    assert!((2..=4).contains(&rows.len()), "{}", ran.err);
    assert!(rows.iter().all(|row| row.contains(" get k: ") && row.contains(", behind ")));
    assert!(!ran.out.contains("requests/s, p50"), "{}", ran.out);
    // A stopped server is silent, and answers again.
    let running = server.keystorm("-q --rps 1000 --duration 600 --progress 1s get k").start();
    running.until("load runs", |_| server.calls("get") > 3500);
    let pid = rustix::process::Pid::from_raw(i32::try_from(server.pid()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    running.until("the silence is told", |running| running.err().contains("nothing answered for "));
    rustix::process::kill_process(pid, rustix::process::Signal::CONT).unwrap();
    running.until("the end of it, too", |running| running.err().contains("answers again, after "));
    running.interrupt();
    running.wait().exits(130);
}

#[test]
fn sentences_keep_to_the_width_of_the_terminal() {
    let server = Server::redis();
    let line = "--rps 500 --duration 0.6 get k";
    let command = format!("sh -c 'stty cols 60 && {KEYSTORM} -p {} {line}'", server.port());
    let ran = Keystorm::exec("script", ["-qec", &command, "/dev/null"]).run().ok();
    let lines = ran
        .out
        .split(['\r', '\n'])
        .skip_while(|line| !line.contains("limited by: ") && !line.contains("not saturated: "));
    let lines: Vec<&str> = lines.take(3).collect();
    assert!(lines.iter().all(|line| line.chars().count() <= 60), "{lines:?}");
}

#[test]
fn an_error_of_the_command_line_keeps_to_the_width_of_the_terminal() {
    let describe = |line: &str| {
        let command = format!("sh -c 'stty cols 60 && {KEYSTORM} {line}; true'");
        Keystorm::exec("script", ["-qec", &command, "/dev/null"]).run().ok().out
    };
    let own = describe("--name x -t set,get");
    assert!(own.contains("--name works with a single test only"), "{own:?}");
    assert!(own.lines().all(|line| line.trim_end().chars().count() <= 60), "{own:?}");
    let by_peer = describe("--as redis-benchmark --name x -t set,get");
    assert!(by_peer.lines().any(|line| line.trim_end().chars().count() > 60), "{by_peer:?}");
}

#[test]
fn a_sweep_says_which_point_of_how_many_it_measures() {
    let server = Server::redis();
    let command = "--duration 1 -t get -c 1,2,3 --repeat 2";
    let command = format!("{KEYSTORM} sweep -p {} {command}", server.port());
    let ran = Keystorm::exec("script", ["-qec", &command, "/dev/null"]).run();
    for place in ["round 1 of 2, point 1 of 3: -c 1 GET", "round 2 of 2, point 3 of 3: -c 3 GET"] {
        assert!(ran.out.contains(place), "{place}: {:?}", ran.out);
    }
}
