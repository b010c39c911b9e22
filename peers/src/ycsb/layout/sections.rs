//! Operations as YCSB measures them: the counts and latencies of each name.
//!
//! A read-modify-write counts as a READ, an UPDATE and the whole; failures are separate; the cleanup of the
//! client is an operation as well.

use measure::{CORRUPT, FailureLatency, Latency, SeparateFailures, Tally};
use report::escape;
use workload::{LogSubject, Plan};

use super::java;
use super::named::{Misses, NamedSource, named};
use super::options::{Interval, YcsbOptions};

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

/// The sections for a tally of this plan, in YCSB's order; `connections` were closed.
pub(crate) fn sections(
    plan: &Plan,
    tally: &Tally,
    connections: u64,
    options: &YcsbOptions,
) -> Vec<Section> {
    let (failed, precision) = (options.failed, plan.recording.precision);
    let of = |intended: bool| {
        let mut all = Sections { intended, failed, precision, all: Vec::new() };
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

struct Sections {
    intended: bool,
    failed: &'static str,
    precision: u8,
    all: Vec<Section>,
}

impl Sections {
    fn collect(&mut self, plan: &Plan, tally: &Tally) {
        let different = plan.different_commands();
        for NamedSource { name, source, misses } in named(plan) {
            match source {
                LogSubject::Command(at) => {
                    let of = &tally.commands[different.of[at as usize] as usize];
                    let latency = if self.intended { of.response() } else { &of.service };
                    let ended = [of.ok, of.miss, of.errors];
                    self.add(&name, misses, ended, latency, of.separate_failures.as_ref());
                }
                LogSubject::Operation(at) => {
                    let Some(of) = tally.operations.get(at as usize) else { continue };
                    let latency = if self.intended { of.response() } else { &of.service };
                    let ended = [of.ok, of.missed, of.failed];
                    self.add(&name, misses, ended, latency, of.separate_failures.as_ref());
                }
            }
        }
    }

    /// Adds what ended well, missed and failed, with latencies of all but separate failures.
    fn add(
        &mut self,
        name: &str,
        misses: Misses,
        ended: [u64; 3],
        latency: &Latency,
        separate_failures: Option<&SeparateFailures>,
    ) {
        let timed = |timed: &FailureLatency| match (&timed.scheduled_response, self.intended) {
            (Some(response), true) => response.clone(),
            _ => timed.service.clone(),
        };
        let [ok, missed, failed] = ended;
        let mut good = latency.clone();
        let mut bad = Latency::new(self.precision);
        if let Some(separate) = separate_failures {
            let of_missed = if misses == Misses::Fail { &mut bad } else { &mut good };
            of_missed.merge(&timed(&separate.missed));
            let of_failed = if misses == Misses::AllSucceed { &mut good } else { &mut bad };
            of_failed.merge(&timed(&separate.failed));
        }
        let returned = match misses {
            Misses::Fail => Some((ok, missed + failed)),
            Misses::Succeed => Some((ok + missed, failed)),
            Misses::AllSucceed => None,
        };
        let returned =
            returned.map(|(ok, error)| ReturnCounts { ok, error, ..ReturnCounts::default() });
        let any = returned.is_none_or(|returned| returned != ReturnCounts::default());
        if good.count() > 0 || any && ok + missed + failed > 0 {
            self.put(name, good, returned);
        }
        if bad.count() > 0 {
            self.put(&format!("{name}-{}", self.failed), bad, None);
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
            let ending = format!("READ-{}", self.failed);
            if let Some(at) = self.all.iter().position(|section| section.name == ending) {
                let latency = self.all.remove(at).latency;
                self.put("READ", latency, None);
            }
        }
        let mut latency = Latency::new(self.precision);
        if !self.intended {
            // It is due at no time of its own.
            latency.record_n(0, checked.ok + checked.unexpected + checked.error);
        }
        self.put(VERIFY, latency, Some(checked));
    }

    /// The kernel closes connections in the background, which takes no measured time.
    fn cleanup(&mut self, connections: u64) {
        if connections > 0 {
            let mut latency = Latency::new(self.precision);
            latency.record_n(0, connections);
            self.put(CLEANUP, latency, None);
        }
    }

    fn put(&mut self, name: &str, latency: Latency, returned: Option<ReturnCounts>) {
        // Names of a saved run are anybody's.
        let name = escape(name);
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
