//! Section names of YCSB for commands and operations, and its treatment of misses.

use workload::{CommandSpec, LogSubject, PlanParts};

/// Meaning of misses. Latencies of failures are kept separately.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Misses {
    Fail,
    Succeed,
    /// Neither misses nor errors fail: both are reported as OK.
    AllSucceed,
}

/// Reported section; names may repeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NamedSource {
    pub(super) name: String,
    pub(super) source: LogSubject,
    pub(super) misses: Misses,
}

/// All sections of a plan.
pub(super) fn named(plan: &PlanParts) -> Vec<NamedSource> {
    let one = |name: &str, source, misses| NamedSource { name: name.to_owned(), source, misses };
    let Some(mix) = &plan.mix else {
        let commands = plan.sequence.iter().enumerate();
        let command = |(at, spec): (usize, &CommandSpec)| {
            one(&spec.name(), LogSubject::Command(at as u32), Misses::Succeed)
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
        // An operation of one command is counted with that command.
        let whole = match span.len() {
            1 => LogSubject::Command(first as u32),
            _ => LogSubject::Operation(at as u32),
        };
        match operation.name.as_str() {
            name @ "READ-MODIFY-WRITE" if span.len() == 2 => {
                all.push(one("READ", LogSubject::Command(first as u32), of_read(first)));
                all.push(one("UPDATE", LogSubject::Command(first as u32 + 1), of_write));
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

/// The commands and operations that need a log of every request.
pub(crate) fn logged(plan: &PlanParts) -> Vec<LogSubject> {
    named(plan).into_iter().map(|named| named.source).collect()
}
