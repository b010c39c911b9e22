//! Limits of the server and of this machine.

use std::time::Duration;

use crate::program::Keystorm;
use crate::server::{KEYSTORM, Server};

#[test]
fn a_full_server_is_reported() {
    let server = Server::redis_with(&["--maxclients", "10"]);
    let ran = server.run("-n 1000 -c 50 -q get k").exits(1);
    ran.says("max number of clients").says("-c").says("maxclients");
    server.run("-n 1000 -c 50 --threads 3 -q get k").exits(1).says("max number of clients");
    server.run("-I -c 50").exits(1).says("max number of clients");
    // A server notices that clients are gone when it next looks.
    while server.info("connected_clients") > 1 {
        std::thread::sleep(Duration::from_millis(10));
    }
    server.run("-n 1000 -c 5 -q get k").ok();
}

#[test]
fn too_few_files_are_reported_before_the_run() {
    let server = Server::redis();
    let line = format!("exec {KEYSTORM} -p {} -c 100 -n 1000 -q get k", server.port());
    let hard = Keystorm::exec("sh", ["-c", &format!("ulimit -n 64; {line}")]).run().exits(1);
    hard.says("100 connections (-c)").says("ulimit -n");
    // A soft limit is ours to raise.
    let soft = Keystorm::exec("sh", ["-c", &format!("ulimit -S -n 64; {line}")]);
    soft.run().ok();
    assert_eq!(server.calls("get"), 1000);
    // The lines to clients take files, too.
    let line = line.replace("-c 100", "-c 20 --on local:20");
    let hard = Keystorm::exec("sh", ["-c", &format!("ulimit -n 64; {line}")]).run().exits(2);
    hard.says("--on local:20: 20 clients need 92 open files").says("ulimit -n 92");
    Keystorm::exec("sh", ["-c", &format!("ulimit -S -n 64; {line}")]).run().ok();
    assert_eq!(server.calls("get"), 2000);
}

#[test]
fn a_server_out_of_memory_is_reported() {
    let server = Server::redis_with(&["--maxmemory", "1"]);
    server.run("-n 100 -q -t set").exits(1).says("Error from server: OOM").says("maxmemory");
}

#[test]
fn more_threads_than_connections_are_no_fault() {
    let server = Server::redis();
    server.run("-n 100 -c 2 --threads 8 -q incr k").ok();
    assert_eq!(server.calls("incr"), 100);
}
