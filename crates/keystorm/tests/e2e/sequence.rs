//! Commands of the user's own: where they begin, and several in a row.

use crate::program::Keystorm;
use crate::server::{Server, called, calls};

#[test]
fn a_command_may_have_options_of_its_own() {
    let server = Server::redis();
    server.run("-q -n 10 set k v EX 100 -q").exits(1).says("syntax error");
    server.run("-q -n 10 -- echo -n").ok();
    server.run("-q -n 10 echo -n").ok();
    assert_eq!(server.calls("echo"), 20);
}

#[test]
fn several_commands_go_out_in_order() {
    let server = Server::valkey();
    let line = "-q -n 400 -c 1 multi ';' 2 rpush l a ';' exec";
    server.run(line).ok();
    assert_eq!(server.counts(), calls([("multi", 100), ("rpush", 200), ("exec", 100)]));
    assert_eq!(server.number(&["LLEN", "l"]), 200);
}

#[test]
fn a_sequence_is_titled_by_what_was_typed() {
    let server = Server::redis();
    let ran = server.run("-q -n 10 set k v ';' 2 get k").ok();
    assert!(ran.out.starts_with("set k v ; 2 get k: "), "{}", ran.out);
    assert_eq!(ran.out.lines().count(), 1, "only a suite ends in a blank line");
}

#[test]
fn empty_commands_are_passed_over_as_in_the_peer() {
    let server = Server::redis();
    for line in ["-- ';' get k", "get k ';'", "get k ';' ';' get k"] {
        server.ask(&["CONFIG", "RESETSTAT"]);
        server.run(&format!("-q -n 10 {line}")).ok();
        assert_eq!(server.counts(), calls([("get", 10)]), "{line}");
    }
}

#[test]
fn no_command_at_all_and_absurd_repeats_are_usage_errors() {
    let server = Server::redis();
    for line in ["-- ';'", "-- 5", "99999999 get k", "99999999999999999999 get k", "5x get k"] {
        let ran = server.run(&format!("-q -n 10 {line}")).exits(2);
        assert!(!ran.err.is_empty(), "{line}");
    }
    assert_eq!(server.counts(), calls([]));
}

#[test]
fn names_of_subcommands_can_still_be_sent() {
    let server = Server::redis();
    let args = format!("-p {} -n 10 -- compare", server.port());
    Keystorm::new(&args).run().exits(1).says("Error from server: ERR unknown command");
    // Called by a peer's name it has no subcommands.
    let (_dir, link) = called("redis-benchmark");
    let args = ["-p", &server.port().to_string(), "-n", "10", "-q", "ping"].map(str::to_owned);
    Keystorm::exec(link, args).run().ok();
    assert_eq!(server.calls("ping"), 10);
}

#[test]
fn the_name_of_a_subcommand_is_a_command_behind_a_mark_and_under_a_peer_s_name() {
    let server = Server::redis();
    server.run("-n 10 compare").exits(2).says("keystorm compare ...");
    server.run("-n 10 -- compare").exits(1).says("unknown command");
    server.run("--as redis-benchmark -n 10 compare").exits(1).says("unknown command");
}

#[test]
fn repeats_of_a_command_take_the_memory_of_one() {
    let (server, dir) = (Server::redis(), tempfile::tempdir().unwrap());
    let file = dir.path().join("run.json");
    let line = format!("-c 1 -n 65536 -q --json {} -- 65535 ping ';' get k", file.display());
    server.keystorm(&line).within_memory(2 << 30).run().ok();
    assert_eq!((server.calls("ping"), server.calls("get")), (65_535, 1));
    let document: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let commands = document["tests"][0]["commands"].as_array().unwrap();
    let counts: Vec<_> = commands.iter().map(|c| (&c["name"], &c["ok"], &c["miss"])).collect();
    let value = |n: u64| serde_json::Value::from(n);
    let expected = [("PING".into(), value(65_535), value(0)), ("GET".into(), value(0), value(1))];
    let expected: Vec<_> = expected.iter().map(|(name, ok, miss)| (name, ok, miss)).collect();
    assert_eq!(counts, expected);
}

#[test]
fn the_memory_that_commands_take_is_known_before_they_run() {
    let commands: Vec<String> = (0..20_000).map(|n| format!("get {n}")).collect();
    let line = format!("-p 1 -n 20000 -- {}", commands.join(" ';' "));
    let ran = Keystorm::new(&line).within_memory(2 << 30).run().exits(2);
    ran.says("20000 different commands").says("GiB").says("--precision");
}
