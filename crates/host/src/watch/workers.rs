//! The threads of a server on this machine that serve its connections, found by name.
//!
//! memcached names them, and gives each its share of the connections for good: one may be full while the
//! others idle, which no sum shows.

use std::collections::BTreeMap;
use std::fs;

/// Beginning of the names of threads that serve connections.
pub(super) const NAMED: &str = "mc-worker";

/// CPU time of each such thread, and its time runnable without a CPU, by thread number.
pub(super) type Workers = BTreeMap<u32, (u64, u64)>;

/// Reads the use so far of threads whose names begin with `name`.
pub(super) fn named(pid: u32, name: &str) -> Workers {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).ok();
    let workers = tasks.into_iter().flatten().flatten().filter_map(|task| {
        let named = fs::read_to_string(task.path().join("comm")).ok()?.starts_with(name);
        let schedstat = fs::read_to_string(task.path().join("schedstat")).ok().filter(|_| named)?;
        let mut numbers = schedstat.split_whitespace().map(str::parse);
        let times = (numbers.next()?.ok()?, numbers.next()?.ok()?);
        Some((task.file_name().to_str()?.parse().ok()?, times))
    });
    workers.collect()
}

/// CPU seconds of each between two readings, the busiest first, and the waiting seconds of that one.
pub(super) fn between(before: &Workers, after: &Workers) -> (Vec<f64>, Option<f64>) {
    let mut used: Vec<(f64, f64)> = after
        .iter()
        .map(|(tid, (run, wait))| {
            let (run_before, wait_before) = before.get(tid).copied().unwrap_or_default();
            let seconds = |now: u64, then| now.saturating_sub(then) as f64 / 1e9;
            (seconds(*run, run_before), seconds(*wait, wait_before))
        })
        .collect();
    used.sort_by(|a, b| b.0.total_cmp(&a.0));
    let waited = used.first().map(|(_, waited)| *waited);
    (used.into_iter().map(|(run, _)| run).collect(), waited)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_comes_first_with_what_it_waited() {
        let before = Workers::from([(7, (1_000_000_000, 0)), (8, (5_000_000_000, 0))]);
        let after = Workers::from([
            (7, (3_000_000_000, 500_000_000)),
            (8, (5_500_000_000, 0)),
            (9, (0, 1)),
        ]);
        assert_eq!(between(&before, &after), (vec![2.0, 0.5, 0.0], Some(0.5)));
        assert_eq!(between(&before, &Workers::new()), (vec![], None));
        assert!(named(std::process::id(), NAMED).is_empty(), "no thread of ours is named so");
    }
}
