//! The cores that the server and the client run on.
//!
//! A process inherits the cores of the thread that starts it, so this thread goes to a core
//! before it starts a process that stays there, and sleeps while that runs.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use host::affinity;
use host::machine::cpu_times;

/// A core for the server and another for the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cores {
    /// Core of the server.
    pub(crate) server: usize,
    /// Core of the client.
    pub(crate) client: usize,
}

impl Cores {
    /// Takes two of the CPUs that this process may use, on different cores if possible.
    ///
    /// # Errors
    /// Returns an error if this process has only one core.
    pub(crate) fn choose() -> Result<Self> {
        let [server, client] = affinity::two_cpus().context(
            "the server and the client need a core each, and this process is not known to have two",
        )?;
        if affinity::siblings(server).contains(&client) {
            eprintln!("WARNING: CPUs {server} and {client} are two threads of one core");
        }
        Ok(Self { server, client })
    }

    /// Moves this thread to the core of the server, then to that of the client, where it stays.
    ///
    /// # Errors
    /// Returns an error if a core is missing, or not allowed to this process.
    pub(crate) fn check(self) -> Result<()> {
        pin_to(self.server)?;
        pin_to(self.client)
    }
}

impl FromStr for Cores {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let (server, client) =
            text.split_once(',').context("two numbers with a comma between them, such as 0,1")?;
        let cores = Self { server: server.trim().parse()?, client: client.trim().parse()? };
        ensure!(cores.server != cores.client, "two different cores");
        Ok(cores)
    }
}

impl fmt::Display for Cores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { server, client } = self;
        write!(f, "server on CPU {server}, client on CPU {client}")
    }
}

/// Sends this thread, and whatever it starts from now on, to a core.
///
/// # Errors
/// The core is not there, or not for us.
pub(crate) fn pin_to(cpu: usize) -> Result<()> {
    affinity::pin(&[cpu])
        .with_context(|| format!("CPU {cpu} is not there, or this process may not use it"))
}

/// Measures how many cores were busy in the last moment, while this program slept; `None` if this machine does not
/// tell.
pub(crate) fn busy_cores() -> Option<f64> {
    const MOMENT: Duration = Duration::from_millis(300);
    let before = cpu_times()?;
    std::thread::sleep(MOMENT);
    Some(cpu_times()?.since(before).work_s() / MOMENT.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_different_cores_are_needed() {
        let both = "0,3".parse::<Cores>().unwrap();
        assert_eq!((both.server, both.client), (0, 3));
        for wrong in ["1", "1,1", "a,b", "1,2,3"] {
            assert!(wrong.parse::<Cores>().is_err(), "{wrong}");
        }
    }
}
