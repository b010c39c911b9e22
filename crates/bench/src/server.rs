//! The server of one case.
//!
//! Owns its life, what it holds and the count of its CPU time. It keeps nothing on disk, and its
//! cores are those of the thread that starts it.

use anyhow::{Context, Result};
use host::{Client, Listen, Patience, Plain, Spawn, SpawnedServer};

use crate::case::Case;

/// Clients that it takes: above the connections of every case.
const CLIENTS_MAX: &str = "12000";

/// A running server.
#[derive(Debug)]
pub(crate) struct Server {
    // Dropped in this order: our connection, then the server.
    client: Client<Plain>,
    spawned: SpawnedServer,
    version: String,
}

impl Server {
    /// Starts it and fills it as the case wants.
    ///
    /// # Errors
    /// It did not start, or did not take its data.
    pub(crate) fn start(program: &str, case: &Case) -> Result<Self> {
        let spawn = Spawn {
            kind: host::SpawnKind::Redis,
            program: Some(program.to_owned()),
            args: vec!["--maxclients".to_owned(), CLIENTS_MAX.to_owned()],
            listen: if case.unix { Listen::Unix } else { Listen::Loopback },
            guard: std::env::current_exe().context("finding this program")?,
        };
        let spawned = spawn.start()?;
        let mut client = Client::connect(spawned.address(), Patience::default())?;
        case.fill(&mut client)?;
        let product = spawned.product().unwrap_or("server");
        let version = format!("{product} {}", spawned.version().unwrap_or("?"));
        Ok(Self { client, spawned, version })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> &host::Address {
        self.spawned.address()
    }

    /// Such as `redis 7.0.15`.
    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    /// The CPU time that it has used so far, in seconds.
    ///
    /// # Errors
    /// It does not answer, or does not say.
    pub(crate) fn cpu_s(&mut self) -> Result<f64> {
        let reply = self.client.ask(&[b"INFO", b"cpu"])?;
        let info = reply.text().context("INFO cpu has no text")?;
        used_cpu_s(&info).context("INFO cpu does not tell used_cpu_user and used_cpu_sys")
    }
}

/// User and system time of a text of `INFO`.
fn used_cpu_s(info: &str) -> Option<f64> {
    let field = |name| -> Option<f64> {
        let find = |line: &str| Some(line.strip_prefix(name)?.strip_prefix(':')?.trim().to_owned());
        info.lines().find_map(find)?.parse().ok()
    };
    Some(field("used_cpu_user")? + field("used_cpu_sys")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_user_and_system_of_the_whole_process() {
        let info = "# CPU\r\nused_cpu_sys:1.500000\r\nused_cpu_user:2.250000\r\n\
                    used_cpu_sys_children:9.0\r\nused_cpu_user_children:9.0\r\n\
                    used_cpu_sys_main_thread:9.0\r\n";
        assert_eq!(used_cpu_s(info), Some(3.75));
        assert_eq!(used_cpu_s("# CPU\r\nused_cpu_sys:1.0\r\n"), None);
    }
}
