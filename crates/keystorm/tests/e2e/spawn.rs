//! `--spawn`: a private server that is there for the run and gone afterwards.

use std::fs;
use std::net::SocketAddr;

use host::{Address, Client, Patience};
use tempfile::TempDir;
use wire::resp::Value;

use crate::program::{Keystorm, PATIENCE, Process, RunOutput, within};
use crate::server::valkey_program;

/// A place for temporary files that can be looked at afterwards; short, for socket paths.
fn place() -> TempDir {
    tempfile::Builder::new().prefix("ks").tempdir_in("/tmp").unwrap()
}

fn keystorm(place: &TempDir, line: &str) -> Keystorm {
    Keystorm::new(line).env("TMPDIR", place.path())
}

/// Checks that nothing of a spawned server is left.
#[track_caller]
fn left_nothing(place: &TempDir, err: &str) {
    let names: Vec<_> = fs::read_dir(place).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(names.is_empty(), "{names:?} is left");
    if let Some(address) = address(err) {
        assert!(Client::connect(&address, Patience::default()).is_err(), "{address} is left");
    }
}

/// Where the server is that keystorm says it has started.
fn address(err: &str) -> Option<Address> {
    // A line that is still being written has no end yet.
    let mut lines = err.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
    let line = lines.find(|line| line.starts_with("Started "))?;
    let place = line.rsplit(' ').next()?;
    Some(match place.parse::<SocketAddr>() {
        Ok(tcp) => Address::Tcp(tcp),
        Err(_) => Address::Unix(place.into()),
    })
}

fn run(line: &str) -> RunOutput {
    let place = place();
    let ran = keystorm(&place, line).run();
    left_nothing(&place, &ran.err);
    ran
}

/// Waits until load runs, and gives the pid of the server.
fn server_of(running: &Process) -> u32 {
    running.until("starts a server", |r| address(&r.err()).is_some());
    let address = address(&running.err()).unwrap();
    let mut client = Client::connect(&address, Patience::default()).unwrap();
    let info = client.ask(&[b"INFO", b"server"]).unwrap().text().unwrap();
    let pid = info.lines().find_map(|line| line.strip_prefix("process_id:")).unwrap();
    let mut executed = || -> u64 {
        let info = client.ask(&[b"INFO", b"stats"]).unwrap().text().unwrap();
        let line = info.lines().find_map(|line| line.strip_prefix("total_commands_processed:"));
        line.unwrap().parse().unwrap()
    };
    let before = executed();
    let grown = || executed() > before + 1000;
    assert!(within(PATIENCE, grown), "no load runs");
    pid.parse().unwrap()
}

/// Whether a process runs. One that nobody has asked about since it ended does not.
fn runs(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
}

#[test]
fn a_server_is_started_measured_and_gone() {
    let ran = run("--spawn -n 500 -q -t set,get").ok().prints("SET: ").prints("GET: ");
    assert!(ran.err.starts_with("Started "), "{}", ran.err);
    let redis = run("--spawn=redis-server -n 500 -q ping").ok().says("Started redis ");
    assert!(redis.err.contains(" on 127.0.0.1:"), "{}", redis.err);
    let version = redis.err.split(' ').nth(2).unwrap();
    assert!(version.split('.').count() == 3, "{}", redis.err);
    let valkey = format!("--spawn={}", valkey_program().display());
    run(&format!("{valkey} -n 500 -q -t fcall")).ok().says("Started valkey ");
}

#[test]
fn a_spawned_server_may_listen_on_a_unix_socket() {
    let ran = run("--spawn=redis-server --spawn-unix -n 500 -q ping").ok();
    assert!(matches!(address(&ran.err), Some(Address::Unix(_))), "{}", ran.err);
}

