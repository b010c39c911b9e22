//! The cores that the server and the client run on.
//!
//! A process inherits the cores of the thread that starts it, so this thread goes to a core
//! before it starts a process that stays there, and sleeps while that runs.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use host::machine::cpu_list;

/// A core for the server and another for the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cores {
    /// Core of the server.
    pub(crate) server: usize,
    /// Core of the client.
    pub(crate) client: usize,
}

impl Cores {
    /// The first core that this process may use, and the first other one that is not the same
    /// core under another name (a hardware thread), if there is such a one.
    ///
    /// # Errors
    /// Returns an error if this process has only one core.
    pub(crate) fn choose() -> Result<Self> {
        let allowed = allowed()?;
        let [server, others @ ..] = &allowed[..] else {
            bail!("this process may run on no core");
        };
        let Some(first) = others.first() else {
            bail!(
                "this process may run on one core only, and the server and the client need one \
                 each"
            );
        };
        let siblings = siblings(*server);
        let separate = others.iter().find(|cpu| !siblings.contains(cpu));
        if separate.is_none() {
            eprintln!("WARNING: CPUs {server} and {first} are two threads of one core");
        }
        Ok(Self { server: *server, client: *separate.unwrap_or(first) })
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
#[cfg(target_os = "linux")]
pub(crate) fn pin_to(cpu: usize) -> Result<()> {
    use rustix::thread::{CpuSet, sched_setaffinity};

    ensure!(cpu < CpuSet::MAX_CPU, "there is no CPU {cpu}");
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set)
        .with_context(|| format!("CPU {cpu} is not there, or this process may not use it"))
}

/// The CPUs that this thread may run on.
#[cfg(target_os = "linux")]
fn allowed() -> Result<Vec<usize>> {
    use rustix::thread::{CpuSet, sched_getaffinity};

    let set = sched_getaffinity(None).context("asking which CPUs this process may use")?;
    Ok((0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect())
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn pin_to(_cpu: usize) -> Result<()> {
    allowed().map(drop)
}

#[cfg(not(target_os = "linux"))]
fn allowed() -> Result<Vec<usize>> {
    bail!("only Linux keeps a process on a core of our choice")
}

/// The hardware threads of a CPU's core, itself included; none if this machine does not tell.
fn siblings(cpu: usize) -> Vec<usize> {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
    cpu_list(&std::fs::read_to_string(path).unwrap_or_default())
}

/// Measures how many cores were busy in the last moment, while this program slept; `None` if this machine does not
/// tell.
pub(crate) fn busy_share() -> Option<f64> {
    const MOMENT: Duration = Duration::from_millis(300);
    let read = || std::fs::read_to_string("/proc/stat").ok();
    let before = read()?;
    std::thread::sleep(MOMENT);
    let cores = before.lines().filter(|l| l.starts_with("cpu")).count() - 1;
    Some(busy_between(&before, &read()?)? * cores as f64)
}

/// The share of all CPU time that was not idle, between two texts of `/proc/stat`.
fn busy_between(before: &str, after: &str) -> Option<f64> {
    // user nice system idle iowait irq softirq steal; guests are in the first two already.
    let times = |text: &str| -> Option<(f64, f64)> {
        let words = text.lines().next()?.split_whitespace().skip(1).take(8);
        let ticks: Vec<f64> = words.map(str::parse).collect::<Result<_, _>>().ok()?;
        Some((ticks.iter().sum(), ticks.get(3)? + ticks.get(4)?))
    };
    let ((all, idle), (all_before, idle_before)) = (times(after)?, times(before)?);
    let passed = all - all_before;
    (passed > 0.0).then(|| 1.0 - (idle - idle_before) / passed)
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

    #[test]
    fn time_that_is_not_idle_is_busy() {
        let before = "cpu  10 0 10 80 0 0 0 0 0 0\ncpu0 1 1 1 1";
        let after = "cpu  30 0 20 140 0 0 0 10 0 0\ncpu0 1 1 1 1";
        assert_eq!(busy_between(before, after), Some(0.4));
        assert_eq!(busy_between(before, before), None);
        assert_eq!(busy_between("", after), None);
    }
}
