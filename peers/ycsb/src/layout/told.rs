//! Which commands and operations of a plan YCSB tells under which name, and what a miss is there.

use workload::{CommandSpec, Logged, PlanParts};

/// Where what is told under a name is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// A command, by its place in the sequence.
    Command(usize),
    /// An operation, by its place in the mix.
    Operation(usize),
}

/// Whether a miss is a failure, whose latencies are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Misses {
    Fail,
    Succeed,
    /// Nor is an error: it is told as one that ended.
    AllSucceed,
}

/// What is told under one name; there may be several of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) name: String,
    pub(super) source: Source,
    pub(super) misses: Misses,
}

/// All that is told of a plan.
pub(super) fn told(plan: &PlanParts) -> Vec<Told> {
    let one = |name: &str, source, misses| Told { name: name.to_owned(), source, misses };
    let Some(mix) = &plan.mix else {
        let commands = plan.sequence.iter().enumerate();
        let command = |(at, spec): (usize, &CommandSpec)| {
            one(&spec.name(), Source::Command(at), Misses::Succeed)
        };
        return commands.map(command).collect();
    };
    let is_memcache = plan.protocol.is_memcache();
    // A record that is not there is an error of a read in Redis and of a write in memcached.
    let of_read = if is_memcache { Misses::Succeed } else { Misses::Fail };
    // Jedis makes a record of whatever fields HMGET has, nulls too.
    let of_read = |at: usize| match plan.sequence[at].name().as_str() {
        "HMGET" => Misses::Succeed,
        _ => of_read,
    };
    let of_write = if is_memcache { Misses::Fail } else { Misses::Succeed };
    let mut all = Vec::new();
    for (at, (operation, span)) in mix.spans().enumerate() {
        let first = span.start;
        // What is counted of the only command says it all.
        let whole = match span.len() {
            1 => Source::Command(first),
            _ => Source::Operation(at),
        };
        match operation.name.as_str() {
            name @ "READ-MODIFY-WRITE" if span.len() == 2 => {
                all.push(one("READ", Source::Command(first), of_read(first)));
                all.push(one("UPDATE", Source::Command(first + 1), of_write));
                all.push(one(name, whole, Misses::AllSucceed));
            }
            name => {
                let misses = match name {
                    "READ" => of_read(first),
                    "UPDATE" | "INSERT" => of_write,
                    _ => Misses::Succeed,
                };
                all.push(one(name, whole, misses));
            }
        }
    }
    all
}

/// What a log must be kept of for every operation that is told.
#[must_use]
pub(crate) fn logged(plan: &PlanParts) -> Vec<Logged> {
    let of = |told: &Told| match told.source {
        Source::Command(at) => Logged::Command(at as u32),
        Source::Operation(at) => Logged::Operation(at as u32),
    };
    told(plan).iter().map(of).collect()
}
