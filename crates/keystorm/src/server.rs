//! The server to measure: found, started if asked for, and looked at before load runs.

use std::net::ToSocketAddrs;

use anyhow::{Context, Result, anyhow, bail};
use host::{Listen, Login, ServerFacts, Spawn, SpawnedServer};
use workload::{CommandSpec, Credentials, Endpoint, Target};

use crate::sentinel::Sentinels;

/// A server that has answered. One that was started for the run ends with this.
pub(crate) struct Server {
    pub(crate) address: host::Address,
    pub(crate) facts: ServerFacts,
    spawned: Option<SpawnedServer>,
    sentinels: Option<Sentinels>,
}

impl Server {
    /// Finds or starts the server of a target and asks what it is.
    /// `connections` is how many the load will open.
    pub(crate) fn reach(target: &Target, connections: u32) -> Result<Self> {
        let login = login(target);
        let mut sentinels = None;
        let (addresses, spawned) = match &target.endpoint {
            Endpoint::Unix(path) => (vec![host::Address::Unix(path.clone())], None),
            Endpoint::Tcp { host, port } => (resolve(host, *port)?, None),
            Endpoint::Sentinel { sentinels: hosts, name } => {
                let asked = sentinels.insert(Sentinels::new(hosts, name, target));
                (vec![asked.primary().map_err(anyhow::Error::msg)?], None)
            }
            Endpoint::Spawned { program, args, unix, cpus } => {
                let spawn = || spawn(program.clone(), args, connections, *unix);
                let spawned = pinned(cpus, spawn)?;
                (vec![spawned.address().clone()], Some(spawned))
            }
        };
        // A name may stand for several addresses, of which the first that answers is used.
        let mut failure = anyhow!("{} stands for no address", target.endpoint);
        for address in addresses {
            match host::probe(&address, login) {
                Ok(facts) => {
                    return Ok(Self { address, facts, spawned, sentinels });
                }
                Err(error) => failure = error.into(),
            }
        }
        Err(failure)
    }

    /// Who knows where the server is when it has moved.
    pub(crate) fn resolver(&self) -> Option<&dyn runner::Resolver> {
        self.sentinels.as_ref().map(|sentinels| sentinels as &dyn runner::Resolver)
    }

    /// Where it is now: a test before may have seen it move.
    pub(crate) fn address_now(&self) -> host::Address {
        self.resolver().and_then(|r| r.resolve()).unwrap_or_else(|| self.address.clone())
    }

    /// What a server that was started for the run is, for the one line that says so.
    pub(crate) fn spawned(&self) -> Option<String> {
        self.spawned.as_ref()?;
        let known =
            |fact: &Option<String>| fact.clone().unwrap_or_else(|| "of unknown kind".into());
        let ServerFacts { product, version, .. } = &self.facts;
        Some(format!("{} {} on {}", known(product), known(version), self.address))
    }

    /// Sends commands that must come before a test, and fails if one is refused.
    pub(crate) fn prepare(&self, target: &Target, commands: &[CommandSpec]) -> Result<()> {
        if commands.is_empty() {
            return Ok(());
        }
        let mut client = host::log_in(&self.address_now(), login(target))?;
        for command in commands {
            let args: Option<Vec<Vec<u8>>> = command.args.iter().map(|a| a.fixed_bytes()).collect();
            let args = args.context("a command that prepares a test has no placeholders")?;
            let words: Vec<&[u8]> = args.iter().map(Vec::as_slice).collect();
            if let wire::resp::Value::Error(text) = client.ask(&words)? {
                let text = String::from_utf8_lossy(&text);
                bail!(
                    "Error from server: {text} (in answer to {}, which the test needs)",
                    command.name()
                );
            }
        }
        Ok(())
    }
}

fn login(target: &Target) -> Login<'_> {
    let credentials = target.credentials.as_ref();
    Login {
        user: credentials.and_then(|c| c.user.as_deref()),
        password: credentials.map(|Credentials { password, .. }| password.reveal()),
        db: target.db,
    }
}

fn resolve(host: &str, port: u16) -> Result<Vec<host::Address>> {
    let found = (host, port).to_socket_addrs();
    let addresses: Vec<_> = found
        .map_err(|e| anyhow!("Could not find the host {host:?}: {e}. Check -h"))?
        .map(host::Address::Tcp)
        .collect();
    Ok(addresses)
}

/// Starts a server on these CPUs: it inherits the place of the thread that starts it.
#[cfg(target_os = "linux")]
fn pinned(cpus: &[usize], spawn: impl FnOnce() -> Result<SpawnedServer>) -> Result<SpawnedServer> {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    if cpus.is_empty() {
        return spawn();
    }
    let ours = sched_getaffinity(None)?;
    let mut set = CpuSet::new();
    cpus.iter().for_each(|cpu| set.set(*cpu));
    sched_setaffinity(None, &set)
        .map_err(|e| anyhow!("--server-cpus: the server cannot be pinned to {cpus:?}: {e}"))?;
    let spawned = spawn();
    sched_setaffinity(None, &ours)?;
    spawned
}

#[cfg(not(target_os = "linux"))]
fn pinned(cpus: &[usize], spawn: impl FnOnce() -> Result<SpawnedServer>) -> Result<SpawnedServer> {
    if !cpus.is_empty() {
        bail!("--server-cpus: pinning is a feature of Linux");
    }
    spawn()
}

fn spawn(
    program: Option<String>,
    args: &[String],
    connections: u32,
    unix: bool,
) -> Result<SpawnedServer> {
    let guard = std::env::current_exe().context("finding keystorm's own program")?;
    let listen = if unix { Listen::Unix } else { Listen::Loopback };
    let mut args = args.to_vec();
    // A server takes 10,000 clients unless told otherwise; what the user says comes last and wins.
    if connections > CLIENTS_DEFAULT {
        let clients = u64::from(connections) + u64::from(CLIENTS_SPARE);
        args.splice(0..0, ["--maxclients".to_owned(), clients.to_string()]);
    }
    Ok(Spawn { program, args, listen, guard }.start()?)
}

/// Clients that a server takes by default, less some for those who only look.
const CLIENTS_DEFAULT: u32 = 10_000 - CLIENTS_SPARE;
const CLIENTS_SPARE: u32 = 64;
