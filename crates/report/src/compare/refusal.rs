//! Reasons against a ratio from the runs of a test.

use workload::quantity;

use super::side::failures;
use super::terms::HIT_RATIO_DIFFERENCE_MAX;
use super::{RunDigest, Setup, Side};
use crate::{Cause, Failures, LimitedBy};

/// Kind of reason against telling a ratio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalKind {
    /// More requests of a side failed than allowed, so that it did other work, or none.
    Failures,
    /// Nothing was measured in the runs of either side.
    Unmeasured,
    /// The sides had different shares of hits, or few hits among filled keys.
    Hits,
    /// The client limited a side.
    Client,
    /// The client did its work in no block.
    Void,
}

/// Reason why a test has no ratios.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    /// Kind of the reason.
    pub kind: RefusalKind,
    /// Reason in a sentence.
    pub text: String,
}

impl Refusal {
    fn new(kind: RefusalKind, text: String) -> Option<Self> {
        Some(Self { kind, text })
    }
}

/// Returns the reason against a ratio that does not depend on the servers, if there is one.
pub(super) fn of_runs(setup: &Setup, sides: [&[RunDigest]; 2]) -> Option<Refusal> {
    failed(setup, sides.map(failures))
        .or_else(|| unmeasured(sides))
        .or_else(|| unfound(setup, sides))
}

/// Returns a refusal if a side had few hits among filled keys, since the ratio would be about misses.
fn unfound(setup: &Setup, sides: [&[RunDigest]; 2]) -> Option<Refusal> {
    let of = |(name, side): (&String, &[RunDigest])| {
        let found = side.iter().find_map(|glance| crate::unfound(&glance.run))?;
        Some(format!("{name}: {found}"))
    };
    let of_sides: Vec<String> = setup.names.iter().zip(sides).filter_map(of).collect();
    let text = format!("no ratio: {}; a miss is less work than a hit", of_sides.join("; "));
    if of_sides.is_empty() { None } else { Refusal::new(RefusalKind::Hits, text) }
}

/// Returns a refusal if more requests failed than allowed. All runs count, as noise makes no request fail.
pub(super) fn failed(setup: &Setup, sides: [Failures; 2]) -> Option<Refusal> {
    let allowed = setup.errors_allowed;
    if setup.by_command {
        return more_failed(setup, sides.map(|failures| failures.percent()));
    }
    let over = |(name, failures): (&String, Failures)| {
        let percent = failures.percent();
        (percent > allowed).then(|| format!("{} of the requests to {name}", share(percent)))
    };
    let over: Vec<String> = setup.names.iter().zip(sides).filter_map(over).collect();
    if over.is_empty() {
        return None;
    }
    let text =
        format!("no ratio: {} failed, and at most {allowed} % may (--errors)", over.join(" and "));
    Refusal::new(RefusalKind::Failures, text)
}

/// Returns a refusal if more fails on the second; some requests of recorded traffic may fail on every server.
fn more_failed(setup: &Setup, [of_a, of_b]: [f64; 2]) -> Option<Refusal> {
    let [first, second] = &setup.names;
    let allowed = setup.errors_allowed;
    let text = || {
        format!(
            "no ratio: {} of the requests to {second} failed, and {} of those to {first}; at most {allowed} % more may \
             (--errors)",
            share(of_b),
            share(of_a)
        )
    };
    if of_b > of_a + allowed { Refusal::new(RefusalKind::Failures, text()) } else { None }
}

/// A percentage with enough digits to distinguish it from 0 and 100.
pub fn share(percent: f64) -> String {
    match percent {
        p if p == 0.0 || p == 100.0 || (1.0..=99.0).contains(&p) => format!("{p:.1} %"),
        p if p < 0.01 => format!("{p:.5} %"),
        p => format!("{p:.3} %"),
    }
}

/// Returns a refusal if nothing was answered on either side, as the runs are too short. A side that answers
/// nothing for a whole run is slower than one that does.
fn unmeasured(sides: [&[RunDigest]; 2]) -> Option<Refusal> {
    let empty = sides.map(|side| side.iter().filter(|glance| glance.is_empty()).count());
    if empty.contains(&0) {
        return None;
    }
    let [empty, all] = [empty.iter().sum::<usize>(), sides.concat().len()];
    let text = format!("no ratio: nothing was measured in {empty} of {all} runs; make them longer");
    Refusal::new(RefusalKind::Unmeasured, text)
}

/// Describes the void blocks by cause, in a sentence without a full stop; `None` if there are none.
pub fn describe_void(void: &[(Cause, usize)]) -> Option<String> {
    let blocks: u64 = void.iter().map(|(_, blocks)| *blocks as u64).sum();
    let causes: Vec<&str> = void.iter().map(|(cause, _)| cause.describe()).collect();
    let were = if blocks == 1 { "was" } else { "were" };
    (blocks > 0).then(|| {
        let blocks = quantity::counted(blocks, "block");
        format!(
            "{blocks} {were} void and taken again, as the client did not do what was asked: {}",
            causes.join("; ")
        )
    })
}

/// Returns the reason against a conclusion if no block counts.
pub(super) fn of_void(counted: usize, void: &[(Cause, usize)]) -> Option<Refusal> {
    let blocks: usize = void.iter().map(|(_, blocks)| blocks).sum();
    let (cause, _) = void.first().filter(|_| counted == 0)?;
    let of = quantity::counted(blocks as u64, "block");
    let text = format!(
        "undecided: no block counts, as the client did not do what was asked: {} ({of}); give it CPUs of its own, \
         or more --threads",
        cause.describe()
    );
    Refusal::new(RefusalKind::Void, text)
}

/// Returns the other reasons against a ratio between servers of different protocols.
pub(super) fn of_terms(sides: &[Side; 2]) -> Option<Refusal> {
    let [name_a, name_b] = sides.each_ref().map(|side| side.name.as_str());
    if let [Some(a), Some(b)] = sides.each_ref().map(|side| side.hit_ratio)
        && (a - b).abs() > HIT_RATIO_DIFFERENCE_MAX
    {
        let text = format!(
            "no ratio: {name_a} found {a:.2} % of its keys and {name_b} {b:.2} %, and a miss is \
             less work than a hit"
        );
        return Refusal::new(RefusalKind::Hits, text);
    }
    let by_client = sides.each_ref().map(|side| side.mostly() == Some(LimitedBy::Client));
    let side = match by_client {
        [false, false] => return None,
        [true, true] => "both sides",
        [true, false] => name_a,
        [false, true] => name_b,
    };
    let text = format!(
        "no ratio: the client limited {side}, and the ratio would be the client's; give the \
         client more --threads or its own CPUs"
    );
    Refusal::new(RefusalKind::Client, text)
}
