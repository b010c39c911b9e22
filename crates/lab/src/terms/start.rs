//! How the servers of a table are started: the same memory, no persistence, and the threads that the
//! table is about.

use workload::{Endpoint, Target};

use super::Side;

/// Form in which a side is started for a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    /// Process that works on one core.
    Core,
    /// As many processes of Redis as that; of memcached one, with as many workers.
    Processes(usize),
    /// Process with so many threads.
    Threads(usize),
}

/// Memory of a side, evicted from the least recently used when it is full: what a memcached that is
/// started has anyway.
const MEMORY_MB: usize = 1024;
/// Requests of one connection that memcached serves in a row, by default (-R).
const REQUESTS_DEFAULT: u64 = 20;

impl Start {
    /// The servers of a side. One that was given is itself. `depth` is how many requests a connection
    /// has in flight.
    pub(super) fn targets(self, side: &Side, cpus: &[usize], depth: u64) -> Vec<Target> {
        let Endpoint::Spawned { program, args, unix, cpus: own } = &side.target.endpoint else {
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
        };
        vec![Target { endpoint, ..side.target.clone() }; count]
    }
}

fn memcached(workers: usize, depth: u64) -> Vec<String> {
    let at_a_time = depth.max(REQUESTS_DEFAULT);
    ["-t", &workers.to_string(), "-R", &at_a_time.to_string()].map(str::to_owned).to_vec()
}

/// Returns the arguments of one of so many processes.
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
