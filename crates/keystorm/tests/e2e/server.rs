//! Real servers for tests: each on a free port and a unix socket, without persistence, gone
//! whatever happens.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

use host::{Address, Client, Patience, PlainSocket};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use wire::resp::Value;

use crate::program::{Keystorm, PATIENCE, RunOutput, elapse, within};
use crate::real_clock::lacking;

/// With a server on a busy machine.
const ANSWERS: Patience =
    Patience { connect: Duration::from_secs(60), reply: Duration::from_secs(60) };

/// The program under test.
pub(crate) const KEYSTORM: &str = env!("CARGO_BIN_EXE_keystorm");

/// A command that becomes `program` and dies with this process, through keystorm's own guard.
pub(crate) fn guarded(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(KEYSTORM);
    command.arg(host::guard::GUARD_ARG);
    command.arg(std::process::id().to_string()).arg(program);
    command
}

/// Starts a process from the one thread that lives as long as the tests. The kernel watches the
/// thread that starts a guarded process, and libtest's threads end with their test.
pub(crate) fn start(command: Command) -> io::Result<Child> {
    type Order = (Command, Sender<io::Result<Child>>);
    static STARTER: OnceLock<Sender<Order>> = OnceLock::new();
    let starter = STARTER.get_or_init(|| {
        let (sender, orders) = channel::<Order>();
        thread::spawn(move || {
            for (mut command, answer) in orders {
                let _ = answer.send(command.spawn());
            }
        });
        sender
    });
    let (answer, child) = channel();
    starter.send((command, answer)).expect("the starter");
    child.recv().expect("an answer of the starter")
}

/// Where `make setup-test` puts a real valkey-server.
pub(crate) fn valkey_program() -> PathBuf {
    let path = "../../target/test-servers/valkey-server";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let found = fs::canonicalize(&path);
    found.unwrap_or_else(|e| panic!("{}: {e}; `make setup-test` installs it", path.display()))
}

