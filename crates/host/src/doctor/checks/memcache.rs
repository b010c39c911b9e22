//! Checks of a memcached: requests served of a connection at a time, threads, limits, memory, and work for
//! others.

use workload::quantity::counted;

use super::{bytes, here, known};
use crate::doctor::evidence::MemcacheEvidence;
use crate::doctor::finding::{Outcome, Verdict};
use crate::doctor::{Evidence, ServerLocation};

fn asked(evidence: &Evidence) -> Result<&MemcacheEvidence, String> {
    let asked = evidence.memcache.as_ref().ok_or_else(|| "no memcached was asked".to_owned());
    asked?.as_ref().map_err(Clone::clone)
}

pub(super) fn version(evidence: &Evidence) -> Verdict {
    let version = asked(evidence)?.text("version")?;
    let seen = format!("memcached {version}");
    let singly = crate::memcache::answers_gets_singly(version);
    Ok(Outcome::ok(seen).warn_if(
        singly && evidence.load.pipeline > 1,
        "up to 1.6.34 it writes the reply to each get with its own system call, which \
             dominates pipelines of get",
        "memcached 1.6.35 or newer, or --protocol memcache-meta, whose mg is not affected",
    ))
}

pub(super) fn requests_at_a_time(evidence: &Evidence) -> Verdict {
    let most = asked(evidence)?.setting("reqs_per_event")?;
    let depth = u64::from(evidence.load.pipeline);
    let seen = format!("{most} of a connection (-R)");
    Ok(Outcome::ok(seen).bad_if(
        depth > most,
        format!(
            "a pipeline of {depth} is cut: the rest waits while other connections take their \
                 turn"
        ),
        format!("start memcached with -R {depth}"),
    ))
}

pub(super) fn yields(evidence: &Evidence) -> Verdict {
    let yields = asked(evidence)?.number("conn_yields")?;
    let seen = format!("{yields} since it was started (conn_yields)");
    Ok(match yields {
        0 => Outcome::ok("none since it was started"),
        _ => Outcome::warn(
            seen,
            "each time, a connection had more requests ready than -R allows at once: earlier \
             pipelines were cut",
            "start memcached with -R as deep as the pipelines are",
        ),
    })
}

pub(super) fn threads(evidence: &Evidence) -> Verdict {
    let threads = asked(evidence)?.setting("num_threads")?;
    let connections = u64::from(evidence.load.connections);
    let uneven = (threads > 0 && connections % threads != 0).then(|| {
        Outcome::warn(
            format!("{threads} for {connections} connections"),
            "each connection stays on one thread: some threads have one more than others and are \
             full first",
            format!("-c {}, a multiple of -t {threads}", connections.next_multiple_of(threads)),
        )
    });
    if here(evidence).is_err() {
        return Ok(uneven.unwrap_or_else(|| Outcome::ok(threads.to_string())));
    }
    let cpus = u64::from(known(&evidence.host.cpu.logical)?);
    let seen = format!("{threads} on {cpus} CPUs");
    let mend = format!("start memcached with -t {}", (cpus / 2).max(1));
    Ok(if threads > cpus {
        Outcome::bad(seen, "more threads than CPUs: they wait for each other", mend)
    } else if threads == cpus {
        Outcome::warn(seen, "no CPU is left for the client, which shares this machine", mend)
    } else {
        uneven.unwrap_or_else(|| Outcome::ok(seen))
    })
}

/// Files that it has open beside connections: -c limits the numbers of file descriptors.
const OTHER_FILES: u64 = 64;

pub(super) fn connection_limit(evidence: &Evidence) -> Verdict {
    let server = asked(evidence)?;
    let most = server.setting("maxconns")?;
    let others = server.others()?;
    let needed = u64::from(evidence.load.connections) + others + OTHER_FILES;
    let seen = format!("{most} (-c), {others} others connected");
    Ok(Outcome::ok(seen).bad_if(
        most < needed,
        format!(
            "it counts file descriptors by number, and -c {} needs up to {needed}",
            evidence.load.connections
        ),
        format!("start memcached with -c {}", needed.max(1024)),
    ))
}

pub(super) fn turned_away(evidence: &Evidence) -> Verdict {
    let server = asked(evidence)?;
    // It refuses or stops to accept, by its option maxconns_fast.
    let disabled = server.number("listen_disabled_num")?;
    // Counted only by one that was started with maxconns_fast.
    let refused = server.number("rejected_connections").unwrap_or(0);
    Ok(if refused + disabled == 0 {
        Outcome::ok("none since it was started")
    } else {
        Outcome::warn(
            format!(
                "{refused} refused, none accepted {}, since it was started",
                counted(disabled, "time")
            ),
            "such a run has fewer clients than requested",
            "start memcached with a higher -c, and raise its limit of open files",
        )
    })
}

