//! Operations as YCSB measures them: the counts and latencies of each name.
//!
//! A read-modify-write counts as a READ, an UPDATE and the whole; failures are separate; the cleanup of the
//! client is an operation as well.

use std::borrow::Cow;

use measure::{CORRUPT, FailureLatency, Latency, SeparateFailures, Tally};
use report::escape;
use workload::{LogSubject, Plan};

use super::java;
use super::named::{Misses, NamedSource, named};
use super::options::{ByStatus, Interval, YcsbOptions};

/// Start of the names of sections of latencies from when something was due.
pub(super) const INTENDED: &str = "Intended-";

/// The check of a read value, and the closing of a connection.
pub(super) const VERIFY: &str = "VERIFY";
pub(super) const CLEANUP: &str = "CLEANUP";

/// Section: figures that are reported under one name.
#[derive(Debug, Clone)]
pub(crate) struct Section {
    /// The name.
    pub(crate) name: String,
    /// Latencies, in nanoseconds.
    pub(crate) latency: Latency,
    /// Number of operations that succeeded and failed, if the section reports it.
    pub(crate) returned: Option<ReturnCounts>,
}

/// Number of operations by how they ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ReturnCounts {
    /// Well.
    pub(crate) ok: u64,
    /// An unexpected value.
    pub(crate) unexpected: u64,
    /// Otherwise.
    pub(crate) error: u64,
}

/// View of the figures of an operation, or of a command of one.
struct TallyView<'t> {
    ok: u64,
    missed: u64,
    failed: u64,
    service: &'t Latency,
    response: &'t Latency,
    separate_failures: Option<&'t SeparateFailures>,
}

/// The sections for a tally of this plan, in YCSB's order; `connections` were closed.
pub(crate) fn sections(
    plan: &Plan,
    tally: &Tally,
    connections: u64,
    options: &YcsbOptions,
) -> Vec<Section> {
    let (by_status, precision) = (&options.by_status, plan.recording.precision);
    let of = |intended: bool| {
        let mut all = Sections { intended, by_status, precision, all: Vec::new() };
        all.collect(plan, tally);
        all.verified(plan, tally);
        all.cleanup(connections);
        all.all.sort_by_key(|section| java::bucket(&section.name));
        all.all
    };
    match options.interval {
        Interval::Op => of(false),
        Interval::Intended => of(true),
        Interval::Both => {
            let mut all = of(false);
            let due = of(true).into_iter().filter(|section| section.name != VERIFY);
            all.extend(due.map(|section| Section {
                name: format!("{INTENDED}{}", section.name),
                returned: None,
                ..section
            }));
            all
        }
    }
}

struct Sections<'o> {
    intended: bool,
    by_status: &'o ByStatus,
    precision: u8,
    all: Vec<Section>,
}