#[test]
fn a_spawned_server_takes_arguments_and_keeps_nothing() {
    let ran =
        run("--spawn=redis-server --spawn-args '--maxmemory 100mb' -n 10 config get maxmemory");
    ran.ok().prints(", save \"\", appendonly no\n");
    let place = place();
    let args = "--spawn=redis-server --spawn-args '--maxmemory 100mb --databases 3'";
    let running = keystorm(&place, &format!("{args} --duration 20 -q --dbnum 2 ping")).start();
    server_of(&running);
    let address = address(&running.err()).unwrap();
    let mut client = Client::connect(&address, Patience::default()).unwrap();
    let reply = client.ask(&[b"CONFIG", b"GET", b"maxmemory"]).unwrap();
    let Value::Array(items) = reply else { panic!("{reply:?}") };
    assert_eq!(items[1].text().as_deref(), Some("104857600"));
    running.interrupt();
    left_nothing(&place, &running.wait().exits(130).err);
}

#[test]
fn a_server_with_a_password_is_logged_in_to() {
    let args = "--spawn=redis-server --spawn-args '--requirepass s3cr3t'";
    run(&format!("{args} -a s3cr3t -n 100 -q ping")).ok().keeps_secret("s3cr3t");
    run(&format!("{args} -n 100 -q ping")).exits(1).says("NOAUTH").keeps_secret("s3cr3t");
}

#[test]
fn ctrl_c_ends_the_server_after_the_results() {
    let place = place();
    let running = keystorm(&place, "--spawn=redis-server --duration 30 -q ping").start();
    let server = server_of(&running);
    running.interrupt();
    let ran = running.wait().exits(130).prints("interrupted");
    assert!(!runs(server));
    left_nothing(&place, &ran.err);
}

#[test]
fn a_killed_keystorm_takes_its_server_along() {
    let place = place();
    for options in ["", "--spawn-unix"] {
        let line = format!("--spawn=redis-server {options} --duration 30 -q ping");
        let running = keystorm(&place, &line).start();
        let server = server_of(&running);
        running.kill();
        assert!(within(PATIENCE, || !runs(server)), "the server is left");
        running.wait();
    }
    // Who is killed cannot clean up; the next one does.
    let ran = keystorm(&place, "--spawn=redis-server -n 10 -q ping").run().ok();
    left_nothing(&place, &ran.err);
}

#[test]
fn a_second_ctrl_c_leaves_no_server_either() {
    let place = place();
    let running = keystorm(&place, "--spawn=redis-server --duration 30 -q ping").start();
    let server = server_of(&running);
    running.interrupt();
    running.interrupt_again();
    assert_eq!(running.wait().code, Some(130));
    assert!(within(PATIENCE, || !runs(server)), "the server is left");
}

#[test]
fn a_spawned_server_that_dies_is_reported_and_cleaned_up_after() {
    let place = place();
    let running = keystorm(&place, "--spawn=redis-server --duration 30 -q ping").start();
    let pid = rustix::process::Pid::from_raw(server_of(&running) as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let ran = running.wait().exits(1).prints("incomplete");
    left_nothing(&place, &ran.err);
}

#[test]
fn a_server_that_cannot_be_started_is_reported() {
    run("--spawn=no-such-server -n 1 ping").exits(1).says("no-such-server").says("PATH");
    run("--spawn=/no/such/server -n 1 ping").exits(1).says("/no/such/server");
    run("--spawn=redis-server --spawn-args '--port 1' -n 1 ping").exits(1).says("--port");
    let wrong = "--spawn=redis-server --spawn-args '--no-such-option 1' -n 1 ping";
    run(wrong).exits(1).says("ended before it was ready").says("no-such-option");
    run("--spawn=/bin/true -n 1 ping").exits(1).says("ended before it was ready");
    run("--spawn --spawn-args \"'\" -n 1 ping").exits(2).says("--spawn-args");
    let place = place();
    let nowhere = keystorm(&place, "--spawn -n 1 ping").env("PATH", "/nonexistent").run();
    nowhere.exits(1).says("valkey-server").says("redis-server").says("make setup");
}
