//! Servers for tests: a real one, and one with fixed replies.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{fs, thread};

use host::{Address, Listen, Spawn, SpawnedServer};

/// Shell scripts for tests. All are written before the first process is started: one that is
/// still open in a child that was forked meanwhile cannot be executed ("text file busy").
pub(crate) struct Scripts {
    /// A guard that ties nothing and only becomes the server. The real one is keystorm, whose
    /// own tests use it.
    pub(crate) guard: PathBuf,
    /// A redis-server whose port, the first time, was just taken by another program.
    pub(crate) unlucky_server: PathBuf,
}

pub(crate) fn scripts() -> &'static Scripts {
    static SCRIPTS: OnceLock<Scripts> = OnceLock::new();
    SCRIPTS.get_or_init(|| Scripts {
        guard: script("guard", "shift 2; exec \"$@\""),
        unlucky_server: script(
            "unlucky-server",
            "for dir; do :; done\n\
             if mkdir \"$dir/tried\" 2>/dev/null; then\n\
             echo 'Could not create server TCP listening socket: bind: Address already in use'\n\
             exit 1\nfi\nexec redis-server \"$@\"",
        ),
    })
}

fn script(name: &str, body: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, format!("#!/bin/sh\n{body}\n")).expect("a script");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("its mode");
    path
}

/// A real redis-server with these arguments, ended when dropped.
pub(crate) fn redis(args: &[&str], listen: Listen) -> SpawnedServer {
    let spawn = Spawn {
        kind: host::SpawnKind::Redis,
        program: Some("redis-server".into()),
        args: args.iter().map(|&arg| arg.into()).collect(),
        listen,
        guard: scripts().guard.clone(),
        is_counted: false,
    };
    spawn.start().expect("a redis-server; `make setup-test` installs it")
}

/// A server of one connection that reads a command, says this, and closes.
pub(crate) fn that_says(answer: &'static [u8]) -> Address {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let read = stream.read(&mut [0; 4096]);
        read.and_then(|_| stream.write_all(answer)).expect("a conversation");
    });
    address.into()
}
