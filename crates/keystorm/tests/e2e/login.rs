//! Where to connect and as whom: every way to say it, and that no password is ever shown.

use std::net::{Ipv6Addr, TcpListener};

use crate::program::Keystorm;
use crate::rpc_perf::File;
use crate::server::{Server, calls};

const SECRET: &str = "p@ss:w/rd %";
const ENCODED: &str = "p%40ss%3Aw%2Frd%20%25";

fn locked() -> Server {
    let server = Server::redis_with(&["--requirepass", SECRET]);
    let rules = ["ACL", "SETUSER", "us@er", "on", &format!(">{SECRET}x"), "~*", "&*", "+@all"];
    server.ask(&rules);
    let reader = ["ACL", "SETUSER", "reader", "on", ">pw", "~*", "&*", "+@all", "-@write"];
    server.ask(&reader);
    server
}

fn uri(server: &Server, scheme: &str, login: &str, rest: &str) -> String {
    format!("-u {scheme}://{login}127.0.0.1:{}{rest}", server.port())
}

#[test]
fn every_way_to_log_in_works() {
    let server = locked();
    let ways = [
        format!("-a '{SECRET}'"),
        format!("-a '{SECRET}x' --user us@er"),
        uri(&server, "redis", &format!(":{ENCODED}@"), ""),
        uri(&server, "redis", &format!("{ENCODED}@"), "/"),
        uri(&server, "valkey", &format!("us%40er:{ENCODED}x@"), "/0"),
        format!("-3 -a '{SECRET}x' --user us@er --threads 2"),
    ];
    for way in &ways {
        server.ask(&["CONFIG", "RESETSTAT"]);
        server.run(&format!("{way} -n 50 -c 4 -q incr k")).ok().keeps_secret("p@ss");
        assert_eq!(server.calls("incr"), 50, "{way}");
        let plan = server.run(&format!("{way} -n 50 --print-plan incr k")).ok();
        plan.keeps_secret("p@ss").keeps_secret("p%40ss");
    }
    // The preparation of a test logs in as well.
    server.run(&format!("{} -n 50 -q -t fcall", ways[0])).ok();
}

#[test]
fn the_environment_holds_the_password_unless_the_command_line_does() {
    let server = locked();
    let line = format!("-p {} -n 50 -c 4 -q incr k", server.port());
    Keystorm::new(&line).env("REDISCLI_AUTH", SECRET).run().ok();
    let user = format!("--user us@er {line}");
    Keystorm::new(&user).env("REDISCLI_AUTH", format!("{SECRET}x")).run().ok();
    let both = format!("-a '{SECRET}' {line}");
    Keystorm::new(&both).env("REDISCLI_AUTH", "wrong").run().ok();
    assert_eq!(server.calls("incr"), 150);
    let wrong = Keystorm::new(&line).env("REDISCLI_AUTH", "s3cr3t").run().exits(1);
    wrong.says("WRONGPASS").says("REDISCLI_AUTH").keeps_secret("s3cr3t");
}

#[test]
fn a_wrong_or_missing_password_is_reported_without_showing_it() {
    let server = locked();
    let ran = server.run("-n 10 -a hunter2 get k").exits(1);
    ran.says("WRONGPASS").says("-a").keeps_secret("hunter2");
    let ran = server.run("-n 10 -a hunter2 --user us@er get k").exits(1);
    ran.says("WRONGPASS").says("us@er").keeps_secret("hunter2");
    let ran = server.run(&format!("{} -n 10 get k", uri(&server, "redis", "u:hunter2@", "")));
    ran.exits(1).says("WRONGPASS").keeps_secret("hunter2");
    server.run("-n 10 get k").exits(1).says("NOAUTH").says("-a").says("REDISCLI_AUTH");
    server.run("-n 10 --user us@er get k").exits(2).says("--user");
    let open = Server::redis();
    let ran = open.run("-n 10 -a hunter2 get k").exits(1).keeps_secret("hunter2");
    ran.says("Remove -a");
    for bad in ["http://:hunter2@h", "redis://:hunter2@h:99999", "rediss://:hunter2@h:99999"] {
        server.run(&format!("-u {bad} -n 1 get k")).exits(2).says("-u").keeps_secret("hunter2");
    }
}

