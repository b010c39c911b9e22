//! Counts and times of a span of a run by the rules of rpc-perf: a request is an operation with all its
//! commands, a reply without a value is a success, and a lookup of several fields hits or misses each of them.

use std::ops::Range;

use measure::{CommandTally, Latency, Tally};
use workload::{Mix, Plan};

/// Role of an operation in the reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Role {
    /// Verb of the operation.
    pub(crate) verb: &'static str,
    /// Set if what it asks for is a hit or a miss.
    pub(crate) looks_up: bool,
}

/// The operations of a plan, and which counts are theirs.
#[derive(Debug, Clone)]
pub(crate) struct Roles {
    roles: Vec<Role>,
    /// Indices, among the different commands of the plan, of each operation's own.
    commands: Vec<Range<usize>>,
}

impl Roles {
    /// Returns the roles of a plan whose operations these are.
    pub(crate) fn new(plan: &Plan, roles: Vec<Role>) -> Self {
        let different = plan.different_commands();
        let spans = plan.mix.iter().flat_map(Mix::spans).map(|(_, span)| {
            let own = &different.of[span];
            let first = own.iter().min().map_or(0, |at| *at as usize);
            first..own.iter().max().map_or(first, |at| *at as usize + 1)
        });
        Self { roles, commands: spans.collect() }
    }
}

/// Counts of a verb, or of all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Replies that are no error.
    pub(crate) ok: u64,
    /// Error replies; among those of all, also requests that were lost with their connection.
    pub(crate) exception: u64,
    /// Lookups that found something: replies, or fields and members where a request names several.
    pub(crate) hit: u64,
    /// Lookups that found nothing, in the same unit.
    pub(crate) miss: u64,
}

impl Counts {
    fn add(&mut self, Self { ok, exception, hit, miss }: Self) {
        self.ok += ok;
        self.exception += exception;
        self.hit += hit;
        self.miss += miss;
    }
}

/// Figures of a span of a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Figures {
    /// Connections that were opened.
    pub(crate) opened: u64,
    /// Connections that ended without our doing, or to be opened again.
    pub(crate) closed: u64,
    /// Requests whose time was over.
    pub(crate) timeout: u64,
    /// Counts of all verbs.
    pub(crate) all: Counts,
    /// Latencies of all, of `get` and of `set`; none of nothing.
    pub(crate) latency: [Option<Latency>; 3],
    /// Each verb, in the order in which it came.
    pub(crate) verbs: Vec<(&'static str, Counts)>,
}

impl Figures {
    /// Returns the figures of a tally.
    pub(crate) fn new(roles: &Roles, tally: &Tally) -> Self {
        let connections = &tally.connections;
        let mut figures = Self {
            opened: connections.connect.count(),
            closed: connections.dropped + connections.renewed,
            timeout: connections.timed_out,
            all: Counts { exception: connections.lost, ..Counts::default() },
            ..Self::default()
        };
        for (at, (role, own)) in roles.roles.iter().zip(&roles.commands).enumerate() {
            let commands = tally.commands.get(own.clone()).unwrap_or_default();
            let mut counts = Counts::default();
            let latency = match (tally.operations.get(at), commands.first()) {
                (Some(operation), _) => {
                    counts.ok = operation.ok + operation.missed;
                    counts.exception = operation.failed;
                    &operation.service
                }
                (None, Some(command)) => {
                    counts.ok = command.ok + command.miss;
                    counts.exception = command.errors;
                    &command.service
                }
                (None, None) => continue,
            };
            if role.looks_up {
                for [hits, misses] in commands.iter().map(CommandTally::lookups) {
                    counts.hit += hits;
                    counts.miss += misses;
                }
            }
            for (into, verb) in figures.latency.iter_mut().zip([role.verb, "get", "set"]) {
                if verb == role.verb && latency.count() > 0 {
                    merge_latency(into, latency);
                }
            }
            figures.all.add(counts);
            merge_counts(&mut figures.verbs, role.verb, counts);
        }
        figures
    }

    /// Adds all that `other` holds.
    pub(crate) fn merge(&mut self, other: &Self) {
        let Self { opened, closed, timeout, all, latency, verbs } = other;
        self.opened += opened;
        self.closed += closed;
        self.timeout += timeout;
        self.all.add(*all);
        for (into, from) in self.latency.iter_mut().zip(latency) {
            from.iter().for_each(|from| merge_latency(into, from));
        }
        verbs.iter().for_each(|(verb, counts)| merge_counts(&mut self.verbs, verb, *counts));
    }

    /// Requests that ended, one way or the other.
    pub(crate) fn requests(&self) -> u64 {
        self.all.ok + self.all.exception + self.timeout
    }
}

fn merge_latency(into: &mut Option<Latency>, from: &Latency) {
    match into {
        Some(into) => into.merge(from),
        None => *into = Some(from.clone()),
    }
}

fn merge_counts(verbs: &mut Vec<(&'static str, Counts)>, verb: &'static str, counts: Counts) {
    match verbs.iter_mut().find(|(known, _)| *known == verb) {
        Some((_, known)) => known.add(counts),
        None => verbs.push((verb, counts)),
    }
}
