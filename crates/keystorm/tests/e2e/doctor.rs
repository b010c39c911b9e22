//! `keystorm doctor` against real servers, set up well and badly.

use std::io::Write;

use crate::memcached::Memcached;
use crate::program::Keystorm;
use crate::server::Server;

/// The level that the line of a check has.
fn level<'a>(json: &'a serde_json::Value, name: &str) -> &'a str {
    let findings = json["findings"].as_array().unwrap();
    let found = findings.iter().find(|finding| finding["name"] == name);
    found.unwrap_or_else(|| panic!("no {name}"))["level"].as_str().unwrap()
}

fn checked(server: &Server, options: &str) -> serde_json::Value {
    let line = format!("doctor -p {} --seconds 0.3 --json {options}", server.port());
    let ran = Keystorm::new(&line).run();
    serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}: {ran:?}"))
}

#[test]
fn a_badly_set_up_server_is_seen_through() {
    let args = "--save 60_1 --appendonly yes --appendfsync always --maxmemory 5mb --loglevel debug \
                --slowlog-log-slower-than 0 --rename-command LPUSH HSULP";
    let args: Vec<String> = args.split_whitespace().map(|w| w.replace('_', " ")).collect();
    let server = Server::redis_with(&args.iter().map(String::as_str).collect::<Vec<_>>());
    let mut monitor = std::net::TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    monitor.write_all(b"MONITOR\r\n").unwrap();
    let json = checked(&server, "");
    crate::record::valid_by("keystorm.doctor.1.json", &json);
    for (name, expected) in [
        ("save", "warn"),
        ("appendonly", "bad"),
        ("maxmemory", "bad"),
        ("log level", "bad"),
        ("slowlog", "bad"),
        ("monitors", "bad"),
        ("commands", "warn"),
        ("other traffic", "ok"),
        ("mtu", "ok"),
    ] {
        assert_eq!(level(&json, name), expected, "{name}: {json}");
    }
    drop(monitor);
}

#[test]
fn delays_of_the_machine_alone_are_figures() {
    let server = Server::redis();
    let json = checked(&server, "--intrinsic 300ms");
    let delays = &json["intrinsic"];
    assert_eq!(delays["seconds"], 0.15);
    assert!(delays["timers"]["count"].as_u64().unwrap() > 0, "{delays}");
    for of in ["busy", "timers"] {
        let us = |name: &str| delays[of][name].as_f64().unwrap();
        assert!(us("p50_us") <= us("p99_us") && us("p99_us") <= us("max_us"), "{delays}");
    }
    assert_ne!(level(&json, "busy thread"), "unknown");
    assert!(checked(&server, "")["intrinsic"].is_null());
}

#[test]
fn delays_of_the_machine_alone_are_a_table() {
    let ran = Keystorm::new("doctor --intrinsic=200ms --seconds 0.1").run();
    assert!(ran.out.contains("Delays of this machine alone (ms; 0.1 s each"), "{ran:?}");
}

#[test]
fn a_memcached_is_asked_what_spoils_its_runs() {
    let args = "-t 1 -I 2k -o slab_chunk_max=1024 -c 90 -R 5";
    let server = Memcached::with(&args.split(' ').collect::<Vec<_>>());
    let line = format!(
        "doctor --protocol memcache -p {} --seconds 0.3 --json -P 64 -d 5000",
        server.port()
    );
    let ran = Keystorm::new(&line).run().exits(1);
    let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    for (name, expected) in [
        ("requests at a time", "bad"),
        ("item size", "bad"),
        ("connection limit", "bad"),
        ("memory", "warn"),
        ("evictions", "ok"),
        ("other traffic", "ok"),
        ("round trip", "ok"),
    ] {
        let found = level(&json, name);
        assert!(found == expected || (name == "round trip" && found == "warn"), "{name}: {json}");
    }
    assert!(json["no_server_because"].is_null(), "{json}");
}

#[test]
fn a_memcached_that_was_named_must_be_there() {
    let gone = Keystorm::new("doctor memcache://127.0.0.1:1 --seconds 0").run();
    gone.exits(1).prints("requests at a time").prints("127.0.0.1:1");
}

#[test]
fn what_may_not_be_asked_is_not_known_and_nothing_leaks() {
    let server = Server::redis();
    server.ask(&["ACL", "SETUSER", "nobody", "on", ">s3cr3t", "-@all"]);
    let json = checked(&server, "--user nobody -a s3cr3t");
    for name in ["version", "save", "monitors", "slowlog", "commands", "permissions"] {
        assert_eq!(level(&json, name), "unknown", "{name}: {json}");
    }
    assert!(json.to_string().contains("NOPERM") && !json.to_string().contains("s3cr3t"));
}

#[test]
fn a_latency_monitor_that_is_off_is_no_good_news() {
    let server = Server::redis();
    let json = checked(&server, "");
    assert_eq!(level(&json, "latency monitor"), "unknown", "it is off: {json}");
    server.ask(&["CONFIG", "SET", "latency-monitor-threshold", "100"]);
    assert_eq!(level(&checked(&server, ""), "latency monitor"), "ok");
}

#[test]
fn what_a_server_refuses_is_not_known() {
    let server = Server::redis();
    for (command, checks) in [
        ("info", &["version", "save", "appendonly", "maxmemory", "other traffic"][..]),
        ("config", &["save", "appendonly", "log level", "data directory", "slowlog", "io-threads"]),
        ("latency", &["latency monitor"]),
        ("client", &["monitors", "maxclients"]),
        ("command", &["commands"]),
        ("acl", &["permissions"]),
    ] {
        let refused = format!("-{command}");
        server.ask(&["ACL", "SETUSER", "limited", "reset", "on", ">pw", "~*", "+@all", &refused]);
        let json = checked(&server, "--user limited -a pw");
        for name in checks {
            assert_eq!(level(&json, name), "unknown", "{name} without {command}: {json}");
        }
        assert!(json.to_string().contains("NOPERM"), "{command}: {json}");
    }
}

#[test]
fn a_server_that_was_named_must_be_there() {
    let line = "doctor unix:///nonexistent/s --seconds 0";
    let ran = Keystorm::new(line).run().exits(1);
    ran.prints("overcommit memory").prints("the socket does not exist");
}

#[test]
fn the_examples_of_the_help_run_and_lines_have_no_colour_in_a_pipe() {
    let help = Keystorm::new("doctor --help").run().ok().out;
    assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
    let examples: Vec<&str> =
        help.lines().filter_map(|line| line.trim().strip_prefix("$ keystorm ")).collect();
    assert_eq!(examples.len(), 5, "{help}");
    for example in examples.into_iter().filter(|example| !example.contains("--client")) {
        let ran = Keystorm::new(example).run();
        let is_bad = ran.out.lines().any(|line| line.starts_with("bad "));
        assert_eq!(ran.code, Some(i32::from(is_bad)), "{ran:?}");
        assert!(ran.out.contains("This machine\n") && !ran.out.contains('\x1b'), "{ran:?}");
        assert!(ran.out.trim_end().ends_with("not checked"), "{ran:?}");
    }
}
