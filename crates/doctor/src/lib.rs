//! Checks for everything on this machine and on a server that spoils results: facts in, findings out.
//!
//! A check is a pure function of [`Evidence`] in one file of [`checks`] and a row of [`CHECKS`].
//! Gathering the evidence is in [`mod@gather`], over [`host`]. Layout is left to whoever prints.

pub mod checks;
mod evidence;
mod finding;
pub mod gather;

use host::HostFacts;

pub use checks::{CHECKS, Check};
pub use evidence::{
    Clients, Evidence, Info, Load, MemcacheEvidence, MemcachedCounts, Place, RoundTrips,
    ServerEvidence, SlowCommand, Traffic,
};
pub use finding::{Area, Finding, Level};

/// Every check that this evidence is for, in the order of the table.
#[must_use]
pub fn examine(evidence: &Evidence) -> Vec<Finding> {
    CHECKS
        .iter()
        .filter(|check| check.is_for(evidence))
        .map(|check| check.finding(evidence))
        .collect()
}

/// Runs the checks that need no more than the facts of this machine, which take no time: a run calls this to put
/// warnings in its report. [`HostFacts::read`] is all that it costs, and
/// [`running_beside`](host::machine::running_beside) where that is to be judged.
#[must_use]
pub fn cheap(host: &HostFacts, load: &Load) -> Vec<Finding> {
    let evidence = Evidence::of_host(host.clone(), load.clone());
    CHECKS.iter().filter(|check| check.cheap).map(|check| check.finding(&evidence)).collect()
}
