//! Runs that end early: what was measured is printed and marked, and the exit code shows it.

use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use std::{fs, io};

use rustix::fs::{OFlags, fcntl_setfl};
use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGPIPE, SIGTERM};

use crate::program::{PATIENCE, Process, elapse, within};
use crate::record::place;
use crate::server::{KEYSTORM, Server, guarded, start};

/// How soon a run must have ended once it was made to: none of them would end by itself before.
const SOON: Duration = Duration::from_secs(10);

/// Waits until the server has executed some of a run's commands.
fn underway(server: &Server, running: &Process, command: &str) {
    running.until("load runs", |_| server.calls(command) >= 150);
}

#[test]
fn a_server_that_dies_leaves_the_results_so_far() {
    let csv = "--as valkey-benchmark --csv";
    for options in ["", "-q", "--format classic", "--csv", csv, "-P 16 --threads 2", "--rps 500"] {
        let mut server = Server::redis();
        let running =
            server.keystorm(&format!("--duration 30 --reconnect no -c 5 {options} incr k")).start();
        underway(&server, &running, "incr");
        let killed = Instant::now();
        server.kill();
        let ran = running.wait().exits(1);
        assert!(killed.elapsed() < SOON, "{options}");
        let ran = ran.says(&format!("127.0.0.1:{}", server.port()));
        match options {
            "-q" => drop(ran.prints("incr k: ").prints("incomplete")),
            // Who looks for the test by its name finds none, as by redis-benchmark, which prints no row.
            csv if csv.ends_with("--csv") => {
                assert_eq!(ran.out.lines().count(), 2, "{}", ran.out);
                ran.prints("\n\"incr k (incomplete)\",\"");
            }
            _ => {
                assert!(ran.completed().0 > 100, "{}", ran.out);
                ran.prints("INCOMPLETE: ");
            }
        }
    }
}

#[test]
fn a_server_that_shuts_down_leaves_them_too() {
    let server = Server::redis();
    let running = server.keystorm("-n 900000000 -c 5 incr k").start();
    underway(&server, &running, "incr");
    kill_process(Pid::from_raw(server.pid() as i32).unwrap(), Signal::TERM).unwrap();
    let ran = running.wait().exits(1).prints("INCOMPLETE: ");
    assert!(ran.completed().0 > 100);
}

#[test]
fn one_connection_that_is_closed_ends_the_run() {
    let server = Server::redis();
    let running = server.keystorm("-n 900000000 -c 5 incr k").start();
    underway(&server, &running, "incr");
    server.ask(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
    let ran = running.wait().exits(1).prints("INCOMPLETE: ");
    // Closed, or reset if it had sent something meanwhile.
    assert!(ran.err.contains("closed") || ran.err.contains("reset"), "{}", ran.err);
    assert!(ran.completed().0 > 100);
}

#[test]
fn ctrl_c_prints_the_results_so_far() {
    let server = Server::redis();
    let shapes =
        ["-n 900000000 -q", "-n 900000000 --threads 2 -P 4", "--duration 60 --rps 100", "--csv -l"];
    for options in shapes {
        server.ask(&["CONFIG", "RESETSTAT"]);
        let running = server.keystorm(&format!("{options} -c 5 get k")).start();
        underway(&server, &running, "get");
        let asked = Instant::now();
        running.interrupt();
        let ran = running.wait().exits(130);
        assert!(asked.elapsed() < SOON, "{options}");
        match options.contains("-q") {
            true => drop(ran.prints("get k: ").prints("(incomplete: interrupted; ")),
            false if options.contains("--csv") => drop(ran.prints("\"get k (incomplete)\"")),
            false => drop(ran.prints("INCOMPLETE: interrupted")),
        }
    }
}

/// coreutils' `timeout` sends two signals at once, and so do programs that pass a terminal's Ctrl-C on.
#[test]
fn one_request_to_end_that_comes_as_two_signals_leaves_the_results() {
    let server = Server::redis();
    for second in [Signal::TERM, Signal::INT, Signal::HUP] {
        server.ask(&["CONFIG", "RESETSTAT"]);
        let running = server.keystorm("-n 900000000 -q -c 5 get k").start();
        underway(&server, &running, "get");
        let pid = Pid::from_raw(running.pid() as i32).unwrap();
        kill_process(pid, Signal::TERM).unwrap();
        // By then it may be over.
        let _ = kill_process(pid, second);
        running.wait().exits(130).prints("get k: ").prints("interrupted");
    }
}

/// A pipe that another program made non-blocking, and in which there is no room.
fn full_pipe() -> (io::PipeReader, io::PipeWriter) {
    let (reader, mut writer) = io::pipe().unwrap();
    fcntl_setfl(&writer, OFlags::NONBLOCK).unwrap();
    while writer.write(&[b'.'; 4096]).is_ok() {}
    (reader, writer)
}

/// Starts a run that writes there, and waits until it has something to print.
fn printing_to(output: io::PipeWriter, server: &Server, line: &str) -> Child {
    let mut command = guarded(KEYSTORM);
    command.args(["-p", &server.port().to_string()]).args(line.split(' '));
    command.stdin(Stdio::null()).stdout(output).stderr(Stdio::piped());
    let child = start(command).unwrap();
    assert!(within(PATIENCE, || server.calls("ping") >= 300), "{line} does not run");
    child
}

#[test]
fn a_second_request_ends_at_once_what_the_first_did_not() {
    let server = Server::redis();
    let (_reader, writer) = full_pipe();
    let mut child = printing_to(writer, &server, "-n 300 -q ping");
    let pid = Pid::from_child(&child);
    let waits_for_another = || {
        let tasks = fs::read_dir(format!("/proc/{}/task", child.id())).unwrap();
        let mut names =
            tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("comm")).ok());
        !names.any(|name| name.trim() == "signals")
    };
    assert!(!waits_for_another());
    kill_process(pid, Signal::TERM).unwrap();
    assert!(within(PATIENCE, waits_for_another), "the first is not noticed");
    assert_eq!(child.try_wait().unwrap(), None, "there is nobody who reads its results");
    kill_process(pid, Signal::TERM).unwrap();
    let ended = within(PATIENCE, || !matches!(child.try_wait(), Ok(None)));
    let _ = child.kill();
    assert!(ended, "it goes on");
    assert_eq!(child.wait().unwrap().code(), Some(128 + SIGTERM));
}

