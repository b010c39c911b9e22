//! Checks of this machine and of a server for anything that spoils results: facts in, findings out.
//!
//! A check is a pure function of [`Evidence`] in one file of [`checks`] and a row of [`CHECKS`].
//! [`mod@gather`] collects the evidence, over [`host`]. The caller lays out findings.

pub mod checks;
mod evidence;
mod finding;
pub mod gather;

use crate::HostFacts;

pub use checks::{CHECKS, Check};
pub use evidence::{
    Clients, Evidence, Info, Load, MemcacheEvidence, MemcachedCounts, RoundTrips, ServerEvidence,
    ServerLocation, SlowCommand, Traffic,
};
pub use finding::{Area, Finding, Level};

/// Runs all checks for which there is evidence, in the order of the table.
pub fn examine(evidence: &Evidence) -> Vec<Finding> {
    CHECKS
        .iter()
        .filter(|check| check.is_for(evidence))
        .map(|check| check.finding(evidence))
        .collect()
}

/// Runs the checks that need only the facts of this machine and take no time: a run puts their warnings in
/// its report. They cost [`HostFacts::read`], and [`running_beside`](crate::machine::running_beside) if that
/// is to be judged.
pub fn cheap(host: &HostFacts, load: &Load) -> Vec<Finding> {
    let evidence = Evidence::of_host(host.clone(), load.clone());
    CHECKS.iter().filter(|check| check.cheap).map(|check| check.finding(&evidence)).collect()
}
