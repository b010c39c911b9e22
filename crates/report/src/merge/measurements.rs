//! Measurements of several clients, merged into one.

use std::ops::Range;
use std::time::{Duration, SystemTime};

use measure::{Absence, Deliveries, Ending, Measurement, Outage, Timeline};

use super::remarks::joined;
use crate::RecordError;
use crate::groups::unique;

/// Merges the measurements of clients, each with `receiver_threads` receiving threads. Counts and histograms
/// add up, and so do timelines, by wall clock.
pub(super) fn measurement(
    names: &[String],
    receiver_threads: usize,
    mut shares: Vec<Measurement>,
) -> Result<Measurement, RecordError> {
    let start = shares.iter().map(|share| share.started_at).min();
    let start = start.unwrap_or(SystemTime::UNIX_EPOCH);
    let offset_ns = |share: &Measurement| -> u64 {
        let since = share.started_at.duration_since(start).unwrap_or(Duration::ZERO);
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    };
    let ends_ns = shares.iter().map(|share| offset_ns(share).saturating_add(share.elapsed_ns));
    let elapsed_ns = ends_ns.max().unwrap_or_default();
    let outages = outages(&shares, offset_ns);
    let absences = absences(&shares, offset_ns);
    let timelines: Vec<_> = shares.iter().map(|s| (offset_ns(s), &s.timeline)).collect();
    let mut timeline = Timeline::merged(&timelines)?;
    if shares.len() > 1 {
        timeline.all_ran = Some(all_ran(&shares, offset_ns));
    }
    let offsets: Vec<u64> = shares.iter().map(offset_ns).collect();
    let engine = joined(shares.iter().map(|share| share.engine.as_str()));
    let ending = ending(names, &shares);
    let engine_note = shares.iter().find_map(|share| share.engine_note.clone());
    let deliveries = deliveries(&mut shares, &offsets);
    for (share, offset_ns) in shares.iter_mut().zip(&offsets) {
        let times = share.lanes.iter_mut().flat_map(|lane| &mut lane.times);
        times.for_each(|(_, at_ns)| *at_ns += offset_ns);
    }
    let lanes = shares.iter_mut().flat_map(|share| std::mem::take(&mut share.lanes)).collect();
    let mut shares = shares.into_iter();
    let Some(first) = shares.next() else {
        return Err(RecordError::wrong("nothing to merge"));
    };
    let Measurement { mut total, mut workers, mut nodes, mut delayed, mut by_connection, .. } =
        first;
    let mut receivers = workers.split_off(workers.len().saturating_sub(receiver_threads));
    for mut share in shares {
        total.merge(&share.total);
        let threads = share.workers.len().saturating_sub(receiver_threads);
        receivers.extend(share.workers.split_off(threads));
        workers.extend(share.workers);
        if let (Some(delayed), Some(more)) = (&mut delayed, &share.delayed) {
            delayed.merge(more);
        }
        measure::merge_nodes(&mut nodes, share.nodes);
        by_connection.extend(share.by_connection);
    }
    workers.extend(receivers);
    Ok(Measurement {
        total,
        timeline,
        outages,
        absences,
        delayed,
        started_at: start,
        elapsed_ns,
        workers,
        engine,
        engine_note,
        nodes,
        by_connection,
        // They count from the start of their own share, and plans that are shared out keep none.
        logs: Vec::new(),
        lanes,
        deliveries,
        ending,
    })
}

/// Merges the deliveries of all clients. Threads of senders precede those of receivers in the merged workers,
/// too.
fn deliveries(shares: &mut [Measurement], offsets: &[u64]) -> Option<Box<Deliveries>> {
    let mut all: Option<Box<Deliveries>> = None;
    for (share, offset_ns) in shares.iter_mut().zip(offsets) {
        let Some(mut had) = share.deliveries.take() else { continue };
        had.waits.iter_mut().flat_map(|waits| &mut waits.backlog).for_each(|backlog| {
            backlog.at_ns = backlog.at_ns.saturating_add(*offset_ns);
        });
        match &mut all {
            Some(all) => all.merge(&had),
            None => all = Some(had),
        }
    }
    all
}

/// Span in which all clients ran; empty at the last start if they never all did.
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

/// Outages common to all clients, by index of the node in the merged nodes.
fn outages(shares: &[Measurement], offset_ns: impl Fn(&Measurement) -> u64) -> Vec<Outage> {
    let nodes = shares.iter().flat_map(|share| &share.nodes);
    let names = unique(nodes.map(|node| node.name.as_str()));
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

/// Returns the spans in which any client did not run, in order.
fn absences(shares: &[Measurement], offset_ns: impl Fn(&Measurement) -> u64) -> Vec<Absence> {
    let later = |share: &Measurement| {
        let by_ns = offset_ns(share);
        let absences = share.absences.iter().map(move |a| Absence {
            from_ns: a.from_ns.saturating_add(by_ns),
            to_ns: a.to_ns.saturating_add(by_ns),
        });
        absences.collect::<Vec<_>>()
    };
    let mut all: Vec<Absence> = shares.iter().flat_map(later).collect();
    all.sort_by_key(|absence| absence.from_ns);
    // Overlapping absences of several processes become one span.
    all.dedup_by(|next, last| {
        let meet = next.from_ns <= last.to_ns;
        last.to_ns = if meet { last.to_ns.max(next.to_ns) } else { last.to_ns };
        meet
    });
    all
}

/// Complete if all were; otherwise the reason of one that was not, a failure before an interruption.
fn ending(names: &[String], shares: &[Measurement]) -> Ending {
    let mut failures = names.iter().zip(shares).filter_map(|(name, share)| match &share.ending {
        Ending::Failed(failure) => Some(failure.at(name)),
        Ending::Complete | Ending::Interrupted => None,
    });
    match failures.next() {
        Some(failure) => Ending::Failed(failure),
        None if shares.iter().all(|s| s.ending == Ending::Complete) => Ending::Complete,
        None => Ending::Interrupted,
    }
}