/// A running server. Ended when dropped.
pub(crate) struct Server {
    child: Child,
    port: u16,
    dir: TempDir,
    client: RefCell<Client<PlainSocket>>,
    program: OsString,
    args: Vec<String>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Server {
    /// Debian's redis-server.
    pub(crate) fn redis() -> Self {
        Self::start("redis-server".as_ref(), &[])
    }

    /// The same with more arguments.
    pub(crate) fn redis_with(args: &[&str]) -> Self {
        Self::start("redis-server".as_ref(), args)
    }

    /// A real valkey-server.
    pub(crate) fn valkey() -> Self {
        Self::valkey_with(&[])
    }

    /// The same with more arguments.
    pub(crate) fn valkey_with(args: &[&str]) -> Self {
        Self::start(valkey_program().as_os_str(), args)
    }

    /// The newest that `make setup-test` could fetch, by the name and version that each tells, with these
    /// arguments.
    pub(crate) fn newest(args: &[&str]) -> Vec<(&'static str, PathBuf, Self)> {
        let mut found = Vec::new();
        for (told, name) in
            [("valkey 9.1.2", "valkey-server-9.1.2"), ("redis 8.2.3", "redis-server-8.2.3")]
        {
            let path =
                Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/test-servers").join(name);
            match fs::canonicalize(&path) {
                Ok(program) => {
                    let server = Self::start(program.as_os_str(), args);
                    found.push((told, program, server));
                }
                Err(why) => lacking(&format!("{told} is measured as older servers are"), why),
            }
        }
        found
    }

    /// One of each.
    pub(crate) fn both() -> [(&'static str, Self); 2] {
        [("redis", Self::redis()), ("valkey", Self::valkey())]
    }

    fn start(program: &OsStr, args: &[&str]) -> Self {
        let dir = tempfile::Builder::new().prefix("ks").tempdir().unwrap();
        // Somebody else may snatch the free port before the server has it.
        for _ in 0..5 {
            let port = free_port();
            let mut child = begin(program, port, &dir, args);
            if let Some(client) = wait_until_ready(&mut child, port, &dir.path().join("s"), args) {
                let (program, args) = (program.to_owned(), args.iter().map(|a| (*a).to_owned()));
                let (client, args) = (RefCell::new(client), args.collect());
                return Self { child, port, dir, client, program, args };
            }
        }
        let log = fs::read_to_string(dir.path().join("log")).unwrap_or_default();
        panic!("{program:?} does not start; `make setup-test` installs it. It says: {log}");
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.dir.path().join("s")
    }

    /// What it has logged.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.dir.path().join("log")).unwrap_or_default()
    }

    /// Ends the server as no server expects it.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Starts it again after [`kill`](Self::kill), in the same place.
    pub(crate) fn restart(&mut self) {
        self.restart_with(&[]);
    }

    /// The same with more arguments; waits until it has read its data.
    pub(crate) fn restart_with(&mut self, more: &[&str]) {
        self.begin_again(more);
        let args: Vec<&str> = self.args.iter().map(String::as_str).collect();
        let socket = self.socket();
        let client = wait_until_ready(&mut self.child, self.port, &socket, &args);
        self.client = RefCell::new(client.expect("a server that was there before"));
    }

    /// The same, without waiting for anything but that it takes connections.
    pub(crate) fn begin_again(&mut self, more: &[&str]) -> &Self {
        let _ = fs::remove_file(self.socket());
        let args = self.args.iter().map(String::as_str);
        let args: Vec<&str> = args.chain(more.iter().copied()).collect();
        self.child = begin(&self.program, self.port, &self.dir, &args);
        let taken = || std::net::TcpStream::connect(("127.0.0.1", self.port)).is_ok();
        assert!(within(PATIENCE, taken), "it starts again");
        self
    }

    /// `INFO` over a connection of its own.
    pub(crate) fn info_anew(&self) -> Option<String> {
        let address = Address::Unix(self.socket());
        Client::connect(&address, ANSWERS).ok()?.ask(&[b"INFO"]).ok()?.text()
    }

    /// Connects anew, where the server may have closed the connection that we ask on.
    pub(crate) fn reconnect(&self) {
        let address = Address::Unix(self.socket());
        *self.client.borrow_mut() = Client::connect(&address, ANSWERS).unwrap();
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Stops it for so long. How long it was stopped in fact.
    pub(crate) fn pause(&self, length: Duration) -> Duration {
        pause(self.pid(), length)
    }

    /// Runs keystorm against this server; `line` is split as a shell would.
    pub(crate) fn run(&self, line: &str) -> RunOutput {
        self.keystorm(line).run()
    }

    /// The same, not started yet.
    pub(crate) fn keystorm(&self, line: &str) -> Keystorm {
        Keystorm::new(&format!("-p {} {line}", self.port))
    }

    /// The reply to a command.
    pub(crate) fn ask(&self, words: &[&str]) -> Value {
        let words: Vec<&[u8]> = words.iter().map(|w| w.as_bytes()).collect();
        self.client.borrow_mut().ask(&words).expect("an answer")
    }

    /// The reply to a command that answers with a number.
    pub(crate) fn number(&self, words: &[&str]) -> i64 {
        match self.ask(words) {
            Value::Integer(n) => n,
            other => panic!("{words:?} is answered by {other:?}"),
        }
    }

    /// The reply to a command that answers with text.
    pub(crate) fn text(&self, words: &[&str]) -> String {
        let reply = self.ask(words);
        reply.text().unwrap_or_else(|| panic!("{words:?} is answered by {reply:?}"))
    }

    /// The reply to a command that answers with a list of texts.
    pub(crate) fn texts(&self, words: &[&str]) -> Vec<String> {
        match self.ask(words) {
            Value::Array(items) => items.iter().map(|i| i.text().expect("text")).collect(),
            other => panic!("{words:?} is answered by {other:?}"),
        }
    }

    /// Every key of the selected database, sorted.
    pub(crate) fn keys(&self) -> Vec<String> {
        let mut keys = self.texts(&["KEYS", "*"]);
        keys.sort();
        keys
    }

    /// A field of `INFO`.
    pub(crate) fn info(&self, field: &str) -> u64 {
        let info = self.text(&["INFO"]);
        let found = info.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        found.and_then(|value| value.parse().ok()).expect("a number in INFO")
    }

    /// Forgets what was executed so far, and all keys.
    pub(crate) fn reset(&self) {
        self.ask(&["FLUSHALL"]);
        self.ask(&["CONFIG", "RESETSTAT"]);
    }

    /// What was executed since: calls by command, in lower case, without those that only look at
    /// the server.
    pub(crate) fn counts(&self) -> BTreeMap<String, u64> {
        let mut counts = self.all_counts();
        let looks = |name: &str| {
            let lists = ["config", "slowlog", "latency", "commandlog"];
            let named = ["command|info", "info", "client|list", "time"].contains(&name);
            named || lists.contains(&name.split('|').next().unwrap_or_default())
        };
        counts.retain(|name, _| !looks(name));
        counts
    }

    /// The same with those that only look at the server.
    pub(crate) fn all_counts(&self) -> BTreeMap<String, u64> {
        let stats = self.text(&["INFO", "commandstats"]);
        let read = |line: &str| {
            let (name, rest) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
            Some((name.to_owned(), rest.split(',').next()?.parse().ok()?))
        };
        stats.lines().filter_map(read).collect()
    }

    /// Logs every command from now on.
    pub(crate) fn log_commands(&self) {
        // As many lines as will ever be needed.
        self.ask(&["CONFIG", "SET", "slowlog-log-slower-than", "0"]);
        self.ask(&["CONFIG", "SET", "slowlog-max-len", "10000"]);
        self.ask(&["SLOWLOG", "RESET"]);
    }

    /// The commands that were executed since, in order, with long words cut off.
    pub(crate) fn logged(&self) -> Vec<String> {
        let Value::Array(entries) = self.ask(&["SLOWLOG", "GET", "10000"]) else {
            panic!("no log")
        };
        let words = |entry: &Value| {
            let Value::Array(fields) = entry else { panic!("{entry:?}") };
            let Value::Array(words) = &fields[3] else { panic!("{fields:?}") };
            words.iter().map(|word| word.text().unwrap()).collect::<Vec<_>>().join(" ")
        };
        entries.iter().rev().map(words).collect()
    }

    /// Calls of one command since then.
    pub(crate) fn calls(&self, command: &str) -> u64 {
        self.counts().get(command).copied().unwrap_or(0)
    }
}

/// Stops a process for so long. How long it was stopped in fact.
pub(crate) fn pause(pid: u32, length: Duration) -> Duration {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    let began = Instant::now();
    kill_process(pid, Signal::STOP).unwrap();
    elapse(length);
    kill_process(pid, Signal::CONT).unwrap();
    began.elapsed()
}

fn begin(program: &OsStr, port: u16, dir: &TempDir, args: &[&str]) -> Child {
    let log = fs::File::create(dir.path().join("log")).unwrap();
    let mut command = guarded(program);
    command.args(["--port", &port.to_string(), "--bind", "*", "-::*"]);
    command.args(["--unixsocket", "s", "--save", "", "--appendonly", "no"]);
    command.args(["--logfile", "", "--enable-debug-command", "yes"]).args(args).current_dir(dir);
    command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
    start(command).expect("keystorm as a guard")
}

/// What [`Server::counts`] should be.
pub(crate) fn calls<const N: usize>(counts: [(&str, u64); N]) -> BTreeMap<String, u64> {
    counts.map(|(name, n)| (name.to_owned(), n)).into()
}

/// A port that was free a moment ago, and that no other test of this process gets.
///
/// Below those that the kernel gives to connections, or a client of another test could come by it before
/// the server has it; and 10,000 above it, where the bus of a cluster listens, is one that this never gives.
pub(crate) fn free_port() -> u16 {
    static GIVEN: AtomicU32 = AtomicU32::new(0);
    const FIRST: u32 = 10_240;
    const COUNT: u32 = 9_999;
    let own = std::process::id().wrapping_mul(1009);
    let next = || FIRST + own.wrapping_add(GIVEN.fetch_add(1, Ordering::Relaxed)) % COUNT;
    let free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    std::iter::repeat_with(|| next() as u16).find(free).expect("a port that is free")
}

/// A connection that has been answered, logged in with the password that `args` set.
fn wait_until_ready(
    child: &mut Child,
    port: u16,
    socket: &Path,
    args: &[&str],
) -> Option<Client<PlainSocket>> {
    let password = args.iter().position(|a| *a == "--requirepass").map(|at| args[at + 1]);
    let address = Address::Unix(socket.to_owned());
    let deadline = Instant::now() + Duration::from_secs(60);
    while Instant::now() < deadline && matches!(child.try_wait(), Ok(None)) {
        if let Ok(mut client) = Client::connect(&address, ANSWERS) {
            if let Some(password) = password {
                let _ = client.ask(&[b"AUTH", password.as_bytes()]);
            }
            let info = client.ask(&[b"INFO"]).ok().and_then(|info| info.text());
            let ready =
                |i: String| i.contains(&format!("tcp_port:{port}")) && !i.contains("\nloading:1");
            if info.is_some_and(ready) {
                return Some(client);
            }
        }
        thread::sleep(Duration::from_millis(5));
    }
    let _ = child.kill();
    let _ = child.wait();
    None
}

/// A link to keystorm under another name, in a directory of its own.
pub(crate) fn called(name: &str) -> (TempDir, OsString) {
    let dir = tempfile::tempdir().unwrap();
    let link = dir.path().join(name);
    std::os::unix::fs::symlink(KEYSTORM, &link).unwrap();
    (dir, link.into_os_string())
}

/// A redis-server that keeps count of how often it is started.
pub(crate) struct CountingServer {
    program: String,
    log: PathBuf,
}

impl CountingServer {
    pub(crate) fn new(dir: &Path, name: &str) -> Self {
        use std::os::unix::fs::PermissionsExt;
        let (program, log) = (dir.join(name), dir.join(format!("{name}.starts")));
        let script = format!("#!/bin/sh\necho >>{}\nexec redis-server \"$@\"\n", log.display());
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        Self { program: program.to_str().unwrap().to_owned(), log }
    }

    pub(crate) fn program(&self) -> &str {
        &self.program
    }

    /// Starts, also those whose port was taken meanwhile: another is tried then.
    pub(crate) fn starts(&self) -> usize {
        std::fs::read_to_string(&self.log).unwrap_or_default().lines().count()
    }
}
