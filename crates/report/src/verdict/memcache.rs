//! What memcached's counts say of a run, which counts keys where it reads and requests elsewhere.

use host::Watched;
use measure::{Ending, Measurement};
use workload::Plan;

use super::wording::count;

/// What other clients did, if it is enough to matter.
pub(super) fn others(
    plan: &Plan,
    measurement: &Measurement,
    watched: &Watched,
    (least, share): (u64, f64),
) -> Option<String> {
    // Requests of a warm-up, and of other shares of the plan, are in the server's count only.
    if plan.warmup_ns > 0 || !plan.shard.is_whole() || measurement.ending != Ending::Complete {
        return None;
    }
    let executed: u64 = watched.servers.iter().filter_map(|server| server.commands).sum();
    let total = &measurement.total;
    let gone = &total.connections;
    let sent = total.requests() + gone.unanswered + gone.lost + gone.timed_out;
    let keys = total.keys();
    let ours = sent.saturating_sub(keys.requests) + keys.asked;
    // Of a request that was lost it is not known how many keys it asked for.
    let known = gone.unanswered + gone.lost + gone.timed_out == 0;
    let theirs = executed.saturating_sub(ours);
    (known && theirs >= least && theirs as f64 >= share * ours as f64).then(|| {
        format!(
            "other clients asked for {} keys during the test (ours were {})",
            count(theirs as f64),
            count(ours as f64)
        )
    })
}

/// Pipelines that the server cuts: it serves so many requests of a connection, and then others first.
pub(super) fn cut(plan: &Plan, watched: &Watched) -> Option<String> {
    let depth = u64::from(plan.fleet.pipeline_depth).saturating_mul(plan.sequence.len() as u64);
    let limit = |server: &host::ServerUse| server.setting("reqs_per_event")?.parse::<u64>().ok();
    let most = watched.servers.iter().filter_map(limit).min()?;
    (depth > most).then(|| {
        format!(
            "pipelines of {depth} commands are cut: memcached serves {most} of a connection at a time, \
             its option -R; start it with -R {depth} to measure whole ones"
        )
    })
}
