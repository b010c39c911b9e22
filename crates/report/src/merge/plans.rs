//! The plan of merged runs: required agreement, and the joint plan of shares.

use workload::{Pace, Plan, PlanParts, Shard, Stop, limits};

use crate::differ::{Difference, differences};
use crate::{RecordError, Run};

/// Paths at which plans of merged runs may differ: properties of one machine.
const MACHINE_PATHS: [&str; 5] = [
    "load.concurrency.workers",
    "load.concurrency.multi_thread",
    "load.concurrency.cpus",
    "target.sources",
    "load.shard",
];

/// Returns whether plans that are not shares of one may differ at a path, because its values add up.
fn adds_up(path: &str) -> bool {
    let rate = path.starts_with("load.pace.open.stages.") && path.ends_with("_per_s");
    rate || ["load.concurrency.connections", "load.stop.requests", "load.seed"].contains(&path)
}

/// The plan of the whole, or of its present shares.
pub(super) fn merged_plan(
    names: &[String],
    shares: &[Run],
    missing: &[u32],
) -> Result<Plan, RecordError> {
    let fault = |e: String| RecordError::wrong(e);
    let Some(first) = shares.first() else { return Err(fault("there is no plan".into())) };
    let sharded = all_shards(names, shares, missing)?;
    let whole = sharded && missing.is_empty();
    let passed_over = |path: &str| MACHINE_PATHS.contains(&path) || (!sharded && adds_up(path));
    for (name, share) in names.iter().zip(shares).skip(1) {
        let found = differences(&first.plan, &share.plan, &passed_over)?;
        if !found.is_empty() {
            let lines = found.iter().map(|Difference { what, ours, theirs }| {
                format!("{what} is {ours} in {} and {theirs} in {name}", names[0])
            });
            let found: Vec<String> = lines.collect();
            let (test, found) = (&first.plan.name, found.join("; "));
            return Err(fault(format!("the runs of the test {test} differ: {found}")));
        }
    }
    let part = |plan: &Plan| if whole { PlanParts::clone(plan) } else { alone(plan) };
    let mut parts = part(&first.plan);
    for share in &shares[1..] {
        let share = part(&share.plan);
        let concurrency = &share.load.concurrency;
        let workers = parts.load.concurrency.workers.saturating_add(concurrency.workers);
        parts.load.concurrency.workers = workers.min(limits::WORKERS_MAX);
        parts.load.concurrency.multi_thread |= concurrency.multi_thread;
        if parts.load.concurrency.cpus != concurrency.cpus {
            parts.load.concurrency.cpus.clear();
        }
        if let Some(threads) = parts.receiver_threads_mut() {
            *threads = threads.saturating_add(share.receiver_threads()).min(limits::WORKERS_MAX);
        }
        if whole {
            // Each has the plan of the whole already.
            continue;
        }
        parts.load.concurrency.connections =
            parts.load.concurrency.connections.saturating_add(concurrency.connections);
        if let (Stop::Requests(sum), Stop::Requests(more)) = (&mut parts.load.stop, share.load.stop)
        {
            *sum = sum.saturating_add(more);
        }
        if let (Pace::Open(sum), Pace::Open(more)) = (&mut parts.load.pace, &share.load.pace) {
            for (sum, more) in sum.stages.iter_mut().zip(&more.stages) {
                sum.from_per_s += more.from_per_s;
                sum.to_per_s += more.to_per_s;
            }
        }
    }
    parts.load.shard = Shard::WHOLE;
    parts.build().map_err(|e| fault(format!("the merged plan is invalid: {e}")))
}

/// The plan of a share as a whole plan, to be merged with others.
fn alone(share: &Plan) -> PlanParts {
    let mut parts: PlanParts = (**share).clone();
    parts.load.concurrency.connections = share.own_connections();
    if let Some(requests) = share.own_requests() {
        parts.load.stop = Stop::Requests(requests);
    }
    if let Pace::Open(schedule) = &mut parts.load.pace {
        for stage in &mut schedule.stages {
            stage.from_per_s = share.own_rate_per_s(stage.from_per_s);
            stage.to_per_s = share.own_rate_per_s(stage.to_per_s);
        }
    }
    parts.load.shard = Shard::WHOLE;
    parts
}

/// Returns whether these are all shares of one plan but those in `missing`, each once.
fn all_shards(names: &[String], shares: &[Run], missing: &[u32]) -> Result<bool, RecordError> {
    if shares.iter().all(|share| share.plan.load.shard.is_whole()) {
        return match missing.first() {
            None => Ok(false),
            Some(_) => Err(RecordError::wrong(
                "--missing requires the shares of one plan \
                (--shard)",
            )),
        };
    }
    let of = shares.iter().map(|share| share.plan.load.shard.of).max().unwrap_or(1);
    let mut owners: Vec<Option<&String>> = vec![None; of as usize];
    for (name, share) in names.iter().zip(shares) {
        let shard = share.plan.load.shard;
        if shard.of != of {
            return Err(RecordError::wrong(format!(
                "{name} is share {}/{}, but another file is one of {of}",
                shard.index, shard.of
            )));
        }
        if let Some(Some(owner)) = owners.get(shard.index as usize - 1) {
            return Err(RecordError::wrong(format!(
                "{owner} and {name} are both share {}/{of}",
                shard.index
            )));
        }
        if let Some(owner) = owners.get_mut(shard.index as usize - 1) {
            *owner = Some(name);
        }
    }
    let is_there = |n: &u32| shares.iter().any(|share| share.plan.load.shard.index == *n);
    if let Some(n) = missing.iter().find(|n| **n == 0 || **n > of || is_there(n)) {
        let why = match (is_there(n), of) {
            (true, _) => format!("share {n} is among the files"),
            (false, 1) => "there is only 1 share".to_owned(),
            (false, of) => format!("there are only {of} shares"),
        };
        return Err(RecordError::wrong(format!("--missing {n}: {why}")));
    }
    match (1..=of).find(|n| !is_there(n) && !missing.contains(n)) {
        Some(n) => Err(RecordError::wrong(format!(
            "share {n}/{of} is missing; to merge the others, use --missing {n}"
        ))),
        None => Ok(true),
    }
}

/// The remark on a sum without these shares; `None` if none is missing.
pub(super) fn lacking(missing: &[u32], of: u32) -> Option<String> {
    let numbers = missing.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    match missing {
        [] => None,
        [_] => Some(format!("share {numbers} of {of} is missing; all figures are of the others")),
        _ => Some(format!("shares {numbers} of {of} are missing; all figures are of the others")),
    }
}
