//! A private server for one run.
//!
//! Owns its directory, its address, its life and its death. The caller measures it like any other server.

mod error;
mod home;
mod options;
mod program;

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use naming::{SPAWN, SPAWN_ARGS};
use rustix::process::{Pid, Signal, kill_process};
use wire::resp::Value;
use workload::secret;

use crate::facts::info_field;
use crate::guard::GUARD_ARG;
use crate::text::printable;
use crate::{Address, Client, Patience, ServerFacts, ServerProcess, memcache};
pub use error::SpawnError;
use home::Home;
pub use options::SpawnKind;

/// Kind of address of a spawned server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Listen {
    /// A free port of 127.0.0.1.
    #[default]
    Loopback,
    /// A unix socket in its private directory, without a port.
    Unix,
}

/// A server to start.
#[derive(Debug, Clone)]
pub struct Spawn {
    /// Family of its options, and of the test for readiness.
    pub kind: SpawnKind,
    /// A name on the PATH, or a path; `None` for an installed program of its kind, `valkey-server` or
    /// `redis-server`. A script must `exec` the server, as the server would otherwise outlive keystorm.
    pub program: Option<String>,
    /// Arguments for the server, after keystorm's own. If the first is not an option it is a configuration
    /// file, which servers expect first.
    pub args: Vec<String>,
    /// Kind of its address.
    pub listen: Listen,
    /// The executable that calls [`crate::guard::exec`] for [`GUARD_ARG`]: keystorm.
    pub guard: PathBuf,
    /// Set if an instrument counts its instructions: it then starts fifty times slower, and writes the counts at its
    /// end.
    pub is_counted: bool,
}

/// Longest wait for a server to answer, in seconds; the second of a server whose instructions are counted.
const READY_S: [u64; 2] = [10, 30];
/// Longest wait for a server to end when asked to, before it is killed, in seconds; the second of one that is
/// counted.
const END_S: [u64; 2] = [2, 15];
/// Number of ports to try if other programs take the free one.
const PORTS_TRIED: u32 = 5;
/// Longest path of a socket: 104 bytes with the final zero on macOS, 108 on Linux.
const SOCKET_PATH_MAX: usize = 103;

impl Spawn {
    /// Starts the server and waits until it answers, for seconds at most. Keeps files only in its private
    /// directory, which is removed with it.
    ///
    /// On Linux the server dies with the *thread* that calls this, since the kernel watches that thread as
    /// the parent: call it on one that lives as long as the run, such as the main thread.
    ///
    /// # Errors
    /// Returns a [`SpawnError`]; nothing is left running.
    pub fn start(&self) -> Result<SpawnedServer, SpawnError> {
        if let Some(arg) = self.args.iter().find(|arg| self.kind.reserves(arg)) {
            let text =
                format!("{SPAWN_ARGS} {arg}: keystorm sets this itself for a spawned server");
            return Err(text.into());
        }
        let program = program::find(self.program.as_deref(), self.kind)?;
        let place = std::env::temp_dir();
        let home = Home::make_in(&place).map_err(|cause| {
            let place = place.display();
            format!("{SPAWN}: could not make a private directory in {place}: {cause}")
        })?;
        let mut tries = 0;
        loop {
            tries += 1;
            match self.start_once(&program, &home) {
                Ok((child, address, facts)) => {
                    let mut command_line = vec![program.display().to_string()];
                    let args = self.kind.arguments(&self.args, &address, home.path());
                    let args: Vec<String> =
                        args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
                    command_line.extend(secret::shown_arguments(&args));
                    return Ok(SpawnedServer { child, address, facts, command_line, _home: home });
                }
                // Between finding a free port and the server's taking it, another program did.
                Err(error)
                    if self.listen == Listen::Loopback
                        && tries < PORTS_TRIED
                        && error.is_want_of_port() => {}
                Err(e) => return Err(e),
            }
        }
    }

