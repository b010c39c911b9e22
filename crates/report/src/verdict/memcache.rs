//! Warnings from memcached's counts, which are of keys for reads and of requests otherwise.

use host::WatchRecord;
use measure::{Ending, Measurement};
use workload::{CommandSpec, Plan, ProtocolKind};

use crate::quantity::{grouped, many};

/// Describes the work of other clients, if it is enough to matter.
pub(super) fn others(
    plan: &Plan,
    measurement: &Measurement,
    watched: &WatchRecord,
    least: u64,
    share: f64,
) -> Option<String> {
    // Requests of a warm-up, and of other shares of the plan, are in the server's count only.
    if plan.load.warmup_ns > 0
        || !plan.load.shard.is_whole()
        || measurement.ending != Ending::Complete
    {
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
            "other clients asked for {} during the test (ours were {})",
            many(theirs, "key"),
            grouped(ours as f64)
        )
    })
}

/// Warns of pipelines of `get` on a memcached that writes each of their replies separately.
pub fn gets_warning(plan: &Plan, watched: &WatchRecord) -> Option<String> {
    let in_lines = plan.protocol.is_memcache() && plan.protocol != ProtocolKind::MemcacheBinary;
    let is_get =
        |command: &&CommandSpec| ["GET", "GETS", "GAT", "GATS"].contains(&&*command.name());
    let gets = plan.sequence.iter().filter(is_get).count() as u64;
    // Of a mix one operation is drawn at a time.
    let each = if plan.mix.is_some() { gets.min(1) } else { gets };
    if !in_lines || u64::from(plan.pipeline()?).saturating_mul(each) < 2 {
        return None;
    }
    let mut versions = watched.servers.iter().filter_map(|s| s.memcached_version.as_deref());
    let version = versions.find(|version| host::memcache::answers_gets_singly(version))?;
    Some(format!(
        "memcached {version} writes the reply to each get of a pipeline with its own system \
         call; 1.6.35 and newer do not, and mg is not affected (--protocol memcache-meta)"
    ))
}

/// Names of memcached's settings that limit memory and clients.
pub(super) const BOUNDS: [&str; 2] = ["its memory limit (-m)", "its connection limit, -c"];

/// Warns of pipelines that the server interrupts: it serves a limited number of requests of a connection, and
/// then others first.
pub(super) fn cut(plan: &Plan, watched: &WatchRecord) -> Option<String> {
    let depth = u64::from(plan.pipeline()?).saturating_mul(plan.sequence.len() as u64);
    let limit = |server: &host::ServerUse| server.setting("reqs_per_event")?.parse::<u64>().ok();
    let most = watched.servers.iter().filter_map(limit).min()?;
    (depth > most).then(|| {
        format!(
            "pipelines of {depth} commands are cut: memcached serves {most} per connection at a \
             time (option -R); start it with -R {depth} to measure whole pipelines"
        )
    })
}
