//! Servers that are started to be crashed: each keeps its files and its port from one start to the next.

use std::ffi::OsString;
use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use host::guard::GUARD_ARG;
use host::{Address, Client, Patience, info_field};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use wire::resp::Value;

/// Longest wait for a server to answer, to load its data, or to be in step with its primary.
const READY_WITHIN: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// Patience with an answer: a server may be busy with load.
const PATIENCE: Patience =
    Patience { connect: Duration::from_secs(5), reply: Duration::from_secs(30) };

/// A server with its files.
pub(super) struct Node {
    pub(super) address: SocketAddr,
    pub(super) home: TempDir,
    args: Vec<OsString>,
    child: Option<Child>,
}

impl Node {
    /// Prepares a server that is not started yet, with these options.
    ///
    /// # Errors
    /// Returns an error if there is no free port, or no room for its files.
    pub(super) fn new<'a>(options: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        let home = TempDir::with_prefix("keystorm-durability-").context("making a folder")?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("finding a port")?;
        let address = listener.local_addr()?;
        let port = address.port().to_string();
        let fixed = ["--bind", "127.0.0.1", "--port", &port, "--save", "", "--appendonly", "no"];
        let fixed = fixed.into_iter().chain(["--daemonize", "no", "--logfile", ""]);
        let mut args: Vec<OsString> = fixed.map(OsString::from).collect();
        args.extend(["--dir".into(), home.path().into()]);
        // A replica need not wait for others.
        args.extend(["--repl-diskless-sync-delay", "0"].map(OsString::from));
        args.extend(options.into_iter().map(OsString::from));
        Ok(Self { address, home, args, child: None })
    }

    /// Makes it a replica of another from its next start on.
    pub(super) fn follow(&mut self, primary: SocketAddr) {
        let port = primary.port().to_string();
        self.args.extend(["--replicaof", "127.0.0.1", &port].map(OsString::from));
    }

    /// Starts the server with the files it has, and waits until it has loaded them.
    ///
    /// # Errors
    /// Returns an error if it does not start, with the end of its log.
    pub(super) fn start(&mut self, program: &Path) -> Result<()> {
        let log = File::create(self.home.path().join("server.log")).context("making a log")?;
        let guard = std::env::current_exe().context("finding keystorm's own program")?;
        let child = Command::new(guard)
            .args([
                OsString::from(GUARD_ARG),
                std::process::id().to_string().into(),
                program.into(),
            ])
            .args(&self.args)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn();
        self.child = Some(child.with_context(|| format!("starting {}", program.display()))?);
        self.wait_for("answers", &["INFO"], |info| info_field(info, "loading") == Some("0"))
    }

    /// Waits until a report of the server says that a condition holds.
    ///
    /// # Errors
    /// Returns an error if it ends, or does not say so in time.
    pub(super) fn wait_for(
        &mut self,
        what: &str,
        question: &[&str],
        holds: impl Fn(&str) -> bool,
    ) -> Result<()> {
        let deadline = Instant::now() + READY_WITHIN;
        loop {
            if self.child.as_mut().is_none_or(|child| !matches!(child.try_wait(), Ok(None))) {
                bail!("the server on {} has ended{}", self.address, self.last_words());
            }
            let answer = self.ask(question).ok().and_then(|answer| answer.text());
            if answer.is_some_and(|text| holds(&text)) {
                return Ok(());
            }
            if Instant::now() > deadline {
                let seconds = READY_WITHIN.as_secs();
                bail!("after {seconds} s the server on {} is not one that {what}", self.address);
            }
            thread::sleep(LOOK_EVERY);
        }
    }

    /// Sends a command on a connection of its own.
    ///
    /// # Errors
    /// Returns an error if the server does not answer, or answers with an error.
    pub(super) fn ask(&self, words: &[&str]) -> Result<Value> {
        let words: Vec<&[u8]> = words.iter().map(|word| word.as_bytes()).collect();
        let client = Client::connect(&Address::Tcp(self.address), PATIENCE);
        match client.map_err(|error| anyhow!("{}: {error}", self.address))?.ask(&words)? {
            Value::Error(text) => bail!("{}: {}", self.address, String::from_utf8_lossy(&text)),
            value => Ok(value),
        }
    }

    /// Kills the server at once.
    pub(super) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Sends the server a signal.
    ///
    /// # Errors
    /// Returns an error if it does not run.
    pub(super) fn signal(&self, signal: Signal) -> Result<()> {
        let child = self.child.as_ref().context("the server does not run")?;
        Ok(kill_process(Pid::from_child(child), signal)?)
    }

    /// The end of its log, as the end of a sentence.
    fn last_words(&self) -> String {
        let log = std::fs::read_to_string(self.home.path().join("server.log")).unwrap_or_default();
        let last = log.lines().rev().find(|line| !line.trim().is_empty());
        last.map_or(String::new(), |line| format!(": {}", report::escape(line.trim())))
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Port of the server that takes writes, which changes with a failover.
#[derive(Default)]
pub(super) struct Primary(AtomicU16);

impl Primary {
    pub(super) fn set(&self, address: SocketAddr) {
        self.0.store(address.port(), Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.0.load(Ordering::Relaxed)).into()
    }
}

impl runner::Resolver for Primary {
    fn resolve(&self) -> Option<Address> {
        Some(Address::Tcp(self.get()))
    }
}
