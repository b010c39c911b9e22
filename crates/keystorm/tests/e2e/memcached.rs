//! A real memcached for tests, and what it counted: asked of the server itself, over a connection that
//! shares no code with the program.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use crate::program::{Keystorm, PATIENCE, RunOutput, within};
use crate::server::{free_port, guarded, start};

/// A running memcached. Ended when dropped.
pub(crate) struct Memcached {
    child: Child,
    program: OsString,
    port: u16,
    args: Vec<String>,
    before: BTreeMap<String, i64>,
}

impl Drop for Memcached {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Memcached {
    pub(crate) fn new() -> Self {
        Self::with(&[])
    }

    /// With more arguments.
    pub(crate) fn with(args: &[&str]) -> Self {
        Self::start("memcached", args)
    }

    /// Of another version, if `make setup-test` could fetch it.
    pub(crate) fn newer(args: &[&str]) -> Option<Self> {
        let path = "../../target/test-servers/memcached-1.6.38/memcached";
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        path.exists().then(|| Self::start(path, args))
    }

    fn start(program: impl Into<OsString>, args: &[&str]) -> Self {
        let program = program.into();
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        // Somebody else may snatch the free port before the server has it.
        for _ in 0..5 {
            let port = free_port();
            if let Some(child) = begin(&program, port, &args) {
                return Self { child, program, port, args, before: BTreeMap::new() };
            }
        }
        panic!("memcached {args:?} does not start; `make setup-test` installs it");
    }

    /// Its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends it as no server expects it.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Starts it again after [`kill`](Self::kill), in the same place.
    pub(crate) fn restart(&mut self) {
        let mut again = None;
        let began = within(PATIENCE, || {
            again = begin(&self.program, self.port, &self.args);
            again.is_some()
        });
        assert!(began, "memcached starts again on port {}", self.port);
        self.child = again.expect("it began");
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Sends lines, and returns all that comes until the server hangs up.
    pub(crate) fn say(&self, lines: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream.write_all(lines.replace('\n', "\r\n").as_bytes()).unwrap();
        stream.write_all(b"quit\r\n").unwrap();
        let mut text = Vec::new();
        stream.read_to_end(&mut text).unwrap();
        String::from_utf8_lossy(&text).into_owned()
    }

    fn stats(&self) -> BTreeMap<String, i64> {
        let reply = self.say("stats\n");
        let pair = |line: &str| {
            let (name, value) = line.strip_prefix("STAT ")?.split_once(' ')?;
            Some((name.to_owned(), value.parse().ok()?))
        };
        reply.lines().filter_map(pair).collect()
    }

    /// Counts from now on.
    pub(crate) fn reset(&mut self) {
        self.before = self.stats();
    }

    /// By how much the sum of these counts has grown since then.
    pub(crate) fn grown(&self, names: &[&str]) -> i64 {
        let now = self.stats();
        let grown = |name: &&str| now[*name] - self.before.get(*name).copied().unwrap_or_default();
        names.iter().map(grown).sum()
    }

    /// Runs keystorm against it.
    pub(crate) fn run(&self, line: &str) -> RunOutput {
        let protocol = if line.contains("--protocol") { "" } else { "--protocol memcache" };
        Keystorm::new(&format!("-p {} {protocol} {line}", self.port)).run()
    }
}

/// Starts one on a port; `None` if it ends before it takes connections.
fn begin(program: &OsStr, port: u16, args: &[String]) -> Option<Child> {
    let mut command = guarded(program);
    command.args(["-l", "127.0.0.1", "-U", "0", "-p", &port.to_string()]);
    if rustix::process::getuid().is_root() {
        command.args(["-u", "root"]);
    }
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null());
    let mut child = start(command).expect("memcached; `make setup-test` installs it");
    let mut ended = false;
    let there = within(PATIENCE, || {
        ended = child.try_wait().is_ok_and(|status| status.is_some());
        ended || TcpStream::connect(("127.0.0.1", port)).is_ok()
    });
    if there && !ended {
        return Some(child);
    }
    let _ = child.kill();
    let _ = child.wait();
    None
}
