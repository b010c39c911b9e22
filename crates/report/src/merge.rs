//! Runs of several clients as one.
//!
//! Owns what must agree, and how the rest adds up: counts and histograms without loss, timelines by
//! wall clock, time from the earliest start to the latest end. What is merged may be merged again.

use std::ops::Range;
use std::time::{Duration, SystemTime};

use measure::{Ending, Measurement, Outage, Timeline};
use workload::{Pace, Plan, PlanParts, Shard, Stop, limits};

use crate::differ::{Difference, differences};
use crate::{Clients, LimitedBy, Loaded, RecordError, Run, Verdict, escape};

/// Where plans may differ whose runs add up, by path: what is of one machine.
const OF_MACHINES: [&str; 5] =
    ["fleet.workers", "fleet.multi_thread", "fleet.cpus", "target.sources", "shard"];

/// The same for plans that are no shares of one, but add up to one.
fn adds_up(path: &str) -> bool {
    let rate = path.starts_with("pace.open.stages.") && path.ends_with("_per_s");
    rate || ["fleet.connections", "stop.requests", "seed"].contains(&path)
}

/// Adds up what several clients saw, each by the name that it goes by in errors. Of one plan's shares
/// those in `missing` may lack: the sum is then of the others, and a test that is not complete.
///
/// # Errors
/// In what they differ that one run has in common, or why the sum is none.
pub fn merge(parts: Vec<(String, Loaded)>, missing: &[u32]) -> Result<Loaded, RecordError> {
    let names: Vec<String> = parts.iter().map(|(name, _)| name.clone()).collect();
    let Some((first, Loaded { suite, runs, .. })) = parts.first() else {
        return Err(RecordError::wrong("there is nothing to merge"));
    };
    let (suite, count) = (*suite, runs.len());
    if let Some((other, loaded)) = parts.iter().find(|(_, loaded)| loaded.runs.len() != count) {
        let theirs = loaded.runs.len();
        return Err(RecordError::wrong(format!(
            "{first} has {count} tests and {other} has {theirs}; only runs of the same tests add up"
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
    Ok(Loaded { runs, suite, complete })
}

/// Refuses a run that stands twice among the parts, whatever its files are called: it would count
/// twice.
fn each_once(parts: &[(String, Loaded)]) -> Result<(), RecordError> {
    for (at, (name, loaded)) in parts.iter().enumerate() {
        let same = |other: &Loaded| {
            !loaded.runs.is_empty()
                && loaded.runs.iter().zip(&other.runs).all(|(a, b)| is_same(a, b))
        };
        if let Some((before, _)) = parts[..at].iter().find(|(_, other)| same(other)) {
            return Err(RecordError::wrong(match before == name {
                true => format!("{name} is given twice, and its requests would count twice"),
                false => format!(
                    "{before} and {name} hold the same run, whose requests would count twice"
                ),
            }));
        }
    }
    Ok(())
}

/// Whether two are one: no other run begins and ends in the same nanoseconds and takes the same
/// nanoseconds of CPU.
fn is_same(a: &Run, b: &Run) -> bool {
    let shard = a.plan.shard == b.plan.shard;
    let (a, b) = (&a.measurement, &b.measurement);
    shard
        && a.started_at == b.started_at
        && a.elapsed_ns == b.elapsed_ns
        && a.total.requests() == b.total.requests()
        && a.workers == b.workers
}

/// One test of all clients.
fn merge_test(names: &[String], shares: Vec<Run>, missing: &[u32]) -> Result<Run, RecordError> {
    let plan = merged_plan(names, &shares, missing)?;
    let Some(first) = shares.first() else {
        return Err(RecordError::wrong("there is nothing to merge"));
    };
    for (name, share) in names.iter().zip(&shares) {
        let server = |run: &Run| (run.server.product.clone(), run.server.version.clone());
        if server(share) != server(first) {
            let said = |run: &Run| match server(run) {
                (Some(product), Some(version)) => format!("{product} {version}"),
                _ => "a server of unknown kind".to_owned(),
            };
            return Err(RecordError::wrong(format!(
                "{} was of {} and {name} of {}; only runs against one server add up",
                names[0],
                said(first),
                said(share)
            )));
        }
    }
    let repeat = first.repeat.filter(|_| shares.iter().all(|s| s.repeat == first.repeat));
    let server = first.server.clone();
    let limits: Vec<LimitedBy> = shares.iter().map(|share| share.verdict.limited_by).collect();
    let version = joined(shares.iter().map(|share| share.version.as_str()));
    let mut hosts = Vec::new();
    for host in shares.iter().flat_map(|s| s.host.iter().chain(&s.other_hosts)) {
        if !hosts.iter().any(|h: &host::HostFacts| h.hostname == host.hostname) {
            hosts.push(host.clone());
        }
    }
    let other_hosts = hosts.split_off(hosts.len().min(1));
    let warnings = warnings(names, &shares);
    // One client has it.
    let probe = shares.iter().find_map(|share| share.probe.clone());
    let clients = Clients::of_merged(names, &shares);
    let verdict_of_one = first.verdict.clone();
    // All watched one server at one time; what the first saw is what there was to see.
    let watched = first.watched.clone();
    let of = shares.first().map_or(1, |share| share.plan.shard.of);
    let mut measurement = measurement(names, shares.into_iter().map(|s| s.measurement).collect())?;
    if let (Some(lack), Ending::Complete) = (lacking(missing, of), &measurement.ending) {
        measurement.ending = Ending::Failed(lack);
    }
    let verdict = match limits.as_slice() {
        [_] => verdict_of_one,
        limits => verdict(names, limits, Verdict::of(&plan, &measurement, &watched)),
    };
    let host = hosts.pop();
    Ok(Run {
        plan,
        repeat,
        measurement,
        host,
        other_hosts,
        clients,
        probe,
        clock: None,
        server,
        version,
        watched,
        verdict,
        warnings,
    })
}

/// What is said of a sum without these shares; `None` if there are none.
fn lacking(missing: &[u32], of: u32) -> Option<String> {
    let numbers = missing.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    match missing {
        [] => None,
        [_] => Some(format!("share {numbers} of {of} is missing; all figures are of the others")),
        _ => Some(format!("shares {numbers} of {of} are missing; all figures are of the others")),
    }
}

/// The plan of a share as one of its own, to be added to those of others.
fn alone(share: &Plan) -> PlanParts {
    let mut parts: PlanParts = (**share).clone();
    parts.fleet.connections = share.own_connections();
    if let Some(requests) = share.own_requests() {
        parts.stop = Stop::Requests(requests);
    }
    if let Pace::Open(schedule) = &mut parts.pace {
        for stage in &mut schedule.stages {
            stage.from_per_s = share.own_rate_per_s(stage.from_per_s);
            stage.to_per_s = share.own_rate_per_s(stage.to_per_s);
        }
    }
    parts.shard = Shard::WHOLE;
    parts
}

/// The plan of the whole, or of what there is of it.
fn merged_plan(names: &[String], shares: &[Run], missing: &[u32]) -> Result<Plan, RecordError> {
    let fault = |e: String| RecordError::wrong(e);
    let Some(first) = shares.first() else { return Err(fault("there is no plan".into())) };
    let sharded = all_shards(names, shares, missing)?;
    let whole = sharded && missing.is_empty();
    let passed_over = |path: &str| OF_MACHINES.contains(&path) || (!sharded && adds_up(path));
    for (name, share) in names.iter().zip(shares).skip(1) {
        let found = differences(&first.plan, &share.plan, &passed_over)?;
        if let Some(Difference { path, ours, theirs }) = found.first() {
            return Err(fault(format!(
                "the plans of the test {} differ in {path}: {ours} in {} and {theirs} in {name}",
                first.plan.name, names[0]
            )));
        }
    }
    let part = |plan: &Plan| if whole { PlanParts::clone(plan) } else { alone(plan) };
    let mut parts = part(&first.plan);
    for share in &shares[1..] {
        let share = part(&share.plan);
        let fleet = &share.fleet;
        let workers = parts.fleet.workers.saturating_add(fleet.workers);
        parts.fleet.workers = workers.min(limits::WORKERS_MAX);
        parts.fleet.multi_thread |= fleet.multi_thread;
        if parts.fleet.cpus != fleet.cpus {
            parts.fleet.cpus.clear();
        }
        if whole {
            // Each has the plan of the whole already.
            continue;
        }
        parts.fleet.connections = parts.fleet.connections.saturating_add(fleet.connections);
        if let (Stop::Requests(sum), Stop::Requests(more)) = (&mut parts.stop, share.stop) {
            *sum = sum.saturating_add(more);
        }
        if let (Pace::Open(sum), Pace::Open(more)) = (&mut parts.pace, &share.pace) {
            for (sum, more) in sum.stages.iter_mut().zip(&more.stages) {
                sum.from_per_s += more.from_per_s;
                sum.to_per_s += more.to_per_s;
            }
        }
    }
    parts.shard = Shard::WHOLE;
    parts.build().map_err(|e| fault(format!("the plans together are none: {e}")))
}

/// Whether these are the shares of one plan: every one of them but those in `missing`, each once.
fn all_shards(names: &[String], shares: &[Run], missing: &[u32]) -> Result<bool, RecordError> {
    if shares.iter().all(|share| share.plan.shard.is_whole()) {
        return match missing.first() {
            None => Ok(false),
            Some(_) => Err(RecordError::wrong("--missing is for the shares of one plan (--shard)")),
        };
    }
    let of = shares.iter().map(|share| share.plan.shard.of).max().unwrap_or(1);
    let mut owners: Vec<Option<&String>> = vec![None; of as usize];
    for (name, share) in names.iter().zip(shares) {
        let shard = share.plan.shard;
        if shard.of != of {
            return Err(RecordError::wrong(format!(
                "{name} is share {}/{}, and another is one of {of}",
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
    let is_there = |n: &u32| shares.iter().any(|share| share.plan.shard.index == *n);
    if let Some(n) = missing.iter().find(|n| **n == 0 || **n > of || is_there(n)) {
        let why = if is_there(n) { "it is there" } else { "there are so many and no more" };
        return Err(RecordError::wrong(format!("--missing {n}: of {of} shares {why}")));
    }
    match (1..=of).find(|n| !is_there(n) && !missing.contains(n)) {
        Some(n) => Err(RecordError::wrong(format!(
            "share {n}/{of} is missing; --missing {n} adds up the others"
        ))),
        None => Ok(true),
    }
}

fn measurement(names: &[String], shares: Vec<Measurement>) -> Result<Measurement, RecordError> {
    let start = shares.iter().map(|share| share.started_at).min();
    let start = start.unwrap_or(SystemTime::UNIX_EPOCH);
    let offset_ns = |share: &Measurement| -> u64 {
        let since = share.started_at.duration_since(start).unwrap_or(Duration::ZERO);
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    };
    let end_ns = |share: &Measurement| offset_ns(share).saturating_add(share.elapsed_ns);
    let elapsed_ns = shares.iter().map(end_ns).max().unwrap_or_default();
    let outages = outages(&shares, offset_ns);
    let timelines: Vec<_> = shares.iter().map(|s| (offset_ns(s), &s.timeline)).collect();
    let mut timeline = Timeline::merged(&timelines)?;
    if shares.len() > 1 {
        timeline.all_ran = Some(all_ran(&shares, offset_ns));
    }
    let engine = joined(shares.iter().map(|share| share.engine.as_str()));
    let ending = ending(names, &shares);
    let engine_note = shares.iter().find_map(|share| share.engine_note.clone());
    let mut shares = shares.into_iter();
    let Some(first) = shares.next() else {
        return Err(RecordError::wrong("there is nothing to merge"));
    };
    let Measurement { mut total, mut workers, mut nodes, mut delayed, .. } = first;
    for share in shares {
        total.merge(&share.total);
        workers.extend(share.workers);
        if let (Some(delayed), Some(more)) = (&mut delayed, &share.delayed) {
            delayed.merge(more);
        }
        measure::merge_nodes(&mut nodes, share.nodes);
    }
    Ok(Measurement {
        total,
        timeline,
        outages,
        delayed,
        started_at: start,
        elapsed_ns,
        workers,
        engine,
        engine_note,
        nodes,
        ending,
    })
}

/// From when to when all ran; of those who never did, where the last began.
fn all_ran(shares: &[Measurement], offset_ns: impl Fn(&Measurement) -> u64) -> Range<u64> {
    let span = |share: &Measurement| {
        let offset_ns = offset_ns(share);
        let Range { start, end } = share.timeline.all_ran.clone().unwrap_or(0..share.elapsed_ns);
        offset_ns.saturating_add(start)..offset_ns.saturating_add(end)
    };
    let start = shares.iter().map(|share| span(share).start).max().unwrap_or_default();
    let end = shares.iter().map(|share| span(share).end).min().unwrap_or_default();
    start..end.max(start)
}

/// The outages that all saw, by index of the node in the merged nodes.
fn outages(shares: &[Measurement], offset_ns: impl Fn(&Measurement) -> u64) -> Vec<Outage> {
    let mut names: Vec<&str> = Vec::new();
    for node in shares.iter().flat_map(|share| &share.nodes) {
        if !names.contains(&node.name.as_str()) {
            names.push(&node.name);
        }
    }
    let merged = |share: &Measurement, outage: &Outage| {
        let name = share.nodes.get(usize::from(outage.node)).map(|node| node.name.as_str());
        let index = names.iter().position(|known| Some(*known) == name);
        Outage { node: index.map_or(outage.node, |index| index as u16), ..*outage }
    };
    let seen: Vec<(u64, Vec<Outage>)> = shares
        .iter()
        .map(|s| (offset_ns(s), s.outages.iter().map(|outage| merged(s, outage)).collect()))
        .collect();
    let seen: Vec<_> = seen.iter().map(|(offset_ns, seen)| (*offset_ns, &seen[..])).collect();
    crate::outages::common(&seen)
}

/// Complete if all were; else what kept one from it, a failure before an interruption.
fn ending(names: &[String], shares: &[Measurement]) -> Ending {
    let mut failures = names.iter().zip(shares).filter_map(|(name, share)| match &share.ending {
        Ending::Failed(why) => Some(format!("{name}: {why}")),
        Ending::Complete | Ending::Interrupted => None,
    });
    match failures.next() {
        Some(failure) => Ending::Failed(failure),
        None if shares.iter().all(|s| s.ending == Ending::Complete) => Ending::Complete,
        None => Ending::Interrupted,
    }
}

/// The verdict of the whole, if the clients agree with it. Clients that were limited by different
/// things were not limited by one.
fn verdict(names: &[String], limits: &[LimitedBy], whole: Verdict) -> Verdict {
    let count = limits.len();
    if limits.iter().all(|limit| *limit == whole.limited_by) {
        return Verdict { text: format!("{} (so say all {count} clients)", whole.text), ..whole };
    }
    let mut by_limit: Vec<(LimitedBy, Vec<&str>)> = Vec::new();
    for (name, limit) in names.iter().zip(limits) {
        match by_limit.iter_mut().find(|(known, _)| known == limit) {
            Some((_, of)) => of.push(name),
            None => by_limit.push((*limit, vec![name])),
        }
    }
    let said = by_limit.iter().map(|(limit, of)| {
        let word = crate::compare::word(*limit);
        format!(
            "{} by {}",
            of.join(", "),
            if word == "unknown" { "what is not known" } else { &word }
        )
    });
    let said = said.collect::<Vec<_>>().join("; ");
    let text = format!(
        "not known: alone, the clients were limited differently ({said}); look at each (keystorm show)"
    );
    Verdict { limited_by: LimitedBy::Unknown, text: escape(text), evidence: whole.evidence }
}

/// The clients' own, and that they did not run at the same time, if so.
fn warnings(names: &[String], shares: &[Run]) -> Vec<String> {
    let mut warnings: Vec<String> = Vec::new();
    for warning in shares.iter().flat_map(|share| &share.warnings) {
        if !warnings.contains(warning) {
            warnings.push(warning.clone());
        }
    }
    let started = |share: &Run| share.measurement.started_at;
    let shortest_ns = shares.iter().map(|share| share.measurement.elapsed_ns).min();
    let first = shares.iter().map(started).min();
    let last = names.iter().zip(shares).max_by_key(|(_, share)| started(share));
    if let (Some(first), Some((name, share)), Some(shortest_ns)) = (first, last, shortest_ns) {
        let late = started(share).duration_since(first).unwrap_or_default();
        // A hundredth moves no figure by more than that.
        if late.as_nanos() > u128::from(shortest_ns / 100) {
            warnings.push(format!(
                "{name} began {:.3} s after the first client: for so long the load was not the whole",
                late.as_secs_f64()
            ));
        }
    }
    warnings
}

/// Different texts, each once.
fn joined<'t>(texts: impl Iterator<Item = &'t str>) -> String {
    let mut different: Vec<&str> = Vec::new();
    for part in texts.flat_map(|text| text.split(", ")) {
        if !different.contains(&part) {
            different.push(part);
        }
    }
    different.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use measure::WorkerUse;
    use proptest::prelude::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    fn share(ns: &[u64], started_s: u64, connections: u32) -> Run {
        let mut parts = fixture::parts();
        parts.fleet.connections = connections;
        parts.stop = Stop::Requests(ns.len().max(1) as u64);
        let mut run = fixture::run(parts, ns);
        run.measurement.started_at += Duration::from_secs(started_s);
        // No two clients take the same CPU time to the nanosecond.
        static SHARES: AtomicU64 = AtomicU64::new(0);
        let cpu_ns = SHARES.fetch_add(1, Ordering::Relaxed);
        run.measurement.workers = vec![WorkerUse { cpu_ns, wall_ns: 1, wait_ns: None }];
        run.measurement.timeline.push(measure::Point::of(0, &run.measurement.total));
        run
    }

    fn merged(shares: Vec<Run>) -> Result<Run, RecordError> {
        let named = shares.into_iter().enumerate().map(|(n, run)| {
            (format!("{n}.json"), Loaded { runs: vec![run], suite: true, complete: true })
        });
        merge(named.collect(), &[]).map(|mut merged| merged.runs.remove(0))
    }

    proptest! {
        #[test]
        fn merged_shares_equal_the_run_that_saw_all(
            parts in prop::collection::vec(prop::collection::vec(0u64..1 << 40, 0..40), 1..5),
        ) {
            let shares = parts.iter().map(|ns| share(ns, 0, 10)).collect();
            let merged = merged(shares).unwrap();
            let all = parts.concat();
            let whole = share(&all, 0, 10 * parts.len() as u32);
            let of = |run: &Run| {
                let latency = run.measurement.total.response();
                let point = &run.measurement.timeline.points[0];
                (
                    run.measurement.total.requests(),
                    latency.recorded().collect::<Vec<_>>(),
                    latency.mean_ns().map(f64::to_bits),
                    (latency.min_ns(), latency.max_ns()),
                    (point.requests, point.p50_ns, point.p99_ns, point.max_ns, point.mean_ns),
                    run.plan.fleet.connections,
                )
            };
            prop_assert_eq!(of(&merged), of(&whole));
        }
    }

    #[test]
    fn time_is_that_of_the_wall() {
        let run = merged(vec![share(&[1000; 10], 7, 1), share(&[2000; 30], 2, 1)]).unwrap();
        let m = &run.measurement;
        assert_eq!(m.elapsed_ns, 5_026_000_000);
        assert_eq!(m.started_at, SystemTime::UNIX_EPOCH + Duration::from_secs(2));
        let points: Vec<_> = m.timeline.points.iter().map(|p| (p.index, p.requests)).collect();
        assert_eq!(points, [(0, 30), (20, 10)]);
        assert!(run.warnings[0].contains("0.json began 5.000 s after"), "{:?}", run.warnings);
    }

    #[test]
    fn other_plans_and_servers_do_not_add_up() {
        let refused = |change: fn(&mut PlanParts)| {
            let mut parts = (*share(&[1], 0, 1).plan).clone();
            change(&mut parts);
            let other = Run { plan: parts.build().unwrap(), ..share(&[1], 0, 1) };
            merged(vec![share(&[1], 0, 1), other]).map(|_| ()).map_err(|e| e.to_string())
        };
        assert_eq!(refused(|p| p.seed = 9), Ok(()));
        assert_eq!(refused(|p| p.fleet.workers = 3), Ok(()));
        let said = refused(|p| p.fleet.pipeline_depth = 2).unwrap_err();
        assert!(said.contains("fleet.pipeline_depth: 1 in 0.json and 2 in 1.json"), "{said}");
        assert!(refused(|p| p.name = "GET".into()).unwrap_err().contains("name"));
        assert!(refused(|p| p.stop = Stop::AfterNs(5)).unwrap_err().contains("stop"));
        assert!(refused(|p| p.precision = 2).unwrap_err().contains("precision"));
        let mut other = share(&[1], 0, 1);
        other.server.version = Some("8.0".into());
        let said = merged(vec![share(&[1], 0, 1), other]).unwrap_err().to_string();
        assert!(said.contains("redis 7.0.15") && said.contains("redis 8.0"), "{said}");
    }

    #[test]
    fn shares_of_one_plan_make_that_plan_and_none_may_lack() {
        let of = |index: u32, of: u32| {
            let mut parts = (*share(&[1; 8], 0, 10).plan).clone();
            parts.shard = Shard { index, of };
            Run { plan: parts.build().unwrap(), ..share(&[1; 4], 0, 10) }
        };
        let run = merged(vec![of(2, 2), of(1, 2)]).unwrap();
        assert_eq!(run.plan.fleet.connections, 10);
        assert_eq!((run.plan.stop, run.plan.shard), (Stop::Requests(8), Shard::WHOLE));
        assert_eq!(run.measurement.total.requests(), 8);
        let refused = |shares: Vec<Run>| merged(shares).unwrap_err().to_string();
        assert!(refused(vec![of(1, 2), of(1, 2)]).contains("both share 1/2"));
        assert!(refused(vec![of(1, 3), of(3, 3)]).contains("share 2/3 is missing"));
        assert!(refused(vec![of(1, 2), of(3, 3)]).contains("1/2"));
        assert!(refused(vec![of(1, 2)]).contains("missing"));
        assert!(refused(vec![of(1, 1), of(2, 2)]).contains("1/1"));
        let mut other = of(2, 2);
        let mut parts = (*other.plan).clone();
        parts.seed = 9;
        other.plan = parts.build().unwrap();
        assert!(refused(vec![of(1, 2), other]).contains("seed"));
    }

    #[test]
    fn a_run_counts_once() {
        let once = share(&[1, 2], 0, 1);
        let said = merged(vec![share(&[1], 0, 1), once.clone(), once]).unwrap_err().to_string();
        assert!(said.contains("1.json and 2.json hold the same run"), "{said}");
        let part = || Loaded { runs: vec![share(&[1], 0, 1)], suite: true, complete: true };
        let part = part();
        let twice = Loaded { runs: part.runs.clone(), suite: true, complete: true };
        let named = |loaded| ("c1.json".to_owned(), loaded);
        let said = merge(vec![named(part), named(twice)], &[]).unwrap_err().to_string();
        assert!(said.contains("c1.json is given twice"), "{said}");
    }

    #[test]
    fn shares_that_are_lost_are_said_to_be_and_the_plan_is_what_there_is() {
        let of = |index: u32| {
            let mut parts = (*share(&[1; 9], 0, 12).plan).clone();
            parts.pace = Pace::constant(300.0);
            parts.shard = Shard { index, of: 3 };
            let run = Run { plan: parts.build().unwrap(), ..share(&[1; 3], 0, 12) };
            (format!("{index}.json"), Loaded { runs: vec![run], suite: true, complete: true })
        };
        let merged = merge(vec![of(1), of(3)], &[2]).unwrap();
        assert!(!merged.complete);
        let run = &merged.runs[0];
        let told = "share 2 of 3 is missing; all figures are of the others";
        assert_eq!(run.measurement.ending, Ending::Failed(told.into()));
        assert_eq!(run.plan.fleet.connections, 8);
        assert_eq!(
            (run.plan.stop, run.plan.pace.clone()),
            (Stop::Requests(6), Pace::constant(200.0))
        );
        let refused = |parts, missing: &[u32]| merge(parts, missing).unwrap_err().to_string();
        assert!(refused(vec![of(1), of(3)], &[]).contains("--missing 2"));
        assert!(
            refused(vec![of(1), of(3)], &[1, 2]).contains("--missing 1: of 3 shares it is there")
        );
        assert!(refused(vec![of(1), of(3)], &[2, 4]).contains("--missing 4"));
        let whole = Loaded { runs: vec![share(&[1], 0, 1)], suite: true, complete: true };
        assert!(refused(vec![("a".into(), whole)], &[2]).contains("--shard"));
    }

    #[test]
    fn the_rate_is_of_the_span_in_which_all_ran() {
        let second = |started_ms: u64, per_interval: u64| {
            let mut run = share(&[1], 0, 1);
            let tally = &run.measurement.total;
            let points = (0..8).map(|index| measure::Point {
                requests: per_interval,
                ..measure::Point::of(index, tally)
            });
            run.measurement.timeline = Timeline::of(250_000_000, points.collect());
            run.measurement.started_at += Duration::from_millis(started_ms);
            run.measurement.elapsed_ns = 2_000_000_000;
            run
        };
        let run = merged(vec![second(0, 100), second(500, 200)]).unwrap();
        assert_eq!(run.measurement.elapsed_ns, 2_500_000_000);
        assert_eq!(run.measurement.timeline.all_ran, Some(500_000_000..2_000_000_000));
        assert_eq!(crate::Summary::of(&run).throughput_rps, 1200.0);
    }

    #[test]
    fn endings_and_verdicts_of_all_count() {
        let mut stopped = share(&[1], 0, 1);
        stopped.measurement.ending = Ending::Interrupted;
        let mut failed = share(&[1], 0, 1);
        failed.measurement.ending = Ending::Failed("gone".into());
        failed.verdict.limited_by = LimitedBy::Errors;
        let run = merged(vec![share(&[1], 0, 1), stopped.clone()]).unwrap();
        assert_eq!(run.measurement.ending, Ending::Interrupted);
        let text = &run.verdict.text;
        assert!(
            text.starts_with("not known: ") && text.ends_with("(so say all 2 clients)"),
            "{text}"
        );
        let run = merged(vec![stopped, failed]).unwrap();
        assert_eq!(run.measurement.ending, Ending::Failed("1.json: gone".into()));
        assert_eq!(run.verdict.limited_by, LimitedBy::Unknown);
        let text = &run.verdict.text;
        assert!(text.contains("(0.json by what is not known; 1.json by errors)"), "{text}");
    }
}
