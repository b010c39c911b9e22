//! A server's use of resources, and its work, between two readings.
//!
//! Owns the figures and their computation from two snapshots. A field is `None` if the server does not report
//! it; `report` interprets the figures.

use serde::{Deserialize, Serialize};

use super::info::Info;
use super::journal::{Journal, JournalMark};
use super::local::LocalUse;
use super::run_times::{CommandRunTime, CommandUse, RunTimes};
use super::sample::ServerSample;
use super::workers;

/// A look at a server.
#[derive(Debug, Clone, Default)]
pub(super) struct Snapshot {
    pub(super) info: Info,
    /// Settings by name, as far as `CONFIG GET` is allowed.
    pub(super) settings: Vec<(String, String)>,
    /// Clients that get a copy of every command.
    pub(super) monitors: Option<u64>,
    /// The process, if it runs here.
    pub(super) local: Option<LocalUse>,
    /// State of its lists of slow moments, if requested.
    pub(super) journal: Option<JournalMark>,
    /// Execution times of its commands so far, if requested.
    pub(super) run_times: Option<RunTimes>,
}

/// A server's use of resources, and its work, while load ran.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerUse {
    /// Address of the server.
    pub address: String,
    /// The version of a memcached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memcached_version: Option<String>,
    /// CPU seconds of the thread that executes commands.
    pub cpu_main_s: Option<f64>,
    /// CPU seconds of each thread that serves connections, the busiest first; only for memcached on this
    /// machine.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub worker_cpu_s: Vec<f64>,
    /// CPU seconds of the whole process, without children that save.
    pub cpu_process_s: Option<f64>,
    /// Seconds in which that thread was runnable and had no CPU; only for a server on this machine.
    pub cpu_wait_s: Option<f64>,
    /// Seconds in which the CPU quota of its control group throttled it; only for a server on this machine.
    pub cpu_throttled_s: Option<f64>,
    /// Seconds in which the main thread had work, if the server distinguishes that from polling.
    pub active_main_s: Option<f64>,
    /// Seconds in which the busiest I/O thread had work.
    pub active_io_s: Option<f64>,
    /// Threads that poll, and so use CPU without work.
    pub polling: Option<PollingThreads>,
    /// CPUs that this thread may run on; only for a server on this machine.
    pub cpus: Vec<usize>,
    /// Number of threads that share the work on connections, including the main thread.
    pub threads: Option<u32>,
    /// Bytes of data and overhead, before.
    pub memory_before_bytes: Option<u64>,
    /// Bytes of data and overhead, after.
    pub memory_after_bytes: Option<u64>,
    /// Memory of the process in bytes, after the load.
    pub memory_rss_bytes: Option<u64>,
    /// The limit of memory; 0 for none.
    pub memory_max_bytes: Option<u64>,
    /// Swapped bytes after the load; only for a server on this machine.
    pub swap_bytes: Option<u64>,
    /// Growth of the swapped-out bytes.
    pub swap_grown_bytes: Option<u64>,
    /// Keys removed to stay below the limit of memory.
    pub evicted_keys: Option<u64>,
    /// Keys that expired.
    pub expired_keys: Option<u64>,
    /// Reads that hit.
    pub hits: Option<u64>,
    /// Reads that missed.
    pub misses: Option<u64>,
    /// Commands executed, of all clients.
    pub commands: Option<u64>,
    /// Commands executed, by name, with their times, including commands in scripts.
    pub by_command: Vec<CommandUse>,
    /// Bytes read from clients.
    pub net_in_bytes: Option<u64>,
    /// Bytes written to clients.
    pub net_out_bytes: Option<u64>,
    /// Clients turned away because of `maxclients`.
    pub rejected_connections: Option<u64>,
    /// Set if the data set was saved, or was being saved, at any time between.
    pub saved: Option<bool>,
    /// Set if the append-only file was rewritten, or was being rewritten, at any time between.
    pub rewrote: Option<bool>,
    /// Processes forked.
    pub forks: Option<u64>,
    /// Pause of the server by the latest of these forks, in microseconds.
    pub fork_usec: Option<u64>,
    /// Clients that got a copy of every command (MONITOR), before or after, whichever is more.
    pub monitors: Option<u64>,
    /// Set if it was a replica, before or after, and so executed its master's commands, too.
    pub replica: Option<bool>,
    /// Replicas connected, after.
    pub replicas: Option<u64>,
    /// Settings that affect speed, after the load.
    pub settings: Vec<Setting>,
    /// Samples, one a second, if requested.
    pub samples: Vec<ServerSample>,
    /// Number of samples beyond the bound, which were not kept.
    pub samples_dropped: u64,
    /// The server's record of its slow moments, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub journal: Option<Journal>,
    /// Execution times of its commands, if requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub run_times: Vec<CommandRunTime>,
}