    fn start_once(
        &self,
        program: &Path,
        home: &Home,
    ) -> Result<(ChildProcess, Address, ServerFacts), SpawnError> {
        let start = |cause| format!("{SPAWN}: could not start {}: {cause}", program.display());
        let address = match self.listen {
            Listen::Loopback => Address::Tcp(free_port().map_err(start)?),
            Listen::Unix => Address::Unix(home.socket()),
        };
        if let Address::Unix(path) = &address
            && path.as_os_str().len() > SOCKET_PATH_MAX
        {
            let path = path.display();
            let text =
                format!("{SPAWN}: the socket path {path} is too long; set TMPDIR to a shorter one");
            return Err(text.into());
        }
        let log = File::create(home.log()).map_err(start)?;
        let child = secret::without_passwords(&mut Command::new(&self.guard))
            .arg(GUARD_ARG)
            .arg(std::process::id().to_string())
            .arg(program)
            .args(self.kind.arguments(&self.args, &address, home.path()))
            .stdin(Stdio::null())
            .stdout(log.try_clone().map_err(start)?)
            .stderr(log)
            .spawn();
        let end_within = Duration::from_secs(END_S[usize::from(self.is_counted)]);
        let mut child = ChildProcess { process: child.map_err(start)?, end_within };
        let facts = self.wait_until_ready(&mut child, program, &address, &home.log())?;
        Ok((child, address, facts))
    }

