//! The `stats` of memcached, under the names that `INFO` has for the same figures.
//!
//! Traps of the names: `cmd_get` counts keys and not requests; `gat`, and `mg` that renews a lifetime, count
//! as touches; `cas` is among the sets; deletes and similar commands have no total.

use wire::memcache::stats::Stats;

use super::info::Info;

/// `stats` names and their `INFO` equivalents.
const NAMES: [(&str, &str); 15] = [
    ("version", "memcached_version"),
    ("pid", "process_id"),
    // A server that was started again is another process.
    ("pid", "run_id"),
    ("uptime", "uptime_in_seconds"),
    ("rusage_user", "used_cpu_user"),
    ("rusage_system", "used_cpu_sys"),
    ("threads", "thread_count"),
    ("curr_connections", "connected_clients"),
    ("bytes", "used_memory"),
    ("limit_maxbytes", "maxmemory"),
    ("evictions", "evicted_keys"),
    ("expired_unfetched", "expired_keys"),
    ("bytes_read", "total_net_input_bytes"),
    ("bytes_written", "total_net_output_bytes"),
    ("rejected_connections", "rejected_connections"),
];

/// Commands, and the counts that add up to their calls.
pub(crate) const COMMANDS: [(&str, &[&str]); 8] = [
    ("get", &["cmd_get"]),
    ("set", &["cmd_set"]),
    ("touch", &["cmd_touch"]),
    ("delete", &["delete_hits", "delete_misses"]),
    ("incr", &["incr_hits", "incr_misses"]),
    ("decr", &["decr_hits", "decr_misses"]),
    ("flush_all", &["cmd_flush"]),
    ("me", &["cmd_meta"]),
];

/// Settings that affect speed.
const SETTINGS: &str = "\
    num_threads reqs_per_event maxconns maxbytes item_size_max evictions cas_enabled \
    lru_segmented slab_automove hash_algorithm ssl_enabled";

/// The figures of `stats`.
pub(super) fn info(stats: &Stats) -> Info {
    let text = |name: &str| stats.iter().find(|(known, _)| known == name).map(|(_, value)| value);
    let number = |name: &str| text(name)?.parse::<u64>().ok();
    let sum = |names: &[&str]| names.iter().map(|name| number(name)).sum::<Option<u64>>();
    let mut fields: Vec<(String, String)> = NAMES
        .iter()
        .filter_map(|(theirs, ours)| Some(((*ours).to_owned(), text(theirs)?.clone())))
        .collect();
    let mut total = 0;
    for (name, counts) in COMMANDS {
        // Old servers lack some.
        let calls = sum(counts).unwrap_or(0);
        total += calls;
        fields.push((format!("cmdstat_{name}"), format!("calls={calls},usec=0")));
    }
    fields.push(("total_commands_processed".to_owned(), total.to_string()));
    let reads = [
        ("keyspace_hits", "get_hits", "touch_hits"),
        ("keyspace_misses", "get_misses", "touch_misses"),
    ];
    for (name, of_get, of_touch) in reads {
        if let Some(reads) = number(of_get) {
            let reads = reads + number(of_touch).unwrap_or(0);
            fields.push((name.to_owned(), reads.to_string()));
        }
    }
    fields.into_iter().collect()
}

/// Keeps the settings that affect speed.
pub(super) fn settings(lines: Stats) -> Vec<(String, String)> {
    lines.into_iter().filter(|(name, _)| SETTINGS.split(' ').any(|one| one == name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_the_names_of_info() {
        let text = "pid 12\nuptime 3\nversion 1.6.18\nrusage_user 0.500000\nrusage_system 0.250000\n\
                    threads 4\ncmd_get 10\ncmd_set 5\ncmd_touch 2\nget_hits 7\nget_misses 3\n\
                    touch_hits 1\ntouch_misses 1\ndelete_hits 1\ndelete_misses 1\nbytes 99";
        let pair = |line: &str| line.split_once(' ').map(|(a, b)| (a.to_owned(), b.to_owned()));
        let stats: Stats = text.lines().filter_map(pair).collect();
        let info = info(&stats);
        assert_eq!(info.cpu_process_s(), Some(0.75));
        assert_eq!(info.cpu_main_s(), None);
        assert_eq!(info.number("total_commands_processed"), Some(10 + 5 + 2 + 2));
        assert_eq!(
            (info.number("keyspace_hits"), info.number("keyspace_misses")),
            (Some(8), Some(4))
        );
        assert_eq!(info.number("used_memory"), Some(99));
        assert_eq!(info.commands()["delete"].calls, 2);
        assert!(info.is_memcached() && !info.is_valkey());
    }
}