impl Sections<'_> {
    fn collect(&mut self, plan: &Plan, tally: &Tally) {
        let different = plan.different_commands();
        for NamedSource { name, source, misses } in named(plan) {
            let seen = match source {
                LogSubject::Command(at) => {
                    let command = &tally.commands[different.of[at as usize] as usize];
                    TallyView {
                        ok: command.ok,
                        missed: command.miss,
                        failed: command.errors,
                        service: &command.service,
                        response: command.response(),
                        separate_failures: command.separate_failures.as_ref(),
                    }
                }
                LogSubject::Operation(at) => {
                    let Some(operation) = tally.operations.get(at as usize) else { continue };
                    TallyView {
                        ok: operation.ok,
                        missed: operation.missed,
                        failed: operation.failed,
                        service: &operation.service,
                        response: operation.response(),
                        separate_failures: operation.separate_failures.as_ref(),
                    }
                }
            };
            self.add(&name, &seen, misses);
        }
    }

    fn add(&mut self, name: &str, seen: &TallyView<'_>, misses: Misses) {
        let timed = |timed: &FailureLatency| match (&timed.scheduled_response, self.intended) {
            (Some(response), true) => response.clone(),
            _ => timed.service.clone(),
        };
        let mut good = if self.intended { seen.response } else { seen.service }.clone();
        let mut bad = Latency::new(self.precision);
        if let Some(separate_failures) = seen.separate_failures {
            let missed = if misses == Misses::Fail { &mut bad } else { &mut good };
            missed.merge(&timed(&separate_failures.missed));
            let failed = if misses == Misses::AllSucceed { &mut good } else { &mut bad };
            failed.merge(&timed(&separate_failures.failed));
        }
        let returned = match misses {
            Misses::Fail => Some((seen.ok, seen.missed + seen.failed)),
            Misses::Succeed => Some((seen.ok + seen.missed, seen.failed)),
            Misses::AllSucceed => None,
        };
        let returned =
            returned.map(|(ok, error)| ReturnCounts { ok, error, ..ReturnCounts::default() });
        let any = returned.is_none_or(|returned| returned != ReturnCounts::default());
        if good.count() > 0 || any && seen.ok + seen.missed + seen.failed > 0 {
            self.put(Cow::Borrowed(name), good, returned);
        }
        if bad.count() > 0 {
            let ending = self.by_status.ending("ERROR");
            self.put(Cow::Owned(format!("{name}-{ending}")), bad, None);
        }
    }

    /// Adds a section for verification, if there are data integrity checks. It has no times: bytes are compared as they
    /// arrive. A wrong value makes no failure of its read.
    fn verified(&mut self, plan: &Plan, tally: &Tally) {
        let Some(read) = self.all.iter_mut().find(|section| section.name == "READ") else { return };
        let Some(returned) = read.returned.as_mut().filter(|_| plan.peer.checks.is_some()) else {
            return;
        };
        let kinds = tally.errors.by_kind().iter().filter(|(kind, _)| kind == CORRUPT);
        let unexpected = kinds.map(|(_, count)| *count).sum::<u64>().min(returned.error);
        // A read of memcached that finds nothing succeeds, and has nothing that could be right.
        let different = plan.different_commands().commands;
        let gets = different.iter().zip(&tally.commands).filter(|(spec, _)| spec.name() == "GET");
        let nothing = gets.map(|(_, get)| get.miss).sum::<u64>().min(returned.ok);
        let checked = ReturnCounts {
            ok: returned.ok - nothing,
            unexpected,
            error: returned.error - unexpected + nothing,
        };
        returned.ok += unexpected;
        returned.error -= unexpected;
        let only_unexpected = returned.error == 0;
        if unexpected > 0 && only_unexpected {
            let ending = format!("READ-{}", self.by_status.ending("ERROR"));
            if let Some(at) = self.all.iter().position(|section| section.name == ending) {
                let latency = self.all.remove(at).latency;
                self.put(Cow::Borrowed("READ"), latency, None);
            }
        }
        let mut latency = Latency::new(self.precision);
        if !self.intended {
            // It is due at no time of its own.
            latency.record_n(0, checked.ok + checked.unexpected + checked.error);
        }
        self.put(Cow::Borrowed(VERIFY), latency, Some(checked));
    }

    /// The kernel closes connections in the background, which takes no measured time.
    fn cleanup(&mut self, connections: u64) {
        if connections > 0 {
            let mut latency = Latency::new(self.precision);
            latency.record_n(0, connections);
            self.put(Cow::Borrowed(CLEANUP), latency, None);
        }
    }

    fn put(&mut self, name: Cow<'_, str>, latency: Latency, returned: Option<ReturnCounts>) {
        // Names of a saved run are anybody's.
        let name = escape(&*name);
        match self.all.iter_mut().find(|section| section.name == name) {
            Some(known) => {
                known.latency.merge(&latency);
                let more = returned.unwrap_or_default();
                if let Some(known) = &mut known.returned {
                    known.ok += more.ok;
                    known.unexpected += more.unexpected;
                    known.error += more.error;
                }
            }
            None => self.all.push(Section { name, latency, returned }),
        }
    }
}