#[test]
fn a_non_blocking_output_that_is_full_is_waited_for() {
    let server = Server::redis();
    // PING in two ways, and SET.
    for (line, titles) in
        [("-n 300 -t ping,set", "====== PING_MBULK ======"), ("-n 300 -t ping,set -q", "SET: ")]
    {
        server.ask(&["CONFIG", "RESETSTAT"]);
        let (mut reader, writer) = full_pipe();
        let child = printing_to(writer, &server, &format!("--as redis-benchmark {line}"));
        let mut out = String::new();
        reader.read_to_string(&mut out).unwrap();
        let output = child.wait_with_output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{line}: {err}");
        let printed = out.trim_start_matches('.');
        assert_eq!(printed.matches(titles).count(), 1, "{line}: {printed}");
        assert_eq!(server.calls("set"), 300, "{line}");
    }
}

#[test]
fn a_non_blocking_input_without_anything_yet_is_waited_for() {
    let server = Server::redis();
    let (reader, mut writer) = io::pipe().unwrap();
    fcntl_setfl(&reader, OFlags::NONBLOCK).unwrap();
    let mut command = guarded(KEYSTORM);
    command.args(["-p", &server.port().to_string(), "-n", "1", "-q", "-x", "set", "k"]);
    command.stdin(reader).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = start(command).unwrap();
    elapse(Duration::from_millis(300));
    writer.write_all(b"a value").unwrap();
    drop(writer);
    let output = child.wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{err}");
    assert_eq!(server.text(&["GET", "k"]), "a value");
}

/// A run ends when it was interrupted, not with its last reply: what it was interrupted for shows.
#[test]
fn an_interrupted_run_tells_of_the_silence_before() {
    let server = Server::redis();
    let pid = Pid::from_raw(server.pid() as i32).unwrap();
    for options in ["--rps 200", ""] {
        server.ask(&["CONFIG", "RESETSTAT"]);
        let running = server.keystorm(&format!("--duration 600 -c 5 {options} incr k")).start();
        underway(&server, &running, "incr");
        kill_process(pid, Signal::STOP).unwrap();
        elapse(Duration::from_millis(1500));
        running.interrupt();
        let ran = running.wait().exits(130).prints("INCOMPLETE: interrupted after ");
        kill_process(pid, Signal::CONT).unwrap();
        assert!(ran.out.contains("Outages"), "{options}: {}", ran.out);
        let silent = ran.out.split("nothing succeeded for ").nth(1);
        let silent_s = silent.and_then(|rest| rest.split(' ').next()?.parse::<f64>().ok());
        assert!(silent_s.is_some_and(|s| s > 1.4), "{options}: {}", ran.out);
    }
}