#[test]
fn a_user_without_permission_is_reported_by_the_command() {
    let server = locked();
    let ran = server.run("-n 10 -a pw --user reader set k v").exits(1);
    ran.says("Error from server: NOPERM").says("--user").says("set");
    server.run("-n 10 -a pw --user reader -q get k").ok();
    // Who may not look at the configuration may measure all the same.
    server.ask(&["ACL", "SETUSER", "reader", "-config", "-info"]);
    let ran = server.run("-n 10 -a pw --user reader get k").ok();
    let ran = ran.says("warning: Could not fetch server CONFIG");
    assert!(!ran.out.contains("appendonly"), "{}", ran.out);
}

#[test]
fn the_database_is_chosen_by_number_and_by_uri() {
    let server = Server::redis();
    server.run("-n 10 -q --dbnum 5 set five v").ok();
    server.run(&format!("{} -n 10 -q set three v", uri(&server, "redis", "", "/3"))).ok();
    let both =
        |db: u32| format!("{} --dbnum {db} -n 10 -q set four v", uri(&server, "redis", "", "/4"));
    server.run(&both(4)).ok();
    server.run(&both(5)).exits(2).says("--dbnum 5: -u names database 4");
    let path = server.socket();
    Keystorm::new(&format!("-u 'unix://{}?db=6' -n 10 -q set six v", path.display())).run().ok();
    for (db, key) in [("5", "five"), ("3", "three"), ("4", "four"), ("6", "six")] {
        server.ask(&["SELECT", db]);
        assert_eq!(server.keys(), [key], "db {db}");
    }
    server.ask(&["SELECT", "0"]);
    assert_eq!(server.keys(), [""; 0]);
    server.run("-n 10 --dbnum 99 get k").exits(1).says("no database 99").says("--dbnum");
    server.run(&format!("{} -n 10 get k", uri(&server, "redis", "", "/16"))).exits(1).says("16");
    server.run(&format!("{} -n 10 get k", uri(&server, "redis", "", "/abc"))).exits(2).says("-u");
    server.run("-n 10 --dbnum x get k").exits(2).says("--dbnum");
    server.run("-n 10 --dbnum -1 get k").exits(2).says("--dbnum");
}

#[test]
fn two_servers_are_one_too_many() {
    let server = Server::redis();
    let port = server.port();
    let uri = format!("-u redis://127.0.0.1:{port}");
    Keystorm::new(&format!("{uri} -p 1 -n 10 get k"))
        .run()
        .exits(2)
        .says("-p 1: -u names 127.0.0.1");
    let ran = Keystorm::new(&format!("{uri} -h localhost -n 10 get k")).run().exits(2);
    ran.says(&format!("-u redis://localhost:{port}"));
    let bare = format!("-u redis://127.0.0.1 -p {port} -n 10 -q get k");
    Keystorm::new(&bare).run().ok();
    assert_eq!(server.calls("get"), 10);
}

#[test]
fn unix_sockets_carry_load_too() {
    for (product, server) in Server::both() {
        let path = server.socket();
        let path = path.display();
        let before = server.info("total_connections_received");
        for way in [format!("-s {path}"), format!("-u unix://{path}")] {
            server.ask(&["CONFIG", "RESETSTAT"]);
            Keystorm::new(&format!("{way} -n 500 -c 20 -P 4 --threads 2 -q incr k")).run().ok();
            assert_eq!(server.counts(), calls([("incr", 500)]), "{product} {way}");
        }
        assert!(before > 0);
    }
    Keystorm::new("-s /nonexistent/sock -n 1 ping").run().exits(1).says("/nonexistent/sock");
}

#[test]
fn ipv6_addresses_carry_load_too() {
    if TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_err() {
        eprintln!("this machine has no IPv6");
        return;
    }
    let server = Server::redis();
    let port = server.port();
    for way in [format!("-u redis://[::1]:{port}"), format!("-h ::1 -p {port}")] {
        Keystorm::new(&format!("{way} -n 100 -c 5 -q incr k")).run().ok();
    }
    assert_eq!(server.calls("incr"), 200);
}

#[test]
fn host_names_are_looked_up() {
    let server = Server::redis();
    server.run("-h localhost -n 100 -c 5 -q incr k").ok();
    let port = server.port();
    Keystorm::new(&format!("-u redis://localhost:{port}/0 -n 100 -c 5 -q incr k")).run().ok();
    assert_eq!(server.calls("incr"), 200);
}

