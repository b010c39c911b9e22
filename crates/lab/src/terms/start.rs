//! Starts of the servers of a table: equal memory, no persistence, and the table's threads.

use workload::{Endpoint, PlanParts, Target};

use super::Side;

/// Start of a side for a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    /// A process that works on one core.
    Core,
    /// This many processes of Redis; for memcached, one process with as many workers.
    Processes(usize),
    /// A process with this many threads.
    Threads(usize),
}

/// Memory of a side, with eviction of the least recently used keys when it is full, like memcached's default.
const MEMORY_MB: usize = 1024;
/// Default number of requests of one connection that memcached serves in a row (-R).
const REQUESTS_DEFAULT: u64 = 20;
/// Default number of threads of memcached (-t).
const MEMCACHED_THREADS: usize = 4;

impl Start {
    /// The servers of a side. A given server is left as it is. `depth` is the number of requests in flight on
    /// a connection.
    pub(super) fn targets(self, side: &Side, cpus: &[usize], depth: u64) -> Vec<Target> {
        let Endpoint::Spawned { program, args, unix, cpus: own, .. } = &side.target.endpoint else {
            return vec![side.target.clone()];
        };
        let (count, of_table) = match (side.protocol.is_memcache(), self) {
            (true, Self::Core) => (1, memcached(1, depth)),
            (true, Self::Processes(n) | Self::Threads(n)) => (1, memcached(n, depth)),
            (false, Self::Core) => (1, redis(1, 1)),
            (false, Self::Processes(n)) => (n, redis(n, 1)),
            (false, Self::Threads(n)) => (1, redis(1, n)),
        };
        // A configuration file must stay the first; what the user says comes last and wins.
        let file = args.first().filter(|first| !first.starts_with('-'));
        let rest = &args[usize::from(file.is_some())..];
        let args = file.into_iter().cloned().chain(of_table).chain(rest.iter().cloned());
        let endpoint = Endpoint::Spawned {
            program: program.clone(),
            args: args.collect(),
            unix: *unix,
            cpus: if own.is_empty() { cpus.to_vec() } else { own.clone() },
            counted: false,
        };
        vec![Target { endpoint, ..side.target.clone() }; count]
    }
}

/// Number of threads that serve connections on the server that a plan starts: by its arguments, in the words of Redis
/// and Valkey or of memcached, or by default.
pub(super) fn threads(plan: &PlanParts) -> usize {
    let Endpoint::Spawned { args, .. } = &plan.target.endpoint else { return 1 };
    let mut words = args.iter().flat_map(|arg| arg.split('='));
    let mut threads = if plan.protocol.is_memcache() { MEMCACHED_THREADS } else { 1 };
    while let Some(word) = words.next() {
        if ["--io-threads", "--threads", "-t"].contains(&&*word.to_lowercase()) {
            threads = words.next().and_then(|word| word.parse().ok()).unwrap_or(threads);
        }
    }
    threads
}

fn memcached(workers: usize, depth: u64) -> Vec<String> {
    let at_a_time = depth.max(REQUESTS_DEFAULT);
    ["-t", &workers.to_string(), "-R", &at_a_time.to_string()].map(str::to_owned).to_vec()
}

/// Returns the arguments of one of this many processes.
fn redis(processes: usize, threads: usize) -> Vec<String> {
    let memory = format!("{}mb", MEMORY_MB / processes);
    let mut args =
        ["--maxmemory", &memory, "--maxmemory-policy", "allkeys-lru"].map(str::to_owned).to_vec();
    if threads > 1 {
        let threads = threads.to_string();
        args.extend(["--io-threads", &threads, "--io-threads-do-reads", "yes"].map(str::to_owned));
    }
    args
}