    fn wait_until_ready(
        &self,
        child: &mut ChildProcess,
        program: &Path,
        address: &Address,
        log: &Path,
    ) -> Result<ServerFacts, SpawnError> {
        let ready_s = READY_S[usize::from(self.is_counted)];
        let deadline = Instant::now() + Duration::from_secs(ready_s);
        let name = program.display();
        let failed = |text, has_ended| SpawnError { text, log: self.last_words(log), has_ended };
        loop {
            if let Ok(Some(status)) = child.process.try_wait() {
                let text = format!("{SPAWN}: {name} ended before it was ready ({status})");
                return Err(failed(text, true));
            }
            if let Some(facts) = look(self.kind, address, child.process.id(), ready_s) {
                return Ok(facts);
            }
            if Instant::now() >= deadline {
                let text =
                    format!("{SPAWN}: {name} did not answer on {address} within {ready_s} s");
                return Err(failed(text, false));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Returns the end of a log without this server's passwords, which it quotes in complaints.
    fn last_words(&self, log: &Path) -> Vec<String> {
        let secrets = secret::of_arguments(&self.args);
        let masked = |line| secret::masked(line, secrets.iter().map(String::as_str));
        last_words(log).into_iter().map(masked).collect()
    }
}

/// A port of 127.0.0.1 that was just free. After a run of many connections all of the kernel's own ports may
/// be in `TIME_WAIT`; then a port below them is tried.
fn free_port() -> io::Result<SocketAddr> {
    const BELOW: std::ops::Range<u16> = 20_000..32_000;
    let first = BELOW.start + (std::process::id() % u32::from(BELOW.end - BELOW.start)) as u16;
    let tried = std::iter::once(0).chain(first..BELOW.end).chain(BELOW.start..first);
    let mut last = io::Error::from(io::ErrorKind::AddrInUse);
    for port in tried {
        match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            Ok(listener) => return listener.local_addr(),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Asks the server about itself; `None` unless it answers, has this pid, and has loaded its data. Asks with
/// `INFO` rather than `PING`, so that the server's count of PINGs is only the run's.
fn look(kind: SpawnKind, address: &Address, pid: u32, reply_s: u64) -> Option<ServerFacts> {
    // A question that is given up is answered nevertheless, which is work of a server that is profiled.
    let reply = Duration::from_secs(reply_s);
    let patience = Patience { connect: Duration::from_secs(1), reply };
    if kind == SpawnKind::Memcached {
        return memcache::is_there(address, pid, patience);
    }
    let mut client = Client::connect(address, patience).ok()?;
    match client.ask(&[b"INFO"]).ok()? {
        // Its arguments set a password or another access rule, which their author knows.
        Value::Error(text) => (!text.starts_with(b"LOADING")).then(ServerFacts::default),
        reply => {
            let info = reply.text()?;
            let is_it = info_field(&info, "process_id").is_none_or(|p| p == pid.to_string());
            let ready = info_field(&info, "loading") != Some("1");
            (is_it && ready).then(|| ServerFacts::default().with_info(&info))
        }
    }
}

/// The end of a log, for an error.
fn last_words(log: &Path) -> Vec<String> {
    const BYTES_MAX: u64 = 4096;
    const LINES_MAX: usize = 8;
    let read = || -> io::Result<String> {
        let mut file = File::open(log)?;
        let len = file.metadata()?.len();
        file.seek(SeekFrom::Start(len.saturating_sub(BYTES_MAX)))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let text = read().unwrap_or_default();
    let mut lines: Vec<String> =
        text.lines().filter(|line| !line.trim().is_empty()).map(printable).collect();
    lines.split_off(lines.len().saturating_sub(LINES_MAX))
}

/// A process that is ended when dropped: first asked to, and after a while killed.
#[derive(Debug)]
struct ChildProcess {
    process: Child,
    end_within: Duration,
}

impl ChildProcess {
    fn ends(&mut self) -> bool {
        let deadline = Instant::now() + self.end_within;
        while Instant::now() < deadline {
            // An error means that there is no such child, so that it ended.
            if !matches!(self.process.try_wait(), Ok(None)) {
                return true;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        false
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        if !matches!(self.process.try_wait(), Ok(None)) {
            return;
        }
        // Not reaped yet, so the pid is still this child's.
        let _ = kill_process(Pid::from_child(&self.process), Signal::TERM);
        if !self.ends() {
            let _ = self.process.kill();
            let _ = self.process.wait();
        }
    }
}

/// A server that runs for as long as this value lives. After `std::process::exit`, which drops nothing, the
/// kernel ends the server, but its directory stays until the next server is spawned.
#[derive(Debug)]
pub struct SpawnedServer {
    // Dropped in this order: the server first, then its directory.
    child: ChildProcess,
    address: Address,
    facts: ServerFacts,
    command_line: Vec<String>,
    _home: Home,
}

impl SpawnedServer {
    /// Returns the address on which it listens.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Returns the id of its process.
    pub fn pid(&self) -> u32 {
        self.child.process.id()
    }

    /// Memory that it holds now, in bytes; `None` if the kernel does not report it.
    pub fn resident_bytes(&self) -> Option<u64> {
        ServerProcess::new(self.pid()).resident_bytes()
    }

    /// Returns its program and arguments, with `***` for the passwords among them.
    pub fn command_line(&self) -> &[String] {
        &self.command_line
    }

    /// `redis` or `valkey`; `None` if its arguments prevent an answer.
    pub fn product(&self) -> Option<&str> {
        self.facts.product.as_deref()
    }

    /// Returns its version, such as `7.0.15`; `None` if its arguments prevent an answer.
    pub fn version(&self) -> Option<&str> {
        self.facts.version.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn spawn(args: &[&str], listen: Listen) -> Spawn {
        Spawn {
            kind: SpawnKind::Redis,
            program: None,
            args: args.iter().map(|&a| a.into()).collect(),
            listen,
            guard: "/nonexistent/guard".into(),
            is_counted: false,
        }
    }

    #[test]
    fn what_keystorm_decides_is_refused_in_the_arguments() {
        let error = spawn(&["--maxclients", "5", "--Port", "1"], Listen::Loopback).start();
        let error = error.unwrap_err().to_string();
        assert!(error.contains("--spawn-args --Port"), "{error}");
    }

    #[test]
    fn last_words_are_few_and_escaped() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        assert!(last_words(&log).is_empty());
        let text: String = (0..5000).map(|n| format!("line {n}\n")).collect();
        fs::write(&log, text + "\x1b[31m \"red\"\n\n").unwrap();
        let words = last_words(&log);
        assert_eq!(words.last().unwrap(), "\\u{1b}[31m \"red\"");
        assert_eq!(words.len(), 8);
    }
}