#[test]
fn other_tools_take_no_password_from_the_environment_and_advise_in_their_words() {
    let server = Server::redis();
    let port = server.port();
    let file = File::from_port(port).with("duration", "duration = 1");
    let rpc_perf = file.line("nkeys = 9\nklen = 2\ncommands = [{ verb = 'get' }]", "");
    rpc_perf.env("REDISCLI_AUTH", SECRET).run().ok();
    let ycsb = "-P workloads/workloada -p redis.host=127.0.0.1";
    for line in [
        format!("memtier -p {port} -t 1 -c 1 -n 1"),
        format!("ycsb load redis {ycsb} -p redis.port={port}"),
    ] {
        Keystorm::new(&line).env("REDISCLI_AUTH", SECRET).run().ok();
    }
    let memtier = |words: &str| {
        Keystorm::new(&format!("memtier -p {port} -t 1 -c 1 -n 1 {words}")).run().exits(2)
    };
    memtier("-a x").says("Remove --authenticate");
    memtier("--select-db 99").says("--select-db must be below");
    memtier("--cluster-mode").says("Remove --cluster-mode");
    memtier("-P memcache_text").says("use --protocol redis");
    let refused = "ycsb load redis -P workloada -p redis.host=127.0.0.1 -p redis.port=1";
    Keystorm::new(refused).run().exits(1).says("--ks-spawn starts");
    let with = format!("ycsb load redis {ycsb} -p redis.port={port} -p redis.password=x");
    Keystorm::new(&with).run().exits(1).says("Remove redis.password");
}

#[test]
fn a_password_in_the_environment_is_not_for_a_server_of_our_own() {
    let line = Keystorm::new("--spawn -n 10 get k").env("REDISCLI_AUTH", "hunter2");
    line.run().ok();
    let with = "--spawn --spawn-args '--requirepass hunter2' -n 10 get k";
    Keystorm::new(with).env("REDISCLI_AUTH", "hunter2").run().ok();
}

#[test]
fn by_a_peers_name_a_user_without_a_password_is_not_sent() {
    let server = Server::redis();
    let (_dir, program) = crate::server::called("redis-benchmark");
    server.keystorm("--user default -n 10 -q get k").called(program).run().ok();
    assert_eq!(server.calls("get"), 10);
    server.run("--user default -n 10 get k").exits(2).says("--user requires a password");
}

/// Whatever option an address is typed for, and however wrong it is: the password in it is in no message.
#[test]
fn an_address_that_is_refused_is_not_quoted_with_its_password() {
    let addresses = [
        "u:hunter2@host",
        "redis:/:hunter2@h:1",
        "redis://:hunter2@[::1",
        "hunter2@h:99999",
        "h:1234:hunter2",
        "[::1]:1:hunter2",
    ];
    for address in addresses {
        for option in
            ["-h", "-u", "-s", "-p", "--replicas", "--pool", "--on", "--metrics", "--spawn"]
        {
            let ran = Keystorm::new(&format!("{option}={address} -n 1 get k")).run();
            assert!(ran.keeps_secret("hunter2").err.contains("error: "), "{option} {address}");
        }
        for line in [
            format!("--spawn {address} -n 1"),
            format!("merge {address}"),
            format!("sink {address}"),
            format!("sink --bind={address}"),
            format!("doctor --client {address}"),
            format!("survey {address}"),
            format!("help {address}"),
            format!("show {address}"),
            format!("deliver pubsub {address}"),
            format!("compare {address} 127.0.0.1:1 get k"),
            format!("doctor {address} --seconds 0"),
            format!("doctor -s {address} --seconds 0"),
            format!("doctor --replicas {address}"),
            format!("memtier_benchmark --uri {address} -n 1"),
            format!("memtier_benchmark -h {address} -n 1"),
            format!("memtier_benchmark -S {address} -n 1"),
            format!("memtier_benchmark --read-server {address} -n 1"),
            format!("ycsb load memcached -p memcached.hosts={address}"),
            format!("ycsb load redis -predis.host={address}"),
            format!("ycsb {address}"),
            format!("rpc-perf {address}"),
        ] {
            Keystorm::new(&line).run().keeps_secret("hunter2");
        }
    }
}