/// A setting of the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// Name.
    pub name: String,
    /// Value.
    pub value: String,
    /// Previous value, if it was changed meanwhile.
    pub changed_from: Option<String>,
}

/// Threads that busy-wait for work instead of sleeping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PollingThreads {
    /// The I/O threads.
    Io,
    /// The main thread, too.
    Main,
}

/// The utilization of a server.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ServerBusy {
    /// Share of the time in which its busiest part had a CPU, 0 to 1.
    pub cpu: f64,
    /// Share of the time in which that part waited for a CPU; 0 if unknown.
    pub wait: f64,
    /// The busiest part.
    pub part: BusyPart,
    /// Set if that part polls: only some of its CPU time was work.
    pub polls: bool,
}

/// The busiest part of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BusyPart {
    /// The thread that executes commands.
    MainThread,
    /// The busiest I/O thread.
    IoThread,
    /// The busiest of several threads that serve connections.
    Worker,
    /// The whole process, if its serving threads cannot be identified.
    Process,
    /// All serving threads, on average.
    Threads,
}

impl ServerUse {
    /// Computes the busy share of the server during a load of `load_s` seconds. `None` if unknown.
    pub fn busy(&self, load_s: f64) -> Option<ServerBusy> {
        if load_s <= 0.0 {
            return None;
        }
        let threads = self.threads.filter(|threads| *threads >= 2);
        let active_main_s = self.active_main_s.filter(|_| threads.is_some());
        // Time with work, by the clock of the wall, may hold time without a CPU.
        let main_s = active_main_s.map(|s| self.cpu_main_s.map_or(s, |cpu_s| s.min(cpu_s)));
        let main = main_s.or(self.cpu_main_s).map(|cpu_s| (cpu_s, BusyPart::MainThread));
        // One thread of several may idle while the others are full, so the fuller view decides.
        let others = match threads {
            _ if main_s.is_some() => self.active_io_s.map(|s| (s, BusyPart::IoThread)),
            _ if !self.worker_cpu_s.is_empty() => {
                self.worker_cpu_s.first().map(|s| (*s, BusyPart::Worker))
            }
            // All of their CPU time says nothing of their work.
            Some(_) if self.polling.is_some() && main.is_some() => None,
            Some(threads) => {
                self.cpu_process_s.map(|cpu_s| (cpu_s / f64::from(threads), BusyPart::Threads))
            }
            None => self.cpu_process_s.filter(|_| main.is_none()).map(|s| (s, BusyPart::Process)),
        };
        let (cpu_s, part) =
            main.into_iter().chain(others).max_by(|(a, _), (b, _)| a.total_cmp(b))?;
        let cpu = (cpu_s / load_s).min(1.0);
        // Connections opened before and closed after the load cost CPU too; no more than all of
        // the time can have passed.
        let wait = (self.cpu_wait_s.unwrap_or(0.0) / load_s).clamp(0.0, 1.0 - cpu);
        let polls = match self.polling {
            None => false,
            Some(_) if main_s.is_some() => false,
            Some(PollingThreads::Main) => true,
            Some(PollingThreads::Io) => part != BusyPart::MainThread,
        };
        Some(ServerBusy { cpu, wait, part, polls })
    }