/// The default of memcached's memory limit.
const MEMORY_DEFAULT: u64 = 64 << 20;

pub(super) fn memory(evidence: &Evidence) -> Verdict {
    let server = asked(evidence)?;
    let (used, most) = (server.number("bytes")?, server.number("limit_maxbytes")?);
    let seen = format!("{} of {} used", bytes(used), bytes(most));
    let mend =
        "start memcached with a higher -m: items times (56 + key + value), and a quarter more";
    Ok(Outcome::ok(seen)
        .bad_if(
            used as f64 >= most as f64 * 0.9,
            "it is full: each write evicts an item, and reads of evicted items miss",
            mend,
        )
        .warn_if(
            most <= MEMORY_DEFAULT,
            "64 MB is the default, and a test soon measures eviction",
            mend,
        ))
}

pub(super) fn evictions(evidence: &Evidence) -> Verdict {
    let server = asked(evidence)?;
    let evicted = server.number("evictions")?;
    let now = server.grown.as_ref().map_or(0, |grown| grown.evictions);
    let mend = "start memcached with a higher -m, unless eviction is what you measure";
    Ok(if now > 0 {
        let seen = format!("{now} during this check, {evicted} since it was started");
        Outcome::bad(seen, "items are removed, so reads that should hit miss", mend)
    } else if evicted > 0 {
        let seen = format!("{evicted} since it was started");
        Outcome::warn(seen, "its memory was too small for its data", mend)
    } else if let Err(reason) = &server.grown {
        return Err(format!("none before this check; unknown during it: {reason}"));
    } else {
        Outcome::ok("none since it was started")
    })
}

pub(super) fn when_full(evidence: &Evidence) -> Verdict {
    Ok(match asked(evidence)?.setting_text("evictions")? {
        "off" => Outcome::warn(
            "writes are refused (-M)",
            "once it is full every set is an error",
            "start memcached without -M, or with memory for all keys",
        ),
        _ => Outcome::ok("the least recently used items are evicted"),
    })
}

/// Bytes of an item beside its value: header, CAS, the longest key and line ends.
const ITEM_OVERHEAD: u64 = 48 + 8 + 251 + 2;

pub(super) fn item_size(evidence: &Evidence) -> Verdict {
    let most = asked(evidence)?.setting("item_size_max")?;
    let value = evidence.load.value_bytes;
    let seen = format!("{} (-I)", bytes(most));
    Ok(if value.saturating_add(ITEM_OVERHEAD) > most {
        let why = format!(
            "values of {} do not fit: they are refused, and the old value is lost",
            bytes(value)
        );
        let mib = (value + ITEM_OVERHEAD).div_ceil(1 << 20);
        Outcome::bad(seen, why, format!("start memcached with -I {mib}m"))
    } else {
        Outcome::ok(seen)
    })
}

pub(super) fn hash_table(evidence: &Evidence) -> Verdict {
    let server = asked(evidence)?;
    let power = server.number("hash_power_level")?;
    Ok(match server.number("hash_is_expanding")? {
        0 => Outcome::ok(format!("2^{power} entries")),
        _ => Outcome::warn(
            format!("2^{power} entries, growing right now"),
            "items move while it grows, which takes a thread and locks",
            "store the keys before the run, or start memcached with -o hashpower=N",
        ),
    })
}

pub(super) fn traffic(evidence: &Evidence) -> Verdict {
    let server = asked(evidence)?;
    let grown = server.grown.as_ref().map_err(Clone::clone)?;
    let rate = grown.commands as f64 / grown.seconds.max(1e-3);
    let others = server.others().map_or_else(
        |_| "number of other clients unknown".to_owned(),
        |others| counted(others, "other client"),
    );
    let seen = format!("{rate:.0} keys per second, {others}");
    Ok(super::server_work::of_others(rate, seen, "--spawn=memcached"))
}

pub(super) fn backlog(evidence: &Evidence) -> Verdict {
    let server = asked(evidence)?;
    if evidence.location == ServerLocation::Unix {
        return Ok(Outcome::ok("a unix socket; clients wait until they are accepted"));
    }
    let asked = server.setting("tcp_backlog")?;
    super::limits::queue(evidence, asked, "-b")
}
