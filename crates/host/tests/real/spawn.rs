//! Spawned servers: they are there when they should be, and gone afterwards.

use std::fs;
use std::path::Path;

use crate::servers::{redis, scripts};
use host::{Address, Listen, Login, Questions, Spawn, probe};

fn alive(pid: u32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

#[test]
fn a_server_is_there_and_then_it_is_not() {
    for listen in [Listen::Loopback, Listen::Unix] {
        let server = redis(&["--maxclients", "77"], listen);
        assert!(alive(server.pid()));
        assert_eq!(server.product(), Some("redis"));
        assert!(server.version().is_some_and(|v| v.contains('.')));
        match server.address() {
            Address::Tcp(tcp) => assert!(tcp.ip().is_loopback()),
            Address::Unix(path) => assert!(path.exists()),
        }
        let (pid, address) = (server.pid(), server.address().clone());
        drop(server);
        assert!(!alive(pid));
        assert!(probe(&address, Login::default(), Questions::All).is_err());
        if let Address::Unix(path) = address {
            assert!(!path.parent().unwrap().exists());
        }
    }
}

#[test]
fn a_server_with_a_password_is_ready_too() {
    let server = redis(&["--requirepass", "pw"], Listen::Unix);
    assert_eq!(server.version(), None);
}

#[test]
fn a_configuration_file_is_read_and_does_not_decide_where() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("my.conf");
    fs::write(&file, "port 1\nlogfile /nonexistent/x\nappendonly yes\ndatabases 3\n").unwrap();
    let server = redis(&[file.to_str().unwrap()], Listen::Loopback);
    let login = |db| Login { db, ..Login::default() };
    let facts = probe(server.address(), login(2), Questions::All).unwrap().facts;
    assert_eq!(facts.config.unwrap().appendonly, "no");
    assert!(probe(server.address(), login(3), Questions::All).is_err());
}

#[test]
fn a_server_that_ends_at_once_says_why() {
    let spawn = Spawn {
        kind: host::SpawnKind::Redis,
        program: Some("redis-server".into()),
        args: vec!["--no-such-option".into(), "1".into()],
        listen: Listen::Unix,
        guard: scripts().guard.clone(),
        is_counted: false,
    };
    let error = spawn.start().unwrap_err();
    assert!(error.to_string().contains("ended before it was ready"), "{error}");
    let message = error.last_lines().join("\n");
    assert!(message.contains("no-such-option"), "{message}");
}

#[test]
fn a_lost_port_is_tried_again() {
    let program = scripts().unlucky_server.to_str().unwrap();
    let spawn = Spawn {
        kind: host::SpawnKind::Redis,
        program: Some(program.into()),
        args: Vec::new(),
        listen: Listen::Loopback,
        guard: scripts().guard.clone(),
        is_counted: false,
    };
    assert_eq!(spawn.start().unwrap().product(), Some("redis"));
}

#[test]
fn a_guard_that_is_not_there_is_an_error() {
    let spawn = Spawn {
        kind: host::SpawnKind::Redis,
        program: Some("redis-server".into()),
        args: Vec::new(),
        listen: Listen::Unix,
        guard: "/nonexistent/guard".into(),
        is_counted: false,
    };
    let error = spawn.start().unwrap_err().to_string();
    assert!(error.starts_with("--spawn: could not start "), "{error}");
}