    /// Seconds that the server spent executing commands, by its own count.
    pub fn executing_s(&self) -> Option<f64> {
        // The time of a script or transaction holds that of the commands in it, which are counted
        // again by themselves.
        let (outer, inner): (Vec<_>, Vec<_>) = self.by_command.iter().partition(|command| {
            let name = command.name.as_str();
            name == "exec" || name.starts_with("eval") || name.starts_with("fcall")
        });
        let sum = |commands: Vec<&CommandUse>| commands.iter().map(|c| c.usec).sum::<u64>();
        // memcached counts commands and does not time them.
        Some(sum(outer).max(sum(inner)) as f64 / 1e6).filter(|seconds| *seconds > 0.0)
    }

    /// Value of a setting, if known.
    pub fn setting(&self, name: &str) -> Option<&str> {
        let found = self.settings.iter().find(|setting| setting.name == name);
        found.map(|setting| setting.value.as_str())
    }

    /// Computes the changes between two readings of one server.
    ///
    /// # Errors
    /// Returns the reason, in words for a person, if the readings do not belong together.
    pub(super) fn between(before: &Snapshot, after: &Snapshot) -> Result<Self, String> {
        let (old, new) = (&before.info, &after.info);
        if old.text("run_id") != new.text("run_id") {
            return Err("the server was restarted during the test".to_owned());
        }
        let grown = |name: &str| new.number(name)?.checked_sub(old.number(name)?);
        let total = "total_commands_processed";
        if old.number(total).is_some() && grown(total).is_none() {
            return Err("the server's counters were reset during the test".to_owned());
        }
        let seconds = |old: Option<f64>, new: Option<f64>| Some((new? - old?).max(0.0));
        let local = before.local.as_ref().zip(after.local.as_ref());
        // What the kernel says of the first thread is of no use where others do the work.
        let first = local.filter(|_| !new.is_memcached());
        let local_s = |pick: fn(&LocalUse) -> u64| {
            first.map(|(old, new)| pick(new).saturating_sub(pick(old)) as f64 / 1e9)
        };
        let (worker_cpu_s, worker_wait_s) = local
            .map(|(old, new)| workers::between(&old.workers, &new.workers))
            .unwrap_or_default();
        let throttled = local.and_then(|(old, new)| old.throttled_ns.zip(new.throttled_ns));
        let threads = threads(after);
        let (active_before, active_after) = (old.active_io_s(), new.active_io_s());
        let active_io_s = active_after
            .iter()
            .map(|(name, s)| (s - active_before.get(name).copied().unwrap_or(0.0)).max(0.0));
        let forks = grown("total_forks");
        let swap = local.and_then(|(old, new)| old.swap_bytes.zip(new.swap_bytes));
        Ok(Self {
            address: String::new(),
            memcached_version: new.text("memcached_version").map(str::to_owned),
            cpu_main_s: seconds(old.cpu_main_s(), new.cpu_main_s())
                .or_else(|| local_s(|used| used.run_ns)),
            cpu_process_s: seconds(old.cpu_process_s(), new.cpu_process_s()),
            cpu_wait_s: local_s(|used| used.wait_ns).or(worker_wait_s),
            worker_cpu_s,
            cpu_throttled_s: throttled.map(|(old, new)| new.saturating_sub(old) as f64 / 1e9),
            active_main_s: seconds(old.active_main_s(), new.active_main_s()),
            active_io_s: active_io_s.max_by(f64::total_cmp),
            polling: threads.and_then(|threads| polling(new, threads)),
            cpus: local.map(|(_, new)| new.cpus.clone()).unwrap_or_default(),
            threads,
            memory_before_bytes: old.number("used_memory"),
            memory_after_bytes: new.number("used_memory"),
            memory_rss_bytes: resident_bytes(after),
            memory_max_bytes: new.number("maxmemory"),
            swap_bytes: swap.map(|(_, new)| new),
            swap_grown_bytes: swap.map(|(old, new)| new.saturating_sub(old)),
            evicted_keys: grown("evicted_keys"),
            expired_keys: grown("expired_keys"),
            hits: grown("keyspace_hits"),
            misses: grown("keyspace_misses"),
            commands: grown(total),
            by_command: by_command(old, new),
            net_in_bytes: grown("total_net_input_bytes"),
            net_out_bytes: grown("total_net_output_bytes"),
            rejected_connections: grown("rejected_connections"),
            saved: saved(old, new),
            rewrote: rewrote(old, new),
            forks,
            fork_usec: new.number("latest_fork_usec").filter(|_| forks.is_some_and(|n| n > 0)),
            monitors: before.monitors.max(after.monitors),
            replica: old.replica().zip(new.replica()).map(|(was, is)| was || is),
            replicas: new.number("connected_slaves"),
            settings: settings(before, after),
            ..Self::default()
        })
    }
}