/// Ten seconds are given to the last replies of a run by time, whether or not it reconnects.
#[test]
fn a_server_that_falls_silent_does_not_hold_up_the_end() {
    let server = Server::redis();
    let pid = Pid::from_raw(server.pid() as i32).unwrap();
    let runs: Vec<Process> = ["no", "yes"]
        .map(|reconnect| {
            let line = format!("--duration 1 --reconnect {reconnect} -c 5 incr k");
            let running = server.keystorm(&line).start();
            running.until("load runs", |_| server.calls("incr") >= 150);
            running
        })
        .into();
    kill_process(pid, Signal::STOP).unwrap();
    let stopped = Instant::now();
    for running in runs {
        running.wait();
    }
    assert!(stopped.elapsed() < Duration::from_secs(60), "{:?}", stopped.elapsed());
    kill_process(pid, Signal::CONT).unwrap();
}

#[test]
fn ctrl_c_in_a_warm_up_and_in_a_suite_ends_everything() {
    let server = Server::redis();
    let running = server.keystorm("--warmup 60 --duration 1 -q get k").start();
    underway(&server, &running, "get");
    running.interrupt();
    running.wait().exits(130).says("interrupted");
    let running = server.keystorm("-t set,get,incr -n 20000 --rps 20000 -q").start();
    running.until("is in its second test", |r| r.out().contains("SET: "));
    running.interrupt();
    let ran = running.wait().exits(130).prints("SET: ");
    assert!(!ran.out.contains("INCR: "), "{}", ran.out);
}

#[test]
fn a_closed_standard_output_ends_it_as_sigpipe_does() {
    let server = Server::redis();
    let port = server.port().to_string();
    let line = format!("-p {port} -n 2000 -t ping,set,get -l");
    for args in [format!("{line} -q"), line.clone(), format!("{line} --csv"), "--help".into()] {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let mut command = guarded(KEYSTORM);
        command.args(args.split(' '));
        command.stdin(Stdio::null()).stdout(writer).stderr(Stdio::piped());
        let mut child = start(command).unwrap();
        let ended = within(PATIENCE, || !matches!(child.try_wait(), Ok(None)));
        let _ = child.kill();
        let output = child.wait_with_output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(ended, "{args} goes on; said {err:?}");
        assert!(!err.contains("standard output") && !err.contains("panicked"), "{args}: {err}");
        assert_eq!(output.status.signal(), Some(SIGPIPE), "{args}");
    }
}

#[test]
fn a_disk_that_is_full_is_reported_as_such() {
    let server = Server::redis();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = guarded(KEYSTORM);
    command.args(["-p", &server.port().to_string(), "-n", "10", "-q", "get", "k"]);
    command.stdin(Stdio::null()).stdout(full).stderr(Stdio::piped());
    let output = start(command).unwrap().wait_with_output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(err.contains("No space left") && !err.contains("panicked"), "{err}");
}

#[test]
fn results_are_in_their_files_although_nobody_reads_standard_output() {
    let server = Server::redis();
    let (dir, file) = place();
    server.run(&format!("--json {} -q -n 100 -t set,get", file.display())).ok();
    let (saved, port) = (file.display(), server.port());
    let folder = dir.path().display();
    for (number, command) in [
        format!("compare {saved} {saved}"),
        format!("compare {saved} {saved} --format csv"),
        format!("history {folder}"),
        format!("sweep -p {port} -n 50 -c 1,2 -t get"),
    ]
    .into_iter()
    .enumerate()
    {
        let at = |ending: &str| dir.path().join(format!("{number}.{ending}"));
        let (page, json) = (at("html"), at("txt"));
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let mut running = guarded(KEYSTORM);
        running.args(command.split(' ')).arg("--html").arg(&page).arg("--json").arg(&json);
        running.stdin(Stdio::null()).stdout(writer).stderr(Stdio::piped());
        let output = start(running).unwrap().wait_with_output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.signal(), Some(SIGPIPE), "{command}: {err}");
        let page = fs::read_to_string(&page).unwrap_or_default();
        assert!(page.trim_end().ends_with("</html>"), "{command} left no page: {err}");
        let json = fs::read(&json).unwrap_or_default();
        let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
        assert!(json["schema"].as_str().unwrap().starts_with("keystorm."), "{command}");
    }
}
