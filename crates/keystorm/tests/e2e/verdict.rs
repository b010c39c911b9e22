//! What limited a run: each limit made to happen, and read from the report.
//!
//! Verdicts rest on shares of CPU time, and the machine may be busy with something else just then.
//! Three runs in a row would not be chance.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use host::{Address, Client, Patience};
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::mask::masked;
use crate::program::{Keystorm, Ran, within};
use crate::server::{Server, called};

/// The verdict in a report.
fn limited_by(ran: &Ran) -> &str {
    let line = ran.out.lines().find_map(|line| line.strip_prefix("  limited by: "));
    line.unwrap_or_else(|| panic!("no verdict: {ran:?}"))
}

/// Runs until the verdict names this limit and has these words; three times at most.
fn reads(limit: &str, words: &[&str], mut run: impl FnMut() -> Ran) {
    let mut seen = Vec::new();
    for _ in 0..3 {
        let ran = run().ok();
        let text = limited_by(&ran);
        if text.starts_with(&format!("{limit}: ")) && words.iter().all(|word| text.contains(word)) {
            return;
        }
        seen.push(text.to_owned());
    }
    panic!("not {limit:?} with {words:?} but {seen:#?}");
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
fn a_server_beside_a_busy_loop_is_the_limit() {
    let server = Server::redis();
    prepare_heavy(&server);
    pin(&server, 0);
    let _busy = BusyLoop::on(0);
    reads("server", &["main thread ", "waiting for a CPU"], || {
        server.run(&format!("-c 20 --duration 0.7 {HEAVY}"))
    });
}

#[test]
fn a_client_on_the_servers_cpu_is_the_limit() {
    let server = Server::redis();
    pin(&server, 0);
    reads("client", &["; "], || server.run("-c 50 --duration 0.7 --cpus 0 get k"));
}

#[test]
fn one_connection_is_too_little() {
    for (_, server) in Server::both() {
        reads("concurrency", &["in flight", "use more connections"], || {
            server.run("-c 1 --duration 0.4 get k")
        });
    }
}

#[test]
fn a_slow_link_is_the_limit() {
    let server = Server::redis();
    let port = slow_link(&server, 200_000);
    reads("network", &["neither end was busy", "MB/s"], || {
        Keystorm::new(&format!("-p {port} -c 10 -d 20000 --duration 1 -t set")).run()
    });
}

#[test]
fn errors_are_told_before_anything_else() {
    let server = Server::redis();
    server.ask(&["SET", "k", "v"]);
    let line = "-n 300 -c 5";
    let counted = server.run(&format!("--on-error count {line} lpush k v")).ok();
    assert!(limited_by(&counted).starts_with("errors: 100 % of 300 requests"), "{counted:?}");
    let stopped = server.run(&format!("{line} get k ';' get k ';' lpush k v")).exits(1);
    assert!(limited_by(&stopped).starts_with("errors: an error ended the test"), "{stopped:?}");
}

#[test]
fn a_schedule_that_is_kept_is_the_limit() {
    let server = Server::redis();
    reads("schedule", &["the 200/s asked for were sent", "main thread"], || {
        server.run("-c 10 --rps 200 --duration 0.7 get k")
    });
}

#[test]
fn a_schedule_beyond_the_server_names_the_server() {
    let server = Server::redis();
    prepare_heavy(&server);
    reads("server", &[" of 1,000,000/s were answered"], || {
        server.run(&format!("-c 20 --rps 1M --duration 0.7 {HEAVY}"))
    });
}

#[test]
fn commands_that_sleep_are_the_servers_doing() {
    let server = Server::redis_with(&["--enable-debug-command", "yes"]);
    reads("server", &["of the time in commands"], || server.run("-c 4 -n 20 debug sleep 0.02"));
}

#[test]
fn a_server_that_forbids_info_is_measured_all_the_same() {
    let server = Server::redis();
    let blind = "+@all -info -config -client|list";
    let rules = format!("ACL SETUSER blind on >pw ~* {blind}");
    server.ask(&rules.split(' ').collect::<Vec<_>>());
    let line = "--user blind -a pw -c 1 --duration 0.3 get k";
    reads("concurrency", &["the server's CPU is not known", "INFO", "NOPERM"], || {
        server.run(line).keeps_secret(" pw")
    });
}

#[test]
fn what_is_not_a_server_of_data_is_judged_by_the_client_alone() {
    let socket = tempfile::Builder::new().prefix("ks").tempdir().unwrap();
    let socket = socket.path().join("s").display().to_string();
    let sink = Keystorm::new(&format!("sink --unix {socket}")).start();
    sink.until("listens", |r| r.out().contains("Ctrl-C"));
    let ran = Keystorm::new(&format!("-s {socket} -c 1 --duration 0.3 get k")).run().ok();
    assert!(limited_by(&ran).contains("CPU is not known (its INFO does not tell)"), "{ran:?}");
    sink.interrupt();
    sink.wait().ok();
}

#[test]
fn each_thing_that_spoils_a_run_is_a_warning() {
    let server = Server::redis();
    let running = server.keystorm("-c 4 --rps 200 --duration 1.5 get k").start();
    running.until("load runs", |_| server.calls("get") > 0);
    let mut monitor =
        Client::connect(&Address::Unix(server.socket()), Patience::default()).unwrap();
    monitor.ask(&[b"MONITOR"]).unwrap();
    server.ask(&["BGSAVE"]);
    server.ask(&["CONFIG", "SET", "appendfsync", "always"]);
    for _ in 0..100 {
        server.ask(&["LLEN", "l"]);
    }
    let ran = running.wait().ok();
    let ran = ran.prints("  warning: the server saved its data set during the test");
    let ran = ran.prints("  warning: 1 client uses MONITOR");
    let ran = ran.prints("  warning: other clients sent 10");
    ran.prints("  warning: the server's appendfsync was changed during the test from");
}

#[test]
fn evictions_are_a_warning_and_a_quiet_server_has_none() {
    let server = Server::redis();
    let ran = server.run("-c 4 -n 3000 get k").ok();
    assert!(
        !ran.out.contains("warning: the server") && !ran.out.contains("other clients"),
        "{ran:?}"
    );
    server.ask(&["CONFIG", "SET", "maxmemory", "2mb"]);
    server.ask(&["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"]);
    let ran = server.run("-c 4 -n 5000 -r 1000000 -d 1000 -t set").ok();
    ran.prints("  warning: the server evicted ");
}

#[test]
fn what_scripts_read_is_left_as_it_is() {
    let server = Server::redis();
    for format in ["-q", "--csv"] {
        let ran = server.run(&format!("{format} -n 500 -t set")).ok();
        assert!(!ran.out.contains("limited by"), "{ran:?}");
        ran.says("SET: limited by: ");
    }
    let (_dir, link) = called("redis-benchmark");
    let ran = server.keystorm("-n 500 -t set").called(link).run().ok();
    assert!(!masked(&ran.out).contains("limited by"), "{ran:?}");
    ran.says("SET: limited by: ");
}

#[test]
fn sampling_looks_once_a_second_while_load_runs() {
    let server = Server::redis();
    for (option, looked) in [("", false), ("--sample", true)] {
        let line = format!("-c 2 --rps 100 --duration 2.5 {option} get k");
        let running = server.keystorm(&line).start();
        running.until("load runs", |_| server.calls("get") > 0);
        // The clients that are there now: the load's, ours, and the one that looks.
        let seen = within(Duration::from_millis(1800), || {
            server.text(&["CLIENT", "LIST"]).contains("cmd=info ")
        });
        assert_eq!(seen, looked, "{option:?}");
        running.wait().ok();
    }
}
