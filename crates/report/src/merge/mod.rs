//! Runs of several clients, merged into one.
//!
//! Owns the choice of documents that add up, test by test. [`plans`] merges the plans, [`measurements`] the
//! measurements: counts and histograms without loss, timelines by wall clock, time from the earliest start to
//! the latest end. [`remarks`] merges the remarks. Merged runs may be merged again.

mod clients;
mod measurements;
mod plans;
mod remarks;
#[cfg(test)]
mod tests;

use measure::{Ending, Failure};

use crate::groups::by_key;
use crate::{Clients, LimitedBy, LoadedRecord, RecordError, Run, Verdict};
use measurements::measurement;
use plans::{lacking, merged_plan};
use remarks::{joined, verdict, warnings};

/// Merges the measurements of parts of one load that ran at the same time, each with its name for errors.
///
/// # Errors
/// Returns an error if there are none, or their timelines do not add up.
pub fn measured_together(
    names: &[String],
    parts: Vec<measure::Measurement>,
) -> Result<measure::Measurement, RecordError> {
    measurement(names, 0, parts)
}

/// Merges the runs of several clients, each with its name for errors. Shares of one plan whose numbers are in
/// `missing` may be absent; the sum then covers the others, and its test is incomplete.
///
/// # Errors
/// Returns the differences that forbid a merge, or the reason why there is nothing to merge.
pub fn merge(
    parts: Vec<(String, LoadedRecord)>,
    missing: &[u32],
) -> Result<LoadedRecord, RecordError> {
    let names: Vec<String> = parts.iter().map(|(name, _)| name.clone()).collect();
    let Some((first, LoadedRecord { suite, runs, .. })) = parts.first() else {
        return Err(RecordError::wrong("nothing to merge"));
    };
    let (suite, count) = (*suite, runs.len());
    if let Some((other, loaded)) = parts.iter().find(|(_, loaded)| loaded.runs.len() != count) {
        let theirs = loaded.runs.len();
        return Err(RecordError::wrong(format!(
            "{first} has {count} tests, but {other} has {theirs}; merge needs the same tests"
        )));
    }
    each_once(&parts)?;
    let complete = missing.is_empty() && parts.iter().all(|(_, loaded)| loaded.complete);
    let mut columns: Vec<_> = parts.into_iter().map(|(_, l)| l.runs.into_iter()).collect();
    let mut runs = Vec::with_capacity(count);
    for _ in 0..count {
        let shares: Vec<Run> = columns.iter_mut().filter_map(Iterator::next).collect();
        runs.push(merge_test(&names, shares, missing)?);
    }
    Ok(LoadedRecord { runs, suite, complete })
}

/// Refuses a run that is among the parts twice, under any file names, as it would count twice.
fn each_once(parts: &[(String, LoadedRecord)]) -> Result<(), RecordError> {
    for (at, (name, loaded)) in parts.iter().enumerate() {
        let same = |other: &LoadedRecord| {
            !loaded.runs.is_empty()
                && loaded.runs.iter().zip(&other.runs).all(|(a, b)| is_same(a, b))
        };
        if let Some((before, _)) = parts[..at].iter().find(|(_, other)| same(other)) {
            return Err(RecordError::wrong(if before == name {
                format!("{name} is named twice")
            } else {
                format!("{before} and {name} contain the same run")
            }));
        }
    }
    Ok(())
}

/// The machines of all clients, each once.
fn hosts(shares: &[Run]) -> Vec<host::HostFacts> {
    let hosts = shares.iter().flat_map(|share| share.host.iter().chain(&share.other_hosts));
    let by_name = by_key(hosts.map(|host| (&host.hostname, host)));
    by_name.into_iter().map(|(_, hosts)| hosts[0].clone()).collect()
}

/// Returns whether two runs are one: no other run begins and ends in the same nanoseconds and takes the same
/// CPU time to the nanosecond.
fn is_same(a: &Run, b: &Run) -> bool {
    let shard = a.plan.load.shard == b.plan.load.shard;
    let (a, b) = (&a.measurement, &b.measurement);
    shard
        && a.started_at == b.started_at
        && a.elapsed_ns == b.elapsed_ns
        && a.total.requests() == b.total.requests()
        && a.workers == b.workers
}

/// Merges one test of all clients.
fn merge_test(names: &[String], shares: Vec<Run>, missing: &[u32]) -> Result<Run, RecordError> {
    let plan = merged_plan(names, &shares, missing)?;
    let Some(first) = shares.first() else {
        return Err(RecordError::wrong("nothing to merge"));
    };
    for (name, share) in names.iter().zip(&shares) {
        let server = |run: &Run| (run.server.product.clone(), run.server.version.clone());
        if server(share) != server(first) {
            let describe = |run: &Run| match server(run) {
                (Some(product), Some(version)) => format!("{product} {version}"),
                _ => "unknown server".to_owned(),
            };
            return Err(RecordError::wrong(format!(
                "{} was measured on {} and {name} on {}; merge needs the same server",
                names[0],
                describe(first),
                describe(share)
            )));
        }
    }
    let slo = first.slo.clone().filter(|_| shares.iter().all(|s| s.slo == first.slo));
    let repeat = first.repeat.filter(|_| shares.iter().all(|s| s.repeat == first.repeat));
    let server = first.server.clone();
    let limits: Vec<LimitedBy> = shares.iter().map(|share| share.verdict.limited_by).collect();
    let version = joined(shares.iter().map(|share| share.version.as_str()));
    let mut hosts = hosts(&shares);
    let other_hosts = hosts.split_off(hosts.len().min(1));
    let warnings = warnings(names, &shares);
    // One client has it.
    let probe = shares.iter().find_map(|share| share.probe.clone());
    // One client is looked at.
    let marks = shares.iter().map(|share| share.marks.clone()).find(|marks| !marks.is_empty());
    let marks = marks.unwrap_or_default();
    let clients = Clients::of_merged(names, &shares);
    let verdict_of_one = first.verdict.clone();
    // All watched one server at one time; what the first saw is what there was to see.
    let watched = first.watched.clone();
    let of = shares.first().map_or(1, |share| share.plan.load.shard.of);
    let receivers = shares.first().map_or(0, |share| usize::from(share.plan.receiver_threads()));
    let shares = shares.into_iter().map(|share| share.measurement).collect();
    let mut measurement = measurement(names, receivers, shares)?;
    if let (Some(lack), Ending::Complete) = (lacking(missing, of), &measurement.ending) {
        measurement.ending = Ending::Failed(Failure::new(lack));
    }
    let verdict = match limits.as_slice() {
        [_] => verdict_of_one,
        limits => verdict(names, limits, Verdict::find(&plan, &measurement, &watched)),
    };
    let host = hosts.pop();
    Ok(Run {
        plan,
        repeat,
        slo,
        measurement,
        host,
        other_hosts,
        clients,
        probe,
        marks,
        clock: None,
        server,
        version,
        watched,
        verdict,
        warnings,
    })
}
