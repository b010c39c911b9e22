//! What limited a run: each limit made to happen, and read from the report.
//!
//! Verdicts rest on shares of CPU time. So these tests are a program of their own, which Cargo runs
//! when no other is running, and take turns; what the machine does beside that may disturb one run,
//! and eight in a row would not be chance on a quiet one. On a busy one the check is skipped, by name.
#![allow(missing_docs, clippy::unwrap_used)]

#[allow(dead_code, reason = "shared with the other tests")]
#[path = "../e2e/program.rs"]
mod program;
#[allow(dead_code, reason = "shared with the other tests")]
#[path = "../e2e/real_clock.rs"]
mod real_clock;
#[allow(dead_code, reason = "shared with the other tests")]
#[path = "../e2e/server.rs"]
mod server;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::program::{Keystorm, RunOutput};
use crate::server::Server;

/// Waits until no other test has the machine.
fn alone() -> MutexGuard<'static, ()> {
    static MACHINE: Mutex<()> = Mutex::new(());
    MACHINE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The verdict in a report.
fn limited_by(ran: &RunOutput) -> &str {
    let line = ran.out.lines().find_map(|line| {
        let kept = line.strip_prefix("  ").filter(|line| line.starts_with("not saturated: "));
        line.strip_prefix("  limited by: ").or(kept)
    });
    line.unwrap_or_else(|| panic!("no verdict: {ran:?}"))
}

/// Runs until the verdict names this limit and has these words. What else keeps the machine busy may
/// pass meanwhile.
fn reads(limit: &str, words: &[&str], mut run: impl FnMut() -> RunOutput) {
    let mut seen = Vec::new();
    for attempt in 0..8 {
        if attempt > 2 {
            thread::sleep(Duration::from_secs(1));
        }
        let ran = run().ok();
        let text = limited_by(&ran);
        if text.starts_with(&format!("{limit}: ")) && words.iter().all(|word| text.contains(word)) {
            return;
        }
        seen.push(text.to_owned());
    }
    let check = format!("limited by {limit} with {words:?}");
    real_clock::holds_when_quiet(&check, false, format!("{seen:#?}"));
}

fn only(cpu: usize) -> CpuSet {
    let mut set = CpuSet::new();
    set.set(cpu);
    set
}

/// Lets the server's main thread run on this CPU alone.
fn pin(server: &Server, cpu: usize) {
    let pid = Pid::from_raw(server.pid() as i32);
    sched_setaffinity(pid, &only(cpu)).expect("a CPU to pin to");
}

/// Keeps a CPU busy until dropped.
struct BusyLoop(Arc<AtomicBool>);

impl BusyLoop {
    fn on(cpu: usize) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        thread::spawn(move || {
            sched_setaffinity(None, &only(cpu)).expect("a CPU to pin to");
            while !stopped.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        Self(stop)
    }
}

impl Drop for BusyLoop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A command that costs the server much and the client little.
const HEAVY: &str = "bitcount big";

fn prepare_heavy(server: &Server) {
    server.ask(&["SETBIT", "big", "16000000", "1"]);
}

/// A listener that relays to a server and back, `bytes_per_s` in each direction of a connection.
fn slow_link(server: &Server, bytes_per_s: u64) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (port, to) = (listener.local_addr().unwrap().port(), server.port());
    thread::spawn(move || {
        for near in listener.incoming().flatten() {
            let Ok(far) = TcpStream::connect(("127.0.0.1", to)) else { return };
            let (a, b) = (near.try_clone().unwrap(), far.try_clone().unwrap());
            thread::spawn(move || trickle(a, b, bytes_per_s));
            thread::spawn(move || trickle(far, near, bytes_per_s));
        }
    });
    port
}

fn trickle(mut from: TcpStream, mut to: TcpStream, bytes_per_s: u64) {
    let mut chunk = [0; 1024];
    while let Ok(n @ 1..) = from.read(&mut chunk) {
        thread::sleep(Duration::from_nanos(n as u64 * 1_000_000_000 / bytes_per_s));
        if to.write_all(&chunk[..n]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Both);
}

#[test]
fn a_server_beside_a_busy_loop_is_contended_for() {
    let _alone = alone();
    let server = Server::redis();
    prepare_heavy(&server);
    pin(&server, 0);
    let _busy = BusyLoop::on(0);
    reads("contention", &["main thread ", "for a CPU that other programs used"], || {
        server.run(&format!("-c 20 --duration 0.7 {HEAVY}"))
    });
}

#[test]
fn threads_of_a_server_that_share_a_cpu_are_its_limit() {
    let _alone = alone();
    let line = "--spawn=redis-server --spawn-args '--io-threads 4' --server-cpus 0 -c 50 --duration 0.7 -t set";
    reads("server", &["its 4 threads share 1 CPU; main thread ran ", " for a CPU"], || {
        Keystorm::new(line).run()
    });
}

#[test]
fn a_client_on_the_servers_cpu_contends_for_it() {
    let _alone = alone();
    let server = Server::redis();
    pin(&server, 0);
    reads("contention", &["; "], || server.run("-c 50 --duration 0.7 --cpus 0 get k"));
}

#[test]
fn one_connection_is_too_little() {
    let _alone = alone();
    for (_, server) in Server::both() {
        reads("concurrency", &["in flight", "use more connections"], || {
            server.run("-c 1 --duration 0.4 get k")
        });
    }
}

#[test]
fn a_slow_link_is_the_limit() {
    let _alone = alone();
    let server = Server::redis();
    let port = slow_link(&server, 200_000);
    reads("network", &["neither end was busy", "MB/s"], || {
        Keystorm::new(&format!("-p {port} -c 10 -d 20000 --duration 1 -t set")).run()
    });
}

#[test]
fn a_schedule_that_is_kept_is_the_limit() {
    let _alone = alone();
    let server = Server::redis();
    reads("not saturated", &["kept up with 200 requests/s", "main thread"], || {
        server.run("-c 10 --rps 200 --duration 0.7 get k")
    });
}

#[test]
fn a_schedule_beyond_the_server_names_the_server() {
    let _alone = alone();
    let server = Server::redis();
    prepare_heavy(&server);
    reads("server", &[" of 700,000 requests were due and never sent"], || {
        server.run(&format!("-c 20 --rps 1M --duration 0.7 {HEAVY}"))
    });
}

#[test]
fn commands_that_sleep_are_the_servers_doing() {
    let _alone = alone();
    let server = Server::redis_with(&["--enable-debug-command", "yes"]);
    reads("server", &["of the time in commands"], || {
        server.run("-c 4 -n 20 --yes debug sleep 0.02")
    });
}

#[test]
fn a_server_that_forbids_info_is_measured_all_the_same() {
    let _alone = alone();
    let server = Server::redis();
    let blind = "+@all -info -config -client|list";
    let rules = format!("ACL SETUSER blind on >pw ~* {blind}");
    server.ask(&rules.split(' ').collect::<Vec<_>>());
    let line = "--user blind -a pw -c 1 --duration 0.3 get k";
    reads("concurrency", &["the server's CPU is unknown", "INFO", "NOPERM"], || {
        server.run(line).keeps_secret(" pw")
    });
}