/// Memory of the server's process: by this machine's kernel, or else by the server, where memcached counts
/// only its items.
fn resident_bytes(after: &Snapshot) -> Option<u64> {
    let local = after.local.as_ref().and_then(|used| used.resident_bytes);
    local.or_else(|| after.info.number("used_memory_rss"))
}

/// Number of working threads: `io-threads` includes the main thread; Dragonfly reports the number directly.
fn threads(snapshot: &Snapshot) -> Option<u32> {
    let set = snapshot.settings.iter().find(|(name, _)| name == "io-threads");
    let set = set.and_then(|(_, value)| value.parse().ok());
    set.or_else(|| snapshot.info.number("thread_count")?.try_into().ok())
}

/// Returns the polling threads of a server with `threads` of them. I/O threads poll in Redis before 8, and
/// sleep in 8; Valkey's main thread polls their results, too.
fn polling(info: &Info, threads: u32) -> Option<PollingThreads> {
    if threads < 2 {
        return None;
    }
    if info.is_valkey() {
        return Some(PollingThreads::Main);
    }
    let old =
        info.major().is_some_and(|major| major < 8) && info.text("io_threads_active").is_some();
    old.then_some(PollingThreads::Io)
}

fn by_command(old: &Info, new: &Info) -> Vec<CommandUse> {
    let before = old.commands();
    let grown = new.commands().into_iter().filter_map(|(name, now)| {
        let was = before.get(&name).copied().unwrap_or_default();
        let calls = now.calls.checked_sub(was.calls).filter(|calls| *calls > 0)?;
        Some(CommandUse { name, calls, usec: now.usec.saturating_sub(was.usec) })
    });
    grown.collect()
}

/// Returns whether the data was saved: Redis 7 counts saves; before, only the time of the last one shows it.
fn saved(old: &Info, new: &Info) -> Option<bool> {
    let last = (old.number("rdb_last_save_time")?, new.number("rdb_last_save_time")?);
    let counted = new.number("rdb_saves") > old.number("rdb_saves");
    Some(counted || last.0 != last.1 || old.saving() || new.saving())
}

/// Returns whether the file was rewritten: Redis 7 counts rewrites; before, only the duration of the last one
/// shows it.
fn rewrote(old: &Info, new: &Info) -> Option<bool> {
    let last = "aof_last_rewrite_time_sec";
    let last = (old.signed(last)?, new.signed(last)?);
    let counted = new.number("aof_rewrites") > old.number("aof_rewrites");
    Some(counted || last.0 != last.1 || old.rewriting() || new.rewriting())
}

fn settings(before: &Snapshot, after: &Snapshot) -> Vec<Setting> {
    let was = |name: &str| before.settings.iter().find(|(known, _)| known == name);
    let settings = after.settings.iter().map(|(name, value)| Setting {
        name: name.clone(),
        value: value.clone(),
        changed_from: was(name).map(|(_, old)| old.clone()).filter(|old| old != value),
    });
    settings.collect()
}

#[cfg(test)]
#[path = "server_use_tests.rs"]
mod tests;
